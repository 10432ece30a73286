//! Who is to blame: asked of the matcher, once all that can come has come.

use rankwise_comm::{Error, Fault};
use rankwise_model::{GroupSize, Rank};
use rankwise_program::{Ending, Entry, Matcher, Signature, Site, Wait};
use rankwise_topology::{Group, World};

use super::Seeded;

/// The error that `told` gets when these ranks have called so and those have left.
pub(crate) fn error(
    seeded: Option<Seeded>,
    ranks: GroupSize,
    calls: &[(Rank, Signature)],
    gone: &[bool],
    told: Rank,
) -> Error {
    let world = World::new(ranks);
    let mut matcher = Matcher::new(world);
    let comm = matcher.add_communicator("toy", &Group::whole(world));
    let mut seats = Vec::new();
    for member in world.ranks() {
        let stream = matcher.add_stream(member, "s0");
        // A toy that blames the wrong rank takes everybody for the next one.
        let shift = u32::from(seeded == Some(Seeded::BlamesNextRank));
        let called =
            calls.iter().find(|(rank, _)| (rank.index() + shift) % ranks.get() == member.index());
        if let Some((_, signature)) = called {
            let site = Site::Unknown;
            let entry = Entry { comm, signature: *signature, site, tag: None };
            let point = matcher.post(member, stream, &[entry], &mut seats).unwrap();
            matcher.block(member, Wait::Point(point));
        } else if gone[member.index() as usize] || shift > 0 {
            matcher.end(member, Ending::Dropped);
        }
    }
    match (seeded, matcher.take_verdicts().first()) {
        (Some(Seeded::BlamesNobody), _) | (_, None) => internal("the ranks' calls differ".into()),
        (Some(Seeded::BlamesDifferently), _) => internal(format!("rank {told} is told apart")),
        (_, Some(verdict)) => verdict.report.clone().into(),
    }
}

fn internal(what: String) -> Error {
    Fault::Internal { what }.into()
}
