//! Every way in which one rank's call can differ × every rank × every order of arrival.

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, World};
use rankwise_program::{Aspect, Aspects, Kind, Report, Seq, Tag};
use std::sync::Arc;

use crate::watchdog::in_time;

/// How the one rank's call differs from its peers' `all_reduce(sum)` of 4 × f32 or, for
/// the root, their `broadcast(root 0)`.
const DIFFERENCES: [(&str, Aspect); 7] = [
    ("operation", Aspect::Operation),
    ("count", Aspect::Count),
    ("nothing to something", Aspect::Count),
    ("element type", Aspect::ElementType),
    ("reduction", Aspect::Reduction),
    ("root", Aspect::Root),
    ("tag", Aspect::Tag),
];

/// The call of one rank: the peers', or the odd one.
fn call(comm: &Comm, difference: &str, odd: bool) -> Result<(), Error> {
    let dtype = if odd && difference == "element type" { Dtype::I32 } else { Dtype::F32 };
    let len = match (odd, difference) {
        (true, "count") => 5,
        (true, "nothing to something") => 0,
        _ => 4,
    };
    let mut x = comm.dyn_buffer(dtype, len)?;
    let tag = Tag::new(if odd && difference == "tag" { "accuracy" } else { "loss" });
    let on = comm.on(comm.stream()).tagged(&tag);
    let root = |root| comm.ranks().rank(root).expect("two ranks at least");
    match (odd, difference) {
        (odd, "root") => on.broadcast_in_place(root(u32::from(odd)), &mut x),
        (true, "operation") => on.broadcast_in_place(root(0), &mut x),
        (true, "reduction") => on.all_reduce_in_place(Reduction::Max, &mut x),
        _ => on.all_reduce_in_place(Reduction::Sum, &mut x),
    }
}

/// Every order of `ranks` ranks.
fn orders(ranks: usize) -> Vec<Vec<usize>> {
    if ranks == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(ranks - 1);
    let insert = |order: &Vec<usize>, at: usize| {
        let mut order = order.clone();
        order.insert(at, ranks - 1);
        order
    };
    shorter.iter().flat_map(|order| (0..ranks).map(move |at| insert(order, at))).collect()
}

/// The report of every rank when they call in that order; they must be one.
fn report(ranks: u32, odd: usize, difference: &str, order: &[usize]) -> Arc<Report> {
    let comms = World::of(ranks).communicators();
    // A call that all agree on goes before, so that the number in the report means something.
    for comm in &comms {
        call(comm, "none", false).expect("all agree");
    }
    for &rank in order {
        call(&comms[rank], difference, rank == odd).expect("a rank learns of it when it waits");
    }
    let mut reports: Vec<Arc<Report>> = comms
        .iter()
        .map(|comm| {
            let error = comm.stream().fence().and_then(|fence| fence.wait()).expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::Peer);
            error.report().expect("a report").clone()
        })
        .collect();
    reports.dedup();
    assert_eq!(reports.len(), 1, "one report on every rank: {reports:#?}");
    reports.remove(0)
}

#[test]
fn every_difference_every_culprit_every_order() {
    let checked = in_time(|| {
        let mut checked = 0;
        for ranks in 2..=4_u32 {
            for odd in 0..usize::try_from(ranks).expect("small") {
                for (difference, aspect) in DIFFERENCES {
                    let mut first: Option<Arc<Report>> = None;
                    for order in orders(usize::try_from(ranks).expect("small")) {
                        let report = report(ranks, odd, difference, &order);
                        assert_eq!(
                            *first.get_or_insert_with(|| report.clone()),
                            report,
                            "{order:?}"
                        );
                        checked += 1;
                    }
                    let report = first.expect("at least one order");
                    assert_exactly(&report, ranks, odd, aspect);
                }
            }
        }
        checked
    });
    // Orders × culprits × differences: 2·2·7 + 6·3·7 + 24·4·7.
    assert_eq!(checked, 826);
}

/// What the report must say, worked out from the case.
fn assert_exactly(report: &Report, ranks: u32, odd: usize, aspect: Aspect) {
    assert_eq!(report.kind, Kind::Mismatch, "{report}");
    assert_eq!(&*report.communicator, "world");
    assert_eq!(report.ranks.get(), ranks);
    assert_eq!(report.seq, Some(Seq::Collective(1)));
    assert!(report.absent.is_empty() && report.waits.is_empty(), "{report}");

    let odd = u32::try_from(odd).expect("small");
    let outliers: Vec<u32> = report.outliers.iter().map(|rank| rank.index()).collect();
    assert_eq!(
        outliers,
        if ranks > 2 { vec![odd] } else { vec![] },
        "no majority of two: {report}"
    );

    let mut sides: Vec<Vec<u32>> = report
        .sides
        .iter()
        .map(|side| side.members.iter().map(|member| member.rank.index()).collect())
        .collect();
    let majority: Vec<u32> = (0..ranks).filter(|rank| *rank != odd).collect();
    if ranks > 2 {
        assert_eq!(sides, [majority, vec![odd]], "the majority stands first: {report}");
    } else {
        sides.sort();
        assert_eq!(sides, [[0], [1]], "{report}");
    }
    assert!(report.aspects.contains(aspect), "{aspect}: {report}");
    // An operation that differs brings its reduction and root with it; all else is alone.
    if aspect != Aspect::Operation {
        assert_eq!(report.aspects, Aspects::from_iter([aspect]), "{report}");
    }
    for side in &report.sides {
        let [(site, members)] = &side.sites[..] else { panic!("one line of code each: {report}") };
        assert!(site.to_string().contains("mismatches.rs"), "{site}");
        assert_eq!(members.len(), side.members.len());
    }
    let text = report.to_string();
    assert!(text.contains("mismatch") && text.contains(&aspect.to_string()), "{text}");
}
