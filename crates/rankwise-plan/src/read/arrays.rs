//! Values that are not in the plan itself: the caller brings them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use rankwise_model::Dtype;

use crate::values::Values;

/// Whoever can read array files. This crate opens nothing.
pub trait Arrays {
    /// The array that `request` names, all of it.
    ///
    /// Its element type and length are checked by the caller of this method.
    ///
    /// # Errors
    ///
    /// What was found instead, and what would have done.
    fn array(&mut self, request: &ArrayRequest<'_>) -> Result<Values, ArrayError>;
}

/// One array that a plan asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayRequest<'p> {
    /// The file, as the plan writes it: relative to the plan.
    pub file: &'p str,
    /// Which array of the file, where the plan says: `weights.safetensors#layer.0`.
    pub tensor: Option<&'p str>,
    /// The element type that the plan states.
    pub dtype: Dtype,
    /// The number of elements that is needed, where the plan states it.
    pub count: Option<u64>,
}

impl<'p> ArrayRequest<'p> {
    /// Takes `FILE#TENSOR` apart at its last `#`.
    pub fn new(written: &'p str, dtype: Dtype, count: Option<u64>) -> Self {
        let (file, tensor) = match written.rsplit_once('#') {
            Some((file, tensor)) => (file, Some(tensor)),
            None => (written, None),
        };
        Self { file, tensor, dtype, count }
    }
}

/// Why there is no such array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayError {
    /// What was found, in words.
    pub found: String,
    /// What was expected, in words.
    pub expected: String,
}

impl core::fmt::Display for ArrayError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "found {}, expected {}", self.found, self.expected)
    }
}

impl core::error::Error for ArrayError {}

/// For plans whose values are all written in them: refuses every file, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoArrays;

impl Arrays for NoArrays {
    fn array(&mut self, request: &ArrayRequest<'_>) -> Result<Values, ArrayError> {
        Err(ArrayError {
            found: format!("the array file {:?}", request.file),
            expected: String::from("no files: this reader opens none"),
        })
    }
}

/// `values` cut into `blocks` equal blocks, in order; `None` if they are not equal.
pub(super) fn blocks(values: &Values, blocks: u64) -> Option<Vec<Values>> {
    let count = values.count().checked_div(blocks)?;
    if count.checked_mul(blocks) != Some(values.count()) {
        return None;
    }
    let dtype = values.dtype();
    let bytes = usize::try_from(count.checked_mul(dtype.bytes())?).ok()?;
    if bytes == 0 {
        return (0..blocks).map(|_| Values::from_le_bytes(dtype, Vec::new())).collect();
    }
    let block = |block: &[u8]| Values::from_le_bytes(dtype, block.to_vec());
    values.as_le_bytes().chunks_exact(bytes).map(block).collect()
}
