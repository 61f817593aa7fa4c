// tile_queue.cpp: tiles that each own a queue of ray slots, and persistent kernels that serve them, one for each
// policy.
#include "engine/tile_adaptive.h"
#include "engine/tile_paper.h"

namespace rq {

RQ_KERNEL(queue_initialise, QueueInitParams) {
    // One wave a queue at a time on a GPU, one worker on the CPU.
    const Items queues = my_wave_numbers(p.space.queues);
    for (u64 q = queues.first; q < queues.end; q += queues.step)
        TheQueue::initialise(p.space, (u32)q, wave_lane(), wave_size(), p.fill);
}

}  // namespace rq
