//! A script on the mock: a thread for each rank.

use std::thread;
use std::time::Duration;

use rankwise_comm::ReduceOp;
use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, Faults, HostMemory, World};
use rankwise_model::{ElementVisitor, Operation};

use crate::script::{BUFFERS, Call, Part, Script, Step};
use crate::spec::{Place, Sides};

type Memory = Buffer<Dyn, HostMemory>;

/// Runs a script, and compares everything that it leaves with the model's.
pub(crate) fn run(script: &Script) {
    for (rank, ended) in play(script, Faults::none(), Compared::All).into_iter().enumerate() {
        if let Err(error) = ended {
            panic!("seed {}, rank {rank}: {error}", script.seed);
        }
    }
}

/// What of a script is compared with the model.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compared {
    All,
    /// Nothing: faults strike.
    Nothing,
}

/// How each rank ends.
pub(crate) fn play(script: &Script, faults: Faults, compared: Compared) -> Vec<Result<(), Error>> {
    let world = World::of(u32::try_from(script.ranks).expect("small"));
    let world = if script.strict { world.strict() } else { world };
    world.with_faults(faults).run(|comm| Player::new(script, comm, compared).and_then(Player::play))
}

struct Player<'s, 'c> {
    script: &'s Script,
    rank: usize,
    world: &'c Comm,
    /// By number in the script, those that this rank is in.
    split: Vec<Option<Comm>>,
    streams: Vec<<Comm as Communicator>::Stream>,
    buffers: Vec<Memory>,
    compared: Compared,
}

impl<'s, 'c> Player<'s, 'c> {
    fn new(script: &'s Script, world: &'c Comm, compared: Compared) -> Result<Self, Error> {
        let rank = usize::try_from(world.rank().index()).expect("small");
        let buffers = (0..BUFFERS).map(|_| world.dyn_buffer(script.dtype, script.len));
        let buffers = buffers.collect::<Result<_, _>>()?;
        let streams = (0..script.streams).map(|_| world.new_stream()).collect::<Result<_, _>>()?;
        Ok(Self { script, rank, world, split: Vec::new(), streams, buffers, compared })
    }

    fn play(mut self) -> Result<(), Error> {
        let mut fetched = Vec::new();
        for (number, step) in self.script.steps.iter().enumerate() {
            match step {
                Step::Write { to, stream, bits } if to.rank == self.rank => {
                    let bytes = self.script.dtype.visit(Bytes(bits));
                    let view = self.buffers[to.buffer].slice_mut(to.range.clone())?;
                    self.streams[*stream].write_bytes(view, &bytes)?;
                }
                Step::Fetch { from, stream, bits } if from.rank == self.rank => {
                    let view = self.buffers[from.buffer].slice(from.range.clone())?;
                    fetched.push((number, self.streams[*stream].fetch_bytes(view)?, bits));
                }
                Step::Follow { rank, stream, other } if *rank == self.rank => {
                    let fence = self.streams[*other].fence()?;
                    self.streams[*stream].wait_for(&fence)?;
                }
                Step::Wait { rank, stream } if *rank == self.rank => {
                    self.streams[*stream].fence()?.wait()?;
                }
                Step::Pause { rank, microseconds } if *rank == self.rank => {
                    thread::sleep(Duration::from_micros(*microseconds));
                }
                Step::Split { comm, by } => self.split(*comm, by)?,
                Step::Calls { grouped: false, calls } => self.call(&calls[0])?,
                Step::Calls { grouped: true, calls } => self.group(calls)?,
                _ => {}
            }
        }
        for (number, pending, bits) in fetched {
            self.compare(&format!("fetched by step {number}"), &pending.wait()?, bits);
        }
        for (buffer, left) in self.script.left[self.rank].iter().enumerate() {
            let whole = self.buffers[buffer].view();
            let mut bytes = vec![0; whole.byte_range().len()];
            self.streams[0].read_bytes(whole, &mut bytes)?;
            self.compare(&format!("left in buffer {buffer}"), &bytes, &left.bits);
        }
        Ok(())
    }

    fn compare(&self, what: &str, bytes: &[u8], expected: &[Option<u64>]) {
        let width = usize::try_from(self.script.dtype.bytes()).expect("small");
        if self.compared == Compared::Nothing {
            return;
        }
        for (position, (found, expected)) in bytes.chunks(width).zip(expected).enumerate() {
            let mut padded = [0; 8];
            padded[..width].copy_from_slice(found);
            let found = u64::from_le_bytes(padded);
            assert!(
                expected.is_none_or(|expected| expected == found),
                "seed {}, rank {}: position {position} {what} is {found:#x}, {expected:x?} by the \
                 model ({})",
                self.script.seed,
                self.rank,
                self.script.dtype
            );
        }
    }

    fn comm(&self, number: usize) -> Option<&Comm> {
        number.checked_sub(1).map_or(Some(self.world), |number| self.split[number].as_ref())
    }

    fn split(&mut self, comm: usize, by: &[(Option<u32>, i32)]) -> Result<(), Error> {
        let own = match self.comm(comm) {
            None => None,
            Some(comm) => {
                let (color, key) = by[usize::try_from(comm.rank().index()).expect("small")];
                let joined = comm.split(color, key)?.wait()?;
                joined.map(|joined| (color, joined))
            }
        };
        let (mut own_color, mut joined) = own.map_or((None, None), |(c, j)| (c, Some(j)));
        for color in [0, 1] {
            if by.iter().any(|(other, _)| *other == Some(color)) {
                let mine = own_color == Some(color);
                self.split.push(joined.take_if(|_| mine));
                if mine {
                    own_color = None;
                }
            }
        }
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<(), Error> {
        let Some(part) = call.parts.iter().find(|part| part.rank == self.rank) else {
            return Ok(());
        };
        let mut buffers: Vec<Option<&mut Memory>> = Vec::new();
        // Fields apart: the buffers are borrowed, the communicators are read.
        let Self { world, split, streams, buffers: own, .. } = self;
        buffers.extend(own.iter_mut().map(Some));
        let comm = call.comm.checked_sub(1).map_or(*world, |at| split[at].as_ref().expect("in it"));
        post(&comm.on(&streams[part.stream]), call, part, &mut buffers)
    }

    fn group(&mut self, calls: &[Call]) -> Result<(), Error> {
        let Self { world, split, streams, buffers: own, rank, .. } = self;
        let mut buffers: Vec<Option<&mut Memory>> = own.iter_mut().map(Some).collect();
        world.group(|group| {
            for call in calls {
                // A message to oneself has two parts.
                for part in call.parts.iter().filter(|part| part.rank == *rank) {
                    let comm = call.comm.checked_sub(1);
                    let comm = comm.map_or(*world, |at| split[at].as_ref().expect("in it"));
                    post(&group.on(comm, &streams[part.stream]), call, part, &mut buffers)?;
                }
            }
            Ok(())
        })
    }
}

/// Makes one rank's part of a call. The buffers that it uses are taken.
fn post<'env>(
    on: &impl Calls<'env, Memory = HostMemory>,
    call: &Call,
    part: &Part,
    buffers: &mut [Option<&'env mut Memory>],
) -> Result<(), Error> {
    let mut take = |place: &Place| {
        let buffer = buffers[place.buffer].take().expect("used once");
        buffer.slice_mut(place.range.clone())
    };
    let op = |reduction: Reduction| part.scalar.map_or(reduction.into(), ReduceOp::premul_dyn);
    if let Some((from, to)) = call.message {
        let Sides::Apart { input, output } = &part.sides else { panic!("a message in place") };
        // The sender's part comes first.
        return if core::ptr::eq(part, &raw const call.parts[0]) {
            on.send(to, take(input)?)
        } else {
            on.recv(from, take(output)?)
        };
    }
    match (&part.sides, call.layout.operation()) {
        (Sides::Apart { input, output }, operation) => {
            let (input, output) = (take(input)?, take(output)?);
            match operation {
                Operation::AllReduce { reduction } => on.all_reduce(op(reduction), input, output),
                Operation::Reduce { reduction, root } => {
                    on.reduce(op(reduction), root, input, output)
                }
                Operation::Broadcast { root } => on.broadcast(root, input, output),
                Operation::AllGather => on.all_gather(input, output),
                Operation::ReduceScatter { reduction } => {
                    on.reduce_scatter(op(reduction), input, output)
                }
                Operation::AllToAll => on.all_to_all(input, output),
                Operation::Gather { root } => on.gather(root, input, output),
                Operation::Scatter { root } => on.scatter(root, input, output),
                other => panic!("{other} is not generated"),
            }
        }
        (Sides::InPlace(whole), operation) => {
            let whole = take(whole)?;
            match operation {
                Operation::AllReduce { reduction } => on.all_reduce_in_place(op(reduction), whole),
                Operation::Reduce { reduction, root } => {
                    on.reduce_in_place(op(reduction), root, whole)
                }
                Operation::Broadcast { root } => on.broadcast_in_place(root, whole),
                Operation::AllGather => on.all_gather_in_place(whole),
                Operation::ReduceScatter { reduction } => {
                    on.reduce_scatter_in_place(op(reduction), whole)
                }
                Operation::Gather { root } => on.gather_in_place(root, whole),
                Operation::Scatter { root } => on.scatter_in_place(root, whole),
                other => panic!("{other} is not generated in place"),
            }
        }
    }
}

/// Elements as the bytes of the host.
struct Bytes<'b>(&'b [u64]);

impl ElementVisitor for Bytes<'_> {
    type Output = Vec<u8>;

    fn visit<T: Element>(self) -> Vec<u8> {
        let width = size_of::<T>();
        self.0.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(width)).collect()
    }
}
