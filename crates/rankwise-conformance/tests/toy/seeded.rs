//! What can be wrong with the toy.

/// A fault, seeded on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seeded {
    // What is computed.
    /// A broadcast comes from the rank after its root.
    WrongRoot,
    /// A gather arrives on rank 0, whatever its root.
    GatherOnRankZero,
    /// A fold leaves out the last rank.
    DropsLastRank,
    /// A fold takes rank 0 twice.
    CountsFirstTwice,
    /// The fold starts at the last rank.
    FoldsBackwards,
    /// An average is not divided.
    AvgNotDivided,
    /// An average of floats divides the sum instead of the contributions.
    AvgDividesLast,
    /// An average of floats multiplies and adds in one rounding.
    AvgFuses,
    /// A pre-multiplied sum is a sum.
    PremulIgnoresScalar,
    /// A pre-multiplied sum takes rank 0's scalar for all.
    PremulOfRankZero,
    /// The maximum of negative floats is their minimum.
    MaxOfMagnitudes,
    /// The maximum of unsigned integers takes them as signed.
    UnsignedAsSigned,
    /// bf16 results are cut off instead of rounded.
    Bf16Truncates,
    /// The last element of a call of more than one is not computed.
    LastElementLost,
    /// The elements of a call beyond a multiple of four are not computed.
    TailLost,
    /// The first two blocks of an `all_gather` are swapped.
    BlocksSwapped,
    /// A `reduce_scatter` gives each rank the next one's shard.
    NextShard,
    /// An `all_to_all` gives block q of rank q to everyone.
    NotTransposed,
    /// A scatter gives everyone block 0.
    ScatterOfBlockZero,
    /// An in-place `reduce_scatter` or scatter writes block 0. (Of a scatter nobody can
    /// tell: the root's block is where it was, and the others are not promised.)
    InPlaceWrongBlock,

    // What is touched.
    /// The element behind the output is overwritten.
    WritesBehind,
    /// The element before the output is overwritten.
    WritesBefore,
    /// The input is zeroed.
    InputClobbered,
    /// A dropped buffer is gone, with work in flight or not.
    DropFrees,

    // What matches.
    /// From its second call on, a collective takes the inputs of the one before.
    StaleInput,
    /// Messages of one group arrive in reverse.
    GroupReversesMessages,
    /// Of a group, only the first call is carried out.
    GroupOfOne,
    /// A split leaves the old order.
    SplitIgnoresKey,
    /// Equal keys of a split end in reverse.
    SplitReversesTies,
    /// A split is into one group, whatever the colours.
    SplitIgnoresColour,
    /// No colour is a colour.
    NoColourJoins,

    // What waits.
    /// A write is done at once, whatever is enqueued before.
    WriteOvertakes,
    /// A fetch reads when it is waited for.
    FetchAtWait,
    /// A fence leaves out the last thing before it.
    FenceEarly,
    /// A fence is what is enqueued when it is waited for.
    FenceLate,
    /// Streams do not wait for each other.
    NoStreamWaits,
    /// A read does not wait for writers on other streams.
    ReadsAhead,
    /// Calls of no elements are never done.
    NothingHangs,
    /// An abort does nothing.
    AbortIgnored,
    /// A close waits for nothing.
    CloseHasty,
    /// A close says that all is well.
    CloseSilent,

    // What is declared.
    /// Broadcasts are declared and refused.
    DeclaresTooMuch,
    /// Nothing but broadcasts is declared.
    DeclaresLittle,
    /// The second communicator says that it is the first.
    LiesAboutRank,
    /// No ranks can be launched.
    LaunchFails,
    /// A rank panics in a broadcast.
    Panics,

    // What is said of ranks that contradict each other.
    /// No report: an error without names.
    BlamesNobody,
    /// Each rank is told something else.
    BlamesDifferently,
    /// The report takes every rank for the next one.
    BlamesNextRank,
    /// Whatever they called, the ranks are told that all went well.
    BlamesNothing,
}
