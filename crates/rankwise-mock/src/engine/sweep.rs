//! One pass over memory: what a group of bytes becomes is stored to every target.

use super::seat::Span;
use super::store::Stores;
use super::width::Line;

/// Bytes of some targets, and how they are to be stored.
#[derive(Clone, Copy)]
pub(super) struct Sweep<'a> {
    pub(super) targets: &'a [Span],
    /// Where the bytes begin in each.
    pub(super) at: usize,
    /// How many there are.
    pub(super) length: usize,
    pub(super) stores: Stores,
}

/// Bytes that are read, computed and stored at once, in registers: a few cache lines, so
/// that a handful of streams are read and written a line after the other.
///
/// `G` is an array of numbers, a whole number of cache lines long.
pub(super) trait Group<G> {
    /// What the bytes from `from` on become, for `length` bytes; what is beyond is
    /// anything.
    ///
    /// # Safety
    ///
    /// Those bytes of whatever it reads may be read; `length` is at most the size of `G`.
    unsafe fn at(&self, from: usize, length: usize) -> G;

    /// Whether what it makes for a target is there already.
    fn is_there(&self, _target: Span) -> bool {
        false
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

impl Sweep<'_> {
    /// Stores what `group` makes of the bytes from 0 to the length.
    ///
    /// # Safety
    ///
    /// - `group` may be asked for any of these bytes, whole elements of at most a line;
    /// - as many bytes from `at` on lie inside every target, start at an element, and are
    ///   valid for writes; targets do not overlap each other;
    /// - no other thread touches what is written or writes what `group` reads;
    /// - a target that overlaps what `group` reads for a byte holds that byte itself, at
    ///   the place where it goes;
    /// - the processor has what `L` needs.
    #[inline(always)]
    pub(super) unsafe fn go<L: Line, G: Copy>(self, group: &impl Group<G>) {
        let Self { at, length, .. } = self;
        let size = const { whole_lines::<G>() };
        let head = self.head().min(length);
        let groups = length.saturating_sub(head).div_euclid(size);
        let tail = head.saturating_add(groups.saturating_mul(size));

        let mut from = head;
        while from < tail {
            // SAFETY: a whole group before `tail`, which is at most the length. It is read
            // before anything is stored, so a target that overlaps an input may be written.
            let made = unsafe { group.at(from, size) };
            for target in self.targets {
                if !group.is_there(*target) {
                    // SAFETY: inside the target by the contract, as the group is inside the
                    // length; the processor is handed on.
                    unsafe {
                        let to = target.start().add(at).add(from).as_ptr();
                        self.stores.store::<L, G>(made, to);
                    }
                }
            }
            from = from.wrapping_add(size);
        }
        // What is too short for a group: both ends, less than a group each.
        for (from, end) in [(0, head), (tail, length)] {
            let short = end.saturating_sub(from);
            if short == 0 {
                continue;
            }
            // SAFETY: at most a group, and before the end.
            let made = unsafe { group.at(from, short) };
            for target in self.targets {
                if !group.is_there(*target) {
                    // SAFETY: `made` is a local of at least as many bytes, the target
                    // has them after `at + from`, and the two are disjoint.
                    unsafe {
                        let to = target.start().add(at).add(from).as_ptr();
                        to.copy_from_nonoverlapping((&raw const made).cast(), short);
                    }
                }
            }
        }
    }

    /// Bytes up to the first line of the first target, if it matters where lines begin.
    /// Where targets begin elsewhere in a line than the first, they are not streamed.
    #[inline(always)]
    fn head(&self) -> usize {
        match (self.stores, self.targets) {
            (Stores::Streaming, [first, ..]) => {
                first.address().wrapping_add(self.at).wrapping_neg() % LINE
            }
            _ => 0,
        }
    }
}

/// The size of a group, once it is known to be fit for one.
const fn whole_lines<G>() -> usize {
    assert!(size_of::<G>() >= LINE && size_of::<G>().is_multiple_of(LINE));
    size_of::<G>()
}
