/* All that nccl.h takes from the CUDA runtime: two opaque handles and NULL.
 * With CUDA's own headers the output is the same, byte for byte. */
#pragma once
#include <stddef.h>

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
