// platform.h: one kernel dialect for CUDA, HIP, the CPU and the simulator.
//
// Everything that differs between vendors is in the four headers included here; the rest of kernels/ is
// plain C++17 on top of the functions they all define. NVRTC and hipRTC compile from memory without any
// system header, so there is none, and the types below are our own.
//
// What every target header defines (namespace rq):
//   thread_in_block block_index block_threads block_count         where this lane is
//   wave_size wave_lane wave_ballot wave_rank wave_broadcast wave_sync active_lanes
//   atomic_load atomic_store atomic_add atomic_or atomic_and atomic_exchange atomic_cas  (u32 and u64)
//   on_chip_cas                                                   in shared memory
//   plain_load plain_store                                        payload that a queue publishes
//   fence spin_hint device_ticks device_cycles block_barrier shared_memory
//   load_constant prefetch                                        from memory that no launch writes; a hint
//   sqrt_exact reciprocal divide fma                              one IEEE rounding each, on every target
#pragma once

#if defined(RQ_SIM)
#define RQ_TARGET_SIM 1
#elif defined(__CUDACC_RTC__) || defined(__CUDACC__)
#define RQ_TARGET_CUDA 1
#elif defined(__HIPCC_RTC__) || defined(__HIP__) || defined(__HIPCC__)
#define RQ_TARGET_HIP 1
#else
#define RQ_TARGET_CPU 1
#endif

namespace rq {

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
static_assert(sizeof(u8) == 1 && sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "integer widths");

// One bit a lane, bit i for lane i; waves have at most 64 lanes.
typedef u64 LaneMask;

// Memory order of an atomic or fence, as in C11. seq_cst is offered by fences alone.
enum class Order { relaxed, acquire, release, acq_rel, seq_cst };
// Who must see it: the lanes of this block (what others wrote is then seen late), or every lane of the device.
enum class Scope { block, device };

// 16 bytes that a lane moves in one access.
struct alignas(16) Quad {
    u32 x, y, z, w;
};

struct alignas(16) Float4 {
    float x, y, z, w;
};

}  // namespace rq

#if RQ_TARGET_CUDA
#include "platform/cuda.h"
#elif RQ_TARGET_HIP
#include "platform/hip.h"
#elif RQ_TARGET_SIM
#include "platform/sim.h"
#else
#include "platform/cpu.h"
#endif

#include "platform/common.h"
#include "platform/counted.h"
