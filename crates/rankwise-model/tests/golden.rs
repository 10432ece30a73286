//! Every row of the table in integers worked out by hand.
//!
//! Nothing derived from the table is trusted before these: each row at n = 3, with a
//! root other than 0 and a count above 1, and at its edges. `docs/semantics.md` quotes
//! them clause by clause.

use rankwise_model::{GroupSize, Layout, Operation, Rank, Reduction, reference};

/// One call: what every rank contributes and what it has afterwards. A rank whose
/// input is not read, or that is promised no output, has an empty list.
struct Golden {
    operation: Operation,
    count: u64,
    inputs: &'static [&'static [i32]],
    outputs: &'static [&'static [i32]],
}

/// One call in place: every rank's one buffer before and after.
struct InPlace {
    operation: Operation,
    count: u64,
    before: &'static [&'static [i32]],
    after: &'static [&'static [i32]],
}

const SUM: Reduction = Reduction::Sum;
const PROD: Reduction = Reduction::Prod;
const MAX: Reduction = Reduction::Max;
const MIN: Reduction = Reduction::Min;
const AVG: Reduction = Reduction::Avg;

fn size(ranks: usize) -> GroupSize {
    GroupSize::new(u32::try_from(ranks).unwrap()).unwrap()
}

fn rank(index: u32) -> Rank {
    GroupSize::new(8).unwrap().rank(index).unwrap()
}

fn all_reduce(reduction: Reduction) -> Operation {
    Operation::AllReduce { reduction }
}

fn reduce(reduction: Reduction, root: u32) -> Operation {
    Operation::Reduce { reduction, root: rank(root) }
}

fn reduce_scatter(reduction: Reduction) -> Operation {
    Operation::ReduceScatter { reduction }
}

fn broadcast(root: u32) -> Operation {
    Operation::Broadcast { root: rank(root) }
}

fn gather(root: u32) -> Operation {
    Operation::Gather { root: rank(root) }
}

fn scatter(root: u32) -> Operation {
    Operation::Scatter { root: rank(root) }
}

fn message(from: u32, to: u32) -> Operation {
    Operation::Message { from: rank(from), to: rank(to) }
}

/// What the reference leaves, into buffers that held something else.
fn evaluated(operation: Operation, count: u64, inputs: &[&[i32]]) -> Vec<Vec<i32>> {
    evaluated_with(&[], operation, count, inputs)
}

fn evaluated_with(
    scalars: &[i32],
    operation: Operation,
    count: u64,
    inputs: &[&[i32]],
) -> Vec<Vec<i32>> {
    let layout = Layout::new(operation, size(inputs.len()), count).unwrap();
    let mut outputs: Vec<Vec<i32>> =
        layout.each().map(|at| vec![-77; usize::try_from(at.output_len()).unwrap()]).collect();
    let mut slices: Vec<&mut [i32]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    reference::evaluate(&layout, scalars, inputs, &mut slices).unwrap();
    outputs
}

#[track_caller]
fn check(goldens: &[Golden]) {
    for Golden { operation, count, inputs, outputs } in goldens {
        let found = evaluated(*operation, *count, inputs);
        assert_eq!(found, *outputs, "{operation} of count {count} over {inputs:?}");
    }
}

#[track_caller]
fn check_in_place(goldens: &[InPlace]) {
    for InPlace { operation, count, before, after } in goldens {
        let (done, found) = evaluated_in_place(*operation, *count, before);
        assert!(done, "{operation}");
        assert_eq!(found, *after, "{operation} of count {count} in place over {before:?}");
    }
}

fn evaluated_in_place(
    operation: Operation,
    count: u64,
    before: &[&[i32]],
) -> (bool, Vec<Vec<i32>>) {
    let layout = Layout::new(operation, size(before.len()), count).unwrap();
    let mut buffers: Vec<Vec<i32>> = before.iter().map(|buffer| buffer.to_vec()).collect();
    let mut slices: Vec<&mut [i32]> = buffers.iter_mut().map(Vec::as_mut_slice).collect();
    let done = reference::evaluate_in_place(&layout, &[], &mut slices).unwrap();
    (done, buffers)
}

// pins: ALLRED-1
#[test]
fn all_reduce_leaves_the_fold_on_every_rank() {
    check(&[
        Golden {
            operation: all_reduce(SUM),
            count: 2,
            inputs: &[&[1, 2], &[10, 20], &[100, 200]],
            outputs: &[&[111, 222], &[111, 222], &[111, 222]],
        },
        Golden {
            operation: all_reduce(MAX),
            count: 3,
            inputs: &[&[3, -1, 5], &[2, 7, 5], &[9, -8, -5]],
            outputs: &[&[9, 7, 5], &[9, 7, 5], &[9, 7, 5]],
        },
        Golden {
            operation: all_reduce(PROD),
            count: 2,
            inputs: &[&[2, -3], &[5, 7], &[-1, 4]],
            outputs: &[&[-10, -84], &[-10, -84], &[-10, -84]],
        },
        Golden {
            operation: all_reduce(MIN),
            count: 2,
            inputs: &[&[4, -6], &[-5, 6]],
            outputs: &[&[-5, -6], &[-5, -6]],
        },
        Golden {
            // 5, −5 and 16 divided by 3, toward zero.
            operation: all_reduce(AVG),
            count: 3,
            inputs: &[&[1, -1, 5], &[1, -2, 5], &[3, -2, 6]],
            outputs: &[&[1, -1, 5], &[1, -1, 5], &[1, -1, 5]],
        },
    ]);
}

// pins: AR-10, N-5
#[test]
fn a_premultiplied_sum_takes_each_ranks_own_scalar() {
    // 1·1 + 10·3 + 100·5 and 1·2 + 10·4 + 100·6.
    let inputs: [&[i32]; 3] = [&[1, 2], &[3, 4], &[5, 6]];
    let scaled = all_reduce(Reduction::PreMulSum);
    assert_eq!(evaluated_with(&[1, 10, 100], scaled, 2, &inputs), vec![vec![531, 642]; 3]);

    // The scalar belongs to the contributor, not to the owner of the shard.
    let scaled = reduce_scatter(Reduction::PreMulSum);
    let inputs: [&[i32]; 3] = [&[1, 2, 3], &[4, 5, 6], &[7, 8, 9]];
    let outputs = evaluated_with(&[1, 10, 100], scaled, 1, &inputs);
    assert_eq!(outputs, [[741], [852], [963]]);

    let scaled = reduce(Reduction::PreMulSum, 1);
    let outputs = evaluated_with(&[2, -1], scaled, 2, &[&[5, 6], &[1, 20]]);
    assert_eq!(outputs, [vec![], vec![9, -8]]);
}

// pins: RED-1, RED-2
#[test]
fn reduce_leaves_the_fold_on_the_root_only() {
    check(&[
        Golden {
            operation: reduce(SUM, 2),
            count: 2,
            inputs: &[&[1, 2], &[10, 20], &[100, 200]],
            outputs: &[&[], &[], &[111, 222]],
        },
        Golden {
            operation: reduce(MAX, 1),
            count: 3,
            inputs: &[&[3, -1, 5], &[2, 7, 5], &[9, -8, -5]],
            outputs: &[&[], &[9, 7, 5], &[]],
        },
        Golden {
            operation: reduce(AVG, 1),
            count: 2,
            inputs: &[&[3, -3], &[4, -4]],
            outputs: &[&[], &[3, -3]],
        },
        Golden {
            operation: reduce(PROD, 0),
            count: 2,
            inputs: &[&[2, 3], &[4, 5], &[6, -7]],
            outputs: &[&[48, -105], &[], &[]],
        },
    ]);
}

// pins: BC-1, BC-2
#[test]
fn broadcast_leaves_the_roots_input_on_every_rank() {
    check(&[
        Golden {
            operation: broadcast(2),
            count: 2,
            inputs: &[&[], &[], &[8, 9]],
            outputs: &[&[8, 9], &[8, 9], &[8, 9]],
        },
        Golden {
            operation: broadcast(1),
            count: 3,
            inputs: &[&[], &[5, 6, 7], &[]],
            outputs: &[&[5, 6, 7], &[5, 6, 7], &[5, 6, 7]],
        },
        Golden {
            operation: broadcast(0),
            count: 2,
            inputs: &[&[-4, 4], &[]],
            outputs: &[&[-4, 4], &[-4, 4]],
        },
    ]);
}

// pins: AG-1
#[test]
fn all_gather_leaves_block_r_from_rank_r() {
    check(&[
        Golden {
            operation: Operation::AllGather,
            count: 2,
            inputs: &[&[1, 2], &[3, 4], &[5, 6]],
            outputs: &[&[1, 2, 3, 4, 5, 6], &[1, 2, 3, 4, 5, 6], &[1, 2, 3, 4, 5, 6]],
        },
        Golden {
            operation: Operation::AllGather,
            count: 1,
            inputs: &[&[9], &[8], &[7]],
            outputs: &[&[9, 8, 7], &[9, 8, 7], &[9, 8, 7]],
        },
        Golden {
            operation: Operation::AllGather,
            count: 4,
            inputs: &[&[1, 2, 3, 4], &[10, 20, 30, 40]],
            outputs: &[&[1, 2, 3, 4, 10, 20, 30, 40], &[1, 2, 3, 4, 10, 20, 30, 40]],
        },
    ]);
}

// pins: RS-1, RS-2
#[test]
fn reduce_scatter_leaves_block_r_of_the_fold_on_rank_r() {
    check(&[
        Golden {
            operation: reduce_scatter(SUM),
            count: 2,
            inputs: &[
                &[1, 2, 3, 4, 5, 6],
                &[10, 20, 30, 40, 50, 60],
                &[100, 200, 300, 400, 500, 600],
            ],
            outputs: &[&[111, 222], &[333, 444], &[555, 666]],
        },
        Golden {
            operation: reduce_scatter(MAX),
            count: 1,
            inputs: &[&[1, 9, -4], &[5, 2, -6], &[3, 3, -5]],
            outputs: &[&[5], &[9], &[-4]],
        },
        Golden {
            operation: reduce_scatter(PROD),
            count: 2,
            inputs: &[&[2, 3, 4, 5], &[-1, 2, -3, 2]],
            outputs: &[&[-2, 6], &[-12, 10]],
        },
        Golden {
            // 5, −11 and 23 divided by 3, toward zero.
            operation: reduce_scatter(AVG),
            count: 1,
            inputs: &[&[1, -4, 7], &[2, -4, 7], &[2, -3, 9]],
            outputs: &[&[1], &[-3], &[7]],
        },
    ]);
}

// pins: ATA-1
#[test]
fn all_to_all_leaves_block_r_of_every_input_on_rank_r() {
    check(&[
        Golden {
            operation: Operation::AllToAll,
            count: 2,
            inputs: &[&[0, 1, 2, 3, 4, 5], &[10, 11, 12, 13, 14, 15], &[20, 21, 22, 23, 24, 25]],
            outputs: &[&[0, 1, 10, 11, 20, 21], &[2, 3, 12, 13, 22, 23], &[4, 5, 14, 15, 24, 25]],
        },
        Golden {
            operation: Operation::AllToAll,
            count: 1,
            inputs: &[&[1, 2, 3], &[4, 5, 6], &[7, 8, 9]],
            outputs: &[&[1, 4, 7], &[2, 5, 8], &[3, 6, 9]],
        },
        Golden {
            operation: Operation::AllToAll,
            count: 3,
            inputs: &[&[1, 2, 3, 4, 5, 6], &[7, 8, 9, 10, 11, 12]],
            outputs: &[&[1, 2, 3, 7, 8, 9], &[4, 5, 6, 10, 11, 12]],
        },
    ]);
}

// pins: GA-1, GA-2
#[test]
fn gather_leaves_every_block_on_the_root_only() {
    check(&[
        Golden {
            operation: gather(2),
            count: 2,
            inputs: &[&[1, 2], &[3, 4], &[5, 6]],
            outputs: &[&[], &[], &[1, 2, 3, 4, 5, 6]],
        },
        Golden {
            operation: gather(1),
            count: 1,
            inputs: &[&[9], &[8], &[7]],
            outputs: &[&[], &[9, 8, 7], &[]],
        },
        Golden {
            operation: gather(1),
            count: 3,
            inputs: &[&[1, 2, 3], &[-1, -2, -3]],
            outputs: &[&[], &[1, 2, 3, -1, -2, -3]],
        },
    ]);
}

// pins: SC-1, SC-2
#[test]
fn scatter_leaves_block_r_of_the_roots_input_on_rank_r() {
    check(&[
        Golden {
            operation: scatter(2),
            count: 2,
            inputs: &[&[], &[], &[1, 2, 3, 4, 5, 6]],
            outputs: &[&[1, 2], &[3, 4], &[5, 6]],
        },
        Golden {
            operation: scatter(1),
            count: 1,
            inputs: &[&[], &[9, 8, 7], &[]],
            outputs: &[&[9], &[8], &[7]],
        },
        Golden {
            operation: scatter(1),
            count: 3,
            inputs: &[&[], &[1, 2, 3, -1, -2, -3]],
            outputs: &[&[1, 2, 3], &[-1, -2, -3]],
        },
    ]);
}

// pins: MSG-1, MSG-2
#[test]
fn a_message_leaves_the_senders_input_on_the_receiver() {
    check(&[
        Golden {
            operation: message(2, 0),
            count: 2,
            inputs: &[&[], &[], &[7, 8]],
            outputs: &[&[7, 8], &[], &[]],
        },
        Golden {
            operation: message(0, 1),
            count: 3,
            inputs: &[&[4, 5, 6], &[], &[]],
            outputs: &[&[], &[4, 5, 6], &[]],
        },
        Golden {
            // To itself.
            operation: message(1, 1),
            count: 2,
            inputs: &[&[], &[3, 9], &[]],
            outputs: &[&[], &[3, 9], &[]],
        },
    ]);
}

// pins: CNT-8
#[test]
fn alone_a_rank_has_its_own_input() {
    let alone = [
        all_reduce(SUM),
        all_reduce(PROD),
        all_reduce(MAX),
        all_reduce(MIN),
        all_reduce(AVG),
        reduce(SUM, 0),
        broadcast(0),
        Operation::AllGather,
        reduce_scatter(SUM),
        Operation::AllToAll,
        gather(0),
        scatter(0),
        message(0, 0),
    ];
    for operation in alone {
        assert_eq!(evaluated(operation, 2, &[&[7, -8]]), [[7, -8]], "{operation}");
    }
    // The scalar of a pre-multiplied sum applies all the same.
    let scaled = all_reduce(Reduction::PreMulSum);
    assert_eq!(evaluated_with(&[3], scaled, 2, &[&[7, -8]]), [[21, -24]]);
}

// pins: CNT-6
#[test]
fn count_0_leaves_nothing_anywhere() {
    let every = [
        all_reduce(SUM),
        reduce(AVG, 2),
        broadcast(2),
        Operation::AllGather,
        reduce_scatter(MAX),
        Operation::AllToAll,
        gather(1),
        scatter(1),
        message(2, 1),
    ];
    for operation in every {
        let outputs = evaluated(operation, 0, &[&[], &[], &[]]);
        assert_eq!(outputs, [[]; 3] as [[i32; 0]; 3], "{operation}");
    }
    let (done, buffers) = evaluated_in_place(all_reduce(SUM), 0, &[&[], &[], &[]]);
    assert_eq!((done, buffers), (true, vec![vec![]; 3]));
}

// pins: IP-1, IP-6, N-4
#[test]
fn in_place_in_the_same_buffer() {
    check_in_place(&[
        InPlace {
            operation: all_reduce(SUM),
            count: 2,
            before: &[&[1, 2], &[10, 20], &[100, 200]],
            after: &[&[111, 222], &[111, 222], &[111, 222]],
        },
        InPlace {
            operation: all_reduce(AVG),
            count: 1,
            before: &[&[-1], &[-2]],
            after: &[&[-1], &[-1]],
        },
        InPlace {
            // What the other ranks' buffers hold is not promised; here they are kept.
            operation: reduce(SUM, 1),
            count: 2,
            before: &[&[1, 2], &[10, 20], &[100, 200]],
            after: &[&[1, 2], &[111, 222], &[100, 200]],
        },
        InPlace {
            operation: broadcast(2),
            count: 2,
            before: &[&[0, 0], &[0, 0], &[8, 9]],
            after: &[&[8, 9], &[8, 9], &[8, 9]],
        },
    ]);
}

// pins: IP-2, IP-6
#[test]
fn in_place_with_the_input_as_a_block_of_the_output() {
    check_in_place(&[
        InPlace {
            operation: Operation::AllGather,
            count: 2,
            before: &[&[1, 2, 0, 0, 0, 0], &[0, 0, 3, 4, 0, 0], &[0, 0, 0, 0, 5, 6]],
            after: &[&[1, 2, 3, 4, 5, 6], &[1, 2, 3, 4, 5, 6], &[1, 2, 3, 4, 5, 6]],
        },
        InPlace {
            operation: gather(1),
            count: 2,
            before: &[&[1, 2], &[0, 0, 3, 4, 0, 0], &[5, 6]],
            after: &[&[1, 2], &[1, 2, 3, 4, 5, 6], &[5, 6]],
        },
        InPlace {
            operation: gather(2),
            count: 1,
            before: &[&[7], &[8], &[0, 0, 9]],
            after: &[&[7], &[8], &[7, 8, 9]],
        },
    ]);
}

// pins: IP-3, IP-6, N-4
#[test]
fn in_place_with_the_output_as_a_block_of_the_input() {
    check_in_place(&[
        InPlace {
            // The blocks of other ranks are not promised; here they are kept.
            operation: reduce_scatter(SUM),
            count: 2,
            before: &[
                &[1, 2, 3, 4, 5, 6],
                &[10, 20, 30, 40, 50, 60],
                &[100, 200, 300, 400, 500, 600],
            ],
            after: &[
                &[111, 222, 3, 4, 5, 6],
                &[10, 20, 333, 444, 50, 60],
                &[100, 200, 300, 400, 555, 666],
            ],
        },
        InPlace {
            operation: scatter(1),
            count: 2,
            before: &[&[0, 0], &[1, 2, 3, 4, 5, 6], &[0, 0]],
            after: &[&[1, 2], &[1, 2, 3, 4, 5, 6], &[5, 6]],
        },
        InPlace {
            operation: scatter(2),
            count: 1,
            before: &[&[0], &[0], &[7, 8, 9]],
            after: &[&[7], &[8], &[7, 8, 9]],
        },
    ]);
}

// pins: IP-4
#[test]
fn all_to_all_and_a_message_to_oneself_have_no_in_place_form() {
    let before: [&[i32]; 3] = [&[1, 2, 3], &[4, 5, 6], &[7, 8, 9]];
    let (done, after) = evaluated_in_place(Operation::AllToAll, 1, &before);
    assert_eq!((done, after), (false, before.map(<[i32]>::to_vec).to_vec()));
    let (done, after) = evaluated_in_place(message(1, 1), 2, &[&[], &[3, 9], &[]]);
    assert_eq!((done, after), (false, vec![vec![], vec![3, 9], vec![]]));
}

// pins: IP-5
#[test]
fn a_rank_with_one_side_has_it_at_the_start_of_its_buffer() {
    check_in_place(&[
        InPlace {
            operation: message(0, 2),
            count: 2,
            before: &[&[5, 6], &[], &[0, 0]],
            after: &[&[5, 6], &[], &[5, 6]],
        },
        InPlace {
            operation: scatter(2),
            count: 2,
            before: &[&[0, 0], &[0, 0], &[1, 2, 3, 4, 5, 6]],
            after: &[&[1, 2], &[3, 4], &[1, 2, 3, 4, 5, 6]],
        },
    ]);
}
