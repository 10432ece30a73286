//! ZeRO: one shard of the optimizer, of gradients, of parameters for each rank.

use alloc::format;
use alloc::string::String;

use super::draft::{Draft, Kind, everywhere};
use super::error::TemplateError;
use super::needed;
use super::training::{Rule, Training};
use super::weights::{Owned, Weights};

/// Data parallelism with the state of training sharded in one of three stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zero {
    /// What is sharded.
    pub stage: Stage,
    /// What is trained, by whom.
    pub training: Training,
}

/// What ZeRO shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The optimizer's state. Gradients are averaged whole; each rank updates its
    /// shard of the parameters, and the shards are gathered.
    Optimizer,
    /// Gradients too: each is reduce-scattered as backward yields it.
    Gradients,
    /// Parameters too: each layer is gathered for forward, and again for backward.
    Parameters,
}

impl Stage {
    /// The name of the template.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Optimizer => "zero1",
            Self::Gradients => "zero2",
            Self::Parameters => "zero3",
        }
    }

    const fn about(self) -> &'static str {
        match self {
            Self::Optimizer => "ZeRO stage 1: the optimizer's state is sharded.",
            Self::Gradients => "ZeRO stage 2: the optimizer's state and gradients are sharded.",
            Self::Parameters => {
                "ZeRO stage 3: the optimizer's state, gradients and parameters are sharded."
            }
        }
    }
}

impl Zero {
    /// The plan and its schedule.
    pub fn draft(&self) -> Result<Draft, TemplateError> {
        let mut weights = Weights::new(self.stage.name(), self.stage.about(), &self.training)?;
        weights.padding_told();
        match self.stage {
            Stage::Parameters => weights.sharded_parameters(),
            Stage::Optimizer | Stage::Gradients => self.replicated_parameters(&mut weights),
        }
        Ok(weights.draft)
    }

    fn replicated_parameters(&self, weights: &mut Weights<'_>) {
        let types = self.training.types;
        weights.replicas();
        weights.draft.passage("each rank's own block of the parameters, as a view");
        for (layer, _) in weights.layers() {
            let names = (format!("param{layer}"), format!("param{layer}_shard"));
            weights.own_shard(layer, Kind::Parameters, (&names.0, &names.1));
        }
        weights.masters(Owned::Shard, |layer| format!("param{layer}_shard"));
        weights.moments(Owned::Shard);
        for (layer, elements) in weights.layers().rev() {
            match self.stage {
                Stage::Optimizer => {
                    let title = format!("backward of layer {layer}: its gradient is averaged");
                    weights.draft.passage(title);
                    weights.gradient(layer, elements);
                    weights.all_reduce(layer);
                    let names = (format!("grad{layer}"), format!("grad{layer}_shard"));
                    weights.own_shard(layer, Kind::Gradients, (&names.0, &names.1));
                    weights.need_of_shard(layer, types.grad, weights.axis());
                }
                _ => weights.backward(layer, elements, types.grad, None),
            }
        }
        let updated = |layer| updated(&self.training, layer);
        weights.draft.passage("optimizer: each rank updates its shard");
        let grad = (|layer| format!("grad{layer}_shard"), types.grad);
        weights.update(Owned::Shard, updated, grad);
        weights.masters_converted();
        for own in weights.names("param", "_shard_next") {
            weights.draft.goes(&own);
        }
        weights.draft.passage("updated parameters gathered, gradients let go");
        for (layer, _) in weights.layers() {
            let (own, next) = (format!("param{layer}_shard_next"), format!("param{layer}_next"));
            weights.gather_updated(layer, &own, &next);
            if self.training.optimizer.rule == Rule::Adam {
                let stored = self.training.updated_type();
                let updated = needed::input(&format!("{}_next", updated(layer)));
                let updated = needed::cast(updated, stored, types.param);
                let gathered = needed::gather(updated, weights.axis());
                let cut = weights.cut(layer).filter(|cut| cut.is_padded());
                let gathered = match cut {
                    Some(cut) => needed::first(gathered, cut.elements()),
                    None => gathered,
                };
                weights.draft.need(everywhere(), &next, &gathered);
            }
            weights.draft.goes(&format!("param{layer}"));
            weights.let_gradients_go(layer);
        }
        let outputs = weights.names("param", "_next");
        weights.draft.outputs(&outputs);
    }
}

impl Weights<'_> {
    /// Stage 3: parameters in their own type, the master copy with the optimizer.
    fn sharded_parameters(&mut self) {
        let types = self.training.types;
        self.shards(types.param);
        self.shards_padded();
        self.masters(Owned::Shard, |layer| format!("param{layer}_shard"));
        self.moments(Owned::Shard);
        self.forward_and_backward(types.param, types.grad, None);
        let updated = |layer| updated(self.training, layer);
        self.draft.passage("optimizer: each rank updates its shard");
        let grad = (|layer| format!("grad{layer}_shard"), types.grad);
        self.update(Owned::Shard, updated, grad);
        self.masters_converted();
        self.draft.passage("gradients let go");
        for (layer, _) in self.layers() {
            self.let_gradients_go(layer);
        }
        let outputs = self.names("param", "_shard_next");
        self.draft.outputs(&outputs);
    }

    /// Gathers updated shards, and leaves their padding out.
    fn gather_updated(&mut self, layer: usize, own: &str, next: &str) {
        let Some(cut) = self.cut(layer).filter(|cut| cut.is_padded()) else {
            return self.gather(layer, own, next);
        };
        let padded = format!("{next}_padded");
        self.gather(layer, own, &padded);
        self.draft.is_view(next, self.part(Kind::Parameters, layer));
        self.draft.first(&padded, next, cut.elements());
    }

    /// Where there is a master copy, the parameter's shard is made of it.
    fn masters_converted(&mut self) {
        if self.training.optimizer.master.is_none() {
            return;
        }
        for (layer, _) in self.layers() {
            let next = format!("param{layer}_shard_next");
            self.draft.is(&next, self.shard_part(Kind::Parameters, layer));
            let master = format!("master{layer}_next");
            self.draft.cast(&master, &next, self.training.types.param);
            self.draft.goes(&self.working(&format!("param{layer}_shard")));
        }
    }
}

/// The buffer that the optimizer updates: the master copy, where there is one.
fn updated(training: &Training, layer: usize) -> String {
    match training.optimizer.master {
        Some(_) => format!("master{layer}"),
        None => format!("param{layer}_shard"),
    }
}
