//! A case with its numbers: what each rank puts in and must get out, round by round.

use core::fmt;
use std::sync::Arc;

use rankwise_comm::{FoldOrder, Placement};
use rankwise_model::{
    Combine, Domain, Dtype, Element, ElementVisitor, GroupSize, LayoutError, Rank, RankLayout,
    Reduction, Scalar, Source, fold,
};

use crate::case::{Case, Pattern, Sides};
use crate::sense::{Expectation, Sense};
use crate::values::{Contributors, Values};
use rankwise_comm::bytes::to_bytes;

/// A case with the values of every rank and round, and what must come of them.
///
/// Expectations are derived from the [pieces](rankwise_model::RankLayout::pieces) and
/// the fold of the model, and from nothing else.
#[derive(Clone, Debug)]
pub struct Plan {
    case: Case,
    sides: Vec<Sides>,
    rounds: Arc<[Round]>,
}

/// One call of every rank.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) contributors: Contributors,
    pub(crate) ranks: Vec<RankRound>,
}

/// One call of one rank.
#[derive(Debug)]
pub(crate) struct RankRound {
    /// The bytes of its input, if it has one.
    pub(crate) input: Option<Vec<u8>>,
    /// What its output must be, if it has one.
    pub(crate) output: Option<Arc<Expectation>>,
    /// Its scalar, for a pre-multiplied sum.
    pub(crate) scalar: Option<Scalar>,
}

/// Why a case cannot be planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// The operation has no layout on these ranks.
    Layout(LayoutError),
    /// The operation has no in-place form.
    NoInPlace(Case),
    /// More ranks than [`Plan::MOST_RANKS`].
    TooManyRanks(Case),
    /// More elements, of all buffers and rounds together, than [`Plan::MOST_ELEMENTS`].
    TooLong {
        /// The case.
        case: Case,
        /// The elements of all of them.
        elements: u64,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout(error) => error.fmt(f),
            Self::NoInPlace(case) => {
                write!(f, "{case}: there is no in-place form; ask for it out of place")
            }
            Self::TooManyRanks(case) => {
                write!(f, "{case}: at most {} ranks are planned", Plan::MOST_RANKS)
            }
            Self::TooLong { case, elements } => write!(
                f,
                "{case}: {elements} elements in {} rounds, at most {} are planned",
                case.rounds,
                Plan::MOST_ELEMENTS
            ),
        }
    }
}

impl core::error::Error for PlanError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Layout(error) => Some(error),
            _ => None,
        }
    }
}

/// Plans cases one after another; cases that differ in form only share their values.
#[derive(Debug, Default)]
pub(crate) struct Planner {
    last: Option<(Key, Arc<[Round]>)>,
}

/// All that the values depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    pattern: Pattern,
    dtype: Dtype,
    ranks: GroupSize,
    count: u64,
    rounds: u32,
    order: FoldOrder,
}

impl Plan {
    /// The most elements that are planned, of all buffers in all rounds together: 2^28.
    pub const MOST_ELEMENTS: u64 = 1 << 28;
    /// The most ranks that are planned: 2^20.
    pub const MOST_RANKS: u32 = 1 << 20;

    /// The plan of a case for a backend that folds in that order.
    pub fn new(case: Case, order: FoldOrder) -> Result<Self, PlanError> {
        Planner::default().plan(case, order)
    }

    /// The case.
    pub const fn case(&self) -> &Case {
        &self.case
    }

    pub(crate) fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    pub(crate) fn sides(&self, rank: Rank) -> Option<&Sides> {
        self.sides.get(usize::try_from(rank.index()).ok()?)
    }
}

impl Planner {
    pub(crate) fn plan(&mut self, case: Case, order: FoldOrder) -> Result<Plan, PlanError> {
        if case.ranks.get() > Plan::MOST_RANKS {
            return Err(PlanError::TooManyRanks(case));
        }
        let sides: Vec<Sides> = case
            .ranks
            .ranks()
            .map(|rank| case.sides(rank))
            .collect::<Result<_, _>>()
            .map_err(PlanError::Layout)?;
        // Guards and what a rank without a side passes are elements too.
        let lengths = sides.iter().flat_map(|at| [at.reads.input_len(), at.writes.output_len()]);
        let once = lengths.fold(0_u64, |all, len| all.saturating_add(len).saturating_add(1));
        let elements = once.saturating_mul(u64::from(case.rounds));
        if elements > Plan::MOST_ELEMENTS {
            return Err(PlanError::TooLong { case, elements });
        }
        let both = |at: &&Sides| at.reads.has_input() && at.writes.has_output();
        if case.placement == Placement::InPlace
            && sides.iter().find(both).is_none_or(|at| at.writes.in_place().is_none())
        {
            return Err(PlanError::NoInPlace(case));
        }
        let Case { pattern, dtype, ranks, count, rounds, .. } = case;
        let key = Key { pattern, dtype, ranks, count, rounds, order };
        let rounds = match &self.last {
            Some((last, rounds)) if *last == key => Arc::clone(rounds),
            _ => dtype.visit(Filling { case: &case, sides: &sides, order }),
        };
        self.last = Some((key, Arc::clone(&rounds)));
        Ok(Plan { case, sides, rounds })
    }
}

/// Makes the rounds of a case, once its element type is known.
struct Filling<'a> {
    case: &'a Case,
    sides: &'a [Sides],
    order: FoldOrder,
}

impl ElementVisitor for Filling<'_> {
    type Output = Arc<[Round]>;

    fn visit<T: Element>(self) -> Arc<[Round]> {
        (0..self.case.rounds).map(|round| self.round::<T>(round)).collect()
    }
}

impl Filling<'_> {
    fn round<T: Element>(&self, round: u32) -> Round {
        let (ranks, reduction) = (self.case.ranks.get(), self.case.pattern.reduction());
        let contributors = match round % 3 {
            0 => Contributors::One,
            2 if self.knows_everyone(reduction) => Contributors::Everyone,
            _ => Contributors::Two,
        };
        let seed = Values::seed(round, ranks, self.case.count);
        let values = Values { seed, ranks, reduction, contributors };
        let inputs: Vec<Option<Vec<T>>> = self
            .sides
            .iter()
            .map(|at| {
                let here = at.reads.has_input();
                here.then(|| values.of(at.reads.rank().index(), at.reads.input_len()))
            })
            .collect();
        let premul = reduction == Some(Reduction::PreMulSum);
        let scalars: Vec<T> =
            if premul { (0..ranks).map(|rank| values.scalar(rank)).collect() } else { Vec::new() };
        let contributions = Contributions { inputs: &inputs, scalars: &scalars, reduction };
        let sense = Sense::of(T::DTYPE, reduction, contributors, self.case.ranks, self.order);

        let mut shared: Option<(&Sides, Arc<Expectation>)> = None;
        let mut each = Vec::with_capacity(self.sides.len());
        for (index, at) in self.sides.iter().enumerate() {
            let output = at.writes.has_output().then(|| match &shared {
                // What all ranks get alike is worked out once.
                Some((first, output)) if alike(&first.writes, &at.writes) => Arc::clone(output),
                _ => Arc::new(contributions.expectation(&at.writes, sense)),
            });
            if let (None, Some(output)) = (&shared, &output) {
                shared = Some((at, Arc::clone(output)));
            }
            each.push(RankRound {
                input: inputs.get(index).and_then(Option::as_ref).map(|input| to_bytes(input)),
                output,
                scalar: scalars.get(index).copied().map(Scalar::of),
            });
        }
        Round { contributors, ranks: each }
    }

    /// Whether it is known what must come of arbitrary values.
    fn knows_everyone(&self, reduction: Option<Reduction>) -> bool {
        let order = self.order == FoldOrder::Rank || !self.case.dtype.is_float();
        order || reduction != Some(Reduction::Prod)
    }
}

fn alike(first: &RankLayout, other: &RankLayout) -> bool {
    first.pieces().eq(other.pieces())
}

/// Everything that was put in, in one round.
pub(crate) struct Contributions<'a, T> {
    pub(crate) inputs: &'a [Option<Vec<T>>],
    pub(crate) scalars: &'a [T],
    pub(crate) reduction: Option<Reduction>,
}

impl<T: Element> Contributions<'_, T> {
    /// The contribution of `rank` at a position of its input.
    pub(crate) fn read(&self, rank: Rank, position: u64) -> Option<T> {
        let input = self.inputs.get(usize::try_from(rank.index()).ok()?)?.as_ref()?;
        input.get(usize::try_from(position).ok()?).copied()
    }

    pub(crate) fn scalar_of(&self, rank: Rank) -> Option<T> {
        self.scalars.get(usize::try_from(rank.index()).ok()?).copied()
    }

    /// What one rank's output must be.
    fn expectation(&self, at: &RankLayout, sense: Sense) -> Expectation {
        let mut values = Vec::new();
        let mut allowed = sense.allowances();
        for piece in at.pieces() {
            for position in piece.output.clone() {
                let from = position - piece.output.start + piece.start;
                let value = match (piece.source, self.reduction) {
                    (Source::Rank(rank), _) => self.read(rank, from),
                    (Source::EveryRank, Some(reduction)) => {
                        let (recipe, ranks) = (reduction.recipe(T::DTYPE), at.layout().ranks());
                        let mut numbers = Numbers(self);
                        allowed.note(self, ranks, from);
                        fold(&mut numbers, recipe, ranks, |_, rank| self.read(rank, from))
                            .map(T::canonical)
                    }
                    (Source::EveryRank, None) => None,
                };
                // Every piece lies inside its source; a hole here would be a wrong answer
                // of the model, and shows as one.
                values.push(value.unwrap_or(T::from_bits(0)));
            }
        }
        Expectation::new(T::DTYPE, to_bytes(&values), allowed)
    }
}

/// The numbers of one type as a domain to fold over.
struct Numbers<'a, T>(&'a Contributions<'a, T>);

impl<T: Element> Domain for Numbers<'_, T> {
    type Value = Option<T>;

    fn times_reciprocal(&mut self, value: Option<T>, ranks: GroupSize) -> Option<T> {
        value.map(|value| value.average_before(ranks))
    }

    fn times_scalar_of(&mut self, rank: Rank, value: Option<T>) -> Option<T> {
        Some(value?.combine(Combine::Prod, self.0.scalar_of(rank)?))
    }

    fn combine(&mut self, how: Combine, running: Option<T>, next: Option<T>) -> Option<T> {
        Some(running?.combine(how, next?))
    }

    fn divide_truncating(&mut self, value: Option<T>, ranks: GroupSize) -> Option<T> {
        value.map(|value| value.average_after(ranks))
    }
}

#[cfg(test)]
mod tests {
    use rankwise_model::{Layout, reference};

    use super::*;
    use crate::matrix::Matrix;
    use rankwise_comm::bytes::element_at;

    /// The reference's answer to the inputs of one round, rank by rank.
    struct Referee<'a>(&'a Layout, &'a Round);
    impl ElementVisitor for Referee<'_> {
        type Output = Vec<Vec<u8>>;
        fn visit<T: Element>(self) -> Vec<Vec<u8>> {
            let Self(layout, round) = self;
            let back = |bytes: &Vec<u8>| -> Vec<T> {
                let at = |index| element_at(T::DTYPE, bytes, index);
                (0..).map_while(at).filter_map(Scalar::get).collect()
            };
            let inputs: Vec<Vec<T>> = round
                .ranks
                .iter()
                .map(|own| own.input.as_ref().map(back).unwrap_or_default())
                .collect();
            let scalars: Vec<T> =
                round.ranks.iter().filter_map(|own| own.scalar.and_then(Scalar::get)).collect();
            let mut outputs: Vec<Vec<T>> = layout
                .each()
                .map(|at| vec![T::from_bits(0); usize::try_from(at.output_len()).unwrap()])
                .collect();
            let inputs: Vec<&[T]> = inputs.iter().map(Vec::as_slice).collect();
            let mut targets: Vec<&mut [T]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
            reference::evaluate(layout, &scalars, &inputs, &mut targets).unwrap();
            outputs.iter().map(|output| to_bytes(output)).collect()
        }
    }

    #[test]
    fn expectations_are_those_of_the_reference() {
        let sizes = [1, 2, 3, 5].map(|ranks| GroupSize::new(ranks).unwrap());
        let matrix = Matrix::full().ranks(sizes).counts([3]).matching("out of place");
        let mut compared = 0;
        for case in matrix.cases() {
            let Pattern::Operation(operation) = case.pattern else { continue };
            let layout = Layout::new(operation, case.ranks, case.count).unwrap();
            for order in [FoldOrder::Rank, FoldOrder::Unspecified] {
                let plan = Plan::new(case, order).unwrap();
                for round in plan.rounds() {
                    let expected = case.dtype.visit(Referee(&layout, round));
                    for (own, expected) in round.ranks.iter().zip(expected) {
                        let planned = own.output.as_ref().map_or(&[][..], |output| output.bytes());
                        assert_eq!(planned, expected, "{case}");
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 10_000, "{compared}");
    }

    #[test]
    fn what_cannot_be_planned_is_an_error() {
        let two = GroupSize::new(2).unwrap();
        let case = Matrix::full().ranks([two]).cases().next().unwrap();
        let long = Case { count: 1 << 27, rounds: 1, ..case };
        let error = Plan::new(long, FoldOrder::Rank).unwrap_err();
        assert_eq!(error, PlanError::TooLong { case: long, elements: (1 << 29) + 4 });
        let often = Case { rounds: u32::MAX, ..case };
        assert!(matches!(Plan::new(often, FoldOrder::Rank), Err(PlanError::TooLong { .. })));
        let many = Case { ranks: GroupSize::new(u32::MAX).unwrap(), ..case };
        assert_eq!(Plan::new(many, FoldOrder::Rank).unwrap_err(), PlanError::TooManyRanks(many));
        let pattern = Pattern::Exchange { shift: 1 };
        let exchange = Case { pattern, placement: Placement::InPlace, ..case };
        let error = Plan::new(exchange, FoldOrder::Rank).unwrap_err();
        assert_eq!(error, PlanError::NoInPlace(exchange));
    }
}
