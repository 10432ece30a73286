//! Random small programs: what all orders lead to, the reduced ones lead to as well.

use rankwise_comm::Pending;
use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, Exploration, Explored, Orders, Outcome, RankEnd};

use crate::watchdog::in_time;

/// What a rank does. Everything that it is told is kept, and it goes on after an error.
#[derive(Clone, Copy, Debug)]
enum Act {
    Sum {
        len: usize,
        stream: usize,
    },
    Send,
    Recv,
    Write,
    Poll {
        stream: usize,
    },
    Wait {
        stream: usize,
    },
    /// The second stream after the first.
    Follow,
    Split,
    Leave,
    Abort,
}

/// What a rank was told by each of its acts.
type Told = Vec<Result<bool, Error>>;

fn play(comm: &Comm, acts: &[Act]) -> Result<Told, Error> {
    let streams = [comm.new_stream()?, comm.new_stream()?];
    let peer = comm.ranks().ranks().find(|rank| *rank != comm.rank()).unwrap_or(comm.rank());
    let mut joined = None;
    let mut buffers = Vec::new();
    for _ in acts {
        buffers.push(comm.buffer::<i32>(2)?);
    }
    let mut told = Vec::new();
    for (act, x) in acts.iter().zip(&mut buffers) {
        let done = match act {
            Act::Sum { len, stream } => comm
                .on(&streams[*stream])
                .all_reduce_in_place(Reduction::Sum, x.slice_mut(0..*len)?)
                .map(|()| true),
            Act::Send => comm.on(&streams[0]).send(peer, &*x).map(|()| true),
            Act::Recv => comm.on(&streams[0]).recv(peer, x).map(|()| true),
            Act::Write => streams[0].write(x, &[1, 2]).map(|()| true),
            Act::Poll { stream } => streams[*stream].fence().map(|fence| fence.is_done()),
            Act::Wait { stream } => {
                streams[*stream].fence().and_then(|fence| fence.wait()).map(|()| true)
            }
            Act::Follow => {
                streams[0].fence().and_then(|fence| streams[1].wait_for(&fence)).map(|()| true)
            }
            Act::Split => comm.split(Some(0), 0).and_then(Pending::wait).map(|comm| {
                joined = comm;
                joined.is_some()
            }),
            Act::Leave => Ok(joined.take().is_some()),
            Act::Abort => {
                comm.abort_handle().abort("enough");
                Ok(true)
            }
        };
        told.push(done);
    }
    Ok(told)
}

/// Choices, the same for the same seed (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % sides).expect("small")
    }
}

/// The acts of each rank: of one plan, from which a rank may stray.
fn program(seed: u64, ranks: usize) -> Vec<Vec<Act>> {
    let mut dice = Dice(seed.wrapping_mul(0xd134_2543_de82_ef95));
    let most = [4, 2][usize::from(ranks > 2)];
    let mut acts: Vec<Vec<Act>> = vec![Vec::new(); ranks];
    for _ in 0..most {
        let common = match dice.below(8) {
            0..=3 => Some(Act::Sum { len: 2, stream: 0 }),
            4 => Some(Act::Sum { len: 2, stream: 1 }),
            5 => Some(Act::Split),
            _ => None,
        };
        for (rank, own) in acts.iter_mut().enumerate() {
            let stream = usize::from(dice.below(4) == 0);
            let act = match (common, dice.below(12)) {
                (Some(act), 0..=9) => act,
                (_, 0..=2) if ranks == 2 => [Act::Send, Act::Recv][rank],
                (_, 3..=4) => Act::Poll { stream },
                (_, 5..=6) => Act::Wait { stream },
                (_, 7) => Act::Write,
                (_, 8) => Act::Follow,
                (_, 9) => Act::Leave,
                (_, 10) => Act::Sum { len: 1, stream },
                _ if dice.below(3) == 0 => Act::Abort,
                _ => continue,
            };
            own.push(act);
        }
    }
    acts
}

/// About how many orders there are: a wait may be two steps, a split with its wait three.
fn about(acts: &[Vec<Act>]) -> f64 {
    let steps = |act: &Act| match act {
        Act::Wait { .. } => 2,
        Act::Split => 3,
        _ => 1,
    };
    let lengths = acts.iter().map(|own| own.iter().map(steps).sum::<u32>() + 2);
    let (mut orders, mut sum) = (1.0, 0);
    for length in lengths {
        for step in 1..=length {
            sum += 1;
            orders *= f64::from(sum) / f64::from(step);
        }
    }
    orders
}

fn explore(orders: Orders, acts: &[Vec<Act>]) -> Explored<Told> {
    let acts = acts.to_vec();
    let ranks = u32::try_from(acts.len()).expect("small");
    in_time(move || {
        Exploration::of(ranks).orders(orders).run(move |comm| {
            play(comm, &acts[usize::try_from(comm.rank().index()).expect("small")])
        })
    })
}

#[test]
fn reduced_orders_lead_to_whatever_all_orders_lead_to() {
    let mut compared = 0;
    let (mut all_runs, mut reduced_runs, mut several, mut failed) = (0, 0, 0, 0);
    for (seed, ranks) in (0..60).map(|seed| (seed, 2)).chain((60..100).map(|seed| (seed, 3))) {
        let acts = program(seed, ranks);
        if about(&acts) > 2_000.0 {
            continue;
        }
        let all = explore(Orders::All, &acts);
        let reduced = explore(Orders::Reduced, &acts);
        for explored in [&all, &reduced] {
            let ended = explored.given_up();
            assert!(ended.is_none(), "seed {seed}, {acts:?}: {}", ended.expect("some"));
        }
        assert!(all.is_complete() && reduced.is_complete(), "seed {seed}, {acts:?}");
        compared += 1;
        for one in all.outcomes() {
            assert!(
                reduced.outcomes().iter().any(|other| other.ends() == one.ends()),
                "seed {seed}, {acts:#?}: {:#?} in the order {} only",
                one.ends(),
                one.schedule()
            );
        }
        assert_eq!(all.outcomes().len(), reduced.outcomes().len(), "seed {seed}");
        all_runs += all.schedules();
        reduced_runs += reduced.schedules() + reduced.repeated();
        several += u32::from(all.outcomes().len() > 1);
        let told = all.outcomes().iter().flat_map(Outcome::ends).filter_map(RankEnd::value);
        failed += u32::from(told.flatten().any(Result::is_err));
    }
    assert!(reduced_runs < all_runs / 4, "{reduced_runs} of {all_runs}");
    assert!(compared > 30, "{compared} programs");
    // A generator that has lost its teeth proves nothing.
    assert!(several > 10 && failed > 10, "{several} with several outcomes, {failed} with errors");
}
