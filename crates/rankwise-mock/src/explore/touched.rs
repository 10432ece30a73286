//! What a step has touched, and so which steps may be exchanged.

use rankwise_program::{Entry, Seq, Verb};
use rankwise_topology::WorldRank;

/// What a step has touched that other ranks may notice.
///
/// Two steps that can both be taken next, one of each of two ranks, lead to the same place
/// in either order if neither touches what the other depends on. That calls which agree
/// leave the same behind whoever came first is what the matcher is for; and that something
/// is reported in one order if it is in another, too. What is different once something has
/// been reported, is [`Caution`]'s.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    reach: Reach,
    /// What the ranks share outside of the communicators.
    host: bool,
    /// The matcher has been told of it: what is reported may hinge on it.
    told: bool,
    calls: Vec<Called>,
    /// On whose streams something is over by it.
    ended: Vec<WorldRank>,
    /// Something may be over by it on any stream.
    ends_any: bool,
    /// Of whose streams it has asked how far they are.
    asked: Vec<WorldRank>,
}

/// How far what it has touched reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// As far as is noted.
    #[default]
    Noted,
    /// It is exchanged with nothing.
    Everything,
    /// Nor is that all: something has failed.
    Trouble,
}

/// A call of a step.
#[derive(Clone, Debug)]
struct Called {
    entry: Entry,
    seq: Seq,
    /// How many members have not made it yet.
    missing: usize,
}

/// How much is believed of what steps do not touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Caution {
    /// Nothing has failed, and ranks ask for nobody's streams but their own.
    #[default]
    None,
    /// What a rank is told, of its own calls too, depends on what was reported before.
    All,
}

impl Touched {
    /// Something is made anew that all ranks may notice.
    pub(crate) fn everything(&mut self) {
        self.reach = self.reach.max(Reach::Everything);
    }

    /// Something has failed.
    pub(crate) const fn trouble(&mut self) {
        self.reach = Reach::Trouble;
    }

    /// Whether a step of that rank asks for caution.
    pub(super) fn is_trouble(&self, of: u32) -> bool {
        self.reach == Reach::Trouble || self.asked.iter().any(|asked| asked.index() != of)
    }

    pub(super) const fn host(&mut self) {
        self.host = true;
    }

    pub(crate) const fn told(&mut self) {
        self.told = true;
    }

    pub(crate) fn call(&mut self, entry: Entry, seq: Seq, missing: usize) {
        self.calls.push(Called { entry, seq, missing });
    }

    pub(crate) fn ended(&mut self, rank: WorldRank) {
        self.ended.push(rank);
    }

    pub(crate) fn asked(&mut self, rank: WorldRank) {
        self.asked.push(rank);
    }

    /// Whether it may be exchanged with a step of another rank.
    pub(super) fn commutes_with(&self, other: &Self, caution: Caution) -> bool {
        let notices = |one: &Self, two: &Self| {
            let ended = |rank| one.ends_any || one.ended.contains(rank);
            two.asked.iter().any(ended)
        };
        let contradicts =
            |one: &Called| other.calls.iter().any(|two| one.meets(two) && !one.agrees_with(two));
        self.reach.max(other.reach) == Reach::Noted
            && !(self.host && other.host)
            && !(caution == Caution::All && self.told && other.told)
            && !notices(self, other)
            && !notices(other, self)
            && !self.calls.iter().any(contradicts)
    }

    /// What it would touch after a step that it may be exchanged with: it may have become
    /// the one that completes a call.
    pub(super) fn after(&self, step: &Self) -> Self {
        let mut then = self.clone();
        for call in &mut then.calls {
            let met = step.calls.iter().any(|other| call.meets(other));
            if met {
                call.missing = call.missing.saturating_sub(1);
            }
            if call.missing == 0 && (met || step.ends_any || !step.ended.is_empty()) {
                then.ends_any = true;
                if let Verb::Split { .. } = call.entry.signature.verb() {
                    then.reach = then.reach.max(Reach::Everything);
                }
            }
        }
        then
    }
}

impl Called {
    /// Whether both are the same call of the group.
    fn meets(&self, other: &Self) -> bool {
        self.entry.comm == other.entry.comm && self.seq == other.seq
    }

    fn agrees_with(&self, other: &Self) -> bool {
        let (one, two) = (&self.entry, &other.entry);
        let named = one.tag.as_ref().zip(two.tag.as_ref());
        one.signature.agrees_with(&two.signature) && named.is_none_or(|(one, two)| one == two)
    }
}
