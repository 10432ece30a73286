//! Handing out the shares of a job.

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;
use std::thread;

/// Which shares nobody has taken yet.
///
/// Shares that follow each other form a *section*, with a cursor of its own. Every thread
/// begins at a section of its own, and helps with the others after that. So as long as
/// all keep pace, they do not meet at a cursor, and a thread that does the same job again
/// and again finds its part in its own cache; and whoever is held up is waited for
/// by nobody, since the others take what it leaves.
pub(super) struct Cursors {
    shares: usize,
    /// The next share of the whole, if it is one section.
    only: Cursor,
    /// Otherwise, of each section.
    sections: Vec<Cursor>,
}

/// The next share of a section, alone on its cache lines (which come in pairs).
#[repr(align(128))]
struct Cursor(AtomicUsize);

impl Cursors {
    /// Each section is looked at once all is taken: more would cost more than they bring.
    const SECTIONS: usize = 8;

    /// How many sections are worth it for so many who may work; at least one.
    pub(super) fn sections(workers: usize) -> usize {
        workers.min(cores()).clamp(1, Self::SECTIONS)
    }

    /// For so many shares, of which there is at least one, in at most so many sections.
    pub(super) fn new(shares: usize, sections: usize) -> Self {
        let cursor = |at: usize| Cursor(AtomicUsize::new(at));
        let sections = sections.min(shares);
        let sections = if sections < 2 { 0 } else { sections };
        let starts = (0..sections).map(|section| cursor(border(shares, section, sections)));
        Self { shares, only: cursor(0), sections: starts.collect() }
    }

    /// As at first.
    pub(super) fn restart(&mut self) {
        *self.only.0.get_mut() = 0;
        let sections = self.sections.len();
        for (section, cursor) in self.sections.iter_mut().enumerate() {
            *cursor.0.get_mut() = border(self.shares, section, sections);
        }
    }

    /// Nothing is left to take.
    pub(super) fn exhaust(&mut self) {
        *self.only.0.get_mut() = self.shares;
        for cursor in &mut self.sections {
            *cursor.0.get_mut() = self.shares;
        }
    }

    /// How many there were at first.
    pub(super) const fn shares(&self) -> usize {
        self.shares
    }

    /// A share that nobody else has taken, if there is one left.
    pub(super) fn take(&self) -> Option<usize> {
        let sections = self.sections.len();
        if sections == 0 {
            return self.only.take(self.shares);
        }
        let first = home().checked_rem(sections)?;
        let (before, from_home) = self.sections.split_at_checked(first)?;
        let mut in_turn = from_home.iter().zip(first..).chain(before.iter().zip(0..));
        let end = |section: usize| border(self.shares, section.saturating_add(1), sections);
        in_turn.find_map(|(cursor, section)| cursor.take(end(section)))
    }
}

impl Cursor {
    /// The next share before `end`.
    fn take(&self, end: usize) -> Option<usize> {
        // A look first, so that the cursor of a finished job is not written for ever.
        if self.0.load(Ordering::Relaxed) >= end {
            return None;
        }
        // Relaxed: what a share needs was there before the job was handed out.
        let taken = self.0.fetch_add(1, Ordering::Relaxed);
        (taken < end).then_some(taken)
    }
}

/// The first share of a section.
fn border(shares: usize, section: usize, sections: usize) -> usize {
    shares.saturating_mul(section).checked_div(sections).unwrap_or(shares)
}

/// How many threads can be at work at once: it is their caches that sections are for.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Where this thread begins, modulo the number of sections. Threads that first work one
/// after the other, as those of one world do, begin at different ones.
fn home() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static HOME: Cell<Option<usize>> = const { Cell::new(None) };
    }
    HOME.get().unwrap_or_else(|| {
        let home = NEXT.fetch_add(1, Ordering::Relaxed);
        HOME.set(Some(home));
        home
    })
}
