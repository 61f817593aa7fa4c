// queue_bench.cpp: the two micro-benchmarks. ONE launch of resident waves works on one queue for a warm-up and a
// measured interval, both ended by the device's clock; what a lane counts stays in its registers until then.
//
// Profilers run a launch several times and cannot be told how much was done in which: bench_fixed does the same work
// every time. Each lane goes on until its share of operations was successful.
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

// Successful operations that a lane owes in a launch of fixed work. All that is put in is taken out.
struct Share {
    u64 puts, takes;
};

RQ_INLINE Share share_of(const QueueBenchParams &p, const Role &role) {
    if (!role.active) return Share{0, 0};
    if (!is_split(p.roles)) return Share{p.turns, p.turns};
    const u64 all = (u64)p.roles.producers * p.turns, takers = p.roles.consumers;
    if (role.puts) return Share{p.turns, 0};
    return Share{0, all / takers + (role.number < all % takers)};
}

// One turn of the benchmark: an enqueue, a dequeue, or first the one and then the other.
template <bool fixed>
RQ_INLINE void step(const QueueBenchParams &p, BenchQueue::Handle &q, BenchQueue::Lane &lane, const Role &role,
                    const Share &share, Work &w) {
    if (role.puts) {
        const bool owes = !fixed || w.totals.put < share.puts;
        if (is_split(p.roles) && p.items == 0 && carries_values && owes) {
            draw_slot(w.hand, role, p.out, p.space.capacity);
            w.counts.full += role.active && !w.hand.holds;
        }
        put(p, q, lane, w, w.hand.holds && owes);
    }
    if (role.takes) {
        const bool owes = !fixed || w.totals.taken < share.takes;
        take(p, q, lane, w, role.active && owes && may_take(p, w));
    }
    // A worker may wait for one that has no processor; a wave is never alone on a GPU.
    if (wave_size_is_one && (w.putting || w.taking)) give_way();
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
        give_way();
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
        const u64 before = w.totals.put + w.totals.taken;
        RQ_NO_UNROLL
        for (u32 n = 0; n < steps_unseen; ++n) step<false>(p, q, lane, role, Share{}, w);
        if (!wave_any(w.totals.put + w.totals.taken != before)) give_way();
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

// The same without a clock to end it but for the deadline, which leaves lanes short of their share: the host sees.
RQ_KERNEL_BOUNDS(bench_fixed, QueueBenchParams, 512, 1) {
    const Role role = role_of(p.roles);
    if (role.idle) return;
    BenchQueue::Handle q = BenchQueue::at(p.space, 0);
    BenchQueue::Lane lane = BenchQueue::lane(p.space, global_thread());
    Work w{};
    w.hand = first_hand(p.roles, role, p.items == 0, p.space.capacity);
    const Share share = share_of(p, role);
    const u64 limit = common_start(p.clock) + p.interval_ticks;
    for (u32 n = 1; wave_any(w.totals.put < share.puts || w.totals.taken < share.takes); ++n) {
        const u64 before = w.totals.put + w.totals.taken;
        step<true>(p, q, lane, role, share, w);
        if (!wave_any(w.totals.put + w.totals.taken != before)) give_way();
        if (n % steps_unseen == 0 && (wave_any(w.exhausted) || is_past(limit))) break;
    }
    settle(p, q, lane, w);
    write_record(p.records[global_thread()], w.counts, w, Occupancy{never, 0, 0}, lane.tally);
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
