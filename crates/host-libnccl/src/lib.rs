//! A stand-in for `libnccl`: the host C ABI of NCCL 2.32.3, carried out by the mock.
//!
//! Code that drives NCCL runs on this unchanged, without a GPU, beside the stand-in for
//! `libcuda`: communicators of the ranks of one process, that block or do not; collectives,
//! messages, groups, splits, growing and shrinking, windows and one-sided calls, in stream
//! order. Values are those of the mock, and so of the model. Every function of the host
//! API is there; `docs/stand-ins.md` says how to run other people's programs.
//!
//! | variable | meaning |
//! |---|---|
//! | `RANKWISE_HOST_FAULTS` | faults on request, see `host-faults` |
//! | `RANKWISE_HOST_NCCL_VERSION` | the code of an older release, which `ncclGetVersion` answers |
//! | `NCCL_MULTI_RANK_GPU_ENABLE` | 1 allows several ranks per device, as with NCCL |
//!
//! What is not pretended: a second process, the device API, scalars in device memory, the
//! effect of any tuning, encryption, memory that suspending gives back.
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
//! - A communicator that does not block is in progress until a poll has said otherwise:
//!   time alone does not end it. Things go on when it is polled.
//! - A finalized or suspended communicator refuses calls (`ncclInvalidUsage`).
//! - A put that would not fit into the peer's window, and a wait for a peer that has left,
//!   are errors. Ranks that exclude different ranks from a shrink are told so.
//! - Handles are never issued twice, so a stale one is `ncclInvalidArgument`.
//! - The last words are those of the calling thread, not of whoever failed last.
//!
//! # Where it is as odd as NCCL
//!
//! A failing call poisons its group. `ncclCommDestroy` on a communicator that has failed or
//! is in progress refuses and leaves the thread inside a group. A wrong argument stays, of a
//! communicator that does not block. Two ranks on one device are refused unless
//! `NCCL_MULTI_RANK_GPU_ENABLE` is 1.
//!
//! Revoking forgets what had failed, so that the survivors of a dead peer can shrink; so
//! does shrinking with `NCCL_SHRINK_ABORT`. With NCCL nothing would have failed by then,
//! since it does not notice.

// The boundary is C, and the memory behind it is shared with whoever calls.
#![allow(unsafe_code)]
// The names are those of `nccl.h`, or no program would find them.
#![allow(non_snake_case)]

mod abi;
mod collectives;
mod comm;
mod config;
mod cuda;
mod end;
mod enqueue;
mod error;
mod family;
mod faults;
mod gate;
mod group;
mod init;
mod load;
mod lock;
mod marker;
mod messages;
mod names;
mod operator;
mod param;
mod report;
mod resize;
mod signal;
mod split;
mod state;
mod window;

pub use load::{Missing, library_file};
