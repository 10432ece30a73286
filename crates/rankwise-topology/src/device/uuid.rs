//! UUIDs of GPUs and of MIG slices.

use core::fmt;

/// The UUID of a GPU or of a MIG slice, without `GPU-` or `MIG-`.
///
/// ```
/// use rankwise_topology::Uuid;
///
/// let uuid = Uuid::parse("5A2C9D1E-0b7f-4c3d-9e8a-1f2b3c4d5e6f").unwrap();
/// assert_eq!(uuid.to_string(), "5a2c9d1e-0b7f-4c3d-9e8a-1f2b3c4d5e6f");
/// assert_eq!(Uuid::parse("5a2c9d1e"), None); // a prefix needs a machine to resolve it
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

/// Hexadecimal digits in each of the five parts.
const PARTS: [usize; 5] = [8, 4, 4, 4, 12];

impl Uuid {
    /// The UUID of these 16 bytes, in the order in which they are written.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Reads the written form, in either case; `None` unless it is whole.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bits = 0_u128;
        let mut parts = text.split('-');
        for digits in PARTS {
            let part = parts.next().filter(|part| part.len() == digits)?;
            for digit in part.chars() {
                bits = (bits << 4) | u128::from(digit.to_digit(16)?);
            }
        }
        parts.next().is_none().then_some(Self(bits.to_be_bytes()))
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let dash = if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}
