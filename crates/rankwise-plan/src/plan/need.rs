//! What a consumer needs, and where.

use alloc::string::String;
use core::ops::Range;

use rankwise_topology::WorldRank;

use super::Expr;
use crate::error::Span;

/// Which ranks a need or a step is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// All of them.
    EveryRank,
    /// One, by its rank in the world.
    Rank(WorldRank),
    /// Those on one device, by its name in the map.
    Device(String),
    /// The members of a named partition.
    Group(String),
}

/// What some consumer needs to find.
#[derive(Clone, Debug)]
pub struct Need {
    /// Who needs it.
    pub on: On,
    /// In which buffer.
    pub buffer: String,
    /// At which positions; all of the buffer if not said.
    pub positions: Option<Range<u64>>,
    /// What.
    pub holds: Expr,
    /// The text of `holds`.
    pub holds_text: String,
    /// Where it stands.
    pub span: Span,
}
