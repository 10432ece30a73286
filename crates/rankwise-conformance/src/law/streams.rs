//! Laws of streams and fences.

use core::time::Duration;

use rankwise_comm::{Buffer, Calls, Communicator, Fault, Stream};
use rankwise_model::{Operation, Reduction};

use super::Around;
use super::numbers::{blank, contribution, contributions, equal, holds, model_at, upload};
use crate::defect::Defect;

const SUM: Operation = Operation::AllReduce { reduction: Reduction::Sum };

/// How much later a rank comes that is to be late.
const LATE: Duration = Duration::from_millis(5);

/// The sum over all ranks of the call that is numbered `call`.
fn sum_of<C: Communicator>(comm: &C, call: u32) -> Result<Vec<i32>, Defect> {
    model_at(SUM, &contributions(comm.ranks(), call, 3), comm.rank())
}

pub(super) fn stream_order<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let (mut x, mut y, mut z) = (blank(comm, 3)?, blank(comm, 3)?, blank(comm, 3)?);
    let mut fetched = Vec::new();
    for call in 0..4 {
        comm.stream().write(&mut x, &contribution(comm.rank(), call, 3))?;
        comm.all_reduce(Reduction::Max, &x, &mut y)?;
        comm.all_reduce(Reduction::Sum, &x, &mut z)?;
        fetched.push((comm.stream().fetch(&y)?, comm.stream().fetch(&z)?));
    }
    for (call, (largest, sum)) in (0..).zip(fetched) {
        let operation = Operation::AllReduce { reduction: Reduction::Max };
        let expected = model_at(operation, &contributions(comm.ranks(), call, 3), comm.rank())?;
        equal(&format!("the maximum of call {call}"), &largest.wait()?, &expected)?;
        equal(&format!("the sum of call {call}"), &sum.wait()?, &sum_of(comm, call)?)?;
    }
    Ok(())
}

/// Has all ranks but rank 0 enqueue `before`, then all meet, then rank 0 does it too: in
/// between, the call in it cannot be over.
fn held_back<C: Communicator, T>(
    comm: &C,
    around: &Around,
    enqueue: impl FnOnce() -> Result<T, Defect>,
    meanwhile: impl FnOnce(&T) -> Result<(), Defect>,
) -> Result<T, Defect> {
    if comm.rank() == comm.ranks().first() {
        around.meeting.wait()?;
        return enqueue();
    }
    let enqueued = enqueue()?;
    let found = meanwhile(&enqueued);
    // Also if something was found: rank 0 must come too, or the others would hang.
    around.meeting.wait()?;
    found.map(|()| enqueued)
}

fn all_reduce<C: Communicator>(
    comm: &C,
    x: &Buffer<i32, C::Memory>,
    y: &mut Buffer<i32, C::Memory>,
) -> Result<(), Defect> {
    Ok(comm.all_reduce(Reduction::Sum, x, y)?)
}

pub(super) fn fence_not_early<C: Communicator>(comm: &C, around: &Around) -> Result<(), Defect> {
    let (x, mut y) = (upload(comm, &contribution(comm.rank(), 0, 3))?, blank(comm, 3)?);
    let fence = held_back(
        comm,
        around,
        || {
            all_reduce(comm, &x, &mut y)?;
            Ok(comm.stream().fence()?)
        },
        |fence| {
            if fence.is_done() {
                return Err(Defect::new("a fence was passed before rank 0 had made the call"));
            }
            match fence.wait_within(Duration::from_millis(20)) {
                Err(error) if matches!(error.fault(), Fault::TimedOut { .. }) => Ok(()),
                Err(error) => Err(Defect::from(error)),
                Ok(()) => {
                    Err(Defect::new("a wait for a fence returned before rank 0 had made the call"))
                }
            }
        },
    )?;
    fence.wait()?;
    if !fence.is_done() {
        return Err(Defect::new("a fence that was waited for is not done"));
    }
    holds(comm, "the sum", &y, &sum_of(comm, 0)?)
}

pub(super) fn fence_not_late<C: Communicator>(comm: &C, around: &Around) -> Result<(), Defect> {
    let (x, mut y) = (upload(comm, &contribution(comm.rank(), 0, 3))?, blank(comm, 3)?);
    held_back(
        comm,
        around,
        || {
            let fence = comm.stream().fence()?;
            all_reduce(comm, &x, &mut y)?;
            Ok(fence)
        },
        |fence| {
            fence.wait_within(around.patience).map_err(|error| {
                Defect::new(format!("a fence waits for work that was enqueued after it: {error}"))
            })
        },
    )?;
    holds(comm, "the sum", &y, &sum_of(comm, 0)?)
}

pub(super) fn stream_waits_for_stream<C: Communicator>(
    comm: &C,
    around: &Around,
) -> Result<(), Defect> {
    let (x, mut y) = (upload(comm, &contribution(comm.rank(), 0, 3))?, blank(comm, 3)?);
    let mut z = blank(comm, 3)?;
    let other = comm.new_stream()?;
    let fetched = held_back(
        comm,
        around,
        || {
            all_reduce(comm, &x, &mut y)?;
            other.wait_for(&comm.stream().fence()?)?;
            let first = other.fetch(&y)?;
            comm.on(&other).all_reduce(Reduction::Sum, &y, &mut z)?;
            comm.stream().wait_for(&other.fence()?)?;
            Ok((first, comm.stream().fetch(&z)?))
        },
        |_| Ok(()),
    )?;
    let once = sum_of(comm, 0)?;
    let twice = model_at(SUM, &vec![once.clone(); super::numbers::times(comm)], comm.rank())?;
    equal("what the second stream sees of the first", &fetched.0.wait()?, &once)?;
    equal("what the first stream sees of the second", &fetched.1.wait()?, &twice)
}

pub(super) fn fetch_is_a_snapshot<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let mut x = upload(comm, &contribution(comm.rank(), 0, 3))?;
    comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
    let fetched = comm.stream().fetch(&x)?;
    comm.stream().write(&mut x, &[-1, -2, -3])?;
    holds(comm, "what was written later", &x, &[-1, -2, -3])?;
    equal("what was fetched earlier", &fetched.wait()?, &sum_of(comm, 0)?)
}

pub(super) fn read_waits_for_writer<C: Communicator>(
    comm: &C,
    around: &Around,
) -> Result<(), Defect> {
    let (x, mut y) = (upload(comm, &contribution(comm.rank(), 0, 3))?, blank(comm, 3)?);
    let other = comm.new_stream()?;
    other.wait_for(&comm.stream().fence()?)?;
    held_back(
        comm,
        around,
        || {
            // The last to come lets its peers start to read: whoever does not wait is early.
            if comm.rank() == comm.ranks().first() {
                std::thread::sleep(LATE);
            }
            Ok(comm.on(&other).all_reduce(Reduction::Sum, &x, &mut y)?)
        },
        |()| Ok(()),
    )?;
    // Read through the stream that had nothing to do with it.
    holds(comm, "the sum", &y, &sum_of(comm, 0)?)
}
