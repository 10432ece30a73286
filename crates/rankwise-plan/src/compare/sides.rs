//! The two sides of a comparison, and what one is by name, measured by the other.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_topology::WorldRank;

use super::state::{Named, Pair};
use super::walk::Found;
use crate::surface::Evaluated;
use crate::term::Terms;
use crate::vector::{Content, Vector};
use crate::wrong::{Claim, Difference, Naming, Why};

pub(super) struct Sides<'a> {
    pub(super) terms: &'a Terms,
    pub(super) sides: [&'a Evaluated<'a>; 2],
    /// The ranks that are one place each.
    pub(super) pairs: &'a [Pair],
}

impl<'a> Sides<'a> {
    /// What one place holds in a buffer, on each side.
    pub(super) fn held(&self, buffer: &str, ranks: [WorldRank; 2]) -> [Option<&'a Vector>; 2] {
        self.shared(buffer, ranks).map(|held| held.map(AsRef::as_ref))
    }

    fn shared(
        &self,
        buffer: &str,
        [first, second]: [WorldRank; 2],
    ) -> [Option<&'a Arc<Vector>>; 2] {
        let [left, right] = self.sides;
        let held = |side: &'a Evaluated<'a>, rank| {
            side.proposal.held(&side.evaluation.after, rank, buffer)
        };
        [held(left, first), held(right, second)]
    }

    /// What the second is, were it what the first holds that is needed: nothing says which
    /// is right, and how they differ has a name all the same. Where only the second holds
    /// something, the first is measured by it.
    pub(super) fn named(&self, buffer: &str, ranks: [WorldRank; 2], found: &Found) -> Named {
        let side = match found.contents {
            [Some(Content::Term(_)), _] => 1,
            _ => 0,
        };
        let [measured, _] = turned(side, self.sides);
        let [held, needed] = turned(side, found.contents);
        let [vector, measure] = turned(side, self.held(buffer, ranks));
        let types = vector.zip(measure).map(|(vector, measure)| (vector.dtype(), measure.dtype()));
        let lengths = vector.zip(measure).map(|(vector, other)| (vector.count(), other.count()));
        let why = match (vector, held, types) {
            (None, ..) => Why::NeverWritten,
            (_, None, _) => Why::Length,
            (_, _, Some((held, needed))) if held != needed => Why::ElementType(held, needed),
            _ => Why::Value,
        };
        let length = lengths.filter(|(held, needed)| held != needed);
        let difference = Difference { at: found.positions.clone(), held, needed, length, why };
        let claims: Vec<Claim> = self
            .pairs
            .iter()
            .filter_map(|pair| {
                let [rank, _] = turned(side, pair.ranks);
                let [held, needed] = turned(side, self.shared(buffer, pair.ranks));
                Some(Claim { rank, held: held.cloned(), needed: needed?.clone() })
            })
            .collect();
        let naming = Naming {
            terms: self.terms,
            plan: measured.plan,
            proposal: measured.proposal,
            evaluation: measured.evaluation,
            buffer,
            positions: None,
            claims: &claims,
        };
        let [rank, _] = turned(side, ranks);
        Named { side, wrongs: naming.wrongs(rank, &difference) }
    }
}

/// The one of `side` first.
fn turned<T>(side: usize, [first, second]: [T; 2]) -> [T; 2] {
    if side == 0 { [first, second] } else { [second, first] }
}
