//! Bytes as hexadecimal text, in messages.

use std::fmt::Write as _;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    to.serialize_str(&text)
}

pub(crate) fn deserialize<'a, D: Deserializer<'a>, T: TryFrom<Vec<u8>>>(
    from: D,
) -> Result<T, D::Error> {
    let text = String::deserialize(from)?;
    let bytes = decode(&text).ok_or_else(|| D::Error::custom("not hexadecimal"))?;
    T::try_from(bytes).map_err(|_| D::Error::custom("another number of bytes is needed"))
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                u8::try_from((digit(*high)? << 4) | digit(*low)?).ok()
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_hexadecimal_is_read() {
        assert_eq!(decode("00ff7A"), Some(vec![0, 255, 0x7a]));
        assert_eq!(decode(""), Some(Vec::new()));
        for bad in ["0", "0g", "+1", "00f", "é"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
