//! The arithmetic of every element type, on bit patterns.

use rankwise_model::{Dtype, Reduction};

use crate::soft::{self, Format};

/// How a type computes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Integer {
        bits: u32,
        signed: bool,
    },
    Float(Format),
    /// An 8-bit float, whose every step is taken in binary16 first.
    Tiny(Format),
}

pub(crate) fn kind(dtype: Dtype) -> Kind {
    match dtype.name() {
        "i8" => Kind::Integer { bits: 8, signed: true },
        "u8" => Kind::Integer { bits: 8, signed: false },
        "i32" => Kind::Integer { bits: 32, signed: true },
        "u32" => Kind::Integer { bits: 32, signed: false },
        "i64" => Kind::Integer { bits: 64, signed: true },
        "u64" => Kind::Integer { bits: 64, signed: false },
        "f16" => Kind::Float(soft::F16),
        "bf16" => Kind::Float(soft::BF16),
        "f32" => Kind::Float(soft::F32),
        "f64" => Kind::Float(soft::F64),
        "f8e4m3" => Kind::Tiny(soft::E4M3),
        "f8e5m2" => Kind::Tiny(soft::E5M2),
        unknown => panic!("the oracle does not know {unknown}"),
    }
}

/// What all ranks' contributions to one position come to.
pub(crate) fn reduce(
    dtype: Dtype,
    reduction: Reduction,
    contributions: &[u64],
    scalars: &[u64],
) -> u64 {
    match kind(dtype) {
        Kind::Integer { bits, signed } => {
            reduce_integers(bits, signed, reduction, contributions, scalars)
        }
        Kind::Float(format) => reduce_floats(&Plain(format), reduction, contributions, scalars),
        Kind::Tiny(format) => reduce_floats(&ByHalf(format), reduction, contributions, scalars),
    }
}

fn reduce_integers(
    bits: u32,
    signed: bool,
    reduction: Reduction,
    contributions: &[u64],
    scalars: &[u64],
) -> u64 {
    let modulus = 1_u128 << bits;
    let value = |pattern: u64| {
        let pattern = i128::from(pattern);
        let half = 1_i128 << (bits - 1);
        if signed && pattern >= half { pattern - 2 * half } else { pattern }
    };
    let pattern =
        |value: i128| u64::try_from(value.rem_euclid(i128::try_from(modulus).unwrap())).unwrap();
    let wrapped = |value: u128| u64::try_from(value % modulus).unwrap();
    let sum = |terms: &[u64]| wrapped(terms.iter().map(|term| u128::from(*term)).sum());
    match reduction {
        Reduction::Sum => sum(contributions),
        Reduction::Prod => {
            contributions.iter().fold(1, |product, x| wrapped(u128::from(product) * u128::from(*x)))
        }
        Reduction::Max => pattern(contributions.iter().map(|x| value(*x)).max().unwrap()),
        Reduction::Min => pattern(contributions.iter().map(|x| value(*x)).min().unwrap()),
        Reduction::Avg => {
            let ranks = i128::try_from(contributions.len()).unwrap();
            pattern(value(sum(contributions)) / ranks)
        }
        Reduction::PreMulSum => {
            let products: Vec<u64> = contributions
                .iter()
                .zip(scalars)
                .map(|(x, k)| wrapped(u128::from(*x) * u128::from(*k)))
                .collect();
            sum(&products)
        }
        unknown => panic!("the oracle does not know {unknown}"),
    }
}

/// The steps of a float type.
pub(crate) trait Steps {
    fn format(&self) -> Format;
    fn add(&self, a: u64, b: u64) -> u64;
    fn multiply(&self, a: u64, b: u64) -> u64;
    /// What min and max make of the operand they choose.
    fn chosen(&self, x: u64) -> u64;
}

pub(crate) struct Plain(pub(crate) Format);

impl Steps for Plain {
    fn format(&self) -> Format {
        self.0
    }
    fn add(&self, a: u64, b: u64) -> u64 {
        self.0.add(a, b)
    }
    fn multiply(&self, a: u64, b: u64) -> u64 {
        self.0.multiply(a, b)
    }
    fn chosen(&self, x: u64) -> u64 {
        x
    }
}

/// Widened to binary16, one operation there, narrowed with saturation.
pub(crate) struct ByHalf(pub(crate) Format);

impl ByHalf {
    fn widened(&self, x: u64) -> u64 {
        soft::convert(self.0, soft::F16, x)
    }
    fn narrowed(&self, x: u64) -> u64 {
        soft::convert(soft::F16, self.0, x)
    }
}

impl Steps for ByHalf {
    fn format(&self) -> Format {
        self.0
    }
    fn add(&self, a: u64, b: u64) -> u64 {
        self.narrowed(soft::F16.add(self.widened(a), self.widened(b)))
    }
    fn multiply(&self, a: u64, b: u64) -> u64 {
        self.narrowed(soft::F16.multiply(self.widened(a), self.widened(b)))
    }
    fn chosen(&self, x: u64) -> u64 {
        self.narrowed(self.widened(x))
    }
}

pub(crate) fn is_nan(format: Format, x: u64) -> bool {
    format.decode(x) == soft::Number::Nan
}

/// The larger or the smaller; a NaN loses.
pub(crate) fn choose(steps: &impl Steps, a: u64, b: u64, larger: bool) -> u64 {
    let format = steps.format();
    match (is_nan(format, a), is_nan(format, b)) {
        (true, true) => format.nan(),
        (true, false) => steps.chosen(b),
        (false, true) => steps.chosen(a),
        (false, false) => {
            let a_is_larger = format.place(a) > format.place(b);
            steps.chosen(if a_is_larger == larger { a } else { b })
        }
    }
}

fn reduce_floats(
    steps: &impl Steps,
    reduction: Reduction,
    contributions: &[u64],
    scalars: &[u64],
) -> u64 {
    let format = steps.format();
    let in_rank_order = |terms: &[u64], step: &dyn Fn(u64, u64) -> u64| {
        let mut running = terms[0];
        for next in &terms[1..] {
            running = step(running, *next);
        }
        if is_nan(format, running) { format.nan() } else { running }
    };
    let add = |a, b| steps.add(a, b);
    let scaled = |by: &dyn Fn(usize) -> u64| -> Vec<u64> {
        contributions.iter().enumerate().map(|(rank, x)| steps.multiply(*x, by(rank))).collect()
    };
    match reduction {
        Reduction::Sum => in_rank_order(contributions, &add),
        Reduction::Prod => in_rank_order(contributions, &|a, b| steps.multiply(a, b)),
        Reduction::Max => in_rank_order(contributions, &|a, b| choose(steps, a, b, true)),
        Reduction::Min => in_rank_order(contributions, &|a, b| choose(steps, a, b, false)),
        Reduction::Avg => {
            let ranks = u32::try_from(contributions.len()).unwrap();
            let reciprocal = reciprocal(format, ranks);
            in_rank_order(&scaled(&|_| reciprocal), &add)
        }
        Reduction::PreMulSum => in_rank_order(&scaled(&|rank| scalars[rank]), &add),
        unknown => panic!("the oracle does not know {unknown}"),
    }
}

/// 1/n in binary32 and then in the type; binary64 divides by itself.
pub(crate) fn reciprocal(format: Format, ranks: u32) -> u64 {
    if format == soft::F64 {
        format.reciprocal(ranks)
    } else {
        soft::convert(soft::F32, format, soft::F32.reciprocal(ranks))
    }
}
