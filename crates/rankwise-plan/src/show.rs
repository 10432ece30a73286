//! Terms as people write them: `2·x@A[3] + 2·x@B[3]`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use num_traits::{One, Signed};
use rankwise_model::Combine;

use crate::form::{Form, FormId, Multiplicity, PlacedForm, nearest};
use crate::term::{Constant, InputId, Origin, Placed, Terms};
use crate::vector::{Content, Gap, Run};

/// More parts than this of one fold are cut in the middle.
const PARTS_SHOWN: usize = 6;

/// Folds nested deeper than this are not written out.
const LEVELS_SHOWN: u32 = 4;

impl fmt::Display for Origin {
    /// `A`, or `rank1`; a device name that is no plain word stands in quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rank(rank) => write!(f, "rank{rank}"),
            Self::Device(name) if is_word(name) => f.write_str(name),
            Self::Device(name) => write!(f, "\"{name}\""),
        }
    }
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::OnRootOnly { step }
        | Self::Clobbered { step }
        | Self::NeverRan { step }
        | Self::Unwritten { step }
        | Self::ReadsGap { step }) = self;
        match self {
            Self::OnRootOnly { .. } => {
                write!(f, "not promised: step {step} fills it on the root only")
            }
            Self::Clobbered { .. } => {
                write!(f, "not promised: step {step}, in place, keeps only the rank's own block")
            }
            Self::NeverRan { .. } => {
                write!(f, "nothing: step {step} never completes, see the reports")
            }
            Self::Unwritten { .. } => {
                write!(f, "never written: step {step} allocated it")
            }
            Self::ReadsGap { .. } => {
                write!(f, "not promised: step {step} read what nothing promises")
            }
        }
    }
}

impl Terms {
    /// A run of positions as people write it.
    pub fn show_run(&self, run: &Run) -> String {
        match run.content {
            Content::Term(placed) => {
                let shown = self.show(placed, run.count());
                match self.constant_of(placed.term) {
                    Some((_, Constant::Padding)) => format!("{shown} (padding)"),
                    _ => shown,
                }
            }
            Content::Gap(gap) => format!("({gap})"),
        }
    }

    /// `count` consecutive positions of a term, in normal form.
    pub fn show(&self, placed: Placed, count: u64) -> String {
        match self.forms().of(placed) {
            Some(form) => self.show_form(form, count),
            None => "(a term of another evaluation)".to_string(),
        }
    }

    /// `count` consecutive positions of a normal form.
    pub fn show_form(&self, placed: PlacedForm, count: u64) -> String {
        self.show_levels(placed, count, LEVELS_SHOWN)
    }

    fn show_levels(&self, placed: PlacedForm, count: u64, levels: u32) -> String {
        let PlacedForm { form, at } = placed;
        let deeper = |placed: PlacedForm| match levels.checked_sub(1) {
            Some(levels) => self.show_levels(placed, count, levels),
            None => "…".to_string(),
        };
        let part = |part: &PlacedForm| deeper(self.forms().shifted(*part, at));
        let inner = |form: FormId| deeper(PlacedForm { form, at });
        match self.forms().get(form) {
            None => "(a term of another evaluation)".to_string(),
            Some(Form::Atom { input, origin }) => self.show_atom(*input, origin, at, count),
            Some(Form::Sum { parts, .. }) if parts.is_empty() => "0".to_string(),
            Some(Form::One(_)) => "1".to_string(),
            Some(Form::Sum { parts, dtype }) => {
                let parts = parts.in_order();
                joined(parts.into_iter(), " + ", |(inner, times)| {
                    match (self.forms().get(inner.form), nearest(*dtype, times)) {
                        (Some(Form::One(_)), Some(constant)) => constant.to_string(),
                        _ => multiple(times, &part(&inner)),
                    }
                })
            }
            Some(Form::Prod(parts)) => joined(parts.iter(), "·", |(inner, power)| {
                let text = self.bracketed(*inner, part(inner));
                if power.is_one() { text } else { format!("{text}^{power}") }
            }),
            Some(Form::Extreme { how, parts }) => {
                let name = how.reduction().name();
                format!("{name}({})", joined(parts.iter(), ", ", part))
            }
            Some(Form::Divided { form, by }) => format!("div_trunc({}, {by})", inner(*form)),
            Some(Form::Cast { form, to }) => format!("cast({}, {to})", inner(*form)),
            Some(Form::Times { form, by }) => match self.forms().get(*form) {
                Some(Form::One(_)) => by.to_string(),
                _ => format!("{by}·{}", inner(*form)),
            },
            Some(Form::Unnamed { parts, .. }) => {
                format!("unnamed_reduction({})", joined(parts.iter(), ", ", part))
            }
        }
    }

    fn show_atom(&self, input: InputId, origin: &Origin, at: u64, count: u64) -> String {
        let name = self.identity(input).map_or("?", |identity| identity.name.as_str());
        match count {
            1 => format!("{name}@{origin}[{at}]"),
            _ => format!("{name}@{origin}[{at}..{}]", at.saturating_add(count)),
        }
    }

    fn bracketed(&self, part: PlacedForm, text: String) -> String {
        match self.forms().get(part.form) {
            Some(Form::Sum { .. }) => format!("({text})"),
            _ => text,
        }
    }
}

/// `3·x`, `1/2·x`, `-x`.
pub(crate) fn multiple(times: &Multiplicity, text: &str) -> String {
    if times.is_one() {
        text.to_string()
    } else if (-times).is_one() && times.is_negative() {
        format!("-{text}")
    } else {
        format!("{times}·{text}")
    }
}

/// The parts with a separator; too many are cut in the middle, and counted. Only the
/// parts that are shown are written.
fn joined<T>(
    parts: impl ExactSizeIterator<Item = T> + DoubleEndedIterator,
    separator: &str,
    mut write: impl FnMut(T) -> String,
) -> String {
    let count = parts.len();
    if count <= PARTS_SHOWN {
        return parts.map(write).collect::<Vec<_>>().join(separator);
    }
    let mut parts = parts;
    let mut shown: Vec<String> = parts.by_ref().take(3).map(&mut write).collect();
    shown.push("…".to_string());
    shown.extend(parts.next_back().map(&mut write));
    format!("{} ({count} parts)", shown.join(separator))
}

/// The reduction of a fold, as evidence names it.
pub(crate) fn fold_name(how: Combine) -> &'static str {
    how.reduction().name()
}
