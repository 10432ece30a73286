//! The same program as one story: every rank's buffers as vectors, one step after another.

use rankwise_model::reduction::{After, Before, Combine};
use rankwise_model::{GroupSize, OperationKind, Reduction, Scalar};

use crate::generate::{Program, Step};

/// A position's value; `None` where nothing is promised of it.
type Held = Option<Scalar>;

/// What every rank's buffers hold at the end.
pub(crate) fn run(program: &Program) -> Vec<Vec<Vec<Held>>> {
    let held = |rank: &Vec<Vec<Scalar>>| {
        rank.iter().map(|buffer| buffer.iter().copied().map(Some).collect()).collect()
    };
    let mut ranks: Vec<Vec<Vec<Held>>> = program.initial.iter().map(held).collect();
    for step in &program.steps {
        match step {
            Step::Collective { .. } => collective(program, step, &mut ranks),
            Step::Messages { group, pairs, send, recv } => {
                let members = &program.groups[*group];
                let before = ranks.clone();
                let mut received = vec![0; members.len()];
                for (from, to, count) in pairs {
                    let place = &mut received[*to];
                    for position in 0..*count {
                        ranks[members[*to]][*recv][*place + position] =
                            before[members[*from]][*send][position];
                    }
                    *place += count;
                }
            }
        }
    }
    ranks
}

fn collective(program: &Program, step: &Step, ranks: &mut [Vec<Vec<Held>>]) {
    let Step::Collective { group, kind, reduction, root, count, send, recv, .. } = step else {
        return;
    };
    let (members, c) = (&program.groups[*group], *count);
    let n = members.len();
    let in_place = send == recv;
    // Where the input and the output of member `r` start. In place, the shorter side of a
    // rank that has both is its own block of the longer one.
    let (input_start, output_start) = (
        |r: usize| match kind {
            OperationKind::AllGather if in_place => send.start + r * c,
            OperationKind::Gather if in_place && r == *root => send.start + r * c,
            _ => send.start,
        },
        |r: usize| match kind {
            OperationKind::ReduceScatter if in_place => recv.start + r * c,
            OperationKind::Scatter if in_place && r == *root => recv.start + r * c,
            _ => recv.start,
        },
    );
    let before = ranks.to_vec();
    let input =
        |q: usize, position: usize| before[members[q]][send.buffer][input_start(q) + position];
    let folded = |position: usize| {
        let contributions = (0..n).map(|q| (program.factors[members[q]], input(q, position)));
        fold(*reduction, contributions.collect())
    };
    for (r, member) in members.iter().enumerate() {
        let output: Vec<Held> = match kind {
            OperationKind::AllReduce => (0..c).map(folded).collect(),
            OperationKind::Reduce if r == *root => (0..c).map(folded).collect(),
            OperationKind::Broadcast => (0..c).map(|p| input(*root, p)).collect(),
            OperationKind::AllGather => (0..n * c).map(|p| input(p / c, p % c)).collect(),
            OperationKind::Gather if r == *root => {
                (0..n * c).map(|p| input(p / c, p % c)).collect()
            }
            OperationKind::ReduceScatter => (0..c).map(|p| folded(r * c + p)).collect(),
            OperationKind::AllToAll => (0..n * c).map(|p| input(p / c, r * c + p % c)).collect(),
            OperationKind::Scatter => (0..c).map(|p| input(*root, r * c + p)).collect(),
            _ => Vec::new(),
        };
        let buffer = &mut ranks[*member][recv.buffer];
        // In place, reduce-scatter promises the own block only, and a rank that only gives
        // its input may lose it.
        let lost = match kind {
            OperationKind::ReduceScatter if in_place => n * c,
            OperationKind::Reduce if in_place && r != *root => c,
            _ => 0,
        };
        buffer[recv.start..recv.start + lost].fill(None);
        let start = output_start(r);
        buffer[start..start + output.len()].copy_from_slice(&output);
    }
}

/// The fold in rank order, rounding after each step.
fn fold(reduction: Reduction, contributions: Vec<(Scalar, Held)>) -> Held {
    let ranks = GroupSize::new(u32::try_from(contributions.len()).unwrap()).unwrap();
    let dtype = contributions[0].0.dtype();
    let recipe = reduction.recipe(dtype);
    let mut folded: Option<Scalar> = None;
    for (factor, value) in contributions {
        let value = value?;
        let value = match recipe.before {
            Before::AsIs => value,
            Before::TimesReciprocal => value.average_before(ranks),
            Before::TimesOwnScalar => value.combine(Combine::Prod, factor).unwrap(),
        };
        folded = Some(match folded {
            None => value,
            Some(folded) => folded.combine(recipe.combine, value).unwrap(),
        });
    }
    folded.map(|folded| match recipe.after {
        After::AsIs => folded,
        After::DivideTruncating => folded.average_after(ranks),
    })
}
