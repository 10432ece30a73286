//! Fully sharded data parallelism.

use alloc::format;

use super::draft::{Draft, Kind};
use super::error::TemplateError;
use super::needed;
use super::training::Training;
use super::weights::{Owned, Weights};
use rankwise_model::Dtype;

/// Every rank has one shard of each layer's flat parameter, of its gradient and of
/// the optimizer's state. Parameters are gathered for forward and again for backward;
/// gradients are reduce-scattered.
///
/// With a master type, the shard *is* in that type, and is converted before it is
/// gathered: there is no other copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fsdp {
    /// What is trained, by whom.
    pub training: Training,
}

impl Fsdp {
    /// The name of the template.
    pub const NAME: &'static str = "fsdp";

    /// The plan and its schedule.
    pub fn draft(&self) -> Result<Draft, TemplateError> {
        let about = "Fully sharded data parallelism: parameters are gathered to be used, \
                     gradients are reduce-scattered.";
        let mut weights = Weights::new(Self::NAME, about, &self.training)?;
        let stored = self.training.updated_type();
        weights.padding_told();
        weights.shards(stored);
        weights.fully_sharded(None);
        Ok(weights.draft)
    }
}

impl Weights<'_> {
    /// The step of training on shards that are there.
    pub(super) fn fully_sharded(&mut self, across: Option<&str>) {
        let stored = self.training.updated_type();
        self.shards_padded();
        self.moments(Owned::Shard);
        self.forward_and_backward(stored, stored, across);
        self.draft.passage("optimizer: each rank updates its shard");
        let grad = (|layer| format!("grad{layer}_shard"), stored);
        self.update(Owned::Shard, |layer| format!("param{layer}_shard"), grad);
        self.draft.passage("gradients let go");
        for (layer, _) in self.layers() {
            self.let_gradients_go(layer);
        }
        let outputs = self.names("param", "_shard_next");
        self.draft.outputs(&outputs);
    }

    /// Gathers each layer for forward, and again for backward, which reduces its
    /// gradient. The shards are of type `stored`; gradients end in type `grad`.
    pub(super) fn forward_and_backward(
        &mut self,
        stored: Dtype,
        grad: Dtype,
        across: Option<&str>,
    ) {
        for (layer, _) in self.layers() {
            let gathered = format!("param{layer}_forward");
            self.draft.passage(format!("forward of layer {layer}: its parameters are gathered"));
            self.unshard(layer, stored, &gathered, across);
            self.draft.passage(format!("forward of layer {layer} done: they are let go"));
            self.draft.goes(&gathered);
        }
        for (layer, elements) in self.layers().rev() {
            let gathered = format!("param{layer}_backward");
            self.draft.passage(format!("backward of layer {layer}: its parameters are gathered"));
            self.unshard(layer, stored, &gathered, across);
            self.backward(layer, elements, grad, across);
            self.draft.goes(&gathered);
        }
    }

    /// Backward yields a gradient, which is reduce-scattered in the next passage.
    pub(super) fn backward(
        &mut self,
        layer: usize,
        elements: u64,
        to: Dtype,
        across: Option<&str>,
    ) {
        self.draft.passage(format!("backward of layer {layer} done: its gradient is there"));
        self.gradient(layer, elements);
        self.draft.passage(format!("gradient of layer {layer} reduce-scattered"));
        self.reduce_scatter(layer, to, across);
    }

    /// Lets go what is left of a layer's gradient.
    pub(super) fn let_gradients_go(&mut self, layer: usize) {
        self.draft.goes(&self.working(&format!("grad{layer}")));
        self.draft.goes(&format!("grad{layer}_shard"));
    }

    /// Gathers the shards of a layer in the type that it computes with.
    fn unshard(&mut self, layer: usize, stored: Dtype, to: &str, across: Option<&str>) {
        let param = self.training.types.param;
        let shard = format!("param{layer}_shard");
        let mut start = needed::input(&shard);
        if across.is_some() {
            start = needed::of_root(start, across);
        }
        let start = needed::cast(start, stored, param);
        self.need_whole(layer, to, &needed::gather(start, self.axis()));
        let shard = self.working(&shard);
        if stored == param {
            return self.gather(layer, &shard, to);
        }
        let copy = format!("param{layer}_shard_{param}");
        self.draft.is(&copy, self.shard_part(Kind::Parameters, layer));
        self.draft.cast(&shard, &copy, param);
        self.gather(layer, &copy, to);
        self.draft.goes(&copy);
    }
}
