//! What a step has touched, and so which steps may be exchanged.

use rankwise_program::{Entry, Seq};
use rankwise_topology::WorldRank;

/// What a step has touched that other ranks may notice.
///
/// Two steps that can both be taken next, one of each of two ranks, lead to the same place
/// in either order if neither touches what the other depends on. That rests on two things:
/// what calls that agree leave behind does not depend on who came first, and neither does
/// what is reported. A step at which something is reported, fails or is made anew is
/// exchanged with nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    everything: bool,
    /// What the ranks share outside of the communicators.
    host: bool,
    calls: Vec<(Entry, Seq)>,
    /// On whose streams something is over by it.
    ended: Vec<WorldRank>,
    /// Of whose streams it has asked how far they are.
    asked: Vec<WorldRank>,
}

impl Touched {
    pub(crate) const fn everything(&mut self) {
        self.everything = true;
    }

    pub(super) const fn host(&mut self) {
        self.host = true;
    }

    pub(crate) fn call(&mut self, entry: Entry, seq: Seq) {
        self.calls.push((entry, seq));
    }

    pub(crate) fn ended(&mut self, rank: WorldRank) {
        self.ended.push(rank);
    }

    pub(crate) fn asked(&mut self, rank: WorldRank) {
        self.asked.push(rank);
    }

    /// Whether it may be exchanged with a step of another rank.
    pub(super) fn commutes_with(&self, other: &Self) -> bool {
        let notices = |one: &Self, two: &Self| one.ended.iter().any(|it| two.asked.contains(it));
        let contradicts = |(one, seq): &(Entry, Seq)| {
            let mut others = other.calls.iter();
            others.any(|(two, its)| one.comm == two.comm && seq == its && !agree(one, two))
        };
        !(self.everything || other.everything || (self.host && other.host))
            && !notices(self, other)
            && !notices(other, self)
            && !self.calls.iter().any(contradicts)
    }
}

fn agree(one: &Entry, other: &Entry) -> bool {
    let named = one.tag.as_ref().zip(other.tag.as_ref());
    one.signature.agrees_with(&other.signature) && named.is_none_or(|(one, other)| one == other)
}
