//! Who uses which bytes of a block: how hazards are seen.
//!
//! A hazard is a property of the program, not of the timing: two uses of the same bytes,
//! at least one of them a write, that nothing orders. Whether the first happens to be
//! over when the second is enqueued plays no part, so the verdict is the same every time.

use core::fmt;
use core::ops::Range;
use core::panic::Location;

/// What a use does to the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// What uses the bytes, for people.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// A call, with its line.
    Call(&'static str, &'static Location<'static>),
    /// A write from the host.
    HostWrite,
    /// A read to the host.
    HostRead,
    /// A fault on request.
    Injected,
}

/// One item's use of some bytes.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub(crate) lane: usize,
    pub(crate) ticket: u64,
    pub(crate) bytes: Range<usize>,
    pub(crate) access: Access,
    pub(crate) what: What,
}

/// The uses that a later one must be compared with.
#[derive(Debug, Default)]
pub(crate) struct Uses(Vec<Use>);

impl Use {
    /// Whether both touch a byte and one writes it.
    pub(crate) fn conflicts_with(&self, other: &Self) -> bool {
        let overlap = self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end;
        overlap && (self.access == Access::Write || other.access == Access::Write)
    }

    /// Whether every use that conflicts with `other` conflicts with this one too.
    fn stands_for(&self, other: &Self) -> bool {
        self.bytes.start <= other.bytes.start
            && other.bytes.end <= self.bytes.end
            && (self.access == Access::Write || other.access == Access::Read)
    }
}

impl Uses {
    /// An earlier use that conflicts with `new`, and that `is_before` does not order
    /// before it.
    pub(crate) fn conflict(&self, new: &Use, is_before: impl Fn(&Use) -> bool) -> Option<&Use> {
        self.0.iter().find(|earlier| earlier.conflicts_with(new) && !is_before(earlier))
    }

    /// Notes a use. Earlier ones that it stands for, and that are ordered before it, are
    /// forgotten: whoever is ordered after the new one is ordered after them. So are those
    /// that are before everything to come.
    pub(crate) fn note(
        &mut self,
        new: Use,
        is_before: impl Fn(&Use) -> bool,
        is_over: impl Fn(&Use) -> bool,
    ) {
        self.0
            .retain(|earlier| !(is_over(earlier) || new.stands_for(earlier) && is_before(earlier)));
        self.0.push(new);
    }

    /// The items that write some of these bytes.
    pub(crate) fn writers(&self, bytes: &Range<usize>) -> impl Iterator<Item = (usize, u64)> {
        self.0
            .iter()
            .filter(|earlier| {
                earlier.access == Access::Write
                    && earlier.bytes.start < bytes.end
                    && bytes.start < earlier.bytes.end
            })
            .map(|earlier| (earlier.lane, earlier.ticket))
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(name, site) => write!(f, "{name} ({site})"),
            Self::HostWrite => f.write_str("a write from the host"),
            Self::HostRead => f.write_str("a read to the host"),
            Self::Injected => f.write_str("a fault on request"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(lane: usize, ticket: u64, bytes: Range<usize>, access: Access) -> Use {
        Use { lane, ticket, bytes, access, what: What::HostWrite }
    }

    #[test]
    fn only_overlapping_writes_conflict() {
        let mut uses = Uses::default();
        uses.note(at(0, 1, 0..8, Access::Read), |_| false, |_| false);
        let conflict = |new: &Use| uses.conflict(new, |_| false).is_some();
        assert!(!conflict(&at(1, 1, 4..12, Access::Read)), "two reads");
        assert!(!conflict(&at(1, 1, 8..12, Access::Write)), "side by side");
        assert!(conflict(&at(1, 1, 7..12, Access::Write)));
        assert!(uses.conflict(&at(1, 1, 7..12, Access::Write), |_| true).is_none(), "ordered");
    }

    #[test]
    fn what_is_covered_is_forgotten_and_nothing_else() {
        let mut uses = Uses::default();
        let same_lane = |earlier: &Use| earlier.lane == 0;
        uses.note(at(0, 1, 0..8, Access::Write), same_lane, |_| false);
        uses.note(at(0, 2, 0..8, Access::Read), same_lane, |_| false);
        assert_eq!(uses.len(), 2, "a read does not stand for a write");
        uses.note(at(0, 3, 0..8, Access::Read), same_lane, |_| false);
        assert_eq!(uses.len(), 2, "a later read stands for an earlier one");
        uses.note(at(0, 4, 0..4, Access::Write), same_lane, |_| false);
        assert_eq!(uses.len(), 3, "half does not stand for the whole");
        uses.note(at(0, 5, 0..16, Access::Write), same_lane, |_| false);
        assert_eq!(uses.len(), 1);
        uses.note(at(1, 1, 0..16, Access::Write), |_| false, |_| false);
        assert_eq!(uses.len(), 2, "what is not ordered stays");
    }
}
