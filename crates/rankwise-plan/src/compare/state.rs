//! The states of two proposals, place by place.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_topology::WorldRank;

use crate::equal::{Equality, equality};
use crate::memory::{Origins, identity, ranks};
use crate::plan::Plan;
use crate::sense::{Gathering, Grounds, Sense};
use crate::surface::{Evaluated, Surface};
use crate::term::{InputId, Placed, Terms};
use crate::vector::{Content, Run, Vector, side_by_side};
use crate::wrong::NOT_PROVEN;

/// Whether two states are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Equal domains and equal terms.
    Same,
    /// A place holds something else, or the places differ.
    Different,
    /// Something that it depends on is not stated.
    Unknown,
}

impl State {
    /// The name used in machine output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Different => "different",
            Self::Unknown => "unknown",
        }
    }
}

/// Whether two states are the same, and why.
#[derive(Clone, Debug)]
pub struct StateReport {
    /// The answer.
    pub state: State,
    /// Where they first differ, or first may.
    pub evidence: Option<Difference>,
    /// For an unknown state: what is not stated, in words.
    pub because: Vec<String>,
    sense: Option<Sense>,
    grounds: Grounds,
}

/// The first place at which two states differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The places themselves differ: other devices, another number of ranks.
    Places {
        /// The places of the first that the second does not have, or their number.
        first: String,
        /// The same the other way round.
        second: String,
    },
    /// One place holds different values.
    Values {
        /// The place: a device, or a rank.
        place: String,
        /// The rank that it is in the first, and in the second.
        ranks: [WorldRank; 2],
        /// The buffer.
        buffer: String,
        /// The positions.
        positions: Range<u64>,
        /// What the first holds there.
        first: String,
        /// What the second holds there.
        second: String,
    },
}

impl StateReport {
    /// The weakest sense in which the states are the same, if they are.
    pub fn sense(&self) -> Option<Sense> {
        self.sense.filter(|_| self.state == State::Same)
    }

    /// What the sameness rests on, if the states are the same; else nothing.
    pub const fn grounds(&self) -> &Grounds {
        &self.grounds
    }

    fn different(evidence: Difference) -> Self {
        let evidence = Some(evidence);
        Self {
            state: State::Different,
            evidence,
            because: Vec::new(),
            sense: None,
            grounds: Grounds::default(),
        }
    }

    fn unknown(because: Vec<String>, evidence: Option<Difference>) -> Self {
        Self { state: State::Unknown, evidence, because, sense: None, grounds: Grounds::default() }
    }

    pub(super) fn of(
        left: &Evaluated<'_>,
        right: &Evaluated<'_>,
        surface: &Surface,
        terms: &mut Terms,
    ) -> Self {
        let pairs = match places(left.plan, right.plan) {
            Ok(pairs) => pairs,
            Err(Mismatch::Unknown(because)) => {
                return Self::unknown(alloc::vec![because], None);
            }
            Err(Mismatch::Different(evidence)) => return Self::different(evidence),
        };
        let doubtful = doubtful_inputs(left.plan, right.plan, terms);
        let mut walk = Walk {
            terms,
            doubtful: &doubtful,
            seen: BTreeSet::new(),
            lists: BTreeSet::new(),
            doubts: BTreeSet::new(),
            weakest: None,
            grounds: Gathering::default(),
            open: None,
        };
        for Pair { place, ranks } in &pairs {
            for buffer in &surface.compared {
                let held = [(left, ranks[0]), (right, ranks[1])]
                    .map(|(side, rank)| side.proposal.held(&side.evaluation.after, rank, buffer));
                let found = walk.compare(held.map(|held| held.map(AsRef::as_ref)));
                if let Some(Found { positions, texts: [first, second], certain }) = found {
                    let (place, buffer, ranks) = (place.clone(), buffer.clone(), *ranks);
                    let evidence =
                        Difference::Values { place, ranks, buffer, positions, first, second };
                    if certain {
                        return Self::different(evidence);
                    }
                    walk.open = walk.open.or(Some(evidence));
                }
            }
        }
        if walk.doubts.is_empty() && surface.compared.is_empty() {
            let because = "no buffer is compared: no outputs, no needs, none that both write";
            return Self::unknown(alloc::vec![because.to_string()], None);
        }
        if walk.doubts.is_empty() {
            let sense = walk.weakest.or(Some(Sense::Exact));
            let grounds = walk.grounds.into_grounds();
            return Self {
                state: State::Same,
                evidence: None,
                because: Vec::new(),
                sense,
                grounds,
            };
        }
        Self::unknown(walk.doubts.into_iter().collect(), walk.open)
    }
}

/// The same place on both sides.
struct Pair {
    place: String,
    ranks: [WorldRank; 2],
}

enum Mismatch {
    Unknown(String),
    Different(Difference),
}

/// Pairs the ranks of both plans by place.
fn places(left: &Plan, right: &Plan) -> Result<Vec<Pair>, Mismatch> {
    match (&left.map, &right.map) {
        (None, None) if left.world == right.world => Ok(ranks(left.world)
            .map(|rank| Pair { place: format!("rank {rank}"), ranks: [rank, rank] })
            .collect()),
        (None, None) => {
            let (first, second) =
                (format!("{} ranks", left.world), format!("{} ranks", right.world));
            Err(Mismatch::Different(Difference::Places { first, second }))
        }
        (Some(_), Some(_)) => {
            let [mut first, mut second] = [places_of(left), places_of(right)];
            let only = |some: &BTreeMap<_, _>, others: &BTreeMap<_, _>| {
                let own = some.keys().filter(|place| !others.contains_key(*place));
                own.map(|(device, _): &(String, usize)| device.as_str())
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let (lost, gained) = (only(&first, &second), only(&second, &first));
            if !lost.is_empty() || !gained.is_empty() {
                let difference = Difference::Places { first: lost, second: gained };
                return Err(Mismatch::Different(difference));
            }
            let mut pairs = Vec::new();
            while let (Some((place, one)), Some((_, other))) =
                (first.pop_first(), second.pop_first())
            {
                pairs.push(Pair { place: format!("device {}", place.0), ranks: [one, other] });
            }
            Ok(pairs)
        }
        (given, _) => {
            let which = if given.is_some() { "second" } else { "first" };
            Err(Mismatch::Unknown(format!("the {which} plan states no devices")))
        }
    }
}

/// By device, and by how many ranks before it are on the same device: the rank.
type Places = BTreeMap<(String, usize), WorldRank>;

fn places_of(plan: &Plan) -> Places {
    let mut places = BTreeMap::new();
    let mut before: BTreeMap<String, usize> = BTreeMap::new();
    for rank in ranks(plan.world) {
        let device = plan.device_of(rank).unwrap_or_default();
        let index = before.entry(device.clone()).or_insert(0);
        places.insert((device, *index), rank);
        *index = index.saturating_add(1);
    }
    places
}

/// Inputs that cannot be taken for the same in both plans, with the reason.
fn doubtful_inputs(left: &Plan, right: &Plan, terms: &mut Terms) -> BTreeMap<InputId, String> {
    let mut doubtful = BTreeMap::new();
    if core::ptr::eq(left, right) {
        return doubtful;
    }
    for (plan, other, which) in [(left, right, "second"), (right, left, "first")] {
        let (origins, others) = (Origins::of(plan), Origins::of(other));
        for input in plan.inputs.values() {
            let name = &input.name;
            let reason = match other.inputs.get(name) {
                None => format!("input `{name}`: the {which} plan has none of that name"),
                Some(twin) if twin.dtype != input.dtype => {
                    format!(
                        "input `{name}`: {} in one plan, {} in the other",
                        input.dtype, twin.dtype
                    )
                }
                Some(twin)
                    if identity(twin, &others).counts != identity(input, &origins).counts =>
                {
                    format!(
                        "input `{name}`: {} elements in one plan, {} in the other",
                        input.counts, twin.counts
                    )
                }
                Some(twin) if twin.attached != input.attached => {
                    format!(
                        "input `{name}`: attached to devices in one plan, to ranks in the other"
                    )
                }
                Some(twin) => match (&input.meaning, &twin.meaning) {
                    (Some(one), Some(other)) if one == other => continue,
                    (Some(one), Some(other)) => {
                        format!("input `{name}`: \"{one}\" in one plan, \"{other}\" in the other")
                    }
                    _ => format!("input `{name}`: its meaning is not stated in both plans"),
                },
            };
            doubtful.insert(terms.input(&identity(input, &origins)), reason);
        }
    }
    doubtful
}

struct Walk<'a> {
    terms: &'a Terms,
    doubtful: &'a BTreeMap<InputId, String>,
    /// Pairs of vectors already found the same.
    seen: BTreeSet<(usize, usize)>,
    /// Lists of terms that were looked through, by where they are.
    lists: BTreeSet<(usize, usize)>,
    doubts: BTreeSet<String>,
    weakest: Option<Sense>,
    grounds: Gathering,
    open: Option<Difference>,
}

/// A difference between what two places hold.
struct Found {
    positions: Range<u64>,
    texts: [String; 2],
    /// Whether nothing in it depends on what is not stated.
    certain: bool,
}

impl Walk<'_> {
    /// The first difference between what two places hold in one buffer.
    fn compare(&mut self, held: [Option<&Vector>; 2]) -> Option<Found> {
        let [first, second] = held;
        let nothing = Vector::empty(rankwise_model::Dtype::U8);
        let (first, second) = (first.unwrap_or(&nothing), second.unwrap_or(&nothing));
        let key = (core::ptr::from_ref(first).addr(), core::ptr::from_ref(second).addr());
        if held.iter().all(Option::is_some) && self.seen.contains(&key) {
            return None;
        }
        if first.is_kept_like(second) {
            // Equal, position for position: what is left is what that rests on.
            for list in first.term_lists() {
                if list.len() > 1 && !self.lists.insert((list.as_ptr().addr(), list.len())) {
                    continue;
                }
                for term in list {
                    let content = Content::Term(Placed { term: *term, at: 0 });
                    // It equals itself: no difference is found.
                    _ = self.differ(&(0..1), content, content);
                }
            }
            if held.iter().all(Option::is_some) {
                self.seen.insert(key);
            }
            return None;
        }
        let vectors = [first, second];
        for (positions, contents) in side_by_side(&vectors) {
            if let [one, other] = contents.as_slice()
                && let Some(found) = self.differ(&positions, *one, *other)
            {
                return Some(found);
            }
        }
        let (short, long) = (first.count().min(second.count()), first.count().max(second.count()));
        let rest = if first.count() > short { first } else { second };
        for run in rest.within(short..long) {
            if let Content::Term(_) = run.content {
                let positions = run.positions.start.saturating_add(short)
                    ..run.positions.end.saturating_add(short);
                let held = self.terms.show_run(&run);
                let nothing = "nothing".to_string();
                let texts = if first.count() > short { [held, nothing] } else { [nothing, held] };
                return Some(Found { positions, texts, certain: true });
            }
        }
        self.seen.insert(key);
        None
    }

    fn differ(&mut self, positions: &Range<u64>, one: Content, other: Content) -> Option<Found> {
        let count = positions.end.saturating_sub(positions.start);
        let terms = self.terms;
        let found = |certain| Found {
            positions: positions.clone(),
            texts: [one, other]
                .map(|content| terms.show_run(&Run { positions: 0..count, content })),
            certain,
        };
        let (Content::Term(first), Content::Term(second)) = (one, other) else {
            // Two positions that are not in the domain do not differ.
            let both_gaps = matches!((one, other), (Content::Gap(_), Content::Gap(_)));
            return (!both_gaps).then(|| found(true));
        };
        let mut doubts = BTreeSet::new();
        for placed in [first, second] {
            let Some(form) = terms.forms().of(placed) else { continue };
            if terms.forms().is_unknown(form.form) {
                doubts.insert("a reduction is not named".to_string());
            }
            if !self.doubtful.is_empty() {
                let inputs = terms.forms().inputs_of(form.form);
                doubts.extend(inputs.iter().filter_map(|input| self.doubtful.get(input)).cloned());
            }
        }
        let certain = doubts.is_empty();
        self.doubts.extend(doubts);
        match equality(terms, one, other) {
            Equality::Equal(sense) => {
                self.weakest = self.weakest.max(Some(sense));
                self.grounds.add(terms, first, second);
                None
            }
            Equality::NotProven => {
                self.doubts.insert(NOT_PROVEN.to_string());
                Some(found(false))
            }
            Equality::Differ | Equality::BothGaps => Some(found(certain)),
        }
    }
}
