//! What the inputs hold where the plan gives no values.

use rankwise_model::{Dtype, DtypeClass, Scalar};
use rankwise_plan::plan::{Input, Plan};
use rankwise_plan::values::Values;
use rankwise_topology::{World, WorldRank};

use crate::error::RunError;

/// What the inputs hold where the plan gives no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fill {
    /// Nothing: such a plan is refused.
    Given,
    /// Small positive integers, the same in every run.
    ///
    /// They count up from `seed + 1` through positions, ranks and inputs, so that each
    /// says where it comes from; where the element type is too narrow for so many, they
    /// are scattered over what it has. They are so small that a sum over all ranks is
    /// exact in any order, except where the type cannot hold even the sum of ones and
    /// twos.
    Pattern {
        /// Another seed, other values.
        seed: u64,
    },
}

/// Where the values of an input come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The plan gives them.
    Given,
    /// Generated: all different, of this input and of all others that count up.
    Counted,
    /// Generated: scattered over the few values that the type has for so many ranks.
    Scattered,
}

impl Fill {
    /// The plan with values for every input, and where those of each come from, by name.
    pub(crate) fn apply(self, plan: &Plan) -> Result<(Plan, Vec<(String, Origin)>), RunError> {
        let mut filled = plan.clone();
        let mut origins = Vec::new();
        let mut pattern = Pattern { next: 0, world: World::new(plan.world) };
        for input in filled.inputs.values_mut() {
            let origin = match (self, &input.values) {
                (_, Some(_)) => Origin::Given,
                (Self::Given, None) => {
                    return Err(RunError::NoValues { input: input.name.clone() });
                }
                (Self::Pattern { seed }, None) => {
                    let (values, origin) = pattern.values(seed, input);
                    input.values = Some(values);
                    origin
                }
            };
            origins.push((input.name.clone(), origin));
        }
        Ok((filled, origins))
    }
}

struct Pattern {
    /// How many elements have been generated so far.
    next: u64,
    world: World,
}

impl Pattern {
    fn values(&mut self, seed: u64, input: &Input) -> (Vec<Values>, Origin) {
        let first = self.next;
        self.next = first.saturating_add(input.counts.total(self.world.size()));
        let most = largest(input.dtype, self.world.size().get());
        let counted = self.next.saturating_add(seed) <= most;
        let value = |index: u64| {
            let number = if counted { index.saturating_add(seed) } else { scattered(seed, index) };
            integer(input.dtype, number.checked_rem(most).unwrap_or(0).saturating_add(1))
        };
        let mut start = first;
        let of_rank = |rank: WorldRank| {
            let end = start.saturating_add(input.counts.on(rank));
            let scalars = (start..end).map(value);
            start = end;
            // Every scalar was made of that very type.
            Values::from_scalars(input.dtype, scalars).unwrap_or_else(|| Values::of::<u8>(&[]))
        };
        let origin = if counted { Origin::Counted } else { Origin::Scattered };
        (self.world.ranks().map(of_rank).collect(), origin)
    }
}

/// The largest value of which `ranks` can be added exactly; 2 where there is none.
fn largest(dtype: Dtype, ranks: u32) -> u64 {
    let exact = match dtype.class() {
        DtypeClass::Integer { signed, bits } => {
            u64::MAX.wrapping_shr(64_u32.saturating_sub(bits)).wrapping_shr(u32::from(signed))
        }
        DtypeClass::Float { precision } => 1_u64.wrapping_shl(precision),
    };
    exact.checked_div(u64::from(ranks)).unwrap_or(exact).max(2)
}

/// The element that is this small integer.
fn integer(dtype: Dtype, value: u64) -> Scalar {
    Scalar::from_bits(Dtype::U64, value).convert(dtype)
}

/// A number that looks like no other: the output function of `SplitMix64` (Steele, Lea,
/// Flood 2014).
const fn scattered(seed: u64, index: u64) -> u64 {
    let mut mixed = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
