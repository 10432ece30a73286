//! Buffers with a guarded part that a call may use.

use core::ops::Range;

use rankwise_comm::{Buffer, Communicator, Dyn, Error, Memory, Pending, Stream, View, ViewMut};
use rankwise_model::Dtype;

use crate::defect::Defect;
use rankwise_comm::bytes::width;

/// What the elements before and behind the used part hold, in every byte.
const GUARD: u8 = 0xc3;

/// The buffers of one rank, used again by case after case.
pub(crate) struct Workspace<M> {
    kept: Vec<Buffer<Dyn, M>>,
}

/// A part of a buffer, with guard elements before and behind it.
pub(crate) struct Zone<M> {
    buffer: Buffer<Dyn, M>,
    guard: usize,
    len: usize,
}

impl<M: Memory> Workspace<M> {
    pub(crate) const fn new() -> Self {
        Self { kept: Vec::new() }
    }

    /// A zone of `len` elements. Guards of 3 or 4 elements: aligned to more than an
    /// element for every second length only.
    pub(crate) fn take<C: Communicator<Memory = M>>(
        &mut self,
        comm: &C,
        dtype: Dtype,
        len: usize,
    ) -> Result<Zone<M>, Error> {
        let guard = 4 - len % 2;
        let whole = len.saturating_add(2 * guard);
        let fits = |buffer: &Buffer<Dyn, M>| buffer.dtype() == dtype && buffer.len() >= whole;
        let buffer = match self.kept.iter().position(fits) {
            Some(at) => self.kept.swap_remove(at),
            None => comm.dyn_buffer(dtype, whole)?,
        };
        Ok(Zone { buffer, guard, len })
    }

    /// Keeps the buffer for later cases: of each type, the two longest.
    pub(crate) fn give_back(&mut self, zone: Zone<M>) {
        let dtype = zone.buffer.dtype();
        self.kept.push(zone.buffer);
        let same = |kept: &Buffer<Dyn, M>| kept.dtype() == dtype;
        if self.kept.iter().filter(|kept| same(kept)).count() > 2 {
            let all = self.kept.iter().enumerate().filter(|(_, kept)| same(kept));
            if let Some((shortest, _)) = all.min_by_key(|(_, kept)| kept.len()) {
                self.kept.swap_remove(shortest);
            }
        }
    }
}

impl<M: Memory> Zone<M> {
    fn whole(&self) -> Range<usize> {
        0..self.len.saturating_add(2 * self.guard)
    }

    fn inner(&self) -> Range<usize> {
        self.guard..self.guard.saturating_add(self.len)
    }

    /// The part that a call may read.
    pub(crate) fn view(&self) -> Result<View<'_, Dyn, M>, Error> {
        self.buffer.slice(self.inner())
    }

    /// The part that a call may write.
    pub(crate) fn view_mut(&mut self) -> Result<ViewMut<'_, Dyn, M>, Error> {
        let inner = self.inner();
        self.buffer.slice_mut(inner)
    }

    /// Enqueues a write of the part and of its guards.
    pub(crate) fn fill<S: Stream<Memory = M>>(
        &mut self,
        stream: &S,
        content: &[u8],
    ) -> Result<(), Error> {
        let border = vec![GUARD; self.guard.saturating_mul(width(self.buffer.dtype()))];
        let whole = self.whole();
        let bytes = [&border, content, &border].concat();
        stream.write_bytes(self.buffer.slice_mut(whole)?, &bytes)
    }

    /// Enqueues a copy of the part and of its guards.
    pub(crate) fn fetch<S: Stream<Memory = M>>(
        &self,
        stream: &S,
    ) -> Result<Pending<Vec<u8>>, Error> {
        stream.fetch_bytes(self.buffer.slice(self.whole())?)
    }

    /// The part, out of what was fetched, if the guards are as they were.
    pub(crate) fn open<'b>(&self, whole: &'b [u8], what: &str) -> Result<&'b [u8], Defect> {
        let border = self.guard.saturating_mul(width(self.buffer.dtype()));
        let end = whole.len().saturating_sub(border);
        let (Some(before), Some(part), Some(behind)) =
            (whole.get(..border), whole.get(border..end), whole.get(end..))
        else {
            return Err(Defect::new(format!("the {what} came back with {} bytes", whole.len())));
        };
        let touched = |guard: &[u8]| guard.iter().any(|byte| *byte != GUARD);
        match (touched(before), touched(behind)) {
            (false, false) => Ok(part),
            (true, _) => Err(Defect::new(format!("elements before the {what} were overwritten"))),
            (_, true) => Err(Defect::new(format!("elements behind the {what} were overwritten"))),
        }
    }
}
