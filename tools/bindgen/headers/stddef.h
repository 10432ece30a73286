/* All that nccl.h takes from the C library, for x86_64-unknown-linux-gnu. */
#pragma once
#define NULL ((void *)0)

typedef __SIZE_TYPE__ size_t;
