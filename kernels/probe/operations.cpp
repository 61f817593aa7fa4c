// operations.cpp: one kernel for each operation of the platform and each idiom of the queues that orders memory, so
// that tools/check-nvidia.sh and tools/check-amd.sh can compare what compilers make of it with docs/memory-model.md.
#include "queue/queue.h"

namespace rq {

// A kernel `op_NAME` that does one thing to word 0 and leaves what it found, if anything, in word 1.
#define RQ_FINDS(name, expression) \
    RQ_KERNEL(op_##name, ProbeParams) { p.slots[1] = (u64)(expression); }
#define RQ_DOES(name, statement) \
    RQ_KERNEL(op_##name, ProbeParams) { statement; }
// Between a store and a load, without which a fence may go.
#define RQ_FENCES(order)                            \
    RQ_KERNEL(op_fence_##order, ProbeParams) {      \
        plain_store(p.slots, p.count);              \
        fence<Order::order>();                      \
        p.slots[1] = plain_load(p.slots + 2);       \
    }

RQ_FINDS(load_relaxed, atomic_load(p.slots))
RQ_FINDS(load_acquire, atomic_load<Order::acquire>(p.slots))
RQ_DOES(store_relaxed, atomic_store(p.slots, p.count))
RQ_DOES(store_release, atomic_store<Order::release>(p.slots, p.count))

RQ_FINDS(add_relaxed, atomic_add(p.slots, p.count))
RQ_FINDS(add_acquire, atomic_add<Order::acquire>(p.slots, p.count))
RQ_FINDS(add_release, atomic_add<Order::release>(p.slots, p.count))
RQ_FINDS(add_acq_rel, atomic_add<Order::acq_rel>(p.slots, p.count))
RQ_FINDS(or_acq_rel, atomic_or<Order::acq_rel>(p.slots, p.count))
RQ_FINDS(and_acq_rel, atomic_and<Order::acq_rel>(p.slots, p.count))
RQ_FINDS(max_acq_rel, atomic_max<Order::acq_rel>(p.slots, p.count))
RQ_FINDS(exchange_acq_rel, atomic_exchange<Order::acq_rel>(p.slots, p.count))
RQ_FINDS(cas_relaxed, atomic_cas(p.slots, p.count, (u64)7))
RQ_FINDS(cas_acquire, atomic_cas<Order::acquire>(p.slots, p.count, (u64)7))
RQ_FINDS(cas_release, atomic_cas<Order::release>(p.slots, p.count, (u64)7))
RQ_FINDS(cas_acq_rel, atomic_cas<Order::acq_rel>(p.slots, p.count, (u64)7))
RQ_DOES(reduce_add, reduce_add(p.slots, p.count))
RQ_DOES(reduce_or, reduce_or<Order::relaxed>(p.slots, p.count))
RQ_DOES(reduce_max, reduce_max<Order::relaxed>(p.slots, p.count))

RQ_FENCES(acquire)
RQ_FENCES(release)
RQ_FENCES(acq_rel)
RQ_FENCES(seq_cst)

RQ_FINDS(plain_load, plain_load(p.slots))
RQ_DOES(plain_store, plain_store(p.slots, p.count))

// A value's way: its payload before the slot, the slot before the payload (queue/order.h).
RQ_KERNEL(op_publish_payload, ProbeParams) {
    plain_store(p.slots, p.count);
    atomic_cas<slot_install>(p.slots + 2, (u64)0, (u64)1);
}
RQ_KERNEL(op_acquire_payload, ProbeParams) {
    if (atomic_load<slot_take>(p.slots + 2) == 0) return;
    acquire_payload();
    p.slots[1] = plain_load(p.slots);
}
// Tickets of a wave: one atomic, between two points where the wave's lanes order their memory.
RQ_KERNEL(op_tickets, ProbeParams) {
    const LaneMask wanting = wave_ballot(wave_lane() < p.count);
    if (wanting != 0) p.slots[2 + wave_lane()] = reserve_tickets(p.slots, wanting);
}

}  // namespace rq
