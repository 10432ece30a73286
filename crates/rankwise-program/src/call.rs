//! What one rank asks for: the typed signature of a call.

use alloc::sync::Arc;
use core::fmt;

use rankwise_model::{
    Dtype, GroupSize, Layout, LayoutError, Operation, OperationKind, Rank, Reduction,
};

/// An [`Operation`] in which every rank of the group takes part: any but a message.
///
/// ```
/// use rankwise_model::{GroupSize, Operation};
/// use rankwise_program::Collective;
///
/// assert!(Collective::new(Operation::AllGather).is_some());
/// let (from, to) = (GroupSize::ONE.first(), GroupSize::ONE.first());
/// assert!(Collective::new(Operation::Message { from, to }).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collective(Operation);

impl Collective {
    /// The operation as a collective; `None` for a message, of which one rank sees one side.
    pub const fn new(operation: Operation) -> Option<Self> {
        match operation {
            Operation::Message { .. } => None,
            operation => Some(Self(operation)),
        }
    }

    /// The operation.
    pub const fn operation(self) -> Operation {
        self.0
    }
}

/// What a call does, as its caller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// A collective over the communicator.
    Collective(Collective),
    /// The sending side of a message.
    Send {
        /// Who receives.
        to: Rank,
    },
    /// The receiving side of a message.
    Recv {
        /// Who sends.
        from: Rank,
    },
    /// Work of the rank alone, such as a kernel: it meets no other call.
    Local,
    /// Everyone waits for everyone; no data. NCCL has none: PyTorch builds it from
    /// an `all_reduce` of one element, and a file may still say *barrier*.
    Barrier,
    /// A new communicator per colour, in the order of the keys and then of the ranks
    /// (`ncclCommSplit`). Colour and key are each rank's own: they are no mismatch.
    Split {
        /// Which new communicator the rank joins; `None` joins none.
        color: Option<u32>,
        /// Where in it.
        key: i32,
    },
}

/// How much of what a call moves. Elements, never bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Payload {
    /// The element type.
    pub dtype: Dtype,
    /// The count argument; [what it counts](rankwise_model::CountMeaning) is in the
    /// operation's row.
    pub count: u64,
}

/// A call as the ranks must agree on it.
///
/// Holding a `Signature` tells you that a verb that moves no data has no [`Payload`]. One
/// that does has one, unless its size is [not known](Self::unsized_data). It does not tell
/// you that its root or peer is in the group: that depends on
/// the group, and [`layout`](Self::layout) says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature {
    verb: Verb,
    payload: Option<Payload>,
}

impl Signature {
    /// A collective with its count argument, in elements.
    pub const fn collective(collective: Collective, dtype: Dtype, count: u64) -> Self {
        Self { verb: Verb::Collective(collective), payload: Some(Payload { dtype, count }) }
    }

    /// A send of `count` elements.
    pub const fn send(to: Rank, dtype: Dtype, count: u64) -> Self {
        Self { verb: Verb::Send { to }, payload: Some(Payload { dtype, count }) }
    }

    /// A recv of `count` elements.
    pub const fn recv(from: Rank, dtype: Dtype, count: u64) -> Self {
        Self { verb: Verb::Recv { from }, payload: Some(Payload { dtype, count }) }
    }

    /// A collective, a send or a recv of which it is not known how much it moves: it agrees
    /// with any size. `None` for a verb that moves nothing.
    ///
    /// ```
    /// use rankwise_model::{Dtype, GroupSize};
    /// use rankwise_program::{Signature, Verb};
    ///
    /// let rank = GroupSize::ONE.first();
    /// let recv = Signature::unsized_data(Verb::Recv { from: rank }).unwrap();
    /// assert!(recv.agrees_with(&Signature::send(rank, Dtype::F32, 4)));
    /// assert_eq!(recv.to_string(), "recv(from 0) of unknown size");
    /// assert_eq!(Signature::unsized_data(Verb::Barrier), None);
    /// ```
    pub const fn unsized_data(verb: Verb) -> Option<Self> {
        if verb.kind().is_some() { Some(Self { verb, payload: None }) } else { None }
    }

    /// A barrier.
    pub const fn barrier() -> Self {
        Self { verb: Verb::Barrier, payload: None }
    }

    /// Work of the rank alone.
    pub const fn local() -> Self {
        Self { verb: Verb::Local, payload: None }
    }

    /// A split of the communicator.
    pub const fn split(color: Option<u32>, key: i32) -> Self {
        Self { verb: Verb::Split { color, key }, payload: None }
    }

    /// What the call does.
    pub const fn verb(&self) -> Verb {
        self.verb
    }

    /// How much it moves; `None` for a barrier, a split and local work, and where it is
    /// not known.
    pub const fn payload(&self) -> Option<Payload> {
        self.payload
    }

    /// The whole group's operation, for rank `own`; `None` for a barrier and a split.
    pub const fn operation(&self, own: Rank) -> Option<Operation> {
        self.verb.operation(own)
    }

    /// Whether the two calls can be one operation, as far as signatures tell.
    ///
    /// Color and key of a split are each rank's own, and so are the sides of a message:
    /// neither makes two calls differ. Everything else does, a count of 0 against
    /// another included.
    ///
    /// ```
    /// use rankwise_program::Signature;
    ///
    /// assert!(Signature::split(Some(0), 1).agrees_with(&Signature::split(None, 0)));
    /// assert!(!Signature::split(Some(0), 1).agrees_with(&Signature::barrier()));
    /// ```
    pub fn agrees_with(&self, other: &Self) -> bool {
        let same_verb = match (self.verb, other.verb) {
            (Verb::Split { .. }, Verb::Split { .. })
            | (Verb::Send { .. }, Verb::Recv { .. })
            | (Verb::Recv { .. }, Verb::Send { .. }) => true,
            (one, other) => one == other,
        };
        let known = self.payload.zip(other.payload);
        same_verb && known.is_none_or(|(one, other)| one == other)
    }

    /// The layout of the call on a group of `ranks`; `None` for a barrier and a split.
    pub fn layout(&self, own: Rank, ranks: GroupSize) -> Option<Result<Layout, LayoutError>> {
        let operation = self.operation(own)?;
        let payload = self.payload?;
        Some(Layout::new(operation, ranks, payload.count))
    }
}

impl Verb {
    /// The whole group's operation, for rank `own`; `None` for a barrier and a split.
    pub const fn operation(self, own: Rank) -> Option<Operation> {
        match self {
            Self::Collective(collective) => Some(collective.operation()),
            Self::Send { to } => Some(Operation::Message { from: own, to }),
            Self::Recv { from } => Some(Operation::Message { from, to: own }),
            Self::Local | Self::Barrier | Self::Split { .. } => None,
        }
    }

    /// Whether the call is in no stream: a split waits for nothing that is enqueued.
    pub const fn is_beside(self) -> bool {
        matches!(self, Self::Split { .. })
    }

    /// The name used in programs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Collective(collective) => collective.operation().kind().name(),
            Self::Send { .. } => "send",
            Self::Recv { .. } => "recv",
            Self::Local => "local",
            Self::Barrier => "barrier",
            Self::Split { .. } => "split",
        }
    }

    /// The row of the table, for a collective or one side of a message.
    pub const fn kind(self) -> Option<OperationKind> {
        match self {
            Self::Collective(collective) => Some(collective.operation().kind()),
            Self::Send { .. } | Self::Recv { .. } => Some(OperationKind::Message),
            Self::Local | Self::Barrier | Self::Split { .. } => None,
        }
    }

    /// The reduction, for a collective that combines values.
    pub const fn reduction(self) -> Option<Reduction> {
        match self {
            Self::Collective(collective) => collective.operation().reduction(),
            _ => None,
        }
    }

    /// The root, for a rooted collective.
    pub const fn root(self) -> Option<Rank> {
        match self {
            Self::Collective(collective) => collective.operation().root(),
            _ => None,
        }
    }

    /// The other side of a message.
    pub const fn peer(self) -> Option<Rank> {
        match self {
            Self::Send { to: peer } | Self::Recv { from: peer } => Some(peer),
            _ => None,
        }
    }
}

impl fmt::Display for Verb {
    /// As a call: `reduce_scatter(sum)`, `send(to 1)`, `recv(from 0)`, `split(color 2, key 0)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Collective(collective) => collective.operation().fmt(f),
            Self::Send { to } => write!(f, "send(to {to})"),
            Self::Recv { from } => write!(f, "recv(from {from})"),
            Self::Local | Self::Barrier => f.write_str(self.name()),
            Self::Split { color: Some(color), key } => write!(f, "split(color {color}, key {key})"),
            Self::Split { color: None, .. } => f.write_str("split(no color)"),
        }
    }
}

impl fmt::Display for Signature {
    /// As a call and its payload: `all_reduce(sum) of 4 × f32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.verb.fmt(f)?;
        match self.payload {
            Some(Payload { dtype, count }) => write!(f, " of {count} × {dtype}"),
            None if self.verb.kind().is_some() => f.write_str(" of unknown size"),
            None => Ok(()),
        }
    }
}

/// A caller's own name for what a call moves, such as `"loss"`.
///
/// Two calls of equal operation, count and type may still be about different things;
/// only a tag can tell them apart. Tags are compared where both sides carry one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(Arc<str>);

impl Tag {
    /// A tag of that text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
