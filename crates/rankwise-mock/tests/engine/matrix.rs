//! Every operation, type, reduction, root and size, in place and out.

use rankwise_model::{
    Dtype, Element, ElementVisitor, GroupSize, Layout, Operation, OperationKind, Rank, Reduction,
    reference,
};

use crate::memory::{Guard, Guarded, finish, in_place_seat, job, with_scalars};
use crate::values::Values;

/// Every form of a kind for a group: all reductions, all roots, all pairs.
pub(crate) fn forms(kind: OperationKind, ranks: GroupSize) -> Vec<Operation> {
    let roots = || ranks.ranks();
    let reductions = || Reduction::ALL.into_iter();
    match kind {
        OperationKind::AllReduce => {
            reductions().map(|reduction| Operation::AllReduce { reduction }).collect()
        }
        OperationKind::Reduce => reductions()
            .flat_map(|reduction| roots().map(move |root| Operation::Reduce { reduction, root }))
            .collect(),
        OperationKind::Broadcast => roots().map(|root| Operation::Broadcast { root }).collect(),
        OperationKind::AllGather => vec![Operation::AllGather],
        OperationKind::ReduceScatter => {
            reductions().map(|reduction| Operation::ReduceScatter { reduction }).collect()
        }
        OperationKind::AllToAll => vec![Operation::AllToAll],
        OperationKind::Gather => roots().map(|root| Operation::Gather { root }).collect(),
        OperationKind::Scatter => roots().map(|root| Operation::Scatter { root }).collect(),
        OperationKind::Message => roots()
            .flat_map(|from| roots().map(move |to| Operation::Message { from, to }))
            .collect(),
        other => panic!("{other} has no forms here: add them"),
    }
}

/// One case: the same inputs for the engine and for the reference.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) layout: Layout,
    pub(crate) guard: Guard,
    pub(crate) seed: u64,
}

impl Case {
    fn scalars<T: Element>(&self, values: &mut Values) -> Vec<T> {
        match self.layout.operation().reduction() {
            Some(Reduction::PreMulSum) => values.many(u64::from(self.layout.ranks().get())),
            _ => Vec::new(),
        }
    }

    fn out_of_place<T: Element>(&self) {
        let mut values = Values::seeded(self.seed);
        let scalars = self.scalars::<T>(&mut values);
        let each = || self.layout.each();
        let inputs: Vec<Vec<T>> = each().map(|at| values.many(at.input_len())).collect();
        let before: Vec<Vec<T>> = each().map(|at| values.many(at.output_len())).collect();

        let guarded = |sides: &[Vec<T>]| {
            sides.iter().map(|side| Guarded::holding(side, self.guard)).collect()
        };
        let (mut read, mut written): (Vec<_>, Vec<_>) = (guarded(&inputs), guarded(&before));
        let mut seats: Vec<_> = read
            .iter_mut()
            .zip(&mut written)
            .map(|(input, output)| rankwise_mock::engine::Seat {
                input: Some(input.span()),
                output: Some(output.span()),
                scalar: None,
            })
            .collect();
        with_scalars(&mut seats, &scalars);
        finish(&job::<T>(self.layout, &seats).unwrap());

        let mut wanted = before;
        let inputs: Vec<&[T]> = inputs.iter().map(Vec::as_slice).collect();
        let mut outputs: Vec<&mut [T]> = wanted.iter_mut().map(Vec::as_mut_slice).collect();
        reference::evaluate(&self.layout, &scalars, &inputs, &mut outputs).unwrap();
        self.compare("out of place", &written, &wanted);
        for (rank, (input, expected)) in read.iter().zip(inputs).enumerate() {
            let expected: Vec<u64> = expected.iter().map(|value| value.to_bits()).collect();
            assert_eq!(input.bits(), expected, "{}: the input of {rank} changed", self.name::<T>());
        }
    }

    fn in_place<T: Element>(&self) {
        let mut values = Values::seeded(self.seed ^ 1);
        let scalars = self.scalars::<T>(&mut values);
        let lengths = self.layout.each().map(|at| at.input_len().max(at.output_len()));
        let mut wanted: Vec<Vec<T>> = lengths.map(|length| values.many(length)).collect();
        let mut buffers: Vec<_> =
            wanted.iter().map(|buffer| Guarded::holding(buffer, self.guard)).collect();

        let mut whole: Vec<&mut [T]> = wanted.iter_mut().map(Vec::as_mut_slice).collect();
        if !reference::evaluate_in_place(&self.layout, &scalars, &mut whole).unwrap() {
            return;
        }
        let mut seats: Vec<_> = self
            .layout
            .each()
            .zip(&mut buffers)
            .map(|(at, buffer)| in_place_seat::<T>(&at, buffer.span()))
            .collect();
        with_scalars(&mut seats, &scalars);
        finish(&job::<T>(self.layout, &seats).unwrap());
        self.compare("in place", &buffers, &wanted);
    }

    fn compare<T: Element>(&self, form: &str, found: &[Guarded<T>], wanted: &[Vec<T>]) {
        for (rank, (found, wanted)) in found.iter().zip(wanted).enumerate() {
            let found = found.bits();
            let wanted = wanted.iter().map(|value| value.to_bits());
            let differs =
                found.iter().copied().zip(wanted).position(|(found, wanted)| found != wanted);
            assert_eq!(
                differs,
                None,
                "{} {form}: first difference on rank {rank}",
                self.name::<T>()
            );
        }
    }

    fn name<T: Element>(&self) -> String {
        let Self { layout, seed, .. } = self;
        let (operation, ranks, count) = (layout.operation(), layout.ranks(), layout.count());
        format!("{operation} of {count} {} on {ranks} ranks (seed {seed})", T::DTYPE)
    }
}

impl ElementVisitor for Case {
    type Output = ();
    fn visit<T: Element>(self) {
        self.out_of_place::<T>();
        self.in_place::<T>();
    }
}

fn run(operation: Operation, ranks: GroupSize, counts: &[u64], dtype: Dtype, seed: &mut u64) {
    for &count in counts {
        *seed += 1;
        let guard = if seed.is_multiple_of(2) { Guard::Nothing } else { Guard::Elements };
        let layout = Layout::new(operation, ranks, count).unwrap();
        dtype.visit(Case { layout, guard, seed: *seed << 8 });
    }
}

/// All types of one kind, for all groups.
fn all(kind: OperationKind) {
    let mut seed = u64::from(kind as u32) << 32;
    for ranks in [1, 2, 3, 4, 7, 8].map(|ranks| GroupSize::new(ranks).unwrap()) {
        for dtype in Dtype::ALL {
            for operation in forms(kind, ranks) {
                run(operation, ranks, &[0, 1, 3, 17], dtype, &mut seed);
            }
        }
    }
}

/// Longer counts: several blocks, several shares. One root in the middle.
fn long(kind: OperationKind) {
    let mut seed = u64::from(kind as u32) << 40;
    let middle = |ranks: GroupSize, rank: Rank| rank.index() == ranks.get() / 2;
    for (ranks, counts) in [(2, &[1000, 20_021][..]), (3, &[14_011]), (8, &[1000])] {
        let ranks = GroupSize::new(ranks).unwrap();
        for dtype in Dtype::ALL {
            for operation in forms(kind, ranks) {
                let elsewhere = |rank: Rank| !middle(ranks, rank);
                let skipped = match operation {
                    Operation::Message { from, to } => elsewhere(from) || to.index() > 1,
                    other => other.root().is_some_and(elsewhere),
                };
                if !skipped {
                    run(operation, ranks, counts, dtype, &mut seed);
                }
            }
        }
    }
}

macro_rules! kinds {
    ($($name:ident: $kind:ident;)*) => {
        $(
            mod $name {
                #[test]
                fn is_the_reference_bit_for_bit() {
                    super::all(super::OperationKind::$kind);
                }

                #[test]
                fn is_the_reference_over_many_blocks() {
                    super::long(super::OperationKind::$kind);
                }
            }
        )*

        #[test]
        fn no_operation_is_left_out() {
            assert_eq!([$(OperationKind::$kind),*], OperationKind::ALL);
        }
    };
}

kinds! {
    all_reduce: AllReduce;
    reduce: Reduce;
    broadcast: Broadcast;
    all_gather: AllGather;
    reduce_scatter: ReduceScatter;
    all_to_all: AllToAll;
    gather: Gather;
    scatter: Scatter;
    message: Message;
}
