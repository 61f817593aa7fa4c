// queue.h: what every queue kind offers to kernels. One header a kind; RQ_QUEUE names the one in use.
//
// A kind is a struct with static functions:
//
//   struct Handle                     one queue: addresses and sizes, made by at()
//   struct Lane                       what a lane keeps during a launch, made by lane()
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

namespace rq {

enum QueueStatus : u32 {
    queue_ok = 0,         // the operation took effect
    queue_empty = 1,      // dequeue: at some instant within the call the queue held nothing
    queue_full = 2,       // enqueue: at some instant within the call no slot was free
    queue_busy = 3,       // non-waiting forms: the slot is in another lane's hands; nothing happened
    queue_exhausted = 4,  // gwfq-ymc: the segment pool is used up; nothing happened
    queue_idle = 5,       // this lane did not want anything
};

// One atomic add a wave: reserves a ticket for each lane of `wanting`, in lane order. All lanes call; the
// result is meaningful in the lanes of `wanting`, which must not be empty.
template <Order O = Order::relaxed> RQ_INLINE u64 reserve_tickets(u64 *counter, LaneMask wanting) {
    const u32 leader = first_lane(wanting);
    u64 base = 0;
    if (wave_lane() == leader) base = atomic_add<O>(counter, (u64)count_lanes(wanting));
    return wave_broadcast(base, leader) + wave_rank(wanting);
}

}  // namespace rq
