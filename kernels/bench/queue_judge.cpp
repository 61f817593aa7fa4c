// queue_judge.cpp: the instrumented build: the micro-benchmarks with counters, and launches that write down what
// each operation did and when, for the judges of histories.
//
// All lanes of a wave operate together, so a wave has one begin and one end for a row of its lanes' operations.
// What an operation did is a word: the value's item in the low half, then the status, then 1 for an enqueue and
// 2 for a dequeue. A value that recurs (a slot) carries the number of the enqueue that put it in as its
// payload, which is the item; so all items are distinct, and a payload that is not seen shows.
#define RQ_COUNTERS 1
#include "bench/queue_bench.cpp"

namespace rq {

constexpr u32 status_shift = 32, action_shift = 40;
constexpr u64 action_put = 1, action_take = 2;
constexpr u32 nobodys_item = 0xffffffffu;

// A moment before (after) everything that follows (precedes), as far as fences reach.
RQ_INLINE u64 begin_stamp(const QueueJudgeParams &p) {
    u64 now = 0;
    if (p.counter_stamps == 0) now = device_ticks();
    else if (wave_lane() == 0) now = atomic_add(p.counter, (u64)1);
    fence<Order::seq_cst>();
    return wave_broadcast(now, 0);
}
RQ_INLINE u64 end_stamp(const QueueJudgeParams &p) {
    fence<Order::seq_cst>();
    wave_sync();
    u64 now = 0;
    if (p.counter_stamps == 0) now = device_ticks();
    else if (wave_lane() == 0) now = atomic_add(p.counter, (u64)1);
    return wave_broadcast(now, 0);
}

// The place of an operation's word, and of its wave's stamps.
RQ_INLINE u64 place_of(u32 row) { return (u64)row * grid_threads() + global_thread(); }

RQ_INLINE void write_row(const QueueJudgeParams &p, u32 row, u64 begin, u64 end, bool done, u32 item, u32 status,
                         u64 action) {
    if (done) p.words[place_of(row)] = item | (u64)status << status_shift | action << action_shift;
    if (wave_lane() != 0) return;
    u64 *const stamps = p.stamps + 2 * ((u64)row * grid_waves() + global_wave());
    stamps[0] = begin;
    stamps[1] = end;
}

RQ_INLINE void put_row(const QueueJudgeParams &p, BenchQueue::Handle &q, BenchQueue::Lane &lane, const Role &role,
                       Hand &hand, u32 row, u64 limit) {
    if (is_split(p.roles) && !is_outer) {
        // Consumers may need a while to give slots back.
        for (u32 tries = 0; tries < p.tries; ++tries) {
            draw_slot(hand, role, p.out, p.space.capacity);
            if (wave_any(hand.holds)) break;
            spin_hint();
        }
    }
    const bool want = hand.holds;
    if (!wave_any(want)) return;
    const u32 item = (u32)place_of(row);
    if (want && !is_outer) plain_store(p.payload + hand.value, (u64)item);
    const u64 begin = begin_stamp(p);
    const BenchValue value = is_outer ? (BenchValue)item : hand.value;
    QueueStatus status = BenchQueue::enqueue(q, lane, want, value);
    while (wave_any(status == queue_busy) && !is_past(limit)) {
        spin_hint();
        const QueueStatus again = BenchQueue::enqueue(q, lane, status == queue_busy, value);
        if (status == queue_busy) status = again;
    }
    write_row(p, row, begin, end_stamp(p), want, item, status, action_put);
    if (status == queue_ok) hand.holds = is_outer && is_split(p.roles);
}

RQ_INLINE void take_row(const QueueJudgeParams &p, BenchQueue::Handle &q, BenchQueue::Lane &lane, Hand &hand, u32 row,
                        u64 limit, bool want) {
    if (!wave_any(want)) return;
    const u64 begin = begin_stamp(p);
    BenchValue value = 0;
    QueueStatus status = BenchQueue::dequeue(q, lane, want, value);
    while (wave_any(status == queue_busy) && !is_past(limit)) {
        spin_hint();
        BenchValue found = 0;
        const QueueStatus again = BenchQueue::dequeue(q, lane, status == queue_busy, found);
        if (again == queue_ok) value = found;
        if (status == queue_busy) status = again;
    }
    u32 item = nobodys_item;
    if (status == queue_ok) {
        if (is_outer) item = (u32)value;
        else if (value < p.space.capacity) item = (u32)plain_load(p.payload + value);
    }
    write_row(p, row, begin, end_stamp(p), want, item, status, action_take);
    if (status != queue_ok || item == nobodys_item) return;
    if (!is_split(p.roles)) {
        if (!is_outer) hand.value = value;
        hand.holds = true;
    } else if (!is_outer) {
        atomic_store<Order::release>(p.out + value, 0u);
    }
}

// Lanes begin together, as far as they come within a moment: histories of lanes one after the other show little.
RQ_INLINE void meet(const QueueJudgeParams &p) {
    if (wave_lane() == 0) atomic_add(p.arrived, 1u);
    const u64 limit = device_ticks() + p.meet_ticks;
    while (wave_broadcast(atomic_load(p.arrived), 0) < p.waves && !is_past(limit)) spin_hint();
}

}  // namespace rq

// `rows` rows of operations: enqueues in the even ones and dequeues in the odd ones, or, split, in all of them what
// the wave is there for.
RQ_KERNEL_BOUNDS(judge_run, QueueJudgeParams, 512, 1) {
    const Role role = role_of(p.roles);
    if (role.idle) return;
    BenchQueue::Handle q = BenchQueue::at(p.space, 0);
    BenchQueue::Lane lane = BenchQueue::lane(p.space, global_thread());
    Hand hand = first_hand(p.roles, role, !is_outer, p.space.capacity);
    meet(p);
    const u64 limit = device_ticks() + p.limit_ticks;
    const bool split = is_split(p.roles);
    for (u32 row = 0; row < p.rows; ++row) {
        if (role.puts && (split || row % 2 == 0)) put_row(p, q, lane, role, hand, row, limit);
        if (role.takes && (split || row % 2 == 1))
            take_row(p, q, lane, hand, row, limit, role.active && (split || !hand.holds));
        if (is_past(limit)) break;
    }
    atomic_add(p.tallies + 0, (u64)lane.tally.retries);
    atomic_add(p.tallies + 1, (u64)lane.tally.spins);
    atomic_add(p.tallies + 2, (u64)lane.tally.slow);
    atomic_add(p.tallies + 3, (u64)lane.tally.helps);
}

// One wave takes out what is left, so that a lost value shows.
RQ_KERNEL(judge_drain, QueueJudgeParams) {
    BenchQueue::Handle q = BenchQueue::at(p.space, 0);
    BenchQueue::Lane lane = BenchQueue::lane(p.space, global_thread());
    const u64 limit = device_ticks() + p.limit_ticks;
    for (u32 row = 0; row < p.rows; ++row) {
        Hand hand{0, false, no_slot, 1};
        const bool want = !dequeue_waits || wave_lane() < BenchQueue::length(q);
        take_row(p, q, lane, hand, row, limit, want);
        // A balanced lane holds what it has taken out.
        if (!wave_any(hand.holds)) break;
    }
}

// The clock's granularity: the smallest step between two readings. Its skew: how far a lane's reading was ahead
// of one that another lane took later, as the order of accesses to one word tells.
RQ_KERNEL(judge_clock, QueueClockParams) {
    if (wave_lane() != 0) return;
    u64 step = ~0ull, ahead = 0, last = device_ticks();
    for (u32 n = 0; n < p.rounds; ++n) {
        const u64 now = device_ticks();
        if (now != last) step = min_of(step, now - last);
        fence<Order::seq_cst>();
        const u64 seen = atomic_max<Order::acq_rel>(p.latest, now);
        fence<Order::seq_cst>();
        last = device_ticks();
        if (seen > last) ahead = max_of(ahead, seen - last);
    }
    p.steps[global_wave()] = step;
    p.aheads[global_wave()] = ahead;
}
