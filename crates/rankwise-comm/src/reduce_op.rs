//! A reduction as an argument of a call: with this rank's scalar, where it has one.

use rankwise_model::{Element, Reduction, Scalar};

/// The reduction of a call (`ncclRedOp_t`).
///
/// Every [`Reduction`] converts into one; a pre-multiplied sum is made by [`premul`],
/// since each rank brings its own scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReduceOp {
    reduction: Reduction,
    scalar: Option<Scalar>,
}

/// The pre-multiplied sum: `Σ kᵣ·xᵣ`, this rank's `k` being `scalar`.
///
/// ```
/// use rankwise_comm::premul;
/// use rankwise_model::Reduction;
///
/// assert_eq!(premul(0.25_f32).reduction(), Reduction::PreMulSum);
/// ```
pub fn premul<T: Element>(scalar: T) -> ReduceOp {
    ReduceOp { reduction: Reduction::PreMulSum, scalar: Some(Scalar::of(scalar)) }
}

impl ReduceOp {
    /// The pre-multiplied sum with a scalar whose type is known at run time.
    pub const fn premul_dyn(scalar: Scalar) -> Self {
        Self { reduction: Reduction::PreMulSum, scalar: Some(scalar) }
    }

    /// The reduction, on which all ranks must agree.
    pub const fn reduction(self) -> Reduction {
        self.reduction
    }

    /// This rank's scalar.
    pub const fn scalar(self) -> Option<Scalar> {
        self.scalar
    }
}

impl From<Reduction> for ReduceOp {
    fn from(reduction: Reduction) -> Self {
        Self { reduction, scalar: None }
    }
}
