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
typedef Glfq TheQueue;
#elif RQ_QUEUE_GLFQ_UNBATCHED
typedef GlfqUnbatched TheQueue;
#elif RQ_QUEUE_GWFQ
typedef Gwfq TheQueue;
#elif RQ_QUEUE_GWFQ_YMC
typedef GwfqYmc TheQueue;
#elif RQ_QUEUE_SFQ
typedef Sfq TheQueue;
#elif RQ_QUEUE_SFQ_WAITING
typedef SfqWaiting TheQueue;
#elif RQ_QUEUE_BWD
typedef Bwd TheQueue;
#elif RQ_QUEUE_FAA
typedef FaaCeiling TheQueue;
#endif
}  // namespace rq
