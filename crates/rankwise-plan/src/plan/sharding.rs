//! How a tensor is shared out among the ranks of a group.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub use rankwise_account::Uneven;

use crate::error::Fault;

/// How a tensor is shared out among the ranks of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharding {
    /// The shape of the tensor, row-major; one axis with all elements if not said.
    pub shape: Option<Vec<u64>>,
    /// The axis that is divided, from 0.
    pub dim: usize,
    /// What is done where its length does not divide; then it must, if not said.
    pub uneven: Option<Uneven>,
    /// With [`Uneven::Pad`]: what the padding holds, as written.
    pub value: Option<String>,
}

/// What a sharding is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// To cut a rank's share out of the tensor.
    Share,
    /// To put the tensor together of all shares.
    Whole,
}

impl Sharding {
    /// That it is said completely and does not contradict itself.
    pub(crate) fn check(&self, has_dim: bool, wants: Wants) -> Result<(), (Fault, String, String)> {
        let refuse = |kind, found: &str, expected: &str| {
            Err((kind, found.to_string(), expected.to_string()))
        };
        match &self.shape {
            None if has_dim => {
                return refuse(Fault::Missing, "dim without shape", "the shape of the tensor");
            }
            None if wants == Wants::Whole => {
                return refuse(Fault::Missing, "no shape", "the shape of the whole tensor");
            }
            Some(_) if !has_dim => {
                return refuse(Fault::Missing, "shape without dim", "the axis that is divided");
            }
            Some(shape) if self.dim >= shape.len() => {
                let found = alloc::format!("dim {} of {} axes", self.dim, shape.len());
                return refuse(Fault::Contradiction, &found, "an axis of the shape, from 0");
            }
            _ => {}
        }
        match (self.uneven, &self.value, wants) {
            (Some(Uneven::Pad), None, Wants::Share) => {
                refuse(Fault::Missing, "uneven = \"pad\" without value", "what the padding holds")
            }
            (uneven, Some(_), _) if uneven != Some(Uneven::Pad) => {
                refuse(Fault::Contradiction, "a value", "no value without uneven = \"pad\"")
            }
            _ => Ok(()),
        }
    }
}
