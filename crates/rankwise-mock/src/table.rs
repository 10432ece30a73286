//! Ranks as places in a table.

/// The place of a rank, or how many there are. A place that a table cannot have is one
/// that no table has.
pub(crate) fn place(rank: u32) -> usize {
    usize::try_from(rank).unwrap_or(usize::MAX)
}
