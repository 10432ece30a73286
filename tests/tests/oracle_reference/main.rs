//! The reference against a naive oracle that shares no code with it.
//!
//! The oracle has its own formulas (`formulas`), its own arithmetic (`arithmetic`)
//! and its own floats in whole numbers (`soft`). Of the crate under test it uses the
//! names of things only: which operation, which type, which reduction.
#![allow(clippy::print_stdout)] // how many cases ran, and of what, is the evidence

mod arithmetic;
mod conversions;
mod draw;
mod formulas;
mod soft;

use std::collections::{BTreeMap, BTreeSet};

use arithmetic::{Kind, kind};
use draw::Dice;
use formulas::Call;
use rankwise_model::{
    Dtype, Element, ElementVisitor, GroupSize, Layout, Operation, OperationKind, Reduction,
    reference,
};
use soft::Number;

/// Rounds over all cells of operation, type and reduction.
const ROUNDS: usize = 360;
const MOST_RANKS: usize = 8;
const MOST_COUNT: usize = 6;
const SEED: u64 = 0x0005_eed0_fca5_e500;

/// One cell of what must be covered; a mover of values has no reduction.
type Cell = (OperationKind, Option<Reduction>, Dtype);

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for operation in OperationKind::ALL {
        let folds = matches!(operation.name(), "all_reduce" | "reduce" | "reduce_scatter");
        let reductions: Vec<Option<Reduction>> =
            if folds { Reduction::ALL.into_iter().map(Some).collect() } else { vec![None] };
        for reduction in reductions {
            cells.extend(Dtype::ALL.map(|dtype| (operation, reduction, dtype)));
        }
    }
    cells
}

fn operation((kind, reduction, _): Cell, size: GroupSize, dice: &mut Dice) -> Operation {
    let mut rank = || {
        let index = dice.below(usize::try_from(size.get()).unwrap());
        size.rank(u32::try_from(index).unwrap()).unwrap()
    };
    let reduction = || reduction.unwrap();
    match kind {
        OperationKind::AllReduce => Operation::AllReduce { reduction: reduction() },
        OperationKind::Reduce => Operation::Reduce { reduction: reduction(), root: rank() },
        OperationKind::Broadcast => Operation::Broadcast { root: rank() },
        OperationKind::AllGather => Operation::AllGather,
        OperationKind::ReduceScatter => Operation::ReduceScatter { reduction: reduction() },
        OperationKind::AllToAll => Operation::AllToAll,
        OperationKind::Gather => Operation::Gather { root: rank() },
        OperationKind::Scatter => Operation::Scatter { root: rank() },
        OperationKind::Message => Operation::Message { from: rank(), to: rank() },
        unknown => panic!("the oracle does not know {unknown}"),
    }
}

/// What the cases that ran have shown.
#[derive(Default)]
struct Coverage {
    cases: usize,
    positions: usize,
    by_cell: BTreeMap<Cell, usize>,
    /// Per operation: ranks, count, and whether in place.
    sizes: BTreeSet<(OperationKind, usize, usize, bool)>,
    /// Per rooted operation: the root, and how many ranks.
    roots: BTreeSet<(OperationKind, u32, usize)>,
    refused: BTreeSet<OperationKind>,
    /// Per float type: what was contributed, and what a fold left.
    specials: BTreeMap<(Dtype, &'static str), usize>,
}

impl Coverage {
    fn note_elements(&mut self, dtype: Dtype, into: [&'static str; 5], elements: &[u64]) {
        let (Kind::Float(format) | Kind::Tiny(format)) = kind(dtype) else { return };
        for bits in elements {
            let least_normal = 1 << format.mantissa;
            let magnitude = bits & (format.sign_bit() - 1);
            let special = match format.decode(*bits) {
                Number::Nan => into[0],
                Number::Infinity { .. } => into[1],
                Number::Finite { mantissa: 0, negative: true, .. } => into[2],
                _ if magnitude == format.largest_finite() => into[3],
                _ if magnitude > 0 && magnitude < least_normal => into[4],
                Number::Finite { .. } => continue,
            };
            *self.specials.entry((dtype, special)).or_default() += 1;
        }
    }
}

const GIVEN: [&str; 5] = ["NaN", "infinity", "-0", "largest", "subnormal"];
const LEFT: [&str; 5] = ["to NaN", "to infinity", "to -0", "to largest", "to subnormal"];

/// A case with the inputs drawn, for a type that is known at run time only.
struct Case<'a> {
    call: &'a Call,
    layout: Layout,
    inputs: &'a [Vec<u64>],
    /// What every output, and every buffer around one, holds before.
    stale: &'a [Vec<u64>],
    in_place: bool,
}

impl Case<'_> {
    fn expected(&self, r: usize) -> Vec<u64> {
        let len = self.call.output_len(r).unwrap_or(0);
        (0..len).map(|p| self.call.output(self.inputs, r, p)).collect()
    }

    fn scalars<T: Element>(&self) -> Vec<T> {
        elements(&self.call.scalars)
    }

    /// The positions compared.
    fn out_of_place<T: Element>(&self) -> usize {
        let inputs: Vec<Vec<T>> = self.inputs.iter().map(|bits| elements(bits)).collect();
        let mut outputs: Vec<Vec<T>> = (0..self.call.ranks)
            .map(|r| elements(&self.stale[r][..self.call.output_len(r).unwrap_or(0)]))
            .collect();
        let read: Vec<&[T]> = inputs.iter().map(Vec::as_slice).collect();
        let mut write: Vec<&mut [T]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        reference::evaluate(&self.layout, &self.scalars(), &read, &mut write).unwrap();
        let mut compared = 0;
        for (r, output) in outputs.iter().enumerate() {
            self.agree(r, &self.expected(r), &patterns(output));
            compared += output.len();
        }
        compared
    }

    /// The positions compared, or `None` if the operation has no such form.
    fn in_place<T: Element>(&self) -> Option<usize> {
        let call = self.call;
        let forms: Option<Vec<_>> = (0..call.ranks).map(|r| call.one_buffer(r)).collect();
        let mut before: Vec<Vec<u64>> = Vec::new();
        for r in 0..call.ranks {
            let refused = call.input_len(r).unwrap_or(0).max(call.output_len(r).unwrap_or(0));
            let len = forms.as_ref().map_or(refused, |forms| forms[r].len);
            let mut buffer = self.stale[r][..len].to_vec();
            if let Some(forms) = &forms {
                let start = forms[r].input;
                buffer[start..start + self.inputs[r].len()].copy_from_slice(&self.inputs[r]);
            }
            before.push(buffer);
        }
        let mut buffers: Vec<Vec<T>> = before.iter().map(|bits| elements(bits)).collect();
        let mut borrowed: Vec<&mut [T]> = buffers.iter_mut().map(Vec::as_mut_slice).collect();
        let done =
            reference::evaluate_in_place(&self.layout, &self.scalars(), &mut borrowed).unwrap();
        assert_eq!(done, forms.is_some(), "{}: in place", self.layout.operation());
        let mut compared = 0;
        for (r, buffer) in buffers.iter().enumerate() {
            let mut expected = before[r].clone();
            if let Some(forms) = &forms {
                let output = self.expected(r);
                let start = forms[r].output;
                expected[start..start + output.len()].copy_from_slice(&output);
            }
            self.agree(r, &expected, &patterns(buffer));
            compared += buffer.len();
        }
        forms.map(|_| compared)
    }

    #[track_caller]
    fn agree(&self, r: usize, expected: &[u64], found: &[u64]) {
        assert!(
            expected == found,
            "{} of {} over {} ranks, count {}, in place {}: rank {r} has {found:x?}, not \
             {expected:x?}; inputs {:x?}, scalars {:x?}",
            self.layout.operation(),
            self.call.dtype,
            self.call.ranks,
            self.call.count,
            self.in_place,
            self.inputs,
            self.call.scalars,
        );
    }
}

fn elements<T: Element>(bits: &[u64]) -> Vec<T> {
    bits.iter().map(|bits| T::from_bits(*bits)).collect()
}

fn patterns<T: Element>(elements: &[T]) -> Vec<u64> {
    elements.iter().map(|element| element.to_bits()).collect()
}

impl ElementVisitor for Case<'_> {
    type Output = Option<usize>;
    fn visit<T: Element>(self) -> Option<usize> {
        if self.in_place { self.in_place::<T>() } else { Some(self.out_of_place::<T>()) }
    }
}

fn run_one(cell: Cell, dice: &mut Dice, coverage: &mut Coverage) {
    let (kind, reduction, dtype) = cell;
    let ranks = 1 + dice.below(MOST_RANKS);
    let count = dice.below(MOST_COUNT + 1);
    let size = GroupSize::new(u32::try_from(ranks).unwrap()).unwrap();
    let operation = operation(cell, size, dice);
    dice.tame = dice.one_in(2);
    let scalars = match reduction {
        Some(Reduction::PreMulSum) => (0..ranks).map(|_| dice.element(dtype)).collect(),
        _ => Vec::new(),
    };
    let call = Call { operation, dtype, ranks, count, scalars };
    let mut drawn = |len: usize| -> Vec<u64> { (0..len).map(|_| dice.element(dtype)).collect() };
    let inputs: Vec<Vec<u64>> = (0..ranks).map(|r| drawn(call.input_len(r).unwrap_or(0))).collect();
    let stale: Vec<Vec<u64>> = (0..ranks).map(|_| drawn(ranks * count)).collect();
    let in_place = dice.one_in(2);

    let layout = Layout::new(operation, size, u64::try_from(count).unwrap()).unwrap();
    for (r, at) in layout.each().enumerate() {
        let lengths = (call.input_len(r), call.output_len(r));
        let len = |len: Option<usize>| u64::try_from(len.unwrap_or(0)).unwrap();
        assert_eq!((at.has_input(), at.has_output()), (lengths.0.is_some(), lengths.1.is_some()));
        assert_eq!((at.input_len(), at.output_len()), (len(lengths.0), len(lengths.1)));
    }

    let case = Case { call: &call, layout, inputs: &inputs, stale: &stale, in_place };
    if reduction.is_some() {
        for (r, input) in inputs.iter().enumerate() {
            coverage.note_elements(dtype, GIVEN, input);
            coverage.note_elements(dtype, LEFT, &case.expected(r));
        }
    }
    coverage.cases += 1;
    match dtype.visit(case) {
        Some(positions) => {
            coverage.positions += positions;
            *coverage.by_cell.entry(cell).or_default() += 1;
            coverage.sizes.insert((kind, ranks, count, in_place));
            if let Some(root) = operation.root() {
                coverage.roots.insert((kind, root.index(), ranks));
            }
        }
        None => {
            coverage.refused.insert(kind);
        }
    }
}

#[test]
fn the_reference_agrees_with_the_oracle() {
    // pins: ALLRED-1, RED-1, BC-1, AG-1, RS-1, ATA-1, GA-1, SC-1, MSG-1
    // pins: AR-1, AR-2, AR-3, AR-4, AR-5, AR-6, AR-7, AR-8, AR-9, AR-10, AR-11
    // pins: IP-5, IP-6, CNT-6, N-4
    let mut dice = Dice::new(SEED);
    let mut coverage = Coverage::default();
    let cells = cells();
    for _ in 0..ROUNDS {
        for cell in &cells {
            run_one(*cell, &mut dice, &mut coverage);
        }
    }
    print(&cells, &coverage);

    assert!(coverage.cases >= 100_000, "{} cases", coverage.cases);
    // A cell of a row that is refused in place has half the cases.
    for cell in &cells {
        let ran = coverage.by_cell.get(cell).copied().unwrap_or(0);
        assert!(ran >= ROUNDS / 3, "{cell:?}: {ran} cases");
    }
    for kind in OperationKind::ALL {
        for ranks in 1..=MOST_RANKS {
            for count in 0..=MOST_COUNT {
                assert!(coverage.sizes.contains(&(kind, ranks, count, false)), "{kind} {ranks}");
                let refused = kind == OperationKind::AllToAll
                    || (kind == OperationKind::Message && ranks == 1);
                assert_eq!(coverage.sizes.contains(&(kind, ranks, count, true)), !refused);
            }
            for root in 0..u32::try_from(ranks).unwrap() {
                let rooted = matches!(kind.name(), "reduce" | "broadcast" | "gather" | "scatter");
                assert_eq!(coverage.roots.contains(&(kind, root, ranks)), rooted, "{kind} {root}");
            }
        }
    }
    assert_eq!(coverage.refused, BTreeSet::from([OperationKind::AllToAll, OperationKind::Message]));
    for dtype in Dtype::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for special in GIVEN.into_iter().chain(LEFT) {
            let seen = coverage.specials.get(&(dtype, special)).copied().unwrap_or(0);
            let never = special.ends_with("infinity") && dtype == Dtype::F8E4M3;
            assert_eq!(seen == 0, never, "{dtype}: {special} {seen} times");
        }
    }
}

fn print(cells: &[Cell], coverage: &Coverage) {
    println!("{} cases, {} positions compared", coverage.cases, coverage.positions);
    print!("{:22}", "");
    for dtype in Dtype::ALL {
        print!("{dtype:>8}");
    }
    for (kind, reduction, dtype) in cells {
        if *dtype == Dtype::ALL[0] {
            let reduction = reduction.map_or("-", Reduction::name);
            print!("\n{:22}", format!("{kind} {reduction}"));
        }
        let ran = coverage.by_cell.get(&(*kind, *reduction, *dtype)).copied().unwrap_or(0);
        print!("{ran:>8}");
    }
    println!("\nvalues among the inputs and outputs of folds:");
    for special in GIVEN.into_iter().chain(LEFT) {
        print!("{special:22}");
        for dtype in Dtype::ALL {
            let seen = coverage.specials.get(&(dtype, special)).copied().unwrap_or(0);
            print!("{seen:>8}");
        }
        println!();
    }
}
