//! A send and a recv that do not fit each other, or of which one is not there.

use rankwise_comm::prelude::*;
use rankwise_mock::Comm;

use super::calls::{Asked, Does, asked};
use super::{RANKS, Way, make, one_text};
use crate::watchdog::in_time;

/// The sides of a message from one rank to another.
fn sides(from: u32, to: u32) -> (Asked, Asked) {
    let send = asked(Does::Send(to), format!("send(to {to})"));
    (send, asked(Does::Recv(from), format!("recv(from {from})")))
}

/// The second message of a pair of ranks; a side that is not there returns instead.
#[derive(Clone, Debug)]
struct Second {
    from: u32,
    to: u32,
    send: Option<Asked>,
    recv: Option<Asked>,
}

/// A message that fits, then the second; the other ranks return.
fn exchange(comm: &Comm, way: Way, second: &Second) -> Result<(), Error> {
    let (send, recv) = sides(second.from, second.to);
    if comm.rank().index() == second.from {
        make!(comm, way, &send)?;
        let Some(send) = &second.send else { return Ok(()) };
        make!(comm, way, send)?;
    } else if comm.rank().index() == second.to {
        make!(comm, way, &recv)?;
        let Some(recv) = &second.recv else { return Ok(()) };
        make!(comm, way, recv)?;
    }
    comm.stream().fence()?.wait()
}

/// Where a rank's two calls stand: of the one that sends, of the one that receives.
fn sites() -> [[String; 2]; 2] {
    const FIRST: u32 = line!() - 13;
    [[FIRST, FIRST + 2], [FIRST + 4, FIRST + 6]]
        .map(|lines| lines.map(|line| format!("{}:{line}:9", file!())))
}

/// What both are told, if both have called, or the one that has.
fn told(ranks: u32, way: Way, second: &Second) -> String {
    let ended = way.world(ranks).run(|comm| exchange(comm, way, second));
    let (mut called, mut rest) = (Vec::new(), Vec::new());
    for (ended, rank) in ended.into_iter().zip(0..) {
        let calls = (rank == second.from && second.send.is_some())
            || (rank == second.to && second.recv.is_some());
        if calls { called.push(ended) } else { rest.push(ended) }
    }
    assert!(rest.iter().all(|ended| *ended == Ok(())), "{rest:#?}");
    one_text(called)
}

/// Every sender and receiver among 2 to 8 ranks, by each way.
fn each() -> impl Iterator<Item = (u32, u32, u32, Way)> {
    let from = RANKS.flat_map(|ranks| (0..ranks).map(move |from| (ranks, from)));
    let pairs = from.flat_map(|(ranks, from)| (0..ranks).map(move |to| (ranks, from, to)));
    let pairs = pairs.filter(|(_, from, to)| from != to);
    pairs.flat_map(|(ranks, from, to)| Way::ALL.map(|way| (ranks, from, to, way)))
}

/// 2 + 6 + 12 + 20 + 30 + 42 + 56 pairs, by three ways.
const EACH: usize = 168 * 3;

#[test]
fn a_send_that_its_recv_contradicts() {
    let compared = in_time(|| {
        let mut compared = 0;
        for (ranks, from, to, way) in each() {
            let (send, recv) = sides(from, to);
            let (of_send, of_recv) = (send.clone(), recv.clone());
            let differences = [
                (send.clone(), recv.clone().of(Dtype::F32, 5, "5 × f32"), "count"),
                (send.clone(), recv.clone().of(Dtype::F32, 0, "0 × f32"), "count"),
                (send.clone().of(Dtype::F32, 0, "0 × f32"), recv.clone(), "count"),
                (send.clone(), recv.clone().of(Dtype::I32, 4, "4 × i32"), "element type"),
                (send.tagged("loss"), recv.tagged("accuracy"), "tag"),
            ];
            for (send, recv, aspect) in differences {
                let [[at_first_send, at_send], [at_first_recv, at_recv]] = sites();
                let message = "of world, at";
                let number = |number: u32| format!("message {number} from {from} to {to}");
                let side = |rank: u32, asked: &Asked, at: &str| {
                    format!("\n  rank {rank}: {}\n    at {at}", asked.words())
                };
                let last = |rank: u32, first: &Asked, at_first: &str, asked: &Asked, at: &str| {
                    format!(
                        "\n  last calls of rank {rank}:\n    {}, {} {message} {at_first}\n    {}, {} {message} {at}",
                        first.words(),
                        number(0),
                        asked.words(),
                        number(1),
                    )
                };
                let of_from = [
                    send.verb.clone(),
                    side(from, &send, &at_send),
                    last(from, &of_send, &at_first_send, &send, &at_send),
                ];
                let of_to = [
                    recv.verb.clone(),
                    side(to, &recv, &at_recv),
                    last(to, &of_recv, &at_first_recv, &recv, &at_recv),
                ];
                let [one, other] = if from < to { [of_from, of_to] } else { [of_to, of_from] };
                let wanted = format!(
                    "mismatch of {aspect}: {} against {}, {} of world ({ranks} ranks), no majority: an even split",
                    one[0],
                    other[0],
                    number(1),
                );
                let wanted = wanted + &one[1] + &other[1] + &one[2] + &other[2];
                let second = Second { from, to, send: Some(send), recv: Some(recv) };
                assert_eq!(told(ranks, way, &second), wanted, "{way:?}");
                compared += 1;
            }
        }
        compared
    });
    assert_eq!(compared, EACH * 5);
}

#[test]
fn a_message_without_its_other_side() {
    let compared = in_time(|| {
        for (ranks, from, to, way) in each() {
            let (send, recv) = sides(from, to);
            let message = |number: u32| format!("message {number} from {from} to {to} of world");
            let wanted = |own: (u32, &Asked, &[String; 2]), gone: (u32, &Asked, &[String; 2])| {
                let ((own, asked, [at_first, at]), (gone, lacked, [at_last, _])) = (own, gone);
                let (verb, asked) = (&asked.verb, asked.words());
                let of_own = format!(
                    "\n  last calls of rank {own}:
    {asked}, {}, at {at_first}
    {asked}, {}, at {at}",
                    message(0),
                    message(1),
                );
                let of_gone = format!(
                    "\n  last call of rank {gone}:\n    {}, {}, at {at_last}",
                    lacked.words(),
                    message(0),
                );
                let headline = format!(
                    "unmatched message: {verb}, {} ({ranks} ranks), without rank {gone}
  rank {own}: {asked}
    at {at}
  rank {gone} returned",
                    message(1),
                );
                headline + &if own < gone { of_own + &of_gone } else { of_gone + &of_own }
            };
            let [at_sends, at_recvs] = &sites();
            let (of_from, of_to) = ((from, &send, at_sends), (to, &recv, at_recvs));
            let second = Second { from, to, send: Some(send.clone()), recv: None };
            let text = wanted(of_from, of_to);
            assert_eq!(told(ranks, way, &second), text, "{way:?}");
            let second = Second { from, to, send: None, recv: Some(recv.clone()) };
            let text = wanted(of_to, of_from);
            assert_eq!(told(ranks, way, &second), text, "{way:?}");
        }
        each().count()
    });
    assert_eq!(compared, EACH);
}
