//! Hybrid sharding: fully sharded inside a group, replicated across groups.

use alloc::format;

use super::draft::Draft;
use super::error::TemplateError;
use super::training::Training;
use super::weights::Weights;

/// Full sharding along the axis `shard` of a mesh, and replicas along `replica`:
/// gradients are reduce-scattered along one and their shards all-reduced along the
/// other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hsdp {
    /// What is trained, by whom; its ranks are a mesh of `replica` and `shard`.
    pub training: Training,
}

impl Hsdp {
    /// The name of the template.
    pub const NAME: &'static str = "hsdp";
    /// The axis across which replicas are averaged.
    pub const REPLICA: &'static str = "replica";
    /// The axis along which state is sharded.
    pub const SHARD: &'static str = "shard";

    /// The plan and its schedule.
    pub fn draft(&self) -> Result<Draft, TemplateError> {
        self.training.check()?;
        let (replica, shard) = (Self::REPLICA, Self::SHARD);
        let ranks = &self.training.ranks;
        if ranks.axes().any(|axis| ![replica, shard].contains(&axis)) || ranks.over().is_some() {
            let found = ranks.described();
            let expected = format!("a mesh of {replica} and {shard} and nothing else");
            return Err(TemplateError::Axis { found, expected });
        }
        ranks.axis(replica)?;
        let shards = ranks.axis(shard)?;
        let about = "Hybrid sharding: fully sharded inside each group of the axis shard, \
                     replicated along the axis replica.";
        let mut weights = Weights::along(Self::NAME, about, &self.training, Some(shard), shards)?;
        weights.padding_told();
        weights.shards(self.training.updated_type());
        weights.draft.passage("replicas made equal: the shards of replica 0 are broadcast");
        for (layer, _) in weights.layers() {
            weights.equal(&format!("param{layer}_shard"), Some(replica));
        }
        weights.fully_sharded(Some(replica));
        Ok(weights.draft)
    }
}
