//! What a run left, as files: all of them, or none.
//!
//! One `rank<k>.safetensors` per rank, which holds every element type; under `npy/` one
//! `<buffer>.rank<k>.npy` per buffer of a type that NumPy has; and `record.json`. The
//! names are those that `judge --observed` looks for, in either folder.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rankwise_model::Dtype;
use rankwise_plan::values::Values;
use rankwise_run::Outcome;
use safetensors::tensor::{Dtype as Stored, TensorView};

use crate::unusable::Unusable;

/// A folder that appears when everything is in it.
#[derive(Debug)]
pub(crate) struct NewFolder {
    folder: PathBuf,
    /// Beside it, so that one rename makes it appear.
    unfinished: PathBuf,
}

impl NewFolder {
    /// Checks that the folder can be made, and starts it under another name.
    pub(crate) fn start(folder: &Path) -> Result<Self, Box<Unusable>> {
        let refuse = |error: &io::Error| unwritable(folder, error);
        let name = folder.file_name().ok_or_else(|| {
            Unusable::file(folder, "a folder without a name", "the name of a new folder")
        })?;
        let first = std::fs::read_dir(folder).map(|mut entries| entries.next());
        match first {
            Ok(None) => {}
            Ok(Some(_)) => {
                let found = "a folder with something in it";
                return Err(Unusable::file(folder, found, "a new or an empty folder"));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(refuse(&error)),
        }
        let beside = format!(".{}.unfinished-{}", name.to_string_lossy(), std::process::id());
        let unfinished = folder.with_file_name(beside);
        if let Some(parent) = unfinished.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(|error| refuse(&error))?;
        }
        std::fs::create_dir(&unfinished).map_err(|error| refuse(&error))?;
        Ok(Self { folder: folder.to_owned(), unfinished })
    }

    /// Writes what one proposal left, into the folder itself or one of that name in it.
    pub(crate) fn write(
        &self,
        within: Option<&str>,
        outcome: &Outcome,
    ) -> Result<(), Box<Unusable>> {
        let into =
            within.map_or_else(|| self.unfinished.clone(), |name| self.unfinished.join(name));
        write_all(&into, outcome).map_err(|error| unwritable(&self.folder, &error))
    }

    /// Lets the folder appear.
    pub(crate) fn finish(self) -> Result<(), Box<Unusable>> {
        let appear = || {
            if self.folder.exists() {
                // It is empty, or this fails.
                std::fs::remove_dir(&self.folder)?;
            }
            std::fs::rename(&self.unfinished, &self.folder)
        };
        appear().map_err(|error| unwritable(&self.folder, &error))
    }
}

impl Drop for NewFolder {
    /// What is not finished leaves nothing behind.
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.unfinished);
    }
}

fn unwritable(folder: &Path, error: &io::Error) -> Box<Unusable> {
    Unusable::file(folder, error.kind().to_string(), "a folder that can be written")
}

fn write_all(into: &Path, outcome: &Outcome) -> io::Result<()> {
    std::fs::create_dir_all(into)?;
    let record = outcome.record.to_json().map_err(io::Error::other)?;
    std::fs::write(into.join("record.json"), record)?;

    let mut ranks: BTreeMap<u32, Vec<(&str, &Values)>> = BTreeMap::new();
    for ((rank, buffer), values) in &outcome.left {
        ranks.entry(rank.index()).or_default().push((buffer, values));
    }
    for (rank, buffers) in ranks {
        let tensors = buffers.iter().map(|(buffer, values)| Ok((*buffer, tensor(values)?)));
        let tensors = tensors.collect::<io::Result<Vec<_>>>()?;
        let bytes = safetensors::serialize(tensors, None).map_err(io::Error::other)?;
        std::fs::write(into.join(format!("rank{rank}.safetensors")), bytes)?;
        for (buffer, values) in buffers {
            // A buffer whose name is a path can have no file of that name here.
            if let Some(bytes) = npy(values).filter(|_| is_file_name(buffer)) {
                std::fs::create_dir_all(into.join("npy"))?;
                std::fs::write(into.join("npy").join(format!("{buffer}.rank{rank}.npy")), bytes)?;
            }
        }
    }
    Ok(())
}

/// Whether a name can be that of a file or a folder.
pub(crate) fn is_file_name(name: &str) -> bool {
    !name.contains(['/', '\\']) && name != "." && name != ".."
}

fn tensor(values: &Values) -> io::Result<TensorView<'_>> {
    let stored = match values.dtype() {
        Dtype::I8 => Stored::I8,
        Dtype::U8 => Stored::U8,
        Dtype::I32 => Stored::I32,
        Dtype::U32 => Stored::U32,
        Dtype::I64 => Stored::I64,
        Dtype::U64 => Stored::U64,
        Dtype::F16 => Stored::F16,
        Dtype::Bf16 => Stored::BF16,
        Dtype::F32 => Stored::F32,
        Dtype::F64 => Stored::F64,
        Dtype::F8E4M3 => Stored::F8_E4M3,
        Dtype::F8E5M2 => Stored::F8_E5M2,
        dtype => return Err(io::Error::other(format!("safetensors has no {dtype}"))),
    };
    let count = usize::try_from(values.count()).map_err(io::Error::other)?;
    TensorView::new(stored, vec![count], values.as_le_bytes()).map_err(io::Error::other)
}

/// A version 1.0 `.npy` of one axis; `None` if NumPy has no such type.
fn npy(values: &Values) -> Option<Vec<u8>> {
    const PREAMBLE: usize = 10;
    let descr = match values.dtype() {
        Dtype::I8 => "|i1",
        Dtype::U8 => "|u1",
        Dtype::I32 => "<i4",
        Dtype::U32 => "<u4",
        Dtype::I64 => "<i8",
        Dtype::U64 => "<u8",
        Dtype::F16 => "<f2",
        Dtype::F32 => "<f4",
        Dtype::F64 => "<f8",
        _ => return None,
    };
    let count = values.count();
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}");
    // The data starts at a multiple of 64, after a line break.
    let padded = (PREAMBLE + header.len() + 1).next_multiple_of(64) - PREAMBLE;
    header.extend(std::iter::repeat_n(' ', padded - 1 - header.len()));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).ok()?.to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.as_le_bytes());
    Some(bytes)
}
