//! Devices: what is known of their identity, and whether two are one.

mod error;
mod host;
mod ordinal;
mod parse;
mod pci;
mod uuid;
mod visible;

use alloc::sync::Arc;
use core::fmt;

pub use error::DeviceError;
pub use host::Host;
pub use ordinal::{Ordinal, Visible};
pub use pci::PciBusId;
pub use uuid::Uuid;
pub use visible::{DeviceOrder, Unresolved, VisibleDevices};

/// What is known of a device's identity: a plain label, or how one host names it.
///
/// `==`, the order and the hash compare *records*. Whether two records speak of
/// one device is another question, and [`sameness`](Self::sameness) answers it:
/// the ordinal and the UUID of one GPU are different records, and nothing in
/// them says whether they belong together.
///
/// [`parse`](Self::parse) reads what `Display` writes:
///
/// ```
/// use rankwise_topology::Device;
///
/// for name in [
///     "A",
///     "node1/GPU-5a2c9d1e-0b7f-4c3d-9e8a-1f2b3c4d5e6f",
///     "node1/0000:59:00.0",
///     "node1/cuda:0",
///     "node1/cuda:0[3,6,5,4]",
///     "node1/MIG-c7384736-a75d-5afc-978f-d2f1294409fd",
///     "node1/0000:59:00.0/gi1/ci0",
/// ] {
///     assert_eq!(Device::parse(name)?.to_string(), name);
/// }
/// assert_eq!(Device::parse("Node1/59:00.0")?.to_string(), "node1/0000:59:00.0");
/// # Ok::<(), rankwise_topology::DeviceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device {
    host: Option<Host>,
    identity: Identity,
}

/// How a device is named.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Identity {
    /// A name that an author gave it and keeps apart from the others.
    Label(Label),
    /// A whole GPU, by a name that every process on the host would use.
    Gpu(Gpu),
    /// The number a process counts it by: see [`Ordinal`] for what that is not.
    Ordinal(Ordinal),
    /// A MIG slice, by its own UUID.
    Mig(Uuid),
    /// A MIG slice, by its GPU and its instances there.
    Slice {
        /// The GPU that is sliced.
        gpu: Gpu,
        /// The GPU instance (`GI ID` of `nvidia-smi mig -lgi`).
        gpu_instance: u32,
        /// The compute instance in it (`CI ID` of `nvidia-smi mig -lci`).
        compute_instance: u32,
    },
}

/// A GPU by a name that does not depend on who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gpu {
    /// By UUID: one in the world.
    Uuid(Uuid),
    /// By PCI bus id: one on its host.
    Bus(PciBusId),
}

/// The text of a plain label; [`Device::named`] makes one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(Arc<str>);

impl Label {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What two records say of their devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sameness {
    /// They are one device.
    Same,
    /// They are two devices.
    Different,
    /// One is a slice of the other.
    Overlapping,
    /// What is known does not say.
    CannotTell,
}

/// A way of naming devices; two devices are comparable on a host if it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming<'a> {
    Label,
    Uuid,
    Bus,
    Ordinal(&'a Visible),
    Mig,
}

impl Naming<'_> {
    /// Whether such names mean the same wherever they are read.
    pub(crate) fn is_global(self) -> bool {
        matches!(self, Self::Uuid | Self::Mig)
    }

    /// Whether two such names on one host can be compared.
    pub(crate) fn settles(self) -> bool {
        !matches!(self, Self::Ordinal(Visible::NotSaid))
    }
}

impl Device {
    /// The device of that label.
    ///
    /// A label is opaque: equal labels are one device, different ones two. It
    /// has no `/`, `:`, control characters or surrounding blanks, and does not
    /// read as another kind of name.
    ///
    /// ```
    /// use rankwise_topology::{Device, Sameness};
    ///
    /// let [a, b] = [Device::named("A")?, Device::named("B")?];
    /// assert_eq!(a.sameness(&b), Sameness::Different);
    /// assert!(Device::named("cuda:0").is_err());
    /// # Ok::<(), rankwise_topology::DeviceError>(())
    /// ```
    pub fn named(label: &str) -> Result<Self, DeviceError> {
        match Self::parse(label)? {
            device @ Self { identity: Identity::Label(_), .. } => Ok(device),
            _ => Err(DeviceError::Label { text: label.into() }),
        }
    }

    /// A whole GPU of a host.
    ///
    /// Without a host it is on the one host that goes without saying; such a
    /// device cannot be compared with one whose host is said, unless by UUID.
    pub const fn gpu(host: Option<Host>, gpu: Gpu) -> Self {
        Self { host, identity: Identity::Gpu(gpu) }
    }

    /// The device that a process on a host counts by that ordinal.
    pub const fn ordinal(host: Option<Host>, ordinal: Ordinal) -> Self {
        Self { host, identity: Identity::Ordinal(ordinal) }
    }

    /// The MIG slice of that UUID.
    pub const fn mig(host: Option<Host>, uuid: Uuid) -> Self {
        Self { host, identity: Identity::Mig(uuid) }
    }

    /// The MIG slice at those instances of a GPU.
    pub const fn slice(
        host: Option<Host>,
        gpu: Gpu,
        gpu_instance: u32,
        compute_instance: u32,
    ) -> Self {
        Self { host, identity: Identity::Slice { gpu, gpu_instance, compute_instance } }
    }

    /// The host, where one is said. A label has none.
    pub const fn host(&self) -> Option<&Host> {
        self.host.as_ref()
    }

    /// How the device is named there.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether two records are of one device, as far as they say.
    ///
    /// - UUIDs decide, whatever the hosts are called.
    /// - Any other two names on differently named hosts are two devices. A name
    ///   without a host cannot be compared with one that has it.
    /// - On one host, names of one kind decide. Names of two kinds (bus id and
    ///   UUID, ordinal and anything) cannot be compared.
    /// - Ordinals are of one kind only if both count the same list of visible
    ///   devices: see [`Visible`].
    ///
    /// ```
    /// use rankwise_topology::{Device, Sameness};
    ///
    /// let sameness = |one: &str, other: &str| -> Result<_, rankwise_topology::DeviceError> {
    ///     Ok(Device::parse(one)?.sameness(&Device::parse(other)?))
    /// };
    /// assert_eq!(sameness("node1/59:00.0", "node1/0000:59:00.0")?, Sameness::Same);
    /// assert_eq!(sameness("node1/59:00.0", "node2/59:00.0")?, Sameness::Different);
    /// assert_eq!(sameness("node1/59:00.0", "node1/cuda:0")?, Sameness::CannotTell);
    /// assert_eq!(sameness("node1/cuda:0[0]", "node1/cuda:0[1]")?, Sameness::CannotTell);
    /// assert_eq!(sameness("node1/59:00.0", "node1/59:00.0/gi1/ci0")?, Sameness::Overlapping);
    /// # Ok::<(), rankwise_topology::DeviceError>(())
    /// ```
    pub fn sameness(&self, other: &Self) -> Sameness {
        let (naming, others) = (self.naming(), other.naming());
        let by_uuid = naming == others && naming.is_global();
        match (&self.host, &other.host) {
            _ if by_uuid => {}
            (Some(host), Some(others)) if host != others => return Sameness::Different,
            (host, others) if host != others => return Sameness::CannotTell,
            _ => {}
        }
        if naming != others || !naming.settles() {
            Sameness::CannotTell
        } else if self.identity == other.identity {
            Sameness::Same
        } else if self.is_slice_of(other) || other.is_slice_of(self) {
            Sameness::Overlapping
        } else {
            Sameness::Different
        }
    }

    pub(crate) fn naming(&self) -> Naming<'_> {
        match &self.identity {
            Identity::Label(_) => Naming::Label,
            Identity::Gpu(Gpu::Uuid(_)) | Identity::Slice { gpu: Gpu::Uuid(_), .. } => Naming::Uuid,
            Identity::Gpu(Gpu::Bus(_)) | Identity::Slice { gpu: Gpu::Bus(_), .. } => Naming::Bus,
            Identity::Ordinal(ordinal) => Naming::Ordinal(ordinal.visible()),
            Identity::Mig(_) => Naming::Mig,
        }
    }

    fn is_slice_of(&self, whole: &Self) -> bool {
        self.sliced().is_some_and(|gpu| whole.identity == Identity::Gpu(gpu))
    }

    fn sliced(&self) -> Option<Gpu> {
        match self.identity {
            Identity::Slice { gpu, .. } => Some(gpu),
            _ => None,
        }
    }

    /// The GPU that this is a slice of, if it is a slice by GPU.
    pub(crate) fn whole(&self) -> Option<Self> {
        self.sliced().map(|gpu| Self::gpu(self.host.clone(), gpu))
    }

    /// A record that two comparable devices share exactly if they are the same.
    pub(crate) fn key(&self) -> Self {
        let host = if self.naming().is_global() { None } else { self.host.clone() };
        Self { host, identity: self.identity.clone() }
    }
}

impl fmt::Display for Device {
    /// The name that [`Device::parse`] reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(host) = &self.host {
            write!(f, "{host}/")?;
        }
        match &self.identity {
            Identity::Label(label) => f.write_str(label.as_str()),
            Identity::Gpu(gpu) => gpu.fmt(f),
            Identity::Ordinal(ordinal) => ordinal.fmt(f),
            Identity::Mig(uuid) => write!(f, "MIG-{uuid}"),
            Identity::Slice { gpu, gpu_instance, compute_instance } => {
                write!(f, "{gpu}/gi{gpu_instance}/ci{compute_instance}")
            }
        }
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(uuid) => write!(f, "GPU-{uuid}"),
            Self::Bus(bus) => bus.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
