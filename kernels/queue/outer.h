// outer.h: a bounded queue of payloads from two index rings, as SCQ's authors build it: `free` starts full,
// `used` empty, and an index carries its payload's place from one to the other. Any index ring will do.
//
// An enqueuer draws a free index, writes the payload there and enqueues the index as used; a dequeuer the other
// way round. The rings order it: a payload is written before its index is used, and read before it is free
// again. FULL means that `free` was empty: a dequeuer that has not given its index back yet still holds it.
//
// Memory: 2 * queues ring stretches (queue k has rings 2k and 2k + 1), then `capacity` payloads for each queue.
#pragma once
#include "queue/queue.h"

namespace rq {

template <class Ring, class Payload> struct Outer {
    struct Handle {
        typename Ring::Handle free, used;
        Payload *payloads;
    };
    using Lane = typename Ring::Lane;

    // `s.queues` counts payload queues.
    RQ_INLINE Handle at(const QueueSpace &s, u32 queue) {
        Payload *const all = reinterpret_cast<Payload *>(s.words + 2 * (u64)s.queues * s.queue_words);
        return Handle{Ring::at(s, 2 * queue), Ring::at(s, 2 * queue + 1), all + (u64)queue * s.capacity};
    }
    RQ_INLINE Lane lane(const QueueSpace &s, u32 lane_number) { return Ring::lane(s, lane_number); }

    // Always empty: a payload cannot be made up.
    RQ_INLINE void initialise(const QueueSpace &s, u32 queue, u64 first, u64 step, u32) {
        Ring::initialise(s, 2 * queue, first, step, s.capacity);
        Ring::initialise(s, 2 * queue + 1, first, step, 0);
    }

    RQ_INLINE QueueStatus enqueue(Handle &q, Lane &l, bool want, const Payload &payload) {
        u32 index = 0;
        const QueueStatus drawn = Ring::dequeue(q.free, l, want, index);
        if (drawn == queue_ok) plain_store(q.payloads + index, payload);
        const QueueStatus put = Ring::enqueue(q.used, l, drawn == queue_ok, index);
        return drawn == queue_ok ? put : drawn == queue_empty ? queue_full : drawn;
    }

    RQ_INLINE QueueStatus dequeue(Handle &q, Lane &l, bool want, Payload &payload) {
        u32 index = 0;
        const QueueStatus drawn = Ring::dequeue(q.used, l, want, index);
        if (drawn == queue_ok) payload = plain_load(q.payloads + index);
        Ring::enqueue(q.free, l, drawn == queue_ok, index);
        return drawn;
    }

    RQ_INLINE u64 length(const Handle &q) { return Ring::length(q.used); }
};

}  // namespace rq
