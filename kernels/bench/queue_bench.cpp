// queue_bench.cpp: the two micro-benchmarks. ONE launch of resident waves works on one queue for a warm-up and a
// measured interval, both ended by the device's clock; what a lane counts stays in its registers until then.
//
// So that a figure can be believed, lanes also sum up what they put in and took out over the whole launch, and
// bench_drain empties the queue: the host compares before it prints.
#include "bench/workload.h"

namespace rq {

// Steps between two looks at the clock.
constexpr u32 steps_unseen = wave_size_is_one ? 32 : 16;
constexpr u64 never = ~0ull;

// What a lane counts in the measured interval.
struct Counts {
    u32 enqueued, dequeued, full, empty, busy;
    u64 cycles;
};
// What went through a lane's hands in the whole launch.
struct Totals {
    u64 put, taken, put_sum, taken_sum, mix;
};
struct Work {
    Hand hand;
    bool putting, taking;  // a call said queue_busy and may hold a ticket: it has to be made again
    bool exhausted;
    Counts counts;
    Totals totals;
};

#ifdef RQ_COUNTERS
RQ_INLINE u64 cycles_now() { return device_cycles(); }
#else
RQ_INLINE u64 cycles_now() { return 0; }
#endif

RQ_INLINE void count_seen(const QueueBenchParams &p, u64 value) {
    if (value < p.seen_length) atomic_add(p.seen + value, 1u);
}

RQ_INLINE void put(const QueueBenchParams &p, BenchQueue::Handle &q, BenchQueue::Lane &lane, Work &w, bool want) {
    const u64 before = cycles_now();
    const QueueStatus status = BenchQueue::enqueue(q, lane, want, w.hand.value);
    w.counts.cycles += cycles_now() - before;
    w.putting = status == queue_busy;
    w.counts.busy += w.putting;
    w.counts.full += status == queue_full;
    if (status == queue_exhausted) w.exhausted = true;
    if (status == queue_ok) {
        ++w.counts.enqueued;
        ++w.totals.put;
        w.totals.put_sum += w.hand.value;
        w.totals.mix ^= w.hand.value;
        w.hand.holds = false;
        if (p.items != 0) {
            w.hand.value += p.roles.producers;
            // A split producer goes on; a balanced lane has to take a value out first.
            w.hand.holds = is_split(p.roles) && w.hand.value < p.items;
        } else if (!carries_values && is_split(p.roles)) {
            w.hand.holds = true;
        }
    }
}

RQ_INLINE void take(const QueueBenchParams &p, BenchQueue::Handle &q, BenchQueue::Lane &lane, Work &w, bool want) {
    BenchValue value = 0;
    const u64 before = cycles_now();
    const QueueStatus status = BenchQueue::dequeue(q, lane, want, value);
    w.counts.cycles += cycles_now() - before;
    w.taking = status == queue_busy;
    w.counts.busy += w.taking;
    w.counts.empty += status == queue_empty;
    if (status == queue_exhausted) w.exhausted = true;
    if (status == queue_ok) {
        ++w.counts.dequeued;
        ++w.totals.taken;
        w.totals.taken_sum += value;
        w.totals.mix ^= value;
        if (p.items != 0) {
            count_seen(p, value);
            w.hand.holds = !is_split(p.roles) && w.hand.value < p.items;
        } else if (!is_split(p.roles)) {
            if (carries_values) w.hand.value = value;
            w.hand.holds = true;
        } else if (carries_values && value < p.space.capacity) {
            atomic_store(p.out + value, 0u);
        }
    }
}

// A balanced lane takes a value out when it has put one in. A slot is a slot: who has none may take anybody's.
RQ_INLINE bool may_take(const QueueBenchParams &p, const Work &w) {
    if (is_split(p.roles)) return true;
    return !w.hand.holds && (p.items == 0 || w.totals.put != w.totals.taken);
}

// One turn of the benchmark: an enqueue, a dequeue, or first the one and then the other.
RQ_INLINE void step(const QueueBenchParams &p, BenchQueue::Handle &q, BenchQueue::Lane &lane, const Role &role,
                    Work &w) {
    if (role.puts) {
        if (is_split(p.roles) && p.items == 0 && carries_values) {
            draw_slot(w.hand, role, p.out, p.space.capacity);
            w.counts.full += role.active && !w.hand.holds;
        }
        put(p, q, lane, w, w.hand.holds);
    }
    if (role.takes) take(p, q, lane, w, role.active && may_take(p, w));
}

// A balanced lane with items of its own is done when it has put in all and taken out as many.
RQ_INLINE bool is_done(const QueueBenchParams &p, const Role &role, const Work &w) {
    return !role.active || (w.hand.value >= p.items && w.totals.put == w.totals.taken);
}

// The first wave to come sets the time.
RQ_INLINE u64 common_start(u64 *start) {
    u64 now = 0;
    if (wave_lane() == 0) {
        now = device_ticks();
        const u64 found = atomic_cas(start, (u64)0, now);
        if (found != 0) now = found;
    }
    return wave_broadcast(now, 0);
}

// What the queue says of its length, kept within the lane.
struct Occupancy {
    u64 least, most;
    u32 samples;
};

RQ_INLINE void sample(const QueueBenchParams &p, const BenchQueue::Handle &q, Occupancy &o) {
    if (p.occupancy == 0) return;
    const u64 length = BenchQueue::length(q);
    o.least = min_of(o.least, length);
    o.most = max_of(o.most, length);
    ++o.samples;
}

// Calls that hold a ticket are made until they come to an end: nobody may leave with one.
RQ_INLINE void settle(const QueueBenchParams &p, BenchQueue::Handle &q, BenchQueue::Lane &lane, Work &w) {
    const u64 limit = device_ticks() + p.settle_ticks;
    while (wave_any(w.putting || w.taking)) {
        put(p, q, lane, w, w.putting);
        take(p, q, lane, w, w.taking);
        if (is_past(limit)) break;
    }
}

RQ_INLINE void write_record(BenchRecord &r, const Counts &counts, const Work &w, const Occupancy &o,
                            const Tally &tally) {
    r.enqueued = counts.enqueued;
    r.dequeued = counts.dequeued;
    r.full = counts.full;
    r.empty = counts.empty;
    r.busy = counts.busy;
    r.cycles = counts.cycles;
    r.stuck = w.putting || w.taking;
    r.put = w.totals.put;
    r.taken = w.totals.taken;
    r.put_sum = w.totals.put_sum;
    r.taken_sum = w.totals.taken_sum;
    r.mix = w.totals.mix;
    r.least_length = o.least;
    r.most_length = o.most;
    r.samples = o.samples;
#ifdef RQ_COUNTERS
    r.retries = tally.retries;
    r.spins = tally.spins;
    r.slow = tally.slow;
    r.helps = tally.helps;
#else
    (void)tally;
#endif
}

}  // namespace rq

using namespace rq;

RQ_KERNEL(bench_initialise, QueueBenchParams) {
    BenchQueue::initialise(p.space, 0, global_thread(), grid_threads(), 0);
}

RQ_KERNEL_BOUNDS(bench_run, QueueBenchParams, 512, 1) {
    const Role role = role_of(p.roles);
    if (role.idle) return;
    BenchQueue::Handle q = BenchQueue::at(p.space, 0);
    BenchQueue::Lane lane = BenchQueue::lane(p.space, global_thread());
    Work w{};
    w.hand = first_hand(p.roles, role, p.items == 0, p.space.capacity);
    if (p.items != 0) w.hand.holds = w.hand.holds && w.hand.value < p.items;
    Occupancy occupancy{never, 0, 0};

    bool measuring = p.warmup_ticks == 0;
    u64 end = common_start(p.clock) + (measuring ? p.interval_ticks : p.warmup_ticks);
    for (;;) {
        RQ_NO_UNROLL
        for (u32 n = 0; n < steps_unseen; ++n) step(p, q, lane, role, w);
        sample(p, q, occupancy);
        // A pool that is used up ends the run early for all: there is nothing left to measure.
        if (wave_any(w.exhausted)) {
            if (wave_lane() == 0) atomic_cas(p.clock + 1, (u64)0, device_ticks());
            break;
        }
        if (p.items != 0 && !wave_any(!is_done(p, role, w))) break;
        if (!is_past(end)) continue;
        if (measuring) break;
        measuring = true;
        end += p.interval_ticks;
        w.counts = Counts{};
        lane.tally = Tally{};
    }
    const Counts counts = measuring ? w.counts : Counts{};
    const Tally tally = measuring ? lane.tally : Tally{};
    settle(p, q, lane, w);
    write_record(p.records[global_thread()], counts, w, occupancy, tally);
    if (p.items == 0 && carries_values && w.hand.holds) count_seen(p, w.hand.value);
}

// One wave takes out what is left, and looks at the length before and after.
RQ_KERNEL(bench_drain, QueueBenchParams) {
    BenchQueue::Handle q = BenchQueue::at(p.space, 0);
    BenchQueue::Lane lane = BenchQueue::lane(p.space, global_thread());
    Work w{};
    const u64 limit = device_ticks() + p.settle_ticks;
    const u64 before = BenchQueue::length(q);
    while (carries_values && !is_past(limit)) {
        const bool want = !dequeue_waits || w.taking || wave_lane() < BenchQueue::length(q);
        const u64 taken = w.totals.taken;
        BenchValue value = 0;
        const QueueStatus status = BenchQueue::dequeue(q, lane, want, value);
        w.taking = status == queue_busy;
        if (status == queue_ok) {
            ++w.totals.taken;
            w.totals.taken_sum += value;
            w.totals.mix ^= value;
            count_seen(p, value);
        }
        if (!wave_any(w.totals.taken != taken || w.taking)) break;
    }
    write_record(p.records[wave_lane()], Counts{}, w, Occupancy{before, BenchQueue::length(q), 1}, lane.tally);
}
