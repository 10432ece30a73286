//! Wrongness by name: not "mismatch", but what it is.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use num_traits::{One, Zero};
use rankwise_model::{Combine, Dtype};

use crate::form::{Form, FormId, Forms, Multiplicity, PlacedForm};
use crate::show::{fold_name, multiple};
use crate::term::{InputId, Terms};
use crate::vector::{Content, Gap};

/// What is wrong with a value, compared with the one that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// No step wrote the buffer.
    NeverWritten,
    /// Nothing is promised of the position.
    NotPromised {
        /// Why.
        gap: Gap,
    },
    /// The buffer is of another length.
    Length {
        /// Its length in elements.
        found: u64,
        /// The length that is needed.
        needed: u64,
    },
    /// The element type differs, or a conversion came in between.
    ElementType {
        /// The type held.
        found: Dtype,
        /// The type needed.
        needed: Dtype,
    },
    /// It is made of another input, whatever its shape.
    OtherInput {
        /// The input it is made of, with its meaning.
        found: String,
        /// The input that is needed.
        needed: String,
    },
    /// The contributions are the right ones, combined by another reduction.
    OtherReduction {
        /// The reduction found.
        found: &'static str,
        /// The reduction needed.
        needed: &'static str,
    },
    /// One contribution where a fold of several is needed.
    Unreduced {
        /// The contribution.
        found: String,
    },
    /// The sum, where the average is needed.
    NotAveraged,
    /// The right value, a whole number of times.
    Repeated {
        /// How many times.
        times: String,
    },
    /// The right value times a factor.
    Scaled {
        /// The factor.
        by: String,
    },
    /// A contribution counts more than once.
    Duplicate {
        /// The contribution.
        part: String,
        /// How often it counts.
        times: String,
        /// How often it should.
        needed: String,
    },
    /// A contribution is not in it.
    Missing {
        /// The contribution.
        part: String,
    },
    /// A contribution is in it that should not be.
    Extra {
        /// The contribution.
        part: String,
    },
    /// The right kind of value from another position: another rank's block or shard.
    OutOfPlace {
        /// The position it is of.
        found: u64,
        /// The position that is needed.
        needed: u64,
    },
    /// The right position of another contributor.
    OtherOrigin {
        /// Whose it is.
        found: String,
        /// Whose is needed.
        needed: String,
    },
    /// More contributions differ than are listed.
    AndMore {
        /// How many more.
        contributions: usize,
    },
    /// The reduction that made it is not named.
    UnnamedReduction,
    /// Nothing is known to be wrong: no law that is applied makes the two equal, and
    /// no input was found for which they differ.
    NotProven,
    /// Another function of the inputs altogether.
    Different,
}

impl Wrong {
    /// The name used in machine output.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NeverWritten => "never_written",
            Self::NotPromised { .. } => "not_promised",
            Self::Length { .. } => "length",
            Self::ElementType { .. } => "element_type",
            Self::OtherInput { .. } => "other_input",
            Self::OtherReduction { .. } => "other_reduction",
            Self::Unreduced { .. } => "unreduced",
            Self::NotAveraged => "not_averaged",
            Self::Repeated { .. } => "repeated",
            Self::Scaled { .. } => "scaled",
            Self::Duplicate { .. } => "duplicate",
            Self::Missing { .. } => "missing",
            Self::Extra { .. } => "extra",
            Self::OutOfPlace { .. } => "out_of_place",
            Self::OtherOrigin { .. } => "other_origin",
            Self::AndMore { .. } => "and_more",
            Self::UnnamedReduction => "unnamed_reduction",
            Self::NotProven => "not_proven",
            Self::Different => "different",
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverWritten => f.write_str("never written"),
            Self::NotPromised { gap } => gap.fmt(f),
            Self::Length { found, needed } => write!(f, "{found} elements long, needs {needed}"),
            Self::ElementType { found, needed } => {
                write!(f, "computed in {found}, needed in {needed}")
            }
            Self::OtherInput { found, needed } => {
                write!(f, "made of {found}, needed of {needed}: equal shapes, other values")
            }
            Self::OtherReduction { found, needed } => write!(f, "{found} where {needed} is needed"),
            Self::Unreduced { found } => write!(f, "unreduced: {found} alone"),
            Self::NotAveraged => f.write_str("the sum, where the average is needed"),
            Self::Repeated { times } => write!(f, "repeated: {times} times what is needed"),
            Self::Scaled { by } => write!(f, "scaled: {by} times what is needed"),
            Self::Duplicate { part, times, needed } => {
                write!(f, "{part} counts {times} times, needed {needed}")
            }
            Self::Missing { part } => write!(f, "{part} is missing"),
            Self::Extra { part } => write!(f, "{part} is not needed here"),
            Self::OutOfPlace { found, needed } => {
                write!(f, "out of place: the value of position {found} where {needed} is needed")
            }
            Self::OtherOrigin { found, needed } => {
                write!(f, "the contribution of {found} where that of {needed} is needed")
            }
            Self::AndMore { contributions } => {
                write!(f, "and {contributions} more contributions differ")
            }
            Self::UnnamedReduction => f.write_str("the reduction that made it is not named"),
            Self::NotProven => f.write_str(NOT_PROVEN),
            Self::Different => f.write_str("another function of the inputs"),
        }
    }
}

/// What is said of forms that could not be told apart.
pub(crate) const NOT_PROVEN: &str = "not known to be equal: nested folds are compared as written, and no input was found for which they differ";

/// More differing contributions than this are not listed one by one.
const LISTED: usize = 4;

/// What is wrong with `found` where `needed` is needed, for `count` positions.
pub(crate) fn wrongs(terms: &Terms, found: Content, needed: Content, count: u64) -> Vec<Wrong> {
    let (found, needed) = match (found, needed) {
        (Content::Gap(gap), _) => return alloc::vec![Wrong::NotPromised { gap }],
        (Content::Term(found), Content::Term(needed)) => (found, needed),
        _ => return alloc::vec![Wrong::Different],
    };
    let forms = terms.forms();
    match (forms.of(found), forms.of(needed)) {
        (Some(found), Some(needed)) => Differ { terms, count }.name(found, needed),
        _ => alloc::vec![Wrong::Different],
    }
}

struct Differ<'a> {
    terms: &'a Terms,
    count: u64,
}

/// A form as a linear combination or a set: its parts with their multiplicities.
struct Parts {
    how: Combine,
    parts: BTreeMap<PlacedForm, Multiplicity>,
}

impl Differ<'_> {
    fn name(&self, found: PlacedForm, needed: PlacedForm) -> Vec<Wrong> {
        let forms = self.terms.forms();
        if forms.is_unknown(found.form) || forms.is_unknown(needed.form) {
            return alloc::vec![Wrong::UnnamedReduction];
        }
        if let Some(wrong) = self.other_input(found, needed) {
            return alloc::vec![wrong];
        }
        if let Some(wrong) = self.element_type(found, needed) {
            return alloc::vec![wrong];
        }
        if found.form == needed.form {
            return alloc::vec![Wrong::OutOfPlace { found: found.at, needed: needed.at }];
        }
        if let Some(Form::Divided { form, .. }) = forms.get(needed.form)
            && found == (PlacedForm { form: *form, at: needed.at })
        {
            return alloc::vec![Wrong::NotAveraged];
        }
        let (have, want) = (self.parts(found), self.parts(needed));
        let one_origin = |parts: &Parts| {
            (parts.parts.len() == 1).then(|| parts.parts.keys().next().copied()).flatten()
        };
        if let (Some(only), true) = (one_origin(&have), want.parts.len() > 1)
            && want.parts.contains_key(&only)
            && have.parts.values().all(One::is_one)
        {
            return alloc::vec![Wrong::Unreduced { found: self.show(only) }];
        }
        if let (Some(have), Some(want)) = (one_origin(&have), one_origin(&want))
            && let (Some(found), Some(needed)) = (self.origin(have), self.origin(want))
            && found != needed
        {
            let mut wrongs = alloc::vec![Wrong::OtherOrigin { found, needed }];
            if have.at != want.at {
                wrongs.push(Wrong::OutOfPlace { found: have.at, needed: want.at });
            }
            return wrongs;
        }
        let same_parts = have.parts.keys().eq(want.parts.keys());
        if have.how != want.how && have.parts.len() > 1 && want.parts.len() > 1 {
            if same_parts {
                let (found, needed) = (fold_name(have.how), fold_name(want.how));
                return alloc::vec![Wrong::OtherReduction { found, needed }];
            }
            return alloc::vec![Wrong::Different];
        }
        if same_parts && let Some(ratio) = common_ratio(&have.parts, &want.parts) {
            let averaged = ratio == Multiplicity::from_integer(want.parts.len().into());
            if averaged && have.parts.len() > 1 && have.parts.values().all(One::is_one) {
                return alloc::vec![Wrong::NotAveraged];
            }
            let whole = ratio.is_integer() && ratio > Multiplicity::one();
            let text = ratio.to_string();
            return alloc::vec![if whole {
                Wrong::Repeated { times: text }
            } else {
                Wrong::Scaled { by: text }
            }];
        }
        self.part_by_part(&have.parts, &want.parts)
    }

    fn part_by_part(
        &self,
        have: &BTreeMap<PlacedForm, Multiplicity>,
        want: &BTreeMap<PlacedForm, Multiplicity>,
    ) -> Vec<Wrong> {
        let zero = Multiplicity::zero();
        let all: BTreeSet<PlacedForm> = have.keys().chain(want.keys()).copied().collect();
        let mut wrongs = Vec::new();
        for part in all {
            let (times, needed) =
                (have.get(&part).unwrap_or(&zero), want.get(&part).unwrap_or(&zero));
            if times == needed {
                continue;
            }
            let text = self.show(part);
            wrongs.push(if times.is_zero() {
                Wrong::Missing { part: multiple(needed, &text) }
            } else if needed.is_zero() {
                Wrong::Extra { part: multiple(times, &text) }
            } else {
                let (times, needed) = (times.to_string(), needed.to_string());
                Wrong::Duplicate { part: text, times, needed }
            });
        }
        let more = wrongs.len().saturating_sub(LISTED);
        if more > 1 {
            wrongs.truncate(LISTED);
            wrongs.push(Wrong::AndMore { contributions: more });
        }
        wrongs
    }

    fn parts(&self, placed: PlacedForm) -> Parts {
        let forms = self.terms.forms();
        let shift = |part: &PlacedForm| forms.shifted(*part, placed.at);
        match forms.get(placed.form) {
            Some(Form::Sum { parts, .. }) => Parts {
                how: Combine::Sum,
                parts: parts.iter().map(|(part, times)| (shift(part), times.clone())).collect(),
            },
            Some(Form::Prod(parts)) => Parts {
                how: Combine::Prod,
                parts: parts
                    .iter()
                    .map(|(part, power)| {
                        (shift(part), Multiplicity::from_integer(power.clone().into()))
                    })
                    .collect(),
            },
            Some(Form::Extreme { how, parts }) => Parts {
                how: *how,
                parts: parts.iter().map(|part| (shift(part), Multiplicity::one())).collect(),
            },
            _ => Parts {
                how: Combine::Sum,
                parts: core::iter::once((placed, Multiplicity::one())).collect(),
            },
        }
    }

    /// Another input altogether: no input of one is an input of the other.
    fn other_input(&self, found: PlacedForm, needed: PlacedForm) -> Option<Wrong> {
        let (have, want) = (self.inputs(found.form), self.inputs(needed.form));
        if have.is_empty() || want.is_empty() || !have.is_disjoint(&want) {
            return None;
        }
        Some(Wrong::OtherInput { found: self.describe(&have), needed: self.describe(&want) })
    }

    fn describe(&self, inputs: &BTreeSet<InputId>) -> String {
        let texts = inputs.iter().filter_map(|input| {
            let identity = self.terms.identity(*input)?;
            Some(match &identity.meaning {
                Some(meaning) => format!("{} ({meaning})", identity.name),
                None => identity.name.clone(),
            })
        });
        texts.collect::<Vec<_>>().join(", ")
    }

    fn inputs(&self, form: FormId) -> BTreeSet<InputId> {
        self.terms.forms().inputs_of(form)
    }

    /// The same but for a conversion on the way.
    fn element_type(&self, found: PlacedForm, needed: PlacedForm) -> Option<Wrong> {
        let forms = self.terms.forms();
        let (have, want) = (forms.casts_of(found.form), forms.casts_of(needed.form));
        let differing = have.symmetric_difference(&want).next().copied()?;
        let other = self.input_type(found.form).filter(|other| *other != differing)?;
        Some(if have.contains(&differing) {
            Wrong::ElementType { found: differing, needed: other }
        } else {
            Wrong::ElementType { found: other, needed: differing }
        })
    }

    fn input_type(&self, form: FormId) -> Option<Dtype> {
        let input = self.inputs(form).into_iter().next()?;
        self.terms.identity(input).map(|identity| identity.dtype)
    }

    fn origin(&self, part: PlacedForm) -> Option<String> {
        match self.terms.forms().get(part.form)? {
            Form::Atom { origin, .. } => Some(origin.to_string()),
            _ => None,
        }
    }

    fn show(&self, part: PlacedForm) -> String {
        self.terms.show_form(part, self.count)
    }
}

/// The factor between two combinations of the same parts, if there is one.
fn common_ratio(
    have: &BTreeMap<PlacedForm, Multiplicity>,
    want: &BTreeMap<PlacedForm, Multiplicity>,
) -> Option<Multiplicity> {
    let mut ratios =
        have.values().zip(want.values()).map(|(have, want)| (!want.is_zero()).then(|| have / want));
    let first = ratios.next()??;
    ratios.all(|ratio| ratio.as_ref() == Some(&first)).then_some(first)
}

impl Forms {
    /// Every form that a form is made of, itself included, each once.
    fn all_within(&self, form: FormId) -> BTreeSet<FormId> {
        let mut seen = BTreeSet::new();
        let mut next = alloc::vec![form];
        while let Some(form) = next.pop() {
            if seen.insert(form) {
                next.extend(self.parts_of(form));
            }
        }
        seen
    }

    fn parts_of(&self, form: FormId) -> Vec<FormId> {
        match self.get(form) {
            None | Some(Form::Atom { .. }) => Vec::new(),
            Some(Form::Sum { parts, .. }) => parts.keys().map(|part| part.form).collect(),
            Some(Form::Prod(parts)) => parts.keys().map(|part| part.form).collect(),
            Some(Form::Extreme { parts, .. }) => parts.iter().map(|part| part.form).collect(),
            Some(
                Form::Divided { form, .. } | Form::Cast { form, .. } | Form::Times { form, .. },
            ) => {
                alloc::vec![*form]
            }
            Some(Form::Unnamed { parts, .. }) => parts.iter().map(|part| part.form).collect(),
        }
    }

    /// The inputs that a form is made of.
    pub(crate) fn inputs_of(&self, form: FormId) -> BTreeSet<InputId> {
        let input = |form| match self.get(form) {
            Some(Form::Atom { input, .. }) => Some(*input),
            _ => None,
        };
        self.all_within(form).into_iter().filter_map(input).collect()
    }

    /// The types to which something in a form is converted.
    fn casts_of(&self, form: FormId) -> BTreeSet<Dtype> {
        let cast = |form| match self.get(form) {
            Some(Form::Cast { to, .. }) => Some(*to),
            _ => None,
        };
        self.all_within(form).into_iter().filter_map(cast).collect()
    }
}
