//! cudarc's driver layer, unmodified, on the stand-in.

// A client of a C library; every unsafe call is one of its API, with its own handles.
#![allow(unsafe_code)]

mod bench;
mod environment;
mod memory;
mod order;
mod refusals;
