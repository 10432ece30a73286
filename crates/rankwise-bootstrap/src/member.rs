//! One process of the job: its host, its device, its library.

use std::fmt;
use std::sync::Arc;

use rankwise_topology::{Device, Gpu, Host, Ordinal, PciBusId, Uuid, Visible};
use serde::{Deserialize, Serialize};

/// The most bytes of a host's name, by which DNS bounds one.
const HOST_BYTES: usize = 253;
/// The most bytes of a library's version.
const VERSION_BYTES: usize = 64;
/// The most bytes of `CUDA_VISIBLE_DEVICES`: twelve whole UUIDs.
const VISIBLE_BYTES: usize = 512;
/// The most bytes that a member takes in a message, by those bounds.
pub(crate) const MEMBER_BYTES: u32 = 2048;

/// What a process says of itself to the others.
///
/// ```
/// use rankwise_bootstrap::{BoundDevice, Member};
///
/// let device = BoundDevice::ordinal(0)
///     .visible("3")
///     .uuid("GPU-5a2c9d1e-0b7f-4c3d-9e8a-1f2b3c4d5e6f")?
///     .bus("0000:59:00.0")?;
/// let me = Member::here()?.on(device)?.library("2.32.3")?;
/// assert_eq!(me.process(), std::process::id());
/// # Ok::<(), rankwise_bootstrap::MemberError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Record", into = "Record")]
pub struct Member {
    host: Host,
    process: u32,
    device: Option<BoundDevice>,
    library: Option<Arc<str>>,
}

/// The device that a process is bound to, by every name that is known.
///
/// None of them is the rank, and the ordinal is neither the index of `nvidia-smi` nor
/// comparable between processes with different `CUDA_VISIBLE_DEVICES`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundDevice {
    ordinal: Option<u32>,
    visible: Option<Arc<str>>,
    uuid: Option<DeviceUuid>,
    bus: Option<PciBusId>,
}

/// The UUID of a whole GPU or of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceUuid {
    /// `GPU-…`
    Gpu(Uuid),
    /// `MIG-…`
    Mig(Uuid),
}

/// A text that is not what a [`Member`] or a [`BoundDevice`] can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberError {
    /// What it should be.
    pub needed: &'static str,
    /// The text, its end cut where it is long.
    pub found: String,
}

impl MemberError {
    fn new(needed: &'static str, found: &str) -> Self {
        Self { needed, found: found.chars().take(VERSION_BYTES).collect() }
    }
}

impl Member {
    /// This process on this host, by the name that the operating system has for it.
    pub fn here() -> Result<Self, MemberError> {
        let name = gethostname::gethostname();
        Self::new(&name.to_string_lossy(), std::process::id())
    }

    /// That process of that host.
    pub fn new(host: &str, process: u32) -> Result<Self, MemberError> {
        let wrong = || MemberError::new("a host's name of at most 253 bytes", host);
        if host.len() > HOST_BYTES {
            return Err(wrong());
        }
        let host = Host::new(host).map_err(|_| wrong())?;
        Ok(Self { host, process, device: None, library: None })
    }

    /// With the device that it is bound to: one that a name says.
    pub fn on(mut self, device: BoundDevice) -> Result<Self, MemberError> {
        if device.device(&self.host).is_none() {
            return Err(MemberError::new(
                "a device with a UUID, a bus id or an ordinal, and in CUDA_VISIBLE_DEVICES at most \
                 512 bytes without control characters and `]`",
                device.visible.as_deref().unwrap_or_default(),
            ));
        }
        self.device = Some(device);
        Ok(self)
    }

    /// With the version of the library that all ranks must have alike.
    pub fn library(mut self, version: &str) -> Result<Self, MemberError> {
        if version.is_empty()
            || version.len() > VERSION_BYTES
            || version.contains(|c: char| c.is_control())
        {
            return Err(MemberError::new("a version of 1 to 64 bytes", version));
        }
        self.library = Some(version.into());
        Ok(self)
    }

    /// The host.
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// The process id, which means something on its host.
    pub const fn process(&self) -> u32 {
        self.process
    }

    /// The device, by all its names.
    pub const fn bound(&self) -> Option<&BoundDevice> {
        self.device.as_ref()
    }

    /// The version of its library.
    pub fn version(&self) -> Option<&str> {
        self.library.as_deref()
    }

    /// The device, by the name that says most: UUID, else bus id, else ordinal.
    pub fn device(&self) -> Option<Device> {
        self.device.as_ref()?.device(&self.host)
    }
}

impl BoundDevice {
    /// The device of that CUDA ordinal in its process.
    pub fn ordinal(ordinal: u32) -> Self {
        Self { ordinal: Some(ordinal), ..Self::default() }
    }

    /// A device without an ordinal, to be named by UUID or bus id.
    pub fn unnumbered() -> Self {
        Self::default()
    }

    /// With the value of `CUDA_VISIBLE_DEVICES`. An ordinal without it counts all devices.
    #[must_use]
    pub fn visible(mut self, value: &str) -> Self {
        self.visible = Some(value.into());
        self
    }

    /// With its UUID, as `nvidia-smi -L` writes it.
    pub fn uuid(mut self, text: &str) -> Result<Self, MemberError> {
        self.uuid = Some(DeviceUuid::parse(text)?);
        Ok(self)
    }

    /// With its PCI bus id.
    pub fn bus(mut self, text: &str) -> Result<Self, MemberError> {
        let wrong = || MemberError::new("a PCI bus id such as 0000:59:00.0", text);
        self.bus = Some(PciBusId::parse(text).ok_or_else(wrong)?);
        Ok(self)
    }

    /// The CUDA ordinal in its process.
    pub const fn cuda_ordinal(&self) -> Option<u32> {
        self.ordinal
    }

    /// The value of `CUDA_VISIBLE_DEVICES` in its process.
    pub fn cuda_visible_devices(&self) -> Option<&str> {
        self.visible.as_deref()
    }

    /// The UUID.
    pub const fn device_uuid(&self) -> Option<DeviceUuid> {
        self.uuid
    }

    /// The PCI bus id.
    pub const fn bus_id(&self) -> Option<PciBusId> {
        self.bus
    }

    fn device(&self, host: &Host) -> Option<Device> {
        let host = Some(host.clone());
        let visible = match &self.visible {
            None => Visible::Everything,
            Some(value) if value.len() > VISIBLE_BYTES => return None,
            Some(value) => Visible::listed(value).ok()?,
        };
        Some(match (self.uuid, self.bus, self.ordinal) {
            (Some(DeviceUuid::Gpu(uuid)), _, _) => Device::gpu(host, Gpu::Uuid(uuid)),
            (Some(DeviceUuid::Mig(uuid)), _, _) => Device::mig(host, uuid),
            (None, Some(bus), _) => Device::gpu(host, Gpu::Bus(bus)),
            (None, None, Some(index)) => Device::ordinal(host, Ordinal::new(index, visible)),
            (None, None, None) => return None,
        })
    }
}

impl DeviceUuid {
    fn parse(text: &str) -> Result<Self, MemberError> {
        let gpu = text.strip_prefix("GPU-").and_then(Uuid::parse).map(Self::Gpu);
        let mig = || text.strip_prefix("MIG-").and_then(Uuid::parse).map(Self::Mig);
        gpu.or_else(mig).ok_or_else(|| MemberError::new("a whole UUID, GPU-… or MIG-…", text))
    }
}

impl fmt::Display for DeviceUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gpu(uuid) => write!(f, "GPU-{uuid}"),
            Self::Mig(uuid) => write!(f, "MIG-{uuid}"),
        }
    }
}

impl fmt::Display for MemberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` where {} is needed", self.found.escape_debug(), self.needed)
    }
}

impl std::error::Error for MemberError {}

/// A member as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    host: String,
    process: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<DeviceRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    library_version: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cuda_ordinal: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cuda_visible_devices: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uuid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bus_id: Option<String>,
}

impl From<Member> for Record {
    fn from(member: Member) -> Self {
        let device = member.device.map(|device| DeviceRecord {
            cuda_ordinal: device.ordinal,
            cuda_visible_devices: device.visible.map(|value| value.as_ref().to_owned()),
            uuid: device.uuid.map(|uuid| uuid.to_string()),
            bus_id: device.bus.map(|bus| bus.to_string()),
        });
        Self {
            host: member.host.to_string(),
            process: member.process,
            device,
            library_version: member.library.map(|version| version.as_ref().to_owned()),
        }
    }
}

impl TryFrom<Record> for Member {
    type Error = MemberError;

    fn try_from(record: Record) -> Result<Self, MemberError> {
        let mut member = Self::new(&record.host, record.process)?;
        if let Some(record) = record.device {
            let mut device = BoundDevice {
                ordinal: record.cuda_ordinal,
                visible: record.cuda_visible_devices.map(Into::into),
                ..BoundDevice::default()
            };
            if let Some(uuid) = record.uuid {
                device = device.uuid(&uuid)?;
            }
            if let Some(bus) = record.bus_id {
                device = device.bus(&bus)?;
            }
            member = member.on(device)?;
        }
        match record.library_version {
            Some(version) => member.library(&version),
            None => Ok(member),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "GPU-5a2c9d1e-0b7f-4c3d-9e8a-1f2b3c4d5e6f";

    #[test]
    fn a_member_is_written_and_read_back() {
        let device = BoundDevice::ordinal(0).visible("3,6").uuid(UUID).unwrap();
        let device = device.bus("59:00.0").unwrap();
        let member = Member::new("Node1", 7).unwrap().on(device).unwrap();
        let member = member.library("2.32.3").unwrap();
        let text = serde_json::to_string(&member).unwrap();
        assert_eq!(
            text,
            "{\"host\":\"node1\",\"process\":7,\"device\":{\"cuda_ordinal\":0,\
             \"cuda_visible_devices\":\"3,6\",\
             \"uuid\":\"GPU-5a2c9d1e-0b7f-4c3d-9e8a-1f2b3c4d5e6f\",\
             \"bus_id\":\"0000:59:00.0\"},\"library_version\":\"2.32.3\"}"
        );
        assert_eq!(serde_json::from_str::<Member>(&text).unwrap(), member);
        assert_eq!(member.device().unwrap().to_string(), format!("node1/{UUID}"));
    }

    #[test]
    fn a_device_is_called_by_the_name_that_says_most() {
        let on = |device| Member::new("n", 1).unwrap().on(device).map(|m| m.device().unwrap());
        let name = |device| on(device).unwrap().to_string();
        assert_eq!(name(BoundDevice::ordinal(1)), "n/cuda:1");
        assert_eq!(name(BoundDevice::ordinal(0).visible("5")), "n/cuda:0[5]");
        assert_eq!(name(BoundDevice::ordinal(0).bus("5:0.0").unwrap()), "n/0000:05:00.0");
        let mig = UUID.replace("GPU", "MIG");
        assert_eq!(name(BoundDevice::unnumbered().uuid(&mig).unwrap()), format!("n/{mig}"));
        assert!(on(BoundDevice::unnumbered()).is_err());
        assert!(on(BoundDevice::ordinal(0).visible("")).is_err()); // nothing is visible
    }

    /// The bounds of the parts keep a member within the bound of the whole.
    #[test]
    fn the_longest_member_fits_its_bound() {
        let device = BoundDevice::ordinal(u32::MAX).visible(&"\"".repeat(VISIBLE_BYTES));
        let device = device.uuid(UUID).unwrap().bus("ffffffff:59:00.0").unwrap();
        let member = Member::new(&"\"".repeat(HOST_BYTES), u32::MAX).unwrap();
        let member = member.on(device).unwrap().library(&"\"".repeat(VERSION_BYTES)).unwrap();
        assert!(serde_json::to_vec(&member).unwrap().len() <= MEMBER_BYTES as usize);
        assert!(Member::new(&"n".repeat(HOST_BYTES + 1), 1).is_err());
        assert!(member.clone().library(&"1".repeat(VERSION_BYTES + 1)).is_err());
        assert!(
            member.on(BoundDevice::ordinal(0).visible(&"1".repeat(VISIBLE_BYTES + 1))).is_err()
        );
    }
}
