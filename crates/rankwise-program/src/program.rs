//! Programs: what each rank calls, written down.

mod buffers;
mod fault;
mod notation;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::{Dtype, Rank};
use rankwise_topology::{Group, World};

pub use self::buffers::{Buffers, NoView, View};
pub use self::fault::{Fault, Place, ProgramError};
use crate::call::{Signature, Tag};

/// What every rank of a world calls, in its order.
///
/// Read from JSON by [`from_json`](Self::from_json), or made by hand: the fields are
/// open, and [`check`](crate::check()) judges any program.
///
/// # The notation
///
/// ```
/// use rankwise_program::{Program, check};
///
/// let program = Program::from_json(
///     r#"{
///     "world": 2,
///     "groups": {"both": [0, 1]},
///     "programs": {
///         "0": [
///             {"op": "send", "group": "both", "peer": 1, "count": 4, "dtype": "f32", "wait": true},
///             {"op": "all_reduce", "group": "both", "count": 8, "dtype": "f32", "redop": "sum"}
///         ],
///         "1": [
///             {"op": "recv", "group": "both", "peer": 0, "count": 4, "dtype": "f32", "wait": true},
///             {"op": "all_reduce", "group": "both", "count": 8, "dtype": "f32", "redop": "sum"}
///         ]
///     }
/// }"#,
/// )?;
/// let findings = check(&program);
/// assert!(findings.reports.is_empty());
/// assert_eq!(findings.completed, 2);
/// # Ok::<(), rankwise_program::ProgramError>(())
/// ```
///
/// A call has `op`; `group`, a name; `count`, what the operation counts, and `dtype`;
/// `redop`, `root` and `peer`, ranks of the group, where the operation has them;
/// `wait`, whether the host goes on only when the call is over (`false` if absent);
/// `stream`, a name (`s0` if absent); `tag`; `value`, what a one-element contribution
/// is; `send` and `recv`, the views it reads and writes. Calls of one rank on one stream
/// run in order. Without `groups` there is one, `world`, of all ranks in order; a call
/// without `group` is on `world`.
///
/// A view is `x[2..4]`, positions 2 and 3 of the rank's buffer `x` in elements of the
/// call. In a call, `x` alone begins at position 0 and is as long as the call makes it;
/// a list of views is one after the other, those without positions equally long.
///
/// Besides the operations there are
///
/// - `local`, work of the rank alone on its `stream`, with `dtype`, `reads` and `writes`
///   (lists of views; `x` alone is all of it), `read_dtype` where it reads another element
///   type than it writes, `tag` and `wait`;
/// - `fence`: what is enqueued on `stream` from here on begins only when everything is
///   over that has been enqueued on the stream `after`;
/// - `barrier`;
/// - `split` or `comm_split`, a call of the parent `group` in no stream, with `color`
///   (absent: joins none) and `key` (0 if absent);
/// - `new_group`, with `ranks` of the parent: the same, the members in the listed order,
///   and every rank must list the same;
/// - `group`, with `calls`: one unit, its calls at once; `wait` stands on the unit;
/// - `wait`, with `stream`: the host waits for all that the rank has enqueued there.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The ranks.
    pub world: World,
    /// The communicators, by name.
    pub groups: Vec<(Arc<str>, Group)>,
    /// What each rank does, by world rank.
    pub ranks: Vec<Vec<Step>>,
}

/// One step of a rank.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A call.
    Call(
        /// Which.
        Planned,
        /// What the host does then.
        Host,
    ),
    /// Several calls as one unit per stream, all at once.
    Unit(
        /// Which.
        Vec<Planned>,
        /// What the host does then.
        Host,
    ),
    /// Work of the rank alone, such as a kernel.
    Local(
        /// Which.
        Local,
        /// What the host does then.
        Host,
    ),
    /// A stream waits, from here on, for everything that is enqueued on another.
    Fence {
        /// The name of the stream that waits.
        stream: Arc<str>,
        /// The name of the stream that is waited for.
        after: Arc<str>,
    },
    /// The host waits for everything it has enqueued on a stream.
    Wait {
        /// The stream's name.
        stream: Arc<str>,
    },
}

/// What the host does when a call is enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// It goes on.
    GoesOn,
    /// It waits until the call is over.
    Waits,
}

/// A call of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The name of its group.
    pub group: Arc<str>,
    /// What is called.
    pub signature: Signature,
    /// The name of its stream; of no meaning for a split, which is in none.
    pub stream: Arc<str>,
    /// The caller's name for what it moves.
    pub tag: Option<Tag>,
    /// What the rank contributes, where it is one element and known.
    pub value: Option<f64>,
    /// Of a new group, its members, ranks of `group`, in order. They must agree.
    pub creates: Option<Arc<[Rank]>>,
    /// What it reads and writes, where that is said; shared by calls that do the same.
    pub buffers: Arc<Buffers>,
}

/// Work of one rank that meets no other.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// The name of its stream.
    pub stream: Arc<str>,
    /// The element type in which the views that it writes count.
    pub dtype: Dtype,
    /// The same of those that it reads: another one where it converts.
    pub read_dtype: Dtype,
    /// A name for it.
    pub tag: Option<Tag>,
    /// What it reads and writes.
    pub buffers: Arc<Buffers>,
}

impl Program {
    /// Whether a text is meant to be in the notation: a JSON object with `programs`.
    ///
    /// ```
    /// use rankwise_program::Program;
    ///
    /// assert!(Program::is_program(r#"{"world": 2, "programs": {}}"#));
    /// assert!(!Program::is_program(r#"{"format": 1, "group": {"ranks": 2}}"#));
    /// assert!(!Program::is_program("format = 1"));
    /// ```
    pub fn is_program(text: &str) -> bool {
        notation::recognises(text)
    }

    /// Reads the notation.
    pub fn from_json(text: &str) -> Result<Self, ProgramError> {
        notation::read(text)
    }

    /// Writes the notation: reading it gives the same program.
    pub fn to_json(&self) -> String {
        notation::write(self)
    }

    /// The group of that name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|(known, _)| &**known == name).map(|(_, group)| group)
    }
}
