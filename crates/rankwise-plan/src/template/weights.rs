//! The steps that schemes of data parallelism share: replicas made equal, gradients
//! averaged, parameters updated and gathered.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use rankwise_model::{Dtype, OperationKind, Reduction};

use super::cut::Cut;
use super::draft::{Draft, Kind, Part, everywhere};
use super::error::TemplateError;
use super::needed;
use super::training::{Average, Training, Types};
use super::update::Update;
use crate::plan::Expr;

/// A draft for one training, with the words of its buffers.
///
/// Layer `k` has `param{k}` and `grad{k}`, whole or as a `_shard`; what the optimizer
/// leaves ends in `_next`.
pub(super) struct Weights<'t> {
    pub(super) draft: Draft,
    pub(super) training: &'t Training,
    /// The axis along which state is sharded or replicas are averaged.
    axis: Option<&'t str>,
    /// How each layer is cut along it.
    cuts: Vec<Cut>,
    /// Buffers that are longer than what they are made of, and padded.
    padded: BTreeSet<String>,
}

/// How much of each layer a rank updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owned {
    /// All of it.
    Whole,
    /// Its own block.
    Shard,
}

impl<'t> Weights<'t> {
    /// A draft along the axis of the training's ranks.
    pub(super) fn new(
        name: &'static str,
        about: &str,
        training: &'t Training,
    ) -> Result<Self, TemplateError> {
        training.check()?;
        let (axis, ranks) = (training.ranks.over(), training.ranks.in_group());
        Self::along(name, about, training, axis, ranks)
    }

    /// A draft along one axis of a mesh.
    pub(super) fn along(
        name: &'static str,
        about: &str,
        training: &'t Training,
        axis: Option<&'t str>,
        ranks: u64,
    ) -> Result<Self, TemplateError> {
        let Types { param, grad, reduce } = training.types;
        let about = format!(
            "{about}\nParameters in {param}, gradients in {grad}, reduced in {reduce}; {}.",
            training.optimizer
        );
        let cut = |(layer, elements)| Cut::new(layer, elements, ranks);
        let layers = training.layers.iter().copied().enumerate();
        let cuts = layers.map(cut).collect::<Result<Vec<Cut>, _>>()?;
        let draft = Draft::new(name, about, &training.ranks);
        Ok(Self { draft, training, axis, cuts, padded: BTreeSet::new() })
    }

    /// Each layer's number and elements, first layer first.
    pub(super) fn layers(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> + 't {
        self.training.layers.iter().copied().enumerate()
    }

    /// How a layer is cut into shards.
    pub(super) fn cut(&self, layer: usize) -> Option<Cut> {
        self.cuts.get(layer).copied()
    }

    /// Says which layers are padded.
    pub(super) fn padding_told(&mut self) {
        for (layer, cut) in self.cuts.iter().enumerate().filter(|(_, cut)| cut.is_padded()) {
            // Writing into a String cannot fail.
            let _ = write!(self.draft.about, "\nLayer {layer} has {cut}.");
        }
    }

    /// The buffer that is worked with: the padded one, where there is one.
    pub(super) fn working(&self, name: &str) -> String {
        let padded = if self.padded.contains(name) { "_padded" } else { "" };
        format!("{name}{padded}")
    }

    /// Fills a buffer up with zeros, if it is shorter than that, and lets it go.
    fn pad(&mut self, name: &str, layer: usize, kind: Kind, to: fn(Cut) -> u64) {
        let Some(cut) = self.cut(layer).filter(|cut| cut.is_padded()) else { return };
        self.padded.insert(name.to_string());
        let padded = self.working(name);
        self.draft.is(&padded, self.shard_part(kind, layer));
        self.draft.pad(name, &padded, to(cut));
        self.draft.goes(name);
    }

    pub(super) fn part(&self, kind: Kind, layer: usize) -> Part {
        let whole = self.training.layers.get(layer).copied().unwrap_or(0);
        Part { kind, of: layer, whole }
    }

    /// The same of a rank's shard, padding included: of one element over four ranks a
    /// shard is a quarter, whoever has it.
    pub(super) fn shard_part(&self, kind: Kind, layer: usize) -> Part {
        let whole = self.cut(layer).map_or(0, Cut::length);
        Part { whole, ..self.part(kind, layer) }
    }

    fn owned_part(&self, owned: Owned, kind: Kind, layer: usize) -> Part {
        match owned {
            Owned::Whole => self.part(kind, layer),
            Owned::Shard => self.shard_part(kind, layer),
        }
    }

    /// Every rank starts with whole parameters of its own; rank 0's replace them.
    pub(super) fn replicas(&mut self) {
        self.draft.passage("parameters as each rank made them");
        for (layer, elements) in self.layers() {
            let (part, param) = (self.part(Kind::Parameters, layer), self.training.types.param);
            let meaning = format!("parameters of layer {layer}, as this rank initialised them");
            self.draft.input(&format!("param{layer}"), part, (param, elements), meaning);
        }
        self.draft.passage("replicas made equal: rank 0's parameters are broadcast");
        for (layer, _) in self.layers() {
            self.equal(&format!("param{layer}"), self.axis);
        }
    }

    /// Each rank's own shard of a buffer that all have whole.
    pub(super) fn own_shard(&mut self, layer: usize, kind: Kind, (from, to): (&str, &str)) {
        let Some(cut) = self.cut(layer) else { return };
        self.draft.is_view(to, self.part(kind, layer));
        self.draft.own_shard(from, to, self.axis.or(self.training.ranks.over()), cut);
    }

    /// Along an axis, rank 0's buffer replaces the others'.
    pub(super) fn equal(&mut self, name: &str, axis: Option<&str>) {
        self.draft.collective(OperationKind::Broadcast, None, (name, name), axis);
        let of_root = needed::of_root(needed::input(name), axis);
        self.draft.need(everywhere(), name, &of_root);
    }

    /// Every rank starts with its own shard of each layer, in the type `dtype`, of
    /// which the last may be shorter.
    pub(super) fn shards(&mut self, dtype: Dtype) {
        self.draft.passage("parameters sharded");
        for (layer, cut) in self.cuts.clone().into_iter().enumerate() {
            let part = self.shard_part(Kind::Parameters, layer);
            let meaning = format!("parameters of layer {layer}, this rank's shard");
            let name = format!("param{layer}_shard");
            if cut.is_padded() {
                let ranks = &self.training.ranks;
                let of = |rank| cut.owned_by(ranks.coordinate_along(self.axis, rank));
                let counts = (0..ranks.count()).map(of).collect();
                self.draft.ragged(&name, part, (dtype, counts), meaning);
            } else {
                self.draft.input(&name, part, (dtype, cut.block()), meaning);
            }
        }
    }

    /// Shards of one length, for gathering.
    pub(super) fn shards_padded(&mut self) {
        if self.cuts.iter().any(|cut| cut.is_padded()) {
            self.draft.passage("shards padded to one length");
        }
        for (layer, _) in self.layers() {
            self.pad(&format!("param{layer}_shard"), layer, Kind::Parameters, Cut::block);
        }
    }

    /// The optimizer's master copy, where there is one, of `source(k)`.
    pub(super) fn masters(&mut self, owned: Owned, source: impl Fn(usize) -> String) {
        let Some(master) = self.training.optimizer.master else { return };
        self.draft.passage("optimizer's master copy");
        for (layer, _) in self.layers() {
            let part = self.owned_part(owned, Kind::Optimizer, layer);
            let source = self.working(&source(layer));
            self.draft.master(&source, &format!("master{layer}"), master, part);
        }
    }

    /// The optimizer's moments of what each rank updates.
    pub(super) fn moments(&mut self, owned: Owned) {
        self.draft.passage("before the step");
        for (layer, elements) in self.layers() {
            let part = self.owned_part(owned, Kind::Optimizer, layer);
            let count = self.owned(owned, layer, elements);
            let (suffix, of) =
                (layer.to_string(), format!("what this rank updates of layer {layer}"));
            self.draft.moments(self.training.optimizer, (&suffix, &of), count, part);
        }
    }

    fn owned(&self, owned: Owned, layer: usize, elements: u64) -> u64 {
        match owned {
            Owned::Whole => elements,
            Owned::Shard => self.cut(layer).map_or(0, Cut::block),
        }
    }

    /// Backward yields this rank's own gradient of a layer.
    pub(super) fn gradient(&mut self, layer: usize, elements: u64) {
        let part = self.part(Kind::Gradients, layer);
        let meaning = format!("gradient of layer {layer}, from this rank's batch");
        let grad = self.training.types.grad;
        self.draft.input(&format!("grad{layer}"), part, (grad, elements), meaning);
    }

    /// Averages `grad{k}` in place; every rank gets all of it.
    pub(super) fn all_reduce(&mut self, layer: usize) {
        let Types { grad, reduce, .. } = self.training.types;
        let own = format!("grad{layer}");
        let copy = self.in_reduced_type(layer);
        self.before(&copy);
        let kind = OperationKind::AllReduce;
        self.draft.collective(kind, Some(self.reduction()), (&copy, &copy), self.axis);
        self.after(&copy);
        if copy != own {
            self.draft.cast(&copy, &own, grad);
            self.draft.goes(&copy);
        }
        let average = self.average_of(layer, self.axis);
        self.draft.need(everywhere(), &own, &needed::cast(average, reduce, grad));
    }

    /// Averages `grad{k}` into each rank's `grad{k}_shard`, of type `to`, and lets
    /// the whole gradient go; `across` is averaged too, shard by shard.
    pub(super) fn reduce_scatter(&mut self, layer: usize, to: Dtype, across: Option<&str>) {
        let reduce = self.training.types.reduce;
        self.pad(&format!("grad{layer}"), layer, Kind::Gradients, Cut::length);
        let (own, shard) = (self.working(&format!("grad{layer}")), format!("grad{layer}_shard"));
        let copy = self.in_reduced_type(layer);
        if copy != own {
            self.draft.goes(&own);
        }
        self.before(&copy);
        let reduced = if reduce == to { shard.clone() } else { format!("{shard}_{reduce}") };
        self.draft.is(&reduced, self.shard_part(Kind::Gradients, layer));
        let how = Some(self.reduction());
        self.draft.collective(OperationKind::ReduceScatter, how, (&copy, &reduced), self.axis);
        self.draft.goes(&copy);
        if across.is_some() {
            self.draft.collective(OperationKind::AllReduce, how, (&reduced, &reduced), across);
        }
        self.after(&reduced);
        if reduced != shard {
            self.draft.is(&shard, self.shard_part(Kind::Gradients, layer));
            self.draft.cast(&reduced, &shard, to);
            self.draft.goes(&reduced);
        }
        // Over both axes of a mesh of two is over everybody.
        self.need_of_shard(layer, to, if across.is_some() { None } else { self.axis });
    }

    /// Everybody needs the whole of a layer in a buffer, where padding may follow it.
    pub(super) fn need_whole(&mut self, layer: usize, buffer: &str, whole: &Expr) {
        match self.cut(layer).filter(|cut| cut.is_padded()) {
            Some(cut) => self.draft.need_first(everywhere(), buffer, cut.elements(), whole),
            None => self.draft.need(everywhere(), buffer, whole),
        }
    }

    /// The optimizer of each rank needs its shard of the average over an axis.
    pub(super) fn need_of_shard(&mut self, layer: usize, to: Dtype, over: Option<&str>) {
        let sharding = self.cut(layer).map(Cut::sharding).unwrap_or_default();
        let average = needed::shard(self.average_of(layer, over), self.axis, sharding);
        let average = needed::cast(average, self.training.types.reduce, to);
        self.draft.need(everywhere(), &format!("grad{layer}_shard"), &average);
    }

    /// Gathers the whole of a layer from every rank's shard `from`, with its padding.
    pub(super) fn gather(&mut self, layer: usize, from: &str, to: &str) {
        self.draft.is(to, self.part(Kind::Parameters, layer));
        self.draft.collective(OperationKind::AllGather, None, (from, to), self.axis);
    }

    /// The axis that state is sharded along.
    pub(super) fn axis(&self) -> Option<&'t str> {
        self.axis
    }

    /// Updates what this rank owns of each layer: `updated(k)`, by its gradient
    /// `grad(k)` of type `grad_type`. What comes of it ends in `_next`.
    pub(super) fn update(
        &mut self,
        owned: Owned,
        updated: impl Fn(usize) -> String,
        (grad, grad_type): (impl Fn(usize) -> String, Dtype),
    ) {
        let whose = match owned {
            Owned::Whole => "as this rank computed them",
            Owned::Shard => "this rank's shard",
        };
        for (layer, elements) in self.layers() {
            let count = self.owned(owned, layer, elements);
            let (name, gradient) = (updated(layer), grad(layer));
            let update = Update {
                old: &self.working(&name),
                next: format!("{name}_next"),
                size: (self.training.updated_type(), count),
                gradient: (&gradient, grad_type),
                meaning: format!("parameters of layer {layer} after the step, {whose}"),
            };
            self.draft.update(self.training.optimizer.rule, update);
        }
    }

    /// The gradient in the type that it is reduced in; a copy, where that is another.
    fn in_reduced_type(&mut self, layer: usize) -> String {
        let Types { grad, reduce, .. } = self.training.types;
        let own = self.working(&format!("grad{layer}"));
        if grad == reduce {
            return own;
        }
        let copy = format!("grad{layer}_{reduce}");
        self.draft.is(&copy, self.part(Kind::Gradients, layer));
        self.draft.cast(&own, &copy, reduce);
        copy
    }

    fn reduction(&self) -> Reduction {
        match self.training.average {
            Average::InTheCall => Reduction::Avg,
            Average::DividedBefore | Average::DividedAfter => Reduction::Sum,
        }
    }

    fn before(&mut self, buffer: &str) {
        if self.training.average == Average::DividedBefore {
            self.draft.scale(buffer, buffer, &self.one_of_them());
        }
    }

    fn after(&mut self, buffer: &str) {
        if self.training.average == Average::DividedAfter {
            self.draft.scale(buffer, buffer, &self.one_of_them());
        }
    }

    /// One over the ranks that are averaged.
    fn one_of_them(&self) -> String {
        format!("1/{}", self.training.ranks.in_group())
    }

    fn average_of(&self, layer: usize, over: Option<&str>) -> Expr {
        let Types { grad, reduce, .. } = self.training.types;
        let own = needed::input(&format!("grad{layer}"));
        needed::average(needed::cast(own, grad, reduce), over)
    }

    /// The names `{prefix}{k}{suffix}` of all layers.
    pub(super) fn names(&self, prefix: &str, suffix: &str) -> Vec<String> {
        self.layers().map(|(layer, _)| format!("{prefix}{layer}{suffix}")).collect()
    }
}
