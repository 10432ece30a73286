//! Enqueueing calls: all of them, or none.

use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::Arc;

use rankwise_comm::{Communicator, Error, Fault, Part, Placement, Post};
use rankwise_model::Rank;
use rankwise_program::Site;
use rankwise_program::{CommId, Entry, InstanceId, Seat, Standing};
use rankwise_topology::WorldRank;

use crate::comm::Comm;
use crate::explore::Step;
use crate::express::Way;
use crate::hub::{Changes, Hub, Rigor, State};
use crate::instance::{Instance, Seating, Taken};
use crate::lane::Act;
use crate::memory::{Block, HostMemory};
use crate::quirks::{self, Quirks};
use crate::stream::Stream;
use crate::uses::{Use, What};

/// A call that is about to be enqueued.
pub(crate) struct Prepared<'p> {
    pub(crate) comm: &'p Comm,
    pub(crate) stream: &'p Stream,
    pub(crate) entry: Entry,
    pub(crate) seating: Seating,
    pub(crate) taken: Taken,
    pub(crate) what: What,
    pub(crate) poison: Poison,
}

/// Bytes of blocks.
type Parts = Vec<(Arc<Block>, Range<usize>)>;

/// What a strict world poisons around calls.
#[derive(Default)]
pub(crate) struct Poison {
    /// Outputs, before the calls are made: they hold nothing until they are written.
    pub(crate) before: Parts,
    /// What is not promised any more, once the calls are done.
    pub(crate) after: Parts,
}

/// Calls of one rank on one stream: one item of its lane.
struct Unit<'p> {
    rank: WorldRank,
    lane: usize,
    calls: Vec<Prepared<'p>>,
}

/// Calls of one rank on one stream that have been checked and numbered.
pub(crate) struct Item {
    pub(crate) rank: WorldRank,
    pub(crate) lane: usize,
    pub(crate) ticket: u64,
    pub(crate) entries: Vec<Entry>,
    pub(crate) calls: Vec<(Seating, Taken)>,
    pub(crate) poison: Poison,
}

/// Enqueues the posts, as far as the world's quirks let them.
pub(crate) fn submit(posts: &[&Post<'_, Comm>]) -> Result<(), Error> {
    let quirks = posts.first().map_or(Quirks::NONE, |post| post.comm().hub().quirks);
    if quirks == Quirks::NONE { submit_plainly(posts) } else { quirks::submit(quirks, posts) }
}

/// Enqueues the posts as units, one per rank and stream.
pub(crate) fn submit_plainly(posts: &[&Post<'_, Comm>]) -> Result<(), Error> {
    if let [post] = posts
        && let Way::Short = post.comm().hub().post_short(post)?
    {
        return Ok(());
    }
    enqueue(posts.iter().map(|post| Prepared::of(post)).collect::<Result<_, _>>()?)
}

/// Enqueues the calls as units, one per rank and stream.
pub(crate) fn enqueue(calls: Vec<Prepared<'_>>) -> Result<(), Error> {
    let Some(first) = calls.first() else { return Ok(()) };
    let hub = Arc::clone(first.comm.hub());
    if hub.baton.is_some() {
        hub.turn(Step::of(first))?;
    }
    let units = units(&hub, calls)?;
    let mut ranks: Vec<_> = units.iter().map(|unit| unit.rank).collect();
    ranks.dedup();
    let (mut state, mut changes) = (hub.lock(), Changes::default());
    for rank in &ranks {
        state.stir(*rank);
    }
    for call in units.iter().flat_map(|unit| &unit.calls) {
        if call.entry.signature.verb().peer().is_none() {
            state.close(call.comm.id(), &mut changes);
        }
    }
    let still = state.still(&hub.desks, &ranks, &mut changes);
    let done = state.enqueue_all(units, &mut changes);
    drop(still);
    hub.settle(state, changes);
    done
}

impl Step {
    /// The call, as the step of its rank.
    const fn of(call: &Prepared<'_>) -> Self {
        let verb = call.entry.signature.verb().name();
        match call.entry.site {
            Site::Code(site) => Self::Call(verb, site),
            _ => Self::Stream,
        }
    }
}

impl<'p> Prepared<'p> {
    fn of(post: &'p Post<'_, Comm>) -> Result<Self, Error> {
        let (comm, call) = (post.comm(), post.call());
        let signature = *call.signature();
        let (site, tag) = (Site::Code(call.site()), call.tag().cloned());
        Ok(Self {
            comm,
            stream: post.stream(),
            entry: Entry { comm: comm.id(), signature, site, tag },
            seating: Seating::of(signature.verb(), *call.layout())
                .map_err(|error| Fault::Layout { error, site: call.site() })?,
            taken: Taken::of(post, 0, 0)?,
            what: What::Call(signature.verb().name(), call.site()),
            poison: match comm.hub().rigor {
                Rigor::Strict => Poison::around(post)?,
                Rigor::Usual => Poison::default(),
            },
        })
    }
}

impl Poison {
    /// Around one call. In place its output is input, too, until it is written.
    fn around(post: &Post<'_, Comm>) -> Result<Self, Error> {
        let (comm, call) = (post.comm(), post.call());
        let bytes = |part: &Part<'_, HostMemory>| {
            Ok::<_, Error>((Arc::clone(part.memory().block_of(comm.hub())?), part.bytes()))
        };
        let output = call.output().filter(|_| call.placement() == Placement::OutOfPlace);
        Ok(Self {
            before: output.map(bytes).into_iter().collect::<Result<_, _>>()?,
            after: call.lost().map(bytes).collect::<Result<_, _>>()?,
        })
    }

    /// And what another call of the unit needs.
    fn and(mut self, other: Self) -> Self {
        self.before.extend(other.before);
        self.after.extend(other.after);
        self
    }
}

fn units<'p>(hub: &Arc<Hub>, calls: Vec<Prepared<'p>>) -> Result<Vec<Unit<'p>>, Error> {
    let mut units: BTreeMap<(WorldRank, usize), Vec<Prepared<'p>>> = BTreeMap::new();
    for call in calls {
        let (comm, stream) = (call.comm, call.stream);
        let foreign = |found: String, needed: String| Err(Fault::Foreign { found, needed }.into());
        if !Arc::ptr_eq(comm.hub(), hub) || !Arc::ptr_eq(stream.hub(), hub) {
            let needed = "those of one world".to_owned();
            return foreign("a communicator or stream of another world".to_owned(), needed);
        }
        if stream.rank() != comm.world_rank() {
            let stream_of = |rank: WorldRank| format!("a stream of rank {}", rank.index());
            return foreign(stream_of(stream.rank()), stream_of(comm.world_rank()));
        }
        units.entry((comm.world_rank(), stream.lane())).or_default().push(call);
    }
    Ok(units.into_iter().map(|((rank, lane), calls)| Unit { rank, lane, calls }).collect())
}

/// A use of bytes by one call of a submission: which block, which call.
type OwnUse = (Arc<Block>, (usize, usize), Use);

impl State {
    /// Why a rank can call nothing more on a communicator, if so.
    pub(crate) fn check_open(
        &self,
        comm: CommId,
        rank: WorldRank,
        own: Rank,
        name: &str,
    ) -> Result<(), Error> {
        let left = self.left.get(&(comm, rank)).or_else(|| self.ended.get(&rank));
        if let Some(how) = left {
            let (communicator, how) = (name.to_owned(), how.clone());
            return Err(Fault::Closed { rank: own, communicator, how }.into());
        }
        let failed = self.lost.get(&(comm, rank)).or_else(|| self.failed.get(&comm));
        failed.map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Whatever could refuse a unit, before anything is enqueued. Calls of one submission
    /// are concurrent: none may touch what another writes.
    fn check(&self, unit: &Unit<'_>, number: usize, uses: &mut Vec<OwnUse>) -> Result<(), Error> {
        let failure = self.lanes.get(unit.lane).and_then(|lane| lane.failure.as_ref());
        if let Some((_, error)) = failure {
            return Err(error.clone());
        }
        for (position, call) in unit.calls.iter().enumerate() {
            let comm = call.comm;
            self.check_open(comm.id(), unit.rank, comm.rank(), comm.name())?;
            for (block, bytes, access) in call.taken.sides() {
                let new = self.next_use(unit.lane, &bytes, access, call.what);
                self.check_use(unit.rank, block, &new)?;
                let call = (number, position);
                let beside = uses.iter().find(|(other, whose, earlier)| {
                    Arc::ptr_eq(other, block) && *whose != call && earlier.conflicts_with(&new)
                });
                if let Some((_, _, earlier)) = beside {
                    return Err(self.hazard(unit.rank, earlier, &new));
                }
                uses.push((Arc::clone(block), call, new));
            }
        }
        Ok(())
    }

    /// Enqueues units, or none of them.
    fn enqueue_all(&mut self, units: Vec<Unit<'_>>, changes: &mut Changes) -> Result<(), Error> {
        let mut uses = Vec::new();
        for (number, unit) in units.iter().enumerate() {
            self.forget_known(unit.lane);
            self.check(unit, number, &mut uses).map_err(|error| self.told(unit.rank, error))?;
        }
        // Before anything is enqueued: no item may touch bytes without its use being known.
        for (block, _, new) in uses {
            self.note_use(&block, new);
        }
        for unit in units {
            let Unit { rank, lane, calls } = unit;
            let progress = self.lanes.get(lane).map(|lane| Arc::clone(&lane.progress));
            let ticket = progress.map_or(0, |progress| progress.enqueue());
            let mut poison = Poison::default();
            let (mut entries, mut taken) = (Vec::new(), Vec::new());
            for call in calls {
                poison = poison.and(call.poison);
                entries.push(call.entry);
                taken.push((call.seating, Taken { lane, ticket, ..call.taken }));
            }
            let recorded = self.recorder.as_ref().map(|_| entries.clone());
            let seats =
                self.take(Item { rank, lane, ticket, entries, calls: taken, poison }, changes)?;
            if let Some((recorder, entries)) = self.recorder.as_ref().zip(recorded) {
                let calls = entries.into_iter().zip(seats.into_iter().map(|seat| seat.seq));
                let stream = self.lanes.get(lane).map(|lane| &lane.name);
                recorder.enqueued(rank, stream, calls);
            }
        }
        Ok(())
    }

    /// Takes in what has been checked and numbered.
    pub(crate) fn take(&mut self, item: Item, changes: &mut Changes) -> Result<Vec<Seat>, Error> {
        let internal = |what: String| Error::from(Fault::Internal { what });
        let Item { rank, lane, ticket, entries, calls, poison } = item;
        let stream = self.lanes.get(lane).map(|lane| lane.stream);
        let stream = stream.ok_or_else(|| internal(format!("no lane {lane}")))?;
        let mut seats = Vec::with_capacity(entries.len());
        let point = self
            .matcher
            .post(rank, stream, &entries, &mut seats)
            .map_err(|refused| internal(refused.to_string()))?;

        let mut instances = Vec::with_capacity(seats.len());
        for ((seating, taken), seat) in calls.into_iter().zip(&seats) {
            let instance = self.take_seat(seat.instance, seating, taken);
            instance.seq = Some(seat.seq);
            instance.agreed |= matches!(seat.standing, Standing::Agreed);
            let missing = instance.missing();
            if let (Some(baton), Some(entry)) = (&self.baton, entries.get(instances.len())) {
                let (entry, seq) = (entry.clone(), seat.seq);
                baton.touch(|touched| touched.call(entry, seq, missing));
            }
            instances.push(seat.instance);
        }
        let open = instances.len();
        if let Some(lane) = self.lanes.get_mut(lane) {
            let act = Act::Calls { instances, open, reached: false, poison };
            lane.push_numbered(ticket, Some(point), act);
        }
        changes.ready.push(lane);
        Ok(seats)
    }

    /// Puts a call into its instance, which is made if it is the first.
    fn take_seat(&mut self, id: InstanceId, seating: Seating, taken: Taken) -> &mut Instance {
        let make = || Instance::new(seating.layout, taken.dtype, seating.needed);
        let instance = self.instances.entry(id).or_insert_with(make);
        if let Some(slot) = instance.seats.get_mut(seating.seat) {
            *slot = Some(taken);
        }
        instance
    }
}
