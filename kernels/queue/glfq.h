// glfq.h: G-LFQ, a lock-free FIFO ring of indices after Nikolaev's SCQ (DISC'19), for waves of lanes.
//
// 2n slots hold at most n live indices below n. Tail and Head count tickets; ticket T belongs to slot T mod 2n
// in lap T div 2n. An enqueuer installs its index in the slot of its ticket if the slot's lap is older, the
// slot is free, and no dequeuer can have gone by. A dequeuer takes the index it finds in its own lap; else it
// closes the slot for its lap, or marks an older occupant's slot unsafe, so that the enqueuer of the same
// ticket will see that it came too late. `threshold` bounds the failing dequeues after the last enqueue:
// below zero the queue is empty, whatever the counters say.
//
// For waves: one add reserves the tickets of all lanes; dequeuers first look at Tail - Head and reserve no
// more than that, so an empty or nearly empty queue burns no tickets; failing lanes lower the threshold by one
// add; one lane catches Tail up for all. Loops are uniform: no lane spins while another waits for it.
//
// A slot is one word: its lap's first ticket with the index in the low bits, doubled, and the `safe` bit
// lowest. An index of all ones is BOTTOM: the slot is free. So consuming is one OR, which cannot fail. Laps
// are compared serially, which leaves 2^62 tickets between the oldest actor and the newest.
#pragma once
#include "queue/queue.h"

namespace rq {

// `Batched` false: one ticket add a lane, to measure what batching is worth.
template <bool Batched> struct GlfqRing {
    struct Handle {
        u64 *words;
        u64 mask;   // 2n - 1
        u64 fresh;  // the threshold after an enqueue
    };
    struct Lane {
        Tally tally;
    };

    RQ_INLINE u64 *tail(const Handle &q) { return q.words; }
    RQ_INLINE u64 *head(const Handle &q) { return q.words + line_words; }
    RQ_INLINE u64 *threshold(const Handle &q) { return q.words + 2 * line_words; }
    RQ_INLINE u64 *slot(const Handle &q, u64 ticket) { return q.words + first_slot + (ticket & q.mask); }

    RQ_INLINE u64 bottom(const Handle &q) { return q.mask << 1; }
    RQ_INLINE u64 lap(const Handle &q, u64 ticket) { return (ticket & ~q.mask) << 1; }
    RQ_INLINE u64 lap_of(const Handle &q, u64 word) { return word & ~(2 * q.mask + 1); }
    // Laps from the ticket's to the slot's, in units that only have a sign.
    RQ_INLINE i64 age(const Handle &q, u64 word, u64 ticket) { return (i64)(lap_of(q, word) - lap(q, ticket)); }
    RQ_INLINE bool is_free(const Handle &q, u64 word) { return (word & bottom(q)) == bottom(q); }

    static constexpr u64 first_slot = 3 * line_words;
    static constexpr u64 safe = 1;
    // The threshold word is biased, so that an unsigned maximum can raise it.
    static constexpr u64 threshold_zero = 1ull << 32;

    RQ_INLINE Handle at(const QueueSpace &s, u32 queue) {
        // SCQ's 3n - 1 = 2n slots to pass + n - 1 other dequeuers, each of which may be about to fail once.
        const u64 n = s.capacity, dequeuers = max_of(n, (u64)s.lanes);
        return Handle{s.words + queue * s.queue_words, 2 * n - 1, threshold_zero + 2 * n + dequeuers - 1};
    }
    RQ_INLINE Lane lane(const QueueSpace &, u32) { return Lane{}; }

    RQ_INLINE void initialise(const QueueSpace &s, u32 queue, u64 first, u64 step, u32 fill) {
        const Handle q = at(s, queue);
        const u64 start = s.first_ticket & ~q.mask, slots = q.mask + 1;
        for (u64 w = first; w < first_slot + slots; w += step) {
            u64 value = 0;
            if (w == 0) value = start + fill;
            if (w == line_words) value = start;
            if (w == 2 * line_words) value = fill > 0 ? q.fresh : threshold_zero - 1;
            if (w >= first_slot) {
                const u64 j = w - first_slot;
                value = j < fill ? lap(q, start) | j << 1 | safe : lap(q, start - slots) | bottom(q) | safe;
            }
            atomic_store(q.words + w, value);
        }
    }

    // Lock-free: a ticket comes to nothing only when dequeuers went by, or when its slot's occupant of an older
    // lap has not left yet, which at most n slots of 2n can have.
    RQ_INLINE QueueStatus enqueue(Handle &q, Lane &l, bool want, u32 value) {
        const QueueStatus status = want ? queue_ok : queue_idle;
        LaneMask todo = wave_ballot(want);
        if (todo == 0) return status;
        while (todo != 0) {
            u64 ticket = 0;
            if constexpr (Batched) ticket = reserve_tickets(tail(q), todo);
            else if (want) ticket = atomic_add<ticket_rmw>(tail(q), (u64)1);
            // Between the ticket and the slot, so that the fence and the add share their wait.
            release_payload();
            if (want) {
                want = !install(q, ticket, value);
                if (want) RQ_TALLY(l, retries);
            }
            todo = wave_ballot(want);
        }
        // After every slot, hence the sync. An atomic maximum and no look first: whoever lowers the threshold
        // after it has seen the slots (a look could miss a decrement), and nobody waits for its result.
        wave_sync();
        if (wave_lane() == 0) atomic_max<ticket_rmw>(threshold(q), q.fresh);
        wave_sync();
        return status;
    }

    // Lock-free: a turn of the loop ends with a value in some lane or with a lower threshold.
    RQ_INLINE QueueStatus dequeue(Handle &q, Lane &l, bool want, u32 &value) {
        QueueStatus status = want ? queue_empty : queue_idle;
        LaneMask wanting = wave_ballot(want);
        while (wanting != 0) {
            u64 ticket = 0;
            bool empty = false;
            const bool granted = reserve_head(q, wanting, want, ticket, empty);
            const bool got = granted && find(q, l, ticket, value);
            if (wave_any(got)) {
                acquire_payload();
                // Frees the slot, not the value: nobody waits for it, so it comes after the fence.
                if (got) atomic_or(slot(q, ticket), bottom(q));
            }
            if (got) status = queue_ok;
            const bool failed = granted && !got;
            if (wave_any(failed)) empty = settle(q, failed, ticket) || empty;
            want = want && !got && !empty;
            if (want && failed) RQ_TALLY(l, retries);
            wanting = wave_ballot(want);
        }
        return status;
    }

    RQ_INLINE u64 length(const Handle &q) {
        const i64 ahead = (i64)(atomic_load(tail(q)) - atomic_load(head(q)));
        const i64 capacity = (i64)(q.mask + 1) / 2;
        return ahead < 0 ? 0 : (u64)min_of(ahead, capacity);
    }

  private:
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
            if (age(q, word, ticket) >= 0 || !is_free(q, word)) return false;
            // Unsafe: the dequeuer of this very ticket may have gone by. Adding nothing instead of loading
            // orders this look against that dequeuer's own ticket, on paper too; the case is rare.
            if ((word & safe) == 0 && (i64)(atomic_add<ticket_rmw>(head(q), (u64)0) - ticket) > 0) return false;
        }
    }

    // Reserves a head ticket for each wanting lane that can hope for a value. `empty`: the queue held nothing.
    RQ_INLINE bool reserve_head(Handle &q, LaneMask wanting, bool want, u64 &ticket, bool &empty) {
        if constexpr (Batched) {
            const u32 leader = first_lane(wanting);
            u64 base = 0;
            u32 count = 0;
            wave_sync();
            if (wave_lane() == leader) {
                count = (u32)min_of(available(q), (u64)count_lanes(wanting));
                if (count > 0) base = atomic_add<ticket_rmw>(head(q), (u64)count);
            }
            base = wave_broadcast(base, leader);
            count = wave_broadcast(count, leader);
            wave_sync();
            ticket = base + wave_rank(wanting);
            empty = count == 0;
            return want && wave_rank(wanting) < count;
        } else {
            empty = want && available(q) == 0;
            if (want && !empty) ticket = atomic_add<ticket_rmw>(head(q), (u64)1);
            return want && !empty;
        }
    }

    // Tickets between Head and Tail; 0 if at some instant in this call the queue was empty.
    //
    // Every value below Tail whose ticket is below Head belongs to a dequeue that has started. So if Tail, read
    // after Head, is not above it, nothing is left that a dequeue starting now could get. The three first
    // loads are in flight together and give no order: only the second look at Tail decides.
    RQ_INLINE u64 available(const Handle &q) {
        const u64 limit = atomic_load<ticket_load>(threshold(q));
        const u64 first = atomic_load<ticket_load>(head(q));
        i64 ahead = (i64)(atomic_load<ticket_load>(tail(q)) - first);
        if (limit < threshold_zero) return 0;
        if (ahead <= 0) ahead = (i64)(atomic_load<ticket_load>(tail(q)) - first);
        return ahead <= 0 ? 0 : (u64)ahead;
    }

    // Finds the value of the ticket, or makes sure that its enqueuer will not succeed. A dequeuer must not drop
    // its ticket before that: the value would be stranded. The loop is bounded as in install().
    RQ_INLINE bool find(Handle &q, Lane &l, u64 ticket, u32 &value) {
        u64 *const place = slot(q, ticket);
        u64 word = atomic_load<slot_take>(place);
        for (;;) {
            if (age(q, word, ticket) == 0) {
                value = (u32)((word & bottom(q)) >> 1);
                return true;
            }
            if (age(q, word, ticket) > 0) return false;
            const u64 closed = is_free(q, word) ? lap(q, ticket) | bottom(q) | (word & safe) : word & ~safe;
            if (closed == word) return false;
            const u64 found = atomic_cas<slot_take>(place, word, closed);
            if (found == word) return false;
            word = found;
            RQ_TALLY(l, spins);
        }
    }

    // After a failed attempt: lowers the threshold once for each failing lane and says which lanes may call the
    // queue empty. One lane acts for the wave: the one with the largest ticket.
    RQ_INLINE bool settle(Handle &q, bool failed, u64 ticket) {
        const LaneMask failing = wave_ballot(failed);
        const u32 last = last_lane(failing);
        u64 end = 0, limit = 0;
        wave_sync();
        if (wave_lane() == last) {
            end = atomic_load<ticket_load>(tail(q));
            catch_up(q, end, ticket + 1);
            limit = atomic_add<ticket_rmw>(threshold(q), 0 - (u64)count_lanes(failing));
        }
        end = wave_broadcast(end, last);
        limit = wave_broadcast(limit, last) - wave_rank(failing);
        wave_sync();
        return failed && ((i64)(end - (ticket + 1)) <= 0 || limit <= threshold_zero);
    }

    // Spares enqueuers the tickets that dequeuers have passed. Never needed for correctness, so a few tries do.
    RQ_INLINE void catch_up(Handle &q, u64 end, u64 to) {
        for (u32 tries = 0; tries < 4 && (i64)(end - to) < 0; ++tries) {
            const u64 found = atomic_cas<ticket_rmw>(tail(q), end, to);
            if (found == end) return;
            end = found;
        }
    }
};

using Glfq = GlfqRing<true>;
using GlfqUnbatched = GlfqRing<false>;

}  // namespace rq
