//! One collective, ready to run, in shares that any thread may take.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use rankwise_model::{Dtype, Layout, Reduction, Scalar};

use super::copy::copy;
use super::cursor::Cursors;
use super::fold::Fold;
use super::footprint::{self, Placement, Sides, Size, Touched};
use super::job_error::JobError;
use super::seat::{Seat, Span};
use super::store::Stores;
use super::stroke::{Origin, Placed, Stroke, Strokes};
use super::width::Width;

#[cfg(test)]
mod tests;

/// One collective on real memory.
///
/// It does nothing by itself: threads call [`work`](Self::work) until there is nothing
/// left to take, and the job [is done](Self::is_done) when every share taken is finished.
/// Nothing is allocated meanwhile.
pub struct Job {
    layout: Layout,
    size: Size,
    strokes: Strokes,
    placed: Placed,
    room: Room,
    /// By rank, all of them if the job folds; empty otherwise.
    inputs: Vec<Span>,
    fold: Option<Fold>,
    stores: Stores,
    width: Width,
    /// Elements of the line in one share.
    share: usize,
    /// The shares that are left to take.
    cursors: Cursors,
    /// How many shares are finished.
    done: AtomicUsize,
}

/// Room for checking, kept from one use of a job to the next.
#[derive(Default)]
struct Room {
    /// What has been checked; empty if that has failed.
    seats: Vec<Seat>,
    sides: Vec<Sides>,
    touched: Vec<Touched>,
}

/// What a call of [`Job::work`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worked {
    /// There was no share left to take. Others may still be at theirs.
    Nothing,
    /// One share.
    Some,
    /// The last unfinished share: now the job is done. Exactly one call says so.
    Finished,
}

impl Job {
    /// Checks every side, and cuts the work into shares.
    ///
    /// `seats` holds one seat per rank of the layout, in rank order.
    ///
    /// # Errors
    ///
    /// See [`JobError`]. Two ranks may read the same bytes; otherwise no two sides may
    /// share any, but input and output of one rank in
    /// [the operation's in-place relation](rankwise_model::RankLayout::in_place).
    ///
    /// # Safety
    ///
    /// From now on until the job is done or dropped, for every span of `seats` whose side
    /// the layout uses:
    ///
    /// - its bytes are inside one allocation, which stays; they are valid for reads and
    ///   initialised if it is an input, valid for writes if it is an output;
    /// - nobody but this job writes an input, or reads or writes an output.
    ///
    /// Whoever calls [`work`](Self::work) must have been handed the job in a way that
    /// orders the writing of the inputs before (through a channel, a lock, an `Arc`
    /// published with release), as safe code always does.
    pub unsafe fn new(layout: Layout, dtype: Dtype, seats: &[Seat]) -> Result<Self, JobError> {
        let (operation, ranks) = (layout.operation(), layout.ranks());
        let size = Size::of(dtype);
        let strokes = Strokes::of(&layout, size);
        let fold = operation.reduction().map(|reduction| {
            let fold = Fold::new(reduction, dtype, ranks);
            fold.ok_or(JobError::Unknown { operation, dtype })
        });
        let fold = fold.transpose()?;
        let sections = Cursors::sections(seats.len());
        let share = share(&strokes, size, sections);
        let mut cursors = Cursors::new(strokes.line.div_ceil(share).max(1), sections);
        cursors.exhaust();
        let (width, done) = (Width::widest(), AtomicUsize::new(cursors.shares()));
        let mut job = Self {
            layout,
            size,
            strokes,
            placed: Placed::default(),
            room: Room::default(),
            inputs: Vec::new(),
            fold,
            stores: Stores::Cached,
            width,
            share,
            cursors,
            done,
        };
        // SAFETY: handed on.
        unsafe { job.restart(seats) }?;
        Ok(job)
    }

    /// The same collective once more, perhaps with other memory: as a new job of the same
    /// layout and type, but that nothing is allocated. After an error the job is done.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    ///
    /// # Safety
    ///
    /// As [`new`](Self::new).
    pub unsafe fn restart(&mut self, seats: &[Seat]) -> Result<(), JobError> {
        // Until everything is checked there is nothing to take.
        self.cursors.exhaust();
        *self.done.get_mut() = self.cursors.shares();
        let (layout, size) = (&self.layout, self.size);
        let (operation, ranks) = (layout.operation(), layout.ranks());
        if usize::try_from(ranks.get()) != Ok(seats.len()) {
            return Err(JobError::Seats { operation, found: seats.len(), ranks });
        }
        let Room { seats: checked, sides, touched } = &mut self.room;
        // The same memory as the last time: what was found then holds.
        if checked.as_slice() == seats && !checked.is_empty() {
            self.cursors.restart();
            *self.done.get_mut() = 0;
            return Ok(());
        }
        checked.clear();
        sides.clear();
        for (at, seat) in layout.each().zip(seats) {
            sides.push(footprint::sides(&at, seat, size)?);
        }
        check_scalars(layout, size.dtype, seats)?;
        let placement = footprint::check(layout, sides, size, touched)?;
        self.strokes.place(layout, sides, size, &mut self.placed)?;
        self.inputs.clear();
        if let Some(fold) = &mut self.fold {
            fold.multiply_by(seats.iter().filter_map(|seat| seat.scalar));
            self.inputs.extend(sides.iter().filter_map(|Sides { input, .. }| *input));
        }
        self.stores = match placement {
            Placement::InPlace => Stores::Cached,
            Placement::OutOfPlace => Stores::out_of_place(self.strokes.weight),
        };
        checked.extend_from_slice(seats);
        self.cursors.restart();
        *self.done.get_mut() = 0;
        Ok(())
    }

    /// What it is a job of.
    pub(crate) const fn kind(&self) -> (Layout, Dtype) {
        (self.layout, self.size.dtype)
    }

    /// Does one share of the work, if there is one left to take.
    ///
    /// Any number of threads may call it at once. A job without a single byte to move
    /// is finished by the first call.
    pub fn work(&self) -> Worked {
        let Some(taken) = self.cursors.take() else { return Worked::Nothing };
        // SAFETY: the cursors have given this share, and so this part of the line, to
        // nobody else; the job is not done before it is counted below, so the promises
        // made to `new` still hold.
        unsafe { self.run(self.line_of(taken..taken.saturating_add(1))) };
        self.stores.fence();
        // Release: whoever sees this share counted sees what it stored. Acquire: whoever
        // counts the last one sees what all the others stored.
        let done = self.done.fetch_add(1, Ordering::AcqRel).saturating_add(1);
        if done == self.shares() { Worked::Finished } else { Worked::Some }
    }

    /// Carries out part `part` of `parts` equal parts at once: no share is taken, nothing
    /// is counted, and it may be done again.
    ///
    /// This is the work without the sharing of it, to measure the one against the other.
    ///
    /// # Safety
    ///
    /// What was promised to [`new`](Self::new) holds until this returns, even if the job
    /// is done; meanwhile nobody calls [`work`](Self::work), nor this for a part that
    /// overlaps. The part is below `parts`.
    pub unsafe fn work_alone(&self, part: usize, parts: usize) {
        let border = |part: usize| {
            let before = self.shares().saturating_mul(part).checked_div(parts);
            before.unwrap_or(0).min(self.shares())
        };
        // SAFETY: inside the line, and nobody else is at it, by the contract.
        unsafe { self.run(self.line_of(border(part)..border(part.saturating_add(1)))) };
        self.stores.fence();
    }

    /// Whether every share is finished. Whoever sees `true` sees the outputs too.
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire) == self.shares()
    }

    /// Bytes read and bytes written in all: whether it is worth sharing. Neither a
    /// logical payload nor what any link would carry.
    pub const fn weight(&self) -> u64 {
        self.strokes.weight
    }

    /// How many shares there are in all: more threads than that find nothing to do.
    pub const fn shares(&self) -> usize {
        self.cursors.shares()
    }

    /// The part of the line that some shares are.
    fn line_of(&self, shares: Range<usize>) -> Range<usize> {
        let at = |share: usize| share.saturating_mul(self.share).min(self.strokes.line);
        at(shares.start)..at(shares.end)
    }

    /// Carries out a run of the line.
    ///
    /// # Safety
    ///
    /// `line` is inside the line, nobody else carries out any part of it, and what was
    /// promised to [`new`](Self::new) holds.
    unsafe fn run(&self, line: Range<usize>) {
        let first = self.strokes.list.partition_point(|stroke| stroke.line.end <= line.start);
        for stroke in self.strokes.list.iter().skip(first) {
            let start = stroke.line.start.max(line.start);
            let end = stroke.line.end.min(line.end);
            if start >= end {
                break;
            }
            // In bytes from the beginning of the stroke.
            let offset =
                |at: usize| at.wrapping_sub(stroke.line.start).wrapping_mul(self.size.bytes);
            // SAFETY: it is inside the stroke and inside `line`.
            unsafe { self.run_stroke(stroke, offset(start)..offset(end)) };
        }
    }

    /// # Safety
    ///
    /// `bytes` is inside the stroke; otherwise as [`run`](Self::run).
    unsafe fn run_stroke(&self, stroke: &Stroke, bytes: Range<usize>) {
        let Some(targets) = self.placed.targets.get(stroke.targets.clone()) else { return };
        match (&stroke.origin, &self.fold) {
            (Origin::Moved { source }, _) => {
                let Some(source) = self.placed.sources.get(*source) else { return };
                // SAFETY: `Strokes::place` cut source and targets to the stroke's length from
                // checked sides. The rest is promised to `new` and shown in the module's
                // documentation; `new` has asked for the width.
                unsafe { copy(*source, bytes, targets, self.stores, self.width) };
            }
            (Origin::Folded { from }, Some(fold)) => {
                let read = from.saturating_add(bytes.start)..from.saturating_add(bytes.end);
                // SAFETY: `Strokes::place` made sure that every input has the stroke's bytes
                // from `from` on, and every target as many; `sides` that all start aligned
                // and the line counts whole elements. The rest as above.
                unsafe {
                    let Self { stores, width, .. } = *self;
                    fold.run(&self.inputs, read, targets, bytes.start, stores, width);
                }
            }
            // A layout folds only if its operation names a reduction.
            (Origin::Folded { .. }, None) => {}
        }
    }
}

/// Whether every rank has its scalar for a pre-multiplied sum, and none for anything else.
fn check_scalars(layout: &Layout, dtype: Dtype, seats: &[Seat]) -> Result<(), JobError> {
    let operation = layout.operation();
    let needed = (operation.reduction() == Some(Reduction::PreMulSum)).then_some(dtype);
    for (rank, seat) in layout.ranks().ranks().zip(seats) {
        let found = seat.scalar.map(Scalar::dtype);
        if found != needed {
            return Err(JobError::Scalar { operation, rank, needed, found });
        }
    }
    Ok(())
}

/// How many elements of the line make a share, so that sections have equally many.
fn share(strokes: &Strokes, size: Size, sections: usize) -> usize {
    /// The longest share, in bytes of the line: longer ones were no faster.
    const LONGEST: usize = 128 << 10;
    /// A share of a job that reads and writes less than this costs more to hand out
    /// than to do.
    const LEAST_WEIGHT: usize = 64 << 10;
    /// No job is worth more shares than this for its own sake.
    const ENOUGH: usize = 8;
    /// Shares end at multiples of this: whole lines, and whole groups of any type.
    const STEP: usize = 4 << 10;

    let line = strokes.line.saturating_mul(size.bytes);
    let weight = usize::try_from(strokes.weight).unwrap_or(usize::MAX);
    // Bytes read and written per byte of the line.
    let fan = weight.checked_div(line).unwrap_or(1).max(1);
    let least = LEAST_WEIGHT.div_euclid(fan).min(LONGEST);
    let longest = line.div_euclid(ENOUGH).clamp(least, LONGEST).max(STEP);
    let shares = line.div_ceil(longest);
    let shares = if shares < 2 { 1 } else { shares.next_multiple_of(sections) };
    line.div_ceil(shares).next_multiple_of(STEP).max(STEP).div_euclid(size.bytes)
}
