//! Laws of buffers: parts, drops and leaks.

use core::mem::forget;

use rankwise_comm::{Calls, Communicator, Stream};
use rankwise_model::{Operation, Reduction};

use super::Around;
use super::numbers::{blank, contribution, contributions, equal, holds, model_at, upload};
use crate::defect::Defect;

const SUM: Operation = Operation::AllReduce { reduction: Reduction::Sum };

pub(super) fn parts_of_one_buffer<C: Communicator>(comm: &C) -> Result<(), Defect> {
    let mine = contribution(comm.rank(), 0, 3);
    let mut whole = upload(comm, &[&mine[..], &[7; 5]].concat())?;
    {
        let (input, rest) = whole.view_mut().split_at(3)?;
        let (gap, output) = rest.split_at(2)?;
        comm.stream().write(gap, &[8, 9])?;
        comm.all_reduce(Reduction::Sum, input, output)?;
    }
    let sum = model_at(SUM, &contributions(comm.ranks(), 0, 3), comm.rank())?;
    holds(comm, "input, gap and output in one buffer", &whole, &[&mine[..], &[8, 9], &sum].concat())
}

pub(super) fn dropped_in_flight<C: Communicator>(comm: &C, around: &Around) -> Result<(), Defect> {
    let first = comm.rank() == comm.ranks().first();
    if first {
        around.meeting.wait()?;
    }
    let fetched = {
        let (x, mut y) = (upload(comm, &contribution(comm.rank(), 0, 3))?, blank(comm, 3)?);
        comm.all_reduce(Reduction::Sum, &x, &mut y)?;
        comm.stream().fetch(&y)?
    };
    // Whoever freed the memory now gives it away again.
    let other = comm.new_stream()?;
    let mut reused = Vec::new();
    for _ in 0..4 {
        let mut buffer = comm.buffer::<i32>(3)?;
        other.write(&mut buffer, &[-5; 3])?;
        reused.push(buffer);
    }
    if !first {
        around.meeting.wait()?;
    }
    let sum = model_at(SUM, &contributions(comm.ranks(), 0, 3), comm.rank())?;
    equal("the sum out of dropped buffers", &fetched.wait()?, &sum)?;
    reused.iter().try_for_each(|buffer| holds(comm, "another buffer", buffer, &[-5; 3]))
}

pub(super) fn leaks<C: Communicator>(comm: &C) -> Result<(), Defect> {
    for call in 0..3 {
        let (x, mut y) = (upload(comm, &contribution(comm.rank(), call, 3))?, blank(comm, 3)?);
        comm.all_reduce(Reduction::Sum, &x, &mut y)?;
        let fence = comm.stream().fence()?;
        forget(comm.stream().fetch(&y)?);
        forget((x, y, fence));
    }
    let (x, mut y) = (upload(comm, &contribution(comm.rank(), 3, 3))?, blank(comm, 3)?);
    comm.group(|group| group.all_reduce(Reduction::Sum, &x, &mut y))?;
    let sum = model_at(SUM, &contributions(comm.ranks(), 3, 3), comm.rank())?;
    holds(comm, "the sum after the leaks", &y, &sum)
}
