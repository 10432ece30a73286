//! Tensor parallelism: a pair of linear layers with one sum forward and one backward.

use rankwise_model::{OperationKind, Reduction};

use super::draft::{Draft, everywhere};
use super::error::TemplateError;
use super::linear_pair::{LinearPair, activation};
use super::needed;

/// A column-parallel and a row-parallel linear layer.
///
/// Forward, what goes in is the same on every rank and passes unchanged (`f`), and the
/// partial outputs are summed (`g`, an all-reduce). Backward, the gradient of the output
/// passes unchanged through `g`, and the partial gradients of the input are summed by
/// `f`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorParallel {
    /// The layers.
    pub pair: LinearPair,
}

impl TensorParallel {
    /// The name of the template.
    pub const NAME: &'static str = "tensor-parallel";

    /// The plan and its schedule.
    pub fn draft(&self) -> Result<Draft, TemplateError> {
        let pair = &self.pair;
        let sizes = pair.sizes()?;
        let about = "Tensor parallelism: a column-parallel and a row-parallel layer. Partial \
                     outputs are summed forward (g), partial gradients of the input backward (f).";
        let mut draft = Draft::new(Self::NAME, pair.about(about), &pair.ranks);
        let whole = (sizes.outer, sizes.outer);
        let weights = pair.weights(&sizes);
        draft.passage("before the step");
        for weight in &weights {
            weight.before(&mut draft);
        }
        draft.passage("forward: f passes the input on, the first layer computes its columns");
        pair.activation(&mut draft, "x", whole, "input of the pair, equal on every rank");
        pair.activation(&mut draft, "h", sizes.between, "output of the first layer, own columns");
        let meaning = "output of the second layer, from this rank's rows alone";
        pair.activation(&mut draft, "y_partial", whole, meaning);
        draft.passage("forward: g sums the partial outputs");
        draft.summed(pair, "y", sizes.outer);
        draft.passage("backward: g passes the output's gradient on, layers compute theirs");
        pair.activation(&mut draft, "dy", whole, "gradient of the output, equal on every rank");
        for weight in weights.iter().rev() {
            weight.gradient(&mut draft);
        }
        let meaning = "gradient of the input, through this rank's columns alone";
        pair.activation(&mut draft, "dx_partial", whole, meaning);
        for gone in ["h", "x", "y", "dy"] {
            draft.goes(gone);
        }
        draft.passage("backward: f sums the partial gradients of the input");
        draft.summed(pair, "dx", sizes.outer);
        draft.passage("optimizer: each rank updates its part");
        draft.goes("dx");
        draft.locals_updated(&weights);
        Ok(draft)
    }
}

impl Draft {
    /// `{name}` becomes the sum of every rank's `{name}_partial`.
    fn summed(&mut self, pair: &LinearPair, name: &str, count: u64) {
        let partial = alloc::format!("{name}_partial");
        self.is(name, activation(self, name, count));
        let (kind, sum) = (OperationKind::AllReduce, Some(Reduction::Sum));
        self.collective(kind, sum, (&partial, name), None);
        self.goes(&partial);
        let sum = needed::sum(needed::input(&partial), pair.ranks.over());
        self.need(everywhere(), name, &sum);
    }
}
