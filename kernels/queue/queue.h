// queue.h: what every queue kind offers to kernels. One header a kind; select.h includes the one in use.
//
// A kind is a struct with static functions:
//
//   struct Handle                     one queue: addresses and sizes, made by at()
//   struct Lane                       what a lane keeps during a launch, made by lane(); has a Tally `tally`
//   Handle at(const QueueSpace &s, u32 queue)
//   Lane   lane(const QueueSpace &s, u32 lane_number)      lane_number < resident lanes of the launch
//   void   initialise(const QueueSpace &s, u32 queue, u64 first, u64 step, u32 fill)
//                                     writes words first, first + step, ... of one queue (and no others), so
//                                     that it holds 0 .. fill-1 in that order; called by an init kernel
//   QueueStatus enqueue(Handle &q, Lane &l, bool want, u32 value)
//   QueueStatus dequeue(Handle &q, Lane &l, bool want, u32 &value)
//   u64    length(const Handle &q)    a momentary estimate in 0 .. capacity, for choosing work, never for safety
//
// Rules. enqueue and dequeue are wave-collective: all lanes of the wave call them together, each with its own
// `want`; a lane that does not want gets queue_idle. Whatever a lane wrote (plain_store) before it enqueued a
// value is seen (plain_load) by the lane that dequeues it, on every target. A ring holds at most `capacity`
// live values: the raw forms rely on the caller for that (ray slots, vertices), the outer form answers
// queue_full.
#pragma once
#include "layout.h"
#include "queue/order.h"

namespace rq {

enum QueueStatus : u32 {
    queue_ok = 0,         // the operation took effect
    queue_empty = 1,      // dequeue: at some instant within the call the queue held nothing
    queue_full = 2,       // enqueue: at some instant within the call no slot was free
    queue_busy = 3,       // sfq, bwd: the slot is in another lane's hands; call again (turn.h), or do without (sfq)
    queue_exhausted = 4,  // gwfq-ymc: the segment pool is used up; nothing happened
    queue_idle = 5,       // this lane did not want anything
};

// What a lane counts when RQ_COUNTERS is defined; costs nothing otherwise.
#ifdef RQ_COUNTERS
struct Tally {
    u32 retries;  // attempts of an operation beyond its first
    u32 spins;    // polls of a slot or counter in another lane's hands
    u32 slow;     // operations that asked for help
    u32 helps;    // requests of peers that this lane worked on
};
#define RQ_TALLY(lane, what) (++(lane).tally.what)
#else
struct Tally {};
#define RQ_TALLY(lane, what) ((void)(lane))
#endif

// Words of 128 bytes, the cache line of NVIDIA's and AMD's L2: words that many lanes hammer live apart.
constexpr u64 line_words = 16;

// The highest lane of a mask, which must not be empty.
RQ_INLINE u32 last_lane(LaneMask mask) { return 63u - (u32)__builtin_clzll(mask); }

// The same address, in a way that no compiler sees to be the same in all lanes: NVIDIA's and AMD's batch the adds
// of a wave to one word by themselves. (No lane is above the highest.)
RQ_INLINE u64 *unbatched(u64 *counter) { return counter + wave_rank(1ull << (wave_size() - 1)); }

// One atomic add a wave: reserves a ticket for each lane of `wanting`, in lane order. All lanes call; the
// result is meaningful in the lanes of `wanting`, which must not be empty.
RQ_INLINE u64 reserve_tickets(u64 *counter, LaneMask wanting) {
    const u32 leader = first_lane(wanting);
    wave_sync();
    u64 base = 0;
    if (wave_lane() == leader) base = atomic_add<ticket_rmw>(counter, (u64)count_lanes(wanting));
    base = wave_broadcast(base, leader);
    wave_sync();
    return base + wave_rank(wanting);
}

}  // namespace rq
