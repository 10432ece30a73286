//! What the loaded NCCL does on a device.

use nccl_sys::function;
use rankwise_comm::{Capabilities, DtypeSet, FoldOrder};
use rankwise_model::{Dtype, GroupSize, OperationKind, Reduction};

use crate::device::Device;
use crate::library::Nccl;

const FP8: [Dtype; 2] = [Dtype::F8E4M3, Dtype::F8E5M2];

/// The releases that brought what not every NCCL has.
const FP8_SINCE: u32 = 22_400;
const AVG_AND_BF16_SINCE: u32 = 21_000;

/// What this NCCL does, on this device, for so many ranks.
///
/// Functions are asked for by name; what the types may be follows from the release and
/// the device (NCCL's release notes; `ncclInvalidArgument` otherwise). Peers may be on
/// older devices than this one: an fp8 reduction is then still refused by NCCL.
pub(crate) fn capabilities(nccl: Nccl, device: &Device, ranks: GroupSize) -> Capabilities {
    let release = nccl.version().code();
    let mut moved = DtypeSet::all();
    if release < FP8_SINCE {
        moved = FP8.into_iter().fold(moved, DtypeSet::without);
    }
    if release < AVG_AND_BF16_SINCE {
        moved = moved.without(Dtype::Bf16);
    }
    // fp8 is reduced from Hopper on.
    let mut reduced = moved;
    if device.compute_capability < (9, 0) {
        reduced = FP8.into_iter().fold(reduced, DtypeSet::without);
    }
    // With one rank a scaled sum is a kernel of its own, which has no fp8.
    let mut scaled = reduced;
    if ranks.get() == 1 {
        scaled = FP8.into_iter().fold(scaled, DtypeSet::without);
    }

    let library = nccl.library();
    let there = [
        (OperationKind::AllReduce, function!(library, ncclAllReduce).is_ok()),
        (OperationKind::Reduce, function!(library, ncclReduce).is_ok()),
        (OperationKind::Broadcast, function!(library, ncclBroadcast).is_ok()),
        (OperationKind::AllGather, function!(library, ncclAllGather).is_ok()),
        (OperationKind::ReduceScatter, function!(library, ncclReduceScatter).is_ok()),
        (OperationKind::AllToAll, function!(library, ncclAlltoAll).is_ok()),
        (OperationKind::Gather, function!(library, ncclGather).is_ok()),
        (OperationKind::Scatter, function!(library, ncclScatter).is_ok()),
        (
            OperationKind::Message,
            function!(library, ncclSend).is_ok() && function!(library, ncclRecv).is_ok(),
        ),
    ];
    let none = Capabilities::none(nccl.backend(), FoldOrder::Unspecified);
    // A wrong call never reaches the library, so it is the group that must fail as there.
    let mut capable = there
        .into_iter()
        .filter(|(_, is_there)| *is_there)
        .fold(none.with_poisoned_groups(), |capable, (kind, _)| capable.with(kind, moved));

    for reduction in [Reduction::Sum, Reduction::Prod, Reduction::Max, Reduction::Min] {
        capable = capable.with_reduction(reduction, reduced);
    }
    if release >= AVG_AND_BF16_SINCE {
        capable = capable.with_reduction(Reduction::Avg, scaled);
    }
    if function!(library, ncclRedOpCreatePreMulSum).is_ok() {
        capable = capable.with_reduction(Reduction::PreMulSum, scaled);
    }
    if function!(library, ncclCommSplit).is_ok() {
        capable = capable.with_splits();
    }
    capable
}
