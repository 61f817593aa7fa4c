// workload.h: what the bench and the judge of queues have in common: the queue in its raw or its payload form,
// who plays which part, and who may put what in.
//
// balanced  every lane puts a value in and then takes one out, over and over.
// split     whole waves are producers or consumers, evenly mixed over the launch.
//
// Values come in two ways.
//
// slots      The raw form of an index ring names slots of the caller's: each number below the capacity is in one
//            place at a time, so the ring can never be full. Balanced lanes start with the slot of their own
//            number and hold on to what they take out. A split producer has slots of its own, number, number +
//            producers, ..; it marks one as out when it puts it in, and the consumer unmarks it. A producer whose
//            slots are all out has to wait: that is FULL in this form, for every kind alike.
// own items  Each value is new: `number`, `number` + lanes, .. The queue itself says FULL. Queues of payloads
//            (outer.h) have only this way.
#pragma once
#include "queue/select.h"
#if RQ_BENCH_OUTER
#include "queue/outer.h"
#endif

namespace rq {

#if RQ_BENCH_OUTER
typedef Outer<TheQueue, u64> BenchQueue;
typedef u64 BenchValue;
constexpr bool is_outer = true;
#else
typedef TheQueue BenchQueue;
typedef u32 BenchValue;
constexpr bool is_outer = false;
#endif

// The ceiling counts tickets and carries no values: what comes out is made up.
#if RQ_QUEUE_FAA
constexpr bool carries_values = false;
#else
constexpr bool carries_values = true;
#endif
// A dequeue waits for a value instead of saying EMPTY.
#if RQ_QUEUE_SFQ_WAITING
constexpr bool dequeue_waits = true;
#else
constexpr bool dequeue_waits = false;
#endif

// A lane's part. The same for all lanes of a wave, but for `number` and `active`.
struct Role {
    bool idle, puts, takes;
    bool active;  // else the lane only keeps its wave company
    u32 number;   // among all lanes, or among those of its part
    u32 peers;    // lanes that put values in
};

// Balanced: `producers` lanes, no consumers. Split: producers and consumers fill waves of their own.
RQ_INLINE Role role_of(const QueueRoles &r) {
    const u64 wave = global_wave(), width = wave_size();
    const u64 putting = (r.producers + width - 1) / width, taking = (r.consumers + width - 1) / width;
    const u64 waves = putting + taking;
    if (wave >= waves) return Role{true, false, false, false, 0, r.producers};
    const u64 producers_before = wave * putting / waves;
    const bool puts = (wave + 1) * putting / waves > producers_before;
    const u64 rank = puts ? producers_before : wave - producers_before;
    const u32 number = (u32)(rank * width) + wave_lane();
    return Role{false, puts, taking == 0 || !puts, number < (puts ? r.producers : r.consumers), number, r.producers};
}

RQ_INLINE bool is_split(const QueueRoles &r) { return r.consumers > 0; }

constexpr u32 no_slot = 0xffffffffu;

// What a lane would put in next.
struct Hand {
    BenchValue value;
    bool holds;
    // A split producer's own slots:
    u32 next;    // whose turn is next; no_slot: it has none
    u32 is_out;  // whether that one was out at the last look
};

RQ_INLINE Hand first_hand(const QueueRoles &r, const Role &role, bool slots, u32 capacity) {
    Hand hand{(BenchValue)role.number, role.active && role.puts, no_slot, 1};
    if (slots && carries_values) {
        hand.holds = hand.holds && !is_split(r) && role.number < capacity;
        if (is_split(r) && role.active && role.puts && role.number < capacity) hand.next = role.number, hand.is_out = 0;
    }
    return hand;
}

// A split producer takes up its next slot, if that is not out. The look at the one after it is answered while
// the caller goes on.
RQ_INLINE void draw_slot(Hand &hand, const Role &role, u32 *out, u32 capacity) {
    if (hand.holds || hand.next == no_slot) return;
    if (hand.is_out == 0) {
        hand.value = hand.next;
        hand.holds = true;
        atomic_store(out + hand.next, 1u);
        hand.next = hand.next + role.peers < capacity ? hand.next + role.peers : role.number;
    }
    hand.is_out = atomic_load<ticket_load>(out + hand.next);
}

}  // namespace rq
