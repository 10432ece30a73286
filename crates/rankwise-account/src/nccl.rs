//! The names that NCCL gives to a call and to its count argument.
//!
//! What the count counts, and how long the buffers are, is the operation's
//! [`Row`](rankwise_model::Row): read it there.

use rankwise_model::OperationKind;

/// One function of `nccl.h` (2.32.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NcclCall {
    /// The function.
    pub function: &'static str,
    /// Its one count parameter, in elements.
    pub count: &'static str,
}

impl NcclCall {
    /// The functions that carry out an operation: two for a message, one per side,
    /// and two for a broadcast (`ncclBcast` is the same with one buffer).
    ///
    /// ```
    /// use rankwise_account::NcclCall;
    /// use rankwise_model::{CountMeaning, OperationKind};
    ///
    /// let operation = OperationKind::ReduceScatter;
    /// assert_eq!(NcclCall::of(operation)[0].count, "recvcount");
    /// assert_eq!(operation.row().count, CountMeaning::Shard);
    /// ```
    pub const fn of(operation: OperationKind) -> &'static [Self] {
        const fn call(function: &'static str, count: &'static str) -> NcclCall {
            NcclCall { function, count }
        }
        match operation {
            OperationKind::AllReduce => const { &[call("ncclAllReduce", "count")] },
            OperationKind::Reduce => const { &[call("ncclReduce", "count")] },
            OperationKind::Broadcast => {
                const { &[call("ncclBroadcast", "count"), call("ncclBcast", "count")] }
            }
            OperationKind::AllGather => const { &[call("ncclAllGather", "sendcount")] },
            OperationKind::ReduceScatter => const { &[call("ncclReduceScatter", "recvcount")] },
            OperationKind::AllToAll => const { &[call("ncclAlltoAll", "count")] },
            OperationKind::Gather => const { &[call("ncclGather", "count")] },
            OperationKind::Scatter => const { &[call("ncclScatter", "count")] },
            OperationKind::Message => {
                const { &[call("ncclSend", "count"), call("ncclRecv", "count")] }
            }
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_call() {
        for operation in OperationKind::ALL {
            assert!(!NcclCall::of(operation).is_empty(), "{operation}");
        }
    }
}
