/* All that nccl.h takes from the C library, for x86_64-unknown-linux-gnu. */
#pragma once
#define INT_MAX __INT_MAX__
#define INT_MIN (-INT_MAX - 1)
