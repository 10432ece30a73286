//! CUDA ordinals, and what they count.

use alloc::string::ToString;
use alloc::sync::Arc;
use core::fmt;

use super::error::DeviceError;

/// A CUDA ordinal: a position in the list of devices that one process sees.
///
/// It is the argument of `cudaSetDevice`. It is **not** the index of NVML and
/// `nvidia-smi`, the device minor in `/dev/nvidia*`, or a place in PCI order:
/// those ignore `CUDA_VISIBLE_DEVICES`, and only
/// [`VisibleDevices`](super::VisibleDevices) converts them. With
/// `CUDA_VISIBLE_DEVICES=3,6,5,4,0,7,1,2`, ordinal 0 is another GPU than index 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ordinal {
    visible: Visible,
    index: u32,
}

/// The list that an [`Ordinal`] counts in.
///
/// Ordinals compare only within one list, and only under one
/// `CUDA_DEVICE_ORDER`, which is not recorded. One process per GPU, each with
/// its own one-entry list, gives every rank ordinal 0: those are no duplicates.
/// Nor are `0` in `[0,1]` and `1` in `[1,0]` two devices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Visible {
    /// Every device of the host: `CUDA_VISIBLE_DEVICES` is not set. Written
    /// `cuda:0`.
    Everything,
    /// The value of `CUDA_VISIBLE_DEVICES`. Written `cuda:0[3,6,5,4]`.
    Listed(Arc<str>),
    /// Nobody recorded it, as in a log that prints `cudaDev 0`. Written
    /// `cuda:0[?]`. It compares with nothing, not even with itself.
    NotSaid,
}

impl Visible {
    /// That value of `CUDA_VISIBLE_DEVICES`: not empty (then nothing is
    /// visible), not `?`, without `]` and control characters.
    pub fn listed(value: &str) -> Result<Self, DeviceError> {
        let letter = |c: char| !(c == ']' || c.is_control());
        if value.is_empty() || value == "?" || !value.chars().all(letter) {
            return Err(DeviceError::Ordinal { text: value.to_string() });
        }
        Ok(Self::Listed(value.into()))
    }
}

impl Ordinal {
    /// The device at `index` of that list.
    pub const fn new(index: u32, visible: Visible) -> Self {
        Self { visible, index }
    }

    /// The position, from 0.
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// The list.
    pub const fn visible(&self) -> &Visible {
        &self.visible
    }
}

impl fmt::Display for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{}", self.index)?;
        match &self.visible {
            Visible::Everything => Ok(()),
            Visible::Listed(value) => write!(f, "[{value}]"),
            Visible::NotSaid => f.write_str("[?]"),
        }
    }
}
