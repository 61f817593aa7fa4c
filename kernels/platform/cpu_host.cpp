// cpu_host.cpp: the one place where the CPU kernels keep their position; the host sets it before each block.
#include "platform/platform.h"

namespace rq {
extern "C" {
__thread CpuPlace rq_cpu_place;
}
}  // namespace rq

extern "C" void rq_cpu_enter(rq::u32 block, rq::u32 blocks, void *shared) {
    rq::rq_cpu_place = rq::CpuPlace{block, blocks, shared};
}
