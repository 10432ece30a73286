//! What nccl-tests prints as `size` and `count`, and what was asked of it.
//!
//! Sources: the `*GetCollByteCount` and `*GetBw` functions of each test. The 16-byte
//! blocks came with commit 29f4114 of December 2024, first released in 2.13.13.

use core::fmt;

use rankwise_model::{Dtype, Extent, GroupSize, OperationKind};

use crate::amount::{ByteCount, ElemCount, Overflow};
use crate::bandwidth::{Basis, bus_factor};
use crate::label::Meaning;
use crate::ratio::Ratio;

mod request;

pub use request::{RequestError, parse_request};

/// One program of nccl-tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Test {
    /// `all_reduce_perf`.
    AllReduce,
    /// `all_gather_perf`.
    AllGather,
    /// `reduce_scatter_perf`.
    ReduceScatter,
    /// `alltoall_perf`.
    AllToAll,
    /// `alltoallv_perf`: blocks of unequal length, which the columns do not tell.
    AllToAllV,
    /// `gather_perf`.
    Gather,
    /// `scatter_perf`.
    Scatter,
    /// `broadcast_perf`.
    Broadcast,
    /// `reduce_perf`.
    Reduce,
    /// `sendrecv_perf`: every rank sends to the next and receives from the last.
    SendRecv,
    /// `hypercube_perf`: an all-gather by log2(n) exchanges.
    Hypercube,
}

/// How the test cut the requested bytes into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// Blocks are whole elements: before 2.13.13.
    WholeElements,
    /// Blocks are a multiple of 16 bytes: since 2.13.13.
    SixteenBytes,
}

/// The lengths behind one row of the table, per rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TestRow {
    /// What a rank sends, where it sends.
    pub send: ElemCount,
    /// What a rank receives, where it receives.
    pub recv: ElemCount,
    /// The `count` column: the count argument of the call.
    pub count: ElemCount,
    /// The `size` column: the longer of send and recv, in bytes.
    pub size: ByteCount,
}

/// What a row says about the number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImpliedRanks {
    /// It can only be this.
    Exactly(GroupSize),
    /// Size and count are one vector: any number of ranks prints this row.
    AnyNumber,
    /// Size and count are 0: the request was cut to nothing. No evidence.
    EmptyRow,
}

/// Why a row cannot be worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TestError {
    /// The lengths are not in the columns.
    NotDerivable {
        /// The test.
        test: Test,
    },
    /// A hypercube has a power of two of ranks.
    NotAPowerOfTwo {
        /// What it was given, or what the row implies.
        ranks: GroupSize,
    },
    /// No number of ranks gives this size and this count.
    Disagree {
        /// The test.
        test: Test,
        /// The `size` column.
        size: ByteCount,
        /// The `count` column.
        count: ElemCount,
        /// The `type` column.
        dtype: Dtype,
    },
    /// A length does not fit in 64 bits.
    Overflow(Overflow),
}

impl Test {
    /// Every test.
    pub const ALL: [Self; 11] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::AllToAllV,
        Self::Gather,
        Self::Scatter,
        Self::Broadcast,
        Self::Reduce,
        Self::SendRecv,
        Self::Hypercube,
    ];

    /// The name of the program.
    pub const fn program(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce_perf",
            Self::AllGather => "all_gather_perf",
            Self::ReduceScatter => "reduce_scatter_perf",
            Self::AllToAll => "alltoall_perf",
            Self::AllToAllV => "alltoallv_perf",
            Self::Gather => "gather_perf",
            Self::Scatter => "scatter_perf",
            Self::Broadcast => "broadcast_perf",
            Self::Reduce => "reduce_perf",
            Self::SendRecv => "sendrecv_perf",
            Self::Hypercube => "hypercube_perf",
        }
    }

    /// The operation that the test leaves the result of; `None` where blocks differ
    /// in length, which no operation of the table has.
    pub const fn operation(self) -> Option<OperationKind> {
        match self {
            Self::AllReduce => Some(OperationKind::AllReduce),
            Self::AllGather | Self::Hypercube => Some(OperationKind::AllGather),
            Self::ReduceScatter => Some(OperationKind::ReduceScatter),
            Self::AllToAll => Some(OperationKind::AllToAll),
            Self::AllToAllV => None,
            Self::Gather => Some(OperationKind::Gather),
            Self::Scatter => Some(OperationKind::Scatter),
            Self::Broadcast => Some(OperationKind::Broadcast),
            Self::Reduce => Some(OperationKind::Reduce),
            Self::SendRecv => Some(OperationKind::Message),
        }
    }

    fn derivable(self) -> Result<OperationKind, TestError> {
        self.operation().ok_or(TestError::NotDerivable { test: self })
    }

    fn check_ranks(self, ranks: GroupSize) -> Result<(), TestError> {
        if self == Self::Hypercube && !ranks.get().is_power_of_two() {
            return Err(TestError::NotAPowerOfTwo { ranks });
        }
        Ok(())
    }

    /// The row for a request of `requested` bytes (`-b`).
    ///
    /// ```
    /// use rankwise_account::{ByteCount, ElemCount, Rounding, Test};
    /// use rankwise_model::{Dtype, GroupSize};
    ///
    /// let ranks = GroupSize::new(8).unwrap();
    /// let asked = ByteCount::new(1000);
    /// let row = Test::AllGather.row(asked, ranks, Dtype::F32, Rounding::SixteenBytes)?;
    /// assert_eq!((row.size, row.count), (ByteCount::new(896), ElemCount::new(28)));
    /// # Ok::<(), rankwise_account::TestError>(())
    /// ```
    pub fn row(
        self,
        requested: ByteCount,
        ranks: GroupSize,
        dtype: Dtype,
        rounding: Rounding,
    ) -> Result<TestRow, TestError> {
        let operation = self.derivable()?;
        let elements = requested.get().checked_div(dtype.bytes()).unwrap_or_default();
        let count = match Meaning::Size.extent(operation) {
            Extent::Count => elements,
            Extent::CountPerRank => {
                let block = elements.checked_div(u64::from(ranks.get())).unwrap_or_default();
                let multiple = match rounding {
                    Rounding::WholeElements => 1,
                    Rounding::SixteenBytes => 16_u64.checked_div(dtype.bytes()).unwrap_or(1),
                };
                block.saturating_sub(block.checked_rem(multiple).unwrap_or_default())
            }
        };
        self.row_of_count(ElemCount::new(count), ranks, dtype)
    }

    /// The row whose `count` column is `count`.
    pub fn row_of_count(
        self,
        count: ElemCount,
        ranks: GroupSize,
        dtype: Dtype,
    ) -> Result<TestRow, TestError> {
        let operation = self.derivable()?;
        self.check_ranks(ranks)?;
        let length = |meaning: Meaning| match meaning.extent(operation) {
            Extent::Count => Ok(count),
            Extent::CountPerRank => count.per_rank(ranks).map_err(TestError::Overflow),
        };
        let size = length(Meaning::Size)?.bytes(dtype).map_err(TestError::Overflow)?;
        Ok(TestRow { send: length(Meaning::Input)?, recv: length(Meaning::Output)?, count, size })
    }

    /// How many ranks a row implies: size / (count · bytes per element).
    ///
    /// ```
    /// use rankwise_account::{ByteCount, ElemCount, ImpliedRanks, Test};
    /// use rankwise_model::{Dtype, GroupSize};
    ///
    /// let (size, count) = (ByteCount::new(134_217_728), ElemCount::new(4_194_304));
    /// assert_eq!(
    ///     Test::ReduceScatter.implied_ranks(size, count, Dtype::F32),
    ///     Ok(ImpliedRanks::Exactly(GroupSize::new(8).unwrap())),
    /// );
    /// // The same two columns are no row of an all-reduce.
    /// assert!(Test::AllReduce.implied_ranks(size, count, Dtype::F32).is_err());
    /// ```
    pub fn implied_ranks(
        self,
        size: ByteCount,
        count: ElemCount,
        dtype: Dtype,
    ) -> Result<ImpliedRanks, TestError> {
        let operation = self.derivable()?;
        let disagree = TestError::Disagree { test: self, size, count, dtype };
        if (size, count) == (ByteCount::ZERO, ElemCount::ZERO) {
            return Ok(ImpliedRanks::EmptyRow);
        }
        let block = count.bytes(dtype).map_err(TestError::Overflow)?;
        if Meaning::Size.extent(operation) == Extent::Count {
            return if block == size { Ok(ImpliedRanks::AnyNumber) } else { Err(disagree) };
        }
        if size.get().checked_rem(block.get()) != Some(0) {
            return Err(disagree);
        }
        let ranks = size.get().checked_div(block.get()).and_then(|n| u32::try_from(n).ok());
        let ranks = ranks.and_then(GroupSize::new).ok_or(disagree)?;
        self.check_ranks(ranks)?;
        Ok(ImpliedRanks::Exactly(ranks))
    }

    /// The S and the factor of the row with this `count`. S is the `size` column for
    /// every test but the hypercube, which leaves its own block out.
    pub fn basis(
        self,
        count: ElemCount,
        ranks: GroupSize,
        dtype: Dtype,
    ) -> Result<Basis, TestError> {
        let size = self.row_of_count(count, ranks, dtype)?.size;
        if self == Self::Hypercube {
            let own = count.bytes(dtype).map_err(TestError::Overflow)?.get();
            return Ok(Basis::new(ByteCount::new(size.get().saturating_sub(own)), Ratio::ONE));
        }
        Ok(Basis::new(size, bus_factor(self.derivable()?, ranks)))
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.program())
    }
}

impl fmt::Display for TestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDerivable { test } => {
                write!(f, "{test}: lengths differ from peer to peer and are not in size and count")
            }
            Self::NotAPowerOfTwo { ranks } => {
                write!(f, "{}: {ranks} ranks are no power of two", Test::Hypercube)
            }
            Self::Disagree { test, size, count, dtype } => write!(
                f,
                "{test}: no number of ranks gives size {size:#} with count {count} of {} B ({dtype})",
                dtype.bytes()
            ),
            Self::Overflow(overflow) => overflow.fmt(f),
        }
    }
}

impl core::error::Error for TestError {}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use rstest::rstest;

    use super::*;

    fn ranks(n: u32) -> GroupSize {
        GroupSize::new(n).unwrap()
    }

    /// Send, recv, count and size over 8 ranks of f32 for a request of 1000 bytes,
    /// from the table of the tool's own functions: 250 elements; a block is
    /// 250/8 = 31, cut to 28.
    #[rstest]
    #[case(Test::AllReduce, (250, 250, 250, 1000))]
    #[case(Test::Broadcast, (250, 250, 250, 1000))]
    #[case(Test::Reduce, (250, 250, 250, 1000))]
    #[case(Test::SendRecv, (250, 250, 250, 1000))]
    #[case(Test::AllGather, (28, 224, 28, 896))]
    #[case(Test::Hypercube, (28, 224, 28, 896))]
    #[case(Test::ReduceScatter, (224, 28, 28, 896))]
    #[case(Test::AllToAll, (224, 224, 28, 896))]
    #[case(Test::Gather, (28, 224, 28, 896))]
    #[case(Test::Scatter, (224, 28, 28, 896))]
    fn columns_of_a_thousand_bytes(#[case] test: Test, #[case] expected: (u64, u64, u64, u64)) {
        let row = test.row(ByteCount::new(1000), ranks(8), Dtype::F32, Rounding::SixteenBytes);
        let row = row.unwrap();
        let found = (row.send.get(), row.recv.get(), row.count.get(), row.size.get());
        assert_eq!(found, expected);
        let implied = test.implied_ranks(row.size, row.count, Dtype::F32).unwrap();
        let whole = expected.0 == expected.1 && expected.0 == expected.2;
        let back = if whole { ImpliedRanks::AnyNumber } else { ImpliedRanks::Exactly(ranks(8)) };
        assert_eq!(implied, back);
    }

    #[test]
    fn unequal_blocks_are_not_derivable() {
        let not = Err(TestError::NotDerivable { test: Test::AllToAllV });
        let request = ByteCount::new(1000);
        assert_eq!(Test::AllToAllV.row(request, ranks(8), Dtype::F32, Rounding::SixteenBytes), not);
    }

    /// f32 over 6 and 8 ranks, requested bytes against (count, size) before and since.
    #[rstest]
    #[case(8, 64, (2, 64), (0, 0))]
    #[case(8, 100, (3, 96), (0, 0))]
    #[case(8, 128, (4, 128), (4, 128))]
    #[case(6, 100, (4, 96), (4, 96))]
    #[case(6, 512, (21, 504), (20, 480))]
    #[case(6, 1_048_576, (43_690, 1_048_560), (43_688, 1_048_512))]
    fn blocks_are_cut(
        #[case] n: u32,
        #[case] requested: u64,
        #[case] before: (u64, u64),
        #[case] since: (u64, u64),
    ) {
        for (rounding, expected) in
            [(Rounding::WholeElements, before), (Rounding::SixteenBytes, since)]
        {
            let requested = ByteCount::new(requested);
            let row = Test::ReduceScatter.row(requested, ranks(n), Dtype::F32, rounding).unwrap();
            assert_eq!((row.count.get(), row.size.get()), expected, "{rounding:?}");
        }
    }

    #[test]
    fn an_empty_row_implies_nothing() {
        let implied = |size, count| {
            Test::AllGather.implied_ranks(ByteCount::new(size), ElemCount::new(count), Dtype::F32)
        };
        assert_eq!(implied(0, 0), Ok(ImpliedRanks::EmptyRow));
        assert!(matches!(implied(64, 0), Err(TestError::Disagree { .. })));
        assert!(matches!(implied(0, 4), Err(TestError::Disagree { .. })));
        assert!(matches!(implied(100, 4), Err(TestError::Disagree { .. })));
        // 2^32 ranks are more than a group has.
        assert!(matches!(implied(1 << 34, 1), Err(TestError::Disagree { .. })));
    }

    #[test]
    fn a_hypercube_has_its_own_s() {
        // 8 ranks, 32768 f32: seven blocks of 131072 B.
        let basis = Test::Hypercube.basis(ElemCount::new(32_768), ranks(8), Dtype::F32).unwrap();
        assert_eq!(basis.size(), ByteCount::new(917_504));
        let elapsed = Duration::from_nanos(52_700);
        assert_eq!(basis.algbw(elapsed), basis.busbw(elapsed));
        assert!((basis.algbw(elapsed).unwrap().gigabytes_per_second() - 17.41).abs() < 0.005);
        let six = ranks(6);
        assert_eq!(
            Test::Hypercube.row_of_count(ElemCount::new(4), six, Dtype::F32),
            Err(TestError::NotAPowerOfTwo { ranks: six })
        );
        assert_eq!(
            Test::Hypercube.implied_ranks(ByteCount::new(96), ElemCount::new(4), Dtype::F32),
            Err(TestError::NotAPowerOfTwo { ranks: six })
        );
    }
}
