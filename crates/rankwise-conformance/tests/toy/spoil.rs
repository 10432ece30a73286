//! How each seeded fault of a computation spoils it.

use rankwise_model::{
    Combine, DtypeClass, Element, Layout, Operation, OperationKind, Rank, Reduction,
};

use super::Seeded;

/// A call that is about to be evaluated.
pub(crate) struct Spoiled<T> {
    pub(crate) layout: Layout,
    pub(crate) inputs: Vec<Vec<T>>,
    pub(crate) scalars: Vec<T>,
}

impl<T: Element> Spoiled<T> {
    /// What is wrong with what goes in.
    pub(crate) fn before(&mut self, seeded: Seeded) {
        let operation = self.layout.operation();
        let (ranks, count) = (self.layout.ranks(), self.layout.count() as usize);
        let reduction = operation.reduction();
        let neutral = reduction.map(|reduction| T::identity(reduction.recipe(T::DTYPE).combine));
        match (seeded, operation) {
            (Seeded::WrongRoot, Operation::Broadcast { .. }) => {
                // The next rank has given nothing: zeros.
                self.inputs.iter_mut().flatten().for_each(|value| *value = T::from_bits(0));
            }
            (Seeded::DropsLastRank, _) if ranks.get() > 1 => {
                if let (Some(neutral), Some(last)) = (neutral, self.inputs.last_mut()) {
                    last.fill(neutral);
                }
            }
            (Seeded::CountsFirstTwice, _) if ranks.get() > 1 && neutral.is_some() => {
                let first = self.inputs[0].clone();
                self.inputs[1] = first;
            }
            (Seeded::FoldsBackwards, _) if reduction.is_some() => {
                self.inputs.reverse();
                self.scalars.reverse();
            }
            (Seeded::AvgNotDivided, operation) => {
                self.with_reduction(operation, Reduction::Avg, Reduction::Sum);
            }
            (Seeded::PremulIgnoresScalar, operation) => {
                self.with_reduction(operation, Reduction::PreMulSum, Reduction::Sum);
                self.scalars.clear();
            }
            (Seeded::PremulOfRankZero, _) if !self.scalars.is_empty() => {
                let first = self.scalars[0];
                self.scalars.fill(first);
            }
            (Seeded::NotTransposed, Operation::AllToAll) => {
                for input in &mut self.inputs {
                    let first = input[..count].to_vec();
                    input.chunks_mut(count.max(1)).for_each(|block| block.copy_from_slice(&first));
                }
            }
            (Seeded::ScatterOfBlockZero, Operation::Scatter { root }) => {
                let input = &mut self.inputs[root.index() as usize];
                let first = input[..count].to_vec();
                input.chunks_mut(count.max(1)).for_each(|block| block.copy_from_slice(&first));
            }
            _ => {}
        }
    }

    /// The same operation with another reduction.
    fn with_reduction(&mut self, operation: Operation, from: Reduction, to: Reduction) {
        let other = match operation {
            Operation::AllReduce { reduction } if reduction == from => {
                Operation::AllReduce { reduction: to }
            }
            Operation::Reduce { reduction, root } if reduction == from => {
                Operation::Reduce { reduction: to, root }
            }
            Operation::ReduceScatter { reduction } if reduction == from => {
                Operation::ReduceScatter { reduction: to }
            }
            _ => return,
        };
        self.layout = Layout::new(other, self.layout.ranks(), self.layout.count()).unwrap();
    }

    /// What is wrong with what comes out.
    pub(crate) fn after(
        &mut self,
        seeded: Seeded,
        called: &Layout,
        mut outputs: Vec<Vec<T>>,
    ) -> Vec<Vec<T>> {
        let operation = called.operation();
        let (ranks, count) = (called.ranks(), called.count() as usize);
        let reduction = operation.reduction();
        match (seeded, operation.kind()) {
            (Seeded::GatherOnRankZero, OperationKind::Gather)
                if operation.root() != Some(ranks.first()) =>
            {
                outputs.iter_mut().flatten().for_each(|value| *value = T::from_bits(0));
            }
            (Seeded::BlocksSwapped, OperationKind::AllGather) if ranks.get() > 1 => {
                for output in &mut outputs {
                    let (first, rest) = output.split_at_mut(count);
                    first.swap_with_slice(&mut rest[..count]);
                }
            }
            (Seeded::NextShard, OperationKind::ReduceScatter) => outputs.rotate_left(1),
            (Seeded::AvgDividesLast, _)
                if reduction == Some(Reduction::Avg) && T::DTYPE.is_float() =>
            {
                self.with_reduction(operation, Reduction::Avg, Reduction::Sum);
                outputs = self.evaluate();
                for value in outputs.iter_mut().flatten() {
                    *value = value.average_before(ranks);
                }
            }
            (Seeded::AvgFuses, _) if reduction == Some(Reduction::Avg) && T::DTYPE.is_float() => {
                let reciprocal = T::from_f64(1.0).average_before(ranks).to_f64();
                self.each_position(called, &mut outputs, |inputs| {
                    let fused = |sum: T, next: &T| {
                        T::from_f64(next.to_f64().mul_add(reciprocal, sum.to_f64()))
                    };
                    inputs[1..].iter().fold(inputs[0].average_before(ranks), fused)
                });
            }
            (Seeded::MaxOfMagnitudes, _)
                if reduction == Some(Reduction::Max) && T::DTYPE.is_float() =>
            {
                let negative = |value: &T| value.to_f64() < 0.0;
                if self.inputs.iter().flatten().all(negative) {
                    self.with_reduction(operation, Reduction::Max, Reduction::Min);
                    outputs = self.evaluate();
                } else {
                    // Position by position, as a comparison of bits would have it.
                    self.fold_by_bits(called, &mut outputs);
                }
            }
            (Seeded::UnsignedAsSigned, _) if reduction == Some(Reduction::Max) => {
                if let DtypeClass::Integer { signed: false, bits } = T::DTYPE.class() {
                    let flip = |value: &mut T| {
                        *value = T::from_bits(value.to_bits() ^ 1 << (bits - 1));
                    };
                    self.inputs.iter_mut().flatten().for_each(flip);
                    outputs = self.evaluate();
                    outputs.iter_mut().flatten().for_each(flip);
                }
            }
            (Seeded::Bf16Truncates, _)
                if reduction.is_some() && T::DTYPE == rankwise_model::Dtype::Bf16 =>
            {
                self.fold_truncating(called, &mut outputs);
            }
            _ => {}
        }
        outputs
    }

    /// The inputs that one output position is made of.
    fn folded(&self, called: &Layout, rank: Rank, position: usize) -> Vec<T> {
        let start =
            called.at(rank).unwrap().pieces().next().map_or(0, |piece| piece.start as usize);
        self.inputs.iter().map(|input| input[start + position]).collect()
    }

    fn each_position(
        &self,
        called: &Layout,
        outputs: &mut [Vec<T>],
        mut result: impl FnMut(Vec<T>) -> T,
    ) {
        for (rank, output) in called.ranks().ranks().zip(outputs) {
            for (position, value) in output.iter_mut().enumerate() {
                *value = result(self.folded(called, rank, position));
            }
        }
    }

    fn fold_by_bits(&self, called: &Layout, outputs: &mut [Vec<T>]) {
        self.each_position(called, outputs, |inputs| {
            let magnitude = |value: &T| value.to_f64().abs();
            let negative = inputs.iter().all(|value| value.to_f64() < 0.0);
            let chosen = inputs.iter().copied().reduce(|one, other| {
                let larger = magnitude(&other) > magnitude(&one);
                if negative && larger { other } else { one.combine(Combine::Max, other) }
            });
            chosen.unwrap()
        });
    }

    fn fold_truncating(&self, called: &Layout, outputs: &mut [Vec<T>]) {
        let recipe = called.operation().reduction().unwrap().recipe(T::DTYPE);
        if recipe.combine != Combine::Sum || recipe != Reduction::Sum.recipe(T::DTYPE) {
            return;
        }
        self.each_position(called, outputs, |inputs| {
            let cut = |sum: f64| {
                #[allow(clippy::cast_possible_truncation)]
                let single = (sum as f32).to_bits();
                T::from_bits(u64::from(single >> 16))
            };
            inputs.into_iter().reduce(|one, other| cut(one.to_f64() + other.to_f64())).unwrap()
        });
    }
}
