//! The table of operations, written a second time as formulas over positions.
//!
//! `n` ranks, own rank `r`, position `p`, count `c`, as in the contract's table.

// Each operation has an arm of its own, as it has a row in the table.
#![allow(clippy::match_same_arms)]

use rankwise_model::{Dtype, Operation, Rank};

use crate::arithmetic::reduce;

/// A call of the whole group.
pub(crate) struct Call {
    pub(crate) operation: Operation,
    pub(crate) dtype: Dtype,
    pub(crate) ranks: usize,
    pub(crate) count: usize,
    pub(crate) scalars: Vec<u64>,
}

/// Where input and output lie in the one buffer of a rank: its length, and where
/// each of them starts.
pub(crate) struct OneBuffer {
    pub(crate) len: usize,
    pub(crate) input: usize,
    pub(crate) output: usize,
}

fn at(rank: Rank) -> usize {
    rank.index() as usize
}

impl Call {
    /// The length of a rank's input; `None` where its input is not read.
    pub(crate) fn input_len(&self, r: usize) -> Option<usize> {
        let (n, c) = (self.ranks, self.count);
        match self.operation {
            Operation::AllReduce { .. }
            | Operation::Reduce { .. }
            | Operation::AllGather
            | Operation::Gather { .. } => Some(c),
            Operation::ReduceScatter { .. } | Operation::AllToAll => Some(n * c),
            Operation::Broadcast { root } => (r == at(root)).then_some(c),
            Operation::Scatter { root } => (r == at(root)).then_some(n * c),
            Operation::Message { from, .. } => (r == at(from)).then_some(c),
            unknown => panic!("the oracle does not know {unknown}"),
        }
    }

    /// The length of a rank's output; `None` where nothing is promised.
    pub(crate) fn output_len(&self, r: usize) -> Option<usize> {
        let (n, c) = (self.ranks, self.count);
        match self.operation {
            Operation::AllReduce { .. }
            | Operation::Broadcast { .. }
            | Operation::ReduceScatter { .. }
            | Operation::Scatter { .. } => Some(c),
            Operation::AllGather | Operation::AllToAll => Some(n * c),
            Operation::Reduce { root, .. } => (r == at(root)).then_some(c),
            Operation::Gather { root } => (r == at(root)).then_some(n * c),
            Operation::Message { to, .. } => (r == at(to)).then_some(c),
            unknown => panic!("the oracle does not know {unknown}"),
        }
    }

    /// `out[r][p]`.
    pub(crate) fn output(&self, inputs: &[Vec<u64>], r: usize, p: usize) -> u64 {
        let c = self.count;
        let fold = |reduction, position: usize| {
            let contributions: Vec<u64> = inputs.iter().map(|input| input[position]).collect();
            reduce(self.dtype, reduction, &contributions, &self.scalars)
        };
        match self.operation {
            Operation::AllReduce { reduction } | Operation::Reduce { reduction, .. } => {
                fold(reduction, p)
            }
            Operation::ReduceScatter { reduction } => fold(reduction, r * c + p),
            Operation::Broadcast { root } => inputs[at(root)][p],
            Operation::AllGather | Operation::Gather { .. } => inputs[p / c][p % c],
            Operation::AllToAll => inputs[p / c][r * c + p % c],
            Operation::Scatter { root } => inputs[at(root)][r * c + p],
            Operation::Message { from, .. } => inputs[at(from)][p],
            unknown => panic!("the oracle does not know {unknown}"),
        }
    }

    /// Where both sides of rank `r` lie in place; `None` if the call has no such form.
    pub(crate) fn one_buffer(&self, r: usize) -> Option<OneBuffer> {
        let (n, c) = (self.ranks, self.count);
        let plain = |len| OneBuffer { len, input: 0, output: 0 };
        let input_in_output = |block: usize| OneBuffer { len: n * c, input: block * c, output: 0 };
        let output_in_input = |block: usize| OneBuffer { len: n * c, input: 0, output: block * c };
        Some(match self.operation {
            Operation::AllReduce { .. }
            | Operation::Reduce { .. }
            | Operation::Broadcast { .. } => plain(c),
            Operation::AllGather => input_in_output(r),
            Operation::ReduceScatter { .. } => output_in_input(r),
            Operation::Gather { root } if at(root) == r => input_in_output(r),
            Operation::Scatter { root } if at(root) == r => output_in_input(r),
            Operation::Gather { .. } | Operation::Scatter { .. } => plain(c),
            Operation::AllToAll => return None,
            Operation::Message { from, to } if from == to => return None,
            Operation::Message { from, to } => {
                plain(if r == at(from) || r == at(to) { c } else { 0 })
            }
            unknown => panic!("the oracle does not know {unknown}"),
        })
    }
}
