//! The same program as every rank lives it: on communicators, streams and buffers.

use rankwise_comm::ReduceOp;
use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, HostMemory, World};
use rankwise_model::{OperationKind, Scalar};

use crate::generate::{BUFFERS, LEN, Part, Program, Step, Stream as Which};

/// What every rank's buffers hold at the end, or what stopped it.
pub(crate) fn run(program: &Program) -> Vec<Result<Vec<Vec<Scalar>>, Error>> {
    let ranks = u32::try_from(program.ranks).unwrap();
    World::of(ranks).run(|comm| Life::new(program, comm)?.run())
}

/// One rank's life.
struct Life<'p> {
    program: &'p Program,
    world: &'p Comm,
    own: usize,
    /// Its communicators by group; `None` where it is no member.
    comms: Vec<Option<Comm>>,
    other: rankwise_mock::Stream,
    buffers: Vec<Buffer<Dyn, HostMemory>>,
}

impl<'p> Life<'p> {
    fn new(program: &'p Program, world: &'p Comm) -> Result<Self, Error> {
        let own = usize::try_from(world.rank().index()).unwrap();
        let mut comms = vec![None];
        for group in &program.groups[1..] {
            let position = group.iter().position(|member| *member == own);
            let key = position.map_or(0, |position| i32::try_from(position).unwrap());
            comms.push(world.split(position.map(|_| 3), key)?.wait()?);
        }
        let mut buffers = Vec::new();
        for values in &program.initial[own] {
            let mut buffer = world.dyn_buffer(program.dtype, LEN)?;
            world.stream().write_bytes(buffer.view_mut(), &to_bytes(values))?;
            buffers.push(buffer);
        }
        Ok(Self { program, world, own, comms, other: world.new_stream()?, buffers })
    }

    fn run(mut self) -> Result<Vec<Vec<Scalar>>, Error> {
        let mut last = self.world.stream().fence()?;
        for step in &self.program.steps {
            if let Some(fence) = self.step(step, &last)? {
                last = fence;
            }
        }
        let read = |buffer: &Buffer<Dyn, HostMemory>| {
            let mut bytes = vec![0; buffer.view().byte_range().len()];
            self.world.stream().read_bytes(buffer.view(), &mut bytes)?;
            Ok(from_bytes(self.program.dtype, &bytes))
        };
        assert_eq!(self.buffers.len(), BUFFERS);
        self.buffers.iter().map(read).collect()
    }

    /// Enqueues a step behind `last`; `None` if this rank has no part in it.
    fn step(&mut self, step: &Step, last: &Fence) -> Result<Option<Fence>, Error> {
        match step {
            Step::Collective { group, kind, reduction, root, count, send, recv, stream } => {
                let Some(comm) = comm_of(&self.comms, self.world, *group) else { return Ok(None) };
                let stream = if *stream == Which::Own { comm.stream() } else { &self.other };
                stream.wait_for(last)?;
                let root = comm.ranks().rank(u32::try_from(*root).unwrap()).unwrap();
                let op = match *reduction {
                    Reduction::PreMulSum => ReduceOp::premul_dyn(self.program.factors[self.own]),
                    reduction => reduction.into(),
                };
                let sides = Sides::of(*kind, comm, root, *count);
                let on = comm.on(stream);
                if send == recv {
                    let whole = slice(
                        &mut self.buffers[send.buffer],
                        *send,
                        sides.input.max(sides.output),
                    )?;
                    match kind {
                        OperationKind::AllReduce => on.all_reduce_in_place(op, whole)?,
                        OperationKind::Reduce => on.reduce_in_place(op, root, whole)?,
                        OperationKind::Broadcast => on.broadcast_in_place(root, whole)?,
                        OperationKind::AllGather => on.all_gather_in_place(whole)?,
                        OperationKind::ReduceScatter => on.reduce_scatter_in_place(op, whole)?,
                        OperationKind::Gather => on.gather_in_place(root, whole)?,
                        OperationKind::Scatter => on.scatter_in_place(root, whole)?,
                        _ => unreachable!("no in-place form"),
                    }
                } else {
                    let [from, to] =
                        self.buffers.get_disjoint_mut([send.buffer, recv.buffer]).unwrap();
                    let x = from.slice(send.start..send.start + sides.input)?;
                    let y = slice(to, *recv, sides.output)?;
                    match kind {
                        OperationKind::AllReduce => on.all_reduce(op, x, y)?,
                        OperationKind::Reduce => on.reduce(op, root, x, y)?,
                        OperationKind::Broadcast => on.broadcast(root, x, y)?,
                        OperationKind::AllGather => on.all_gather(x, y)?,
                        OperationKind::ReduceScatter => on.reduce_scatter(op, x, y)?,
                        OperationKind::AllToAll => on.all_to_all(x, y)?,
                        OperationKind::Gather => on.gather(root, x, y)?,
                        OperationKind::Scatter => on.scatter(root, x, y)?,
                        _ => unreachable!("messages are a step of their own"),
                    }
                }
                stream.fence().map(Some)
            }
            Step::Messages { group, pairs, send, recv } => {
                let Some(comm) = comm_of(&self.comms, self.world, *group) else { return Ok(None) };
                comm.stream().wait_for(last)?;
                let own = usize::try_from(comm.rank().index()).unwrap();
                let peer = |rank: usize| comm.ranks().rank(u32::try_from(rank).unwrap()).unwrap();
                let [from, to] = self.buffers.get_disjoint_mut([*send, *recv]).unwrap();
                let (from, mut rest) = (&*from, to.view_mut());
                comm.group(|calls| {
                    for (sender, receiver, count) in pairs {
                        if *sender == own {
                            calls.send(peer(*receiver), from.slice(0..*count)?)?;
                        }
                        if *receiver == own {
                            let (part, behind) = rest.split_at(*count)?;
                            rest = behind;
                            calls.recv(peer(*sender), part)?;
                        }
                    }
                    Ok(())
                })?;
                comm.stream().fence().map(Some)
            }
        }
    }
}

/// The lengths of a rank's sides, by the table; 0 where it has none.
struct Sides {
    input: usize,
    output: usize,
}

impl Sides {
    fn of(kind: OperationKind, comm: &Comm, root: Rank, c: usize) -> Self {
        let n = usize::try_from(comm.ranks().get()).unwrap();
        let is_root = comm.rank() == root;
        let (input, output) = match kind {
            OperationKind::AllReduce => (c, c),
            OperationKind::Reduce => (c, if is_root { c } else { 0 }),
            OperationKind::Broadcast => (if is_root { c } else { 0 }, c),
            OperationKind::AllGather => (c, n * c),
            OperationKind::ReduceScatter => (n * c, c),
            OperationKind::Gather => (c, if is_root { n * c } else { 0 }),
            OperationKind::Scatter => (if is_root { n * c } else { 0 }, c),
            _ => (n * c, n * c),
        };
        Self { input, output }
    }
}

fn comm_of<'a>(comms: &'a [Option<Comm>], world: &'a Comm, group: usize) -> Option<&'a Comm> {
    if group == 0 { Some(world) } else { comms[group].as_ref() }
}

fn slice(
    buffer: &mut Buffer<Dyn, HostMemory>,
    part: Part,
    len: usize,
) -> Result<ViewMut<'_, Dyn, HostMemory>, Error> {
    buffer.slice_mut(part.start..part.start + len)
}

fn to_bytes(values: &[Scalar]) -> Vec<u8> {
    let width = |value: &Scalar| usize::try_from(value.dtype().bytes()).unwrap();
    values.iter().flat_map(|value| value.bits().to_le_bytes()[..width(value)].to_vec()).collect()
}

fn from_bytes(dtype: Dtype, bytes: &[u8]) -> Vec<Scalar> {
    bytes
        .chunks(usize::try_from(dtype.bytes()).unwrap())
        .map(|chunk| {
            let mut bits = [0; 8];
            bits[..chunk.len()].copy_from_slice(chunk);
            Scalar::from_bits(dtype, u64::from_le_bytes(bits))
        })
        .collect()
}
