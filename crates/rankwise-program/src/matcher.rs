//! The matcher: who has called what, what belongs together, and what never will.

mod face;
mod seating;

use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_topology::{Group, World, WorldRank};

pub(crate) use self::seating::{position_of, world_rank_of};
use crate::call::{Signature, Tag};
use crate::communicator::{CommId, Communicator};
use crate::history::narrow;
use crate::instance::{InstanceId, Instances};
use crate::participant::{Participant, Wait};
use crate::report::Report;
use crate::site::Site;
use crate::stream::{Stream, StreamId};

/// Matches the calls of all ranks into instances, and finds what can never complete.
///
/// A passive state machine: it neither blocks nor reads a clock, and moves no data.
/// Who drives it says what happens ([`post`](Self::post), [`block`](Self::block),
/// [`end`](Self::end), …) and asks what follows. A live backend calls it under one
/// lock; [`check`](crate::check()) drives it by simulation.
///
/// # What it costs
///
/// A call that agrees costs a constant, plus its share of an instance's seats. Nothing
/// is searched until something is suspicious: a contradiction, a rank that is gone and
/// still awaited, a rank that waits while others wait for it, or calls enqueued in an
/// order that contradicts another rank's. A search takes time and memory in proportion to
/// what is open: ranks, seats and enqueued items. While something hopeless is not settled,
/// one of the ranks that may settle it is watched, and what it does next starts the next
/// search. What is over is forgotten.
///
/// # What is found, and when
///
/// A *wait is possible* if nothing has failed that it needs, and every member still
/// missing is free to call or waits for something possible itself. What is waited for
/// and not possible is *hopeless*: a contradiction, a member that is gone, a circle, or
/// a victim of one of these. A cause is published when every member of the instances
/// concerned has called, has gone, or is hopelessly blocked; that, and what the report
/// says, does not depend on the order in which ranks arrive. Two causes that are
/// independent and in one communicator are the exception: what is published first
/// fails the communicator, and the other is then not looked for.
#[derive(Debug)]
pub struct Matcher {
    pub(crate) world: World,
    pub(crate) comms: Vec<Communicator>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) ranks: Vec<Participant>,
    pub(crate) instances: Instances,
    /// By world rank: how many open instances lack it.
    awaited: Vec<u64>,
    /// How many have ended or left a communicator.
    gone: u64,
    /// Agreed instances that may be at the head of all their streams.
    ready: Vec<InstanceId>,
    /// Something has happened that only a search can judge.
    pub(crate) suspect: bool,
    /// Something hopeless is known.
    pub(crate) troubled: bool,
    /// Something has failed: who waits for it next is to be told.
    pub(crate) failing: bool,
}

/// One call, as it is handed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// On which communicator.
    pub comm: CommId,
    /// What is called.
    pub signature: Signature,
    /// From where.
    pub site: Site,
    /// The caller's name for what it moves.
    pub tag: Option<Tag>,
}

/// What has been found about one cause.
///
/// The first verdict of a cause carries its instances and the communicators that it
/// fails. Ranks that meet it later get further verdicts with the same report, and
/// without communicators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The cause.
    pub report: Arc<Report>,
    /// Instances that have failed by it now.
    pub instances: Vec<InstanceId>,
    /// Communicators that have failed by it now.
    pub comms: Vec<CommId>,
    /// Whose waiting ends by it now, and which of its waits.
    pub victims: Vec<(WorldRank, Wait)>,
}

/// How a wait stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Everything waited for is over, or never was.
    Done,
    /// Not over, and not known to fail.
    Pending,
    /// Something waited for has failed.
    Failed(Arc<Report>),
}

impl Matcher {
    /// A matcher for the ranks of `world`, all of which are computing.
    pub fn new(world: World) -> Self {
        Self {
            world,
            comms: Vec::new(),
            streams: Vec::new(),
            ranks: world.ranks().map(|_| Participant::default()).collect(),
            instances: Instances::default(),
            awaited: world.ranks().map(|_| 0).collect(),
            gone: 0,
            ready: Vec::new(),
            suspect: false,
            troubled: false,
            failing: false,
        }
    }

    /// Adds a communicator. The name is for reports.
    ///
    /// A member that is not in this matcher's world never calls: it is taken for one
    /// that has returned.
    pub fn add_communicator(&mut self, name: impl Into<Arc<str>>, group: &Group) -> CommId {
        let id = CommId(u32::try_from(self.comms.len()).unwrap_or(u32::MAX));
        self.comms.push(Communicator::new(name.into(), group));
        id
    }

    /// Adds a stream of a rank. The name is for reports.
    pub fn add_stream(&mut self, rank: WorldRank, name: impl Into<Arc<str>>) -> StreamId {
        let id = StreamId(u32::try_from(self.streams.len()).unwrap_or(u32::MAX));
        self.streams.push(Stream::new(rank, name.into()));
        id
    }

    pub(crate) fn comm(&self, id: CommId) -> Option<&Communicator> {
        self.comms.get(narrow(id.0.into())?)
    }

    pub(crate) fn comm_mut(&mut self, id: CommId) -> Option<&mut Communicator> {
        self.comms.get_mut(narrow(id.0.into())?)
    }

    pub(crate) fn stream(&self, id: StreamId) -> Option<&Stream> {
        self.streams.get(narrow(id.0.into())?)
    }

    pub(crate) fn stream_mut(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.streams.get_mut(narrow(id.0.into())?)
    }

    pub(crate) fn rank(&self, rank: WorldRank) -> Option<&Participant> {
        self.ranks.get(narrow(rank.index().into())?)
    }

    pub(crate) fn rank_mut(&mut self, rank: WorldRank) -> Option<&mut Participant> {
        self.ranks.get_mut(narrow(rank.index().into())?)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use rankwise_model::GroupSize;

    use super::*;
    use crate::ending::Ending;

    /// Searches cost as much as is open, and a program in order needs none.
    #[test]
    fn only_a_rank_that_is_lacked_while_it_waits_or_ends_is_suspicious() {
        let world = World::new(GroupSize::new(2).unwrap());
        let mut matcher = Matcher::new(world);
        let comm = matcher.add_communicator("world", &Group::whole(world));
        let entry = Entry { comm, signature: Signature::barrier(), site: Site::Unknown, tag: None };
        let [zero, one] = [0, 1].map(|rank| world.rank(rank).unwrap());
        for rank in [zero, one] {
            let stream = matcher.add_stream(rank, "s0");
            let entries = core::slice::from_ref(&entry);
            let point = matcher.post(rank, stream, entries, &mut Vec::new()).unwrap();
            matcher.block(rank, Wait::Point(point));
        }
        for instance in matcher.runnable() {
            matcher.completed(instance);
        }
        matcher.resume(zero);
        matcher.resume(one);
        matcher.post_beside(zero, entry).unwrap();
        matcher.end(zero, Ending::Returned);
        assert!(!matcher.suspect, "nothing lacked rank 0, nor rank 1 while it waited");

        matcher.end(one, Ending::Returned);
        assert!(matcher.suspect, "the second barrier lacks rank 1");
    }
}
