// lock_ring.h: the example of docs/adding-a-queue.md, a ring under a ticket lock. A wave takes the lock once for all
// its lanes. Blocking: a wave that stops while it has the lock stops everybody.
//
// Words: Tail, Head and the lock a line apart, then n slots.
#pragma once
#include "queue/queue.h"

namespace rq {

struct LockRing {
    struct Handle {
        u64 *words;
        u64 capacity;
    };
    struct Lane {
        Tally tally;
    };

    RQ_INLINE Handle at(const QueueSpace &s, u32 queue) { return Handle{s.words + queue * s.queue_words, s.capacity}; }
    RQ_INLINE Lane lane(const QueueSpace &, u32) { return Lane{}; }

    RQ_INLINE void initialise(const QueueSpace &s, u32 queue, u64 first, u64 step, u32 fill) {
        const Handle q = at(s, queue);
        for (u64 w = first; w < first_slot + q.capacity; w += step) {
            // Slot w - first_slot holds its own number, should it be filled; Tail and Head count from 0.
            const u64 value = w == 0 ? fill : w >= first_slot ? w - first_slot : 0;
            atomic_store(q.words + w, value);
        }
    }

    RQ_INLINE QueueStatus enqueue(Handle &q, Lane &l, bool want, u32 value) {
        const LaneMask wanting = wave_ballot(want);
        if (wanting == 0) return queue_idle;
        lock(q, l);
        const u64 end = atomic_load(tail(q)), room = q.capacity - (end - atomic_load(head(q)));
        const u64 rank = wave_rank(wanting);
        const bool fits = want && rank < room;
        if (fits) atomic_store(slot(q, end + rank), (u64)value);
        // Each lane releases what it wrote, the value's payload included; then one lane unlocks for all.
        release_payload();
        unlock(q, tail(q), end + min_of((u64)count_lanes(wanting), room));
        return fits ? queue_ok : want ? queue_full : queue_idle;
    }

    RQ_INLINE QueueStatus dequeue(Handle &q, Lane &l, bool want, u32 &value) {
        const LaneMask wanting = wave_ballot(want);
        if (wanting == 0) return queue_idle;
        lock(q, l);
        const u64 start = atomic_load(head(q)), length = atomic_load(tail(q)) - start;
        const u64 rank = wave_rank(wanting);
        const bool got = want && rank < length;
        if (got) value = (u32)atomic_load(slot(q, start + rank));
        unlock(q, head(q), start + min_of((u64)count_lanes(wanting), length));
        acquire_payload();
        return got ? queue_ok : want ? queue_empty : queue_idle;
    }

    RQ_INLINE u64 length(const Handle &q) {
        const i64 ahead = (i64)(atomic_load(tail(q)) - atomic_load(head(q)));
        return ahead < 0 ? 0 : min_of((u64)ahead, q.capacity);
    }

  private:
    static constexpr u64 first_slot = 3 * line_words;

    RQ_INLINE u64 *tail(const Handle &q) { return q.words; }
    RQ_INLINE u64 *head(const Handle &q) { return q.words + line_words; }
    RQ_INLINE u64 *next_turn(const Handle &q) { return q.words + 2 * line_words; }
    RQ_INLINE u64 *turn(const Handle &q) { return q.words + 2 * line_words + 1; }
    RQ_INLINE u64 *slot(const Handle &q, u64 ticket) { return q.words + first_slot + ticket % q.capacity; }

    // One lane waits for the wave's turn, and the others for that lane.
    RQ_INLINE void lock(Handle &q, Lane &l) {
        if (wave_lane() == 0) {
            const u64 mine = atomic_add<Order::acq_rel>(next_turn(q), (u64)1);
            while (atomic_load<Order::acquire>(turn(q)) != mine) {
                RQ_TALLY(l, spins);
                spin_hint();
            }
        }
        wave_sync();
    }

    // One lane moves the counter and gives the turn to the next wave, when all lanes are done.
    RQ_INLINE void unlock(Handle &q, u64 *counter, u64 moved) {
        wave_sync();
        if (wave_lane() == 0) {
            atomic_store(counter, moved);
            atomic_store<Order::release>(turn(q), atomic_load(turn(q)) + 1);
        }
    }
};

}  // namespace rq
