//! Buffers: what a call reads and writes on its rank.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use rankwise_model::RankLayout;

/// Positions of a buffer of one rank, in elements of the call that names them.
///
/// ```
/// use rankwise_program::program::View;
///
/// let view: View = "grad[2..4]".parse().unwrap();
/// assert_eq!((&*view.buffer, view.start, view.end), ("grad", 2, 4));
/// let whole: View = "grad".parse().unwrap();
/// assert!(whole.is_whole());
/// assert!("grad[4..2]".parse::<View>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct View {
    /// The buffer's name; every rank has its own of that name.
    pub buffer: Arc<str>,
    /// The first position.
    pub start: u64,
    /// The position behind the last; `u64::MAX` for all there are.
    pub end: u64,
}

impl View {
    /// All of a buffer, however long it is.
    pub fn whole(buffer: impl Into<Arc<str>>) -> Self {
        Self { buffer: buffer.into(), start: 0, end: u64::MAX }
    }

    /// Whether it is all of a buffer.
    pub fn is_whole(&self) -> bool {
        (self.start, self.end) == (0, u64::MAX)
    }

    /// How many positions it has.
    pub fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether it has no position.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// That a text is no view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoView(
    /// The text.
    pub String,
);

impl core::str::FromStr for View {
    type Err = NoView;

    fn from_str(text: &str) -> Result<Self, NoView> {
        let no_view = || NoView(text.into());
        let (buffer, range) = match text.split_once('[') {
            None => (text, None),
            Some((buffer, range)) => {
                let range = range.strip_suffix(']').and_then(|range| range.split_once(".."));
                (buffer, Some(range.ok_or_else(no_view)?))
            }
        };
        if buffer.trim().is_empty() || buffer.contains([']', '[']) {
            return Err(no_view());
        }
        let Some((start, end)) = range else { return Ok(Self::whole(buffer)) };
        let number = |word: &str| word.trim().parse::<u64>().map_err(|_| no_view());
        let (start, end) = (number(start)?, number(end)?);
        if start > end || end == u64::MAX {
            return Err(no_view());
        }
        Ok(Self { buffer: buffer.into(), start, end })
    }
}

impl fmt::Display for NoView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no view; one is `x`, or `x[2..4]` for its positions 2 and 3", self.0)
    }
}

impl core::error::Error for NoView {}

impl fmt::Display for View {
    /// `grad[2..4]`, and `grad` for all of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.buffer)?;
        if self.is_whole() { Ok(()) } else { write!(f, "[{}..{}]", self.start, self.end) }
    }
}

/// What a call reads and what it writes. Each is a list of views whose positions follow
/// each other, most often of one: an all-gather into a list of tensors writes several.
///
/// Empty where a program does not say: then nothing is found out about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Buffers {
    /// What is read.
    pub reads: Vec<View>,
    /// What is written.
    pub writes: Vec<View>,
}

impl Buffers {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }

    /// Whether the output lies on the input as the operation allows it: both are one
    /// view of one buffer, and their distance is that of the in-place relation.
    pub fn is_in_place(&self, layout: &RankLayout) -> bool {
        let ([read], [write]) = (self.reads.as_slice(), self.writes.as_slice()) else {
            return false;
        };
        let Some(relation) = layout.in_place() else { return false };
        let base = |view: &View, of: &core::ops::Range<u64>| view.start.checked_sub(of.start);
        let bases = base(read, &relation.input).zip(base(write, &relation.output));
        read.buffer == write.buffer && bases.is_some_and(|(one, other)| one == other)
    }
}
