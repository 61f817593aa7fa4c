// glfq.h: G-LFQ, a lock-free FIFO ring of indices after Nikolaev's SCQ (DISC'19), for waves of lanes.
//
// 2n slots hold at most n live indices below n. Ticket T belongs to slot T mod 2n in lap T div 2n. An enqueuer
// installs its index in the slot of its ticket if the slot's lap is older, the slot is free, and no dequeuer
// can have gone by. A dequeuer takes the index it finds in its own lap; else it closes the slot for its lap, or
// marks an older occupant's slot unsafe, so that the enqueuer of the same ticket sees that it came too late.
// Counters, threshold and waves: ring.h.
//
// A slot is one word: its lap's first ticket with the index in the low bits, doubled, and the `safe` bit
// lowest. An index of all ones is BOTTOM: the slot is free. So consuming is one OR, which cannot fail. Laps
// are compared serially, which leaves 2^62 tickets between the oldest actor and the newest.
#pragma once
#include "queue/ring.h"

namespace rq {

template <bool Batched> struct GlfqRing : RingCounters<GlfqRing<Batched>, 0, Batched> {
    using Counters = RingCounters<GlfqRing<Batched>, 0, Batched>;
    struct Handle {
        u64 *words;
        u64 mask;   // 2n - 1
        u64 fresh;  // the threshold after an enqueue
    };
    struct Lane {
        Tally tally;
    };

    RQ_INLINE Handle at(const QueueSpace &s, u32 queue) {
        return Handle{s.words + queue * s.queue_words, 2 * (u64)s.capacity - 1,
                      Counters::threshold_after_enqueue(s, s.lanes)};
    }
    RQ_INLINE Lane lane(const QueueSpace &, u32) { return Lane{}; }

    RQ_INLINE void initialise(const QueueSpace &s, u32 queue, u64 first, u64 step, u32 fill) {
        const Handle q = at(s, queue);
        const u64 start = s.first_ticket & ~q.mask, slots = q.mask + 1;
        for (u64 w = first; w < first_slot + slots; w += step) {
            u64 value = 0;
            if (w == 0) value = start + fill;
            if (w == line_words) value = start;
            if (w == 2 * line_words) value = fill > 0 ? q.fresh : Counters::threshold_zero - 1;
            if (w >= first_slot) {
                const u64 j = w - first_slot;
                value = j < fill ? lap(q, start) | j << 1 | safe : lap(q, start - slots) | bottom(q) | safe;
            }
            atomic_store(q.words + w, value);
        }
    }

    // Lock-free: a ticket comes to nothing only when a dequeuer went by, or when its slot's occupant of an older
    // lap has not left yet, which fewer than n of the 2n slots can have.
    RQ_INLINE QueueStatus enqueue(Handle &q, Lane &l, bool want, u32 value) {
        const QueueStatus status = want ? queue_ok : queue_idle;
        LaneMask wanting = wave_ballot(want);
        if (wanting == 0) return status;
        while (wanting != 0) {
            const u64 ticket = Counters::reserve_tail(q, wanting, want);
            if (want) {
                want = !install(q, ticket, value);
                if (want) RQ_TALLY(l, retries);
            }
            wanting = wave_ballot(want);
        }
        Counters::raise_threshold(q, q.fresh);
        return status;
    }

    // Lock-free: a turn of the loop ends with a value in some lane, with a lower threshold, or for good.
    RQ_INLINE QueueStatus dequeue(Handle &q, Lane &l, bool want, u32 &value) {
        QueueStatus status = want ? queue_empty : queue_idle;
        LaneMask wanting = wave_ballot(want);
        while (wanting != 0) {
            u64 ticket = 0;
            bool empty = false;
            const bool granted = Counters::reserve_head(q, wanting, want, ticket, empty);
            const bool got = granted && find(q, l, ticket, value);
            if (wave_any(got)) {
                acquire_payload();
                // Frees the slot, not the value: nobody waits for it, so it comes after the fence.
                if (got) reduce_or<Order::relaxed>(slot(q, ticket), bottom(q));
            }
            if (got) status = queue_ok;
            const bool failed = granted && !got;
            if (wave_any(failed)) empty = Counters::settle(q, failed, ticket) || empty;
            want = want && !got && !empty;
            if (want && failed) RQ_TALLY(l, retries);
            wanting = wave_ballot(want);
        }
        return status;
    }

    RQ_INLINE u64 length(const Handle &q) { return Counters::length_within(q, (q.mask + 1) / 2); }

  private:
    static constexpr u64 first_slot = Counters::counter_words;
    static constexpr u64 safe = 1;

    RQ_INLINE u64 *slot(const Handle &q, u64 ticket) { return q.words + first_slot + (ticket & q.mask); }
    RQ_INLINE u64 bottom(const Handle &q) { return q.mask << 1; }
    RQ_INLINE u64 lap(const Handle &q, u64 ticket) { return (ticket & ~q.mask) << 1; }
    // The slot's lap less the ticket's, in a unit of which only the sign matters.
    RQ_INLINE i64 ahead(const Handle &q, u64 word, u64 ticket) {
        if (planted<Plant::raw_comparison>) return (i64)(word >> 2) - (i64)(lap(q, ticket) >> 2);
        return (i64)((word & ~(2 * q.mask + 1)) - lap(q, ticket));
    }
    RQ_INLINE bool is_free(const Handle &q, u64 word) { return (word & bottom(q)) == bottom(q); }

    // Puts the value into the slot of the ticket; false: the ticket came to nothing.
    //
    // The first guess, that the slot was last used in the lap before, spares a load in a busy ring. Each turn
    // of the loop after that answers a change of the slot by an operation of an older lap, of which each makes
    // at most two.
    RQ_INLINE bool install(Handle &q, u64 ticket, u32 value) {
        u64 *const place = slot(q, ticket);
        const u64 mine = lap(q, ticket) | (u64)value << 1 | safe;
        u64 word = lap(q, ticket - (q.mask + 1)) | bottom(q) | safe;
        for (;;) {
            const u64 found = atomic_cas<slot_install>(place, word, mine);
            if (found == word) return true;
            word = found;
            if (ahead(q, word, ticket) >= 0 || !is_free(q, word)) return false;
            // Unsafe: the dequeuer of this very ticket may have gone by. Adding nothing instead of loading
            // orders this look against that dequeuer's own ticket, on paper too; the case is rare.
            if ((word & safe) == 0 && (i64)(atomic_add<ticket_rmw>(Counters::head(q), (u64)0) - ticket) > 0)
                return false;
        }
    }

    // Finds the value of the ticket, or makes sure that its enqueuer will not succeed. A dequeuer must not drop
    // its ticket before that: the value would be stranded. The loop is bounded as in install().
    RQ_INLINE bool find(Handle &q, Lane &l, u64 ticket, u32 &value) {
        u64 *const place = slot(q, ticket);
        u64 word = atomic_load<slot_take>(place);
        for (;;) {
            if (ahead(q, word, ticket) == 0) {
                value = (u32)((word & bottom(q)) >> 1);
                return true;
            }
            if (ahead(q, word, ticket) > 0 || planted<Plant::dropped_ticket>) return false;
            const u64 closed = is_free(q, word) ? lap(q, ticket) | bottom(q) | (word & safe) : word & ~safe;
            if (closed == word) return false;
            const u64 found = atomic_cas<slot_take>(place, word, closed);
            if (found == word) return false;
            word = found;
            RQ_TALLY(l, retries);
        }
    }
};

using Glfq = GlfqRing<true>;
using GlfqUnbatched = GlfqRing<false>;

}  // namespace rq
