//! How much a certificate may ask for. Each limit is named when it is hit.

/// The most bytes of a certificate's text: 2^25.
pub const TEXT_BYTES: usize = 1 << 25;

/// The most ranks on one side: 2^20.
pub const RANKS: u32 = 1 << 20;

/// The most units of work: 2^25. A unit stands for some 40 bytes that are kept or a
/// microsecond at most: every run of a buffer that is made is one, every part of a fold
/// or of a normal form several, and so is every character of a number that is read.
pub const WORK: u64 = 1 << 25;

/// The most operations on the way from an input to one value: 512.
pub const DEPTH: u32 = 512;

/// The most characters of a number: 2048. The longest element of any type has 1,000.
pub const NUMBER_CHARACTERS: usize = 2048;

/// The most binary digits above or below the line of a number that comes up: 2^13.
pub const NUMBER_BITS: u64 = 1 << 13;
