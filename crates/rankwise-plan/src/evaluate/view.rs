//! Reading and writing buffers, whole or some positions of them.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::RankLayout;
use rankwise_topology::WorldRank;

use super::{At, Machine, Write};
use crate::error::{Fault, PlanError};
use crate::limits::TERM_DEPTH;
use crate::plan::{Act, CollectiveStep, GroupStep, Operand};
use crate::term::TermId;
use crate::vector::{Content, Gap, Vector};

/// The last vector that was cut out of one and the last that was put into one: ranks
/// that share a buffer share its parts.
#[derive(Debug, Default)]
pub(super) struct Shared {
    cut: Option<(Arc<Vector>, Range<u64>, Arc<Vector>)>,
    put: Option<Put>,
}

/// A buffer, and what it is with a piece in it from a position on.
#[derive(Debug)]
struct Put {
    before: Arc<Vector>,
    start: u64,
    piece: Arc<Vector>,
    after: Arc<Vector>,
}

impl Machine<'_> {
    /// What `rank` holds there, or an error that says what it does hold.
    pub(super) fn read(
        &mut self,
        at: &At<'_>,
        rank: WorldRank,
        from: &Operand,
    ) -> Result<Arc<Vector>, PlanError> {
        let buffer = self.buffer(at, rank, from)?;
        self.check_divided(at, rank, from, &buffer)?;
        // All of it, as long as it was before another part made it anew.
        let positions = from.positions.clone().unwrap_or(0..u64::MAX);
        self.touches(at, rank, &from.buffer, positions, super::concurrent::How::Reads)?;
        self.part_of(at, rank, from, buffer)
    }

    /// What the parts of a group divide between them is as long as they say.
    fn check_divided(
        &self,
        at: &At<'_>,
        rank: WorldRank,
        from: &Operand,
        buffer: &Vector,
    ) -> Result<(), PlanError> {
        let step = self.proposal.steps.get(at.index).filter(|_| at.part.is_some());
        let Some(Act::Group(GroupStep { divides: Some(divided), .. })) = step.map(|step| &step.act)
        else {
            return Ok(());
        };
        let count = divided.counts.on(rank);
        if divided.buffer != from.buffer || count == buffer.count() {
            return Ok(());
        }
        Err(at.error(
            Fault::Contradiction,
            None,
            format!("buffer `{}` of {} elements on rank {rank}", from.buffer, buffer.count()),
            format!("{count}, as many as the counts add up to"),
        ))
    }

    /// The same without counting as a read.
    pub(super) fn part_of(
        &mut self,
        at: &At<'_>,
        rank: WorldRank,
        from: &Operand,
        buffer: Arc<Vector>,
    ) -> Result<Arc<Vector>, PlanError> {
        let Some(positions) = &from.positions else { return Ok(buffer) };
        if let Some((whole, of, part)) = &self.shared.cut
            && Arc::ptr_eq(whole, &buffer)
            && of == positions
        {
            return Ok(Arc::clone(part));
        }
        let part =
            buffer.slice(positions.clone()).ok_or_else(|| past_end(at, rank, from, &buffer))?;
        if !self.terms.spend(part.entries_kept()) {
            return Err(at.too_much_work());
        }
        let part = Arc::new(part);
        self.shared.cut = Some((buffer, positions.clone(), Arc::clone(&part)));
        Ok(part)
    }

    /// The whole buffer of that name.
    pub(super) fn buffer(
        &self,
        at: &At<'_>,
        rank: WorldRank,
        operand: &Operand,
    ) -> Result<Arc<Vector>, PlanError> {
        self.memory.get(rank, &operand.buffer).cloned().ok_or_else(|| {
            let names: Vec<_> = self.memory.buffers(rank).map(|(name, _)| name).collect();
            at.error(
                Fault::UnknownName,
                None,
                format!(
                    "buffer `{}`, which rank {rank} does not have at this step",
                    operand.buffer
                ),
                format!("one that it has: {}", names.join(", ")),
            )
        })
    }

    /// Puts a vector there: in place of the whole buffer, or of some positions of it.
    pub(super) fn write(
        &mut self,
        at: &At<'_>,
        rank: WorldRank,
        into: &Operand,
        vector: Arc<Vector>,
    ) -> Result<(), PlanError> {
        let positions = into.positions.clone().unwrap_or(0..u64::MAX);
        self.touches(at, rank, &into.buffer, positions, super::concurrent::How::Writes)?;
        let deepest = self.deepest(at, &vector)?;
        if deepest > TERM_DEPTH {
            return Err(at.error(
                Fault::Limit,
                None,
                format!("a value of `{into}` that is {deepest} operations deep"),
                format!("at most {TERM_DEPTH} operations on one value"),
            ));
        }
        self.last_written = Some(Arc::clone(&vector));
        let vector = self.with(at, rank, into, vector)?;
        let buffer = self.memory.put(rank, &into.buffer, Arc::clone(&vector));
        if let Some(record) = self.records.get_mut(at.index) {
            record.writes.push(Write { rank, buffer, vector });
        }
        Ok(())
    }

    /// The depth of the deepest term of a vector. Readers of one call share a vector, or
    /// its terms: those are looked through once.
    fn deepest(&mut self, at: &At<'_>, vector: &Arc<Vector>) -> Result<u32, PlanError> {
        let last = self.last_written.as_ref();
        if last.is_some_and(|last| Arc::ptr_eq(last, vector)) {
            return Ok(0);
        }
        let known = |list: &[TermId]| {
            let last = last.and_then(|last| last.term_lists().next());
            last.is_some_and(|last| core::ptr::eq(last, list))
        };
        let mut deepest = 0;
        for list in vector.term_lists() {
            if list.len() > 1 {
                if known(list) {
                    continue;
                }
                if !self.terms.spend(list.len()) {
                    return Err(at.too_much_work());
                }
            }
            deepest = list.iter().map(|term| self.terms.depth(*term)).fold(deepest, u32::max);
        }
        Ok(deepest)
    }

    /// The buffer with `piece` at the positions of `into`.
    fn with(
        &mut self,
        at: &At<'_>,
        rank: WorldRank,
        into: &Operand,
        piece: Arc<Vector>,
    ) -> Result<Arc<Vector>, PlanError> {
        let Some(positions) = &into.positions else { return Ok(piece) };
        let buffer = self.buffer(at, rank, into)?;
        if positions.end > buffer.count() {
            return Err(past_end(at, rank, into, &buffer));
        }
        let room = positions.end.saturating_sub(positions.start);
        if (room, buffer.dtype()) != (piece.count(), piece.dtype()) {
            return Err(at.error(
                Fault::Contradiction,
                None,
                format!("{} elements of {} for `{into}`", piece.count(), piece.dtype()),
                format!("{room} of {}, as there are in it", buffer.dtype()),
            ));
        }
        if let Some(put) = &self.shared.put
            && Arc::ptr_eq(&put.before, &buffer)
            && put.start == positions.start
            && Arc::ptr_eq(&put.piece, &piece)
        {
            return Ok(Arc::clone(&put.after));
        }
        let after = buffer.replaced(positions.start, &piece);
        let after = Arc::new(after.ok_or_else(|| past_end(at, rank, into, &buffer))?);
        if !self.terms.spend(after.entries_kept()) {
            return Err(at.too_much_work());
        }
        let put = Put { before: buffer, start: positions.start, piece, after: Arc::clone(&after) };
        self.shared.put = Some(put);
        Ok(after)
    }

    /// Refuses a call that reads and writes the same positions in any way but the
    /// model's in-place relation. Where it is in place so, and the reduction may use the
    /// rest of its input as scratch, nothing is promised of that any more.
    pub(super) fn overlap(
        &mut self,
        at: &At<'_>,
        call: &CollectiveStep,
        rank: &RankLayout,
        world_rank: WorldRank,
    ) -> Result<(), PlanError> {
        let Operand { buffer: name, .. } = &call.send;
        let apart = *name != call.recv.buffer || call.in_place();
        if apart || !(rank.has_input() && rank.has_output()) {
            return Ok(());
        }
        let buffer = self.buffer(at, world_rank, &call.send)?;
        let whole = 0..buffer.count();
        let read = call.send.positions.clone().unwrap_or_else(|| whole.clone());
        let written = call.recv.positions.clone().unwrap_or_else(|| whole.clone());
        let length = |range: &Range<u64>| range.end.saturating_sub(range.start);
        if length(&written) != rank.output_len() {
            return Err(at.error(
                Fault::Contradiction,
                None,
                format!(
                    "{} elements of output for `{}` of {}",
                    rank.output_len(),
                    call.recv,
                    length(&written)
                ),
                format!("positions of `{name}`, as many as there are"),
            ));
        }
        if !meet(&read, &written) {
            return Ok(());
        }
        let relation = rank.in_place().filter(|relation| {
            let base = read.start.checked_sub(relation.input.start);
            base.is_some()
                && base == written.start.checked_sub(relation.output.start)
                && (length(&relation.input), length(&relation.output))
                    == (length(&read), length(&written))
        });
        let Some(relation) = relation else {
            return Err(at.error(
                Fault::Contradiction,
                None,
                format!(
                    "`{}` read and `{}` written on rank {world_rank}, which overlap",
                    call.send, call.recv
                ),
                match rank.in_place() {
                    None => format!("two buffers: {} has no in-place form", call.kind),
                    Some(rankwise_model::InPlace { input, output, .. }) => format!(
                        "positions apart, or in place: {}..{} read and {}..{} written of {}",
                        input.start,
                        input.end,
                        output.start,
                        output.end,
                        input.end.max(output.end)
                    ),
                },
            ));
        };
        if call.kind.reduces() && relation.buffer_len > rank.output_len() {
            let gap = Content::Gap(Gap::Clobbered { step: at.index });
            let lost = Arc::new(Vector::of(buffer.dtype(), length(&read), gap));
            let clobbered = self.with(at, world_rank, &call.send, lost)?;
            self.memory.put(world_rank, name, clobbered);
        }
        Ok(())
    }

    /// Refuses a local act that writes some positions of a buffer and reads others that
    /// overlap them. The same positions may be both where it is done `position_wise`.
    pub(super) fn local_overlap(
        &self,
        at: &At<'_>,
        rank: WorldRank,
        reads: &[&Operand],
        into: &Operand,
        position_wise: bool,
    ) -> Result<(), PlanError> {
        // A whole buffer is made anew, of what was read before.
        let Some(written) = &into.positions else { return Ok(()) };
        for from in reads.iter().filter(|from| from.buffer == into.buffer) {
            let whole = 0..self.buffer(at, rank, from)?.count();
            let read = from.positions.clone().unwrap_or(whole);
            if meet(&read, written) && !(position_wise && read == *written) {
                return Err(at.error(
                    Fault::Contradiction,
                    None,
                    format!("`{from}` read and `{into}` written, which overlap"),
                    "the same positions, or positions apart",
                ));
            }
        }
        Ok(())
    }
}

/// Whether two ranges have a position in common.
pub(super) fn meet(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start.max(other.start) < one.end.min(other.end)
}

fn past_end(at: &At<'_>, rank: WorldRank, operand: &Operand, buffer: &Vector) -> PlanError {
    let positions = operand.positions.clone().unwrap_or_default();
    at.error(
        Fault::Contradiction,
        None,
        format!("positions {}..{} of `{}`", positions.start, positions.end, operand.buffer),
        format!("positions within 0..{} on rank {rank}", buffer.count()),
    )
}
