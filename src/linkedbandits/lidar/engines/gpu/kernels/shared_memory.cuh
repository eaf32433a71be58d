// The memory that a block is launched with. Tests that run kernels on a CPU say otherwise where it is.
#pragma once

#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(type, name) extern __shared__ __align__(16) type name[]
#endif
