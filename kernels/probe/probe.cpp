// probe.cpp: small kernels that use the platform's idioms one by one, so that tests can check what they do and
// what machine code they become.
#include "queue/queue.h"

namespace rq {

// A ticket for each of `count` lanes, with one atomic add a wave; each ticket marks its own slot.
RQ_KERNEL(probe_tickets, ProbeParams) {
    const Items items = my_items(p.count);
    for (u64 i = items.first;; i += items.step) {
        const bool want = i < items.end;
        const LaneMask wanting = wave_ballot(want);
        if (wanting == 0) break;
        const u64 ticket = reserve_tickets(p.counter, wanting);
        if (want) p.slots[ticket] = ticket + 1;
    }
}

// One 64-bit compare-and-swap an item: slot i goes from i to i + 7.
RQ_KERNEL(probe_cas, ProbeParams) {
    const Items items = my_items(p.count);
    for (u64 i = items.first; i < items.end; i += items.step)
        atomic_cas<Order::acq_rel>(p.slots + i, i, i + 7);
}

// Arithmetic with one rounding each, through on-chip memory.
RQ_KERNEL(probe_arithmetic, ProbeParams) {
    float *shared = shared_memory<float>();
    const Items items = my_items(p.count);
    for (u64 i = items.first; i < items.end; i += items.step) {
        shared[thread_in_block()] = p.values[i];
        const float v = shared[thread_in_block()];
        p.values[i] = fma(v, p.factor, divide(1.0f, v)) + sqrt_exact(v) * p.factor;
    }
}

}  // namespace rq
