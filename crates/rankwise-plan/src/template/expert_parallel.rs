//! Expert parallelism: tokens go to the ranks of their experts, and come back.

use alloc::format;

use rankwise_model::{Dtype, OperationKind};

use super::draft::{Draft, everywhere};
use super::error::{TemplateError, divided, product};
use super::linear_pair::activation;
use super::needed;
use super::ranks::Ranks;
use super::training::{Optimizer, Rule, check_floats, layers_in};
use super::update::Local;

/// A layer of experts, so many of them on each rank.
///
/// Each rank sorts its tokens into `capacity` slots for every expert. An all-to-all
/// brings every expert what all ranks have for it, and another brings each rank its
/// tokens' outputs; backward does the same with gradients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpertParallel {
    /// Who takes part.
    pub ranks: Ranks,
    /// How many experts there are, on all ranks together.
    pub experts: u64,
    /// How many tokens each rank may send to each expert.
    pub capacity: u64,
    /// The elements of a token.
    pub hidden: u64,
    /// The parameters of one expert.
    pub weights: u64,
    /// The element type of parameters and activations.
    pub param: Dtype,
    /// The element type of gradients of parameters.
    pub grad: Dtype,
    /// What updates the parameters.
    pub optimizer: Optimizer,
}

impl ExpertParallel {
    /// The name of the template.
    pub const NAME: &'static str = "expert-parallel";

    /// A layer in `bf16`, trained with Adam.
    pub fn new(ranks: Ranks, experts: u64, capacity: u64, hidden: u64, weights: u64) -> Self {
        let param = Dtype::Bf16;
        let optimizer = Optimizer::new(Rule::Adam, param);
        Self { ranks, experts, capacity, hidden, weights, param, grad: param, optimizer }
    }

    /// The plan and its schedule.
    pub fn draft(&self) -> Result<Draft, TemplateError> {
        self.ranks.check()?;
        check_floats(self.param, self.grad, self.optimizer)?;
        let sizes =
            [("capacity", self.capacity), ("hidden", self.hidden), ("weights", self.weights)];
        for (what, size) in sizes {
            divided(what, size, 1)?;
        }
        let own = divided("experts", self.experts, self.ranks.in_group())?;
        let slot = product("capacity times hidden", self.capacity, self.hidden)?;
        let tokens = product("experts times slots", self.experts, slot)?;
        let weights = Local {
            name: "experts",
            what: "this rank's experts",
            count: product("experts times weights", own, self.weights)?,
            whole: product("experts times weights", self.experts, self.weights)?,
            of: 0,
            types: (self.param, self.grad),
            optimizer: self.optimizer,
        };
        let about = format!(
            "Expert parallelism: {} experts, {own} on each rank. Tokens go to their experts and \
             come back by all-to-all.\n{}",
            self.experts,
            layers_in(self.param, self.grad, self.optimizer)
        );
        let mut draft = Draft::new(Self::NAME, about, &self.ranks);
        draft.passage("before the step");
        weights.before(&mut draft);
        let exchange = [
            (
                "forward: tokens dispatched to their experts",
                "tokens",
                "dispatched",
                "this rank's tokens, a block for each rank's experts",
            ),
            (
                "forward: outputs combined where the tokens came from",
                "outputs",
                "combined",
                "outputs of this rank's experts, a block for each rank's tokens",
            ),
            (
                "backward: gradients of the outputs dispatched",
                "d_combined",
                "d_outputs",
                "gradient of the outputs of this rank's tokens, a block for each rank's experts",
            ),
            (
                "backward: gradients of the tokens combined",
                "d_dispatched",
                "d_tokens",
                "gradient of what this rank's experts got, a block for each rank's tokens",
            ),
        ];
        for (title, from, to, meaning) in exchange {
            draft.passage(title);
            if from == "d_dispatched" {
                weights.gradient(&mut draft);
                draft.goes("d_outputs");
                // What the experts got was kept for their gradient.
                draft.goes("dispatched");
            }
            draft.input(from, activation(&draft, from, tokens), (self.param, tokens), meaning);
            draft.is(to, activation(&draft, to, tokens));
            draft.collective(OperationKind::AllToAll, None, (from, to), None);
            draft.goes(from);
            let exchanged = needed::exchange(needed::input(from), self.ranks.over());
            draft.need(everywhere(), to, &exchanged);
        }
        draft.passage("optimizer: each rank updates its experts");
        for gone in ["combined", "d_tokens"] {
            draft.goes(gone);
        }
        draft.locals_updated(&[weights]);
        Ok(draft)
    }
}
