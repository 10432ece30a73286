//! One collective, message or split of all its ranks, while it is under way.

use core::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use rankwise_comm::{Error, Part, Post};
use rankwise_model::{Dtype, GroupSize, Layout, LayoutError, Operation, RankLayout, Scalar};
use rankwise_program::{CommId, Seq, Verb};

use crate::comm::Comm;
use crate::engine::{Job, Seat, Span};
use crate::memory::{Block, HostMemory};
use crate::split::SplitSeat;
use crate::table::place;
use crate::uses::Access;

/// One collective or message of all its ranks.
pub(crate) struct Instance {
    pub(crate) layout: Layout,
    pub(crate) dtype: Dtype,
    /// By position in the layout's group.
    pub(crate) seats: Vec<Option<Taken>>,
    /// How many seats must be taken.
    pub(crate) needed: usize,
    /// How many of them are first in their lane.
    pub(crate) reached: usize,
    /// Every rank has called the same.
    pub(crate) agreed: bool,
    /// Its data is being moved; nothing stops it any more.
    pub(crate) running: bool,
    /// Its number, once a call has it.
    pub(crate) seq: Option<Seq>,
    /// Since when its data is being moved; only when somebody records.
    pub(crate) since: Option<Instant>,
}

/// One rank's call in an instance.
pub(crate) struct Taken {
    pub(crate) comm: CommId,
    pub(crate) lane: usize,
    pub(crate) ticket: u64,
    pub(crate) dtype: Dtype,
    pub(crate) input: Option<Bytes>,
    /// What becomes of the input: part of it may be lost.
    pub(crate) of_input: Access,
    pub(crate) output: Option<Bytes>,
    pub(crate) scalar: Option<Scalar>,
}

/// Where one side of a call lies.
pub(crate) enum Bytes {
    /// In a block, which lives at least as long.
    Block { block: Arc<Block>, range: Range<usize> },
    /// At an address for which whoever made the call answers.
    Raw(Span),
}

/// Where a call sits in its instance.
#[derive(Clone, Copy)]
pub(crate) struct Seating {
    pub(crate) layout: Layout,
    /// How many seats must be taken.
    pub(crate) needed: usize,
    pub(crate) seat: usize,
}

impl Seating {
    /// A collective has a seat per rank; a message has two, the sender's first, whatever
    /// the size of the communicator.
    pub(crate) fn of(verb: Verb, call: RankLayout) -> Result<Self, LayoutError> {
        let (from, to) = (PAIR.first(), PAIR.rank(1).unwrap_or(PAIR.first()));
        let count = call.layout().count();
        let message = || Layout::new(Operation::Message { from, to }, PAIR, count);
        Ok(match verb {
            Verb::Send { .. } => Self { layout: message()?, needed: 2, seat: 0 },
            Verb::Recv { .. } => Self { layout: message()?, needed: 2, seat: 1 },
            _ => Self {
                layout: *call.layout(),
                needed: place(call.layout().ranks().get()),
                seat: place(call.rank().index()),
            },
        })
    }
}

/// Sender and receiver of a message.
const PAIR: GroupSize = match GroupSize::new(2) {
    Some(pair) => pair,
    None => GroupSize::ONE,
};

impl Instance {
    /// How many members have not made the call.
    pub(crate) fn missing(&self) -> usize {
        self.needed.saturating_sub(self.seats.iter().flatten().count())
    }

    pub(crate) fn new(layout: Layout, dtype: Dtype, needed: usize) -> Self {
        let seats = layout.ranks().ranks().map(|_| None).collect();
        Self {
            layout,
            dtype,
            seats,
            needed,
            reached: 0,
            agreed: false,
            running: false,
            seq: None,
            since: None,
        }
    }

    /// Whether its data may be moved now.
    pub(crate) const fn is_ready(&self) -> bool {
        self.agreed && !self.running && self.reached == self.needed
    }

    /// The work to be done, or why there is none: a contradiction within this crate.
    #[allow(unsafe_code)]
    pub(crate) fn job(&self) -> Result<Job, String> {
        let seats = self
            .seats
            .iter()
            .map(|seat| match seat {
                None => Ok(Seat { input: None, output: None, scalar: None }),
                Some(taken) => taken.seat(),
            })
            .collect::<Result<Vec<_>, String>>()?;
        // SAFETY: `Job::new` asks for spans that stay valid, and that nobody else
        // touches, until the job is done. Those of blocks lie inside them (`Taken::seat`),
        // and the instance, which outlives its job, holds the blocks; for raw ones the
        // caller of `seam::submit` has promised the same. Every seat is first
        // in its lane, so whatever is ordered before its item is over; whatever is ordered
        // after waits for the item; and `Uses` has let in nothing that is unordered and
        // touches the same bytes.
        unsafe { Job::new(self.layout, self.dtype, &seats) }.map_err(|error| error.to_string())
    }
}

impl Taken {
    /// What a call holds, and where it goes.
    pub(crate) fn of(post: &Post<'_, Comm>, lane: usize, ticket: u64) -> Result<Self, Error> {
        let (comm, call) = (post.comm(), post.call());
        let bytes = |part: Option<&Part<'_, HostMemory>>| {
            part.map(|part| {
                let block = Arc::clone(part.memory().block_of(comm.hub())?);
                Ok::<_, Error>(Bytes::Block { block, range: part.bytes() })
            })
            .transpose()
        };
        Ok(Self {
            comm: comm.id(),
            lane,
            ticket,
            dtype: call.dtype(),
            input: bytes(call.input())?,
            of_input: if call.lost().next().is_some() { Access::Write } else { Access::Read },
            output: bytes(call.output())?,
            scalar: call.scalar(),
        })
    }

    /// The bytes that it reads and writes, as far as their uses are counted.
    pub(crate) fn sides(&self) -> impl Iterator<Item = (&Arc<Block>, Range<usize>, Access)> {
        let reads = self.input.as_ref().map(|bytes| (bytes, self.of_input));
        let writes = self.output.as_ref().map(|bytes| (bytes, Access::Write));
        reads.into_iter().chain(writes).filter_map(|(bytes, access)| match bytes {
            Bytes::Block { block, range } if !range.is_empty() => {
                Some((block, range.clone(), access))
            }
            _ => None,
        })
    }

    /// Where its bytes lie: inside their blocks. Or why they cannot, a contradiction within
    /// this crate.
    pub(crate) fn seat(&self) -> Result<Seat, String> {
        let span = |bytes: &Option<Bytes>| match bytes {
            None => Ok(None),
            Some(Bytes::Raw(span)) => Ok(Some(*span)),
            Some(Bytes::Block { block, range }) => match block.span(range) {
                Some(span) => Ok(Some(span)),
                None => Err(format!("bytes {range:?} are outside their block")),
            },
        };
        let (input, output) = (span(&self.input)?, span(&self.output)?);
        Ok(Seat { input, output, scalar: self.scalar })
    }
}

/// A split of all the ranks of a communicator, while it is under way.
pub(crate) struct Splitting {
    pub(crate) comm: CommId,
    /// By rank in the parent.
    pub(crate) seats: Vec<Option<SplitSeat>>,
}
