//! Reading the names of devices.

use alloc::string::ToString;

use super::error::DeviceError;
use super::{Device, Gpu, Host, Identity, Label, Ordinal, PciBusId, Uuid, Visible};

impl Device {
    /// Reads a device's name, as plan files write it.
    ///
    /// | text | device |
    /// |---|---|
    /// | `A` | the device of that label |
    /// | `node1/GPU-5a2c9d1e-…` | the GPU of that UUID |
    /// | `node1/0000:59:00.0`, `node1/59:00.0` | the GPU at that PCI bus id |
    /// | `node1/cuda:0` | CUDA's ordinal 0 among all devices of the host |
    /// | `node1/cuda:0[3,6,5,4]` | … under that `CUDA_VISIBLE_DEVICES` |
    /// | `node1/cuda:0[?]` | … under one that nobody recorded |
    /// | `node1/MIG-c7384736-…` | the MIG slice of that UUID |
    /// | `node1/0000:59:00.0/gi1/ci0`, `node1/GPU-5a2c9d1e-…/gi1/ci0` | GPU instance 1, compute instance 0 of that GPU |
    /// | `node1/MIG-GPU-5a2c9d1e-…/1/0` | the same, as drivers before R470 wrote it |
    ///
    /// All but the first also go without `node1/`.
    ///
    /// # Errors
    ///
    /// A name that begins like one of these and does not end like it is an
    /// error, never a label: `GPU-5a2c` is a prefix that only a machine resolves.
    pub fn parse(text: &str) -> Result<Self, DeviceError> {
        if text.is_empty() {
            return Err(DeviceError::Empty);
        }
        if let Some(identity) = identity(text)? {
            return Ok(Self { host: None, identity });
        }
        if let Some((host, name)) = text.split_once('/') {
            let host = Host::new(host)?;
            let on_host = || DeviceError::OnHost { text: name.to_string() };
            return Ok(Self { host: Some(host), identity: identity(name)?.ok_or_else(on_host)? });
        }
        let trimmed = text.trim() == text;
        if trimmed && !text.contains(|c: char| c == ':' || c.is_control()) {
            return Ok(Self { host: None, identity: Identity::Label(Label(text.into())) });
        }
        Err(DeviceError::Label { text: text.to_string() })
    }
}

impl core::str::FromStr for Device {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, DeviceError> {
        Self::parse(text)
    }
}

/// Whether a text with no `/` is, or begins like, the name of a device.
pub(super) fn reads_as_device(text: &str) -> bool {
    !matches!(identity(text), Ok(None))
}

/// The name of a device on some host, if the text has the form of one.
fn identity(text: &str) -> Result<Option<Identity>, DeviceError> {
    if let Some(ordinal) = text.strip_prefix("cuda:") {
        let read = read_ordinal(ordinal).map(Identity::Ordinal);
        return read.map(Some).ok_or_else(|| DeviceError::Ordinal { text: text.to_string() });
    }
    if let Some(old) = strip_prefix(text, "MIG-GPU-") {
        return old_slice(old, text).map(Some);
    }
    if let Some(uuid) = strip_prefix(text, "MIG-") {
        return read_uuid(uuid, text).map(|uuid| Some(Identity::Mig(uuid)));
    }
    let (name, instances) = text.split_once('/').map_or((text, None), |(n, i)| (n, Some(i)));
    let gpu = if let Some(uuid) = strip_prefix(name, "GPU-") {
        Gpu::Uuid(read_uuid(uuid, text)?)
    } else if looks_like_bus_id(name) {
        let malformed = || DeviceError::BusId { text: name.to_string() };
        Gpu::Bus(PciBusId::parse(name).ok_or_else(malformed)?)
    } else {
        return Ok(None);
    };
    let Some(instances) = instances else { return Ok(Some(Identity::Gpu(gpu))) };
    let read = || {
        let (gpu_instance, compute_instance) = instances.split_once('/')?;
        Some(Identity::Slice {
            gpu,
            gpu_instance: decimal(gpu_instance.strip_prefix("gi")?)?,
            compute_instance: decimal(compute_instance.strip_prefix("ci")?)?,
        })
    };
    read().map(Some).ok_or_else(|| DeviceError::Slice { text: text.to_string() })
}

/// `uuid/1/0`, after `MIG-GPU-`.
fn old_slice(old: &str, text: &str) -> Result<Identity, DeviceError> {
    let (uuid, instances) = old.split_once('/').unwrap_or((old, ""));
    let gpu = Gpu::Uuid(read_uuid(uuid, text)?);
    let read = || {
        let (gpu_instance, compute_instance) = instances.split_once('/')?;
        Some((decimal(gpu_instance)?, decimal(compute_instance)?))
    };
    let (gpu_instance, compute_instance) =
        read().ok_or_else(|| DeviceError::Slice { text: text.to_string() })?;
    Ok(Identity::Slice { gpu, gpu_instance, compute_instance })
}

/// `0`, `0[3,6,5,4]` or `0[?]`, after `cuda:`.
fn read_ordinal(text: &str) -> Option<Ordinal> {
    let Some((index, list)) = text.split_once('[') else {
        return Some(Ordinal::new(decimal(text)?, Visible::Everything));
    };
    let visible = match list.strip_suffix(']')? {
        "?" => Visible::NotSaid,
        list => Visible::listed(list).ok()?,
    };
    Some(Ordinal::new(decimal(index)?, visible))
}

fn read_uuid(uuid: &str, text: &str) -> Result<Uuid, DeviceError> {
    Uuid::parse(uuid).ok_or_else(|| DeviceError::Uuid { text: text.to_string() })
}

/// The rest after a prefix as the driver writes it, or after any spelling of it
/// that a UUID follows: `gpu-0` is a label, `GPU-0` is half a UUID.
fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    let whole = || rest.split('/').next().is_some_and(|uuid| Uuid::parse(uuid).is_some());
    (head == prefix || head.eq_ignore_ascii_case(prefix) && whole()).then_some(rest)
}

/// Hexadecimal digits and two or three separators, so neither a label nor a host.
fn looks_like_bus_id(text: &str) -> bool {
    let digits_only = text.bytes().all(|b| b.is_ascii_hexdigit() || b == b':' || b == b'.');
    digits_only && text.contains(':') && text.contains('.')
}

/// Digits alone: `u32::from_str` would take a sign.
fn decimal(digits: &str) -> Option<u32> {
    digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}
