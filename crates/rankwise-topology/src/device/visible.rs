//! What `CUDA_VISIBLE_DEVICES` makes of the devices of a host.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// Which numbers `CUDA_VISIBLE_DEVICES` is written in.
///
/// Its entries are physical indices, those of NVML and `nvidia-smi`, only if
/// `CUDA_DEVICE_ORDER` is `PCI_BUS_ID` or if all devices of the host are equal; by
/// default CUDA numbers the fastest first, by a rule that it does not document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceOrder {
    /// `CUDA_DEVICE_ORDER=PCI_BUS_ID`, or all devices of the host are equal.
    Physical,
    /// Neither is known.
    Unknown,
}

/// Which physical device each ordinal of a process is.
///
/// ```
/// use rankwise_topology::{DeviceOrder, VisibleDevices};
///
/// let seen = VisibleDevices::of(Some("3,6,5,4,0,7,1,2"), 8, DeviceOrder::Physical)?;
/// assert_eq!(seen.index(0), Some(3)); // ordinal 0 is not index 0
/// assert_eq!(seen.ordinal(0), Some(4));
/// # Ok::<(), rankwise_topology::Unresolved>(())
/// ```
///
/// Source: NVIDIA's CUDA programming guide, "CUDA environment variables".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VisibleDevices {
    /// By ordinal, the physical index.
    indices: Vec<u32>,
}

/// Why ordinals cannot be turned into physical indices without asking the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unresolved {
    /// Entries in numbers whose order is not known.
    Order {
        /// The value of the variable.
        value: String,
    },
    /// An entry that names a device by (the beginning of) its UUID.
    Uuid {
        /// The entry.
        entry: String,
    },
    /// An entry that names a slice of a device.
    Slice {
        /// The entry.
        entry: String,
    },
    /// A device that is listed twice.
    Repeated {
        /// The physical index.
        index: u32,
    },
}

impl VisibleDevices {
    /// What a process sees of `devices` physical devices under that value of
    /// `CUDA_VISIBLE_DEVICES`; `None` if the variable is not set.
    ///
    /// The list ends before its first entry that is no device: `0,9,1` of eight
    /// devices shows device 0 only, and an empty value or `-1` shows none.
    pub fn of(value: Option<&str>, devices: u32, order: DeviceOrder) -> Result<Self, Unresolved> {
        let Some(value) = value else {
            // Every device, numbered as CUDA numbers them.
            return match order {
                DeviceOrder::Physical => Ok(Self { indices: (0..devices).collect() }),
                DeviceOrder::Unknown => Err(Unresolved::Order { value: String::new() }),
            };
        };
        let mut indices = Vec::new();
        for entry in value.split(',').map(str::trim) {
            if entry.starts_with("MIG-") {
                return Err(Unresolved::Slice { entry: entry.to_string() });
            }
            if entry.starts_with("GPU-") {
                return Err(Unresolved::Uuid { entry: entry.to_string() });
            }
            match entry.parse::<u32>() {
                Ok(index) if indices.contains(&index) => {
                    return Err(Unresolved::Repeated { index });
                }
                Ok(index) if index < devices => indices.push(index),
                _ => break,
            }
        }
        match order {
            DeviceOrder::Unknown if !indices.is_empty() => {
                Err(Unresolved::Order { value: value.to_string() })
            }
            _ => Ok(Self { indices }),
        }
    }

    /// How many devices the process sees.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether it sees none.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// The physical index of an ordinal, if the process has that ordinal.
    pub fn index(&self, ordinal: u32) -> Option<u32> {
        self.indices.get(usize::try_from(ordinal).ok()?).copied()
    }

    /// The ordinal of a physical index, if the process sees that device.
    pub fn ordinal(&self, index: u32) -> Option<u32> {
        let at = self.indices.iter().position(|seen| *seen == index)?;
        u32::try_from(at).ok()
    }
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order { value } => write!(
                f,
                "the numbers of CUDA_VISIBLE_DEVICES=\"{value}\" are physical indices only under CUDA_DEVICE_ORDER=PCI_BUS_ID or if all devices are equal"
            ),
            Self::Uuid { entry } => {
                write!(f, "{entry} names a device by its UUID; only the driver knows its index")
            }
            Self::Slice { entry } => {
                write!(f, "{entry} is a slice of a device; the process sees it as ordinal 0")
            }
            Self::Repeated { index } => write!(f, "device {index} is listed twice"),
        }
    }
}

impl core::error::Error for Unresolved {}
