//! Laws that hold whatever the numbers are, and no panic whatever the arguments.

use proptest::prelude::*;
use rankwise_model::{
    Dtype, DtypeClass, Element, GroupSize, Layout, Operation, OperationKind, Piece, Rank,
    Reduction, Scalar, Source, reference,
};

/// A group of any size that can name any rank: ranks index groups, not each other.
fn rank(index: u32) -> Rank {
    GroupSize::new(u32::MAX).unwrap().rank(index).unwrap()
}

fn size(ranks: usize) -> GroupSize {
    GroupSize::new(u32::try_from(ranks).unwrap()).unwrap()
}

fn reductions() -> impl Strategy<Value = Reduction> {
    prop::sample::select(Reduction::ALL.to_vec())
}

fn dtypes() -> impl Strategy<Value = Dtype> {
    prop::sample::select(Dtype::ALL.to_vec())
}

/// Every operation, with ranks of a group of `most` or fewer.
fn operations(most: u32) -> impl Strategy<Value = Operation> {
    let ranks = move || (0..most).prop_map(rank);
    (reductions(), ranks(), ranks()).prop_flat_map(|(reduction, root, other)| {
        prop::sample::select(vec![
            Operation::AllReduce { reduction },
            Operation::Reduce { reduction, root },
            Operation::Broadcast { root },
            Operation::AllGather,
            Operation::ReduceScatter { reduction },
            Operation::AllToAll,
            Operation::Gather { root },
            Operation::Scatter { root },
            Operation::Message { from: root, to: other },
        ])
    })
}

/// What every rank has afterwards.
fn run<T: Element>(
    operation: Operation,
    scalars: &[T],
    inputs: &[Vec<T>],
    count: usize,
) -> Vec<Vec<T>> {
    let layout = Layout::new(operation, size(inputs.len()), u64::try_from(count).unwrap()).unwrap();
    let zero = T::from_bits(0);
    let mut outputs: Vec<Vec<T>> =
        layout.each().map(|at| vec![zero; usize::try_from(at.output_len()).unwrap()]).collect();
    let read: Vec<&[T]> = inputs.iter().map(Vec::as_slice).collect();
    let mut write: Vec<&mut [T]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    reference::evaluate(&layout, scalars, &read, &mut write).unwrap();
    outputs
}

fn patterns<T: Element>(outputs: &[Vec<T>]) -> Vec<Vec<u64>> {
    outputs.iter().map(|output| output.iter().map(|x| x.to_bits()).collect()).collect()
}

/// Two to five ranks, a block length, and `n` blocks of patterns on each rank.
fn blocks() -> impl Strategy<Value = (usize, Vec<Vec<u64>>)> {
    (1_usize..6, 0_usize..4).prop_flat_map(|(ranks, count)| {
        let input = prop::collection::vec(any::<u64>(), ranks * count);
        (Just(count), prop::collection::vec(input, ranks))
    })
}

fn of<T: Element>(inputs: &[Vec<u64>]) -> Vec<Vec<T>> {
    inputs.iter().map(|input| input.iter().map(|bits| T::from_bits(*bits)).collect()).collect()
}

fn scalars<T: Element>(reduction: Reduction, ranks: usize) -> Vec<T> {
    let scaled = reduction == Reduction::PreMulSum;
    (1..=ranks).filter(|_| scaled).map(|k| T::from_bits(u64::try_from(k).unwrap() * 3)).collect()
}

/// `reduce_scatter` then `all_gather` of its shards, and `all_reduce`.
fn two_ways<T: Element>(
    reduction: Reduction,
    count: usize,
    inputs: &[Vec<u64>],
) -> [Vec<Vec<u64>>; 2] {
    let inputs = of::<T>(inputs);
    let scalars = scalars::<T>(reduction, inputs.len());
    let shards = run(Operation::ReduceScatter { reduction }, &scalars, &inputs, count);
    let gathered = run(Operation::AllGather, &[], &shards, count);
    let whole = count * inputs.len();
    let reduced = run(Operation::AllReduce { reduction }, &scalars, &inputs, whole);
    [patterns(&gathered), patterns(&reduced)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Bit for bit, floats too: the reference folds in one order.
    // pins: LAW-1
    #[test]
    fn shards_gathered_are_the_all_reduce((count, inputs) in blocks(), reduction in reductions()) {
        for [gathered, reduced] in [
            two_ways::<i32>(reduction, count, &inputs),
            two_ways::<u8>(reduction, count, &inputs),
            two_ways::<f32>(reduction, count, &inputs),
            two_ways::<half::bf16>(reduction, count, &inputs),
            two_ways::<float8::F8E4M3>(reduction, count, &inputs),
        ] {
            prop_assert_eq!(gathered, reduced);
        }
    }

    /// The rank at `order[k]` becomes rank `k`: blocks and shards go with the new
    /// ranks, and the whole sum of integers stays.
    // pins: LAW-2
    #[test]
    fn relabelling_permutes_blocks_and_shards_and_leaves_the_sum(
        ((count, inputs), order) in blocks().prop_flat_map(|(count, inputs)| {
            let order: Vec<usize> = (0..inputs.len()).collect();
            (Just((count, inputs)), Just(order).prop_shuffle())
        })
    ) {
        let inputs = of::<i32>(&inputs);
        let relabelled: Vec<Vec<i32>> = order.iter().map(|old| inputs[*old].clone()).collect();
        let whole = count * inputs.len();

        let before = run(Operation::AllGather, &[], &inputs, whole);
        let after = run(Operation::AllGather, &[], &relabelled, whole);
        if whole > 0 {
            let block = |output: &Vec<i32>, at: usize| output[at * whole..][..whole].to_vec();
            for (new, old) in order.iter().enumerate() {
                prop_assert_eq!(block(&after[0], new), block(&before[0], *old));
            }
        }

        let sum = Reduction::Sum;
        let before = run(Operation::AllReduce { reduction: sum }, &[], &inputs, whole);
        let after = run(Operation::AllReduce { reduction: sum }, &[], &relabelled, whole);
        prop_assert_eq!(&before, &after);

        // The shard is of the same sum, at the place of the new rank.
        let shards = run(Operation::ReduceScatter { reduction: sum }, &[], &relabelled, count);
        for (new, shard) in shards.iter().enumerate() {
            prop_assert_eq!(&shard[..], &before[0][new * count..(new + 1) * count]);
        }
    }

    // pins: LAW-3
    #[test]
    fn what_is_moved_there_comes_back((count, inputs) in blocks(), root in 0_usize..5) {
        let inputs = of::<half::f16>(&inputs);
        let bits = patterns(&inputs);
        let there = run(Operation::AllToAll, &[], &inputs, count);
        prop_assert_eq!(patterns(&run(Operation::AllToAll, &[], &there, count)), bits.clone());

        // A scatter of what was gathered.
        let root = root % inputs.len();
        let named = rank(u32::try_from(root).unwrap());
        let whole = count * inputs.len();
        let gathered = run(Operation::Gather { root: named }, &[], &inputs, whole);
        prop_assert_eq!(patterns(&run(Operation::Scatter { root: named }, &[], &gathered, whole)), bits);

        // A gather is the root's part of an all-gather; a reduce, of an all-reduce.
        let everywhere = run(Operation::AllGather, &[], &inputs, whole);
        prop_assert_eq!(patterns(&gathered[root..=root]), patterns(&everywhere[root..=root]));
        let reduction = Reduction::Max;
        let reduced = run(Operation::Reduce { reduction, root: named }, &[], &inputs, whole);
        let everywhere = run(Operation::AllReduce { reduction }, &[], &inputs, whole);
        prop_assert_eq!(patterns(&reduced[root..=root]), patterns(&everywhere[root..=root]));
    }

    /// In order, without a gap, without an overlap, and inside the inputs.
    // pins: LAW-4
    #[test]
    fn pieces_cover_the_output_once_in_order(
        operation in operations(40),
        ranks in 1_u32..40,
        count in prop_oneof![0_u64..5, Just(u64::MAX / 40), any::<u64>()],
    ) {
        let Ok(layout) = Layout::new(operation, GroupSize::new(ranks).unwrap(), count) else {
            return Ok(());
        };
        for at in layout.each() {
            let mut end = 0;
            for Piece { output, source, start } in at.pieces() {
                prop_assert_eq!(output.start, end);
                prop_assert!(output.start < output.end);
                end = output.end;
                let read = start.checked_add(output.end - output.start);
                let inputs: Vec<Rank> = match source {
                    Source::Rank(rank) => vec![rank],
                    Source::EveryRank => layout.ranks().ranks().collect(),
                };
                for rank in inputs {
                    prop_assert!(read.unwrap() <= layout.at(rank).unwrap().input_len());
                }
            }
            prop_assert_eq!(end, at.output_len());
        }
    }

    // pins: N-7
    #[test]
    fn a_scalar_reads_back_what_it_prints(dtype in dtypes(), bits in any::<u64>()) {
        let scalar = Scalar::from_bits(dtype, bits);
        let literal = Scalar::parse(dtype, &scalar.to_string()).unwrap();
        if scalar.to_f64().is_nan() {
            // Any NaN prints as one.
            prop_assert!(literal.scalar.to_f64().is_nan());
        } else if dtype == Dtype::F8E5M2 && scalar.to_f64().is_infinite() {
            // No conversion to fp8 makes an infinity.
            prop_assert_eq!(literal.scalar.bits(), scalar.bits() - 1);
        } else {
            prop_assert_eq!(literal.scalar, scalar);
            prop_assert!(!literal.rounded || matches!(dtype, Dtype::F32));
        }
        prop_assert_eq!(scalar.to_integer().is_some(), matches!(dtype.class(), DtypeClass::Integer { .. }));
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "\\PC{0,24}", dtype in dtypes()) {
        let _ = text.parse::<Dtype>();
        let _ = text.parse::<OperationKind>();
        let _ = text.parse::<Reduction>();
        let _ = Scalar::parse(dtype, &text);
        for prefix in ["nccl", "torch.", "MPI_", "-", "+", "1e", "0x", "ncc\u{e9}"] {
            let text = format!("{prefix}{text}");
            let _ = text.parse::<Dtype>();
            let _ = text.parse::<OperationKind>();
            let _ = Scalar::parse(dtype, &text);
        }
    }

    #[test]
    fn no_number_makes_a_reader_panic(text in "[-+]?[0-9]{0,50}(\\.[0-9]{0,30})?(e-?[0-9]{0,6})?", dtype in dtypes()) {
        let _ = Scalar::parse(dtype, &text);
    }

    /// The largest groups and counts there are; pieces are made as they are asked for.
    #[test]
    fn no_layout_panics(
        operation in operations(u32::MAX),
        ranks in prop_oneof![1_u32..9, Just(u32::MAX), any::<u32>()],
        count in prop_oneof![0_u64..9, Just(u64::MAX), Just(u64::from(u32::MAX) + 1), any::<u64>()],
        at in any::<u32>(),
    ) {
        let Some(ranks) = GroupSize::new(ranks) else { return Ok(()) };
        let Ok(layout) = Layout::new(operation, ranks, count) else { return Ok(()) };
        prop_assert_eq!(layout.each().len(), ranks.ranks().len());
        let last = ranks.get() - 1;
        for index in [0, at % ranks.get(), last] {
            let at = layout.at(rank(index)).unwrap();
            let _ = (at.input_len(), at.output_len(), at.in_place(), at.rank(), at.layout());
            prop_assert!(at.pieces().take(3).all(|piece| piece.output.end <= at.output_len()));
        }
        let _ = (layout.operation().to_string(), layout.at(rank(u32::MAX - 1)));
    }

    #[test]
    fn no_element_panics(
        dtype in dtypes(),
        other in dtypes(),
        a in any::<u64>(),
        b in any::<u64>(),
        ranks in prop_oneof![1_u32..9, Just(u32::MAX), 1..u32::MAX],
    ) {
        use rankwise_model::Combine::{Max, Min, Prod, Sum};
        let (a, b) = (Scalar::from_bits(dtype, a), Scalar::from_bits(dtype, b));
        let ranks = GroupSize::new(ranks).unwrap();
        for how in [Sum, Prod, Max, Min] {
            prop_assert_eq!(a.combine(how, b).unwrap().dtype(), dtype);
            // Two contributions have no order.
            prop_assert_eq!(a.combine(how, b), b.combine(how, a));
        }
        prop_assert_eq!(a.combine(Sum, a.convert(other)).is_some(), dtype == other);
        prop_assert_eq!(a.average_before(ranks).dtype(), dtype);
        prop_assert_eq!(a.average_after(ranks).dtype(), dtype);
        prop_assert_eq!(a.convert(other).dtype(), other);
    }

    #[test]
    fn no_buffers_make_the_reference_panic(
        operation in operations(4),
        ranks in 1_u32..4,
        count in prop_oneof![0_u64..4, any::<u64>()],
        lengths in prop::collection::vec(0_usize..7, 0..5),
        scalars in prop::collection::vec(any::<i8>(), 0..4),
    ) {
        let Ok(layout) = Layout::new(operation, GroupSize::new(ranks).unwrap(), count) else {
            return Ok(());
        };
        let inputs: Vec<Vec<i8>> = lengths.iter().map(|len| vec![1; *len]).collect();
        let mut outputs = inputs.clone();
        let read: Vec<&[i8]> = inputs.iter().map(Vec::as_slice).collect();
        let mut write: Vec<&mut [i8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        let refused = reference::evaluate(&layout, &scalars, &read, &mut write).is_err();
        if refused {
            prop_assert_eq!(&outputs, &inputs);
        }
        let mut write: Vec<&mut [i8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        let _ = reference::evaluate_in_place(&layout, &scalars, &mut write);
    }
}
