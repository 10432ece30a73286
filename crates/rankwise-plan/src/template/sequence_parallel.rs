//! Sequence parallelism: tensor parallelism with activations sharded outside the pair.

use alloc::format;

use rankwise_model::{OperationKind, Reduction};

use super::draft::{Draft, everywhere};
use super::error::{TemplateError, divided};
use super::linear_pair::{LinearPair, activation};
use super::needed;
use crate::plan::Sharding;

/// The pair of [`TensorParallel`](super::TensorParallel), between activations of which
/// every rank has its own tokens.
///
/// The input is gathered before the pair and the partial outputs are reduce-scattered
/// after it; backward the other way round. For the first layer's gradient the input is
/// gathered again, since it was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceParallel {
    /// The layers.
    pub pair: LinearPair,
}

impl SequenceParallel {
    /// The name of the template.
    pub const NAME: &'static str = "sequence-parallel";

    /// The plan and its schedule.
    pub fn draft(&self) -> Result<Draft, TemplateError> {
        let pair = &self.pair;
        let sizes = pair.sizes()?;
        let tokens = divided("tokens", pair.tokens, pair.ranks.in_group())?;
        let shard = tokens.saturating_mul(pair.hidden);
        let (whole, shard) = ((sizes.outer, sizes.outer), (sizes.outer, shard));
        let about = "Sequence parallelism: each rank has its own tokens outside a pair of layers; \
                     they are gathered before it, and its partial outputs reduce-scattered.";
        let mut draft = Draft::new(Self::NAME, pair.about(about), &pair.ranks);
        let weights = pair.weights(&sizes);
        draft.passage("before the step");
        for weight in &weights {
            weight.before(&mut draft);
        }
        draft.passage("forward: each rank has its own tokens");
        pair.activation(&mut draft, "x_shard", shard, "input of the pair, this rank's tokens");
        draft.passage("forward: tokens gathered, layers compute");
        draft.tokens_gathered(pair, "x_shard", "x_forward", sizes.outer);
        pair.activation(&mut draft, "h", sizes.between, "output of the first layer, own columns");
        let meaning = "output of the second layer, from this rank's rows alone";
        pair.activation(&mut draft, "y_partial", whole, meaning);
        draft.passage("forward: partial outputs reduce-scattered, gathered tokens let go");
        draft.goes("x_forward");
        draft.tokens_scattered(pair, "y", sizes.outer);
        draft.passage("backward: gradients of the output and the input's tokens gathered");
        pair.activation(&mut draft, "dy_shard", shard, "gradient of the output, own tokens");
        draft.tokens_gathered(pair, "dy_shard", "dy", sizes.outer);
        draft.tokens_gathered(pair, "x_shard", "x_backward", sizes.outer);
        draft.passage("backward: layers compute their gradients");
        for weight in weights.iter().rev() {
            weight.gradient(&mut draft);
        }
        let meaning = "gradient of the input, through this rank's columns alone";
        pair.activation(&mut draft, "dx_partial", whole, meaning);
        for gone in ["h", "x_backward", "dy", "dy_shard", "y_shard"] {
            draft.goes(gone);
        }
        draft.passage("backward: partial gradients of the input reduce-scattered");
        draft.tokens_scattered(pair, "dx", sizes.outer);
        draft.goes("x_shard");
        draft.passage("optimizer: each rank updates its part");
        draft.goes("dx_shard");
        draft.locals_updated(&weights);
        Ok(draft)
    }
}

impl Draft {
    fn tokens_gathered(&mut self, pair: &LinearPair, shard: &str, to: &str, count: u64) {
        self.is(to, activation(self, to, count));
        self.collective(OperationKind::AllGather, None, (shard, to), None);
        let gathered = needed::gather(needed::input(shard), pair.ranks.over());
        self.need(everywhere(), to, &gathered);
    }

    /// Each rank gets its own tokens of the sum of every rank's `{name}_partial`.
    fn tokens_scattered(&mut self, pair: &LinearPair, name: &str, count: u64) {
        let (partial, shard) = (format!("{name}_partial"), format!("{name}_shard"));
        self.is(&shard, activation(self, &shard, count));
        let (kind, sum) = (OperationKind::ReduceScatter, Some(Reduction::Sum));
        self.collective(kind, sum, (&partial, &shard), None);
        self.goes(&partial);
        let over = pair.ranks.over();
        let sum = needed::sum(needed::input(&partial), over);
        self.need(everywhere(), &shard, &needed::shard(sum, over, Sharding::default()));
    }
}
