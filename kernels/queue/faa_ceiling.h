// faa_ceiling.h: ticket adds and nothing else, one a wave: the rate that no queue with one word a side exceeds.
// It carries no values and orders no payload.
#pragma once
#include "queue/queue.h"

namespace rq {

struct FaaCeiling {
    struct Handle {
        u64 *words;
    };
    struct Lane {
        Tally tally;
    };

    RQ_INLINE Handle at(const QueueSpace &s, u32 queue) { return Handle{s.words + queue * s.queue_words}; }
    RQ_INLINE Lane lane(const QueueSpace &, u32) { return Lane{}; }
    RQ_INLINE void initialise(const QueueSpace &s, u32 queue, u64 first, u64 step, u32 fill) {
        for (u64 w = first; w < 2 * line_words; w += step)
            atomic_store(s.words + queue * s.queue_words + w, (u64)(w == 0 ? fill : 0));
    }

    RQ_INLINE QueueStatus enqueue(Handle &q, Lane &, bool want, u32) {
        const LaneMask wanting = wave_ballot(want);
        if (wanting != 0) reserve_tickets(q.words, wanting);
        return want ? queue_ok : queue_idle;
    }
    RQ_INLINE QueueStatus dequeue(Handle &q, Lane &, bool want, u32 &value) {
        const LaneMask wanting = wave_ballot(want);
        if (wanting != 0) value = (u32)reserve_tickets(q.words + line_words, wanting);
        return want ? queue_ok : queue_idle;
    }
    RQ_INLINE u64 length(const Handle &q) {
        return atomic_load(q.words) - atomic_load(q.words + line_words);
    }
};

}  // namespace rq
