// queue.cpp: the traversal with two queues that alternate.
// Rows are all that the queues carry: marks of vertices are atomics, and nobody reads a level.
#define RQ_NO_PAYLOAD 1
#include "bfs/traverse.h"
#include "queue/select.h"

namespace rq {

struct QueueFrontier {
    TheQueue::Lane lane;

    static constexpr bool any_order = true;
    RQ_INLINE QueueFrontier of_this_lane(const BfsParams &p) {
        return QueueFrontier{TheQueue::lane(p.space, global_thread())};
    }

    // What is put in while a level is given comes out when the next one is.
    RQ_METHOD bool put(const BfsParams &p, u32 level, bool want, u32 row) {
        TheQueue::Handle q = TheQueue::at(p.space, level % 2);
        QueueStatus status = TheQueue::enqueue(q, lane, want, row);
        // The slot is in the hands of a lane that is within its own operation.
        while (wave_any(status == queue_busy)) {
            give_way();
            const QueueStatus again = TheQueue::enqueue(q, lane, status == queue_busy, row);
            if (again != queue_idle) status = again;
        }
        return status == queue_ok;
    }

    RQ_METHOD bool take(const BfsParams &p, u32 level, bool want, u32, u32 &row) {
        TheQueue::Handle q = TheQueue::at(p.space, (level - 1) % 2);
        u64 limit = 0;
        for (;;) {
            u32 taken = 0;
            if (TheQueue::dequeue(q, lane, want, taken) == queue_ok) {
                row = taken;
                want = false;
            }
            if (!wave_any(want)) return true;
            // The row is in the queue, so another lane's operation is in the way, or the queue's words are.
            if (limit == 0) limit = device_ticks() + p.patience_ticks;
            if (is_past(limit)) return false;
            give_way();
        }
    }
};

}  // namespace rq

using namespace rq;

// Blocks of 512 on a multiprocessor at once, at least: waits for memory are hidden by other waves. The wait-free
// queues need more registers than that leaves.
#if RQ_QUEUE_GWFQ || RQ_QUEUE_GWFQ_YMC
#define RQ_BFS_BLOCKS 1
#else
#define RQ_BFS_BLOCKS 2
#endif

RQ_KERNEL(bfs_initialise, BfsParams) {
    for (u32 queue = 0; queue < 2; ++queue)
        TheQueue::initialise(p.space, queue, global_thread(), grid_threads(), 0);
}

RQ_KERNEL_BOUNDS(bfs_start, BfsParams, 512, 1) { start<QueueFrontier>(p); }

RQ_KERNEL_BOUNDS(bfs_run, BfsParams, 512, RQ_BFS_BLOCKS) { traverse<QueueFrontier>(p); }
