//! A stand-in for `libnccl`: the host C ABI of NCCL 2.32.3, carried out by the mock.
//!
//! Code that drives NCCL runs on this unchanged, without a GPU, beside the stand-in for
//! `libcuda`: communicators of the ranks of one process, collectives, messages, groups
//! and splits, in stream order. Values are those of the mock, and so of the model.
//!
//! It offers what its symbols say and nothing else: no memory of its own, no windows, no
//! non-blocking communicators, no growing and shrinking, no second process.
//!
//! # How a call is carried out
//!
//! A call, or a group of them, is matched with those of the peers when it is made, by the
//! mock's own algorithm. The stream gets a host function, which says to the mock that
//! this rank's work has been reached, and waits until the mock has carried it out. What
//! goes wrong becomes the communicator's asynchronous error, and its text what
//! `ncclGetLastError` says of that communicator.
//!
//! # Where it is stricter than NCCL
//!
//! - Calls that do not match are an asynchronous error on every rank (`ncclInvalidUsage`),
//!   with a report of who differs in what; a peer that has left is `ncclRemoteError`. NCCL
//!   hangs, or computes something.
//! - Every pointer is looked up in the driver: wild, too short, or on another device is
//!   `ncclInvalidArgument`. Overlap other than in place is refused.
//! - A collective of no elements still has to be called by everyone.
//! - Handles are never issued twice, so a stale one is `ncclInvalidArgument`.
//! - The last words are those of the calling thread, not of whoever failed last.
//!
//! # Where it is as odd as NCCL
//!
//! A failing call poisons its group. `ncclCommDestroy` on a communicator with an error
//! refuses and leaves the thread inside a group. Two ranks on one device are refused
//! unless `NCCL_MULTI_RANK_GPU_ENABLE` is 1.

// The boundary is C, and the memory behind it is shared with whoever calls.
#![allow(unsafe_code)]
// The names are those of `nccl.h`, or no program would find them.
#![allow(non_snake_case)]

mod abi;
mod comm;
mod cuda;
mod end;
mod enqueue;
mod error;
mod gate;
mod group;
mod init;
mod load;
mod lock;
mod messages;
mod names;
mod operator;
mod split;

mod collectives;
mod state;

pub use load::{Missing, library_file};
