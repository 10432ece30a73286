//! Bytes of one rank, moved as they are.

use core::ops::Range;

use super::seat::Span;
use super::store::Stores;
use super::sweep::{Group, Sweep};
use super::width::{Line, Pass, Width};

/// Copies bytes `bytes` of `source` to the same bytes of every target; where they already
/// are, they stay.
///
/// # Safety
///
/// - `bytes` lies inside `source`, which is valid for reads and initialised, and inside
///   every target, which is valid for writes; it begins at an element of at most a line;
/// - no other thread touches any of these bytes, but to read the source;
/// - each target starts where the source does, or is disjoint from it; targets do not
///   overlap each other;
/// - the processor has `width`, as those that [`Width::widest`] has given before.
pub(super) unsafe fn copy(
    source: Span,
    bytes: Range<usize>,
    targets: &[Span],
    stores: Stores,
    width: Width,
) {
    let length = bytes.end.saturating_sub(bytes.start);
    if let (Stores::Cached, [target]) = (stores, targets) {
        if target.start() != source.start() {
            // SAFETY: readable, writable, and disjoint, not being the same; all by the
            // contract.
            unsafe {
                let (from, to) = (source.start().add(bytes.start), target.start().add(bytes.start));
                to.copy_from_nonoverlapping(from, length);
            }
        }
        return;
    }
    let sweep = Sweep { targets, at: bytes.start, length, stores };
    // SAFETY: the processor has the width; the rest is what the pass asks for.
    unsafe { width.go(Copying { source, start: bytes.start, sweep }) };
}

/// Copying as a pass. It asks for what [`copy`] does.
struct Copying<'a> {
    source: Span,
    start: usize,
    sweep: Sweep<'a>,
}

impl Pass for Copying<'_> {
    #[inline(always)]
    unsafe fn go<L: Line>(self) {
        let sweep = self.sweep;
        // SAFETY: the contract of `copy` is that of the sweep, since a target that overlaps
        // the source starts where it does and is left out.
        unsafe { sweep.go::<L, [u64; 32]>(&self) };
    }
}

impl Group<[u64; 32]> for Copying<'_> {
    #[inline(always)]
    unsafe fn at(&self, from: usize, length: usize) -> [u64; 32] {
        // SAFETY: inside the bytes of `copy`, which may be read. `read` asks for no more.
        unsafe { read(self.source.start().add(self.start).add(from).as_ptr(), length, [0; 32]) }
    }

    #[inline(always)]
    fn is_there(&self, target: Span) -> bool {
        target.start() == self.source.start()
    }
}

/// The group at `from`; beyond `length` bytes, what `group` held before.
///
/// # Safety
///
/// `length` bytes from `from` on, at most as many as `G` has, are initialised and may be
/// read; any bits are a value of `G`.
#[inline(always)]
pub(super) unsafe fn read<G: Copy>(from: *const u8, length: usize, mut group: G) -> G {
    if length == size_of::<G>() {
        // SAFETY: so many bytes may be read, and any bits are a `G`.
        return unsafe { from.cast::<G>().read_unaligned() };
    }
    // SAFETY: so many bytes may be read, and the local has room for them.
    unsafe { from.copy_to_nonoverlapping((&raw mut group).cast(), length) };
    group
}
