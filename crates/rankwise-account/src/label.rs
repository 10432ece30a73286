//! Labels: a number and a unit, and what is said about it.
//!
//! `16 B` fits every collective. A [`Label`] holds what a text says and nothing
//! else; [`Label::readings`] is everything it may mean, [`Label::missing`] what
//! would decide, and [`Label::settle`] the figure that can be compared.
//!
//! A label is read **per rank**. A sum over ranks is another figure
//! ([`PerRole::total_output`](crate::PerRole::total_output)).

use core::fmt;

use rankwise_model::{Dtype, Extent, GroupSize, OperationKind};

use crate::amount::{ByteCount, ElemCount};

mod parse;
mod reading;
mod settled;

pub use parse::{Excerpt, Expected, LabelError};
pub use reading::{FORMULA_LEGEND, Factor, Figure, Formula, Impossible, Reading, Side};
pub use settled::{Settled, Unsettled};

/// A number with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// So many elements, of whatever type.
    Elements(ElemCount),
    /// So many bytes, of whatever elements.
    Bytes(ByteCount),
}

/// Which of an operation's figures a number names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Meaning {
    /// What one rank hands in (`send`).
    Input,
    /// What one rank is left with (`recv`).
    Output,
    /// The count argument of the call (times the element size, if in bytes).
    Count,
    /// The `size` column of nccl-tests: the longer of input and output of one rank.
    Size,
}

/// A part of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The number and its unit.
    Number,
    /// The operation.
    Operation,
    /// What of the operation the number names.
    Meaning,
    /// The number of ranks.
    Ranks,
    /// The element type.
    Dtype,
}

/// What a text says about a number. **Not comparable**: see [`settle`](Self::settle).
///
/// ```compile_fail,E0369
/// # use rankwise_account::Label;
/// let (a, b) = (Label::parse("16 B")?, Label::parse("16 B")?);
/// a == b; // of what?
/// # Ok::<(), rankwise_account::LabelError>(())
/// ```
/// ```
/// # use rankwise_account::Label;
/// let a = Label::parse("all_gather 16 B out n=2 i32")?.settle()?;
/// let b = Label::parse("2 elements i32 all_gather count n=2")?.settle()?;
/// assert!(a == b);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Label {
    number: Number,
    operation: Option<OperationKind>,
    meaning: Option<Meaning>,
    ranks: Option<GroupSize>,
    dtype: Option<Dtype>,
}

impl Label {
    /// A number of which nothing is known.
    pub const fn bare(number: Number) -> Self {
        Self { number, operation: None, meaning: None, ranks: None, dtype: None }
    }

    /// The same label with its operation known.
    #[must_use]
    pub const fn of(self, operation: OperationKind) -> Self {
        Self { operation: Some(operation), ..self }
    }

    /// The same label with its meaning known.
    #[must_use]
    pub const fn naming(self, meaning: Meaning) -> Self {
        Self { meaning: Some(meaning), ..self }
    }

    /// The same label with its group size known.
    #[must_use]
    pub const fn over(self, ranks: GroupSize) -> Self {
        Self { ranks: Some(ranks), ..self }
    }

    /// The same label with its element type known.
    #[must_use]
    pub const fn typed(self, dtype: Dtype) -> Self {
        Self { dtype: Some(dtype), ..self }
    }

    /// The number.
    pub const fn number(&self) -> Number {
        self.number
    }

    /// The operation, if said.
    pub const fn operation(&self) -> Option<OperationKind> {
        self.operation
    }

    /// What the number names, if said.
    pub const fn meaning(&self) -> Option<Meaning> {
        self.meaning
    }

    /// The number of ranks, if said.
    pub const fn ranks(&self) -> Option<GroupSize> {
        self.ranks
    }

    /// The element type, if said.
    pub const fn dtype(&self) -> Option<Dtype> {
        self.dtype
    }

    /// What must be known before this label can be compared with another.
    ///
    /// The meaning of the number is not missing where every meaning comes to the
    /// same length: all four figures of an all-reduce are one vector.
    pub fn missing(&self) -> Missing {
        let one_length = self.operation.is_some_and(|operation| {
            Meaning::ALL.into_iter().all(|meaning| meaning.extent(operation) == Extent::Count)
        });
        Missing {
            parts: [
                (self.operation.is_none(), Part::Operation),
                (self.meaning.is_none() && !one_length, Part::Meaning),
                (self.ranks.is_none(), Part::Ranks),
                (self.dtype.is_none(), Part::Dtype),
            ]
            .map(|(missing, part)| missing.then_some(part)),
        }
    }

    /// Every reading that agrees with what is said, possible or not: operation by
    /// operation in the order of the table, shorter buffers first.
    ///
    /// Meanings that come to the same length are one reading.
    ///
    /// ```
    /// use rankwise_account::{Label, Meaning};
    ///
    /// let label = Label::parse("all_gather 16 B n=2 i32")?;
    /// let text: Vec<_> = label
    ///     .readings()
    ///     .map(|reading| (reading.names(Meaning::Output), reading.output_bytes().unwrap().to_string()))
    ///     .collect();
    /// // 16 B is the contribution (and the output is twice that), or it is the output.
    /// assert_eq!(text, [(false, "32 B".to_owned()), (true, "16 B".to_owned())]);
    /// assert_eq!(Label::parse("16 B")?.readings().count(), 14);
    /// # Ok::<(), rankwise_account::LabelError>(())
    /// ```
    pub fn readings(&self) -> impl Iterator<Item = Reading> + use<> {
        let label = *self;
        OperationKind::ALL
            .into_iter()
            .filter(move |operation| label.operation.is_none_or(|said| said == *operation))
            .flat_map(move |operation| {
                [Extent::Count, Extent::CountPerRank]
                    .into_iter()
                    .map(move |extent| Reading::new(label, operation, extent))
            })
            .filter(move |reading| match label.meaning {
                Some(meaning) => reading.names(meaning),
                None => reading.meanings().next().is_some(),
            })
    }
}

impl Meaning {
    /// Every meaning.
    pub const ALL: [Self; 4] = [Self::Input, Self::Output, Self::Count, Self::Size];

    /// How long the thing is that this names, from the operation's row.
    pub fn extent(self, operation: OperationKind) -> Extent {
        let row = operation.row();
        match self {
            Self::Input => row.input,
            Self::Count => Extent::Count,
            Self::Size if row.input == Extent::CountPerRank => row.input,
            Self::Output | Self::Size => row.output,
        }
    }

    /// The word in a label.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Input => "in",
            Self::Output => "out",
            Self::Count => "count",
            Self::Size => "size",
        }
    }
}

/// The parts that a label lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Missing {
    parts: [Option<Part>; 4],
}

impl Missing {
    /// The parts, in the order in which to settle them.
    pub fn parts(&self) -> impl Iterator<Item = Part> + use<> {
        self.parts.into_iter().flatten()
    }

    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.parts().next().is_none()
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            part.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Number => "the number",
            Self::Operation => "the operation",
            Self::Meaning => "whether it is input, output, count or size",
            Self::Ranks => "the number of ranks",
            Self::Dtype => "the element type",
        })
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::Count => "count argument",
            Self::Size => "nccl-tests size",
        })
    }
}

impl fmt::Display for Number {
    /// Exactly, as a label writes it: `16 B`, `4 elements`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elements(elements) => elements.fmt(f),
            Self::Bytes(bytes) => write!(f, "{bytes:#}"),
        }
    }
}

impl fmt::Display for Label {
    /// In one fixed order, and so that [`Label::parse`] reads it back:
    /// `all_gather 16 B out n=2 i32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = self.operation {
            write!(f, "{operation} ")?;
        }
        self.number.fmt(f)?;
        if let Some(meaning) = self.meaning {
            write!(f, " {}", meaning.word())?;
        }
        if let Some(ranks) = self.ranks {
            write!(f, " n={ranks}")?;
        }
        if let Some(dtype) = self.dtype {
            write!(f, " {dtype}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
