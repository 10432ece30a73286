//! What every rank holds after each passage of a schedule, by kind.
//!
//! Logical holdings: what a rank must have somewhere. Not allocator peaks: nothing is
//! said of blocks that are kept for reuse, of fragments, of temporary buffers that
//! live and end inside a passage, nor of activations that a scheme says nothing about.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use rankwise_model::Dtype;
use rankwise_topology::WorldRank;

use super::draft::{Draft, Event, Kind, Part};
use crate::error::{Fault, PlanError, Span};
use crate::evaluate::{Evaluation, evaluate};
use crate::memory::ranks;
use crate::plan::Plan;
use crate::term::Terms;

/// What figures of [`Holdings`] leave open.
pub const NOT_PEAKS: &str = "logical holdings per rank: what it must have somewhere. They are not \
    allocator peaks: no blocks kept for reuse, no fragments, no buffers that live and end inside \
    one passage, no activations but those listed.";

/// What ranks hold, moment by moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// The moments, in the order of the schedule.
    pub moments: Vec<Moment>,
}

/// What ranks hold after one passage of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// What was done up to now, in words.
    pub title: String,
    /// Ranks that hold the same amounts, and what those are.
    pub held: Vec<(Vec<WorldRank>, Held)>,
}

/// What one rank holds at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    /// By kind; a kind of which nothing is held is not in it.
    pub kinds: BTreeMap<Kind, Amount>,
}

/// How much of one kind a rank holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount {
    /// Of every layer, or of some.
    pub extent: Extent,
    /// Elements by element type. Two moments of `k` parameters are 2·`k` elements.
    pub elements: BTreeMap<Dtype, u64>,
    /// All of them, in bytes.
    pub bytes: u64,
}

/// Whether a rank has the whole of what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Extent {
    /// Of every layer all elements.
    Full,
    /// Of some layers all elements.
    Partly {
        /// Of how many.
        full: u64,
        /// Of how many layers only a shard.
        shard: u64,
        /// How many layers there are.
        layers: u64,
    },
    /// Of every layer a shard.
    Shard,
}

impl Holdings {
    /// Whether anything of a kind is ever held.
    pub fn has(&self, kind: Kind) -> bool {
        let held = self.moments.iter().flat_map(|moment| &moment.held);
        held.into_iter().any(|(_, held)| held.kinds.contains_key(&kind))
    }
}

impl Held {
    /// The bytes of all kinds together.
    pub fn bytes(&self) -> u64 {
        self.kinds.values().fold(0, |sum, amount| sum.saturating_add(amount.bytes))
    }
}

impl Draft {
    /// What every rank holds after each passage of the schedule; of programs, if they
    /// complete.
    ///
    /// # Errors
    ///
    /// Past a [limit](crate::limits), or more bytes than 64 bits count.
    pub fn holdings(&self) -> Result<Holdings, PlanError> {
        let plan = self.schedule()?;
        let Some(proposal) = plan.proposals.first() else {
            return Ok(Holdings { moments: Vec::new() });
        };
        let evaluation = evaluate(&plan, proposal, &mut Terms::new())?;
        self.of_schedule(&plan, &evaluation)
    }

    fn of_schedule(&self, plan: &Plan, evaluation: &Evaluation) -> Result<Holdings, PlanError> {
        let mut books: Vec<Book> = ranks(plan.world).map(|_| Book::default()).collect();
        let parts: BTreeSet<(Kind, usize)> =
            self.parts.values().map(|part| (part.kind, part.of)).collect();
        let mut moments = Vec::new();
        for passage in &self.passages {
            for event in &passage.events {
                self.happens(event, plan, evaluation, &mut books)?;
            }
            let mut held: BTreeMap<Held, Vec<WorldRank>> = BTreeMap::new();
            for (rank, book) in ranks(plan.world).zip(&books) {
                held.entry(book.held(&parts)?).or_default().push(rank);
            }
            let mut held: Vec<_> = held.into_iter().map(|(held, ranks)| (ranks, held)).collect();
            held.sort_by(|(one, _), (other, _)| one.cmp(other));
            moments.push(Moment { title: passage.title.clone(), held });
        }
        Ok(Holdings { moments })
    }

    fn happens(
        &self,
        event: &Event,
        plan: &Plan,
        evaluation: &Evaluation,
        books: &mut [Book],
    ) -> Result<(), PlanError> {
        match event {
            Event::Appears(buffer, on) => {
                let here = ranks(plan.world).filter(|rank| on.contains(&u64::from(rank.index())));
                for rank in here {
                    if let Some(vector) = evaluation.before.get(rank, buffer) {
                        self.enter(books, rank, buffer, (vector.dtype(), vector.count()))?;
                    }
                }
            }
            Event::Step(index) => {
                for write in evaluation.steps.get(*index).into_iter().flat_map(|step| &step.writes)
                {
                    let size = (write.vector.dtype(), write.vector.count());
                    self.enter(books, write.rank, &write.buffer, size)?;
                }
            }
            Event::Goes(buffer, on) => {
                for (rank, book) in (0..).zip(books) {
                    if on.contains(&rank) {
                        book.live.remove(buffer);
                    }
                }
            }
        }
        Ok(())
    }

    fn enter(
        &self,
        books: &mut [Book],
        rank: WorldRank,
        buffer: &str,
        (dtype, count): (Dtype, u64),
    ) -> Result<(), PlanError> {
        let part = self.part_of(buffer).ok_or_else(|| PlanError {
            kind: Fault::UnknownName,
            span: Span::default(),
            path: alloc::format!("template.{}", self.name),
            found: alloc::format!("buffer `{buffer}`"),
            expected: String::from("a buffer whose kind the template says"),
        })?;
        let book = usize::try_from(rank.index()).ok().and_then(|index| books.get_mut(index));
        if let Some(book) = book.filter(|_| count > 0 && !self.views.contains(buffer)) {
            book.live.insert(buffer.into(), Entry { part, dtype, count });
        }
        Ok(())
    }
}

/// The buffers that one rank has.
#[derive(Clone, Debug, Default)]
struct Book {
    live: BTreeMap<String, Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    part: Part,
    dtype: Dtype,
    count: u64,
}

impl Book {
    fn held(&self, parts: &BTreeSet<(Kind, usize)>) -> Result<Held, PlanError> {
        let mut held = Held::default();
        for kind in Kind::ALL {
            let of_kind = || self.live.values().filter(move |entry| entry.part.kind == kind);
            let mut layers: BTreeMap<usize, bool> = BTreeMap::new();
            let (mut elements, mut bytes) = (BTreeMap::new(), Some(0_u64));
            for entry in of_kind() {
                let full = layers.entry(entry.part.of).or_insert(false);
                *full |= entry.count >= entry.part.whole;
                let sum: &mut u64 = elements.entry(entry.dtype).or_insert(0);
                *sum = sum.saturating_add(entry.count);
                let size = entry.count.checked_mul(entry.dtype.bytes());
                bytes = bytes.zip(size).and_then(|(sum, size)| sum.checked_add(size));
            }
            if layers.is_empty() {
                continue;
            }
            let bytes = bytes.ok_or_else(too_much)?;
            // Of activations there is no whole set: they come and go.
            let of_kind = match kind {
                Kind::Activations => layers.len(),
                _ => parts.iter().filter(|(of, _)| *of == kind).count(),
            };
            let full = layers.values().filter(|full| **full).count();
            let extent = if full == of_kind {
                Extent::Full
            } else if full == 0 && layers.len() == of_kind {
                Extent::Shard
            } else {
                let number = |count| u64::try_from(count).unwrap_or(u64::MAX);
                Extent::Partly {
                    full: number(full),
                    shard: number(layers.len().saturating_sub(full)),
                    layers: number(of_kind),
                }
            };
            held.kinds.insert(kind, Amount { extent, elements, bytes });
        }
        Ok(held)
    }
}

fn too_much() -> PlanError {
    PlanError {
        kind: Fault::Overflow,
        span: Span::default(),
        path: String::new(),
        found: String::from("more bytes on one rank than 64 bits count"),
        expected: String::from("fewer than 2^64"),
    }
}
