//! A small backend for these tests: everything happens at the call, in host memory.
//!
//! Ranks meet in one map behind one mutex; the last to come computes by the reference.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rankwise_comm::{
    Abort, AbortHandle, Capabilities, Communicator, Completion, DeviceOrdinal, Dyn, Error, Fault,
    Fence, FoldOrder, Memory, Pending, Post, Stream, View, ViewMut,
};
use rankwise_model::{Element, ElementVisitor, GroupSize, Layout, Rank, Scalar, reference};
use rankwise_plan::values::Values;
use rankwise_program::Verb;

/// What a wrong backend does wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wrong {
    /// On this rank of the world, in collective `seq` of `comm`: the lowest bit of this
    /// byte of the output.
    pub(crate) flipped: Option<(u32, &'static str, u64, usize)>,
    /// This rank panics at its first call.
    pub(crate) panics: Option<u32>,
    /// The fold is the model's, but the backend does not say so.
    pub(crate) unspecified: bool,
}

pub(crate) struct Bytes(Mutex<Vec<u8>>, DeviceOrdinal);

impl Memory for Bytes {
    fn bytes(&self) -> usize {
        self.0.lock().unwrap().len()
    }
    fn device(&self) -> DeviceOrdinal {
        self.1
    }
}

/// What the ranks have brought to one call, and what they take away.
#[derive(Default)]
struct Meeting {
    brought: HashMap<Rank, Brought>,
    left: HashMap<Rank, Vec<u8>>,
}

struct Brought {
    input: Vec<u8>,
    scalar: Option<Scalar>,
    split: Option<(Option<u32>, i32)>,
}

#[derive(Default)]
struct State {
    meetings: HashMap<(String, u64), Meeting>,
    letters: HashMap<(String, Rank, Rank), VecDeque<Vec<u8>>>,
    gone: Vec<u32>,
}

#[derive(Default)]
struct Hub(Mutex<State>, Condvar);

pub(crate) struct Toy {
    hub: Arc<Hub>,
    wrong: Wrong,
    name: String,
    world_rank: u32,
    rank: Rank,
    ranks: GroupSize,
    next: Mutex<u64>,
    stream: Lane,
    capabilities: Capabilities,
}

pub(crate) struct Lane;
struct Done;
struct Nobody;

impl Abort for Nobody {
    fn abort(&self, _: &str) {}
}

impl Completion for Done {
    fn is_done(&self, _: u64) -> bool {
        true
    }
    fn wait(&self, _: u64, _: Option<Instant>) -> Result<(), Error> {
        Ok(())
    }
    fn poll(&self, _: u64, _: &mut core::task::Context<'_>) -> core::task::Poll<Result<(), Error>> {
        core::task::Poll::Ready(Ok(()))
    }
}

/// One communicator per rank.
pub(crate) fn world(ranks: u32, wrong: &Wrong) -> Vec<Toy> {
    let (hub, ranks) = (Arc::new(Hub::default()), GroupSize::new(ranks).unwrap());
    let toy = |rank: Rank| Toy::new(&hub, wrong, "world".into(), rank.index(), (rank, ranks));
    ranks.ranks().map(toy).collect()
}

impl Toy {
    fn new(
        hub: &Arc<Hub>,
        wrong: &Wrong,
        name: String,
        world_rank: u32,
        (rank, ranks): (Rank, GroupSize),
    ) -> Self {
        let order = if wrong.unspecified { FoldOrder::Unspecified } else { FoldOrder::Rank };
        Self {
            hub: Arc::clone(hub),
            wrong: wrong.clone(),
            name,
            world_rank,
            rank,
            ranks,
            next: Mutex::new(0),
            stream: Lane,
            capabilities: Capabilities::everything("toy", order),
        }
    }

    /// Waits until the state has what is asked for; a rank that has gone, or ten seconds
    /// without a peer, end it.
    fn until<R>(&self, mut ask: impl FnMut(&mut State) -> Option<R>) -> Result<R, Error> {
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut state = self.hub.0.lock().unwrap();
        loop {
            if let Some(answer) = ask(&mut state) {
                self.hub.1.notify_all();
                return Ok(answer);
            }
            if !state.gone.is_empty() || Instant::now() > deadline {
                let what = format!("a peer in {}; gone: {:?}", self.name, state.gone);
                return Err(Fault::TimedOut { waited: Duration::ZERO, what }.into());
            }
            state = self.hub.1.wait_timeout(state, Duration::from_millis(100)).unwrap().0;
        }
    }

    /// Brings something to the next collective, and takes away what `compute` makes when
    /// all are there.
    fn meet(
        &self,
        brought: Brought,
        compute: impl Fn(&HashMap<Rank, Brought>) -> Vec<Vec<u8>>,
    ) -> Result<(u64, Vec<u8>), Error> {
        let mut next = self.next.lock().unwrap();
        let (seq, key) = (*next, (self.name.clone(), *next));
        *next += 1;
        let mut brought = Some(brought);
        let all = self.ranks.get() as usize;
        let mut taken = self.until(|state| {
            let meeting = state.meetings.entry(key.clone()).or_default();
            if let Some(brought) = brought.take() {
                meeting.brought.insert(self.rank, brought);
                if meeting.brought.len() == all {
                    meeting.left = self.ranks.ranks().zip(compute(&meeting.brought)).collect();
                }
                self.hub.1.notify_all();
            }
            meeting.left.remove(&self.rank)
        })?;
        if let Some((rank, comm, at, byte)) = self.wrong.flipped
            && (rank, comm, at) == (self.world_rank, &self.name, seq)
        {
            taken[byte] ^= 1;
        }
        Ok((seq, taken))
    }
}

impl Drop for Toy {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.hub.0.lock().unwrap().gone.push(self.world_rank);
            self.hub.1.notify_all();
        }
    }
}

/// Every rank's output, by the reference.
struct Outputs<'m> {
    layout: Layout,
    brought: &'m HashMap<Rank, Brought>,
}

impl ElementVisitor for Outputs<'_> {
    type Output = Vec<Vec<u8>>;

    fn visit<T: Element>(self) -> Vec<Vec<u8>> {
        let ranks = || self.layout.ranks().ranks();
        let elements = |rank| {
            let bytes = self.brought[&rank].input.clone();
            let values = Values::from_le_bytes(T::DTYPE, bytes).unwrap();
            values.iter().map(|scalar| scalar.get().unwrap()).collect::<Vec<T>>()
        };
        let inputs: Vec<Vec<T>> = ranks().map(elements).collect();
        let inputs: Vec<&[T]> = inputs.iter().map(Vec::as_slice).collect();
        let scalars = ranks().filter_map(|rank| self.brought[&rank].scalar?.get());
        let scalars: Vec<T> = scalars.collect();
        let blank = |at: rankwise_model::RankLayout| {
            vec![T::from_bits(0); usize::try_from(at.output_len()).unwrap()]
        };
        let mut outputs: Vec<Vec<T>> = self.layout.each().map(blank).collect();
        let mut slots: Vec<&mut [T]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        reference::evaluate(&self.layout, &scalars, &inputs, &mut slots).unwrap();
        outputs.iter().map(|output| Values::of(output).as_le_bytes().to_vec()).collect()
    }
}

impl Communicator for Toy {
    type Memory = Bytes;
    type Stream = Lane;

    fn rank(&self) -> Rank {
        self.rank
    }
    fn ranks(&self) -> GroupSize {
        self.ranks
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn device(&self) -> DeviceOrdinal {
        DeviceOrdinal(10 + self.world_rank)
    }
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
    fn stream(&self) -> &Lane {
        &self.stream
    }
    fn new_stream(&self) -> Result<Lane, Error> {
        Ok(Lane)
    }
    fn allocate(&self, bytes: usize) -> Result<Bytes, Error> {
        Ok(Bytes(Mutex::new(vec![0; bytes]), self.device()))
    }

    fn submit(posts: &[Post<'_, Self>]) -> Result<(), Error> {
        // Every send first: none waits, so that a group cannot wait in a circle.
        for post in posts {
            let (comm, call) = (post.comm(), post.call());
            assert_ne!(comm.wrong.panics, Some(comm.world_rank), "told to panic");
            if let Verb::Send { to } = call.signature().verb() {
                let part = call.input().unwrap();
                let bytes = part.memory().0.lock().unwrap()[part.bytes()].to_vec();
                let key = (comm.name.clone(), comm.rank, to);
                comm.hub.0.lock().unwrap().letters.entry(key).or_default().push_back(bytes);
                comm.hub.1.notify_all();
            }
        }
        for post in posts {
            let (comm, call) = (post.comm(), post.call());
            let taken = match call.signature().verb() {
                Verb::Send { .. } => continue,
                Verb::Recv { from } => {
                    let key = (comm.name.clone(), from, comm.rank);
                    comm.until(|state| state.letters.get_mut(&key)?.pop_front())?
                }
                _ => {
                    let read = |part: &rankwise_comm::Part<'_, Bytes>| {
                        part.memory().0.lock().unwrap()[part.bytes()].to_vec()
                    };
                    let input = call.input().map(read).unwrap_or_default();
                    let brought = Brought { input, scalar: call.scalar(), split: None };
                    let layout = *call.layout().layout();
                    let dtype = call.dtype();
                    comm.meet(brought, |brought| dtype.visit(Outputs { layout, brought }))?.1
                }
            };
            if let Some(part) = call.output() {
                part.memory().0.lock().unwrap()[part.bytes()].copy_from_slice(&taken);
            }
        }
        Ok(())
    }

    fn split(&self, color: Option<u32>, key: i32) -> Result<Pending<Option<Self>>, Error> {
        let brought = Brought { input: Vec::new(), scalar: None, split: Some((color, key)) };
        // Everyone takes away the list of all colours and keys.
        let (seq, list) = self.meet(brought, |brought| {
            let asked = self.ranks.ranks().map(|rank| brought[&rank].split.unwrap());
            let list = asked.flat_map(|(color, key)| {
                let color = color.map_or(-1, i64::from);
                [color.to_le_bytes(), i64::from(key).to_le_bytes()].concat()
            });
            let list: Vec<u8> = list.collect();
            vec![list; self.ranks.get() as usize]
        })?;
        let numbers: Vec<i64> =
            list.chunks(8).map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap())).collect();
        let mine = color.map(i64::from);
        let mut members: Vec<(i64, u32)> = numbers
            .chunks(2)
            .zip(0..)
            .filter(|(asked, _)| Some(asked[0]) == mine)
            .map(|(asked, rank)| (asked[1], rank))
            .collect();
        members.sort_unstable();
        let own = members.iter().position(|(_, rank)| *rank == self.rank.index());
        let made = own.map(|own| {
            let ranks = GroupSize::new(u32::try_from(members.len()).unwrap()).unwrap();
            let rank = ranks.rank(u32::try_from(own).unwrap()).unwrap();
            let name = format!("{}/{seq}.{}", self.name, color.unwrap());
            Self::new(&self.hub, &self.wrong, name, self.world_rank, (rank, ranks))
        });
        Ok(Pending::new(Fence::new(Arc::new(Done), 0), move || Ok(made)))
    }

    fn abort_handle(&self) -> AbortHandle {
        AbortHandle::new(Arc::new(Nobody))
    }
    fn close(self, _: Duration) -> Result<(), Error> {
        Ok(())
    }
}

impl Stream for Lane {
    type Memory = Bytes;

    fn fence(&self) -> Result<Fence, Error> {
        Ok(Fence::new(Arc::new(Done), 0))
    }
    fn wait_for(&self, _: &Fence) -> Result<(), Error> {
        Ok(())
    }
    fn write_bytes(&self, to: ViewMut<'_, Dyn, Bytes>, bytes: &[u8]) -> Result<(), Error> {
        let range = to.byte_range();
        to.as_view().memory().0.lock().unwrap()[range].copy_from_slice(bytes);
        Ok(())
    }
    fn read_bytes(&self, from: View<'_, Dyn, Bytes>, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.copy_from_slice(&from.memory().0.lock().unwrap()[from.byte_range()]);
        Ok(())
    }
    fn fetch_bytes(&self, from: View<'_, Dyn, Bytes>) -> Result<Pending<Vec<u8>>, Error> {
        let bytes = from.memory().0.lock().unwrap()[from.byte_range()].to_vec();
        Ok(Pending::new(self.fence()?, move || Ok(bytes)))
    }
}
