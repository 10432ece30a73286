//! From what is hopeless to whom to tell.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::{GroupSize, Rank};
use rankwise_topology::WorldRank;

use crate::communicator::Departure;
use crate::instance::InstanceId;
use crate::matcher::{Matcher, Verdict};
use crate::report::{Aspects, Kind, Report};

impl Matcher {
    /// What has been found since the last call.
    pub fn take_verdicts(&mut self) -> Vec<Verdict> {
        Vec::new()
    }

    pub(crate) fn inconclusive(&self, _rank: WorldRank) -> Report {
        Report {
            kind: Kind::Inconclusive,
            aspects: Aspects::NONE,
            communicator: Arc::default(),
            ranks: GroupSize::ONE,
            seq: None,
            sides: Vec::new(),
            outliers: Vec::new(),
            absent: Vec::new(),
            waits: Vec::new(),
            recent: Vec::new(),
        }
    }

    /// How a member that an instance lacks has gone, if it has.
    pub(crate) fn departure(
        &self,
        instance: InstanceId,
        world: WorldRank,
        position: Rank,
    ) -> Option<Departure> {
        let found = self.rank(world);
        if let Some(how) = found.and_then(|found| found.ended) {
            let because = found.and_then(|found| Some(found.told.as_ref()?.report.clone()));
            return Some(Departure { how, because });
        }
        let comm = self.comm(self.instances.get(instance)?.comm)?;
        comm.departure(position).cloned()
    }
}
