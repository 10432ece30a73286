//! The states of two proposals, place by place.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::{ControlFlow, Range};

use rankwise_topology::WorldRank;

use super::sides::Sides;
use super::walk::Walk;
use crate::memory::{Origins, identity, ranks};
use crate::plan::Plan;
use crate::sense::{Grounds, Sense};
use crate::surface::{Evaluated, Surface};
use crate::term::{InputId, Terms};
use crate::wrong::Wrong;

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
        /// What that is by name, were the other side's value the one that is needed;
        /// empty where the difference itself is not certain.
        named: Named,
    },
}

/// What one side of a comparison is, measured by the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Which side is measured: 1 for the second, and 0 for the first where it has nothing
    /// in a place in which the second has something.
    pub side: usize,
    /// What would be wrong with it.
    pub wrongs: Vec<Wrong>,
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
            Err(Mismatch::Different([first, second])) => {
                return Self::different(Difference::Places { first, second });
            }
        };
        let doubtful = doubtful_inputs(left.plan, right.plan, terms);
        let mut walk = Walk::new(terms, &doubtful);
        let mut open = None;
        let naming = Sides { terms: walk.terms, sides: [left, right], pairs: &pairs };
        for Pair { place, ranks } in &pairs {
            for buffer in &surface.compared {
                let Some(found) = walk.first(naming.held(buffer, *ranks)) else { continue };
                let named = if found.certain {
                    naming.named(buffer, *ranks, &found)
                } else {
                    Named::default()
                };
                let (certain, place) = (found.certain, place.clone());
                let evidence = found.told(walk.terms, (place, *ranks, buffer), named);
                if certain {
                    return Self::different(evidence);
                }
                open = open.or(Some(evidence));
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
        Self::unknown(walk.doubts.into_iter().collect(), open)
    }
}

impl Difference {
    /// Whether this and `other` are one place, whatever else is said of it.
    pub fn is_where(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Values { place, buffer, positions, .. },
                Self::Values { place: at, buffer: of, positions: from, .. },
            ) => (place, buffer, positions) == (at, of, from),
            (Self::Places { .. }, Self::Places { .. }) => true,
            _ => false,
        }
    }

    /// Every known difference between two states, place by place, buffer by buffer and
    /// run by run. How each is called is left to the first.
    pub(super) fn all(
        left: &Evaluated<'_>,
        right: &Evaluated<'_>,
        surface: &Surface,
        terms: &mut Terms,
    ) -> Vec<Self> {
        let pairs = match places(left.plan, right.plan) {
            Ok(pairs) => pairs,
            Err(Mismatch::Unknown(_)) => return Vec::new(),
            Err(Mismatch::Different([first, second])) => {
                return alloc::vec![Self::Places { first, second }];
            }
        };
        let doubtful = doubtful_inputs(left.plan, right.plan, terms);
        let mut walk = Walk::new(terms, &doubtful);
        let sides = Sides { terms: walk.terms, sides: [left, right], pairs: &pairs };
        let mut all = Vec::new();
        for Pair { place, ranks } in &pairs {
            for buffer in &surface.compared {
                _ = walk.each(sides.held(buffer, *ranks), &mut |found| {
                    if found.certain {
                        let place = (place.clone(), *ranks, buffer.as_str());
                        all.push(found.told(sides.terms, place, Named::default()));
                    }
                    ControlFlow::Continue(())
                });
            }
        }
        all
    }
}

/// The same place on both sides.
pub(super) struct Pair {
    place: String,
    pub(super) ranks: [WorldRank; 2],
}

enum Mismatch {
    Unknown(String),
    /// The places of each that the other does not have, or their number.
    Different([String; 2]),
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
            Err(Mismatch::Different([first, second]))
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
                return Err(Mismatch::Different([lost, gained]));
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
