//! What went wrong, and whose fault it is.

use core::fmt;
use core::ops::Range;
use core::panic::Location;
use core::time::Duration;
use std::sync::Arc;

use rankwise_model::{Dtype, GroupSize, LayoutError, Rank, Reduction};
use rankwise_program::{Report, Verb};

use crate::buffer::DeviceOrdinal;

/// Why a call, a wait or an allocation did not do what was asked.
///
/// Cheap to clone. Two errors are equal if they say the same, so that the errors of
/// all ranks can be compared: what peers did is one [`Report`], equal on every rank.
#[derive(Clone, PartialEq)]
pub struct Error(Arc<Fault>);

/// Whose fault it is: what to look at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call itself, on this rank.
    Caller,
    /// What the ranks did together: a mismatch, a rank that never came.
    Peer,
    /// The device, its memory or the backend's library.
    Device,
    /// This software.
    Internal,
}

/// One of the buffers of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// What the rank contributes.
    Input,
    /// What the rank receives.
    Output,
    /// The one buffer of an in-place call.
    InPlace,
}

/// What an [`Error`] says.
///
/// `site` is the line of the call. Lengths are elements unless the name says bytes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// A buffer of another length than the call needs.
    Length {
        /// The call.
        verb: Verb,
        /// The caller's rank.
        rank: Rank,
        /// Which buffer.
        side: Side,
        /// Its length in elements.
        found: u64,
        /// The length it must have.
        needed: u64,
        /// The line of the call.
        site: &'static Location<'static>,
    },
    /// A buffer that is to hold one block per rank, of a length that ranks do not divide.
    NotDivisible {
        /// The call.
        verb: Verb,
        /// The caller's rank.
        rank: Rank,
        /// Which buffer.
        side: Side,
        /// Its length in elements.
        found: u64,
        /// How many ranks share it.
        ranks: GroupSize,
        /// The line of the call.
        site: &'static Location<'static>,
    },
    /// Input and output of different element types.
    ElementTypes {
        /// The call.
        verb: Verb,
        /// The input's.
        input: Dtype,
        /// The output's.
        output: Dtype,
        /// The line of the call.
        site: &'static Location<'static>,
    },
    /// A root or peer outside the group, or a length beyond 64 bits.
    Layout {
        /// Which, with both numbers.
        error: LayoutError,
        /// The line of the call.
        site: &'static Location<'static>,
    },
    /// A pre-multiplied sum without its scalar, or one of another type.
    Scalar {
        /// The reduction.
        reduction: Reduction,
        /// The type of the scalar that was given.
        found: Option<Dtype>,
        /// The element type of the buffers.
        dtype: Dtype,
        /// The line of the call.
        site: &'static Location<'static>,
    },
    /// An operation that has no in-place form.
    InPlaceRefused {
        /// The call.
        verb: Verb,
        /// The line of the call.
        site: &'static Location<'static>,
    },
    /// Input and output that overlap otherwise than the in-place relation says.
    Overlap {
        /// The call.
        verb: Verb,
        /// The input, in bytes of the memory.
        input: Range<usize>,
        /// The output, in bytes of the same memory.
        output: Range<usize>,
        /// The line of the call.
        site: &'static Location<'static>,
    },
    /// A buffer on another device than the communicator.
    ForeignMemory {
        /// The call, if it was one.
        verb: Option<Verb>,
        /// Where the buffer is.
        found: DeviceOrdinal,
        /// Where it must be.
        needed: DeviceOrdinal,
    },
    /// A call that was checked for another rank, group or device than it is handed to.
    ForeignCall {
        /// Rank, group size and device of the call.
        found: (Rank, GroupSize, DeviceOrdinal),
        /// Those of the communicator.
        needed: (Rank, GroupSize, DeviceOrdinal),
    },
    /// A stream, fence or memory that belongs to another rank, world or backend.
    Foreign {
        /// What was found, in words.
        found: String,
        /// What is needed, in words.
        needed: String,
    },
    /// What this backend does not do.
    Unsupported {
        /// The backend, with its version where it has one.
        backend: String,
        /// What was asked for, in words.
        what: String,
        /// What would do it, where that is known: the library version that has it.
        since: Option<String>,
    },
    /// A part of a buffer that the buffer does not have.
    Slice {
        /// The elements asked for.
        range: Range<usize>,
        /// The elements there are.
        len: usize,
    },
    /// More elements than a `usize` counts bytes.
    TooManyElements {
        /// Their type.
        dtype: Dtype,
        /// Their number.
        len: usize,
    },
    /// Memory that is too small for a buffer.
    ShortMemory {
        /// The element type.
        dtype: Dtype,
        /// The elements it is to hold.
        len: usize,
        /// The bytes they need.
        needed: usize,
        /// The bytes there are.
        found: usize,
        /// Where the memory is.
        device: DeviceOrdinal,
    },
    /// A host slice of another length than the buffer.
    Transfer {
        /// The length of the host's side: elements, or bytes where bytes are moved.
        host: usize,
        /// The length of the buffer's side, in the same unit.
        buffer: usize,
    },
    /// Two uses of the same bytes that nothing orders.
    Hazard {
        /// The earlier use: what, on which stream, at which line.
        earlier: String,
        /// The later one, which was refused.
        later: String,
        /// The bytes that both touch.
        bytes: Range<usize>,
        /// The caller, as a rank of the whole job.
        rank: u32,
    },
    /// The communicator was closed or aborted on this rank.
    Closed {
        /// The rank, as a rank of the communicator.
        rank: Rank,
        /// The communicator.
        communicator: String,
        /// How, in words.
        how: String,
    },
    /// What the ranks did together. The same report on every rank.
    Report(Arc<Report>),
    /// The wait was given up; what was waited for may still come.
    TimedOut {
        /// How long was waited.
        waited: Duration,
        /// What for and for whom, in words.
        what: String,
    },
    /// The device has no room.
    OutOfMemory {
        /// The bytes asked for.
        bytes: usize,
        /// Where.
        device: DeviceOrdinal,
    },
    /// A call into the backend's library failed.
    Library {
        /// The function.
        function: &'static str,
        /// The code it returned.
        code: i64,
        /// What the library says of the code, and its last message.
        text: String,
        /// Whose fault the code is: [`ErrorKind::Peer`] if it speaks of another rank.
        blames: ErrorKind,
    },
    /// The backend's library or a function of it is not there.
    NotLoaded {
        /// What was tried, and what the loader said.
        text: String,
    },
    /// This software contradicts itself: please report it.
    Internal {
        /// How.
        what: String,
    },
}

impl Fault {
    /// Whose fault it is.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Report(_) | Self::TimedOut { .. } => ErrorKind::Peer,
            Self::Library { blames, .. } => *blames,
            Self::OutOfMemory { .. } | Self::NotLoaded { .. } => ErrorKind::Device,
            Self::Internal { .. } => ErrorKind::Internal,
            _ => ErrorKind::Caller,
        }
    }
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind()
    }

    /// What it says.
    pub fn fault(&self) -> &Fault {
        &self.0
    }

    /// The report on what the ranks did, if that is what it says.
    pub fn report(&self) -> Option<&Arc<Report>> {
        match self.fault() {
            Fault::Report(report) => Some(report),
            _ => None,
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self(Arc::new(fault))
    }
}

impl From<Arc<Report>> for Error {
    fn from(report: Arc<Report>) -> Self {
        Fault::Report(report).into()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.0, f)
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self.fault() {
            Fault::Layout { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::InPlace => "in-place buffer",
        })
    }
}

impl fmt::Display for Fault {
    #[allow(clippy::too_many_lines)] // one sentence per fault, side by side
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { verb, rank, side, found, needed, site } => write!(
                f,
                "{verb} on rank {rank}: the {side} has {found} elements, needs {needed} ({site})"
            ),
            Self::NotDivisible { verb, rank, side, found, ranks, site } => write!(
                f,
                "{verb} on rank {rank}: the {side} has {found} elements, which {ranks} ranks do not divide; pad it ({site})"
            ),
            Self::ElementTypes { verb, input, output, site } => write!(
                f,
                "{verb}: the input holds {input}, the output {output}; they must be of one type ({site})"
            ),
            Self::Layout { error, site } => write!(f, "{error} ({site})"),
            Self::Scalar { reduction, found: None, dtype, site } => write!(
                f,
                "{reduction} needs this rank's scalar, of type {dtype}: use `premul` ({site})"
            ),
            Self::Scalar { reduction, found: Some(found), dtype, site } => write!(
                f,
                "{reduction}: the scalar is of type {found}, the buffers hold {dtype} ({site})"
            ),
            Self::InPlaceRefused { verb, site } => {
                write!(f, "{verb} has no in-place form; give it an output of its own ({site})")
            }
            Self::Overlap { verb, input, output, site } => write!(
                f,
                "{verb}: input (bytes {input:?}) and output (bytes {output:?}) overlap otherwise than in place ({site})"
            ),
            Self::ForeignMemory { verb, found, needed } => {
                if let Some(verb) = verb {
                    write!(f, "{verb}: ")?;
                }
                write!(f, "the buffer is on device {found}, the communicator on device {needed}")
            }
            Self::ForeignCall { found, needed } => write!(
                f,
                "the call was checked for rank {} of {} on device {}, the communicator is rank {} of {} on device {}",
                found.0, found.1, found.2, needed.0, needed.1, needed.2
            ),
            Self::Foreign { found, needed } => write!(f, "found {found}, needs {needed}"),
            Self::Unsupported { backend, what, since } => {
                write!(f, "{backend} does not do {what}")?;
                since.as_ref().map_or(Ok(()), |since| write!(f, " ({since} does)"))
            }
            Self::Slice { range, len } => {
                write!(f, "elements {}..{} of a buffer of {len}", range.start, range.end)
            }
            Self::TooManyElements { dtype, len } => {
                write!(f, "{len} elements of {dtype} are more bytes than this machine addresses")
            }
            Self::ShortMemory { dtype, len, needed, found, device } => write!(
                f,
                "{len} × {dtype} need {needed} bytes, the memory on device {device} has {found}"
            ),
            Self::Transfer { host, buffer } => {
                write!(f, "the host's slice has {host}, the buffer's {buffer}; they must be equal")
            }
            Self::Hazard { earlier, later, bytes, rank } => write!(
                f,
                "rank {rank}: {later} and {earlier} touch the same memory (bytes {bytes:?}), and nothing orders them; let the stream wait for a fence of the other"
            ),
            Self::Closed { rank, communicator, how } => {
                write!(f, "communicator {communicator} was {how} on rank {rank}")
            }
            Self::Report(report) => report.fmt(f),
            Self::TimedOut { waited, what } => write!(f, "gave up after {waited:?}: {what}"),
            Self::OutOfMemory { bytes, device } => {
                write!(f, "device {device} has no room for {bytes} bytes")
            }
            Self::Library { function, code, text, .. } => {
                write!(f, "{function} returned {code}: {text}")
            }
            Self::NotLoaded { text } => f.write_str(text),
            Self::Internal { what } => write!(f, "internal contradiction, please report: {what}"),
        }
    }
}
