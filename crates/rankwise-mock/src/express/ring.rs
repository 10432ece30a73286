//! Where the calls of one communicator meet, a slot for each of the last few.
//!
//! A rank writes its own seat only, and counts itself in. Whoever is counted last reads all
//! the seats; nobody writes there before the slot is free again. So a call costs no lock
//! and, from one core to another, the lines of a seat and two counters.

use super::sync::{AtomicU64, AtomicUsize, Ordering, UnsafeCell};

/// The calls of one communicator that are under way, by their number.
pub(crate) struct Ring<T> {
    slots: Box<[Slot<T>]>,
    /// All calls below this number are over, and their slots free.
    over: Counter<AtomicU64>,
}

/// One call of all ranks.
struct Slot<T> {
    /// How many have come.
    come: Counter<AtomicUsize>,
    seats: Box<[Seat<T>]>,
}

/// One rank's part. Cache lines of its own: its rank writes it while others write theirs.
#[repr(align(64))]
struct Seat<T>(UnsafeCell<Option<T>>);

/// A cache line of its own.
#[repr(align(64))]
struct Counter<T>(T);

// SAFETY: a seat is used by one thread at a time, as the callers of `come`, `look` and `take`
// promise; and an item may be used by other threads than the one that brought it.
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for Seat<T> {}

/// Who a rank was among those that came to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// Others are still to come.
    Before,
    /// The last: all seats are taken.
    Last,
}

impl<T> Ring<T> {
    /// A ring of so many calls at once, all of them free.
    pub(crate) fn new(calls: usize, ranks: usize) -> Self {
        let seat = |_| Seat(UnsafeCell::new(None));
        let come = || Counter(AtomicUsize::new(0));
        let slot = |_| Slot { come: come(), seats: (0..ranks).map(seat).collect() };
        let slots = (0..calls.max(1)).map(slot).collect();
        Self { slots, over: Counter(AtomicU64::new(0)) }
    }

    /// The number before which every call is over.
    pub(crate) fn over(&self) -> u64 {
        // Acquire: whoever sees a slot free sees what was read there read.
        self.over.0.load(Ordering::Acquire)
    }

    /// Whether a call of that number has a slot now.
    pub(crate) fn has_room(&self, number: u64) -> bool {
        let under_way = number.saturating_sub(self.over());
        usize::try_from(under_way).is_ok_and(|under_way| under_way < self.slots.len())
    }

    /// Takes a rank's seat in a call.
    ///
    /// # Safety
    ///
    /// The call [has room](Self::has_room). Each rank comes once to each call, to one after
    /// the other, and one thread at a time comes for it.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn come(&self, number: u64, seat: usize, item: T) -> Came {
        let Some(slot) = self.slot(number) else { return Came::Before };
        if let Some(seat) = slot.seats.get(seat) {
            // SAFETY: the rank is here for the first time since the slot was free, and alone,
            // by the contract; and whoever had read the seat before had done so when the
            // slot became free. The last of this call looks only once this rank is counted.
            seat.0.with_mut(|seat| unsafe { *seat = Some(item) });
        }
        // Release: the last sees every seat. Acquire: as the last, this one does.
        let come = slot.come.0.fetch_add(1, Ordering::AcqRel).saturating_add(1);
        if come == slot.seats.len() { Came::Last } else { Came::Before }
    }

    /// Looks at every seat of a call, in order.
    ///
    /// # Safety
    ///
    /// Only the last that came to the call looks, before it [finishes](Self::finish) it.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn look(&self, number: u64, mut look: impl FnMut(&T)) {
        let seats = self.slot(number).map(|slot| &slot.seats);
        for seat in seats.into_iter().flatten() {
            // SAFETY: every rank has come, and comes again only when the call is over; nobody
            // else looks, by the contract.
            seat.0.with(|seat| unsafe { (*seat).as_ref() }.map(&mut look));
        }
    }

    /// The call is over, and its slot free. For the last to come, when it has looked.
    pub(crate) fn finish(&self, number: u64) {
        if let Some(slot) = self.slot(number) {
            slot.come.0.store(0, Ordering::Relaxed);
        }
        // Release: whoever finds room in the slot finds nobody reading it.
        self.over.0.store(number.saturating_add(1), Ordering::Release);
    }

    /// Takes back what a rank has brought to a call that is not over.
    ///
    /// # Safety
    ///
    /// The rank has come to the call. Nobody comes or looks meanwhile.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn take(&self, number: u64, seat: usize) -> Option<T> {
        let slot = self.slot(number)?;
        // SAFETY: nobody else is here, by the contract.
        let item = slot.seats.get(seat)?.0.with_mut(|seat| unsafe { (*seat).take() });
        slot.come.0.fetch_sub(1, Ordering::Relaxed);
        item
    }

    /// The next call has that number. Nobody may come meanwhile, and no seat be taken.
    pub(crate) fn restart(&self, number: u64) {
        self.over.0.store(number, Ordering::Release);
    }

    fn slot(&self, number: u64) -> Option<&Slot<T>> {
        let slots = u64::try_from(self.slots.len()).unwrap_or(u64::MAX);
        let slot = number.checked_rem(slots)?;
        self.slots.get(usize::try_from(slot).ok()?)
    }
}
