//! The names of what can be wrong.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::Dtype;
use rankwise_topology::WorldRank;

use super::{Contributors, Owner, Permutation};
use crate::term::Constant;
use crate::vector::Gap;

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
    /// Computed from positions that hold nothing: they were read outside of what had
    /// been written.
    ReadOutside {
        /// The step that read them, from 0.
        step: usize,
        /// On which rank.
        rank: WorldRank,
        /// In which buffer.
        buffer: String,
        /// Which positions.
        positions: Range<u64>,
        /// Why they hold nothing.
        why: Gap,
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
    /// Reduced, but over other ranks than needed.
    SubGroup {
        /// The ranks over which it was reduced.
        found: Contributors,
        /// The ranks over which it should be.
        needed: Contributors,
    },
    /// The sum, where the mean is needed.
    NotAveraged {
        /// By how many it should be divided.
        over: u64,
    },
    /// The mean, where the sum is needed.
    Averaged {
        /// By how many it was divided.
        over: u64,
    },
    /// The mean of what was a mean already.
    DividedTwice {
        /// By how many it was divided, one time after the other.
        by: [u64; 2],
        /// By how many it should be, once; 1 for not at all.
        needed: u64,
    },
    /// The mean of truncated means, where all is to be divided at once.
    DividedInParts {
        /// By how many, one time after the other.
        by: Vec<u64>,
        /// By how many it should be, once.
        needed: u64,
    },
    /// The mean over the size of another group.
    Divisor {
        /// By how many it was divided.
        found: u64,
        /// Groups of that size, by name, if the plan has one.
        found_group: Option<String>,
        /// By how many it should be.
        needed: u64,
        /// Groups of that size, by name, if the plan has one.
        needed_group: Option<String>,
    },
    /// The right value, a whole number of times.
    Repeated {
        /// How many times.
        times: String,
    },
    /// A contribution counts more often than it should.
    RepeatedPart {
        /// The contribution.
        part: String,
        /// How often it counts.
        times: String,
        /// How often it should.
        needed: String,
    },
    /// A contribution counts less often than it should, or by a fraction of it.
    ScaledPart {
        /// The contribution.
        part: String,
        /// How often it counts.
        times: String,
        /// How often it should.
        needed: String,
    },
    /// The right value times a factor.
    Scaled {
        /// The factor.
        by: String,
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
    /// A constant of the plan where something else is needed, or something else where a
    /// constant is.
    OtherConstant {
        /// What is there.
        found: String,
        /// What is needed.
        needed: String,
        /// Why the constant is there, if what is there is one.
        purpose: Option<Constant>,
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
    /// All that is needed is there, in blocks of one length that stand in another order.
    Permuted {
        /// The length of a block, in positions.
        block: u64,
        /// By place: which block is there.
        order: Permutation,
    },
    /// All that is needed is there, from another position on, the rest in front.
    Rotated {
        /// The first position holds the value of this one.
        by: u64,
        /// Positions in all.
        of: u64,
    },
    /// The values are right, and on the wrong ranks.
    OwnersPermuted {
        /// The ranks of the need.
        ranks: Permutation,
        /// By place in `ranks`: which rank's value is there.
        owners: Permutation,
    },
    /// The value is another rank's, or the one that is needed is on another rank.
    WrongOwner {
        /// Whose value is here.
        holds: Option<Owner>,
        /// Where the value that is needed here is.
        needed_at: Option<Owner>,
    },
    /// What an earlier step left: the buffer was not written again after what is needed
    /// had been made.
    Stale {
        /// The step that last wrote the buffer; `None` for an input.
        found_since: Option<usize>,
        /// The other buffer that holds what is needed; `None` if it belongs in this one.
        buffer: Option<String>,
        /// The later step that made it.
        made_by: usize,
    },
    /// The buffer held what is needed, and was written over.
    Overwritten {
        /// The step that had written it; `None` for an input.
        held_since: Option<usize>,
        /// The step that wrote over it.
        by: usize,
    },
    /// What is needed is on the same rank, in another buffer.
    OtherBuffer {
        /// That buffer.
        buffer: String,
        /// The step that wrote it; `None` for an input.
        written_by: Option<usize>,
    },
    /// It is what another buffer of the same rank holds.
    HoldsBuffer {
        /// That buffer.
        buffer: String,
        /// The step that wrote it so; `None` for an input.
        since: Option<usize>,
    },
    /// One value throughout.
    Constant {
        /// The value.
        value: String,
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
            Self::NotPromised { gap } => match gap {
                Gap::OnRootOnly { .. } => "only_on_root",
                Gap::Clobbered { .. } => "clobbered",
                Gap::NeverRan { .. } => "never_ran",
                Gap::Unwritten { .. } => "never_written",
                Gap::ReadsGap { .. } => "read_outside",
            },
            Self::ReadOutside { .. } => "read_outside",
            Self::Length { .. } => "length",
            Self::ElementType { .. } => "element_type",
            Self::OtherInput { .. } => "other_input",
            Self::OtherReduction { .. } => "other_reduction",
            Self::Unreduced { .. } => "unreduced",
            Self::SubGroup { .. } => "sub_group",
            Self::NotAveraged { .. } => "not_averaged",
            Self::Averaged { .. } => "averaged",
            Self::DividedTwice { .. } => "divided_twice",
            Self::DividedInParts { .. } => "divided_in_parts",
            Self::Divisor { .. } => "divisor",
            Self::Repeated { .. } | Self::RepeatedPart { .. } => "repeated",
            Self::Scaled { .. } | Self::ScaledPart { .. } => "scaled",
            Self::Missing { .. } => "missing",
            Self::Extra { .. } => "extra",
            Self::OtherConstant { purpose: Some(Constant::Padding), .. } => "padding",
            Self::OtherConstant { .. } => "other_constant",
            Self::OutOfPlace { .. } => "out_of_place",
            Self::OtherOrigin { .. } => "other_origin",
            Self::Permuted { .. } => "permuted",
            Self::Rotated { .. } => "rotated",
            Self::OwnersPermuted { .. } => "owners_permuted",
            Self::WrongOwner { .. } => "wrong_owner",
            Self::Stale { .. } => "stale",
            Self::Overwritten { .. } => "overwritten",
            Self::OtherBuffer { .. } => "other_buffer",
            Self::HoldsBuffer { .. } => "holds_other_buffer",
            Self::Constant { .. } => "constant",
            Self::AndMore { .. } => "and_more",
            Self::UnnamedReduction => "unnamed_reduction",
            Self::NotProven => "not_proven",
            Self::Different => "different",
        }
    }
}
