//! The sizes past which a run is refused, each named when it is hit.

/// The most ranks of one run: each has a thread of its own.
pub const RANKS: u64 = 1 << 12;

/// The most elements in all buffers of all ranks together, those that later steps
/// replace included: 2^26. Every one of them is computed twice and compared.
pub const ELEMENTS: u64 = 1 << 26;
