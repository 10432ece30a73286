//! What to do about what is wrong.

use alloc::format;
use alloc::string::{String, ToString};

use super::{Contributors, Wrong};
use crate::vector::Gap;

impl Wrong {
    /// What would mend it, in a sentence; `None` where nothing in particular would.
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::NeverWritten => {
                "write it on this rank, or let the need name those that have it".to_string()
            }
            Self::NotPromised { gap } => return of_gap(*gap),
            Self::ReadOutside { step, rank, buffer, positions, .. } => format!(
                "write positions {}..{} of `{buffer}` on rank {rank} before step {step}",
                positions.start, positions.end
            ),
            Self::Length { found, needed } if found < needed => {
                "it is only a part: gather the rest".to_string()
            }
            Self::Length { needed, .. } => format!("take the {needed} positions that are needed"),
            Self::ElementType { found, needed } => {
                format!(
                    "compute in {needed}, or let the need convert to {found} where the steps do"
                )
            }
            Self::OtherInput { needed, .. } => format!("start from {needed}"),
            Self::OtherReduction { needed, .. } => format!("reduce with op = \"{needed}\""),
            Self::Unreduced { .. } => {
                "reduce it over the ranks whose contributions are needed".to_string()
            }
            Self::SubGroup { needed, .. } => format!("reduce over {}", name(needed)),
            Self::NotAveraged { over } => {
                format!("reduce with op = \"avg\", or scale by 1/{over} once")
            }
            Self::Averaged { .. } => "reduce with op = \"sum\"".to_string(),
            Self::DividedTwice { needed: 1, .. } => "do not divide".to_string(),
            Self::DividedTwice { .. } => "divide once".to_string(),
            Self::DividedInParts { needed, .. } => {
                format!("sum first, and divide the sum of all by {needed}, once")
            }
            Self::Divisor { needed, .. } => format!("divide by {needed}"),
            Self::Repeated { .. } => "sum once: what has been summed is summed again".to_string(),
            Self::RepeatedPart { part, needed, .. } | Self::ScaledPart { part, needed, .. } => {
                match needed.as_str() {
                    "1" => format!("let {part} count once"),
                    needed => format!("let {part} count {needed} times"),
                }
            }
            Self::Scaled { by } => format!("leave the factor {by} out"),
            Self::Missing { part } => format!("add {part}"),
            Self::Extra { part } => format!("leave {part} out"),
            Self::OtherConstant { needed, .. } => format!("fill or pad with {needed}"),
            Self::OutOfPlace { needed, .. } => {
                format!("take the block or shard that begins at position {needed}")
            }
            Self::OtherOrigin { needed, .. } => format!("take it from {needed}"),
            Self::Permuted { order, .. } => format!(
                "list the group's ranks in the order that is meant, or take the blocks as {}",
                order.inverse().listed()
            ),
            Self::Rotated { .. } => {
                "begin the group's list with the rank whose block belongs first".to_string()
            }
            Self::OwnersPermuted { .. } | Self::WrongOwner { .. } => {
                "put the ranks on the devices that are meant, or send it to its owner (`rankwise \
                 explore` finds the cheapest)"
                    .to_string()
            }
            Self::Stale { buffer: Some(buffer), .. } | Self::OtherBuffer { buffer, .. } => {
                format!("let the consumer read `{buffer}`, or copy that here")
            }
            Self::Stale { buffer: None, made_by, .. } => {
                format!("read it after step {made_by}, and look which buffer that was handed")
            }
            Self::Overwritten { by, .. } => {
                format!("read it before step {by}, or let that step write another buffer")
            }
            Self::HoldsBuffer { buffer, .. } => {
                format!("look whether the call or the reader was handed `{buffer}`")
            }
            Self::Constant { .. } => "look whether the buffer was written at all".to_string(),
            Self::UnnamedReduction => "name the reduction with `op`".to_string(),
            Self::AndMore { .. } | Self::NotProven | Self::Different => return None,
        })
    }
}

fn of_gap(gap: Gap) -> Option<String> {
    Some(match gap {
        Gap::OnRootOnly { .. } => {
            "broadcast it from the root, or use the call that leaves it on every rank".to_string()
        }
        Gap::Clobbered { .. } => "receive into another buffer than the one sent".to_string(),
        Gap::NeverRan { .. } => "mend first what the reports name".to_string(),
        Gap::Unwritten { .. } => "write these positions before they are needed".to_string(),
        Gap::ReadsGap { .. } => return None,
    })
}

fn name(group: &Contributors) -> String {
    group.group.clone().unwrap_or_else(|| group.to_string())
}
