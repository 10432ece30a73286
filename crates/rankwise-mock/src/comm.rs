//! The mock's communicator.

use core::panic::Location;
use core::time::Duration;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Instant;

use rankwise_comm::{
    Abort, AbortHandle, Capabilities, Communicator, DeviceOrdinal, Error, Fault, Fence, Pending,
    Post,
};
use rankwise_model::{GroupSize, Rank};
use rankwise_program::{CommId, Ending, Entry, Standing};
use rankwise_program::{Signature, Site};
use rankwise_topology::{Group, WorldRank};

use crate::explore::Step;
use crate::express::Table;
use crate::hub::{Changes, Hub};
use crate::inject::Injection;
use crate::instance::Splitting;
use crate::memory::HostMemory;
use crate::quirks::Quirk;
use crate::split::{Claim, Joined, Slot, SplitSeat, SplitWait};
use crate::stream::Stream;
use crate::table::place;

/// One rank's handle on a group of ranks of the mock.
///
/// Dropping it tells the peers that the rank has left; what it has enqueued is still
/// carried out.
pub struct Comm {
    hub: Arc<Hub>,
    id: CommId,
    name: Arc<str>,
    group: Group,
    rank: Rank,
    world_rank: WorldRank,
    table: Option<Arc<Table>>,
    stream: Stream,
    streams: AtomicUsize,
    /// The refusal that every later call gets, with [`Quirk::StickyRefusals`].
    refusal: OnceLock<Error>,
}

impl Comm {
    pub(crate) fn new(hub: &Arc<Hub>, world_rank: WorldRank, joined: Joined) -> Self {
        let Joined { comm: id, name, group, rank, table } = joined;
        let stream = Stream::new(hub, world_rank, id, &format!("{name}#0"));
        let (hub, streams, refusal) = (Arc::clone(hub), AtomicUsize::new(1), OnceLock::new());
        Self { hub, id, name, group, rank, world_rank, table, stream, streams, refusal }
    }

    /// Its ranks, as ranks of the whole world, in order.
    pub const fn members(&self) -> &Group {
        &self.group
    }

    /// The own rank in the whole world.
    pub const fn world_rank(&self) -> WorldRank {
        self.world_rank
    }

    /// What every rank of the world is doing: computing, waiting for whom, or gone. For
    /// people; the text may change.
    pub fn world_status(&self) -> String {
        self.hub.status()
    }

    pub(crate) const fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    pub(crate) const fn id(&self) -> CommId {
        self.id
    }

    /// Where its ranks meet the short way, and the own seat there.
    pub(crate) fn seat(&self) -> Option<(&Arc<Table>, usize)> {
        Some((self.table.as_ref()?, place(self.rank.index())))
    }

    /// Why nothing can be called on it any more, if so.
    pub(crate) fn check_usable(&self) -> Result<(), Error> {
        self.refusal.get().map_or(Ok(()), |error| Err(error.clone()))?;
        self.hub.lock().check_open(self.id, self.world_rank, self.rank, &self.name)
    }

    fn leave(&self, how: Ending) {
        // Given up or not, it is left.
        let _ = self.hub.turn(Step::Leave);
        let (mut state, mut changes) = (self.hub.lock(), Changes::default());
        state.shut(self.id, &mut changes);
        let words = match how {
            Ending::Closed => "closed",
            _ => "dropped",
        };
        state.left.entry((self.id, self.world_rank)).or_insert_with(|| words.to_owned());
        state.matcher.leave(self.id, self.world_rank, how);
        self.hub.settle(state, changes);
    }
}

impl Communicator for Comm {
    type Memory = HostMemory;
    type Stream = Stream;

    fn rank(&self) -> Rank {
        self.rank
    }

    fn ranks(&self) -> GroupSize {
        self.group.size()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn device(&self) -> DeviceOrdinal {
        DeviceOrdinal(self.world_rank.index())
    }

    fn capabilities(&self) -> &Capabilities {
        let [of_many, of_one] = &self.hub.capabilities;
        if self.group.size() == GroupSize::ONE { of_one } else { of_many }
    }

    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn new_stream(&self) -> Result<Stream, Error> {
        let number = self.streams.fetch_add(1, Ordering::Relaxed);
        Ok(Stream::new(&self.hub, self.world_rank, self.id, &format!("{}#{number}", self.name)))
    }

    fn allocate(&self, bytes: usize) -> Result<HostMemory, Error> {
        let refuses = |injection: &Arc<Injection>| injection.refuses_memory(self.world_rank);
        if self.hub.injection.as_ref().is_some_and(refuses) {
            return Err(Fault::OutOfMemory { bytes, device: self.device() }.into());
        }
        HostMemory::new(&self.hub, bytes, self.device())
    }

    fn submit(posts: &[Post<'_, Self>]) -> Result<(), Error> {
        let injection = posts.first().and_then(|post| post.comm().hub.injection.as_ref());
        match injection {
            Some(injection) => crate::inject::submit(injection, posts),
            None => match posts {
                [post] => crate::submit::submit(&[post]),
                several => crate::submit::submit(&several.iter().collect::<Vec<_>>()),
            },
        }
    }

    fn refused(&self, error: Error) -> Error {
        if self.hub.quirks.contains(Quirk::StickyRefusals) {
            return self.refusal.get_or_init(|| error).clone();
        }
        error
    }

    #[track_caller]
    fn split(&self, color: Option<u32>, key: i32) -> Result<Pending<Option<Self>>, Error> {
        let site = Location::caller();
        self.refusal.get().map_or(Ok(()), |error| Err(error.clone()))?;
        let signed = color.map(i32::try_from).transpose().map_err(|_| Fault::Unsupported {
            backend: self.capabilities().backend().to_owned(),
            what: format!("colours above {} ({site}); found {color:?}", i32::MAX),
            since: None,
        })?;
        self.hub.turn(Step::Split(site))?;
        let (mut state, mut changes) = (self.hub.lock(), Changes::default());
        state.stir(self.world_rank);
        state.show(self.world_rank, &mut changes);
        if let Err(error) = state.check_open(self.id, self.world_rank, self.rank, &self.name) {
            let error = state.told(self.world_rank, error);
            self.hub.settle(state, changes);
            return Err(error);
        }
        state.close(self.id, &mut changes);
        let signature = Signature::split(color, key);
        let entry = Entry { comm: self.id, signature, site: Site::Code(site), tag: None };
        let seat = state
            .matcher
            .post_beside(self.world_rank, entry.clone())
            .map_err(|refused| Fault::Internal { what: refused.to_string() })?;
        if let Some(recorder) = &self.hub.recorder {
            recorder.enqueued(self.world_rank, None, [(entry.clone(), seat.seq)]);
        }
        let slot = Arc::new(Slot::new());
        let (comm, ranks) = (self.id, self.group.size());
        let number = seat.seq;
        let splitting = state
            .splits
            .entry(seat.instance)
            .or_insert_with(|| Splitting { comm, seats: ranks.ranks().map(|_| None).collect() });
        if let Some(seat) = splitting.seats.get_mut(place(self.rank.index())) {
            *seat = Some(SplitSeat {
                rank: self.world_rank,
                color: signed,
                key,
                slot: Arc::clone(&slot),
            });
        }
        if let Some(baton) = &self.hub.baton {
            let missing = splitting.seats.iter().filter(|seat| seat.is_none()).count();
            baton.touch(|touched| touched.call(entry, number, missing));
        }
        if let Standing::Agreed = seat.standing {
            let name = format!("{}/split {}", self.name, seat.seq);
            state.finish_split(seat.instance, &self.group, &name, &mut changes);
        }
        self.hub.settle(state, changes);

        let (hub, rank, instance) = (Arc::clone(&self.hub), self.world_rank, seat.instance);
        let claim = Claim { hub: Arc::clone(&hub), rank, slot: Arc::clone(&slot), used: false };
        let wait = SplitWait { hub: Arc::clone(&hub), rank, instance, slot };
        Ok(Pending::new(Fence::new(Arc::new(wait), 0), move || {
            Ok(claim.take()?.map(|joined| Self::new(&hub, rank, joined)))
        }))
    }

    fn abort_handle(&self) -> AbortHandle {
        AbortHandle::new(Arc::new(Aborter {
            hub: Arc::downgrade(&self.hub),
            comm: self.id,
            name: Arc::clone(&self.name),
            rank: self.rank,
            world_rank: self.world_rank,
        }))
    }

    fn close(self, within: Duration) -> Result<(), Error> {
        let deadline = Instant::now().checked_add(within);
        let fences = self.hub.fences_of(self.id, self.world_rank);
        let waited = fences.iter().try_for_each(|fence| match deadline {
            Some(deadline) => fence.wait_until(deadline),
            None => fence.wait(),
        });
        self.leave(Ending::Closed);
        waited
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        self.leave(if thread::panicking() { Ending::Panicked } else { Ending::Dropped });
    }
}

/// Ends one rank's part of a communicator.
struct Aborter {
    hub: Weak<Hub>,
    comm: CommId,
    name: Arc<str>,
    rank: Rank,
    world_rank: WorldRank,
}

impl Abort for Aborter {
    fn abort(&self, reason: &str) {
        let Some(hub) = self.hub.upgrade() else { return };
        // Given up or not, it is aborted.
        let _ = hub.turn(Step::Abort);
        let mut state = hub.lock();
        state.notes_trouble();
        let how = format!("aborted: {reason}");
        let (rank, communicator) = (self.rank, self.name.as_ref().to_owned());
        let error = Fault::Closed { rank, communicator, how: how.clone() }.into();
        state.left.insert((self.comm, self.world_rank), how);
        let mut changes = Changes::default();
        state.matcher.last_words(self.world_rank, reason);
        state.abort(self.comm, self.world_rank, &error, &mut changes);
        hub.settle(state, changes);
    }
}
