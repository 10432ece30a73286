//! The sizes past which a plan is refused, each named when it is hit.
//!
//! They bound the work that a text can ask for before anything is known to be
//! right about it. They are generous: a plan that meets one is a mistake, or has
//! literals that belong in array files (which have no limit here).

/// The most ranks of a group: 2^20.
pub const RANKS: u64 = 1 << 20;

/// The most elements written as literals in one plan, all inputs together: 2^24.
pub const LITERAL_ELEMENTS: u64 = 1 << 24;

/// The most steps of one plan, all proposals together: 10^6.
pub const STEPS: u64 = 1_000_000;

/// The most bytes of a plan's text: 2^30.
pub const TEXT_BYTES: usize = 1 << 30;

/// The most tables and arrays inside one another, the outermost included. The
/// format itself needs six.
pub const TREE_DEPTH: usize = 32;

/// The most forms of the `holds` language inside one another.
pub const HOLDS_DEPTH: usize = 64;

/// The most parts of one `concat`, scalars of one `premul`, or buffers of one step.
pub const ARGUMENTS: u64 = 1 << 20;

/// The most characters of a name: of an input, buffer, device, group, axis or
/// proposal.
pub const NAME_CHARACTERS: usize = 256;

/// The most operations on the way from a contribution to one value: 512. It bounds
/// recursion and the size of multiplicities.
pub const TERM_DEPTH: u32 = 512;

/// The most runs of buffers and parts of folds in one evaluation or comparison: 2^24; and
/// as many parts in the distinct lists of what its sums add up. It bounds memory: unequal
/// blocks from `n` ranks to `n` are `n²` runs.
pub const PIECES: u64 = 1 << 24;

/// The most steps times ranks of one proposal: 2^26. Each rank of each step is
/// carried out, so this bounds the work that a small text can ask for.
pub const RANK_STEPS: u64 = 1 << 26;
