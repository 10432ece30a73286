//! Elements as the bytes that memory holds, and back.

use rankwise_model::{Dtype, Element, Scalar};

/// The bytes of the elements, in native order.
pub(crate) fn to_bytes<T: Element>(elements: &[T]) -> Vec<u8> {
    let width = width(T::DTYPE);
    let mut bytes = Vec::with_capacity(elements.len().saturating_mul(width));
    for element in elements {
        let low = element.to_bits().to_le_bytes();
        if cfg!(target_endian = "big") {
            bytes.extend(low.iter().take(width).rev());
        } else {
            bytes.extend(low.iter().take(width));
        }
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
