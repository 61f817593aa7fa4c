// turn.h: ring slots that take turns, as SFQ and BWD use them. A ticket t may fill slot t mod n when the slot's
// turn is 2 (t div n) and leaves it at one more; the dequeue ticket t may empty it then, and adds one more.
// Turn and value share a word, so a slot changes hands in one store. Turns are 32 bits and wrap like tickets do.
//
// Who holds a ticket has to wait for its turn, that is for another lane: such queues block. All lanes of a wave
// poll together, so lanes that wait never keep the lanes they wait for from going on; after `polls` looks an
// operation returns queue_busy and its lane keeps the ticket, to go on waiting in its next call. So a wave whose
// lanes are producers and consumers cannot hang itself, and the caller's clock ends every wait.
#pragma once
#include "queue/queue.h"

namespace rq {

struct Turns {
    struct Handle {
        u64 *words;
        u64 mask;  // n - 1
        u32 order;
    };
    // What a lane waits for: a ticket of each side, kept from a call that returned queue_busy.
    struct Lane {
        u64 tail_ticket, head_ticket;
        bool holds_tail, holds_head;
        Tally tally;
    };

    RQ_INLINE Handle at(const QueueSpace &s, u32 queue) {
        return Handle{s.words + queue * s.queue_words, (u64)s.capacity - 1, s.order};
    }
    RQ_INLINE Lane lane(const QueueSpace &, u32) { return Lane{0, 0, false, false, Tally{}}; }

    RQ_INLINE void initialise(const QueueSpace &s, u32 queue, u64 first, u64 step, u32 fill) {
        const Handle q = at(s, queue);
        const u64 start = s.first_ticket & ~q.mask;
        for (u64 w = first; w < first_slot + s.capacity; w += step) {
            u64 value = 0;
            if (w == 0) value = start + fill;
            if (w == line_words) value = start;
            if (w == 2 * line_words) value = fill;
            if (w >= first_slot) {
                const u64 j = w - first_slot;
                value = pack(fill_turn(q, start) + (j < fill), (u32)j);
            }
            atomic_store(q.words + w, value);
        }
    }

    RQ_INLINE u64 length(const Handle &q) {
        const i64 ahead = (i64)(atomic_load(tail(q)) - atomic_load(head(q)));
        return ahead < 0 ? 0 : min_of((u64)ahead, q.mask + 1);
    }

    RQ_INLINE u64 *tail(const Handle &q) { return q.words; }
    RQ_INLINE u64 *head(const Handle &q) { return q.words + line_words; }
    RQ_INLINE u64 *count(const Handle &q) { return q.words + 2 * line_words; }  // BWD's
    RQ_INLINE u64 *slot(const Handle &q, u64 ticket) { return q.words + first_slot + (ticket & q.mask); }

    RQ_INLINE u32 fill_turn(const Handle &q, u64 ticket) { return (u32)(ticket >> q.order) * 2; }
    RQ_INLINE u32 take_turn(const Handle &q, u64 ticket) { return fill_turn(q, ticket) + 1; }
    RQ_INLINE u64 pack(u32 turn, u32 value) { return (u64)turn << 32 | value; }
    RQ_INLINE u32 turn_of(u64 word) { return (u32)(word >> 32); }

    // Waits until every wanting lane has filled the slot of its ticket, or for `polls` looks.
    RQ_INLINE QueueStatus fill_slot(Handle &q, Lane &l, bool want, u64 ticket, u32 value) {
        const QueueStatus status = want ? queue_ok : queue_idle;
        for (u32 poll = 0; wave_any(want); ++poll) {
            if (want && turn_of(atomic_load<slot_take>(slot(q, ticket))) == fill_turn(q, ticket)) {
                atomic_store<slot_install>(slot(q, ticket), pack(take_turn(q, ticket), value));
                want = false;
            }
            if (poll == polls) break;
            if (want) RQ_TALLY(l, spins);
            if (poll > 0) spin_hint();
        }
        l.tail_ticket = ticket;
        l.holds_tail = want;
        return want ? queue_busy : status;
    }

    // Waits until every wanting lane has emptied the slot of its ticket, or for `polls` looks.
    RQ_INLINE QueueStatus empty_slot(Handle &q, Lane &l, bool want, u64 ticket, u32 &value) {
        const QueueStatus status = want ? queue_ok : queue_idle;
        bool got = false;
        for (u32 poll = 0; wave_any(want); ++poll) {
            const u64 word = want ? atomic_load<slot_take>(slot(q, ticket)) : 0;
            if (want && turn_of(word) == take_turn(q, ticket)) {
                value = (u32)word;
                got = true;
                want = false;
            }
            if (poll == polls) break;
            if (want) RQ_TALLY(l, spins);
            if (poll > 0) spin_hint();
        }
        acquire_payload();
        if (got) atomic_store(slot(q, ticket), pack(take_turn(q, ticket) + 1, 0));
        l.head_ticket = ticket;
        l.holds_head = want;
        return want ? queue_busy : status;
    }

#if defined(RQ_TEST_POLLS)
    static constexpr u32 polls = RQ_TEST_POLLS;
#elif RQ_TARGET_CPU  // workers may be more than processors: the sooner one gives way the better
    static constexpr u32 polls = 1u << 8;
#else
    static constexpr u32 polls = 1u << 16;
#endif
    static constexpr u64 first_slot = 3 * line_words;
};

}  // namespace rq
