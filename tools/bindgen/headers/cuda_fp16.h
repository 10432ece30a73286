/* nccl.h includes this and takes nothing from it. */
#pragma once
