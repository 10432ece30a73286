//! What is exported.

use nccl_sys::{FUNCTIONS, LoadError, since};

use crate::machine::library;

/// All of the bindings, so that no program is stopped by a missing symbol.
#[test]
fn every_function_of_the_bindings_is_there() {
    /// Looks every symbol up, with the type that the bindings give it.
    macro_rules! look {
        ($($symbol:ident)*) => {
            [$((stringify!($symbol), nccl_sys::function!(library(), $symbol).map(drop)),)*]
        };
    }
    let looked = look! {
        ncclAllGather ncclAllGatherConfig ncclAllReduce ncclAllReduceConfig ncclAlltoAll
        ncclAlltoAllConfig ncclBcast ncclBroadcast ncclBroadcastConfig ncclCommAbort ncclCommCount
        ncclCommCuDevice ncclCommDeregister ncclCommDestroy ncclCommFinalize ncclCommGetAsyncError
        ncclCommGetUniqueId ncclCommGrow ncclCommInitAll ncclCommInitRank ncclCommInitRankConfig
        ncclCommInitRankScalable ncclCommMemStats ncclCommRegister ncclCommResume ncclCommRevoke
        ncclCommShrink ncclCommSplit ncclCommSuspend ncclCommUserRank ncclCommWindowDeregister
        ncclCommWindowRegister ncclGather ncclGatherConfig ncclGetErrorString ncclGetLastError
        ncclGetUniqueId ncclGetVersion ncclGroupEnd ncclGroupSimulateEnd ncclGroupStart
        ncclMemAlloc ncclMemFree ncclParamBind ncclParamDumpAll ncclParamGet
        ncclParamGetAllParameterKeys ncclParamGetI16 ncclParamGetI32 ncclParamGetI64
        ncclParamGetI8 ncclParamGetParameter ncclParamGetStr ncclParamGetU16 ncclParamGetU32
        ncclParamGetU64 ncclParamGetU8 ncclPutSignal ncclRecv ncclRedOpCreatePreMulSum
        ncclRedOpDestroy ncclReduce ncclReduceConfig ncclReduceScatter ncclReduceScatterConfig
        ncclScatter ncclScatterConfig ncclSend ncclSetEncryption ncclSignal ncclWaitSignal
        ncclWinGetUserPtr
    };
    assert_eq!(looked.len(), FUNCTIONS.len());
    for (symbol, found) in looked {
        assert!(since(symbol).is_some(), "{symbol}");
        assert_eq!(found.map_err(|missing: LoadError| missing.to_string()), Ok(()), "{symbol}");
    }
}

#[test]
fn it_says_that_it_is_no_nccl() {
    let words = library().stand_in();
    assert_eq!(words, Some("rankwise host-libnccl: NCCL on host memory, in one process"));
}
