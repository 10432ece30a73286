//! Host names.

use alloc::string::ToString;
use alloc::sync::Arc;
use core::fmt;

use super::error::DeviceError;
use super::parse::reads_as_device;

/// The name of a host, in lower case: host names do not tell cases apart
/// (RFC 4343).
///
/// Two names are two hosts. That `node1` and `node1.cluster` may be one is for
/// whoever knows the network to say, by writing one of them.
///
/// ```
/// use rankwise_topology::Host;
///
/// assert_eq!(Host::new("Node1")?, Host::new("node1")?);
/// assert!(Host::new("node 1").is_err());
/// # Ok::<(), rankwise_topology::DeviceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(Arc<str>);

impl Host {
    /// The host of that name: not empty, without blanks, control characters and
    /// `/`, and not the form of a device's name.
    pub fn new(name: &str) -> Result<Self, DeviceError> {
        let letter = |c: char| !(c == '/' || c.is_whitespace() || c.is_control());
        if name.is_empty() || !name.chars().all(letter) || reads_as_device(name) {
            return Err(DeviceError::Host { text: name.to_string() });
        }
        Ok(Self(name.to_ascii_lowercase().into()))
    }

    /// The name, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
