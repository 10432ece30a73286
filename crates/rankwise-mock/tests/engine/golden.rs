//! Worked integers: the mission's figures, and three ranks with a root in the middle.

use rankwise_mock::engine::Seat;
use rankwise_model::{GroupSize, Layout, Operation, Reduction, Scalar};

use crate::memory::{Guard, Guarded, finish, job};

/// Runs on `inputs`, one per rank, out of place; `outputs` start as −1.
fn run(operation: Operation, count: u64, inputs: &[&[i32]], outputs: &[usize]) -> Vec<Vec<i32>> {
    let ranks = GroupSize::new(u32::try_from(inputs.len()).unwrap()).unwrap();
    let layout = Layout::new(operation, ranks, count).unwrap();
    let guarded = |values: &[i32]| Guarded::holding(values, Guard::Elements);
    let mut read: Vec<_> = inputs.iter().map(|input| guarded(input)).collect();
    let mut written: Vec<_> = outputs.iter().map(|length| guarded(&vec![-1; *length])).collect();
    let premul = operation.reduction() == Some(Reduction::PreMulSum);
    let seats: Vec<_> = read
        .iter_mut()
        .zip(&mut written)
        .zip(2..)
        .map(|((input, output), factor)| Seat {
            input: Some(input.span()),
            output: Some(output.span()),
            scalar: premul.then(|| Scalar::of::<i32>(factor)),
        })
        .collect();
    finish(&job::<i32>(layout, &seats).unwrap());
    written.iter_mut().map(|output| output.values().to_vec()).collect()
}

const A: &[i32] = &[1, 2, 3, 4];
const B: &[i32] = &[10, 20, 30, 40];

#[test]
fn the_same_inputs_end_in_three_results() {
    let (sum, whole) = (Reduction::Sum, vec![11, 22, 33, 44]);
    let all_reduce = run(Operation::AllReduce { reduction: sum }, 4, &[A, B], &[4, 4]);
    assert_eq!(all_reduce, [whole.clone(), whole]);

    let gathered = vec![1, 2, 3, 4, 10, 20, 30, 40];
    let all_gather = run(Operation::AllGather, 4, &[A, B], &[8, 8]);
    assert_eq!(all_gather, [gathered.clone(), gathered]);

    let scattered = run(Operation::ReduceScatter { reduction: sum }, 2, &[A, B], &[2, 2]);
    assert_eq!(scattered, [vec![11, 22], vec![33, 44]]);
}

#[test]
fn relabelled_ranks_own_other_shards() {
    let scattered =
        run(Operation::ReduceScatter { reduction: Reduction::Sum }, 2, &[B, A], &[2, 2]);
    assert_eq!(scattered, [vec![11, 22], vec![33, 44]]);
    let gathered = vec![10, 20, 30, 40, 1, 2, 3, 4];
    assert_eq!(run(Operation::AllGather, 4, &[B, A], &[8, 8]), [gathered.clone(), gathered]);
}

#[test]
fn three_ranks_and_root_1_leave_the_others_alone() {
    let ranks = GroupSize::new(3).unwrap();
    let root = ranks.rank(1).unwrap();
    let untouched = |length| vec![-1; length];
    let inputs: [&[i32]; 3] = [&[1, 2], &[10, 20], &[100, 200]];

    let reduce = Operation::Reduce { reduction: Reduction::Max, root };
    let reduced = run(reduce, 2, &inputs, &[2, 2, 2]);
    assert_eq!(reduced, [untouched(2), vec![100, 200], untouched(2)]);

    let gathered = run(Operation::Gather { root }, 2, &inputs, &[6, 6, 6]);
    assert_eq!(gathered, [untouched(6), vec![1, 2, 10, 20, 100, 200], untouched(6)]);

    let scatter = run(Operation::Scatter { root }, 1, &[&[], &[7, 8, 9], &[]], &[1, 1, 1]);
    assert_eq!(scatter, [[7], [8], [9]]);

    let broadcast = run(Operation::Broadcast { root }, 2, &inputs, &[2, 2, 2]);
    assert_eq!(broadcast, [[10, 20], [10, 20], [10, 20]]);

    let message = Operation::Message { from: root, to: ranks.rank(2).unwrap() };
    assert_eq!(run(message, 2, &inputs, &[2, 2, 2])[2], [10, 20]);
}

#[test]
fn three_ranks_exchange_blocks() {
    let inputs: [&[i32]; 3] = [&[1, 2, 3], &[10, 20, 30], &[100, 200, 300]];
    let exchanged = run(Operation::AllToAll, 1, &inputs, &[3, 3, 3]);
    assert_eq!(exchanged, [[1, 10, 100], [2, 20, 200], [3, 30, 300]]);
}

#[test]
fn scalars_and_averages_of_integers() {
    let all = |reduction| Operation::AllReduce { reduction };
    // The factors are 2 and 3.
    let premul = run(all(Reduction::PreMulSum), 1, &[&[5], &[100]], &[1, 1]);
    assert_eq!(premul, [[310], [310]]);
    // (−7 + 2) / 2 truncates toward zero.
    assert_eq!(run(all(Reduction::Avg), 1, &[&[-7], &[2]], &[1, 1]), [[-2], [-2]]);
}
