//! Elements as the bytes that memory holds, and back: native byte order, no padding.

use rankwise_model::{Dtype, Element, Scalar};

/// The bytes of the elements.
pub(crate) fn to_bytes<T: Element>(elements: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(elements.len().saturating_mul(width(T::DTYPE)));
    let bits = elements.iter().map(|element| element.to_bits());
    #[allow(clippy::cast_possible_truncation)] // the low bits are all there are
    match width(T::DTYPE) {
        1 => bytes.extend(bits.map(|bits| bits as u8)),
        2 => bits.for_each(|bits| bytes.extend_from_slice(&(bits as u16).to_ne_bytes())),
        4 => bits.for_each(|bits| bytes.extend_from_slice(&(bits as u32).to_ne_bytes())),
        _ => bits.for_each(|bits| bytes.extend_from_slice(&bits.to_ne_bytes())),
    }
    bytes
}

/// The element at an index.
pub(crate) fn element_at(dtype: Dtype, bytes: &[u8], index: usize) -> Option<Scalar> {
    let width = width(dtype);
    let start = index.checked_mul(width)?;
    let own = bytes.get(start..start.checked_add(width)?)?;
    let more = |bits: u64, byte: &u8| (bits << 8) | u64::from(*byte);
    let bits = if cfg!(target_endian = "big") {
        own.iter().fold(0, more)
    } else {
        own.iter().rev().fold(0, more)
    };
    Some(Scalar::from_bits(dtype, bits))
}

/// The bytes of one element.
pub(crate) fn width(dtype: Dtype) -> usize {
    usize::try_from(dtype.bytes()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_their_native_bytes() {
        assert_eq!(to_bytes(&[-2_i8, 5]), [0xfe, 5]);
        assert_eq!(to_bytes(&[0x0102_0304_u32]), 0x0102_0304_u32.to_ne_bytes());
        assert_eq!(to_bytes(&[1.5_f64]), 1.5_f64.to_ne_bytes());
        let bytes = [7_i64.to_ne_bytes(), (-7_i64).to_ne_bytes()].concat();
        assert_eq!(element_at(Dtype::I64, &bytes, 1), Some(Scalar::of(-7_i64)));
        assert_eq!(element_at(Dtype::I64, &bytes, 2), None);
        assert_eq!(
            element_at(Dtype::F16, &0x3c00_u16.to_ne_bytes(), 0).map(Scalar::to_f64),
            Some(1.0)
        );
    }
}
