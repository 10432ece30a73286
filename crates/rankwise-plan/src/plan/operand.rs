//! What a step reads or writes.

use alloc::string::String;
use core::fmt;
use core::ops::Range;

/// What a step reads or writes: a buffer, or some positions of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// The buffer.
    pub buffer: String,
    /// The positions, none of them where it is the whole buffer.
    pub positions: Option<Range<u64>>,
}

impl Operand {
    /// The whole buffer of that name.
    pub fn whole(buffer: impl Into<String>) -> Self {
        Self { buffer: buffer.into(), positions: None }
    }

    /// Some positions of the buffer of that name.
    pub fn view(buffer: impl Into<String>, positions: Range<u64>) -> Self {
        Self { buffer: buffer.into(), positions: Some(positions) }
    }
}

impl fmt::Display for Operand {
    /// As a plan writes it: `y`, `y[2..4]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.buffer)?;
        match &self.positions {
            None => Ok(()),
            Some(positions) => write!(f, "[{}..{}]", positions.start, positions.end),
        }
    }
}
