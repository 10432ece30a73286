//! Tensors out of `.safetensors` files.
//!
//! The header is read by Hugging Face's crate; of the data only the tensor that is
//! asked for, so that a slice of a large checkpoint costs what the slice weighs.

use std::io::{Read, Seek, SeekFrom};

use rankwise_model::Dtype;
use rankwise_plan::values::Values;
use safetensors::tensor::{Dtype as Stored, Metadata, TensorInfo};

use super::error::ArrayFault;
use super::{Array, read_exactly};

/// Bytes of the header's length, at the start of the file.
const PREAMBLE: u64 = 8;
/// The format's own limit on the header.
const LONGEST_HEADER: u64 = 100_000_000;

/// Reads one tensor out of a file of `length` bytes; which one need not be said if
/// there is only one.
pub(super) fn read(
    source: &mut (impl Read + Seek),
    length: u64,
    tensor: Option<&str>,
) -> Result<Array, ArrayFault> {
    let (metadata, data_start) = header(source, length)?;
    let known = || {
        let mut known = metadata.offset_keys();
        known.sort();
        known
    };
    let info: &TensorInfo = match tensor {
        Some(name) => metadata
            .info(name)
            .ok_or_else(|| ArrayFault::NoTensor { name: name.into(), known: known() })?,
        None => match known().as_slice() {
            [only] => metadata.info(only),
            _ => None,
        }
        .ok_or_else(|| ArrayFault::WhichTensor { known: known() })?,
    };

    let dtype = element_type(info.dtype)?;
    // The header's own check: shape × type is the distance of the offsets.
    let (start, end) = info.data_offsets;
    let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let (start, needed) = (wide(start), wide(end.saturating_sub(start)));
    source
        .seek(SeekFrom::Start(data_start.saturating_add(start)))
        .map_err(|error| ArrayFault::Io(error.kind()))?;
    let bytes = read_exactly(source, needed)?;
    let values = Values::from_le_bytes(dtype, bytes)
        .ok_or(ArrayFault::Length { found: needed, needed: dtype.bytes() })?;
    let shape = info.shape.iter().map(|axis| wide(*axis)).collect();
    Ok(Array { shape, values, notes: Vec::new() })
}

/// The header, and where the data starts.
fn header(source: &mut (impl Read + Seek), length: u64) -> Result<(Metadata, u64), ArrayFault> {
    let preamble = read_exactly(source, PREAMBLE)
        .map_err(|_| ArrayFault::Length { found: length, needed: PREAMBLE })?;
    let header_length =
        preamble.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    if header_length > LONGEST_HEADER {
        return Err(ArrayFault::Header {
            found: format!("a header of {header_length} bytes"),
            expected: "at most 100000000 bytes of header (is this a safetensors file?)",
        });
    }
    let data_start = header_length.saturating_add(PREAMBLE);
    if data_start > length {
        return Err(ArrayFault::Length { found: length, needed: data_start });
    }
    let text = read_exactly(source, header_length)?;
    let metadata: Metadata = serde_json::from_slice(&text).map_err(|error| ArrayFault::Header {
        found: error.to_string(),
        expected: "a safetensors header",
    })?;
    let needed = u64::try_from(metadata.data_len()).unwrap_or(u64::MAX).saturating_add(data_start);
    if needed != length {
        return Err(ArrayFault::Length { found: length, needed });
    }
    Ok((metadata, data_start))
}

fn element_type(stored: Stored) -> Result<Dtype, ArrayFault> {
    let refuse = |why| Err(ArrayFault::Dtype { name: stored.to_string(), why });
    match stored {
        Stored::I8 => Ok(Dtype::I8),
        Stored::U8 => Ok(Dtype::U8),
        Stored::I32 => Ok(Dtype::I32),
        Stored::U32 => Ok(Dtype::U32),
        Stored::I64 => Ok(Dtype::I64),
        Stored::U64 => Ok(Dtype::U64),
        Stored::F16 => Ok(Dtype::F16),
        Stored::BF16 => Ok(Dtype::Bf16),
        Stored::F32 => Ok(Dtype::F32),
        Stored::F64 => Ok(Dtype::F64),
        Stored::F8_E4M3 => Ok(Dtype::F8E4M3),
        Stored::F8_E5M2 => Ok(Dtype::F8E5M2),
        Stored::BOOL => refuse("bool is no element type of NCCL; save it as uint8"),
        Stored::I16 | Stored::U16 => refuse("NCCL has no 16-bit integers"),
        Stored::C64 => refuse("NCCL has no complex numbers; save them as pairs of floats"),
        Stored::F8_E4M3FNUZ | Stored::F8_E5M2FNUZ => {
            refuse("the FNUZ kinds of fp8 have other bit patterns than NCCL's")
        }
        _ => refuse("not a number of NCCL's"),
    }
}

#[cfg(test)]
mod tests;
