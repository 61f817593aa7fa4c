// select.h: the queue kind that this variant of a program uses, as TheQueue.
#pragma once
#if RQ_QUEUE_GLFQ
#include "queue/glfq.h"
namespace rq { typedef Glfq TheQueue; }
#elif RQ_QUEUE_GLFQ_UNBATCHED
#include "queue/glfq.h"
namespace rq { typedef GlfqUnbatched TheQueue; }
#elif RQ_QUEUE_GWFQ
#include "queue/gwfq.h"
namespace rq { typedef Gwfq TheQueue; }
#else
#error "one of RQ_QUEUE_... must be 1: see QUEUE in src/programs.rs"
#endif
