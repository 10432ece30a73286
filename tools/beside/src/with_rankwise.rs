//! The situations on `rankwise-mock`.

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, World};
use rankwise_program::Tag;

use crate::program::{Member, Program};
use crate::situation::{RANKS, Situation};

#[allow(clippy::unnecessary_wraps, reason = "other libraries lack some")]
pub(crate) fn program(situation: Situation) -> Result<Program, &'static str> {
    let ranks = u32::try_from(RANKS).expect("few");
    let member = |comm: Comm| -> Member {
        Box::new(move |ready| {
            ready();
            calls(&comm, situation).map_err(|error| error.to_string())
        })
    };
    Ok(World::of(ranks).communicators().into_iter().map(member).collect())
}

fn calls(comm: &Comm, situation: Situation) -> Result<Vec<Vec<f32>>, Error> {
    let rank = comm.rank().index() as usize;
    let root = u32::try_from(situation.root(rank)).ok().and_then(|root| comm.ranks().rank(root));
    let root = root.expect("a rank");
    let other = situation.reduces_otherwise(rank);
    let reduction = if other { Reduction::Max } else { Reduction::Sum };
    let mut left = Vec::new();
    for values in situation.contributions(rank) {
        let mut x = comm.buffer::<f32>(values.len())?;
        comm.stream().write(&mut x, &values)?;
        match situation {
            Situation::BroadcastRoots => comm.broadcast_in_place(root, &mut x)?,
            Situation::ReduceRoots => comm.reduce_in_place(Reduction::Sum, root, &mut x)?,
            Situation::SwappedAndTagged => {
                let tag = Tag::new(if values[0] > 1.0 { "tens" } else { "ones" });
                let tagged = comm.on(comm.stream()).tagged(&tag);
                tagged.all_reduce_in_place(reduction, &mut x)?;
            }
            _ => comm.all_reduce_in_place(reduction, &mut x)?,
        }
        left.push(comm.stream().read(&x)?);
    }
    Ok(left)
}
