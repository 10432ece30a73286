//! Laws of abort and close: the communicators are gone afterwards.

use core::time::Duration;
use std::thread;

use rankwise_comm::{Calls, Communicator, Stream};
use rankwise_model::{Operation, Reduction};

use super::Around;
use super::numbers::{blank, contribution, contributions, equal, model_at, upload};
use crate::defect::Defect;

const SUM: Operation = Operation::AllReduce { reduction: Reduction::Sum };

pub(super) fn abort_ends_a_wait<C: Communicator>(comm: C, around: &Around) -> Result<(), Defect> {
    let (x, mut y) = (upload(&comm, &contribution(comm.rank(), 0, 3))?, blank(&comm, 3)?);
    let mut found = Ok(());
    if comm.rank() == comm.ranks().first() {
        comm.all_reduce(Reduction::Sum, &x, &mut y)?;
        let (fence, abort) = (comm.stream().fence()?, comm.abort_handle());
        let ended = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20)); // so that it most likely waits by now
                abort.abort("the suite tries aborts");
                abort.abort("and a second one changes nothing");
            });
            fence.wait_within(around.patience)
        });
        found = match ended {
            Ok(()) => Err(Defect::new("a wait that was aborted says that all went well")),
            Err(error) if matches!(error.fault(), rankwise_comm::Fault::TimedOut { .. }) => {
                Err(Defect::new(format!("an abort did not end a wait: {error}")))
            }
            Err(_) => match comm.all_reduce(Reduction::Sum, &x, &mut y) {
                Ok(()) => Err(Defect::new("a call after an abort was taken")),
                Err(_) => Ok(()),
            },
        };
    }
    around.meeting.wait()?;
    drop(comm);
    found
}

pub(super) fn close_finishes<C: Communicator>(comm: C, around: &Around) -> Result<(), Defect> {
    let (x, mut y) = (upload(&comm, &contribution(comm.rank(), 0, 3))?, blank(&comm, 3)?);
    let sum = model_at(SUM, &contributions(comm.ranks(), 0, 3), comm.rank())?;
    comm.all_reduce(Reduction::Sum, &x, &mut y)?;
    let fetched = comm.stream().fetch(&y)?;
    comm.close(around.patience)?;
    if !fetched.fence().is_done() {
        return Err(Defect::new("a close returned before what was enqueued was done"));
    }
    equal("the sum after the close", &fetched.wait()?, &sum)
}

pub(super) fn close_gives_up<C: Communicator>(comm: C, around: &Around) -> Result<(), Defect> {
    let (x, mut y) = (upload(&comm, &contribution(comm.rank(), 0, 3))?, blank(&comm, 3)?);
    if comm.rank() == comm.ranks().first() {
        comm.all_reduce(Reduction::Sum, &x, &mut y)?;
        let closed = comm.close(Duration::from_millis(20));
        around.meeting.wait()?;
        return match closed {
            Err(_) => Ok(()),
            Ok(()) => Err(Defect::new("a close with unfinished work says that all went well")),
        };
    }
    around.meeting.wait()?;
    Ok(())
}
