//! A label of which everything is known.

use core::fmt;

use rankwise_model::{Dtype, Extent, GroupSize, OperationKind};

use super::{Figure, Impossible, Label, Meaning, Missing, Number, Reading};
use crate::amount::{Amount, ElemCount};

/// An operation at a size: what two labels must be before they are compared.
///
/// Equal means: the same operation over as many ranks with the same count of the
/// same elements, whichever of its figures the labels named. It does not mean the
/// same values, the same reduction or root, the same devices or the same speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Settled {
    operation: OperationKind,
    ranks: GroupSize,
    count: Amount,
    longest: Amount,
}

/// Why a label cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsettled {
    /// Something is not said.
    Missing {
        /// The number that is to be compared.
        number: Number,
        /// What is not said about it.
        missing: Missing,
    },
    /// What is said cannot be.
    Impossible(Impossible),
}

impl Label {
    /// The figure to compare, if operation, meaning, ranks and element type are known.
    ///
    /// ```
    /// use rankwise_account::{Label, Part};
    ///
    /// let label = Label::parse("16 B recv i32")?;
    /// assert_eq!(label.missing().parts().collect::<Vec<_>>(), [Part::Operation, Part::Ranks]);
    /// assert_eq!(
    ///     label.settle().unwrap_err().to_string(),
    ///     "16 B cannot be compared: missing the operation, the number of ranks",
    /// );
    /// # Ok::<(), rankwise_account::LabelError>(())
    /// ```
    pub fn settle(&self) -> Result<Settled, Unsettled> {
        let missing = self.missing();
        let unsettled = Unsettled::Missing { number: self.number, missing };
        let (Some(operation), Some(ranks), Some(dtype)) = (self.operation, self.ranks, self.dtype)
        else {
            return Err(unsettled);
        };
        if !missing.is_empty() {
            return Err(unsettled);
        }
        // Where the meaning need not be said, every one has the same length.
        let extent = self.meaning.unwrap_or(Meaning::Count).extent(operation);
        let reading = Reading::new(*self, operation, extent);
        reading.possible().map_err(Unsettled::Impossible)?;
        let amount = |elements: Figure| match elements {
            Figure::Elements(elements) => Amount::new(elements, dtype).ok(),
            Figure::Bytes(_) | Figure::Formula(_) => None,
        };
        let longest = reading.elements(Meaning::Size.extent(operation));
        let count = amount(reading.count().map_err(Unsettled::Impossible)?);
        let longest = amount(longest.map_err(Unsettled::Impossible)?);
        // Nothing is unknown and nothing overflows, as shown above.
        let (Some(count), Some(longest)) = (count, longest) else { return Err(unsettled) };
        Ok(Settled { operation, ranks, count, longest })
    }
}

impl Settled {
    /// The operation.
    pub const fn operation(&self) -> OperationKind {
        self.operation
    }

    /// The number of ranks.
    pub const fn ranks(&self) -> GroupSize {
        self.ranks
    }

    /// The element type.
    pub const fn dtype(&self) -> Dtype {
        self.count.dtype()
    }

    /// The count argument.
    pub const fn count(&self) -> ElemCount {
        self.count.elements()
    }

    /// Any figure of the operation, on a rank that has it.
    ///
    /// ```
    /// use rankwise_account::{Label, Meaning};
    ///
    /// let settled = Label::parse("reduce_scatter count 2 el n=2 i32")?.settle()?;
    /// assert_eq!(settled.figure(Meaning::Input).to_string(), "4 elements i32, 16 B");
    /// assert_eq!(settled.figure(Meaning::Output).to_string(), "2 elements i32, 8 B");
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn figure(&self, meaning: Meaning) -> Amount {
        if meaning.extent(self.operation) == Extent::Count { self.count } else { self.longest }
    }
}

impl fmt::Display for Settled {
    /// `all_gather over 2 ranks, count 2 elements i32, 8 B: in 8 B, out 16 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} over {} ranks, count {}: in {}, out {}",
            self.operation,
            self.ranks,
            self.count,
            self.figure(Meaning::Input).bytes(),
            self.figure(Meaning::Output).bytes(),
        )
    }
}

impl fmt::Display for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { number, missing } => {
                write!(f, "{number} cannot be compared: missing {missing}")
            }
            Self::Impossible(why) => why.fmt(f),
        }
    }
}

impl core::error::Error for Unsettled {}
