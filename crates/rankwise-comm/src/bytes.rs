//! Elements as the bytes that memory holds, and back: native byte order, no padding.

use rankwise_model::{Dtype, Element, ElementVisitor, Scalar};

/// The bytes of the elements.
///
/// ```
/// assert_eq!(rankwise_comm::bytes::to_bytes(&[-2_i8, 5]), [0xfe, 5]);
/// ```
pub fn to_bytes<T: Element>(elements: &[T]) -> Vec<u8> {
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

/// The bytes of a value whose type is known at run time.
///
/// ```
/// use rankwise_comm::bytes::scalar_to_bytes;
/// use rankwise_model::Scalar;
///
/// assert_eq!(scalar_to_bytes(Scalar::of(1.5_f32)), 1.5_f32.to_ne_bytes());
/// ```
pub fn scalar_to_bytes(scalar: Scalar) -> Vec<u8> {
    struct ToBytes(u64);
    impl ElementVisitor for ToBytes {
        type Output = Vec<u8>;
        fn visit<T: Element>(self) -> Vec<u8> {
            to_bytes(&[T::from_bits(self.0)])
        }
    }
    scalar.dtype().visit(ToBytes(scalar.bits()))
}

/// The elements of the bytes; a last incomplete element is left out.
pub fn from_bytes<T: Element>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(width(T::DTYPE)).map(|own| T::from_bits(bits(own))).collect()
}

/// The element at an index; `None` if the bytes do not hold all of it.
///
/// ```
/// use rankwise_comm::bytes::element_at;
/// use rankwise_model::{Dtype, Scalar};
///
/// let bytes = [7_i64.to_ne_bytes(), (-7_i64).to_ne_bytes()].concat();
/// assert_eq!(element_at(Dtype::I64, &bytes, 1), Some(Scalar::of(-7_i64)));
/// assert_eq!(element_at(Dtype::I64, &bytes, 2), None);
/// ```
pub fn element_at(dtype: Dtype, bytes: &[u8], index: usize) -> Option<Scalar> {
    let width = width(dtype);
    let start = index.checked_mul(width)?;
    let own = bytes.get(start..start.checked_add(width)?)?;
    Some(Scalar::from_bits(dtype, bits(own)))
}

/// The length of one element in bytes.
pub fn width(dtype: Dtype) -> usize {
    usize::try_from(dtype.bytes()).unwrap_or(1)
}

/// The bit pattern that the bytes of one element hold, in the low bits.
fn bits(own: &[u8]) -> u64 {
    let more = |bits: u64, byte: &u8| (bits << 8) | u64::from(*byte);
    if cfg!(target_endian = "big") {
        own.iter().fold(0, more)
    } else {
        own.iter().rev().fold(0, more)
    }
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
        let two = [2.5_f32.to_ne_bytes(), 8.0_f32.to_ne_bytes()].concat();
        assert_eq!(from_bytes::<f32>(&two), [2.5, 8.0]);
        let bytes = [7_i64.to_ne_bytes(), (-7_i64).to_ne_bytes()].concat();
        assert_eq!(element_at(Dtype::I64, &bytes, 1), Some(Scalar::of(-7_i64)));
        assert_eq!(element_at(Dtype::I64, &bytes, 2), None);
        let one = 0x3c00_u16.to_ne_bytes();
        assert_eq!(element_at(Dtype::F16, &one, 0).map(Scalar::to_f64), Some(1.0));
    }
}
