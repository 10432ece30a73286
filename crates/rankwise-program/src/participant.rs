//! What is known of one rank.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::ending::Ending;
use crate::history::History;
use crate::instance::InstanceId;
use crate::report::{Call, Report};
use crate::stream::Point;

/// What a rank's host waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// For everything on a stream up to a point.
    Point(Point),
    /// For one instance.
    Instance(InstanceId),
}

/// How many threads make a rank's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Drivers {
    /// One: while it waits, the rank posts nothing.
    #[default]
    One,
    /// Several: while one waits, another may post. That such a rank never will is
    /// known only when it has ended.
    Many,
}

/// One rank of the world.
#[derive(Debug, Default)]
pub(crate) struct Participant {
    pub(crate) history: History,
    pub(crate) waits: Vec<Wait>,
    pub(crate) drivers: Drivers,
    pub(crate) ended: Option<Ending>,
    pub(crate) words: Option<Arc<str>>,
    /// The first report it was given, and in which of its calls.
    pub(crate) told: Option<Told>,
    /// It made a call behind others that is not known to be free of cycles.
    pub(crate) loose: bool,
    /// As long as it is free, something hopeless is not settled.
    pub(crate) watched: bool,
}

/// That a rank has been given a report.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) report: Arc<Report>,
    /// The call in which it was, if it was in one.
    pub(crate) place: Option<Call>,
    /// The number of its last call at that time.
    pub(crate) last: u64,
}
