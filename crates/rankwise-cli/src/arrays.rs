//! Arrays of numbers out of files.
//!
//! Whatever the file, what comes out is flat, row-major and little-endian, with its
//! shape; what had to be converted on the way is noted.

mod beside;
mod error;
mod npy;
mod observed;
mod row_major;
mod safetensors;

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use rankwise_plan::values::Values;

pub(crate) use self::beside::Beside;
pub(crate) use self::error::ArrayFault;
pub(crate) use self::observed::Observed;

/// An array as it came out of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    /// Elements along each axis; none for a single number.
    pub(crate) shape: Vec<u64>,
    /// The elements.
    pub(crate) values: Values,
    /// What had to be converted.
    pub(crate) notes: Vec<Note>,
}

/// What had to be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// The file held the first axis fastest ("Fortran order").
    FortranOrder,
    /// The file held the most significant byte first.
    BigEndian,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::FortranOrder => "converted from Fortran order to row-major order",
            Self::BigEndian => "converted from big-endian to little-endian",
        })
    }
}

/// Reads one array: a `.npy` file, or a tensor of a `.safetensors` file.
///
/// The tensor's name may be left out where the file holds only one.
pub(crate) fn read(path: &Path, tensor: Option<&str>) -> Result<Array, ArrayFault> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match (extension, tensor) {
        (Some("npy"), None) => {
            let (mut file, length) = open(path)?;
            npy::read(&mut file, length)
        }
        (Some("npy"), Some(_)) => Err(ArrayFault::TensorOfNpy),
        (Some("safetensors"), tensor) => {
            let (mut file, length) = open(path)?;
            safetensors::read(&mut file, length, tensor)
        }
        _ => Err(ArrayFault::UnknownKind),
    }
}

/// Opens a regular file and says how long it is. Pipes and devices have no length to
/// hold the header against.
fn open(path: &Path) -> Result<(File, u64), ArrayFault> {
    let io = |error: std::io::Error| ArrayFault::Io(error.kind());
    let metadata = std::fs::metadata(path).map_err(io)?;
    if !metadata.is_file() {
        return Err(ArrayFault::NotAFile);
    }
    Ok((File::open(path).map_err(io)?, metadata.len()))
}

/// Bytes of the data part, read in one piece; its length was checked against the file's.
fn read_exactly(source: &mut (impl Read + Seek), bytes: u64) -> Result<Vec<u8>, ArrayFault> {
    let capacity = usize::try_from(bytes).map_err(|_| ArrayFault::TooLarge { bytes })?;
    let mut data = Vec::new();
    data.try_reserve_exact(capacity).map_err(|_| ArrayFault::TooLarge { bytes })?;
    source
        .by_ref()
        .take(bytes)
        .read_to_end(&mut data)
        .map_err(|error| ArrayFault::Io(error.kind()))?;
    let found = u64::try_from(data.len()).unwrap_or(u64::MAX);
    if found == bytes { Ok(data) } else { Err(ArrayFault::Length { found, needed: bytes }) }
}
