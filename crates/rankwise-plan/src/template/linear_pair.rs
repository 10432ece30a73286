//! A pair of linear layers, the first split by columns and the second by rows.

use alloc::format;
use alloc::string::String;

use rankwise_model::Dtype;

use super::draft::{Draft, Kind, Part};
use super::error::{TemplateError, divided, product};
use super::ranks::Ranks;
use super::training::{Optimizer, Rule, check_floats, layers_in};
use super::update::Local;

/// `y = act(x·A)·B` with `A` split by columns and `B` by rows over the ranks, so that
/// what is between them is never communicated.
///
/// `x` and `y` have `tokens × hidden` elements, `A` has `hidden × inner`, `B` `inner ×
/// hidden`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearPair {
    /// Who takes part.
    pub ranks: Ranks,
    /// Rows of `x` and of `y`.
    pub tokens: u64,
    /// Their columns.
    pub hidden: u64,
    /// The columns of `A`, which are the rows of `B`.
    pub inner: u64,
    /// The element type of parameters and activations.
    pub param: Dtype,
    /// The element type of gradients of parameters.
    pub grad: Dtype,
    /// What updates the parameters.
    pub optimizer: Optimizer,
}

/// The sizes of a pair, checked.
pub(super) struct Sizes {
    /// `x`, `y` and their gradients.
    pub(super) outer: u64,
    /// What is between the layers, and this rank's part of it.
    pub(super) between: (u64, u64),
    /// `A` or `B`, and this rank's part of either.
    weights: (u64, u64),
}

impl LinearPair {
    /// A pair in `bf16`, trained with Adam.
    pub fn new(ranks: Ranks, tokens: u64, hidden: u64, inner: u64) -> Self {
        let param = Dtype::Bf16;
        let optimizer = Optimizer::new(Rule::Adam, param);
        Self { ranks, tokens, hidden, inner, param, grad: param, optimizer }
    }

    /// What the scheme is, and in which types.
    pub(super) fn about(&self, scheme: &str) -> String {
        format!("{scheme}\n{}", layers_in(self.param, self.grad, self.optimizer))
    }

    pub(super) fn sizes(&self) -> Result<Sizes, TemplateError> {
        self.ranks.check()?;
        check_floats(self.param, self.grad, self.optimizer)?;
        let ranks = self.ranks.in_group();
        for (what, size) in [("tokens", self.tokens), ("hidden", self.hidden)] {
            divided(what, size, 1)?;
        }
        let columns = divided("inner", self.inner, ranks)?;
        Ok(Sizes {
            outer: product("tokens times hidden", self.tokens, self.hidden)?,
            between: (
                product("tokens times inner", self.tokens, self.inner)?,
                product("tokens times inner", self.tokens, columns)?,
            ),
            weights: (
                product("hidden times inner", self.hidden, self.inner)?,
                product("hidden times inner", self.hidden, columns)?,
            ),
        })
    }

    /// The two layers' weights: `a` by columns, `b` by rows.
    pub(super) fn weights(&self, sizes: &Sizes) -> [Local<'static>; 2] {
        let local = |name, what, of| Local {
            name,
            what,
            count: sizes.weights.1,
            whole: sizes.weights.0,
            of,
            types: (self.param, self.grad),
            optimizer: self.optimizer,
        };
        [
            local("a", "this rank's columns of the first layer", 0),
            local("b", "this rank's rows of the second layer", 1),
        ]
    }

    /// Local computation yields an activation, or the gradient of one.
    pub(super) fn activation(
        &self,
        draft: &mut Draft,
        name: &str,
        (whole, count): (u64, u64),
        meaning: &str,
    ) {
        draft.input(name, activation(draft, name, whole), (self.param, count), meaning);
    }
}

/// Each activation is counted apart.
pub(super) fn activation(draft: &Draft, name: &str, whole: u64) -> Part {
    let known = draft.part_of(name).map(|part| part.of);
    Part { kind: Kind::Activations, of: known.unwrap_or(draft.buffers()), whole }
}
