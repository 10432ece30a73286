//! The toy behind the trait.

use std::any::Any;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rankwise_comm::{
    Abort, AbortHandle, Capabilities, Communicator, Completion, DeviceOrdinal, DtypeSet, Dyn,
    Error, Fault, Fence, FoldOrder, Memory, Part, Pending, Placement, Post, Stream, View, ViewMut,
};
use rankwise_model::{GroupSize, OperationKind, Rank};
use rankwise_program::Verb;

use super::Seeded;
use super::state::{Act, Bytes, Call, Key, Members, Slot, State, Wish, World};

/// Launches a group.
pub(crate) fn launch(ranks: GroupSize, seeded: Option<Seeded>, order: FoldOrder) -> Vec<ToyComm> {
    let world = Arc::new(World {
        state: Mutex::default(),
        changed: std::sync::Condvar::new(),
        seeded,
        order,
    });
    let left = vec![false; ranks.get() as usize];
    world.lock().comms.push(Members { left });
    let claimed = |rank: Rank| match seeded {
        Some(Seeded::LiesAboutRank) => ranks.first(),
        _ => rank,
    };
    ranks.ranks().map(|rank| ToyComm::new(&world, 0, claimed(rank), ranks)).collect()
}

pub(crate) struct ToyComm {
    world: Arc<World>,
    id: usize,
    rank: Rank,
    ranks: GroupSize,
    capabilities: Capabilities,
    stream: ToyStream,
    numbers: Mutex<HashMap<Line, u64>>,
    leaves: bool,
}

/// What calls are counted along: collectives, or messages from, to, and sent or received.
type Line = Option<(u32, u32, bool)>;

pub(crate) struct ToyMemory {
    bytes: Bytes,
    /// Who wrote to it, by lane: the last ticket.
    writers: Mutex<HashMap<usize, u64>>,
    seeded: Option<Seeded>,
}

impl Memory for ToyMemory {
    fn bytes(&self) -> usize {
        self.bytes.lock().unwrap().len()
    }

    fn device(&self) -> DeviceOrdinal {
        DeviceOrdinal(0)
    }
}

impl Drop for ToyMemory {
    fn drop(&mut self) {
        if self.seeded == Some(Seeded::DropFrees) {
            self.bytes.lock().unwrap().fill(0);
        }
    }
}

pub(crate) struct ToyStream {
    world: Arc<World>,
    lane: usize,
}

/// A lane as something to wait for.
struct Done {
    world: Arc<World>,
    lane: usize,
}

/// A fence that covers whatever is enqueued when it is waited for.
const LATE: u64 = u64::MAX;

impl Done {
    fn ended(&self, state: &State, ticket: u64) -> Option<Result<(), Error>> {
        let lane = &state.lanes[self.lane];
        let ticket = if ticket == LATE { lane.enqueued } else { ticket };
        if lane.done >= ticket { Some(Ok(())) } else { lane.error.clone().map(Err) }
    }
}

impl Completion for Done {
    fn is_done(&self, ticket: u64) -> bool {
        self.ended(&self.world.lock(), ticket).is_some()
    }

    fn wait(&self, ticket: u64, deadline: Option<Instant>) -> Result<(), Error> {
        let start = Instant::now();
        let mut state = self.world.lock();
        loop {
            if let Some(ended) = self.ended(&state, ticket) {
                return ended;
            }
            let Some(deadline) = deadline else {
                state = self.world.changed.wait(state).unwrap();
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let (waited, what) = (start.elapsed(), format!("lane {}", self.lane));
                return Err(Fault::TimedOut { waited, what }.into());
            }
            state = self.world.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    fn poll(&self, ticket: u64, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut state = self.world.lock();
        if let Some(ended) = self.ended(&state, ticket) {
            return Poll::Ready(ended);
        }
        state.wakers.push(cx.waker().clone());
        Poll::Pending
    }
}

impl ToyStream {
    fn fence_at(&self, ticket: u64) -> Fence {
        Fence::new(Arc::new(Done { world: Arc::clone(&self.world), lane: self.lane }), ticket)
    }

    fn enqueue(&self, act: Act) -> Result<u64, Error> {
        let mut state = self.world.lock();
        if let Some(error) = &state.lanes[self.lane].error {
            return Err(error.clone());
        }
        let ticket = state.push(self.lane, act);
        self.world.settle(state, vec![self.lane]);
        Ok(ticket)
    }
}

impl Stream for ToyStream {
    type Memory = ToyMemory;

    fn fence(&self) -> Result<Fence, Error> {
        let enqueued = self.world.lock().lanes[self.lane].enqueued;
        Ok(self.fence_at(match self.world.seeded {
            Some(Seeded::FenceEarly) => enqueued.saturating_sub(1),
            Some(Seeded::FenceLate) => LATE,
            _ => enqueued,
        }))
    }

    fn wait_for(&self, fence: &Fence) -> Result<(), Error> {
        if self.world.seeded == Some(Seeded::NoStreamWaits) {
            return Ok(());
        }
        let completion: &dyn Any = &**fence.completion();
        let Some(done) = completion.downcast_ref::<Done>() else {
            return fence.wait();
        };
        self.enqueue(Act::Wait { lane: done.lane, ticket: fence.ticket() })?;
        Ok(())
    }

    fn write_bytes(&self, to: ViewMut<'_, Dyn, ToyMemory>, bytes: &[u8]) -> Result<(), Error> {
        let (range, view) = (to.byte_range(), to.as_view());
        let memory = view.memory();
        if self.world.seeded == Some(Seeded::WriteOvertakes) {
            memory.bytes.lock().unwrap()[range].copy_from_slice(bytes);
            return Ok(());
        }
        let ticket =
            self.enqueue(Act::Write(Arc::clone(&memory.bytes), range.start, bytes.to_vec()))?;
        memory.writers.lock().unwrap().insert(self.lane, ticket);
        Ok(())
    }

    fn read_bytes(&self, from: View<'_, Dyn, ToyMemory>, bytes: &mut [u8]) -> Result<(), Error> {
        let memory = from.memory();
        for (lane, ticket) in memory.writers.lock().unwrap().clone() {
            if lane == self.lane || self.world.seeded != Some(Seeded::ReadsAhead) {
                let other = Self { world: Arc::clone(&self.world), lane };
                other.fence_at(ticket).wait()?;
            }
        }
        bytes.copy_from_slice(&memory.bytes.lock().unwrap()[from.byte_range()]);
        Ok(())
    }

    fn fetch_bytes(&self, from: View<'_, Dyn, ToyMemory>) -> Result<Pending<Vec<u8>>, Error> {
        let (memory, range) = (Arc::clone(&from.memory().bytes), from.byte_range());
        let slot = Slot::default();
        let act = Act::Fetch(Arc::clone(&memory), range.clone(), Arc::clone(&slot));
        let fence = self.fence_at(self.enqueue(act)?);
        let late = self.world.seeded == Some(Seeded::FetchAtWait);
        Ok(Pending::new(fence, move || {
            if late {
                return Ok(memory.lock().unwrap()[range].to_vec());
            }
            Ok(slot.lock().unwrap().take().unwrap())
        }))
    }
}

impl ToyComm {
    fn new(world: &Arc<World>, id: usize, rank: Rank, ranks: GroupSize) -> Self {
        let lane = world.lock().new_lane();
        let capabilities = match world.seeded {
            Some(Seeded::DeclaresLittle) => Capabilities::none("toy 1", world.order)
                .with(OperationKind::Broadcast, DtypeSet::all()),
            _ => Capabilities::everything("toy 1", world.order),
        };
        Self {
            world: Arc::clone(world),
            id,
            rank,
            ranks,
            capabilities,
            stream: ToyStream { world: Arc::clone(world), lane },
            numbers: Mutex::default(),
            leaves: true,
        }
    }

    /// The number of the next collective, or message to or from a rank.
    fn number(&self, of: Line) -> u64 {
        let mut numbers = self.numbers.lock().unwrap();
        let next = numbers.entry(of).or_default();
        *next += 1;
        *next - 1
    }

    /// Takes numbers for the calls of one unit, in the order in which they stand.
    fn keys(&self, verbs: &[Verb]) -> Vec<Key> {
        let own = self.rank.index();
        let mut keys: Vec<Key> = verbs
            .iter()
            .map(|verb| match verb {
                Verb::Send { to } => {
                    let (from, to) = (own, to.index());
                    let number = self.number(Some((from, to, true)));
                    Key::Message { comm: self.id, from, to, number }
                }
                Verb::Recv { from } => {
                    let (from, to) = (from.index(), own);
                    let number = self.number(Some((from, to, false)));
                    Key::Message { comm: self.id, from, to, number }
                }
                _ => Key::Collective { comm: self.id, number: self.number(None) },
            })
            .collect();
        let sends = verbs.iter().all(|verb| matches!(verb, Verb::Send { .. }));
        if sends && self.world.seeded == Some(Seeded::GroupReversesMessages) {
            keys.reverse();
        }
        keys
    }

    fn check_open(&self, state: &State) -> Result<(), Error> {
        let left = &state.comms[self.id].left;
        match left.iter().position(|left| *left) {
            None => Ok(()),
            Some(rank) => Err(Fault::Internal { what: format!("rank {rank} has left") }.into()),
        }
    }

    fn leave(&self, how: &str) {
        leave(&self.world, self.id, self.rank, how, None);
    }
}

fn leave(world: &World, comm: usize, rank: Rank, how: &str, lane: Option<usize>) {
    let mut state = world.lock();
    state.leave(world.seeded, comm, rank.index());
    if let Some(lane) = lane {
        let how = how.to_owned();
        state.fail(lane, &Fault::Closed { rank, communicator: "toy".to_owned(), how }.into());
    }
    world.settle(state, Vec::new());
}

struct Aborts {
    world: Arc<World>,
    comm: usize,
    rank: Rank,
    lane: usize,
}

impl Abort for Aborts {
    fn abort(&self, reason: &str) {
        // The suite's own abort, at the end of its patience, is obeyed even by a toy
        // that is deaf to others.
        if self.world.seeded != Some(Seeded::AbortIgnored) || reason.contains("gives") {
            leave(&self.world, self.comm, self.rank, reason, Some(self.lane));
        }
    }
}

fn part(part: Option<&Part<'_, ToyMemory>>) -> Option<(Bytes, Range<usize>)> {
    part.map(|part| (Arc::clone(&part.memory().bytes), part.bytes()))
}

impl Communicator for ToyComm {
    type Memory = ToyMemory;
    type Stream = ToyStream;

    fn rank(&self) -> Rank {
        self.rank
    }

    fn ranks(&self) -> GroupSize {
        self.ranks
    }

    fn name(&self) -> &'static str {
        "toy"
    }

    fn device(&self) -> DeviceOrdinal {
        DeviceOrdinal(0)
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn stream(&self) -> &ToyStream {
        &self.stream
    }

    fn new_stream(&self) -> Result<ToyStream, Error> {
        let lane = self.world.lock().new_lane();
        Ok(ToyStream { world: Arc::clone(&self.world), lane })
    }

    fn allocate(&self, bytes: usize) -> Result<ToyMemory, Error> {
        let bytes = Arc::new(Mutex::new(vec![0x11; bytes]));
        Ok(ToyMemory { bytes, writers: Mutex::default(), seeded: self.world.seeded })
    }

    fn submit(posts: &[Post<'_, Self>]) -> Result<(), Error> {
        let Some(first) = posts.first() else { return Ok(()) };
        let (comm, stream) = (first.comm(), first.stream());
        let seeded = comm.world.seeded;
        let verbs: Vec<Verb> = posts.iter().map(|post| post.call().signature().verb()).collect();
        let broadcast = |verb: &Verb| verb.kind() == Some(OperationKind::Broadcast);
        if seeded == Some(Seeded::Panics) && verbs.iter().any(broadcast) && comm.rank.index() == 1 {
            // Without the hook, which would print.
            std::panic::resume_unwind(Box::new("a seeded panic"));
        }
        if seeded == Some(Seeded::DeclaresTooMuch) && verbs.iter().any(broadcast) {
            let (backend, what) = ("toy".to_owned(), "broadcasts".to_owned());
            return Err(Fault::Unsupported { backend, what, since: None }.into());
        }
        // A toy has one communicator and one stream per group.
        let keys = comm.keys(&verbs);
        let mut state = comm.world.lock();
        if let Some(error) = &state.lanes[stream.lane].error {
            return Err(error.clone());
        }
        let kept = if seeded == Some(Seeded::GroupOfOne) { 1 } else { posts.len() };
        for (post, key) in posts.iter().zip(&keys).take(kept) {
            let call = post.call();
            let needed = match key {
                Key::Collective { .. } => comm.ranks.get() as usize,
                Key::Message { .. } => 2,
            };
            let call = Call {
                comm: comm.id,
                signature: *call.signature(),
                dtype: call.dtype(),
                at: *call.layout(),
                scalar: call.scalar(),
                input: part(call.input()),
                output: part(call.output()),
                in_place: call.placement() == Placement::InPlace,
            };
            state.seat(*key, needed, call, stream.lane);
        }
        let keys: Vec<Key> = keys.into_iter().take(kept).collect();
        let open = keys.len();
        let ticket = state.push(stream.lane, Act::Unit { keys, open, arrived: false });
        for post in posts {
            if let Some(output) = post.call().output() {
                output.memory().writers.lock().unwrap().insert(stream.lane, ticket);
            }
        }
        comm.world.settle(state, vec![stream.lane]);
        Ok(())
    }

    fn split(&self, color: Option<u32>, key: i32) -> Result<Pending<Option<Self>>, Error> {
        let number = self.number(None);
        let (world, id, rank) = (Arc::clone(&self.world), self.id, self.rank.index());
        let mut state = world.lock();
        self.check_open(&state)?;
        let lane = state.new_lane();
        state.lanes[lane].enqueued = 1;
        let seats = state.splits.entry((id, number)).or_default();
        seats.push((rank, color, key, lane));
        if seats.len() == self.ranks.get() as usize {
            let seats = state.splits.remove(&(id, number)).unwrap();
            make_children(&mut state, world.seeded, (id, number), seats);
        }
        world.settle(state, Vec::new());
        let fence = Fence::new(Arc::new(Done { world: Arc::clone(&world), lane }), 1);
        Ok(Pending::new(fence, move || {
            let child = world.lock().children.remove(&(id, number, rank)).flatten();
            Ok(child.map(|(id, rank, size)| {
                let ranks = GroupSize::new(size).unwrap();
                Self::new(&world, id, ranks.rank(rank).unwrap(), ranks)
            }))
        }))
    }

    fn abort_handle(&self) -> AbortHandle {
        let (world, lane) = (Arc::clone(&self.world), self.stream.lane);
        AbortHandle::new(Arc::new(Aborts { world, comm: self.id, rank: self.rank, lane }))
    }

    fn close(mut self, within: Duration) -> Result<(), Error> {
        let result = match self.world.seeded {
            Some(Seeded::CloseHasty) => Ok(()),
            _ => self.stream.fence()?.wait_within(within),
        };
        self.leaves = false;
        let lane = result.is_err().then_some(self.stream.lane);
        leave(&self.world, self.id, self.rank, "closed", lane);
        if self.world.seeded == Some(Seeded::CloseSilent) { Ok(()) } else { result }
    }
}

impl Drop for ToyComm {
    fn drop(&mut self) {
        if self.leaves {
            self.leave("dropped");
        }
    }
}

fn make_children(
    state: &mut State,
    seeded: Option<Seeded>,
    (id, number): (usize, u64),
    mut seats: Vec<Wish>,
) {
    seats.sort_unstable_by_key(|(rank, ..)| *rank);
    for (_, color, ..) in &mut seats {
        *color = match (seeded, *color) {
            (Some(Seeded::SplitIgnoresColour), Some(_)) => Some(0),
            (Some(Seeded::NoColourJoins), None) => Some(u32::MAX),
            (_, color) => color,
        };
    }
    let mut colors: Vec<u32> = seats.iter().filter_map(|(_, color, ..)| *color).collect();
    colors.sort_unstable();
    colors.dedup();
    for (rank, ..) in &seats {
        state.children.insert((id, number, *rank), None);
    }
    for color in colors {
        let mut members: Vec<(i32, u32)> = seats
            .iter()
            .filter(|(_, its, ..)| *its == Some(color))
            .map(|(rank, _, key, _)| (*key, *rank))
            .collect();
        match seeded {
            Some(Seeded::SplitIgnoresKey) => {}
            Some(Seeded::SplitReversesTies) => {
                members.sort_by_key(|(key, rank)| (*key, u32::MAX - *rank));
            }
            _ => members.sort_unstable(),
        }
        let (child, size) = (state.comms.len(), u32::try_from(members.len()).unwrap());
        state.comms.push(Members { left: vec![false; members.len()] });
        for (place, (_, rank)) in (0..).zip(members) {
            state.children.insert((id, number, rank), Some((child, place, size)));
        }
    }
    for (.., lane) in seats {
        state.lanes[lane].done = 1;
    }
}
