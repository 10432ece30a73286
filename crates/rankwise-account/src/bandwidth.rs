//! algbw and busbw, with the S that they are defined on.
//!
//! Source: nccl-tests, `doc/PERFORMANCE.md` and the `*GetBw` functions, v2.9.0 and
//! later (before, all-gather and reduce-scatter divided (n−1) blocks by the time).
//! GB/s is 10^9 bytes per second, although sizes are usually powers of two.

use core::fmt;
use core::time::Duration;

use rankwise_model::operation::Holders;
use rankwise_model::{Dtype, Extent, GroupSize, Layout, OperationKind};

use crate::amount::{ByteCount, ElemCount, Overflow};
use crate::label::Meaning;
use crate::ratio::Ratio;

/// The S of an operation and the factor from algbw to busbw.
///
/// S is the longer of input and output **of one rank**: the vector of an all-reduce,
/// all `n` blocks of an all-gather or a reduce-scatter. It is neither the count
/// argument times the element size, nor a number of bytes that cross any link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Basis {
    size: ByteCount,
    bus_factor: Ratio,
}

/// The factor from algbw to busbw: what must cross one rank's link, over S.
///
/// | operation | factor | because |
/// |---|---|---|
/// | `all_reduce` | 2(n−1)/n | each block but the own is sent once to be reduced and once as a result |
/// | `all_gather`, `reduce_scatter`, `all_to_all`, `gather`, `scatter` | (n−1)/n | each block but the own crosses (for gather and scatter: the root's link) |
/// | `broadcast`, `reduce`, `send/recv` | 1 | the vector crosses |
///
/// With one rank it is 0 for the first two: busbw says nothing there. In-network
/// reduction moves less than this, so busbw above the link's rate is no error.
///
/// ```
/// use rankwise_account::{Ratio, bus_factor};
/// use rankwise_model::{GroupSize, OperationKind};
///
/// let four = GroupSize::new(4).unwrap();
/// assert_eq!(Some(bus_factor(OperationKind::AllReduce, four)), Ratio::new(3, 2));
/// assert_eq!(Some(bus_factor(OperationKind::AllGather, four)), Ratio::new(3, 4));
/// assert_eq!(bus_factor(OperationKind::Broadcast, four), Ratio::ONE);
/// ```
pub fn bus_factor(operation: OperationKind, ranks: GroupSize) -> Ratio {
    let row = operation.row();
    let crossings: u128 = if Meaning::Size.extent(operation) == Extent::CountPerRank {
        1
    } else if (row.input_on, row.output_on) == (Holders::Everyone, Holders::Everyone) {
        2
    } else {
        return Ratio::ONE;
    };
    let n = u128::from(ranks.get());
    let others = n.saturating_sub(1);
    Ratio::new(crossings.saturating_mul(others), n).unwrap_or(Ratio::ONE) // n is not 0
}

impl Basis {
    /// The basis of an operation at a size.
    ///
    /// ```
    /// use core::time::Duration;
    /// use rankwise_account::{Basis, ByteCount};
    /// use rankwise_model::{Dtype, GroupSize, Layout, Operation, Reduction};
    ///
    /// let operation = Operation::AllReduce { reduction: Reduction::Sum };
    /// let layout = Layout::new(operation, GroupSize::new(4).unwrap(), 25_000_000)?;
    /// let basis = Basis::of(&layout, Dtype::F32)?;
    /// assert_eq!(basis.size(), ByteCount::new(100_000_000)); // one rank's vector
    /// let elapsed = Duration::from_millis(2);
    /// assert_eq!(basis.algbw(elapsed).unwrap().to_string(), "50.00 GB/s");
    /// assert_eq!(basis.busbw(elapsed).unwrap().to_string(), "75.00 GB/s");
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn of(layout: &Layout, dtype: Dtype) -> Result<Self, Overflow> {
        let (kind, count) = (layout.operation().kind(), ElemCount::new(layout.count()));
        let longest = match Meaning::Size.extent(kind) {
            Extent::Count => count,
            Extent::CountPerRank => count.per_rank(layout.ranks())?,
        };
        Ok(Self::new(longest.bytes(dtype)?, bus_factor(kind, layout.ranks())))
    }

    pub(crate) const fn new(size: ByteCount, bus_factor: Ratio) -> Self {
        Self { size, bus_factor }
    }

    /// S.
    pub const fn size(&self) -> ByteCount {
        self.size
    }

    /// The factor from algbw to busbw.
    pub const fn bus_factor(&self) -> Ratio {
        self.bus_factor
    }

    /// S over the time; `None` for no time at all.
    pub fn algbw(&self, elapsed: Duration) -> Option<Bandwidth> {
        Bandwidth::over(self.size, elapsed)
    }

    /// algbw times the factor; `None` for no time at all.
    pub fn busbw(&self, elapsed: Duration) -> Option<Bandwidth> {
        let algbw = self.algbw(elapsed)?;
        Some(Bandwidth { bytes_per_second: algbw.bytes_per_second * self.bus_factor.to_f64() })
    }
}

/// Bytes per second. Alone it says nothing: name the operation, its S and the ranks.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Bandwidth {
    bytes_per_second: f64,
}

impl Bandwidth {
    /// So many bytes in so much time; `None` for no time at all.
    #[allow(clippy::cast_precision_loss)] // a measured time has fewer digits
    pub fn over(bytes: ByteCount, elapsed: Duration) -> Option<Self> {
        let seconds = elapsed.as_secs_f64();
        (seconds > 0.0).then(|| Self { bytes_per_second: bytes.get() as f64 / seconds })
    }

    /// A link's rate as it is sold: 10^9 **bits** per second; `None` unless it is a
    /// positive number.
    pub fn from_gigabits_per_second(gigabits: f64) -> Option<Self> {
        let bytes_per_second = gigabits * 1e9 / 8.0;
        (bytes_per_second.is_finite() && bytes_per_second > 0.0)
            .then_some(Self { bytes_per_second })
    }

    /// Bytes per second.
    pub const fn bytes_per_second(self) -> f64 {
        self.bytes_per_second
    }

    /// GB/s as nccl-tests prints it: 10^9 bytes per second.
    pub fn gigabytes_per_second(self) -> f64 {
        self.bytes_per_second / 1e9
    }

    /// Gbit/s, as links are sold and some loggers print: 8 times GB/s.
    pub fn gigabits_per_second(self) -> f64 {
        self.bytes_per_second * 8.0 / 1e9
    }

    /// The time that these bytes take at this rate, were nothing else to wait for;
    /// `None` if it is longer than a [`Duration`] holds.
    #[allow(clippy::cast_precision_loss)] // an ideal, not a measurement
    pub fn time_for(self, bytes: ByteCount) -> Option<Duration> {
        Duration::try_from_secs_f64(bytes.get() as f64 / self.bytes_per_second).ok()
    }
}

impl fmt::Display for Bandwidth {
    /// `75.00 GB/s`; a precision replaces the two decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.*} GB/s", f.precision().unwrap_or(2), self.gigabytes_per_second())
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use rankwise_model::{Operation, Reduction};
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(OperationKind::AllReduce, "0", "1", "7/4")]
    #[case(OperationKind::AllGather, "0", "1/2", "7/8")]
    #[case(OperationKind::ReduceScatter, "0", "1/2", "7/8")]
    #[case(OperationKind::AllToAll, "0", "1/2", "7/8")]
    #[case(OperationKind::Gather, "0", "1/2", "7/8")]
    #[case(OperationKind::Scatter, "0", "1/2", "7/8")]
    #[case(OperationKind::Broadcast, "1", "1", "1")]
    #[case(OperationKind::Reduce, "1", "1", "1")]
    #[case(OperationKind::Message, "1", "1", "1")]
    fn factors_over_one_two_and_eight_ranks(
        #[case] operation: OperationKind,
        #[case] one: &str,
        #[case] two: &str,
        #[case] eight: &str,
    ) {
        for (ranks, expected) in [(1, one), (2, two), (8, eight)] {
            let ranks = GroupSize::new(ranks).unwrap();
            assert_eq!(bus_factor(operation, ranks).to_string(), expected);
        }
    }

    /// The mission's four steps: S is 16, 32, 16 and 16 bytes.
    #[test]
    fn basis_of_the_mission() {
        let ranks = GroupSize::new(2).unwrap();
        let sum = Reduction::Sum;
        let size = |operation, count| {
            let layout = Layout::new(operation, ranks, count).unwrap();
            Basis::of(&layout, Dtype::I32).unwrap().size().get()
        };
        assert_eq!(size(Operation::AllReduce { reduction: sum }, 4), 16);
        assert_eq!(size(Operation::AllGather, 4), 32);
        assert_eq!(size(Operation::ReduceScatter { reduction: sum }, 2), 16);
        assert_eq!(size(Operation::AllGather, 2), 16);
    }

    #[test]
    fn no_time_has_no_bandwidth() {
        let basis = Basis::new(ByteCount::new(16), Ratio::ONE);
        assert_eq!(basis.algbw(Duration::ZERO), None);
        assert_eq!(basis.busbw(Duration::ZERO), None);
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Bandwidth::from_gigabits_per_second(rate), None);
        }
    }

    #[test]
    fn bits_are_eight_to_the_byte() {
        let ten = Bandwidth::from_gigabits_per_second(10.0).unwrap();
        assert_eq!(ten.to_string(), "1.25 GB/s");
        assert_eq!(
            ten.time_for(ByteCount::new(1_310_720_000)),
            Some(Duration::from_micros(1_048_576))
        );
    }
}
