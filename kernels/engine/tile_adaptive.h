// tile_adaptive.h: the adaptive policy, two levels of queue.
//
// Level 0: a wave goes on with its rays in registers. When lanes fall idle it refills them from a small stash in
// on-chip memory or, if that cannot fill it, takes a chunk of fresh, coherent primaries of its tile. A pixel's samples
// follow each other in one lane.
//
// Level 1: the tiles' queues, which hold every ray between slices. When a slice is over, a wave leaves each of its
// rays in the ray's slot and its place in the wave's hand, a list in memory; `adaptive_park` puts what hands hold into
// the tiles' queues, and before the next slice `adaptive_draw` takes hands out of them, wherever there are rays. So no
// kernel that traces has a queue's code, which would cost all of them registers, the wait-free ones most.
//
// When to refill is ski rental: each idle lane costs its share of a step; once that sum reaches what a refill
// costs, the wave refills, so the total is at most twice that of knowing in advance. Scenes with dear steps
// refill at once, scenes with cheap ones wait.
#pragma once
#include "engine/tile_supply.h"
#if RQ_INTEGRATOR_GENERAL
#include "engine/tile_pool.h"
#endif

namespace rq {

// A wave's stash: at most wave_size() - 1 paths, word by word side by side, so that lanes do not collide.
struct Stash {
    static constexpr u32 words = 14;
    u32 *memory;
    u32 count;

    RQ_METHOD static Stash of_this_wave(const TileParams &p) {
        return Stash{wave_memory(p, words), 0};
    }
    RQ_METHOD void put(u32 place, const Held &h) const {
        u32 *const m = memory + place;
        const u32 w = wave_size();
        const PathWords path = words_of(h.path);
        RQ_UNROLL
        for (u32 i = 0; i < 12; ++i) m[i * w] = path.word[i];
        m[12 * w] = h.path.info, m[13 * w] = h.where;
    }
    RQ_METHOD Held get(u32 place) const {
        const u32 *const m = memory + place;
        const u32 w = wave_size();
        PathWords path;
        RQ_UNROLL
        for (u32 i = 0; i < 12; ++i) path.word[i] = m[i * w];
        return Held{path_of(path, m[12 * w]), m[13 * w]};
    }
    // Fills idle lanes, up to as many as there are paths.
    RQ_METHOD void refill(Held &h) {
        const LaneMask idle = wave_ballot(h.where == no_pixel);
        const u32 take = min_of(count, count_lanes(idle)), rank = wave_rank(idle);
        if (h.where == no_pixel && rank < take) h = get(count - 1 - rank);
        count -= take;
        wave_sync();
    }
    // Takes every lane's path; the caller knows that there is room.
    RQ_METHOD void take_all(Held &h) {
        const LaneMask live = wave_ballot(h.where != no_pixel);
        if (h.where != no_pixel) put(count + wave_rank(live), h);
        count += count_lanes(live);
        h.where = no_pixel;
        wave_sync();
    }
};

// What a wave has.
template <bool Whole> struct Work {
    Held held;  // this lane's
    Stash stash;
    Supply<Whole> supply;
    u32 debt;  // lane-steps that idle lanes have cost since the last refill

    RQ_METHOD bool lives() const { return held.where != no_pixel; }

    // Fresh rays for all lanes, which stay together; what lanes had goes into the stash.
    RQ_METHOD void freshen(const TileParams &p) {
        stash.take_all(held);
        supply.give(p, all_lanes(), held);
    }
    // Fills idle lanes if that is worth its price by now. Returns whether the wave has anything left.
    RQ_METHOD bool refill(const TileParams &p) {
        for (;;) {
            const LaneMask live = wave_ballot(lives());
            const u32 idle = wave_size() - count_lanes(live);
            debt += idle;
            if (live != 0 && debt < p.refill_price) return true;
            debt = 0;
            const bool more = supply.has_more();
            if (stash.count >= idle || (!more && stash.count > 0)) stash.refill(held);
            else if (more && idle > 0) freshen(p);
            else return live != 0;
            if (wave_any(lives())) return true;
        }
    }
    // Traces a ray. Returns whether the lane's path goes on.
    template <class S> RQ_METHOD bool advance(const S &scene, RayTally &tally) {
        return (Whole || scene.view.max_depth != 0) && lives() &&
               step(scene, held.path, pixel_of(scene.view, held_place(held.where)), tally);
    }
    // The lane's path is over, if it has one.
    RQ_METHOD void finish(const TileParams &p, RayTally &tally) {
        if (lives() && !next_sample(p, held_place(held.where), held.path, tally)) held.where = no_pixel;
    }
    // Leaves everything in slots and in the hand.
    RQ_METHOD void leave(const TileParams &p) {
        while (wave_any(lives()) || stash.count > 0) {
            supply.leave(p, held);
            stash.refill(held);
        }
        supply.end(p);
    }
};

// The policy's launch.
template <bool Whole, class S> RQ_INLINE void adaptive(const TileParams &p, const S &scene, RayTally &tally) {
    const u64 start = device_ticks();
    Work<Whole> work{};
    work.held.where = no_pixel;
    work.stash = Stash::of_this_wave(p);
    work.supply = Supply<Whole>::of_this_wave(p);
    for (u32 turn = 1; Whole || !is_over(p, start, turn, tally); ++turn) {
        if (!work.refill(p)) break;
        bool goes_on;
        do goes_on = work.advance(scene, tally);
        while (!wave_any(!goes_on));  // all do: nothing else is to be seen to
        if (!goes_on) work.finish(p, tally);
    }
    if constexpr (!Whole) work.leave(p);
}

template <bool Whole> RQ_INLINE void trace_tiles(const TileParams &p) {
    count_begin();
    with_scene(p.scene, [&](const auto &scene) {
        RayTally tally{};
#if RQ_INTEGRATOR_GENERAL
        if (p.pools != nullptr) pooled<Whole>(p, scene, tally);
        else
#endif
            adaptive<Whole>(p, scene, tally);
        flush(p.counters, tally);
    });
}

// Begins with the rays of the hand, and goes on until time or work runs out.
RQ_KERNEL_BOUNDS(adaptive_slice, TileParams, 256, RQ_TRACE_BLOCKS) { trace_tiles<false>(p); }
// Traces all that the pass asks for.
RQ_KERNEL_BOUNDS(adaptive_whole, TileParams, 256, RQ_TRACE_BLOCKS) { trace_tiles<true>(p); }

// Puts what hands hold into the tiles' queues, tile after tile. What a queue refuses, the host finds in its slot.
RQ_KERNEL(adaptive_park, TileParams) {
    count_begin();
    auto lane = TheQueue::lane(p.space, global_thread());
    u32 count = *hand_of(p);
    while (count != 0) {
        const u32 where = take_from_hand(p, count, all_lanes());
        bool waits = where != no_pixel;
        const Slot slot = waits ? slot_of(p, held_place(where)) : Slot{0, 0};
        for (LaneMask waiting = wave_ballot(waits); waiting != 0; waiting = wave_ballot(waits)) {
            const u32 tile = wave_broadcast(slot.tile, first_lane(waiting));
            const bool mine = waits && slot.tile == tile;
            auto queue = TheQueue::at(p.space, tile);
            put_back(queue, lane, mine, slot.number);
            waits = waits && !mine;
        }
    }
    flush_effort(p.counters);
}

// Fills hands from the tiles' queues, as far as rays or hands go. Numbers may lead to slots without a path (in a queue
// that was filled with all of a tile's): they drop out.
RQ_KERNEL(adaptive_draw, TileParams) {
    count_begin();
    auto lane = TheQueue::lane(p.space, global_thread());
    u32 count = 0;
    u32 tile = (u32)((u64)global_wave() * tile_count(p) / grid_waves());
    while (count + wave_size() <= p.hand_size) {
        tile = tile_with_rays(p, tile);
        if (tile == (u32)tile_count(p)) break;
        auto queue = TheQueue::at(p.space, tile);
        u32 number = 0;
        const bool drawn = TheQueue::dequeue(queue, lane, true, number) == queue_ok;
        const bool found = drawn && has_path(p, slot_at(p, Slot{tile, number}));
        add_to_hand(p, count, found ? pack_place(slot_place(p, tile, number)) : no_pixel);
    }
    store_hand(p, count);
    flush_effort(p.counters);
}

}  // namespace rq
