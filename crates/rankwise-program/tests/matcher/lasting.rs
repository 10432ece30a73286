//! What is over is forgotten.

use rankwise_model::Dtype;
use rankwise_program::{Entry, Matcher, Signature, Site, Wait};
use rankwise_topology::Group;

use super::driver::{all_reduce, world};

/// As much text as the matcher's state is long, every queue and table in it.
fn kept(matcher: &Matcher) -> usize {
    format!("{matcher:?}").len()
}

#[test]
fn a_hundred_thousand_instances_leave_nothing_behind() {
    let world = world(4);
    let mut matcher = Matcher::new(world);
    let comm = matcher.add_communicator("world", &Group::whole(world));
    let streams: Vec<_> = world.ranks().map(|rank| matcher.add_stream(rank, "s0")).collect();
    let entry = |signature| Entry { comm, signature, site: Site::Unknown, tag: None };
    let rank = |at: u32| world.size().rank(at).unwrap();
    let mut seats = Vec::new();
    let mut after_warm_up = 0;
    for round in 0..34_000_u64 {
        let calls = [
            entry(all_reduce(round)),
            entry(Signature::send(rank(1), Dtype::F32, 1)),
            entry(Signature::recv(rank(0), Dtype::F32, 1)),
        ];
        for (at, member) in world.ranks().enumerate() {
            let sum = std::slice::from_ref(&calls[0]);
            let point = matcher.post(member, streams[at], sum, &mut seats).unwrap();
            if at < 2 {
                let message = std::slice::from_ref(&calls[1 + at]);
                matcher.post(member, streams[at], message, &mut seats).unwrap();
            }
            if at == 3 && round.is_multiple_of(2) {
                matcher.post_beside(member, entry(Signature::barrier())).unwrap();
            }
            matcher.block(member, Wait::Point(point));
        }
        if round.is_multiple_of(2) {
            for member in world.ranks().take(3) {
                matcher.post_beside(member, entry(Signature::barrier())).unwrap();
            }
        }
        loop {
            let runnable = matcher.runnable();
            if runnable.is_empty() {
                break;
            }
            for instance in runnable {
                matcher.completed(instance);
            }
        }
        assert!(matcher.take_verdicts().is_empty());
        for member in world.ranks() {
            matcher.resume(member);
        }
        assert_eq!(matcher.open_instances(), 0, "round {round}");
        if round == 10_001 {
            after_warm_up = kept(&matcher);
        }
    }
    // A few numbers have a digit more, and nothing else has grown.
    let grown = kept(&matcher) - after_warm_up;
    assert!(grown < 100, "{grown} characters more");
}
