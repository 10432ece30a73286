//! One thing that a label may mean, worked out.

use core::fmt;

use rankwise_model::operation::Holders;
use rankwise_model::{Dtype, Extent, GroupSize, OperationKind};

use super::{Label, Meaning, Number};
use crate::amount::{ByteCount, ElemCount};
use crate::ratio::Ratio;

/// What the letters of a [`Formula`] and a [`Factor`] stand for.
pub const FORMULA_LEGEND: &str = "n: ranks in the group; e: bytes per element";

/// Input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// What a rank hands in.
    Input,
    /// What a rank is left with.
    Output,
}

/// A label taken as one operation's count or as `n` counts of it.
///
/// Its figures hold on the ranks that have the side at all:
/// [`input_on`](Self::input_on) and [`output_on`](Self::output_on).
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    label: Label,
    operation: OperationKind,
    extent: Extent,
}

/// Why a reading cannot be meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Impossible {
    /// The number is not a whole number of what it would have to be made of.
    NotDivisible {
        /// The operation of the reading.
        operation: OperationKind,
        /// The number.
        number: Number,
        /// One block per rank.
        ranks: Option<GroupSize>,
        /// Whole elements.
        dtype: Option<Dtype>,
        /// What is left over.
        remainder: u64,
    },
    /// Some length of the call does not fit in 64 bits.
    Overflow {
        /// The operation of the reading.
        operation: OperationKind,
        /// The number.
        number: Number,
        /// Times so many ranks.
        ranks: Option<GroupSize>,
        /// Times the size of such an element.
        dtype: Option<Dtype>,
    },
}

/// A figure of a reading: a number, or what is left to fill in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Figure {
    /// So many elements.
    Elements(ElemCount),
    /// So many bytes.
    Bytes(ByteCount),
    /// A number yet to be multiplied or divided by what the label lacks.
    Formula(Formula),
}

/// `number · n^ranks · e^element`, with exponents −1, 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Formula {
    /// The known part. Its unit times that of the powers is the figure's: bytes
    /// divided by bytes per element are elements.
    pub number: Number,
    /// The exponent of the number of ranks.
    pub ranks: i8,
    /// The exponent of the bytes per element.
    pub element: i8,
}

/// How many times as much one reading is than another: a power of `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Factor {
    ranks: i8,
}

/// 1 for one block per rank, 0 for one.
const fn blocks(extent: Extent) -> i8 {
    match extent {
        Extent::Count => 0,
        Extent::CountPerRank => 1,
    }
}

impl Reading {
    pub(super) const fn new(label: Label, operation: OperationKind, extent: Extent) -> Self {
        Self { label, operation, extent }
    }

    /// The operation.
    pub const fn operation(&self) -> OperationKind {
        self.operation
    }

    /// The length that the number is taken for: the count, or `n` times that.
    pub const fn extent(&self) -> Extent {
        self.extent
    }

    /// Everything of the operation that has this length.
    pub fn meanings(&self) -> impl Iterator<Item = Meaning> + use<> {
        let reading = *self;
        Meaning::ALL.into_iter().filter(move |meaning| reading.names(*meaning))
    }

    /// Whether the number is taken for `meaning`, too.
    pub fn names(&self, meaning: Meaning) -> bool {
        meaning.extent(self.operation) == self.extent
    }

    /// Which ranks have an input.
    pub const fn input_on(&self) -> Holders {
        self.operation.row().input_on
    }

    /// Which ranks have an output.
    pub const fn output_on(&self) -> Holders {
        self.operation.row().output_on
    }

    /// The count argument of the call, in elements.
    pub fn count(&self) -> Result<Figure, Impossible> {
        self.elements(Extent::Count)
    }

    /// The input of one rank that has one, in elements.
    pub fn input_elements(&self) -> Result<Figure, Impossible> {
        self.elements(self.length_of(Side::Input))
    }

    /// The input of one rank that has one, in bytes.
    pub fn input_bytes(&self) -> Result<Figure, Impossible> {
        self.bytes(self.length_of(Side::Input))
    }

    /// The output of one rank that has one, in elements.
    pub fn output_elements(&self) -> Result<Figure, Impossible> {
        self.elements(self.length_of(Side::Output))
    }

    /// The output of one rank that has one, in bytes.
    pub fn output_bytes(&self) -> Result<Figure, Impossible> {
        self.bytes(self.length_of(Side::Output))
    }

    /// Whether the number can be meant so, as far as is known.
    pub fn possible(&self) -> Result<(), Impossible> {
        self.count()?;
        for side in [Side::Input, Side::Output] {
            self.elements(self.length_of(side))?;
            self.bytes(self.length_of(side))?;
        }
        Ok(())
    }

    /// How many times as much this reading's `side` is as that of another reading of
    /// the same label.
    ///
    /// ```
    /// use rankwise_account::{Label, label::Side};
    ///
    /// let label = Label::parse("all_gather 16 B")?;
    /// let [as_input, as_output] = label.readings().collect::<Vec<_>>().try_into().unwrap();
    /// let factor = as_input.factor(&as_output, Side::Output);
    /// assert_eq!(factor.to_string(), "n"); // n × 16 B against 16 B
    /// # Ok::<(), rankwise_account::LabelError>(())
    /// ```
    pub fn factor(&self, other: &Self, side: Side) -> Factor {
        let power =
            |reading: &Self| blocks(reading.length_of(side)).saturating_sub(blocks(reading.extent));
        Factor { ranks: power(self).saturating_sub(power(other)) }
    }

    fn length_of(&self, side: Side) -> Extent {
        match side {
            Side::Input => Meaning::Input.extent(self.operation),
            Side::Output => Meaning::Output.extent(self.operation),
        }
    }

    /// The label's number, and the exponent of the element size in it.
    const fn number(&self) -> (u64, i8) {
        match self.label.number {
            Number::Elements(elements) => (elements.get(), 0),
            Number::Bytes(bytes) => (bytes.get(), 1),
        }
    }

    /// That the count argument is a whole number, as far as is known.
    fn divisible(&self) -> Result<(), Impossible> {
        let (number, in_bytes) = self.number();
        let ranks = self.label.ranks.filter(|_| blocks(self.extent) == 1);
        let dtype = self.label.dtype.filter(|_| in_bytes == 1);
        let one = u128::from(ranks.map_or(1, GroupSize::get))
            .saturating_mul(u128::from(dtype.map_or(1, Dtype::bytes))); // < 2^36
        match u128::from(number).checked_rem(one).map(u64::try_from) {
            Some(Ok(0)) | None => Ok(()),
            Some(remainder) => Err(Impossible::NotDivisible {
                operation: self.operation,
                number: self.label.number,
                ranks,
                dtype,
                remainder: remainder.unwrap_or(number), // a remainder of a u64 is one
            }),
        }
    }

    pub(super) fn elements(&self, extent: Extent) -> Result<Figure, Impossible> {
        self.figure(extent, 0, |number| Figure::Elements(ElemCount::new(number)))
    }

    fn bytes(&self, extent: Extent) -> Result<Figure, Impossible> {
        self.figure(extent, 1, |number| Figure::Bytes(ByteCount::new(number)))
    }

    /// `count · n^(1 if extent is per rank) · e^in_bytes`, with the count taken from
    /// the label: `number / n^(1 if the label is per rank) / e^(1 if in bytes)`.
    fn figure(
        &self,
        extent: Extent,
        in_bytes: i8,
        known: impl Fn(u64) -> Figure,
    ) -> Result<Figure, Impossible> {
        self.divisible()?;
        let (number, label_in_bytes) = self.number();
        let ranks = blocks(extent).saturating_sub(blocks(self.extent));
        let element = in_bytes.saturating_sub(label_in_bytes);
        let parts = [
            (ranks, self.label.ranks.map(|ranks| u64::from(ranks.get()))),
            (element, self.label.dtype.map(Dtype::bytes)),
        ];
        // Divided first, which leaves nothing over, and multiplied then.
        let divided = parts.into_iter().try_fold(number, |number, part| match part {
            (-1, Some(by)) => number.checked_div(by),
            _ => Some(number),
        });
        let value = parts.into_iter().fold(divided, |number, part| match part {
            (1, Some(by)) => number?.checked_mul(by),
            _ => number,
        });
        let value = value.ok_or(Impossible::Overflow {
            operation: self.operation,
            number: self.label.number,
            ranks: self.label.ranks.filter(|_| ranks == 1),
            dtype: self.label.dtype.filter(|_| element == 1),
        })?;
        let left = |power, known: bool| if known { 0 } else { power };
        let element = left(element, self.label.dtype.is_some());
        // In the unit asked for, unless the element size is still to be filled in.
        let number_in_bytes = if element == 0 { in_bytes } else { label_in_bytes };
        let formula = Formula {
            number: if number_in_bytes == 1 {
                Number::Bytes(ByteCount::new(value))
            } else {
                Number::Elements(ElemCount::new(value))
            },
            ranks: left(ranks, self.label.ranks.is_some()),
            element,
        };
        Ok(if formula.ranks == 0 && formula.element == 0 {
            known(value)
        } else {
            Figure::Formula(formula)
        })
    }
}

impl Factor {
    /// The exponent of the number of ranks, from −2 to 2.
    pub const fn exponent(self) -> i8 {
        self.ranks
    }

    /// The factor over so many ranks.
    pub fn over(self, ranks: GroupSize) -> Ratio {
        let power = u128::from(ranks.get()).saturating_pow(u32::from(self.ranks.unsigned_abs()));
        let ratio = if self.ranks < 0 { Ratio::new(1, power) } else { Ratio::new(power, 1) };
        ratio.unwrap_or(Ratio::ONE) // a group is never empty
    }
}

impl fmt::Display for Factor {
    /// `1`, `n`, `n²`, `1/n` or `1/n²`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self.ranks {
            i8::MIN..=-2 => "1/n²",
            -1 => "1/n",
            0 => "1",
            1 => "n",
            2..=i8::MAX => "n²",
        })
    }
}

impl fmt::Display for Formula {
    /// `n × 16 B`, `16 B / n`, `n × 4 elements × e`, `16 B / (n · e)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ranks > 0 {
            f.write_str("n × ")?;
        }
        self.number.fmt(f)?;
        if self.element > 0 {
            f.write_str(" × e")?;
        }
        f.write_str(match (self.ranks < 0, self.element < 0) {
            (true, true) => " / (n · e)",
            (true, false) => " / n",
            (false, true) => " / e",
            (false, false) => "",
        })
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elements(elements) => elements.fmt(f),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Formula(formula) => formula.fmt(f),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Input => "input",
            Self::Output => "output",
        })
    }
}

/// `3 ranks × 4 B (i32)`, whichever is there.
fn write_made_of(
    f: &mut fmt::Formatter<'_>,
    ranks: Option<GroupSize>,
    dtype: Option<Dtype>,
) -> fmt::Result {
    if let Some(ranks) = ranks {
        write!(f, "{ranks} ranks")?;
    }
    if ranks.is_some() && dtype.is_some() {
        f.write_str(" × ")?;
    }
    if let Some(dtype) = dtype {
        write!(f, "{} B ({dtype})", dtype.bytes())?;
    }
    Ok(())
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotDivisible { operation, number, ranks, dtype, remainder } => {
                write!(f, "{operation}: {number} does not divide by ")?;
                write_made_of(f, ranks, dtype)?;
                write!(f, ", {remainder} left over")
            }
            Self::Overflow { operation, number, ranks, dtype } => {
                write!(f, "{operation}: {number} × ")?;
                write_made_of(f, ranks, dtype)?;
                f.write_str(" does not fit in 64 bits")
            }
        }
    }
}

impl core::error::Error for Impossible {}
