//! Reading a label from text.

use core::fmt;

use rankwise_model::{Dtype, GroupSize, OperationKind};

use super::{Label, Meaning, Number, Part};
use crate::amount::{ByteCount, ElemCount};
use crate::decimal::{Decimal, DecimalError, ScaleError};
use crate::unit::ByteUnit;

/// A text that is no label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelError {
    /// The byte of the text where it was found.
    pub at: usize,
    /// What was found; empty at the end of the text.
    pub found: Excerpt,
    /// What was expected there.
    pub expected: Expected,
}

/// What a label should have had in some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// A number and its unit, somewhere in the text.
    Number,
    /// Any part of a label.
    APart,
    /// Digits, with `_` and one `.` between them.
    Digits,
    /// A unit right after the number.
    Unit,
    /// A unit that means one thing: `K`, `M`, `G` and `KB` are 1024-based to some
    /// and 1000-based to others.
    UnambiguousUnit,
    /// A number before this unit.
    NumberBeforeUnit,
    /// A number that is whole in bytes, or in elements.
    Whole,
    /// A number that fits in 64 bits.
    Smaller,
    /// `n=` with a number of ranks from 1.
    Ranks,
    /// The end of the text or another part: this one is there already.
    Once {
        /// The part.
        part: Part,
        /// The byte where it is said first.
        first: usize,
    },
}

/// The beginning of what was found, for a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Excerpt {
    bytes: [u8; Self::MOST],
    kept: usize,
    cut: bool,
}

impl Excerpt {
    const MOST: usize = 32;

    fn of(text: &str) -> Self {
        let kept = text
            .char_indices()
            .map(|(at, letter)| at.saturating_add(letter.len_utf8()))
            .take_while(|end| *end <= Self::MOST)
            .last()
            .unwrap_or_default();
        let mut bytes = [0; Self::MOST];
        for (to, from) in bytes.iter_mut().zip(text.bytes().take(kept)) {
            *to = from;
        }
        Self { bytes, kept, cut: kept < text.len() }
    }

    /// What is kept of it.
    pub fn as_str(&self) -> &str {
        self.bytes.get(..self.kept).and_then(|kept| core::str::from_utf8(kept).ok()).unwrap_or("")
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{}", self.as_str(), if self.cut { "…" } else { "" })
    }
}

impl fmt::Display for LabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: found ", self.at)?;
        if self.found.kept == 0 && !self.found.cut {
            f.write_str("the end")?;
        } else {
            write!(f, "{:?}", self.found)?;
        }
        write!(f, ", expected {}", self.expected)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number => f.write_str("a number with its unit, such as 16 B or 4 elements"),
            Self::APart => f.write_str(
                "a number with its unit, an operation, one of send recv in out count size, \
                 n=N, or an element type",
            ),
            Self::Digits => {
                f.write_str("a number of digits, with _ and one . between them and no comma")
            }
            Self::Unit => {
                f.write_str("a unit after the number: elements")?;
                ByteUnit::ALL.into_iter().try_for_each(|unit| write!(f, ", {unit}"))
            }
            Self::UnambiguousUnit => f.write_str(
                "a unit that means one thing: KiB, MiB, GiB (1024-based, as the K, M, G of \
                 nccl-tests) or kB, MB, GB (1000-based)",
            ),
            Self::NumberBeforeUnit => f.write_str("a number before the unit"),
            Self::Whole => f.write_str("a whole number of bytes or elements"),
            Self::Smaller => f.write_str("a number that fits in 64 bits"),
            Self::Ranks => write!(f, "n= with 1 to {} ranks", u32::MAX),
            Self::Once { part, first } => {
                write!(f, "{part} only once (it is at byte {first} already)")
            }
        }
    }
}

impl core::error::Error for LabelError {}

/// A unit of either kind.
#[derive(Clone, Copy)]
enum Unit {
    Elements,
    Bytes(ByteUnit),
}

impl Unit {
    fn parse(word: &str) -> Option<Self> {
        if ["element", "elements", "elem", "elems", "el"].contains(&word) {
            Some(Self::Elements)
        } else if ["byte", "bytes"].contains(&word) {
            Some(Self::Bytes(ByteUnit::B))
        } else {
            ByteUnit::of_symbol(word).map(Self::Bytes)
        }
    }
}

/// Whether `word` is a unit to somebody, but not the same one to everybody.
fn is_ambiguous_unit(word: &str) -> bool {
    ["k", "m", "g", "t", "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib"]
        .into_iter()
        .any(|unit| unit.eq_ignore_ascii_case(word))
}

/// The words of a text with the byte where each starts.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0_usize;
    text.split(char::is_whitespace).filter_map(move |word| {
        let at = next;
        let after = text.get(at.saturating_add(word.len())..).unwrap_or_default();
        let blank = after.chars().next().map_or(0, char::len_utf8);
        next = at.saturating_add(word.len()).saturating_add(blank);
        (!word.is_empty()).then_some((at, word))
    })
}

/// A part that may be said once, and where it was.
struct Said<T> {
    part: Part,
    value: Option<(usize, T)>,
}

impl<T: Copy> Said<T> {
    const fn nothing(part: Part) -> Self {
        Self { part, value: None }
    }

    fn set(&mut self, at: usize, word: &str, value: T) -> Result<(), LabelError> {
        match self.value {
            Some((first, _)) => Err(error(at, word, Expected::Once { part: self.part, first })),
            None => {
                self.value = Some((at, value));
                Ok(())
            }
        }
    }

    fn get(&self) -> Option<T> {
        self.value.map(|(_, value)| value)
    }
}

fn error(at: usize, found: &str, expected: Expected) -> LabelError {
    LabelError { at, found: Excerpt::of(found), expected }
}

impl Label {
    /// Reads `[op] NUMBER UNIT [send|recv|in|out|count|size] [n=N] [TYPE]`, in any
    /// order, the unit glued to its number or not.
    ///
    /// Units are `B`, `KiB`, `MiB`, `GiB`, `TiB` (1024-based), `kB`, `MB`, `GB`,
    /// `TB` (1000-based) and `elements`; operations and element types go by any name
    /// that [`OperationKind`] and [`Dtype`] read. A part said twice is an error, even
    /// if both times say the same. The work is bounded by the length of the text.
    ///
    /// ```
    /// use rankwise_account::Label;
    ///
    /// let label = Label::parse("n=8 1.5MiB ncclAllGather recv float")?;
    /// assert_eq!(label.to_string(), "all_gather 1572864 B out n=8 f32");
    ///
    /// let error = Label::parse("16 B of i32").unwrap_err();
    /// assert_eq!((error.at, error.found.as_str()), (5, "of"));
    /// let error = Label::parse("1250M all_reduce").unwrap_err();
    /// assert!(error.to_string().starts_with("byte 4: found \"M\", expected a unit that means one"));
    /// # Ok::<(), rankwise_account::LabelError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, LabelError> {
        let mut number = Said::nothing(Part::Number);
        let mut operation = Said::nothing(Part::Operation);
        let mut meaning = Said::nothing(Part::Meaning);
        let mut ranks = Said::nothing(Part::Ranks);
        let mut dtype = Said::nothing(Part::Dtype);

        let mut words = words(text);
        while let Some((at, word)) = words.next() {
            if word.starts_with(|first: char| first.is_ascii_digit()) {
                let digits = word.bytes().take_while(|byte| !byte.is_ascii_alphabetic()).count();
                // The bytes before the first letter of the ASCII alphabet end on a boundary.
                let (digits, glued) = word.split_at_checked(digits).unwrap_or((word, ""));
                let (unit_at, unit) = if glued.is_empty() {
                    words.next().unwrap_or((text.len(), ""))
                } else {
                    (at.saturating_add(digits.len()), glued)
                };
                number.set(at, word, parse_number((at, digits), (unit_at, unit))?)?;
            } else if let Some(digits) = word.strip_prefix("n=") {
                let size = digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(digits);
                let size = size.and_then(|digits| digits.parse().ok()).and_then(GroupSize::new);
                ranks.set(at, word, size.ok_or_else(|| error(at, word, Expected::Ranks))?)?;
            } else if let Some(said) = parse_meaning(word) {
                meaning.set(at, word, said)?;
            } else if let Ok(said) = word.parse::<OperationKind>() {
                operation.set(at, word, said)?;
            } else if Unit::parse(word).is_some() {
                return Err(error(at, word, Expected::NumberBeforeUnit));
            } else if let Ok(said) = word.parse::<Dtype>() {
                dtype.set(at, word, said)?;
            } else {
                return Err(error(at, word, Expected::APart));
            }
        }
        Ok(Self {
            number: number.get().ok_or_else(|| error(text.len(), "", Expected::Number))?,
            operation: operation.get(),
            meaning: meaning.get(),
            ranks: ranks.get(),
            dtype: dtype.get(),
        })
    }
}

fn parse_meaning(word: &str) -> Option<Meaning> {
    match word {
        "send" | "in" | "input" => Some(Meaning::Input),
        "recv" | "out" | "output" => Some(Meaning::Output),
        "count" => Some(Meaning::Count),
        "size" => Some(Meaning::Size),
        _ => None,
    }
}

fn parse_number(
    (at, digits): (usize, &str),
    (unit_at, unit): (usize, &str),
) -> Result<Number, LabelError> {
    let value = Decimal::parse(digits).map_err(|why| match why {
        DecimalError::NotANumber => error(at, digits, Expected::Digits),
        DecimalError::TooLarge => error(at, digits, Expected::Smaller),
    })?;
    let scale = |unit| {
        value.times(unit).map_err(|why| match why {
            ScaleError::NotWhole => error(at, digits, Expected::Whole),
            ScaleError::TooLarge => error(at, digits, Expected::Smaller),
        })
    };
    match Unit::parse(unit) {
        Some(Unit::Elements) => scale(1).map(ElemCount::new).map(Number::Elements),
        Some(Unit::Bytes(unit)) => scale(unit.bytes()).map(ByteCount::new).map(Number::Bytes),
        None if is_ambiguous_unit(unit) => Err(error(unit_at, unit, Expected::UnambiguousUnit)),
        None => Err(error(unit_at, unit, Expected::Unit)),
    }
}
