//! A stand-in for `libcuda`: the driver's C ABI, carried out on host memory.
//!
//! Code that drives GPUs through the CUDA driver API runs on this unchanged, without
//! a GPU: devices, contexts, streams, events, memory, copies and host functions. It
//! has no kernels, modules, graphs or memory pools. It proves what a program asks of
//! the driver and in which order; it says nothing of speed.
//!
//! # Using it
//!
//! Name this crate in the dev-dependencies and call [`load()`] before anything else in
//! each test. From then on the process's `libcuda.so` is this one.
//!
//! | variable | meaning |
//! |---|---|
//! | `RANKWISE_HOST_DEVICES` | the number of devices, 0 to 64; 8 if unset |
//! | `RANKWISE_HOST_DELAY` | a seed: streams dawdle at random, so that a missing wait shows |
//! | `RANKWISE_HOST_FAULTS` | faults on request, see `host-faults` |
//!
//! # Where it is stricter than a driver
//!
//! A program that is right by the letter of the driver API runs. One that is wrong
//! and would get away with it is told:
//!
//! - every address is looked up: wild, freed, too long, of the wrong kind, or a copy
//!   onto itself is `CUDA_ERROR_INVALID_VALUE`;
//! - handles are never issued twice, so a stale one is `CUDA_ERROR_INVALID_HANDLE`;
//! - memory that is used in a stream before its allocation, after its end, or while
//!   another stream is at the same bytes is `CUDA_ERROR_ILLEGAL_ADDRESS`, which stays,
//!   and one line on the standard error says why;
//! - so are bytes written outside an allocation, or into one that was freed;
//! - nothing waits that need not: neither freeing nor copying between devices;
//! - a host function that calls the driver gets `CUDA_ERROR_NOT_PERMITTED`;
//! - fresh and freed memory hold patterns that make results visibly wrong.
//!
//! A device pointer is a plain address of this process, and each stream is a thread:
//! a host function may read and write device memory, and may block for long while
//! other streams go on.

// The boundary is C, and the memory behind it is shared with whoever calls.
#![allow(unsafe_code)]
// The names are those of `cuda.h`, or no program would find them.
#![allow(non_snake_case)]

mod abi;
mod allocate;
mod block;
mod context;
mod device;
mod driver;
mod error;
mod event;
mod handle;
pub mod load;
mod lock;
mod marker;
mod memory;
mod pointer;
mod procedure;
mod report;
mod settings;
mod stream;
mod transfer;
mod work;

pub use load::{LoadError, library_file, load};
