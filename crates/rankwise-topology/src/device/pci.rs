//! PCI bus ids.

use core::fmt;

/// A PCI address, `domain:bus:device.function`.
///
/// Tools spell one address in several ways (`59:00.0`, `0000:59:00.0`, NVML's
/// `00000000:59:00.0`, either case); read, they are one value:
///
/// ```
/// use rankwise_topology::PciBusId;
///
/// let short = PciBusId::parse("59:00.0").unwrap();
/// assert_eq!(PciBusId::parse("00000000:59:00.0"), Some(short));
/// assert_eq!(short.to_string(), "0000:59:00.0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciBusId {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

impl PciBusId {
    /// Reads an address; a missing domain is domain 0.
    ///
    /// `None` where a part is missing, not hexadecimal or out of range (bus ff,
    /// device 1f, function 7).
    pub fn parse(text: &str) -> Option<Self> {
        let (rest, function) = text.rsplit_once('.')?;
        let (rest, device) = rest.rsplit_once(':')?;
        let (domain, bus) = rest.rsplit_once(':').unwrap_or(("0", rest));
        let (bus, device, function) = (hex(bus, 2)?, hex(device, 2)?, hex(function, 1)?);
        (device <= 0x1f && function <= 7).then_some(Self {
            domain: hex(domain, 8)?,
            bus: u8::try_from(bus).ok()?,
            device: u8::try_from(device).ok()?,
            function: u8::try_from(function).ok()?,
        })
    }
}

fn hex(digits: &str, at_most: usize) -> Option<u32> {
    let well_formed =
        digits.len() <= at_most && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if well_formed { u32::from_str_radix(digits, 16).ok() } else { None }
}

impl fmt::Display for PciBusId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, device, function } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}
