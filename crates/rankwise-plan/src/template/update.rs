//! What an optimizer keeps beside parameters, and what it makes of them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use rankwise_model::Dtype;

use super::draft::{Draft, Kind, Part};
use super::training::{Optimizer, Rule};

/// A buffer that an optimizer updates, and the gradient that it does so by.
pub(super) struct Update<'n> {
    /// The buffer.
    pub(super) old: &'n str,
    /// What is called what comes of it.
    pub(super) next: String,
    /// Its element type, and its elements.
    pub(super) size: (Dtype, u64),
    /// The gradient, and its element type.
    pub(super) gradient: (&'n str, Dtype),
    /// What the result is, where it is a new input.
    pub(super) meaning: String,
}

/// Weights that are this rank's alone: nothing of them is ever communicated.
pub(super) struct Local<'n> {
    /// Buffers are called `param_{name}`, `grad_{name}` and so on.
    pub(super) name: &'n str,
    /// `this rank's columns of the first layer`.
    pub(super) what: &'n str,
    /// Elements on this rank.
    pub(super) count: u64,
    /// Elements of the whole.
    pub(super) whole: u64,
    /// Which of several that are counted apart.
    pub(super) of: usize,
    /// The element types of parameters and of gradients.
    pub(super) types: (Dtype, Dtype),
    /// What updates them.
    pub(super) optimizer: Optimizer,
}

impl Draft {
    /// A master copy of a buffer, in its own type.
    pub(super) fn master(&mut self, source: &str, name: &str, dtype: Dtype, part: Part) {
        self.is(name, Part { kind: Kind::Optimizer, ..part });
        self.cast(source, name, dtype);
    }

    /// The optimizer's moments of something.
    pub(super) fn moments(
        &mut self,
        optimizer: Optimizer,
        (suffix, of): (&str, &str),
        count: u64,
        part: Part,
    ) {
        let part = Part { kind: Kind::Optimizer, ..part };
        for moment in optimizer.moments() {
            let meaning = format!("{moment} of {of}");
            self.input(&format!("{moment}{suffix}"), part, (optimizer.state, count), meaning);
        }
    }

    /// Updates one buffer by its gradient.
    pub(super) fn update(&mut self, rule: Rule, update: Update<'_>) {
        let Update { old, next, size, gradient: (gradient, grad_type), meaning } = update;
        let delta = format!("{old}_delta");
        let Some(part) = self.part_of(old) else { return };
        match rule {
            Rule::Adam => self.input(&next, part, size, meaning),
            Rule::Sgd => {
                self.is(&delta, Part { kind: Kind::Gradients, ..part });
                self.is(&next, part);
                if grad_type == size.0 {
                    self.scale(gradient, &delta, RATE);
                } else {
                    self.cast(gradient, &delta, size.0);
                    self.scale(&delta, &delta, RATE);
                }
                self.sum([old, &delta], &next);
                self.goes(&delta);
            }
        }
        self.goes(old);
    }

    /// Updates what each rank has alone, and then lets the gradients go.
    pub(super) fn locals_updated(&mut self, weights: &[Local<'_>]) {
        for weight in weights {
            weight.after(self);
        }
        self.passage("gradients let go");
        for weight in weights {
            self.goes(&format!("grad_{}", weight.name));
        }
        let next = weights.iter().map(|weight| format!("param_{}_next", weight.name));
        self.outputs(&next.collect::<Vec<_>>());
    }
}

impl Local<'_> {
    fn part(&self, kind: Kind) -> Part {
        Part { kind, of: self.of, whole: self.whole }
    }

    /// Parameters, master copy and moments, before the step.
    pub(super) fn before(&self, draft: &mut Draft) {
        let (param, part) = (format!("param_{}", self.name), self.part(Kind::Parameters));
        draft.input(&param, part, (self.types.0, self.count), format!("parameters, {}", self.what));
        if let Some(master) = self.optimizer.master {
            draft.master(&param, &format!("master_{}", self.name), master, part);
        }
        let suffix = format!("_{}", self.name);
        draft.moments(self.optimizer, (&suffix, self.what), self.count, part);
    }

    /// Backward has the gradient.
    pub(super) fn gradient(&self, draft: &mut Draft) {
        let meaning = format!("gradient, {}", self.what);
        let size = (self.types.1, self.count);
        let name = format!("grad_{}", self.name);
        draft.input(&name, self.part(Kind::Gradients), size, meaning);
    }

    /// Parameters after the step.
    pub(super) fn after(&self, draft: &mut Draft) {
        let (param, grad) = (format!("param_{}", self.name), format!("grad_{}", self.name));
        let (old, dtype) = match self.optimizer.master {
            Some(master) => (format!("master_{}", self.name), master),
            None => (param.clone(), self.types.0),
        };
        draft.update(
            self.optimizer.rule,
            Update {
                old: &old,
                next: format!("{old}_next"),
                size: (dtype, self.count),
                gradient: (&grad, self.types.1),
                meaning: format!("parameters after the step, {}", self.what),
            },
        );
        if self.optimizer.master.is_some() {
            let next = format!("{param}_next");
            draft.is(&next, self.part(Kind::Parameters));
            draft.cast(&format!("{old}_next"), &next, self.types.0);
            draft.goes(&param);
        }
    }
}

/// What [`Rule::Sgd`] multiplies a gradient by.
const RATE: &str = "-1/100";
