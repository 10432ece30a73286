//! Which work in flight uses which bytes.

use core::ops::Range;
use std::sync::Arc;

use crate::point::Point;

/// What a use does to the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

struct Use {
    bytes: Range<usize>,
    access: Access,
    /// Where it ends.
    point: Arc<Point>,
}

/// The uses of one allocation that may still be in flight: *every* reader and writer, not
/// the last one.
#[derive(Default)]
pub(crate) struct Uses(Vec<Use>);

impl Uses {
    /// Beyond so many, those that are over are looked for and forgotten.
    const TIDY: usize = 16;

    /// The uses on other streams that a new one must come after: the writers of its
    /// bytes, and if it writes, the readers too.
    pub(crate) fn before(
        &self,
        bytes: &Range<usize>,
        access: Access,
        stream: u64,
    ) -> Vec<Arc<Point>> {
        let conflicts = self.0.iter().filter(|earlier| {
            earlier.point.stream != stream
                && earlier.bytes.start < bytes.end
                && bytes.start < earlier.bytes.end
                && (access == Access::Write || earlier.access == Access::Write)
        });
        conflicts.map(|earlier| Arc::clone(&earlier.point)).collect()
    }

    /// Notes a use. An earlier one on the same stream that says nothing more is forgotten:
    /// whoever comes after this one comes after that.
    pub(crate) fn note(&mut self, bytes: Range<usize>, access: Access, point: &Arc<Point>) {
        if bytes.is_empty() {
            return;
        }
        if self.0.len() > Self::TIDY {
            self.0.retain(|earlier| !earlier.point.is_passed_well());
        }
        self.0.retain(|earlier| {
            earlier.point.stream != point.stream
                || earlier.bytes.start < bytes.start
                || bytes.end < earlier.bytes.end
                || (earlier.access == Access::Write && access == Access::Read)
        });
        self.0.push(Use { bytes, access, point: Arc::clone(point) });
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the device is through with all of them.
    pub(crate) fn is_over(&self) -> bool {
        self.0.iter().all(|one| one.point.is_passed())
    }
}
