//! What is wrong, in sentences.

use alloc::format;
use alloc::string::String;
use core::fmt;

use super::{NOT_PROVEN, Wrong};
use crate::term::Constant;

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverWritten => f.write_str("never written: no step writes this buffer here"),
            Self::NotPromised { gap } => gap.fmt(f),
            Self::ReadOutside { step, rank, buffer, positions, why } => write!(
                f,
                "read outside of what was written: step {step} read positions {}..{} of `{buffer}` \
                 on rank {rank} ({why})",
                positions.start, positions.end
            ),
            Self::Length { found, needed } => write!(f, "{found} elements long, needs {needed}"),
            Self::ElementType { found, needed } => {
                write!(f, "computed in {found}, needed in {needed}")
            }
            Self::OtherInput { found, needed } => {
                write!(f, "made of {found}, needed of {needed}: equal shapes, other values")
            }
            Self::OtherReduction { found, needed } => write!(f, "{found} where {needed} is needed"),
            Self::Unreduced { found } => write!(f, "unreduced: {found} alone"),
            Self::SubGroup { found, needed } => {
                write!(f, "over the wrong group: reduced over {found}, needed over {needed}")
            }
            Self::NotAveraged { .. }
            | Self::Averaged { .. }
            | Self::DividedTwice { .. }
            | Self::DividedInParts { .. }
            | Self::Divisor { .. } => scaled(self, f),
            Self::Repeated { times } => write!(f, "repeated: {times} times what is needed"),
            Self::RepeatedPart { part, times, needed } => {
                write!(f, "repeated: {part} counts {times} times, needed {needed}")
            }
            Self::ScaledPart { part, times, needed } => {
                write!(f, "scaled wrongly: {part} counts {times} times, needed {needed}")
            }
            Self::Scaled { by } => write!(f, "scaled wrongly: {by} times what is needed"),
            Self::OtherConstant { found, needed, purpose: Some(Constant::Padding) } => {
                write!(f, "padding with {found} where {needed} is needed")
            }
            Self::OtherConstant { found, needed, .. } => {
                write!(f, "{found} where {needed} is needed")
            }
            Self::Missing { part } => write!(f, "missing: {part}"),
            Self::Extra { part } => write!(f, "{part} is not needed here"),
            Self::OutOfPlace { found, needed } => {
                write!(f, "out of place: the value of position {found} where {needed} is needed")
            }
            Self::OtherOrigin { found, needed } => {
                write!(f, "the contribution of {found} where that of {needed} is needed")
            }
            Self::Permuted { block, order } => {
                let positions = if *block == 1 { "position" } else { "positions" };
                write!(f, "permuted: blocks of {block} {positions} in another order: {order}")
            }
            Self::Rotated { by, of } => {
                write!(f, "rotated: starts with the value of position {by} of {of}, and goes round")
            }
            Self::OwnersPermuted { ranks, owners } => {
                write!(f, "at the wrong owners: ranks {} hold what belongs on ", ranks.listed())?;
                write!(f, "{}", owners.listed())
            }
            Self::WrongOwner { holds, needed_at } => {
                f.write_str("at the wrong owner")?;
                for (index, (text, owner)) in
                    [("this belongs on", holds), ("what belongs here is on", needed_at)]
                        .into_iter()
                        .filter_map(|(text, owner)| Some((text, owner.as_ref()?)))
                        .enumerate()
                {
                    write!(f, "{} {text} {owner}", if index == 0 { ":" } else { "," })?;
                }
                Ok(())
            }
            Self::Stale { .. } => stale(self, f),
            Self::Overwritten { held_since, by } => {
                write!(
                    f,
                    "overwritten: what is needed was here ({}) until step {by}",
                    Since(*held_since)
                )
            }
            Self::OtherBuffer { buffer, written_by } => {
                write!(
                    f,
                    "in another buffer: `{buffer}` holds what is needed ({})",
                    Since(*written_by)
                )
            }
            Self::HoldsBuffer { buffer, since } => {
                write!(f, "holds what `{buffer}` holds ({})", Since(*since))
            }
            Self::Constant { value } => {
                write!(f, "constant: {value} wherever it is wrong, as if never written or cleared")
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

/// Who wrote a buffer, in words.
struct Since(Option<usize>);

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(step) => write!(f, "written by step {step}"),
            None => f.write_str("an input, as it was at first"),
        }
    }
}

/// What an earlier step left.
fn stale(wrong: &Wrong, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Wrong::Stale { found_since, buffer, made_by } = wrong else { return Ok(()) };
    write!(f, "stale: {}; step {made_by} made what is needed", Since(*found_since))?;
    match buffer {
        Some(buffer) => write!(f, " in `{buffer}`"),
        None => f.write_str(" here"),
    }
}

/// The wrong divisions.
fn scaled(wrong: &Wrong, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("scaled wrongly: ")?;
    match wrong {
        Wrong::NotAveraged { over } => {
            write!(f, "the sum, where the mean is needed (not divided by {over})")
        }
        Wrong::Averaged { over } => {
            write!(f, "the mean, where the sum is needed (divided by {over})")
        }
        Wrong::DividedTwice { by: [first, second], needed } => {
            write!(f, "divided twice, by {first} and by {second}, needed ")?;
            if *needed == 1 { f.write_str("undivided") } else { write!(f, "once by {needed}") }
        }
        Wrong::DividedInParts { by, needed } => {
            f.write_str("divided in parts,")?;
            for (index, by) in by.iter().enumerate() {
                write!(f, "{} by {by}", if index == 0 { "" } else { " and then" })?;
            }
            write!(f, ", truncated each time, needed once by {needed}")
        }
        Wrong::Divisor { found, found_group, needed, needed_group } => {
            let group = |name: &Option<String>| match name {
                Some(name) => format!("{name}, "),
                None => String::new(),
            };
            write!(
                f,
                "divided by {found} ({}the size of the wrong group), needed by \
                     {needed}{}",
                group(found_group),
                needed_group.as_ref().map_or_else(String::new, |name| format!(" ({name})"))
            )
        }
        _ => Ok(()),
    }
}
