//! Who came, in every way one can come wrongly.

use rankwise_model::GroupSize;

use super::*;
use crate::frame::WireError;

fn member(process: u32) -> Member {
    Member::new("n", process).unwrap()
}

fn roll(ranks: u32) -> Roll {
    let world = World::new(GroupSize::new(ranks).unwrap());
    Roll::new(world, Sharing::Exclusive, None, 0, member(100))
}

fn come(roll: &mut Roll, conn: Conn, rank: u32, ranks: u32) {
    let process = 100 + u32::try_from(conn).unwrap();
    let address = format!("a:{conn}");
    roll.come(conn, Claim { rank, ranks, member: member(process), address });
}

fn process(conn: u32) -> Whence {
    let address = if conn == 0 { "-".to_owned() } else { format!("a:{conn}") };
    Whence { host: "n".to_owned(), process: 100 + conn, address }
}

#[test]
fn the_order_of_coming_leaves_no_trace() {
    let tables = [[1, 2, 3], [3, 1, 2]].map(|order| {
        let mut roll = roll(4);
        for rank in order {
            assert!(!roll.is_over());
            come(&mut roll, u64::from(rank), rank, 4);
        }
        assert!(roll.is_over());
        assert_eq!(roll.ranks(), BTreeMap::from([(1, 1), (2, 2), (3, 3)]));
        roll.close(1).unwrap()
    });
    assert_eq!(tables[0], tables[1]);
}

#[test]
fn whoever_is_missing_twice_or_nobody_is_named() {
    let mut roll = roll(4);
    come(&mut roll, 1, 2, 4);
    come(&mut roll, 2, 2, 4);
    come(&mut roll, 3, 0, 4);
    come(&mut roll, 4, 9, 4);
    assert!(roll.is_over()); // five of four have come
    assert_eq!(
        roll.close(5000).unwrap_err().faults,
        [
            Fault::Missing { ranks: vec![1, 3], within_ms: 5000 },
            Fault::Twice { rank: 0, processes: vec![process(0), process(3)] },
            Fault::Twice { rank: 2, processes: vec![process(1), process(2)] },
            Fault::NoSuchRank { rank: 9, process: process(4) },
        ]
    );
}

#[test]
fn a_rank_that_came_and_went_is_lost_and_not_missing() {
    let mut roll = roll(3);
    come(&mut roll, 1, 1, 3);
    roll.lose(1);
    roll.lose(7); // nobody's
    assert_eq!(
        roll.close(5000).unwrap_err().faults,
        [
            Fault::Missing { ranks: vec![2], within_ms: 5000 },
            Fault::Lost { rank: 1, process: process(1) },
        ]
    );
}

#[test]
fn a_report_stays_small_whoever_knocks() {
    let mut roll = roll(2);
    for conn in 1..500 {
        come(&mut roll, conn, 0, 2);
        come(&mut roll, conn, 700, 2);
        let stop = Stop::Secret(Opening::of(1), Refusal::WrongSecret);
        roll.turn_away("a:1", &stop);
        roll.turn_away("a:1", &Stop::Stranger(WireError::Closed));
    }
    let report = roll.close(1).unwrap_err();
    assert_eq!((report.faults.len(), report.refused.len()), (Report::FAULTS, Report::REFUSED));
    // 1 missing, 1 claimed often, 499 that do not exist.
    assert_eq!(report.more, 501 - 64);
    assert_eq!(report.strangers, 499 + 499 - 16);
    let body = serde_json::to_vec(&report).unwrap();
    assert!(u32::try_from(body.len()).unwrap() < crate::message::to_rank_limit(2));
}

#[test]
fn another_job_has_no_seat() {
    let mut roll = roll(2);
    assert!(!roll.admits(1, Some("other"), "a:1"));
    assert!(roll.admits(1, None, "a:2"));
    let report = roll.close(1).unwrap_err();
    assert_eq!(report.refused.len(), 1);
    assert!(report.names(1) && !report.names(0));
}
