//! How much a certificate may ask for. Each limit is named when it is hit.

/// The most bytes of a certificate's text: 2^28.
pub const TEXT_BYTES: usize = 1 << 28;

/// The most ranks on one side: 2^20.
pub const RANKS: u32 = 1 << 20;

/// The most units of work: 2^25. Every run of a buffer that is made, every part of a
/// fold or of a normal form, and every rank of an act is one.
pub const WORK: u64 = 1 << 25;

/// The most operations on the way from an input to one value: 512.
pub const DEPTH: u32 = 512;

/// The most characters of a number.
pub const NUMBER_CHARACTERS: usize = 4096;

/// The most binary digits of a number that comes up when a witness is put in.
pub const NUMBER_BITS: u64 = 1 << 16;
