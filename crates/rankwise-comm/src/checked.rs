//! One call of one rank, checked once, above every backend.

use core::ops::Range;
use core::panic::Location;

use rankwise_model::{
    Dtype, GroupSize, Layout, Rank, RankLayout, Scalar,
    operation::{Extent, Row},
};
use rankwise_program::{Collective, Signature, Tag, Verb};

use crate::buffer::{DeviceOrdinal, Memory};
use crate::capabilities::Capabilities;
use crate::error::{Error, Fault, Side};
use crate::kind::Kind;
use crate::view::{View, ViewMut};

/// Who makes a call, and what its backend declares: all that a check needs.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'c> {
    /// The own rank in the communicator.
    pub rank: Rank,
    /// The size of the communicator.
    pub ranks: GroupSize,
    /// Where its buffers must be.
    pub device: DeviceOrdinal,
    /// What the backend declares.
    pub capabilities: &'c Capabilities,
    /// The caller's own name for what the call moves.
    pub tag: Option<&'c Tag>,
}

/// Bytes of a memory that a call reads or writes.
#[derive(Debug)]
pub struct Part<'a, M> {
    memory: &'a M,
    bytes: Range<usize>,
}

/// How input and output lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// They do not overlap.
    OutOfPlace,
    /// They overlap as the operation's in-place relation says, and only so.
    InPlace,
}

/// One call of one rank.
///
/// Holding a `CheckedCall` tells you that its operation exists on the group and
/// overflows nothing; that each side is present exactly on the ranks that have one, of
/// the very length that the [`Layout`] states and of the one element type; that input
/// and output are disjoint, or in place by the operation's own relation; that both are
/// on the caller's device; that the backend has declared operation, reduction and type;
/// and that a scalar is there exactly for a pre-multiplied sum. It does **not** tell you
/// that the peers will call the same.
#[derive(Debug)]
pub struct CheckedCall<'a, M> {
    signature: Signature,
    dtype: Dtype,
    layout: RankLayout,
    scalar: Option<Scalar>,
    input: Option<Part<'a, M>>,
    output: Option<Part<'a, M>>,
    placement: Placement,
    lost: [Option<Part<'a, M>>; 2],
    device: DeviceOrdinal,
    tag: Option<Tag>,
    site: &'static Location<'static>,
}

impl<M> Clone for Part<'_, M> {
    fn clone(&self) -> Self {
        Self { memory: self.memory, bytes: self.bytes.clone() }
    }
}

impl<M> Clone for CheckedCall<'_, M> {
    fn clone(&self) -> Self {
        Self {
            signature: self.signature,
            dtype: self.dtype,
            layout: self.layout,
            scalar: self.scalar,
            input: self.input.clone(),
            output: self.output.clone(),
            placement: self.placement,
            lost: self.lost.clone(),
            device: self.device,
            tag: self.tag.clone(),
            site: self.site,
        }
    }
}

impl<'a, M: Memory> Part<'a, M> {
    fn of<T: Kind>(view: &View<'a, T, M>) -> Self {
        Self { memory: view.memory(), bytes: view.byte_range() }
    }

    /// The memory.
    pub const fn memory(&self) -> &'a M {
        self.memory
    }

    /// Which of its bytes.
    pub fn bytes(&self) -> Range<usize> {
        self.bytes.clone()
    }
}

/// What a call is, before its buffers have been looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) verb: Verb,
    pub(crate) scalar: Option<Scalar>,
    pub(crate) site: &'static Location<'static>,
}

impl<'a, M: Memory> CheckedCall<'a, M> {
    /// A call with buffers of its own for each side. On a rank that has no such side
    /// the buffer is ignored, whatever its length.
    pub(crate) fn out_of_place<T: Kind>(
        caller: Caller<'_>,
        asked: Asked,
        input: Option<View<'a, T, M>>,
        output: Option<ViewMut<'a, T, M>>,
    ) -> Result<Self, Error> {
        let output = output.map(|view| view.shared());
        let row = row_of(caller, asked)?;
        let lengths = [(Side::Input, row.input, &input), (Side::Output, row.output, &output)];
        // The side that is one count long says the count; the other is compared with it.
        let (reads, writes) = sides(asked.verb, &layout_of(caller, asked, 0)?);
        let has = |side| if side == Side::Input { reads } else { writes };
        let mut count = None;
        for wanted in [Extent::Count, Extent::CountPerRank] {
            for (side, extent, view) in &lengths {
                if let (None, true, Some(view)) = (count, *extent == wanted && has(*side), view) {
                    count = Some(count_of(caller, asked, *side, *extent, view.len())?);
                }
            }
        }
        // A recv has its count from its output; no call has neither side.
        let dtype = match (&input, &output) {
            (Some(input), Some(output)) if reads && writes => {
                let (input, output) = (input.dtype(), output.dtype());
                if input != output {
                    let (verb, site) = (asked.verb, asked.site);
                    return Err(Fault::ElementTypes { verb, input, output, site }.into());
                }
                input
            }
            (Some(input), _) if reads => input.dtype(),
            (_, Some(output)) => output.dtype(),
            (Some(input), None) => input.dtype(),
            (None, None) => return Err(missing_sides(asked)),
        };
        let input = input.filter(|_| reads);
        let output = output.filter(|_| writes);
        let call = Self::check(
            caller,
            asked,
            (dtype, count.unwrap_or(0)),
            (input.as_ref().map(Part::of), output.as_ref().map(Part::of)),
            Placement::OutOfPlace,
        )?;
        for (side, view, needed) in [
            (Side::Input, &input, if reads { call.layout.input_len() } else { 0 }),
            (Side::Output, &output, if writes { call.layout.output_len() } else { 0 }),
        ] {
            let found = view.as_ref().map_or(0, |view| as_u64(view.len()));
            if found != needed {
                let Asked { verb, site, .. } = asked;
                return Err(
                    Fault::Length { verb, rank: caller.rank, side, found, needed, site }.into()
                );
            }
        }
        Ok(call)
    }

    /// A call whose sides share one buffer, where the operation's own relation puts them.
    /// On a rank with one side only, the buffer is that side.
    pub(crate) fn in_place<T: Kind>(
        caller: Caller<'_>,
        asked: Asked,
        whole: View<'a, T, M>,
    ) -> Result<Self, Error> {
        let row = row_of(caller, asked)?;
        let extent = match sides(asked.verb, &layout_of(caller, asked, 0)?) {
            (true, true) if row.input == Extent::CountPerRank => row.input,
            (true, false) => row.input,
            _ => row.output,
        };
        let count = count_of(caller, asked, Side::InPlace, extent, whole.len())?;
        let at = layout_of(caller, asked, count)?;
        let part = |elements: Range<u64>| {
            let at = |position| usize::try_from(position).unwrap_or(usize::MAX);
            whole.slice(at(elements.start)..at(elements.end)).map(|view| Part::of(&view))
        };
        let (input, output, placement) = match (at.has_input(), at.has_output(), at.in_place()) {
            (true, true, Some(relation)) => {
                (Some(part(relation.input)?), Some(part(relation.output)?), Placement::InPlace)
            }
            (true, true, None) => {
                let Asked { verb, site, .. } = asked;
                return Err(Fault::InPlaceRefused { verb, site }.into());
            }
            (true, false, _) => (Some(Part::of(&whole)), None, Placement::OutOfPlace),
            (false, true, _) => (None, Some(Part::of(&whole)), Placement::OutOfPlace),
            (false, false, _) => (None, None, Placement::OutOfPlace),
        };
        let [before, behind] = at.lost_in_place();
        let lost = |elements: Range<u64>| {
            Some(elements).filter(|lost| !lost.is_empty()).map(part).transpose()
        };
        let lost = [lost(before)?, lost(behind)?];
        let call = Self::check(caller, asked, (whole.dtype(), count), (input, output), placement)?;
        Ok(Self { lost, ..call })
    }

    /// Everything that does not depend on how the buffers were given.
    fn check(
        caller: Caller<'_>,
        asked: Asked,
        (dtype, count): (Dtype, u64),
        (input, output): (Option<Part<'a, M>>, Option<Part<'a, M>>),
        placement: Placement,
    ) -> Result<Self, Error> {
        let Asked { verb, scalar, site } = asked;
        for part in [&input, &output].into_iter().flatten() {
            let (found, needed) = (part.memory.device(), caller.device);
            if found != needed {
                return Err(Fault::ForeignMemory { verb: Some(verb), found, needed }.into());
            }
        }
        let layout = layout_of(caller, asked, count)?;
        let reduction = verb.reduction();
        if let Some(kind) = verb.kind()
            && !caller.capabilities.supports(kind, reduction, dtype)
        {
            let backend = caller.capabilities.backend().to_owned();
            let what = format!("{verb} over {dtype} ({site})");
            return Err(Fault::Unsupported { backend, what, since: None }.into());
        }
        if let Some(reduction) = reduction {
            let needs = reduction == rankwise_model::Reduction::PreMulSum;
            let found = scalar.map(Scalar::dtype);
            if needs && found != Some(dtype) {
                return Err(Fault::Scalar { reduction, found, dtype, site }.into());
            }
        }
        if let (Placement::OutOfPlace, Some(read), Some(written)) = (placement, &input, &output)
            && core::ptr::eq(read.memory, written.memory)
            && read.bytes.start < written.bytes.end
            && written.bytes.start < read.bytes.end
        {
            let (input, output) = (read.bytes.clone(), written.bytes.clone());
            return Err(Fault::Overlap { verb, input, output, site }.into());
        }
        let signature = match verb {
            Verb::Collective(collective) => Signature::collective(collective, dtype, count),
            Verb::Send { to } => Signature::send(to, dtype, count),
            Verb::Recv { from } => Signature::recv(from, dtype, count),
            _ => return Err(missing_sides(asked)),
        };
        Ok(Self {
            signature,
            dtype,
            layout,
            scalar,
            input,
            output,
            placement,
            lost: [None, None],
            device: caller.device,
            tag: caller.tag.cloned(),
            site,
        })
    }

    /// What the ranks must agree on.
    pub const fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The element type.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The count argument, in elements; what it counts is in the operation's row.
    pub const fn count(&self) -> u64 {
        self.layout.layout().count()
    }

    /// Lengths, pieces and relations as this rank sees them.
    pub const fn layout(&self) -> &RankLayout {
        &self.layout
    }

    /// This rank's scalar, for a pre-multiplied sum.
    pub const fn scalar(&self) -> Option<Scalar> {
        self.scalar
    }

    /// What is read, on a rank that has an input.
    pub const fn input(&self) -> Option<&Part<'a, M>> {
        self.input.as_ref()
    }

    /// What is written, on a rank that has an output.
    pub const fn output(&self) -> Option<&Part<'a, M>> {
        self.output.as_ref()
    }

    /// How they lie to each other.
    pub const fn placement(&self) -> Placement {
        self.placement
    }

    /// What of its one buffer is not promised once the call is done: of a call in place,
    /// all that it does not write. It is part of the input.
    pub fn lost(&self) -> impl Iterator<Item = &Part<'a, M>> {
        self.lost.iter().flatten()
    }

    /// The caller's rank.
    pub const fn rank(&self) -> Rank {
        self.layout.rank()
    }

    /// The size of the communicator.
    pub const fn ranks(&self) -> GroupSize {
        self.layout.layout().ranks()
    }

    /// The device it was checked for.
    pub const fn device(&self) -> DeviceOrdinal {
        self.device
    }

    /// The caller's own name for what the call moves.
    pub const fn tag(&self) -> Option<&Tag> {
        self.tag.as_ref()
    }

    /// The line of the call.
    pub const fn site(&self) -> &'static Location<'static> {
        self.site
    }
}

/// The verb of a collective; `None` for a message.
#[inline]
pub(crate) fn collective(operation: rankwise_model::Operation) -> Option<Verb> {
    Collective::new(operation).map(Verb::Collective)
}

#[inline]
fn row_of(caller: Caller<'_>, asked: Asked) -> Result<Row, Error> {
    let operation = asked.verb.operation(caller.rank).ok_or_else(|| missing_sides(asked))?;
    Ok(operation.kind().row())
}

/// Which sides this rank has in this call: input, output. A rank that sends to itself
/// has both in the message, but one in each of its two calls.
#[inline]
fn sides(verb: Verb, at: &RankLayout) -> (bool, bool) {
    match verb {
        Verb::Send { .. } => (true, false),
        Verb::Recv { .. } => (false, true),
        _ => (at.has_input(), at.has_output()),
    }
}

#[inline]
fn layout_of(caller: Caller<'_>, asked: Asked, count: u64) -> Result<RankLayout, Error> {
    let Asked { verb, site, .. } = asked;
    let operation = verb.operation(caller.rank).ok_or_else(|| missing_sides(asked))?;
    let layout = Layout::new(operation, caller.ranks, count)
        .map_err(|error| Fault::Layout { error, site })?;
    layout.at(caller.rank).map_err(|found| {
        let error = rankwise_model::LayoutError::NotInGroup { operation, found };
        Fault::Layout { error, site }.into()
    })
}

/// The count argument that a side of this length means.
#[inline]
fn count_of(
    caller: Caller<'_>,
    asked: Asked,
    side: Side,
    extent: Extent,
    len: usize,
) -> Result<u64, Error> {
    let (found, ranks) = (as_u64(len), caller.ranks);
    match extent {
        Extent::Count => Ok(found),
        Extent::CountPerRank => {
            let each = u64::from(ranks.get());
            match (found.checked_div(each), found.checked_rem(each)) {
                (Some(count), Some(0)) => Ok(count),
                _ => {
                    let Asked { verb, site, .. } = asked;
                    let rank = caller.rank;
                    Err(Fault::NotDivisible { verb, rank, side, found, ranks, site }.into())
                }
            }
        }
    }
}

/// Only a barrier or a split moves nothing, and neither is made here.
fn missing_sides(asked: Asked) -> Error {
    Fault::Internal { what: format!("{} has no buffers ({})", asked.verb, asked.site) }.into()
}

fn as_u64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
