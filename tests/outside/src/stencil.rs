//! A field that is cut into strips, one per rank, and smoothed.

extern crate std;

use std::vec;
use std::vec::Vec;

use rankwise_comm::prelude::*;

/// One step: every cell becomes the sum of itself and both neighbours, which for the
/// first and the last cell of a strip are on other ranks. Beyond the field there are zeros.
pub fn smooth<C: Communicator>(comm: &C, strip: &[i64]) -> Result<Vec<i64>, Error> {
    let (Some(first), Some(last)) = (strip.first(), strip.last()) else { return Ok(Vec::new()) };
    let rank = comm.rank().index();
    let left = rank.checked_sub(1).and_then(|at| comm.ranks().rank(at));
    let right = comm.ranks().rank(rank + 1);

    let stream = comm.stream();
    // The own edges, and those of the neighbours: left, right.
    let mut own = [comm.buffer::<i64>(1)?, comm.buffer::<i64>(1)?];
    let mut theirs = [comm.buffer::<i64>(1)?, comm.buffer::<i64>(1)?];
    for (edge, value) in own.iter_mut().zip([first, last]) {
        stream.write(edge, &[*value])?;
    }
    for edge in &mut theirs {
        stream.write(edge, &[0])?;
    }
    // As a group, or each rank would wait for a neighbour that waits for it.
    comm.group(|group| {
        for ((peer, own), theirs) in [left, right].into_iter().zip(&own).zip(&mut theirs) {
            if let Some(peer) = peer {
                group.send(peer, own)?;
                group.recv(peer, theirs)?;
            }
        }
        Ok(())
    })?;

    let mut cells = vec![stream.read(&theirs[0])?[0]];
    cells.extend_from_slice(strip);
    cells.push(stream.read(&theirs[1])?[0]);
    Ok(cells.windows(3).map(|near| near.iter().sum()).collect())
}

/// The sum of each column over all ranks. An error names the line that calls this.
#[track_caller]
pub fn totals<C: Communicator>(comm: &C, columns: &[i64]) -> Result<Vec<i64>, Error> {
    let mut sums = comm.buffer::<i64>(columns.len())?;
    comm.stream().write(&mut sums, columns)?;
    comm.all_reduce_in_place(Reduction::Sum, &mut sums)?;
    comm.stream().read(&sums)
}
