// ring.h: what the index rings share: ticket counters, the threshold, and how a wave moves them together.
//
// Tail and Head count tickets; each is a word whose low `Shift` bits are the kind's own. `threshold` bounds the
// dequeue tickets that may come to nothing after the last enqueue: below zero the queue is empty, whatever the
// counters say. SCQ's bound is 3n - 1 = 2n slots to pass + n - 1 other dequeuers, each of which may be about to
// fail once; with more than n lanes on a queue it is 2n + lanes - 1. A larger one only delays EMPTY.
//
// For waves: one add reserves the tickets of all lanes; dequeuers look at Tail - Head first and reserve no more
// than that, so that an empty or nearly empty queue burns no tickets; failing lanes lower the threshold by one
// add; one lane catches Tail up for all. Loops are uniform: no lane spins while another waits for it.
#pragma once
#include "queue/queue.h"

namespace rq {

// `Kind` has meet(q, counter, word), called where a counter's own bits are found not zero. `Batched` false: one add a
// lane, to measure what batching is worth. A handle `q` has the address `words` of the queue.
template <class Kind, u32 Shift, bool Batched> struct RingCounters {
    template <class Q> RQ_INLINE u64 *tail(const Q &q) { return q.words; }
    template <class Q> RQ_INLINE u64 *head(const Q &q) { return q.words + line_words; }
    template <class Q> RQ_INLINE u64 *threshold(const Q &q) { return q.words + 2 * line_words; }

    static constexpr u64 counter_words = 3 * line_words;
    static constexpr u64 own_bits = (1ull << Shift) - 1;
    // The threshold word is biased, so that an unsigned maximum can raise it.
    static constexpr u64 threshold_zero = 1ull << 32;

    RQ_INLINE u64 threshold_after_enqueue(const QueueSpace &s, u32 lanes) {
        return threshold_zero + 2 * (u64)s.capacity + max_of(s.capacity, lanes) - 1;
    }
    RQ_INLINE u64 ticket_of(u64 word) { return word >> Shift; }
    RQ_INLINE u64 next(u64 ticket, u64 steps) { return (ticket + steps) << Shift >> Shift; }
    // Tickets from `b` to `a`, which may lie on both sides of a wrap.
    RQ_INLINE i64 distance(u64 a, u64 b) { return (i64)((a - b) << Shift) >> Shift; }

    // Reserves a tail ticket for each lane of `wanting`, in lane order. All lanes call.
    //
    // The add is the leader's: wave_sync() puts the other lanes' earlier accesses before it and their later
    // ones after it.
    template <class Q> RQ_INLINE u64 reserve_tail(Q &q, LaneMask wanting, bool want) {
        const u32 leader = first_lane(wanting);
        const u64 step = (Batched ? (u64)count_lanes(wanting) : 1) << Shift;
        u64 word = 0;
        wave_sync();
        u64 *const counter = Batched ? tail(q) : unbatched(tail(q));
        if (Batched ? wave_lane() == leader : want) word = atomic_add<ticket_rmw>(counter, step);
        meet_own_bits(q, tail(q), word, step);
        if (!Batched) return ticket_of(word);
        word = wave_broadcast(word, leader);
        wave_sync();
        return next(ticket_of(word), wave_rank(wanting));
    }

    // Reserves a head ticket for each wanting lane that can hope for a value; the others see the last one that
    // was reserved. `empty`: the queue held nothing. All lanes call.
    //
    // `sated`: the wave's last dequeue got all that it wanted, so this one does not look first. At worst it burns
    // tickets once, when the queue runs empty; in a busy queue it saves three loads of its busiest words.
    template <class Q>
    RQ_INLINE bool reserve_head(Q &q, LaneMask wanting, bool want, bool sated, u64 &ticket, bool &empty) {
        const u32 leader = first_lane(wanting);
        u64 word = 0;
        u32 count = 0;
        wave_sync();
        if (Batched ? wave_lane() == leader : want) {
            const u32 wanted = Batched ? count_lanes(wanting) : 1;
            count = sated ? wanted : (u32)min_of(available(q), (u64)wanted);
            u64 *const counter = Batched ? head(q) : unbatched(head(q));
            if (count > 0) word = atomic_add<ticket_rmw>(counter, (u64)count << Shift);
            meet_own_bits(q, head(q), word, (u64)count << Shift);
        }
        if (Batched) {
            word = wave_broadcast(word, leader);
            count = wave_broadcast(count, leader);
        }
        wave_sync();
        const u32 rank = Batched ? wave_rank(wanting) : 0;
        ticket = next(ticket_of(word), min_of(rank, max_of(count, 1u) - 1));
        empty = want && count == 0;
        return want && rank < count;
    }

    // Looks at a slot again for a moment while `is_open(word)`: free, and of an older lap than the dequeuer's ticket.
    // As a rule Tail was above that ticket, so its enqueuer is about to fill the slot; closing it now would cost
    // both of them another ticket, and in a nearly empty queue so on and on.
    template <class IsOpen> RQ_INLINE u64 await_fill(const u64 *place, u64 word, IsOpen is_open) {
        RQ_NO_UNROLL
        for (u32 look = 0; look < looks && is_open(word); ++look) word = atomic_load<slot_take>(place);
        return word;
    }
#if RQ_TARGET_SIM
    static constexpr u32 looks = 2;
#else
    static constexpr u32 looks = 64;
#endif

    // Tickets between Head and Tail; 0 if at some instant in this call the queue was empty.
    //
    // Every value whose ticket is below Head belongs to a dequeue that has started. So if Tail, read after Head,
    // is not above it, nothing is left for a dequeue that starts now. The first three loads are in flight
    // together and in no order: where they say empty, a second look at Tail decides.
    template <class Q> RQ_INLINE u64 available(const Q &q) {
        const u64 limit = atomic_load<ticket_load>(threshold(q));
        const u64 first = ticket_of(atomic_load<ticket_load>(head(q)));
        i64 ahead = distance(ticket_of(atomic_load<ticket_load>(tail(q))), first);
        if (limit < threshold_zero) return 0;
        if (ahead <= 0) ahead = distance(ticket_of(atomic_load<ticket_load>(tail(q))), first);
        return ahead <= 0 ? 0 : (u64)ahead;
    }

    // After enqueues: dequeuers may look for as long as they need to reach these slots. All lanes call.
    //
    // The sync puts every lane's slot before the maximum. A maximum and no look first: whoever lowers the
    // threshold after it has seen the slots (a look could miss a decrement), and nobody waits for its result.
    // So on a GPU it may take effect a moment after the enqueue has returned, but never after a release that
    // tells somebody of the enqueue.
    template <class Q> RQ_INLINE void raise_threshold(Q &q, u64 to) {
        wave_sync();
        if (wave_lane() == 0) reduce_max<ticket_rmw>(threshold(q), to);
        wave_sync();
    }

    // After a failed attempt: lowers the threshold once for each failing lane and says which lanes may call the
    // queue empty. All lanes call; the failing one with the largest ticket acts.
    template <class Q> RQ_INLINE bool settle(Q &q, bool failed, u64 ticket) {
        const LaneMask failing = wave_ballot(failed);
        const u32 last = last_lane(failing);
        u64 end = 0, limit = 0;
        wave_sync();
        if (wave_lane() == last) {
            end = atomic_load<ticket_load>(tail(q));
            catch_up(q, end, next(ticket, 1));
            limit = atomic_add<ticket_rmw>(threshold(q), 0 - (u64)count_lanes(failing));
        }
        end = wave_broadcast(end, last);
        limit = wave_broadcast(limit, last) - wave_rank(failing);
        wave_sync();
        return failed && (distance(ticket_of(end), next(ticket, 1)) <= 0 || limit <= threshold_zero);
    }

    // Spares enqueuers the tickets that dequeuers have passed. Never needed for correctness, so a few tries do.
    template <class Q> RQ_INLINE void catch_up(Q &q, u64 end, u64 to) {
        for (u32 tries = 0; tries < 4 && distance(ticket_of(end), to) < 0; ++tries) {
            const u64 found = atomic_cas<ticket_rmw>(tail(q), end, to << Shift | (end & own_bits));
            if (found == end) return;
            end = found;
        }
    }

    template <class Q> RQ_INLINE void meet_own_bits(Q &q, u64 *counter, u64 word, u64 added) {
        if constexpr (Shift > 0) {
            if ((word & own_bits) != 0) Kind::meet(q, counter, word + added);
        }
    }

    template <class Q> RQ_INLINE u64 length_within(const Q &q, u64 capacity) {
        const i64 ahead = distance(ticket_of(atomic_load(tail(q))), ticket_of(atomic_load(head(q))));
        return ahead < 0 ? 0 : min_of((u64)ahead, capacity);
    }
};

}  // namespace rq
