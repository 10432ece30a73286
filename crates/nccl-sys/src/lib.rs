//! Raw bindings to the host API of NCCL 2.32.3: types, constants, functions.
//!
//! Nothing here checks anything: every function is as unsafe as in C. A safe layer
//! stands on top. Building needs no NCCL, no CUDA, no libclang and no GPU.
//!
//! # What is where
//!
//! * The crate's root has every type and constant of `nccl.h` under its own name,
//!   without features and without the standard library. C's enumerations are open
//!   newtypes, never Rust enums: a library newer than the header returns codes, and
//!   `ncclRedOpCreatePreMulSum` makes operators, that the header has not heard of.
//! * The `macros` of the header that are not plain numbers (`NCCL_VERSION`, the four
//!   initializers) are written by hand, in capitals as in C.
//! * [`Library`] (feature `dynamic`, on by default) is an NCCL that was found at run
//!   time. [`function!`] takes a function out of it, or says that this NCCL lacks it.
//! * `linked` (feature `linked`) declares the same functions as symbols, and makes
//!   the linker look for `libnccl`. NVIDIA's Python packages hold `libnccl.so.2`
//!   but no `libnccl.so`, by which a linker would find it.
//!
//! # How the library is found
//!
//! [`Library::load`] takes the path it is given; else the one in the environment
//! variable `NCCL_LIBRARY`; else it asks the system's loader for `libnccl.so.2` and
//! then for `libnccl.so`. Once loaded it stays loaded until the process ends.
//!
#![cfg_attr(feature = "dynamic", doc = "```")]
#![cfg_attr(not(feature = "dynamic"), doc = "```text")]
//! use std::path::Path;
//!
//! // SAFETY: nothing is at this path, so nothing of it runs.
//! let refused = unsafe { nccl_sys::Library::load(Some(Path::new("nowhere/libnccl.so.2"))) };
//! let words = refused.map(|_| ()).unwrap_err().to_string();
//! assert!(words.contains("nowhere/libnccl.so.2"));
//! ```
//!
//! # Older libraries, and stand-ins
//!
//! Functions that a library lacks are errors when they are asked for, and say which release
//! brought them ([`since`], from the table [`FUNCTIONS`]). [`config_for`] gives a
//! configuration that declares no more than a release understands.
//!
//! A library that is not NCCL but stands in for it, as `host-libnccl` of this repository
//! does, says so in a symbol of its own: [`Library::stand_in`] tells. If it stands for an
//! older release, the loader takes the functions away that this did not have.
//!
//! # How the declarations are made
//!
//! `types.rs`, `linked.rs` and `dynamic.rs` are what bindgen makes of the header in
//! the Python package `nvidia-nccl-cu13` 2.32.3. They are committed; `cargo xtask
//! bindgen` writes them again, and `cargo xtask bindgen --check` says where they
//! differ from what it would write. Nobody edits them. Sizes and offsets are checked
//! by the compiler, for the 64-bit targets that NCCL exists on.

#![no_std]
// Foreign functions are what this crate is; it calls one of its own accord, the
// system's loader. Its users argue about the others.
#![allow(unsafe_code)]
// The text above describes the default build.
#![cfg_attr(not(feature = "dynamic"), allow(rustdoc::broken_intra_doc_links))]

#[cfg(feature = "dynamic")]
extern crate std;

mod macros;
mod releases;
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::pedantic,
    reason = "generated: the names are NCCL's, and its documentation is where they come from"
)]
mod types;

pub use macros::*;
pub use releases::{FUNCTIONS, Function, coll_config_for, config_for, since};
pub use types::*;

#[cfg(feature = "linked")]
#[allow(
    missing_docs,
    non_snake_case,
    unused_qualifications,
    clippy::pedantic,
    clippy::too_many_arguments,
    reason = "generated: the names are NCCL's, and its documentation is where they come from"
)]
pub mod linked;

// Beside what is generated, since bindgen knows no library's name.
#[cfg(feature = "linked")]
#[link(name = "nccl")]
unsafe extern "C" {}

#[cfg(feature = "dynamic")]
#[allow(
    missing_docs,
    non_snake_case,
    unused_qualifications,
    clippy::pedantic,
    clippy::missing_safety_doc,
    clippy::too_many_arguments,
    clippy::type_complexity,
    clippy::undocumented_unsafe_blocks,
    reason = "generated: the names are NCCL's, and its documentation is where they come from"
)]
pub mod dynamic;
#[cfg(feature = "dynamic")]
mod load;

#[cfg(feature = "dynamic")]
pub use load::{Attempt, Library, LoadError, NamedBy};
