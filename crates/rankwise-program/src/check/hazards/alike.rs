//! Ranks that touch the same in the same order.

use alloc::collections::BTreeMap;

use rankwise_topology::{Group, WorldRank};

use super::unit::lies;
use crate::program::{Planned, Program, Step};

/// The groups of a program, by name.
pub(super) struct Groups<'a>(BTreeMap<&'a str, &'a Group>);

impl<'a> Groups<'a> {
    pub(super) fn of(program: &'a Program) -> Self {
        let mut groups = BTreeMap::new();
        for (name, group) in &program.groups {
            // Of two of one name the first counts, as in `Program::group`.
            groups.entry(&**name).or_insert(group);
        }
        Self(groups)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Group> {
        self.0.get(name).copied()
    }
}

/// Whether two ranks' steps differ in nothing but the groups that they call on: what one
/// has among its own streams, the other has.
pub(super) fn alike(
    groups: &Groups<'_>,
    (one, of_one): (WorldRank, &[Step]),
    (other, of_other): (WorldRank, &[Step]),
) -> bool {
    let calls = |a: &Planned, b: &Planned| {
        a.signature == b.signature
            && a.stream == b.stream
            && a.tag == b.tag
            && a.buffers == b.buffers
            && lies(groups, one, a) == lies(groups, other, b)
    };
    of_one.len() == of_other.len()
        && of_one.iter().zip(of_other).all(|steps| match steps {
            (Step::Call(a, host), Step::Call(b, other)) => host == other && calls(a, b),
            (Step::Unit(a, host), Step::Unit(b, other)) => {
                host == other && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| calls(a, b))
            }
            (a, b) => a == b,
        })
}
