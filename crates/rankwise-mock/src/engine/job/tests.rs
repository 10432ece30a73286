//! Every width of vectors that the processor has, and stores of either kind, against the
//! model: every type and reduction, wherever in a cache line the memory begins, and
//! lengths about those of a group.

use rankwise_model::{
    Dtype, Element, ElementVisitor, GroupSize, Layout, Operation, Reduction, Scalar, reference,
};

use super::{Job, Seat, Span, Stores, Width, Worked};

#[path = "../../../tests/engine/values.rs"]
mod values;
use values::Values;

/// One side, some elements behind the beginning of a cache line, and what lies around it.
struct Side<T> {
    all: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Element> Side<T> {
    fn mark(position: usize) -> T {
        T::from_bits(0xa5 ^ position as u64)
    }

    fn holding(values: &[T], offset: usize) -> Self {
        let line = 64 / size_of::<T>();
        let mut all: Vec<T> = (0..values.len() + 3 * line).map(Self::mark).collect();
        let start = all.as_ptr().align_offset(64) + offset % line;
        all[start..start + values.len()].copy_from_slice(values);
        Self { all, start, length: values.len() }
    }

    fn span(&mut self) -> Span {
        Span::of(&mut self.all[self.start..self.start + self.length])
    }

    /// The bits inside, once what lies around is found as it was left.
    fn bits(&self) -> Vec<u64> {
        let end = self.start + self.length;
        for position in (0..self.start).chain(end..self.all.len()) {
            let mark = Self::mark(position).to_bits();
            assert_eq!(self.all[position].to_bits(), mark, "element {position} was written");
        }
        bits(&self.all[self.start..end])
    }
}

fn bits<T: Element>(values: &[T]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// A job of so many elements, in every width, stored either way.
#[derive(Clone, Copy)]
struct Case {
    operation: Operation,
    count: u64,
    offset: usize,
}

impl ElementVisitor for Case {
    type Output = ();

    fn visit<T: Element>(self) {
        let Self { operation, count, offset } = self;
        let ranks = GroupSize::new(3).unwrap();
        let layout = Layout::new(operation, ranks, count).unwrap();
        let mut values = Values::seeded(count << 8 | offset as u64);
        let scalars: Vec<T> = match operation.reduction() {
            Some(Reduction::PreMulSum) => values.many(3),
            _ => Vec::new(),
        };
        let inputs: Vec<Vec<T>> = layout.each().map(|at| values.many(at.input_len())).collect();
        let before: Vec<Vec<T>> = layout.each().map(|at| values.many(at.output_len())).collect();
        let mut wanted = before.clone();
        let read: Vec<&[T]> = inputs.iter().map(Vec::as_slice).collect();
        let mut written: Vec<&mut [T]> = wanted.iter_mut().map(Vec::as_mut_slice).collect();
        reference::evaluate(&layout, &scalars, &read, &mut written).unwrap();

        for width in Width::each() {
            for stores in [Stores::Cached, Stores::Streaming] {
                // Inputs and outputs begin elsewhere; so do two of the outputs, but the
                // third begins where the first does.
                let side = |sides: &[Vec<T>], steps: [usize; 3]| -> Vec<Side<T>> {
                    let each = sides.iter().zip(steps);
                    each.map(|(side, step)| Side::holding(side, offset + step)).collect()
                };
                let mut inputs = side(&inputs, [0, 1, 5]);
                let mut outputs = side(&before, [2, 3, 2]);
                let scalar = |rank| scalars.get(rank).map(|scalar| Scalar::of(*scalar));
                let each = inputs.iter_mut().zip(&mut outputs).enumerate();
                let seat = |(rank, (input, output)): (usize, (&mut Side<T>, &mut Side<T>))| Seat {
                    input: Some(input.span()),
                    output: Some(output.span()),
                    scalar: scalar(rank),
                };
                let seats: Vec<_> = each.map(seat).collect();
                // SAFETY: the sides outlive the job and are left alone until it is done.
                let mut job = unsafe { Job::new(layout, T::DTYPE, &seats) }.unwrap();
                (job.width, job.stores) = (width, stores);
                while job.work() != Worked::Nothing {}
                for ((rank, output), wanted) in outputs.iter().enumerate().zip(&wanted) {
                    assert_eq!(
                        output.bits(),
                        bits(wanted),
                        "{operation} of {count} {}, offset {offset}, {width:?}, {stores:?}: rank {rank}",
                        T::DTYPE
                    );
                }
            }
        }
    }
}

/// About none, one and several lines and groups of every type.
const COUNTS: [u64; 9] = [1, 3, 16, 63, 64, 65, 130, 257, 600];

fn all(operations: &[Operation], offsets: &[usize]) {
    for &operation in operations {
        for dtype in Dtype::ALL {
            for count in COUNTS {
                for &offset in offsets {
                    dtype.visit(Case { operation, count, offset });
                }
            }
        }
    }
}

#[test]
fn every_width_folds_as_the_model_does() {
    let operations = Reduction::ALL.map(|reduction| Operation::AllReduce { reduction });
    all(&operations, &[0, 1, 6]);
}

#[test]
fn every_width_moves_what_is_there() {
    let root = GroupSize::new(3).unwrap().rank(1).unwrap();
    let offsets: Vec<usize> = (0..64).step_by(3).collect();
    all(&[Operation::AllGather, Operation::Broadcast { root }], &offsets);
}

#[test]
fn every_width_folds_wherever_a_line_begins() {
    let offsets: Vec<usize> = (0..64).step_by(7).collect();
    all(&[Operation::ReduceScatter { reduction: Reduction::Sum }], &offsets);
}

/// Parts that are done alone leave what the whole does, however often they are done.
#[test]
fn parts_done_alone_make_the_whole() {
    let ranks = GroupSize::new(2).unwrap();
    let layout =
        Layout::new(Operation::ReduceScatter { reduction: Reduction::Max }, ranks, 50_000).unwrap();
    let mut values = Values::seeded(3);
    let inputs: [Vec<i32>; 2] = [values.many(100_000), values.many(100_000)];
    let mut sides = inputs.clone().map(|input| Side::holding(&input, 1));
    let mut outputs = [0, 1].map(|_| Side::holding(&vec![0; 50_000], 0));
    let each = sides.iter_mut().zip(&mut outputs);
    let seats: Vec<_> = each
        .map(|(input, output)| Seat {
            input: Some(input.span()),
            output: Some(output.span()),
            scalar: None,
        })
        .collect();
    // SAFETY: as above.
    let job = unsafe { Job::new(layout, Dtype::I32, &seats) }.unwrap();
    for part in [2, 0, 1, 1] {
        // SAFETY: nobody else works on the job.
        unsafe { job.work_alone(part, 3) };
    }
    let [a, b] = &inputs;
    let wanted: Vec<i32> = a.iter().zip(b).map(|(a, b)| *a.max(b)).collect();
    for (output, wanted) in outputs.iter().zip(wanted.chunks(50_000)) {
        assert_eq!(output.bits(), bits(wanted));
    }
}
