//! Where the calls of one communicator meet, a slot for each of the last few.
//!
//! A rank writes its own seat only, and counts itself in. Whoever is counted last has all
//! the seats; nobody else looks at them before the slot is free again.

use super::sync::{AtomicU64, AtomicUsize, Mutex, MutexGuard, Ordering, PoisonError};

/// The calls of one communicator that are under way, by their number.
pub(crate) struct Ring<T> {
    slots: Box<[Slot<T>]>,
    /// All calls below this number are over, and their slots free.
    over: AtomicU64,
}

/// One call of all ranks.
struct Slot<T> {
    /// How many have come.
    come: AtomicUsize,
    seats: Box<[Seat<T>]>,
}

/// One rank's part. A cache line of its own: its rank writes it while others write theirs.
#[repr(align(64))]
struct Seat<T>(Mutex<Option<T>>);

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
        let seat = |_| Seat(Mutex::new(None));
        let slot = |_| Slot { come: AtomicUsize::new(0), seats: (0..ranks).map(seat).collect() };
        Self { slots: (0..calls.max(1)).map(slot).collect(), over: AtomicU64::new(0) }
    }

    /// The number before which every call is over.
    pub(crate) fn over(&self) -> u64 {
        // Acquire: whoever sees a slot free sees it emptied.
        self.over.load(Ordering::Acquire)
    }

    /// Whether a call of that number has a slot now.
    pub(crate) fn has_room(&self, number: u64) -> bool {
        let under_way = number.saturating_sub(self.over());
        usize::try_from(under_way).is_ok_and(|under_way| under_way < self.slots.len())
    }

    /// Takes a rank's seat in a call that [has room](Self::has_room). Each rank comes once.
    pub(crate) fn come(&self, number: u64, seat: usize, item: T) -> Came {
        let Some(slot) = self.slot(number) else { return Came::Before };
        if let Some(mut seat) = slot.seat(seat) {
            *seat = Some(item);
        }
        // Release: the last sees every seat. Acquire: as the last, this one does.
        let come = slot.come.fetch_add(1, Ordering::AcqRel).saturating_add(1);
        if come == slot.seats.len() { Came::Last } else { Came::Before }
    }

    /// Every seat of a call, for the last to come.
    pub(crate) fn seats(&self, number: u64) -> impl Iterator<Item = MutexGuard<'_, Option<T>>> {
        let seats = self.slot(number).map_or(0, |slot| slot.seats.len());
        (0..seats).filter_map(move |seat| self.slot(number)?.seat(seat))
    }

    /// The call is over, and its slot free. For the last to come, once the seats are empty.
    pub(crate) fn finish(&self, number: u64) {
        if let Some(slot) = self.slot(number) {
            slot.come.store(0, Ordering::Relaxed);
        }
        // Release: whoever finds room in the slot finds it empty.
        self.over.store(number.saturating_add(1), Ordering::Release);
    }

    /// Takes a rank's item back. Nobody may come meanwhile.
    pub(crate) fn take(&self, number: u64, seat: usize) -> Option<T> {
        let slot = self.slot(number)?;
        let item = slot.seat(seat)?.take();
        if item.is_some() {
            slot.come.fetch_sub(1, Ordering::Relaxed);
        }
        item
    }

    /// The next call has that number. Nobody may come meanwhile, and no seat be taken.
    pub(crate) fn restart(&self, number: u64) {
        self.over.store(number, Ordering::Release);
    }

    fn slot(&self, number: u64) -> Option<&Slot<T>> {
        let slots = u64::try_from(self.slots.len()).unwrap_or(u64::MAX);
        let slot = number.checked_rem(slots)?;
        self.slots.get(usize::try_from(slot).ok()?)
    }
}

impl<T> Slot<T> {
    fn seat(&self, seat: usize) -> Option<MutexGuard<'_, Option<T>>> {
        let seat = self.seats.get(seat)?;
        // Nothing panics under it; what is in it is whole in any case.
        Some(seat.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
