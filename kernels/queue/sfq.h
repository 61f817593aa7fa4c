// sfq.h: SFQ, the ticket ring of Scogland and Feng (ICPE'15). Blocking: neither lock-free nor wait-free, and a
// lane that stops between its ticket and its slot stops everybody behind it.
//
// The waiting form of an operation takes a ticket by an add, one a lane as its authors do (compilers batch them),
// and waits for its turn (turn.h). It knows no EMPTY and no FULL. The non-waiting form looks first and takes the
// ticket by a compare-and-swap of the counter, so that it never waits and holds nothing when it returns; it
// answers queue_busy where another lane was faster a few times in a row or has not finished with the slot.
#pragma once
#include "queue/turn.h"

namespace rq {

template <bool Waiting> struct SfqRing : Turns {
    RQ_INLINE QueueStatus enqueue(Handle &q, Lane &l, bool want, u32 value) {
        if constexpr (Waiting) {
            u64 ticket = l.tail_ticket;
            if (want && !l.holds_tail) ticket = atomic_add<ticket_rmw>(tail(q), (u64)1);
            return fill_slot(q, l, want, ticket, value);
        } else {
            QueueStatus status = want ? queue_busy : queue_idle;
            for (u32 tries = 0; tries < max_tries && wave_any(status == queue_busy); ++tries)
                if (status == queue_busy) status = try_enqueue(q, l, value);
            return status;
        }
    }

    RQ_INLINE QueueStatus dequeue(Handle &q, Lane &l, bool want, u32 &value) {
        if constexpr (Waiting) {
            u64 ticket = l.head_ticket;
            if (want && !l.holds_head) ticket = atomic_add<ticket_rmw>(head(q), (u64)1);
            return empty_slot(q, l, want, ticket, value);
        } else {
            QueueStatus status = want ? queue_busy : queue_idle;
            for (u32 tries = 0; tries < max_tries && wave_any(status == queue_busy); ++tries)
                if (status == queue_busy) status = try_dequeue(q, l, value);
            acquire_payload();
            return status;
        }
    }

  private:
    static constexpr u32 max_tries = 8;

    RQ_INLINE QueueStatus try_enqueue(Handle &q, Lane &l, u32 value) {
        const u64 ticket = atomic_load<ticket_load>(tail(q));
        const u32 turn = turn_of(atomic_load<slot_take>(slot(q, ticket)));
        if (turn == fill_turn(q, ticket)) {
            if (atomic_cas<ticket_rmw>(tail(q), ticket, ticket + 1) == ticket) {
                atomic_store<slot_install>(slot(q, ticket), pack(turn + 1, value));
                return queue_ok;
            }
        } else if (ticket - atomic_load<ticket_load>(head(q)) == q.mask + 1) {
            return queue_full;
        }
        RQ_TALLY(l, retries);
        return queue_busy;
    }

    RQ_INLINE QueueStatus try_dequeue(Handle &q, Lane &l, u32 &value) {
        const u64 ticket = atomic_load<ticket_load>(head(q));
        const u64 word = atomic_load<slot_take>(slot(q, ticket));
        if (turn_of(word) == take_turn(q, ticket)) {
            if (atomic_cas<ticket_rmw>(head(q), ticket, ticket + 1) == ticket) {
                // Ours alone now, and the word that we read is still there.
                value = (u32)word;
                atomic_store(slot(q, ticket), pack(turn_of(word) + 1, 0));
                return queue_ok;
            }
        } else if (atomic_load<ticket_load>(tail(q)) == ticket) {
            return queue_empty;
        }
        RQ_TALLY(l, retries);
        return queue_busy;
    }
};

using Sfq = SfqRing<false>;
using SfqWaiting = SfqRing<true>;

}  // namespace rq
