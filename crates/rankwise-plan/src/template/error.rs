//! What parameters of a template cannot be.

use alloc::string::String;
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
    /// A product that does not fit in 64 bits.
    Overflow {
        /// Of what.
        what: String,
        /// Its factors.
        factors: [u64; 2],
    },
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Indivisible { what, elements, ranks } => {
                let over = elements.checked_rem(*ranks).unwrap_or(0);
                let missing = ranks.saturating_sub(over);
                write!(
                    f,
                    "{what}: {elements} elements do not divide over {ranks} ranks ({over} are \
                     over); give {} or {}",
                    elements.saturating_sub(over),
                    elements.saturating_add(missing)
                )
            }
            Self::Zero { what } => write!(f, "{what}: 0, and it must be at least 1"),
            Self::NoLayers => f.write_str("no layers: give the elements of at least one"),
            Self::TooFew { what, found, needed } => {
                write!(f, "{found} {what}, and the scheme needs at least {needed}")
            }
            Self::Devices { devices, ranks } => {
                write!(f, "{devices} devices for {ranks} ranks; name one for each rank")
            }
            Self::Mesh(error) => error.fmt(f),
            Self::MeshSize { mesh, ranks } => {
                write!(f, "a mesh of {mesh} ranks, where {ranks} ranks are said; give one of them")
            }
            Self::Axis { found, expected } => write!(f, "found {found}, expected {expected}"),
            Self::NotFloat { what, dtype } => {
                write!(f, "{what} in {dtype}: an average needs a float type, such as bf16 or f32")
            }
            Self::TooManyRanks { ranks } => {
                write!(f, "{ranks} ranks, and a plan has at most {}", limits::RANKS)
            }
            Self::Overflow { what, factors: [one, other] } => {
                write!(f, "{what}: {one} times {other} is 2^64 or more")
            }
        }
    }
}

impl core::error::Error for TemplateError {}

impl From<MeshError> for TemplateError {
    fn from(error: MeshError) -> Self {
        Self::Mesh(error)
    }
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
