//! Judging a program without running it.

mod completions;
mod explained;
mod hazards;
mod log;
mod order;
mod parting;
mod simulation;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use rankwise_topology::WorldRank;

pub use self::completions::Completions;
use self::simulation::Simulation;
use crate::program::Program;
use crate::report::{Call, Report};

/// What [`check`] has found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Findings {
    /// What goes wrong, one report per cause.
    pub reports: Vec<Arc<Report>>,
    /// Orders that contradict each other and yet complete with the streams the program
    /// uses, each of kind [`OrderDiffers`](crate::Kind::OrderDiffers). Whether they do
    /// on a device depends on its resources.
    pub order: Vec<Report>,
    /// What was not judged, or may not be meant.
    pub caveats: Vec<Caveat>,
    /// How many instances complete, work of the ranks alone not counted.
    pub completed: u64,
    /// Which, in an order in which they can, that work included.
    pub completions: Completions,
}

/// What a check has not judged, or what may not be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caveat {
    /// Calls agree in everything but a name for what they move, which not all of them
    /// carry: whether they mean the same tensor has not been checked.
    TensorIdentityNotChecked {
        /// How many instances.
        instances: u64,
        /// The first of them, as its lowest rank calls it.
        first: Call,
    },
    /// A rank ends and has not waited for the last it enqueued on a stream.
    UnwaitedAtEnd {
        /// Who.
        rank: WorldRank,
        /// The stream's name.
        stream: Arc<str>,
        /// The last call it has not waited for.
        call: Call,
    },
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TensorIdentityNotChecked { instances: 1, first } => write!(
                f,
                "tensor identity not checked in 1 instance that is not tagged on every rank: {first}"
            ),
            Self::TensorIdentityNotChecked { instances, first } => write!(
                f,
                "tensor identity not checked in {instances} instances that are not tagged on \
                 every rank, first {first}"
            ),
            Self::UnwaitedAtEnd { rank, stream, call } => {
                write!(f, "rank {rank} ends and has not waited for stream {stream}: {call}")
            }
        }
    }
}

/// Judges a program: which instances complete, and why the others never do.
///
/// The [`Matcher`](crate::Matcher) is driven by simulation: every rank goes on until it
/// waits or ends, then whatever can run does. A rank whose wait fails stops there, like
/// a program that returns its error. Since what is found does not depend on the order in
/// which ranks arrive, this stands for every order; programs whose calls depend on data
/// or time are another matter.
///
/// What calls read and write is judged beside that, rank by rank and to the end of each
/// program: two calls are in order if they share a stream, or if a fence or a host wait
/// stands between them. That a peer has answered puts nothing in order on this rank.
///
/// ```
/// use rankwise_program::{Kind, Program, check};
///
/// // Each sends to the other first, and waits for that.
/// let text = r#"{"world": 2, "programs": {
///     "0": [{"op": "send", "peer": 1, "count": 1, "dtype": "f32", "wait": true},
///           {"op": "recv", "peer": 1, "count": 1, "dtype": "f32", "wait": true}],
///     "1": [{"op": "send", "peer": 0, "count": 1, "dtype": "f32", "wait": true},
///           {"op": "recv", "peer": 0, "count": 1, "dtype": "f32", "wait": true}]
/// }}"#;
/// let findings = check(&Program::from_json(text)?);
/// let [report] = findings.reports.as_slice() else { panic!("one cause") };
/// assert_eq!(report.kind, Kind::Deadlock);
/// assert_eq!(
///     report.to_string(),
///     "deadlock: 0 → 1 → 0 on world
///   rank 0 waits for 1 in send(to 1) of 1 × f32, message 0 from 0 to 1 of world, \
/// at rank 0, call 0
///   rank 1 waits for 0 in send(to 0) of 1 × f32, message 0 from 1 to 0 of world, \
/// at rank 1, call 0"
/// );
/// # Ok::<(), rankwise_program::ProgramError>(())
/// ```
pub fn check(program: &Program) -> Findings {
    Simulation::new(program).run()
}
