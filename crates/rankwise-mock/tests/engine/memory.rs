//! Buffers with guards on both sides, and seats on them.

use rankwise_mock::engine::{Job, JobError, Seat, Span, Worked};
use rankwise_model::{Element, Layout, RankLayout, Scalar};

/// Whether guards surround what the engine is given, or nothing does: the former shows
/// bytes written beside it, the latter lets an address sanitizer see reads too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    Elements,
    Nothing,
}

/// A buffer, and what lies around it.
pub(crate) struct Guarded<T> {
    all: Vec<T>,
    guard: usize,
}

impl<T: Element> Guarded<T> {
    /// What a guard holds: no value by itself, only something to recognise.
    fn mark(position: usize) -> T {
        T::from_bits(0xa5a5_a5a5_a5a5_a5a5 ^ u64::try_from(position).unwrap())
    }

    pub(crate) fn holding(values: &[T], guard: Guard) -> Self {
        // Not a multiple of a cache line, so that nothing is aligned by luck.
        let guard = match guard {
            Guard::Elements => 7,
            Guard::Nothing => 0,
        };
        let mark = |position| Self::mark(position);
        let all = (0..guard).map(mark).chain(values.iter().copied());
        let all = all.chain((guard..2 * guard).map(mark)).collect();
        Self { all, guard }
    }

    pub(crate) fn values(&mut self) -> &mut [T] {
        let end = self.all.len() - self.guard;
        &mut self.all[self.guard..end]
    }

    pub(crate) fn span(&mut self) -> Span {
        Span::of(self.values())
    }

    /// The bits inside, once the guards are found as they were left.
    pub(crate) fn bits(&self) -> Vec<u64> {
        let (before, rest) = self.all.split_at(self.guard);
        let (inside, after) = rest.split_at(rest.len() - self.guard);
        for (position, guard) in before.iter().chain(after).enumerate() {
            let mark: T = Self::mark(position);
            assert_eq!(guard.to_bits(), mark.to_bits(), "guard element {position} was written");
        }
        inside.iter().map(|value| value.to_bits()).collect()
    }
}

/// `span` from element `elements.start` to `elements.end`.
pub(crate) fn part<T: Element>(span: Span, elements: &core::ops::Range<u64>) -> Span {
    let bytes = |elements: u64| usize::try_from(elements).unwrap() * size_of::<T>();
    assert!(bytes(elements.end) <= span.bytes());
    let at = span.start().addr().checked_add(bytes(elements.start)).unwrap();
    Span::new(span.start().with_addr(at), bytes(elements.end) - bytes(elements.start))
}

/// Where input and output begin in the one buffer of a rank.
pub(crate) fn in_place_seat<T: Element>(at: &RankLayout, buffer: Span) -> Seat {
    let (input, output) = match at.in_place() {
        Some(relation) => (relation.input, relation.output),
        None => (0..at.input_len(), 0..at.output_len()),
    };
    Seat {
        input: at.has_input().then(|| part::<T>(buffer, &input)),
        output: at.has_output().then(|| part::<T>(buffer, &output)),
        scalar: None,
    }
}

pub(crate) fn with_scalars<T: Element>(seats: &mut [Seat], scalars: &[T]) {
    for (seat, scalar) in seats.iter_mut().zip(scalars) {
        seat.scalar = Some(Scalar::of(*scalar));
    }
}

/// Makes the job.
pub(crate) fn job<T: Element>(layout: Layout, seats: &[Seat]) -> Result<Job, JobError> {
    // SAFETY: every test keeps the buffers behind its seats until the job is dropped,
    // and looks at them only before it is made and after it is done.
    unsafe { Job::new(layout, T::DTYPE, seats) }
}

/// Does all of it on this thread.
pub(crate) fn finish(job: &Job) {
    for share in 1..=job.shares() {
        let last = share == job.shares();
        assert!(!job.is_done());
        assert_eq!(job.work(), if last { Worked::Finished } else { Worked::Some });
    }
    assert!(job.is_done());
    assert_eq!(job.work(), Worked::Nothing);
}
