//! The generated cases.

use rankwise_comm::Placement;
use rankwise_model::operation::InPlaceRule;
use rankwise_model::{Dtype, GroupSize, Operation, OperationKind, Rank, Reduction};

use crate::case::{Case, Grouping, Pattern};
use crate::filter::Filter;

/// Every combination of what can be chosen about a case, always in the same order.
///
/// Roots and the two ends of a message run through all ranks of each group.
///
/// ```
/// use rankwise_conformance::Matrix;
/// use rankwise_model::{Dtype, GroupSize, OperationKind};
///
/// let matrix = Matrix::full()
///     .ranks([GroupSize::new(4).unwrap()])
///     .operations([OperationKind::Broadcast])
///     .dtypes([Dtype::Bf16])
///     .counts([17])
///     .matching("in place");
/// let names: Vec<_> = matrix.cases().map(|case| case.to_string()).collect();
/// assert_eq!(names[0], "broadcast/root=0/bf16/n=4/count=17/in place");
/// assert_eq!(names.len(), 8); // four roots, alone and in a group
/// ```
#[derive(Clone, Debug)]
pub struct Matrix {
    ranks: Vec<GroupSize>,
    operations: Vec<OperationKind>,
    reductions: Vec<Reduction>,
    dtypes: Vec<Dtype>,
    counts: Vec<u64>,
    grouped_counts: Vec<u64>,
    rounds: u32,
    filters: Vec<Filter>,
}

/// Group sizes from numbers that are not zero.
fn sizes<const N: usize>(ranks: [u32; N]) -> Vec<GroupSize> {
    ranks.into_iter().filter_map(GroupSize::new).collect()
}

impl Matrix {
    /// Everything: 1, 2, 3, 4, 7 and 8 ranks; every operation, type and reduction;
    /// counts 0, 1, 17 and 1031; each call by itself, and for count 17 also in a group.
    pub fn full() -> Self {
        Self {
            ranks: sizes([1, 2, 3, 4, 7, 8]),
            operations: OperationKind::ALL.to_vec(),
            reductions: Reduction::ALL.to_vec(),
            dtypes: Dtype::ALL.to_vec(),
            counts: vec![0, 1, 17, 1031],
            grouped_counts: vec![17],
            rounds: 3,
            filters: Vec::new(),
        }
    }

    /// A part that takes a second: 1, 2 and 3 ranks; every operation and reduction; one
    /// type of each sort; counts 0, 1 and 17.
    pub fn quick() -> Self {
        Self {
            ranks: sizes([1, 2, 3]),
            dtypes: vec![Dtype::I32, Dtype::U8, Dtype::F8E4M3, Dtype::Bf16, Dtype::F32],
            counts: vec![0, 1, 17],
            ..Self::full()
        }
    }

    /// Only groups of these sizes.
    #[must_use]
    pub fn ranks(mut self, ranks: impl IntoIterator<Item = GroupSize>) -> Self {
        self.ranks = ranks.into_iter().collect();
        self
    }

    /// Only these operations.
    #[must_use]
    pub fn operations(mut self, operations: impl IntoIterator<Item = OperationKind>) -> Self {
        self.operations = operations.into_iter().collect();
        self
    }

    /// Only these reductions.
    #[must_use]
    pub fn reductions(mut self, reductions: impl IntoIterator<Item = Reduction>) -> Self {
        self.reductions = reductions.into_iter().collect();
        self
    }

    /// Only these element types.
    #[must_use]
    pub fn dtypes(mut self, dtypes: impl IntoIterator<Item = Dtype>) -> Self {
        self.dtypes = dtypes.into_iter().collect();
        self
    }

    /// Only these count arguments, each by itself and in a group.
    #[must_use]
    pub fn counts(mut self, counts: impl IntoIterator<Item = u64>) -> Self {
        self.counts = counts.into_iter().collect();
        self.grouped_counts.clone_from(&self.counts);
        self
    }

    /// That many calls in each case.
    #[must_use]
    pub fn rounds(mut self, rounds: u32) -> Self {
        self.rounds = rounds;
        self
    }

    /// Only cases whose names have these parts; see [`Filter`].
    #[must_use]
    pub fn matching(mut self, parts: impl Into<String>) -> Self {
        self.filters.push(Filter::new(parts));
        self
    }

    /// The sizes of the groups.
    pub fn group_sizes(&self) -> &[GroupSize] {
        &self.ranks
    }

    /// The cases, group by group.
    pub fn cases(&self) -> impl Iterator<Item = Case> + '_ {
        self.ranks.iter().flat_map(|ranks| self.cases_of(*ranks))
    }

    /// The cases of the groups of one size.
    pub fn cases_of(&self, ranks: GroupSize) -> impl Iterator<Item = Case> + '_ {
        let patterns = self.operations.iter().flat_map(move |kind| self.patterns(*kind, ranks));
        let sized = patterns.flat_map(move |pattern| {
            self.dtypes.iter().flat_map(move |dtype| {
                self.counts.iter().map(move |count| (pattern, *dtype, *count))
            })
        });
        let all = sized.flat_map(move |(pattern, dtype, count)| {
            forms(pattern, self.grouped_counts.contains(&count)).map(
                move |(placement, grouping)| Case {
                    pattern,
                    dtype,
                    ranks,
                    count,
                    placement,
                    grouping,
                    rounds: self.rounds,
                },
            )
        });
        all.filter(|case| {
            self.filters.is_empty() || {
                let name = case.to_string();
                self.filters.iter().all(|filter| filter.matches(&name))
            }
        })
    }

    fn patterns(&self, kind: OperationKind, ranks: GroupSize) -> Vec<Pattern> {
        if kind == OperationKind::Message {
            let others = |from: Rank| ranks.ranks().filter(move |to| *to != from);
            let pairs = ranks.ranks().flat_map(|from| others(from).map(move |to| (from, to)));
            let messages =
                pairs.map(|(from, to)| Pattern::Operation(Operation::Message { from, to }));
            let exchanges = (0..ranks.get()).map(|shift| Pattern::Exchange { shift });
            return messages.chain(exchanges).collect();
        }
        let reductions: Vec<_> = if kind.reduces() {
            self.reductions.iter().copied().map(Some).collect()
        } else {
            vec![None]
        };
        let roots: Vec<_> =
            if kind.is_rooted() { ranks.ranks().collect() } else { vec![ranks.first()] };
        let with =
            |reduction| roots.iter().filter_map(move |root| operation(kind, reduction, *root));
        reductions.into_iter().flat_map(with).map(Pattern::Operation).collect()
    }
}

/// The operation of a kind; `None` for kinds of a later model, and for a message.
fn operation(kind: OperationKind, reduction: Option<Reduction>, root: Rank) -> Option<Operation> {
    Some(match (kind, reduction) {
        (OperationKind::AllReduce, Some(reduction)) => Operation::AllReduce { reduction },
        (OperationKind::Reduce, Some(reduction)) => Operation::Reduce { reduction, root },
        (OperationKind::ReduceScatter, Some(reduction)) => Operation::ReduceScatter { reduction },
        (OperationKind::Broadcast, None) => Operation::Broadcast { root },
        (OperationKind::AllGather, None) => Operation::AllGather,
        (OperationKind::AllToAll, None) => Operation::AllToAll,
        (OperationKind::Gather, None) => Operation::Gather { root },
        (OperationKind::Scatter, None) => Operation::Scatter { root },
        _ => return None,
    })
}

/// In which forms a pattern is called.
fn forms(pattern: Pattern, grouped: bool) -> impl Iterator<Item = (Placement, Grouping)> {
    let in_place = pattern.kind().row().in_place != InPlaceRule::Refused;
    let grouped = grouped && matches!(pattern, Pattern::Operation(_));
    [
        (true, Placement::OutOfPlace, Grouping::Alone),
        (in_place, Placement::InPlace, Grouping::Alone),
        (grouped, Placement::OutOfPlace, Grouping::Grouped),
        (grouped && in_place, Placement::InPlace, Grouping::Grouped),
    ]
    .into_iter()
    .filter_map(|(there, placement, grouping)| there.then_some((placement, grouping)))
}
