//! Elements as the bytes that memory holds: native byte order, without padding.

use rankwise_model::Element;

/// The bytes of the elements.
pub(crate) fn to_bytes<T: Element>(elements: &[T]) -> Vec<u8> {
    let width = width::<T>();
    let mut bytes = Vec::with_capacity(elements.len().saturating_mul(width));
    for element in elements {
        let bits = element.to_bits();
        let low = if cfg!(target_endian = "big") {
            bits.to_be_bytes().get(8_usize.saturating_sub(width)..).map(<[u8]>::to_vec)
        } else {
            None
        };
        match low {
            Some(low) => bytes.extend_from_slice(&low),
            None => bytes.extend(bits.to_le_bytes().iter().take(width)),
        }
    }
    bytes
}

/// The elements of the bytes; a last incomplete element is left out.
pub(crate) fn from_bytes<T: Element>(bytes: &[u8]) -> Vec<T> {
    bytes
        .chunks_exact(width::<T>())
        .map(|chunk| {
            let significant_first = |bits: u64, byte: &u8| (bits << 8) | u64::from(*byte);
            T::from_bits(if cfg!(target_endian = "big") {
                chunk.iter().fold(0, significant_first)
            } else {
                chunk.iter().rev().fold(0, significant_first)
            })
        })
        .collect()
}

fn width<T: Element>() -> usize {
    usize::try_from(T::DTYPE.bytes()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_their_native_bytes() {
        assert_eq!(to_bytes(&[0x0102_0304_u32]), 0x0102_0304_u32.to_ne_bytes());
        assert_eq!(to_bytes(&[-2_i8, 5]), [0xfe, 5]);
        assert_eq!(to_bytes(&[1.5_f64]), 1.5_f64.to_ne_bytes());
        assert_eq!(from_bytes::<i64>(&(-7_i64).to_ne_bytes()), [-7]);
        assert_eq!(
            from_bytes::<f32>(&[2.5_f32.to_ne_bytes(), 8.0_f32.to_ne_bytes()].concat()),
            [2.5, 8.0]
        );
    }
}
