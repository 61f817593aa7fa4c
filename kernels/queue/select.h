// select.h: the queue kind that this variant of a program uses, as TheQueue.
#pragma once
#if RQ_QUEUE_GLFQ || RQ_QUEUE_GLFQ_UNBATCHED
#include "queue/glfq.h"
#elif RQ_QUEUE_GWFQ
#include "queue/gwfq.h"
#elif RQ_QUEUE_GWFQ_YMC
#include "queue/gwfq_ymc.h"
#elif RQ_QUEUE_SFQ || RQ_QUEUE_SFQ_WAITING
#include "queue/sfq.h"
#elif RQ_QUEUE_BWD
#include "queue/bwd.h"
#elif RQ_QUEUE_FAA
#include "queue/faa_ceiling.h"
#else
#error "one of RQ_QUEUE_... must be 1: see QUEUE in src/programs.rs"
#endif

namespace rq {
#if RQ_QUEUE_GLFQ
typedef Glfq SelectedQueue;
#elif RQ_QUEUE_GLFQ_UNBATCHED
typedef GlfqUnbatched SelectedQueue;
#elif RQ_QUEUE_GWFQ
typedef Gwfq SelectedQueue;
#elif RQ_QUEUE_GWFQ_YMC
typedef GwfqYmc SelectedQueue;
#elif RQ_QUEUE_SFQ
typedef Sfq SelectedQueue;
#elif RQ_QUEUE_SFQ_WAITING
typedef SfqWaiting SelectedQueue;
#elif RQ_QUEUE_BWD
typedef Bwd SelectedQueue;
#elif RQ_QUEUE_FAA
typedef FaaCeiling SelectedQueue;
#endif

#if RQ_COUNTED_EFFORT
// Counts operations.
template <class Kind> struct CountedQueue : Kind {
    RQ_INLINE QueueStatus count_one(QueueStatus status) {
        count(effort_taken, status == queue_ok);
        count(effort_missed, status != queue_ok && status != queue_idle);
        return status;
    }
    RQ_INLINE QueueStatus enqueue(typename Kind::Handle &q, typename Kind::Lane &l, bool want, u32 value) {
        return count_one(Kind::enqueue(q, l, want, value));
    }
    RQ_INLINE QueueStatus dequeue(typename Kind::Handle &q, typename Kind::Lane &l, bool want, u32 &value) {
        return count_one(Kind::dequeue(q, l, want, value));
    }
};
typedef CountedQueue<SelectedQueue> TheQueue;
#else
typedef SelectedQueue TheQueue;
#endif
}  // namespace rq
