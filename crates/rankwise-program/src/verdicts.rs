//! Publishing what has been found.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::Rank;
use rankwise_topology::WorldRank;

use crate::communicator::Departure;
use crate::ending::Ending;
use crate::instance::{InstanceId, Standing};
use crate::matcher::{Matcher, Verdict};
use crate::participant::Wait;
use crate::report::Report;
use crate::stream::{Point, StreamId};
use crate::waits::{Cause, Outlook};

impl Matcher {
    /// What has been found since the last call.
    ///
    /// Costs nothing unless something suspicious has happened since.
    pub fn take_verdicts(&mut self) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        if !self.suspect {
            return verdicts;
        }
        let mut outlook = Outlook::of(self);
        while !outlook.causes().is_empty() {
            self.publish(outlook.causes(), &mut verdicts);
            outlook = Outlook::of(self);
        }
        self.fail_hopeless(&outlook, &mut verdicts);
        if self.release_victims(&outlook, &mut verdicts) {
            // They are free now.
            outlook = Outlook::of(self);
        }
        self.remember(&outlook);
        self.suspect = false;
        verdicts
    }

    /// Keeps of a search what says when the next is due.
    fn remember(&mut self, outlook: &Outlook) {
        self.troubled = outlook.is_troubled();
        self.failing = outlook.is_failing();
        for slot in outlook.possible_instances() {
            self.instances.reorder(slot);
        }
        let watched = outlook.watched();
        for slot in 0..self.instances.slots() {
            let is_watched = watched.get(slot) == Some(&true);
            self.instances.mark(slot, outlook.is_hopeless(slot), is_watched);
        }
        for (index, rank) in (0..=u32::MAX).zip(&mut self.ranks) {
            rank.loose = false;
            rank.watched = watched.get(outlook.rank(index)) == Some(&true);
        }
        for (at, stream) in self.streams.iter_mut().enumerate() {
            let mut items = outlook.items(at, stream.open_items());
            stream.hopeless = items.any(|item| outlook.is_hopeless(item));
        }
    }

    /// Publishes causes, earlier calls of a communicator first: whichever way the ranks
    /// arrive, these are known no later. One whose communicator fails by another before
    /// its turn is left: it is then no cause but a victim.
    fn publish(&mut self, causes: &[Cause], verdicts: &mut Vec<Verdict>) {
        let report = |cause| (self.report_on(cause), &cause.instances);
        let mut found: Vec<_> = causes.iter().map(report).collect();
        found.sort_by(|(one, _), (other, _)| {
            let call = |report: &Report| (report.communicator.clone(), report.seq);
            call(one).cmp(&call(other)).then_with(|| one.cmp(other))
        });
        for (report, instances) in found {
            if instances.iter().any(|instance| self.has_failed(*instance)) {
                continue;
            }
            let report = Arc::new(report);
            let mut comms = Vec::new();
            for instance in instances {
                let Some(found) = self.instances.get_mut(*instance) else { continue };
                found.standing = Standing::Failed(report.clone());
                let comm = found.comm;
                if let Some(failing) = self.comm_mut(comm)
                    && failing.failed.is_none()
                {
                    failing.failed = Some(report.clone());
                    comms.push(comm);
                }
            }
            let instances = instances.clone();
            verdicts.push(Verdict { report, instances, comms, victims: Vec::new() });
        }
    }

    /// Whether an instance fails with its communicator: it is not agreed, and will not be.
    fn has_failed(&self, instance: InstanceId) -> bool {
        self.instances.get(instance).is_some_and(|found| {
            found.standing != Standing::Agreed
                && self.comm(found.comm).is_some_and(|comm| comm.failed.is_some())
        })
    }

    /// Fails instances and items of streams whose end is settled.
    fn fail_hopeless(&mut self, outlook: &Outlook, verdicts: &mut Vec<Verdict>) {
        if !outlook.is_troubled() {
            return;
        }
        let settled = |id| outlook.failure(self, Wait::Instance(id)).cloned();
        let mut failing: Vec<(u64, InstanceId, Arc<Report>)> = self
            .instances
            .iter()
            .filter(|(_, found)| !matches!(found.standing, Standing::Failed(_)))
            .filter_map(|(id, found)| Some((found.created, id, settled(id)?)))
            .collect();
        failing.sort_unstable_by_key(|(created, ..)| *created);
        let mut items: Vec<(Point, Arc<Report>)> = Vec::new();
        for (at, stream) in (0..=u32::MAX).zip(&self.streams) {
            for (index, _) in stream.items().filter(|(_, item)| item.failed.is_none()) {
                let point = Point { stream: StreamId(at), index };
                if let Some(report) = outlook.failure(self, Wait::Point(point)) {
                    items.push((point, report.clone()));
                }
            }
        }
        for (_, id, report) in failing {
            if let Some(found) = self.instances.get_mut(id) {
                found.standing = Standing::Failed(report.clone());
            }
            verdict_on(verdicts, &report).instances.push(id);
        }
        for (point, report) in items {
            let stream = self.stream_mut(point.stream);
            if let Some(item) = stream.and_then(|stream| stream.get_mut(point.index)) {
                item.failed = Some(report);
            }
        }
    }

    /// Ends the waits whose failure is settled. Whether there were any.
    fn release_victims(&mut self, outlook: &Outlook, verdicts: &mut Vec<Verdict>) -> bool {
        let mut released = false;
        if !outlook.is_troubled() {
            return released;
        }
        for rank in self.world.ranks() {
            let waits = self.rank(rank).map(|found| found.waits.clone()).unwrap_or_default();
            for wait in waits {
                let Some(report) = outlook.failure(self, wait).cloned() else { continue };
                let place = self.waits_in(rank, wait);
                self.tell(rank, &report, place);
                self.resume_from(rank, wait);
                verdict_on(verdicts, &report).victims.push((rank, wait));
                released = true;
            }
        }
        released
    }

    /// How a member that an instance lacks has gone, if it has.
    pub(crate) fn departure(
        &self,
        instance: InstanceId,
        world: WorldRank,
        position: Rank,
    ) -> Option<Departure> {
        let comm = self.comm(self.instances.get(instance)?.comm)?;
        if let Some(left) = comm.departure(position) {
            return Some(left.clone());
        }
        let Some(found) = self.rank(world) else {
            // A rank of a larger world: nothing will ever come from it.
            return Some(Departure { how: Ending::Returned, because: None });
        };
        let because = found.told.as_ref().map(|told| told.report.clone());
        Some(Departure { how: found.ended?, because })
    }
}

/// The verdict of that cause, begun if there is none yet.
fn verdict_on<'a>(verdicts: &'a mut Vec<Verdict>, report: &Arc<Report>) -> &'a mut Verdict {
    let found = verdicts.iter().position(|verdict| Arc::ptr_eq(&verdict.report, report));
    let at = found.unwrap_or_else(|| {
        verdicts.push(Verdict {
            report: report.clone(),
            instances: Vec::new(),
            comms: Vec::new(),
            victims: Vec::new(),
        });
        verdicts.len().saturating_sub(1)
    });
    // The place was just found or made.
    #[allow(clippy::indexing_slicing)]
    &mut verdicts[at]
}
