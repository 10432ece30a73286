//! What parameters of a template cannot be.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use rankwise_model::Dtype;
use rankwise_topology::MeshError;

use crate::limits;

/// Why parameters make no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateError {
    /// Elements that do not divide over the ranks.
    Indivisible {
        /// Of what: `layer 1`.
        what: String,
        /// How many elements it has.
        elements: u64,
        /// Over how many ranks they are to be split.
        ranks: u64,
    },
    /// A number that must not be zero.
    Zero {
        /// Of what.
        what: String,
    },
    /// Nothing to train.
    NoLayers,
    /// Too few parts to make the scheme.
    TooFew {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many there must be at least.
        needed: u64,
    },
    /// Another number of devices than of ranks.
    Devices {
        /// How many devices are named.
        devices: u64,
        /// How many ranks there are.
        ranks: u64,
    },
    /// Axes that make no mesh.
    Mesh(MeshError),
    /// A mesh of another size than the number of ranks that is also given.
    MeshSize {
        /// The ranks of the mesh.
        mesh: u64,
        /// The ranks that were said.
        ranks: u64,
    },
    /// An axis that the scheme needs, or that the mesh does not have.
    Axis {
        /// What the mesh has.
        found: String,
        /// What it must have.
        expected: String,
    },
    /// An element type that cannot carry averages.
    NotFloat {
        /// Of what: `gradients`.
        what: &'static str,
        /// The type.
        dtype: Dtype,
    },
    /// More ranks than a plan may have.
    TooManyRanks {
        /// How many.
        ranks: u64,
    },
    /// More steps than a plan may have.
    TooManySteps {
        /// How many.
        steps: u64,
    },
    /// A product that does not fit in 64 bits.
    Overflow {
        /// Of what.
        what: String,
        /// Its factors.
        factors: [u64; 2],
    },
}

impl TemplateError {
    /// What was found, in words.
    pub fn found(&self) -> String {
        match self {
            Self::Indivisible { what, elements, ranks } => {
                format!("{what} of {elements}, over {ranks} ranks")
            }
            Self::Zero { what } => format!("{what} of 0"),
            Self::NoLayers => String::from("no layers"),
            Self::TooFew { what, found, .. } => format!("{found} {what}"),
            Self::Devices { devices, ranks } => format!("{devices} devices for {ranks} ranks"),
            Self::Mesh(error) => error.to_string(),
            Self::MeshSize { mesh, ranks } => {
                format!("a mesh of {mesh} ranks, where {ranks} ranks are said")
            }
            Self::Axis { found, .. } => found.clone(),
            Self::NotFloat { what, dtype } => format!("{what} in {dtype}"),
            Self::TooManyRanks { ranks } => format!("{ranks} ranks"),
            Self::TooManySteps { steps } => format!("{steps} steps"),
            Self::Overflow { what, factors: [one, other] } => {
                format!("{what}, which is {one} times {other}")
            }
        }
    }

    /// What would have made a plan, in words.
    pub fn expected(&self) -> String {
        match self {
            Self::Indivisible { elements, ranks, .. } => {
                let over = elements.checked_rem(*ranks).unwrap_or(0);
                let below = elements.saturating_sub(over);
                let above = below.saturating_add(*ranks);
                match below {
                    0 => format!("a number that {ranks} divides, such as {above}"),
                    _ => format!("a number that {ranks} divides, such as {below} or {above}"),
                }
            }
            Self::Zero { .. } => String::from("at least 1"),
            Self::NoLayers => String::from("the elements of at least one"),
            Self::TooFew { needed, .. } => format!("at least {needed}"),
            Self::Devices { .. } => String::from("one for each rank"),
            Self::Mesh(_) => String::from("axes that make a mesh"),
            Self::MeshSize { .. } => String::from("one of them, or both alike"),
            Self::Axis { expected, .. } => expected.clone(),
            Self::NotFloat { .. } => String::from("a float type, such as bf16 or f32"),
            Self::TooManyRanks { .. } => format!("at most {}", limits::RANKS),
            Self::TooManySteps { .. } => format!("at most {}", limits::STEPS),
            Self::Overflow { .. } => String::from("a product below 2^64"),
        }
    }
}

impl fmt::Display for TemplateError {
    /// `found layer 1 of 1001, over 4 ranks, expected a number that 4 divides, …`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found {}, expected {}", self.found(), self.expected())
    }
}

impl core::error::Error for TemplateError {}

impl From<MeshError> for TemplateError {
    fn from(error: MeshError) -> Self {
        Self::Mesh(error)
    }
}

/// A product, or both its factors.
pub(super) fn product(what: &str, one: u64, other: u64) -> Result<u64, TemplateError> {
    one.checked_mul(other)
        .ok_or_else(|| TemplateError::Overflow { what: String::from(what), factors: [one, other] })
}

/// Each rank's part of so many elements.
pub(super) fn divided(what: &str, elements: u64, ranks: u64) -> Result<u64, TemplateError> {
    if elements == 0 {
        return Err(TemplateError::Zero { what: String::from(what) });
    }
    match (elements.checked_rem(ranks), elements.checked_div(ranks)) {
        (Some(0), Some(part)) => Ok(part),
        _ => {
            let what = String::from(what);
            Err(TemplateError::Indivisible { what, elements, ranks })
        }
    }
}
