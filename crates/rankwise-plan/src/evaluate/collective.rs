//! Collectives in terms: the pieces of the definition, filled with runs.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Display;

use rankwise_model::operation::Start;
use rankwise_model::reference::Side;
use rankwise_model::{
    Combine, Domain, Dtype, GroupSize, Layout, Operation, OperationKind, Rank, RankLayout,
    Reduction, Scalar, Source, fold,
};
use rankwise_topology::{Group, WorldRank};

use super::calls::{Calls, Member, scalars_of};
use super::{At, Call, Machine, Turn};
use crate::error::{Fault, PlanError};
use crate::plan::{CollectiveStep, Elsewhere};
use crate::term::{Factor, Placed, Terms};
use crate::vector::{Content, Family, Gap, Vector, side_by_side};

impl Machine<'_> {
    pub(super) fn collective(&mut self, calls: &Calls<'_>, group: &Group) -> Result<(), PlanError> {
        let Member { at, call } = calls.first();
        let at = &at;
        let operation = operation(at, call)?;
        let inputs = self.inputs(calls, operation, group)?;
        let Inputs { layout, dtype, vectors } = inputs;
        let scalars = scalars(calls, dtype, group.size())?;
        let moves = !operation.kind().reduces() && vectors.iter().all(Option::is_some);
        let family = moves.then(|| Family::of(vectors.iter().filter_map(Option::as_deref)));
        let build = Build { at, dtype, vectors: &vectors, family: family.flatten() };
        let folded = operation.kind().reduces().then(|| {
            let ranks = group.size();
            let mut folds = Folds { terms: &mut *self.terms, scalars: &scalars, ranks };
            build.folded(call.reduction, &mut folds)
        });
        let folded = folded.transpose()?;

        // Where no block depends on the reader, all readers share one output.
        let shared = matches!(operation.kind().row().start, Start::Zero);
        let mut output: Option<Arc<Vector>> = None;
        let mut outputs = Vec::new();
        for rank in layout.each() {
            if !rank.has_output() {
                outputs.push((rank, None));
                continue;
            }
            let known = output.take().filter(|_| shared);
            let made = match known {
                Some(vector) => vector,
                None => {
                    let made = build.output(&rank, folded.as_ref())?;
                    if !self.terms.spend(made.entries_kept()) {
                        return Err(at.too_much_work());
                    }
                    Arc::new(made)
                }
            };
            output = Some(Arc::clone(&made));
            outputs.push((rank, Some(made)));
        }

        let promised = output.map_or(0, |vector| vector.count());
        for (rank, output) in outputs {
            let Some(world_rank) = group.world_rank(rank.rank()) else { continue };
            let Member { at, call } = calls.of(rank.rank());
            let at = &at;
            self.overlap(at, call, &rank, world_rank)?;
            let vector = match output {
                None if call.elsewhere == Elsewhere::Untouched => continue,
                None => {
                    let gap = Content::Gap(Gap::OnRootOnly { step: at.index });
                    Arc::new(Vector::of(dtype, promised, gap))
                }
                Some(output) if call.in_place() => {
                    let before = self.memory.get(world_rank, &call.recv.buffer).cloned();
                    let before =
                        before.map(|buffer| self.part_of(at, world_rank, &call.recv, buffer));
                    in_place(at, &rank, before.transpose()?.as_deref(), output)?
                }
                Some(output) => output,
            };
            self.write(at, world_rank, &call.recv, vector)?;
        }
        let call = Call { group: group.clone(), layout, dtype };
        let done = calls.each().map(|member| member.at.done()).collect();
        self.turns.push(Turn::Collective { done, call: call.clone() });
        self.record(at, call);
        Ok(())
    }

    /// Reads every member's input and finds the count that fits all of them.
    fn inputs(
        &mut self,
        calls: &Calls<'_>,
        operation: Operation,
        group: &Group,
    ) -> Result<Inputs, PlanError> {
        let Member { at, .. } = calls.first();
        let at = &at;
        // The layout at count 1 tells how many counts long each buffer must be.
        let unit = layout(at, operation, group.size(), 1)?;
        let mut agreed: Option<(u64, Dtype, WorldRank)> = None;
        let mut buffers = Vec::new();
        // Most members read a buffer of one name: it is looked up once.
        let mut column: Option<(&str, Option<usize>)> = None;
        for rank in unit.each() {
            let Some(world_rank) = group.world_rank(rank.rank()) else { continue };
            if !rank.has_input() {
                buffers.push(None);
                continue;
            }
            let Member { at, call } = calls.of(rank.rank());
            let at = &at;
            let name = call.send.buffer.as_str();
            let place = match column {
                Some((last, place)) if last == name => place,
                _ => self.memory.place(name),
            };
            column = Some((name, place));
            let is_plain = at.part.is_none() && call.send.positions.is_none();
            let held = place.filter(|_| is_plain);
            let buffer = match held.and_then(|place| self.memory.at(place, world_rank)) {
                Some(buffer) => Arc::clone(buffer),
                None => self.read(at, world_rank, &call.send)?,
            };
            let count = count_of(at, call, &rank, world_rank, &buffer)?;
            let dtype = buffer.dtype();
            match agreed {
                None => agreed = Some((count, dtype, world_rank)),
                Some((first, of, on)) if (first, of) != (count, dtype) => {
                    return Err(at.error(
                        Fault::Contradiction,
                        None,
                        format!("count {count} of {dtype} on rank {world_rank}"),
                        format!("count {first} of {of}, as on rank {on}"),
                    ));
                }
                Some(_) => {}
            }
            buffers.push(Some(buffer));
        }
        let (count, dtype, _) = agreed.ok_or_else(|| no_in_place(at, calls.first().call))?;
        for Member { at, call } in calls.each() {
            check_count(at, call, count)?;
        }
        let layout = layout(at, operation, group.size(), count)?;
        let mut vectors = Vec::new();
        for (rank, buffer) in layout.each().zip(buffers) {
            let in_place = calls.of(rank.rank()).call.in_place();
            let input = match (buffer, rank.in_place().filter(|_| in_place)) {
                (Some(buffer), Some(relation)) => buffer.slice(relation.input).map(Arc::new),
                (buffer, _) => buffer,
            };
            vectors.push(input);
        }
        Ok(Inputs { layout, dtype, vectors })
    }
}

struct Inputs {
    layout: Layout,
    dtype: Dtype,
    /// By rank of the group; `None` where no input is read.
    vectors: Vec<Option<Arc<Vector>>>,
}

impl CollectiveStep {
    /// Whether input and output are one buffer.
    pub(crate) fn in_place(&self) -> bool {
        self.send == self.recv
    }
}

/// The count that a buffer of a rank with an input makes; `unit` is its layout at count
/// 1, which tells how many counts long the buffer must be.
pub(super) fn count_of(
    at: &At<'_>,
    call: &CollectiveStep,
    unit: &RankLayout,
    rank: WorldRank,
    buffer: &Vector,
) -> Result<u64, PlanError> {
    let counts_long = match (call.in_place(), unit.in_place()) {
        (true, Some(relation)) => relation.buffer_len,
        (true, None) if unit.has_output() => return Err(no_in_place(at, call)),
        _ => unit.input_len(),
    };
    let count = buffer.count().checked_div(counts_long).unwrap_or(0);
    if count.checked_mul(counts_long) == Some(buffer.count()) {
        return Ok(count);
    }
    Err(at.error(
        Fault::Contradiction,
        None,
        format!("buffer `{}` of {} elements on rank {rank}", call.send, buffer.count()),
        format!("a multiple of {counts_long}: {} over {} ranks", call.kind, unit.layout().ranks()),
    ))
}

/// That a stated count is the one that the buffers have.
fn check_count(at: &At<'_>, call: &CollectiveStep, count: u64) -> Result<(), PlanError> {
    let Some(stated) = call.count.filter(|stated| *stated != count) else { return Ok(()) };
    let (kind, means) = (call.kind, call.kind.row().count);
    Err(at.error(
        Fault::Contradiction,
        call.count_span,
        format!("count {stated}"),
        format!("{count}: for {kind} the count is {means}, and `{}` is that long", call.send),
    ))
}

fn no_in_place(at: &At<'_>, call: &CollectiveStep) -> PlanError {
    at.error(
        Fault::Contradiction,
        None,
        format!("send and recv are both `{}`", call.send),
        format!("two buffers: {} has no in-place form", call.kind),
    )
}

pub(super) fn layout(
    at: &At<'_>,
    operation: Operation,
    ranks: GroupSize,
    count: u64,
) -> Result<Layout, PlanError> {
    Layout::new(operation, ranks, count).map_err(|error| {
        at.error(
            Fault::Overflow,
            None,
            error.to_string(),
            "lengths below 2^64 and a root in the group",
        )
    })
}

/// The operation of a step. Lengths and pieces are the same for every reduction, so
/// that one that is not named may stand for any.
pub(crate) fn operation(at: &At<'_>, call: &CollectiveStep) -> Result<Operation, PlanError> {
    let reduction = call.reduction.unwrap_or(Reduction::Sum);
    let root = || {
        call.root.ok_or_else(|| at.error(Fault::Missing, None, "no root", "the rank of the root"))
    };
    Ok(match call.kind {
        OperationKind::AllReduce => Operation::AllReduce { reduction },
        OperationKind::Reduce => Operation::Reduce { reduction, root: root()? },
        OperationKind::Broadcast => Operation::Broadcast { root: root()? },
        OperationKind::AllGather => Operation::AllGather,
        OperationKind::ReduceScatter => Operation::ReduceScatter { reduction },
        OperationKind::AllToAll => Operation::AllToAll,
        OperationKind::Gather => Operation::Gather { root: root()? },
        OperationKind::Scatter => Operation::Scatter { root: root()? },
        kind => {
            let found = format!("{kind} as a collective");
            return Err(at.error(Fault::Value, None, found, "a collective"));
        }
    })
}

/// The scalars of a pre-multiplied sum, as elements.
fn scalars(calls: &Calls<'_>, dtype: Dtype, ranks: GroupSize) -> Result<Vec<Scalar>, PlanError> {
    let Member { at, call } = calls.first();
    if call.reduction != Some(Reduction::PreMulSum) {
        return Ok(Vec::new());
    }
    let own: Vec<&CollectiveStep> = calls.each().map(|member| member.call).collect();
    parse_scalars(dtype, ranks, &scalars_of(&own))
        .map_err(|(found, expected)| at.error(Fault::Value, None, found, expected))
}

/// One scalar of the element type per rank; on failure what was found and expected.
pub(crate) fn parse_scalars(
    dtype: Dtype,
    ranks: GroupSize,
    written: &[String],
) -> Result<Vec<Scalar>, (String, String)> {
    if u32::try_from(written.len()) != Ok(ranks.get()) {
        let expected = format!("one scalar for each of the {ranks} ranks of the group");
        return Err((format!("{} scalars", written.len()), expected));
    }
    let expected = |error: &dyn Display| format!("a {dtype}: it is {error}");
    written
        .iter()
        .map(|text| match Scalar::parse(dtype, text) {
            Ok(literal) => Ok(literal.scalar),
            Err(error) => Err((format!("scalar `{text}`"), expected(&error))),
        })
        .collect()
}

/// The output of an in-place call as the buffer that it was made in.
///
/// What lies around the output survives where the call only reads it; a reduction may
/// use it as scratch.
fn in_place(
    at: &At<'_>,
    rank: &RankLayout,
    before: Option<&Vector>,
    output: Arc<Vector>,
) -> Result<Arc<Vector>, PlanError> {
    let Some(relation) = rank.in_place().filter(|relation| relation.buffer_len > output.count())
    else {
        return Ok(output);
    };
    let gap = Content::Gap(Gap::Clobbered { step: at.index });
    let kept = before.filter(|_| !rank.layout().operation().kind().reduces());
    let lost = Vector::of(output.dtype(), relation.buffer_len, gap);
    kept.unwrap_or(&lost).replaced(relation.output.start, &output).map(Arc::new).ok_or_else(|| {
        let found = format!("an {} of {} elements", Side::Output, output.count());
        at.error(Fault::Overflow, None, found, format!("at most {}", relation.buffer_len))
    })
}

/// Everything that the outputs of one call are made from.
struct Build<'a> {
    at: &'a At<'a>,
    dtype: Dtype,
    /// By rank of the group; `None` where no input is read.
    vectors: &'a [Option<Arc<Vector>>],
    /// The inputs in closed form, where they are moved and have one.
    family: Option<Family>,
}

impl Build<'_> {
    /// All inputs folded, from end to end: once, whoever reads which part of it.
    fn folded(
        &self,
        reduction: Option<Reduction>,
        folds: &mut Folds<'_>,
    ) -> Result<Vector, PlanError> {
        let inputs: Vec<&Vector> = self.vectors.iter().flatten().map(AsRef::as_ref).collect();
        let place = u64::try_from(self.at.index).unwrap_or(u64::MAX);
        let mut folded = Vector::empty(self.dtype);
        for (positions, contents) in side_by_side(&inputs) {
            if !folds.terms.spend(contents.len()) {
                return Err(self.at.too_much_work());
            }
            let content = folds.fold(reduction, self.dtype, place, self.at.index, &contents);
            folded.push(positions.end.saturating_sub(positions.start), content);
        }
        Ok(folded)
    }

    fn output(&self, rank: &RankLayout, folded: Option<&Vector>) -> Result<Vector, PlanError> {
        let closed = self.family.as_ref().zip(rank.part_of_each());
        if let Some(output) = closed.and_then(|(family, part)| family.in_turn(part)) {
            return Ok(output);
        }
        let mut output = Vector::empty(self.dtype);
        for piece in rank.pieces() {
            let length = piece.output.end.saturating_sub(piece.output.start);
            let read = piece.start..piece.start.saturating_add(length);
            let source = match piece.source {
                Source::EveryRank => folded,
                Source::Rank(rank) => {
                    let index = usize::try_from(rank.index()).ok();
                    index.and_then(|index| self.vectors.get(index)).and_then(Option::as_deref)
                }
            };
            // The layout was fitted to the inputs: every slice is there.
            let slice = source.and_then(|source| source.slice(read.clone())).ok_or_else(|| {
                let found = format!("positions {read:?} of an input");
                self.at.error(Fault::Contradiction, None, found, "inputs of one length")
            })?;
            output.extend(&slice);
        }
        Ok(output)
    }
}

/// Folds of terms.
pub(crate) struct Folds<'a> {
    pub(crate) terms: &'a mut Terms,
    pub(crate) scalars: &'a [Scalar],
    pub(crate) ranks: GroupSize,
}

impl Folds<'_> {
    /// One position of every rank, in rank order, folded by the model's recipe.
    pub(crate) fn fold(
        &mut self,
        reduction: Option<Reduction>,
        dtype: Dtype,
        place: u64,
        step: usize,
        contents: &[Content],
    ) -> Content {
        let placed: Option<Vec<Placed>> = contents
            .iter()
            .map(|content| match content {
                Content::Term(placed) => Some(*placed),
                Content::Gap(_) => None,
            })
            .collect();
        let folded = placed.and_then(|placed| match reduction {
            None => self.terms.unnamed(place, &placed),
            Some(reduction) => {
                let recipe = reduction.recipe(dtype);
                let ranks = self.ranks;
                let running = fold(self, recipe, ranks, |_, rank| {
                    let index = usize::try_from(rank.index()).ok();
                    index.and_then(|index| placed.get(index)).map_or_else(
                        Running::default,
                        |part| Running { how: None, parts: alloc::vec![*part] },
                    )
                });
                self.finished(&running)
            }
        });
        folded.map_or(Content::Gap(Gap::ReadsGap { step }), Content::Term)
    }

    fn finished(&mut self, running: &Running) -> Option<Placed> {
        match (running.how, running.parts.as_slice()) {
            (None, [one]) => Some(*one),
            (Some(how), parts) => self.terms.combined(how, parts),
            (None, _) => None,
        }
    }

    fn changed(
        &mut self,
        value: &Running,
        change: impl FnOnce(&mut Terms, Placed) -> Placed,
    ) -> Running {
        match self.finished(value) {
            Some(placed) => Running { how: None, parts: alloc::vec![change(self.terms, placed)] },
            None => Running::default(),
        }
    }
}

/// A fold under way: its parts are put together once, when it is finished.
#[derive(Default)]
pub(crate) struct Running {
    how: Option<Combine>,
    parts: Vec<Placed>,
}

impl Domain for Folds<'_> {
    type Value = Running;

    fn times_reciprocal(&mut self, value: Running, ranks: GroupSize) -> Running {
        self.changed(&value, |terms, placed| terms.scaled(placed, Factor::Reciprocal(ranks)))
    }

    fn times_scalar_of(&mut self, rank: Rank, value: Running) -> Running {
        let scalar = usize::try_from(rank.index()).ok().and_then(|rank| self.scalars.get(rank));
        match scalar.copied() {
            Some(scalar) => {
                self.changed(&value, |terms, placed| terms.scaled(placed, Factor::Scalar(scalar)))
            }
            None => Running::default(),
        }
    }

    fn combine(&mut self, how: Combine, mut running: Running, next: Running) -> Running {
        running.how = Some(how);
        running.parts.extend(next.parts);
        running
    }

    fn divide_truncating(&mut self, value: Running, ranks: GroupSize) -> Running {
        self.changed(&value, |terms, placed| terms.divided(placed, ranks))
    }
}
