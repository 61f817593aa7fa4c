// order.h: the memory orders of the queues, named by what the proofs need of them.
//
// Two facts have to travel between lanes:
//
//   payload   what a lane wrote before it enqueued a value, to the lane that dequeues the value. It travels
//             from release_payload() (before the access that installs the value) to acquire_payload() (after
//             the access that found it). Every lane executes both: a fence by the wave's leader would order
//             the leader alone.
//   tickets   what an operation knew when it moved a counter, to whoever sees the counter moved. EMPTY and the
//             check of unsafe slots rest on it.
//
// C11 orders state both, and the CPU and the simulator use them. On GPUs tickets are relaxed: a returned
// atomic has been performed in L2, the one place where all lanes of the device meet; a load whose address or
// branch depends on it is issued after it (GPUs do not speculate); and relaxed device-scope loads are answered
// by L2. An acq_rel order there would cost a fence for every ticket.
#pragma once
#include "platform/platform.h"

namespace rq {

// Bugs to plant in a test's build, by -DRQ_PLANT=name, to see that the judges catch them; none in what ships.
enum class Plant {
    none,
    relaxed_install,    // payload is not released
    relaxed_take,       // payload is not acquired
    dropped_ticket,     // a dequeuer leaves without closing its slot
    raw_comparison,     // laps are compared as if they never wrapped
    reused_ticket,      // a slow add that failed counts as made
    closed_is_done,     // a slow enqueuer takes a slot closed in its lap for its own success
    stale_note,         // slow enqueuers forget which tickets were given up
    owner_says_empty,   // a slow dequeuer overlooks a value whose enq bit is not set yet
    missing_commit,     // a claimed cell never gets its value from those who close it
};
#ifndef RQ_PLANT
#define RQ_PLANT none
#endif
template <Plant P> constexpr bool planted = P == Plant::RQ_PLANT && P != Plant::none;

#if RQ_TARGET_CUDA || RQ_TARGET_HIP
constexpr Order ticket_rmw = Order::relaxed;
constexpr Order ticket_load = Order::relaxed;
#else
constexpr Order ticket_rmw = Order::acq_rel;
constexpr Order ticket_load = Order::acquire;
#endif

#if RQ_TARGET_CPU
// On the accesses themselves: free on x86, and ThreadSanitizer understands it (it does not see fences).
constexpr Order slot_install = planted<Plant::relaxed_install> ? Order::relaxed : Order::release;
constexpr Order slot_take = planted<Plant::relaxed_take> ? Order::relaxed : Order::acquire;
RQ_INLINE void release_payload() {}
RQ_INLINE void acquire_payload() {}
#else
// One fence for the whole wave instead of one for each access.
constexpr Order slot_install = Order::relaxed;
constexpr Order slot_take = Order::relaxed;
RQ_INLINE void release_payload() {
    if (!planted<Plant::relaxed_install>) fence<Order::release>();
}
RQ_INLINE void acquire_payload() {
    if (!planted<Plant::relaxed_take>) fence<Order::acquire>();
}
#endif

}  // namespace rq
