//! The numbers of the laws: what ranks contribute, and the model's answer.

use rankwise_comm::{Buffer, Communicator, Stream};
use rankwise_model::{GroupSize, Layout, Operation, Rank, reference};

use crate::defect::Defect;

/// What rank `rank` contributes in the call that is numbered `call`: no two alike.
pub(super) fn contribution(rank: Rank, call: u32, elements: usize) -> Vec<i32> {
    let start = 1_000_000_u32.wrapping_mul(call).wrapping_add(1_000 * (rank.index() + 1));
    (start..).take(elements).map(u32::cast_signed).collect()
}

/// The contributions of all ranks, in rank order.
pub(super) fn contributions(ranks: GroupSize, call: u32, elements: usize) -> Vec<Vec<i32>> {
    ranks.ranks().map(|rank| contribution(rank, call, elements)).collect()
}

/// What the model says that each rank gets.
pub(super) fn model(operation: Operation, inputs: &[Vec<i32>]) -> Result<Vec<Vec<i32>>, Defect> {
    let answer = || {
        let ranks = GroupSize::new(u32::try_from(inputs.len()).ok()?)?;
        // The count argument by which somebody's input is as long as it is.
        let count = (0..=inputs.iter().map(Vec::len).max()?).find_map(|count| {
            let layout = Layout::new(operation, ranks, u64::try_from(count).ok()?).ok()?;
            let fits = |(at, input): (rankwise_model::RankLayout, &Vec<i32>)| {
                u64::try_from(input.len()) == Ok(at.input_len())
            };
            layout.each().zip(inputs).all(fits).then_some(layout)
        })?;
        let len = |elements: u64| usize::try_from(elements).unwrap_or(0);
        let mut outputs: Vec<Vec<i32>> =
            count.each().map(|at| vec![0; len(at.output_len())]).collect();
        let inputs: Vec<&[i32]> = inputs.iter().map(Vec::as_slice).collect();
        let mut targets: Vec<&mut [i32]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        reference::evaluate(&count, &[], &inputs, &mut targets).ok()?;
        Some(outputs)
    };
    answer().ok_or_else(|| Defect::new(format!("the model has no answer for {operation}")))
}

/// One rank's part of what the model says.
pub(super) fn model_at(
    operation: Operation,
    inputs: &[Vec<i32>],
    rank: Rank,
) -> Result<Vec<i32>, Defect> {
    let mut all = model(operation, inputs)?;
    let index = usize::try_from(rank.index()).unwrap_or(usize::MAX);
    if index < all.len() { Ok(all.swap_remove(index)) } else { Ok(Vec::new()) }
}

/// A buffer with these elements, written on the communicator's own stream.
pub(super) fn upload<C: Communicator>(
    comm: &C,
    elements: &[i32],
) -> Result<Buffer<i32, C::Memory>, Defect> {
    let mut buffer = comm.buffer::<i32>(elements.len())?;
    comm.stream().write(&mut buffer, elements)?;
    Ok(buffer)
}

/// A buffer of that many elements that are none of the contributions.
pub(super) fn blank<C: Communicator>(
    comm: &C,
    elements: usize,
) -> Result<Buffer<i32, C::Memory>, Defect> {
    upload(comm, &vec![-77; elements])
}

/// Compares what a buffer holds, after its last writer.
pub(super) fn holds<C: Communicator>(
    comm: &C,
    what: &str,
    buffer: &Buffer<i32, C::Memory>,
    expected: &[i32],
) -> Result<(), Defect> {
    equal(what, &comm.stream().read(buffer)?, expected)
}

/// Compares values.
pub(super) fn equal(what: &str, found: &[i32], expected: &[i32]) -> Result<(), Defect> {
    if found == expected {
        return Ok(());
    }
    Err(Defect::new(format!("{what}: found {found:?}, expected {expected:?}")))
}

/// The number of ranks as a factor of lengths.
pub(super) fn times<C: Communicator>(comm: &C) -> usize {
    usize::try_from(comm.ranks().get()).unwrap_or(usize::MAX)
}

/// The last rank.
pub(super) fn last(ranks: GroupSize) -> Rank {
    ranks.ranks().next_back().unwrap_or(ranks.first())
}
