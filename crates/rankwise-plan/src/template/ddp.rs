//! Data parallelism: every rank holds everything.

use alloc::format;

use super::draft::{Draft, Kind};
use super::error::TemplateError;
use super::training::Training;
use super::weights::{Owned, Weights};

/// Every rank has all parameters, gradients and optimizer state; each gradient is
/// averaged over the ranks, and every rank makes the same update.
///
/// Replicas are equal because rank 0's parameters are broadcast once, and stay equal
/// because every rank has the same average.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ddp {
    /// What is trained, by whom.
    pub training: Training,
}

impl Ddp {
    /// The name of the template.
    pub const NAME: &'static str = "ddp";

    /// The plan and its schedule.
    pub fn draft(&self) -> Result<Draft, TemplateError> {
        let about = "Data parallelism: every rank holds everything, gradients are averaged.";
        let mut weights = Weights::new(Self::NAME, about, &self.training)?;
        weights.replicas();
        weights.masters(Owned::Whole, |layer| format!("param{layer}"));
        weights.moments(Owned::Whole);
        for (layer, elements) in weights.layers().rev() {
            weights.draft.passage(format!("backward of layer {layer}: its gradient is averaged"));
            weights.gradient(layer, elements);
            weights.all_reduce(layer);
        }
        weights.draft.passage("optimizer: every rank updates everything");
        let has_master = self.training.optimizer.master.is_some();
        let updated = if has_master { "master" } else { "param" };
        let grad_type = self.training.types.grad;
        let grad = (|layer| format!("grad{layer}"), grad_type);
        weights.update(Owned::Whole, |layer| format!("{updated}{layer}"), grad);
        if has_master {
            for (layer, _) in weights.layers() {
                let (old, next) = (format!("param{layer}"), format!("param{layer}_next"));
                weights.draft.is(&next, weights.part(Kind::Parameters, layer));
                let master = format!("master{layer}_next");
                weights.draft.cast(&master, &next, self.training.types.param);
                weights.draft.goes(&old);
            }
        }
        weights.draft.passage("gradients let go");
        for (layer, _) in weights.layers() {
            weights.draft.goes(&format!("grad{layer}"));
        }
        let outputs = weights.names("param", "_next");
        weights.draft.outputs(&outputs);
        Ok(weights.draft)
    }
}
