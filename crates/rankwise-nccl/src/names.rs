//! NCCL's numbers for what the model names.

use nccl_sys::{ncclDataType_t, ncclRedOp_t};
use rankwise_model::{Dtype, Reduction};

/// NCCL's number for an element type; `None` for one that NCCL does not have.
pub(crate) const fn dtype(dtype: Dtype) -> Option<ncclDataType_t> {
    Some(match dtype {
        Dtype::I8 => ncclDataType_t::ncclInt8,
        Dtype::U8 => ncclDataType_t::ncclUint8,
        Dtype::I32 => ncclDataType_t::ncclInt32,
        Dtype::U32 => ncclDataType_t::ncclUint32,
        Dtype::I64 => ncclDataType_t::ncclInt64,
        Dtype::U64 => ncclDataType_t::ncclUint64,
        Dtype::F16 => ncclDataType_t::ncclFloat16,
        Dtype::Bf16 => ncclDataType_t::ncclBfloat16,
        Dtype::F32 => ncclDataType_t::ncclFloat32,
        Dtype::F64 => ncclDataType_t::ncclFloat64,
        Dtype::F8E4M3 => ncclDataType_t::ncclFloat8e4m3,
        Dtype::F8E5M2 => ncclDataType_t::ncclFloat8e5m2,
        _ => return None,
    })
}

/// NCCL's number for a reduction; `None` for one that is made at run time, or that NCCL
/// does not have.
pub(crate) const fn reduction(reduction: Reduction) -> Option<ncclRedOp_t> {
    Some(match reduction {
        Reduction::Sum => ncclRedOp_t::ncclSum,
        Reduction::Prod => ncclRedOp_t::ncclProd,
        Reduction::Max => ncclRedOp_t::ncclMax,
        Reduction::Min => ncclRedOp_t::ncclMin,
        Reduction::Avg => ncclRedOp_t::ncclAvg,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_header() {
        let number = |it: Dtype| dtype(it).map(|number| number.0);
        assert_eq!(number(Dtype::I8), Some(0));
        assert_eq!(number(Dtype::F32), Some(7));
        assert_eq!(number(Dtype::Bf16), Some(9));
        assert_eq!(number(Dtype::F8E5M2), Some(11));
        // The maximum comes first.
        assert_eq!(reduction(Reduction::Max).map(|number| number.0), Some(2));
        assert_eq!(reduction(Reduction::Min).map(|number| number.0), Some(3));
        assert_eq!(reduction(Reduction::PreMulSum), None);
    }
}
