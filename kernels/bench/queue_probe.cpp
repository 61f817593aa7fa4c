// queue_probe.cpp: each lane follows a script of queue operations and writes down what came of them and when.
//
// Two ways to choose the values. With `slots` a value is a slot that travels: the lane that holds its number
// owns it, puts it in and owns another once it takes one out, as rays do in a tile; so at most `capacity`
// values are ever inside. Without, each value is new, and the queue has to say when it is full.
//
// The payload of a value is the number of the operation that put it in: a race on it is a race that a ray's
// payload would have, and in a history it tells apart the uses of a slot.
#define RQ_COUNTERS 1
#include "queue/select.h"
#if RQ_PROBE_OUTER
#include "queue/outer.h"
#endif

namespace rq {

#if RQ_PROBE_OUTER
struct ProbeQueue : Outer<TheQueue, u64> {
    RQ_INLINE QueueStatus dequeue(Handle &q, Lane &l, bool want, u32 &value) {
        u64 payload = 0;
        const QueueStatus status = Outer::dequeue(q, l, want, payload);
        value = (u32)payload;
        return status;
    }
};
#else
typedef TheQueue ProbeQueue;
#endif

enum ProbeAction : u32 { probe_nothing = 0, probe_enqueue = 1, probe_dequeue = 2 };
// Beyond QueueStatus: the operation has begun and not ended.
constexpr u32 probe_pending = 6;
constexpr u32 no_slot = 0xffffffffu;

// A slot's word: the number of its operation, and the slot below it in its owner's stack.
RQ_INLINE u64 slot_word(u32 id, u32 below) { return (u64)below << 32 | id; }

// Between a stamp and an operation: keeps the operation's accesses inside its stamps, for all to see.
RQ_INLINE void edge(const QueueProbeParams &p) {
    if (p.fenced) fence<Order::seq_cst>();
}

RQ_INLINE void begin(ProbeRecord &r, u32 id) {
    r.id = id;
    r.status = probe_pending;
    r.begin = device_ticks();
}
RQ_INLINE void end(ProbeRecord &r, u32 status) {
    r.end = device_ticks();
    r.status = status;
}

RQ_INLINE void enqueue_step(const QueueProbeParams &p, ProbeQueue::Handle &q, ProbeQueue::Lane &l, bool want, u32 id,
                            u32 &owned, ProbeRecord &r) {
    u32 value = id, below = no_slot;
    if (want && p.slots) {
        want = owned != no_slot;
        if (want) {
            value = owned;
            below = (u32)(plain_load(p.payload + value) >> 32);
        }
    }
    if (!wave_any(want)) return;
    if (want) begin(r, id);
    edge(p);
    if (want) plain_store(p.payload + value, slot_word(id, below));
    QueueStatus status = ProbeQueue::enqueue(q, l, want, value);
    for (u32 n = 0; n < p.repeats && wave_any(status == queue_busy); ++n) {
        spin_hint();
        const QueueStatus again = ProbeQueue::enqueue(q, l, status == queue_busy, value);
        if (status == queue_busy) status = again;
    }
    edge(p);
    if (want) end(r, status);
    if (want && status == queue_ok) owned = below;
}

RQ_INLINE void dequeue_step(const QueueProbeParams &p, ProbeQueue::Handle &q, ProbeQueue::Lane &l, bool want,
                            u32 &owned, ProbeRecord &r) {
    if (!wave_any(want)) return;
    if (want) begin(r, no_slot);
    edge(p);
    u32 value = 0;
    QueueStatus status = ProbeQueue::dequeue(q, l, want, value);
    for (u32 n = 0; n < p.repeats && wave_any(status == queue_busy); ++n) {
        spin_hint();
        const QueueStatus again = ProbeQueue::dequeue(q, l, status == queue_busy, value);
        if (status == queue_busy) status = again;
    }
    if (want && status == queue_ok) {
        r.id = (u32)plain_load(p.payload + value);
        if (p.slots) {
            plain_store(p.payload + value, slot_word(r.id, owned));
            owned = value;
        }
    }
    edge(p);
    if (want) end(r, status);
}

}  // namespace rq

using namespace rq;

// Makes the queue hold 0 .. fill-1, each the payload of itself.
RQ_KERNEL(probe_initialise, QueueProbeParams) {
    ProbeQueue::initialise(p.space, 0, global_thread(), grid_threads(), p.fill);
    for (u32 i = global_thread(); i < p.fill; i += grid_threads()) plain_store(p.payload + i, (u64)i);
}

RQ_KERNEL(probe, QueueProbeParams) {
    const u32 me = global_thread();
    QueueSpace space = p.space;
    if (p.slow_waves >> (global_wave() % 32) & 1) space.patience = 0;
    ProbeQueue::Handle q = ProbeQueue::at(space, 0);
    ProbeQueue::Lane l = ProbeQueue::lane(space, me);
    u32 owned = no_slot;
    if (p.slots) {
        for (u32 slot = p.fill + me; slot < p.space.capacity; slot += grid_threads()) {
            plain_store(p.payload + slot, slot_word(0, owned));
            owned = slot;
        }
    }
    for (u32 step = 0; step < p.length; ++step) {
        const u32 at = me * p.length + step, action = p.script[at];
        ProbeRecord &r = p.records[at];
        enqueue_step(p, q, l, action == probe_enqueue, p.fill + at, owned, r);
        dequeue_step(p, q, l, action == probe_dequeue, owned, r);
    }
    atomic_add(p.tallies + 0, (u64)l.tally.retries);
    atomic_add(p.tallies + 1, (u64)l.tally.spins);
    atomic_add(p.tallies + 2, (u64)l.tally.slow);
    atomic_add(p.tallies + 3, (u64)l.tally.helps);
}
