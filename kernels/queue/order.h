// order.h: the memory orders of the queues, named by what the proofs need of them.
//
// Two facts have to travel between lanes:
//
//   payload   what a lane wrote before it enqueued a value, to the lane that dequeues the value. It travels
//             from the access that installs the value (slot_install, release) to the one that finds it, with
//             acquire_payload() after it. Every lane executes both: an order by the wave's leader alone would
//             order the leader alone.
//   tickets   what an operation knew when it moved a counter, to whoever sees the counter moved. EMPTY and the
//             check of unsafe slots rest on it.
//
// C11 orders state both, and the CPU and the simulator use them. On GPUs tickets are relaxed: a returned
// atomic has been performed in L2, the one place where all lanes of the device meet; a load whose address or
// branch depends on it is issued after it (GPUs do not speculate); and relaxed device-scope loads are answered
// by L2. An acq_rel order there would cost a fence for every ticket.
//
// A program whose values mean nothing but themselves says RQ_NO_PAYLOAD before it includes a queue, and is spared the
// first where it costs anything: value and lap are one word.
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

// (A test build asks for the same, so that ThreadSanitizer judges the payload by its own edges alone.)
#if RQ_TARGET_CUDA || RQ_TARGET_HIP || defined(RQ_TEST_RELAXED_TICKETS)
constexpr Order ticket_rmw = Order::relaxed;
constexpr Order ticket_load = Order::relaxed;
#else
constexpr Order ticket_rmw = Order::acq_rel;
constexpr Order ticket_load = Order::acquire;
#endif

#if RQ_NO_PAYLOAD && !RQ_TARGET_CPU
constexpr bool has_payload = false;
#else
constexpr bool has_payload = true;
#endif

constexpr Order slot_install =
    has_payload && !planted<Plant::relaxed_install> ? Order::release : Order::relaxed;

#if RQ_TARGET_CPU
// On the access itself: free on x86, and ThreadSanitizer understands it (it does not see fences).
constexpr Order slot_take = planted<Plant::relaxed_take> ? Order::relaxed : Order::acquire;
RQ_INLINE void acquire_payload() {}
#else
// One fence a wave, after its lanes have looked as often as they need. On NVIDIA it empties the L1 cache, which
// the release on the install does not.
constexpr Order slot_take = Order::relaxed;
RQ_INLINE void acquire_payload() {
    if (has_payload && !planted<Plant::relaxed_take>) fence<Order::acquire>();
}
#endif

}  // namespace rq
