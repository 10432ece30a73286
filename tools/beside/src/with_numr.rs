//! The situations on numr's `LocalCommunicator`: each thread owns its rank and holds the
//! guard that aborts the group on a panic, as its documentation shows.

use numr::dtype::DType;
use numr::runtime::{Communicator, LocalCommunicator, ReduceOp};

use crate::program::{Member, Program};
use crate::situation::{RANKS, Situation};

pub(crate) fn program(situation: Situation) -> Result<Program, &'static str> {
    match situation {
        Situation::ReduceRoots => return Err("no reduce in it"),
        Situation::SwappedAndTagged => return Err("no tags in it"),
        _ => {}
    }
    let member = |comm: LocalCommunicator| -> Member {
        Box::new(move |ready| {
            let _guard = comm.abort_on_panic();
            ready();
            // What differs only in who reads it is said once.
            let own = format!("LocalCommunicator rank {}:", comm.rank());
            let alike = |text: String| text.replace(&own, "LocalCommunicator rank N:");
            calls(&comm, situation).map_err(|error| alike(error.to_string()))
        })
    };
    Ok(LocalCommunicator::group(RANKS).into_iter().map(member).collect())
}

fn calls(comm: &LocalCommunicator, situation: Situation) -> numr::error::Result<Vec<Vec<f32>>> {
    let rank = comm.rank();
    let reduction = if situation.reduces_otherwise(rank) { ReduceOp::Max } else { ReduceOp::Sum };
    let mut left = Vec::new();
    for mut values in situation.contributions(rank) {
        let (place, count) = (values.as_mut_ptr() as u64, values.len());
        // SAFETY: a live host buffer of so many f32, used by nobody else until the call
        // returns, which it does when it is done.
        unsafe {
            match situation {
                Situation::BroadcastRoots => {
                    comm.broadcast(place, count, DType::F32, situation.root(rank))?;
                }
                _ => comm.all_reduce(place, count, DType::F32, reduction)?,
            }
        }
        comm.sync()?;
        left.push(values);
    }
    Ok(left)
}
