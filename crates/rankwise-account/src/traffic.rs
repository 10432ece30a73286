//! Estimates of what an algorithm sends over links. Not payloads, not S.

use core::fmt;

use rankwise_model::{Dtype, GroupSize, Layout, OperationKind};

use crate::amount::Overflow;
use crate::bandwidth::Basis;
use crate::ratio::Ratio;

/// An algorithm of which an estimate can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// Every rank sends to the next, block by block.
    Ring,
    /// Two complementary binary trees, each carrying one half: every rank is a leaf
    /// of one and an inner node of the other.
    DoubleBinaryTree,
}

/// What one rank would send, by an algorithm that is **assumed**.
///
/// Which algorithm runs is the library's choice, per call. In-network reduction,
/// protocol flags and padding are not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TrafficEstimate {
    /// The algorithm assumed.
    pub algorithm: Algorithm,
    /// Bytes sent by a rank that neither starts nor ends the algorithm; a fraction
    /// where blocks do not divide evenly and ranks differ by a rounding.
    pub sent_per_rank: Ratio,
}

impl TrafficEstimate {
    /// The estimate; `None` if the algorithm does not carry out the operation.
    ///
    /// ```
    /// use rankwise_account::{Algorithm, TrafficEstimate};
    /// use rankwise_model::{Dtype, GroupSize, Layout, Operation, Reduction};
    ///
    /// let operation = Operation::AllReduce { reduction: Reduction::Sum };
    /// let layout = Layout::new(operation, GroupSize::new(4).unwrap(), 25_000_000)?;
    /// let ring = TrafficEstimate::of(&layout, Dtype::F32, Algorithm::Ring)?.unwrap();
    /// assert_eq!(ring.to_string(), "about 150000000 B sent per rank, if by ring");
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn of(
        layout: &Layout,
        dtype: Dtype,
        algorithm: Algorithm,
    ) -> Result<Option<Self>, Overflow> {
        let basis = Basis::of(layout, dtype)?;
        let per_byte = match (layout.operation().kind(), algorithm) {
            _ if layout.ranks() == GroupSize::ONE => Some(Ratio::of(0)),
            (
                OperationKind::AllReduce
                | OperationKind::AllGather
                | OperationKind::ReduceScatter
                | OperationKind::Broadcast
                | OperationKind::Reduce,
                Algorithm::Ring,
            ) => Some(basis.bus_factor()), // the bus factor is what an optimal ring sends
            // Half of S up and half down each edge: as a leaf S/2 up; as an inner
            // node S/2 up and S/2 down to each of two children.
            (OperationKind::AllReduce, Algorithm::DoubleBinaryTree) => Some(Ratio::of(2)),
            _ => None,
        };
        // Below 2 · 2^32 · 2^64: the product fits.
        let sent = per_byte.and_then(|per_byte| per_byte.times(Ratio::of(basis.size().get())));
        Ok(sent.map(|sent_per_rank| Self { algorithm, sent_per_rank }))
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ring => "ring",
            Self::DoubleBinaryTree => "double binary tree",
        })
    }
}

impl fmt::Display for TrafficEstimate {
    /// `about 150000000 B sent per rank, if by ring`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "about {} B sent per rank, if by {}", self.sent_per_rank, self.algorithm)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use rankwise_model::{Operation, Reduction};

    use super::*;

    fn estimate(
        operation: Operation,
        ranks: u32,
        count: u64,
        algorithm: Algorithm,
    ) -> Option<Ratio> {
        let layout = Layout::new(operation, GroupSize::new(ranks).unwrap(), count).unwrap();
        let estimate = TrafficEstimate::of(&layout, Dtype::F32, algorithm).unwrap();
        estimate.map(|estimate| estimate.sent_per_rank)
    }

    #[test]
    fn a_ring_sends_all_blocks_but_the_own() {
        let root = GroupSize::ONE.first();
        let reduction = Reduction::Sum;
        // Three ranks, blocks of 10 f32: two blocks of 40 B each leave every rank.
        assert_eq!(estimate(Operation::AllGather, 3, 10, Algorithm::Ring), Some(Ratio::of(80)));
        assert_eq!(
            estimate(Operation::ReduceScatter { reduction }, 3, 10, Algorithm::Ring),
            Some(Ratio::of(80))
        );
        assert_eq!(
            estimate(Operation::Broadcast { root }, 3, 10, Algorithm::Ring),
            Some(Ratio::of(40))
        );
        assert_eq!(estimate(Operation::AllToAll, 3, 10, Algorithm::Ring), None);
        // 40 B over three ranks: 2 · 2/3 · 40.
        let uneven = estimate(Operation::AllReduce { reduction }, 3, 10, Algorithm::Ring);
        assert_eq!(uneven.unwrap().to_string(), "160/3");
    }

    #[test]
    fn one_rank_sends_nothing() {
        let root = GroupSize::ONE.first();
        assert_eq!(
            estimate(Operation::Broadcast { root }, 1, 10, Algorithm::Ring),
            Some(Ratio::of(0))
        );
    }
}
