//! Writes the arrays that `examples/plans/fsdp-arrays.toml` reads, about 5 MB.
//!
//! ```text
//! cargo run --example make_arrays            # into examples/plans/arrays
//! cargo run --example make_arrays -- DIR
//! ```
//!
//! The numbers are the same on every machine: small integers from a generator with a
//! fixed start, so that their float sums are exact in any order.

use std::io;
use std::path::{Path, PathBuf};

/// Ranks of the plan.
const RANKS: u32 = 4;
/// Elements of one rank's gradient, and of the whole parameter.
const ELEMENTS: usize = 1 << 18;

fn main() -> io::Result<()> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plans/arrays");
    let folder = std::env::args_os().nth(1).map_or_else(default, PathBuf::from);
    write_arrays(&folder)
}

/// Writes every file into `folder`, which is made if it is not there.
pub(crate) fn write_arrays(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for rank in 0..RANKS {
        let gradient = numbers(u64::from(rank) + 1);
        put(folder, &format!("gradient.rank{rank}.npy"), &npy(&gradient))?;
    }
    put(folder, "parameters.safetensors", &safetensors("weight", &numbers(100)))
}

/// Integers from -8 to 7 as binary32, little-endian.
fn numbers(start: u64) -> Vec<u8> {
    // Knuth's MMIX generator; the high bits are the good ones.
    let mut state = start;
    let next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let high = u8::try_from(state >> 60).unwrap_or(0);
        f32::from(high) - 8.0
    };
    std::iter::repeat_with(next).take(ELEMENTS).flat_map(f32::to_le_bytes).collect()
}

/// An `.npy` file, version 1.0; the header ends on a multiple of 64 bytes.
fn npy(data: &[u8]) -> Vec<u8> {
    let mut header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({ELEMENTS},), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len()).unwrap_or(u16::MAX);
    [b"\x93NUMPY\x01\x00", &length.to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// A `.safetensors` file with one tensor.
fn safetensors(name: &str, data: &[u8]) -> Vec<u8> {
    let header = format!(
        r#"{{"{name}":{{"dtype":"F32","shape":[{ELEMENTS}],"data_offsets":[0,{}]}}}}"#,
        data.len()
    );
    let length = u64::try_from(header.len()).unwrap_or(u64::MAX);
    [&length.to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// Under its name only when it is complete.
fn put(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let unfinished = folder.join(format!("{name}.part"));
    std::fs::write(&unfinished, bytes)?;
    std::fs::rename(unfinished, folder.join(name))
}
