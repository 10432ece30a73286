//! What NCCL's numbers mean.

use nccl_sys::{ncclDataType_t, ncclRedOp_t, ncclResult_t};
use rankwise_model::{Dtype, GroupSize, Rank, Reduction};

use crate::error::{Answer, refuse};

/// The element types in the order of their numbers.
const DTYPES: [Dtype; 12] = [
    Dtype::I8,
    Dtype::U8,
    Dtype::I32,
    Dtype::U32,
    Dtype::I64,
    Dtype::U64,
    Dtype::F16,
    Dtype::F32,
    Dtype::F64,
    Dtype::Bf16,
    Dtype::F8E4M3,
    Dtype::F8E5M2,
];

/// The reductions in the order of their numbers.
const REDUCTIONS: [Reduction; 5] =
    [Reduction::Sum, Reduction::Prod, Reduction::Max, Reduction::Min, Reduction::Avg];

pub(crate) fn dtype(what: &str, number: ncclDataType_t) -> Answer<Dtype> {
    let known = usize::try_from(number.0).ok().and_then(|at| DTYPES.get(at));
    let unknown = || {
        let why = format!("{what} : invalid type {}", number.0);
        refuse(ncclResult_t::ncclInvalidArgument, why)
    };
    known.copied().map_or_else(unknown, Ok)
}

/// A reduction that needs no scalar.
pub(crate) fn reduction(number: ncclRedOp_t) -> Option<Reduction> {
    usize::try_from(number.0).ok().and_then(|at| REDUCTIONS.get(at)).copied()
}

/// A root or a peer.
pub(crate) fn rank(what: &str, number: i32, ranks: GroupSize) -> Answer<Rank> {
    let known = u32::try_from(number).ok().and_then(|rank| ranks.rank(rank));
    let unknown = || {
        let why =
            format!("{what} : invalid root {number} (root should be in the 0..{ranks} range)");
        refuse(ncclResult_t::ncclInvalidArgument, why)
    };
    known.map_or_else(unknown, Ok)
}
