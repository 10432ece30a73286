//! What a backend says of itself to be tested.

use rankwise_comm::Communicator;
use rankwise_model::GroupSize;

use crate::filter::Filter;

/// A backend under test: how its ranks come to be, and what is expected of it.
///
/// This is all that a third party writes; see the [crate] for a whole file.
pub trait Fixture {
    /// The backend's communicator.
    type Comm: Communicator;

    /// What it is called in the outcome.
    fn name(&self) -> String;

    /// A new group: one communicator per rank, in rank order, with nothing in common
    /// with earlier groups.
    fn launch(&self, ranks: GroupSize) -> Result<Vec<Self::Comm>, String>;

    /// How many cases must have run, so that a suite that skips all of them fails.
    fn floor(&self) -> usize;

    /// How many ranks it can launch here. Larger groups are skipped, and said to be.
    fn most_ranks(&self) -> Option<GroupSize> {
        None
    }

    /// Whether it promises to name who is to blame.
    fn blame(&self) -> Blame {
        Blame::Promised
    }

    /// What is known to fail.
    fn expected_failures(&self) -> Vec<ExpectedFailure> {
        Vec::new()
    }
}

/// Whether a backend compares the ranks' calls and reports what contradicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Every rank gets one report that names the outliers, and nothing hangs.
    Promised,
    /// It does not; the cases about it are skipped for this reason.
    NotPromised(String),
}

/// A known failure, as data. It is no pass: it is counted apart, and fails as soon as the
/// case passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedFailure {
    /// Which cases.
    pub cases: Filter,
    /// In which versions: those of whose declared name
    /// ([`Capabilities::backend`](rankwise_comm::Capabilities::backend)) this is a part.
    /// Empty for all.
    pub versions: String,
    /// What the failure must say, among other things. Empty for anything.
    pub message: String,
    /// Why it fails, and where that is known from.
    pub because: String,
}

impl ExpectedFailure {
    /// Whether the case of that name is meant, on a backend of that declared name.
    pub(crate) fn concerns(&self, backend: &str, case: &str) -> bool {
        backend.contains(&self.versions) && self.cases.matches(case)
    }
}
