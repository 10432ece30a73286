//! What the templates of training have in common: layers, element types, optimizer.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use rankwise_model::Dtype;

use super::error::TemplateError;
use super::ranks::Ranks;

/// What is trained, by whom, in which element types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Training {
    /// Who takes part.
    pub ranks: Ranks,
    /// The elements of each layer: of its flat parameter.
    pub layers: Vec<u64>,
    /// The element types.
    pub types: Types,
    /// What updates the parameters.
    pub optimizer: Optimizer,
    /// How a sum becomes an average.
    pub average: Average,
}

/// The element types of a step of training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types {
    /// Of the parameters that the layers compute with.
    pub param: Dtype,
    /// Of the gradients.
    pub grad: Dtype,
    /// In which gradients are reduced.
    pub reduce: Dtype,
}

/// What updates the parameters, and what it keeps for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimizer {
    /// The rule.
    pub rule: Rule,
    /// The element type of its moments, where it has any.
    pub state: Dtype,
    /// The element type of the master copy that it updates, where that is not the
    /// parameter itself.
    pub master: Option<Dtype>,
}

/// The rule of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// `parameter - gradient / 100`. Its arithmetic is known, so the updated
    /// parameters are terms over gradients and parameters, and two schemes can be
    /// compared by them.
    Sgd,
    /// Adam: two moments for each parameter. Its arithmetic is no fold of
    /// contributions, so what it leaves is a new input, of the rank that computed it.
    Adam,
}

/// How a sum over `n` ranks becomes an average.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Average {
    /// The collective averages.
    InTheCall,
    /// Each rank divides by `n`, then the collective sums.
    DividedBefore,
    /// The collective sums, then each rank divides what it gets by `n`.
    DividedAfter,
}

impl Training {
    /// Training in `bf16` with Adam: gradients averaged in the call in `bf16`, moments
    /// and master copy in `f32`.
    pub fn new(ranks: Ranks, layers: impl Into<Vec<u64>>) -> Self {
        let types = Types { param: Dtype::Bf16, grad: Dtype::Bf16, reduce: Dtype::Bf16 };
        let optimizer = Optimizer::new(Rule::Adam, types.param);
        Self { ranks, layers: layers.into(), types, optimizer, average: Average::InTheCall }
    }

    pub(super) fn check(&self) -> Result<(), TemplateError> {
        self.ranks.check()?;
        if self.layers.is_empty() {
            return Err(TemplateError::NoLayers);
        }
        if let Some(layer) = self.layers.iter().position(|elements| *elements == 0) {
            return Err(TemplateError::Zero { what: format!("layer {layer}") });
        }
        check_floats(self.types.param, self.types.grad, self.optimizer)?;
        float("the reduction", self.types.reduce)
    }

    /// The type of the parameter that the optimizer updates.
    pub(super) fn updated_type(&self) -> Dtype {
        self.optimizer.master.unwrap_or(self.types.param)
    }
}

impl Optimizer {
    /// A rule with its state in `f32`, and a master copy in `f32` if parameters are
    /// of another type.
    pub fn new(rule: Rule, param: Dtype) -> Self {
        let master = (param != Dtype::F32).then_some(Dtype::F32);
        Self { rule, state: Dtype::F32, master }
    }

    /// What it keeps for each parameter, beside the master copy: the names of its
    /// moments.
    pub(super) const fn moments(self) -> &'static [&'static str] {
        match self.rule {
            Rule::Sgd => &[],
            Rule::Adam => &["exp_avg", "exp_avg_sq"],
        }
    }
}

impl fmt::Display for Optimizer {
    /// `optimizer adam, which keeps 2 moments in f32 and a master copy in f32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "optimizer {}, which keeps ", self.rule.name())?;
        match (self.moments().len(), self.master) {
            (0, None) => write!(f, "nothing"),
            (0, Some(master)) => write!(f, "a master copy in {master}"),
            (moments, None) => write!(f, "{moments} moments in {}", self.state),
            (moments, Some(master)) => {
                write!(f, "{moments} moments in {} and a master copy in {master}", self.state)
            }
        }
    }
}

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 2] = [Self::Sgd, Self::Adam];

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sgd => "sgd",
            Self::Adam => "adam",
        }
    }
}

/// What layers are made of, in words: `parameters and activations in bf16, …`.
pub(super) fn layers_in(param: Dtype, grad: Dtype, optimizer: Optimizer) -> String {
    format!(
        "Parameters and activations in {param}, gradients of parameters in {grad}; {optimizer}."
    )
}

/// Refuses element types in which no average and no update is taken.
pub(super) fn check_floats(
    param: Dtype,
    grad: Dtype,
    optimizer: Optimizer,
) -> Result<(), TemplateError> {
    float("parameters", param)?;
    float("gradients", grad)?;
    float("the optimizer's state", optimizer.state)?;
    optimizer.master.map_or(Ok(()), |master| float("the master copy", master))
}

fn float(what: &'static str, dtype: Dtype) -> Result<(), TemplateError> {
    if dtype.is_float() { Ok(()) } else { Err(TemplateError::NotFloat { what, dtype }) }
}
