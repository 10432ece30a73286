//! Arrays of one element type, as they come out of files and literals.

use alloc::vec::Vec;

use rankwise_model::{Dtype, Element, Scalar};

/// A flat array of elements of one type, little-endian, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    dtype: Dtype,
    bytes: Vec<u8>,
}

impl Values {
    /// Wraps little-endian bytes; `None` unless they are whole elements.
    pub fn from_le_bytes(dtype: Dtype, bytes: Vec<u8>) -> Option<Self> {
        let width = usize::try_from(dtype.bytes()).ok()?;
        (bytes.len().checked_rem(width)? == 0).then_some(Self { dtype, bytes })
    }

    /// Collects elements of a Rust type.
    pub fn of<T: Element>(elements: &[T]) -> Self {
        let mut values = Self { dtype: T::DTYPE, bytes: Vec::new() };
        for element in elements {
            values.extend(Scalar::of(*element).bits());
        }
        values
    }

    /// Collects scalars; `None` if one is of another type.
    pub fn from_scalars(dtype: Dtype, scalars: impl IntoIterator<Item = Scalar>) -> Option<Self> {
        let mut values = Self { dtype, bytes: Vec::new() };
        for scalar in scalars {
            if scalar.dtype() != dtype {
                return None;
            }
            values.extend(scalar.bits());
        }
        Some(values)
    }

    /// The element type.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The number of elements.
    pub fn count(&self) -> u64 {
        let bytes = u64::try_from(self.bytes.len()).unwrap_or(u64::MAX);
        bytes.checked_div(self.dtype.bytes()).unwrap_or(0)
    }

    /// The bytes, little-endian.
    pub fn as_le_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The element at `position`, if there is one.
    pub fn get(&self, position: u64) -> Option<Scalar> {
        let width = usize::try_from(self.dtype.bytes()).ok()?;
        let start = usize::try_from(position).ok()?.checked_mul(width)?;
        let element = self.bytes.get(start..start.checked_add(width)?)?;
        let bits = element.iter().rev().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        Some(Scalar::from_bits(self.dtype, bits))
    }

    /// Every element, in order.
    pub fn iter(&self) -> impl Iterator<Item = Scalar> + '_ {
        (0..self.count()).filter_map(|position| self.get(position))
    }

    fn extend(&mut self, bits: u64) {
        let width = usize::try_from(self.dtype.bytes()).unwrap_or(0);
        self.bytes.extend(bits.to_le_bytes().into_iter().take(width));
    }
}
