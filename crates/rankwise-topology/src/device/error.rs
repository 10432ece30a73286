//! Why a text names no device.

use alloc::string::String;
use core::fmt;

/// Why a text names no device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceError {
    /// It is empty.
    Empty,
    /// It is no plain label, and none was recognised as another name.
    Label {
        /// The text.
        text: String,
    },
    /// What stands before the first `/` is no host name.
    Host {
        /// The text.
        text: String,
    },
    /// What stands after the host is no device of a host.
    OnHost {
        /// The text.
        text: String,
    },
    /// A UUID is cut short or misspelt. A prefix cannot be resolved on paper.
    Uuid {
        /// The text.
        text: String,
    },
    /// A PCI bus id is malformed or out of range.
    BusId {
        /// The text.
        text: String,
    },
    /// An ordinal is malformed or out of range.
    Ordinal {
        /// The text.
        text: String,
    },
    /// The instances of a MIG slice are malformed or out of range.
    Slice {
        /// The text.
        text: String,
    },
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a device needs a name"),
            Self::Label { text } => write!(
                f,
                "`{}` is no plain label: no `/`, `:`, control characters or surrounding blanks, \
                 and not the form of another name",
                text.escape_debug()
            ),
            Self::Host { text } => write!(
                f,
                "`{}` is no host name: no blanks, no control characters, not the form of a device",
                text.escape_debug()
            ),
            Self::OnHost { text } => write!(
                f,
                "`{}` is no device of a host, which is written GPU-uuid, MIG-uuid, \
                 0000:59:00.0 or cuda:0",
                text.escape_debug()
            ),
            Self::Uuid { text } => write!(
                f,
                "`{}` has no whole UUID: GPU- or MIG- and 32 hexadecimal digits as 8-4-4-4-12",
                text.escape_debug()
            ),
            Self::BusId { text } => write!(
                f,
                "`{}` is no PCI bus id: domain:bus:device.function in hexadecimal, \
                 device up to 1f, function up to 7",
                text.escape_debug()
            ),
            Self::Ordinal { text } => write!(
                f,
                "`{}` is no ordinal: cuda: and a number, then, where it counts other than all \
                 devices, [CUDA_VISIBLE_DEVICES] or [?]",
                text.escape_debug()
            ),
            Self::Slice { text } => write!(
                f,
                "`{}` is no MIG slice: a GPU, then /gi and /ci with the instance numbers",
                text.escape_debug()
            ),
        }
    }
}

impl core::error::Error for DeviceError {}
