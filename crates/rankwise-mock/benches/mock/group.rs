//! Ranks with their buffers, and the ways to do a collective on them.

use std::hint;
use std::thread;
use std::time::Duration;

use rankwise_comm::prelude::*;
use rankwise_comm::{Dyn, Memory};
use rankwise_mock::engine::{Job, Seat, Worked};
use rankwise_mock::seam::span_of;
use rankwise_mock::{Comm, HostMemory, World};
use rankwise_model::Layout;

use crate::cell::{Cell, Op};
use crate::race::race;

struct Member {
    comm: Comm,
    x: Buffer<Dyn, HostMemory>,
    y: Buffer<Dyn, HostMemory>,
}

/// All ranks of a cell. Its jobs lie on the very buffers that the calls use.
pub(crate) struct Group {
    cell: Cell,
    layout: Layout,
    seats: Vec<Seat>,
    members: Vec<Member>,
}

impl Group {
    pub(crate) fn new(cell: Cell) -> Self {
        let layout = cell.layout().expect("cells have layouts");
        let member = |(comm, at): (Comm, _)| {
            let at: rankwise_model::RankLayout = at;
            let length = |elements| usize::try_from(elements).expect("fits in memory");
            let buffer = |elements| comm.dyn_buffer(cell.dtype, length(elements)).expect("memory");
            let (mut x, y) = (buffer(at.input_len()), buffer(at.output_len()));
            // Ones in bf16, and close to it in the other types.
            let ones: Vec<u8> = [0x80, 0x3f].into_iter().cycle().take(x.memory().bytes()).collect();
            comm.stream().write_bytes(x.view_mut(), &ones).expect("as long as the buffer");
            Member { comm, x, y }
        };
        let comms = World::of(cell.ranks).communicators();
        let members: Vec<_> = comms.into_iter().zip(layout.each()).map(member).collect();
        let seat = |Member { comm, x, y }: &Member| {
            let span = |memory| span_of(comm, memory).expect("its own");
            Seat { input: span(x.memory()), output: span(y.memory()), scalar: None }
        };
        let seats = members.iter().map(seat).collect();
        Self { cell, layout, seats, members }
    }

    /// To be dropped before the group is used otherwise.
    fn job(&self) -> Job {
        let Self { cell, layout, seats, .. } = self;
        // SAFETY: the buffers live as long as the group. Whoever makes a job has the group
        // to itself, so no call is in flight; jobs are worked on one after the other.
        #[allow(unsafe_code)]
        let job = unsafe { Job::new(*layout, cell.dtype, seats) };
        job.expect("well laid out")
    }

    /// So many waits, each for as many calls as the cell says, through the trait.
    pub(crate) fn through_trait(&mut self, waits: u32) -> Duration {
        let cell = self.cell;
        let work = |member: &mut Member| {
            for _ in 0..waits {
                for _ in 0..cell.calls {
                    member.call(cell.op).expect("well matched");
                }
                let fence = member.comm.stream().fence().expect("not closed");
                fence.wait().expect("well matched");
            }
        };
        race(self.members.iter_mut().map(|member| || work(member)).collect())
    }

    /// The same work so many times by the engine alone, one thread per core, each its own
    /// part every time, without a word between them.
    pub(crate) fn ideally(&mut self, times: u32) -> Duration {
        let (job, cores) = (&self.job(), cores());
        let work = |core| {
            for _ in 0..times {
                // SAFETY: every thread has a part of its own, below the number of cores;
                // the buffers live, and as the group is borrowed exclusively, no call
                // is in flight.
                #[allow(unsafe_code)]
                unsafe {
                    job.work_alone(core, cores);
                }
            }
        };
        race((0..cores).map(|core| move || work(core)).collect())
    }

    /// The same work as so many jobs, whose shares a thread per core takes until each is
    /// done: sharing without matching, waking or waiting.
    pub(crate) fn shared(&mut self, times: u32) -> Duration {
        let jobs: Vec<Job> = (0..times).map(|_| self.job()).collect();
        let work = || {
            for job in &jobs {
                while job.work() != Worked::Nothing {}
                let mut patience = 0..100;
                while !job.is_done() {
                    if patience.next().is_some() {
                        hint::spin_loop();
                    } else {
                        thread::yield_now();
                    }
                }
            }
        };
        race((0..cores()).map(|_| work).collect())
    }
}

impl Member {
    fn call(&mut self, op: Op) -> Result<(), Error> {
        let Self { comm, x, y } = self;
        match op {
            Op::AllReduce => comm.all_reduce(Reduction::Sum, &*x, y),
            Op::AllGather => comm.all_gather(&*x, y),
            Op::ReduceScatter => comm.reduce_scatter(Reduction::Sum, &*x, y),
        }
    }
}

/// How many threads the ideal has.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
