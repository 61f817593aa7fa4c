// tile_adaptive.h: the adaptive policy, two levels of queue.
//
// Level 0: a wave goes on with its rays in registers. When lanes fall idle it refills them from a small stash in
// on-chip memory or, if that cannot fill it, puts its remaining rays into the stash and takes a chunk of fresh,
// coherent primaries of its tile. A pixel's samples follow each other in one lane.
//
// Level 1: the tiles' queues. At the end of a slice they take every ray that a wave still has, each into its
// pixel's slot and its own tile's queue; the next slice's waves draw from them first.
//
// When to refill is ski rental: each idle lane costs its share of a step; once that sum reaches what a refill
// costs, the wave refills, so the total is at most twice that of knowing in advance. Scenes with dear steps
// refill at once, scenes with cheap ones wait.
#pragma once
#include "engine/tile.h"

namespace rq {

// A path and where in the image it belongs, as a lane holds it.
struct Held {
    Path path;
    u32 where;  // x | y << 16; no_pixel: the lane is idle
};
RQ_INLINE Place held_place(u32 where) { return Place{where & 0xffffu, where >> 16}; }
RQ_INLINE u32 pack_place(Place place) { return place.x | place.y << 16; }

// A wave's stash: at most wave_size() - 1 paths, word by word side by side, so that lanes do not collide.
struct Stash {
    static constexpr u32 words = 14;
    u32 *memory;
    u32 count;

    RQ_METHOD static Stash of_this_wave(const TileParams &p) {
        u32 *const after_scene = shared_memory<u32>() + p.stash_offset / 4;
        return Stash{after_scene + thread_in_block() / wave_size() * wave_size() * words, 0};
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
    RQ_METHOD void take_all(Held &h, LaneMask live) {
        if (h.where != no_pixel) put(count + wave_rank(live), h);
        count += count_lanes(live);
        h.where = no_pixel;
        wave_sync();
    }
};

// The slots that a wave hands out, a pixel a lane at a time. They come in turns: `turn_slots` slots of one tile,
// all tiles' turns being numbered one after the other and given out by one counter.
struct Grab {
    u32 turn, turns;     // the next turn, and how many from there on are this wave's
    u32 tile, slot, end;  // what is left of the turn before
    u32 size;            // turns to take next time
};

// Turns to take at a time: several, since the counter is far away, but so few towards the end that all waves
// come back for the last ones (guided self-scheduling, Polychronopoulos and Kuck 1987).
RQ_INLINE u32 grab_size(u32 left) { return min_of(max_of(left / (8 * grid_waves()), 1u), 4u); }

// A launch that draws every primary itself gives each wave its first turn without asking.
template <bool Whole> RQ_INLINE Grab first_grab(const TileParams &p) {
    Grab grab{0, 0, 0, 0, 0, grab_size(p.turns)};
    if (Whole && global_wave() < p.turns) grab.turn = global_wave(), grab.turns = 1;
    return grab;
}
RQ_INLINE bool has_slots(const Grab &grab) { return grab.slot < grab.end || grab.turns != 0; }

// Makes sure that the wave has a slot to hand out. False: none are left.
template <bool Whole> RQ_INLINE bool grab_slots(const TileParams &p, Grab &grab) {
    if (grab.slot < grab.end) return true;
    if (grab.turns == 0) {
        u32 first = 0;
        if (wave_lane() == 0) first = atomic_add(p.given, grab.size);
        first = wave_broadcast(first, 0) + (Whole ? grid_waves() : 0);
        if (first >= p.turns) return false;
        grab.turn = first;
        grab.turns = min_of(grab.size, p.turns - first);
        grab.size = grab_size(p.turns - first);
    }
    grab.tile = grab.turn / p.tile_turns;
    grab.slot = (grab.turn - grab.tile * p.tile_turns) * p.turn_slots;
    grab.end = min_of(grab.slot + p.turn_slots, p.tile_slots);
    grab.turn++;
    grab.turns--;
    return true;
}

// A chunk of primaries for all lanes. False: none are left.
template <bool Whole> RQ_INLINE bool take_primaries(const TileParams &p, Grab &grab, Held &h) {
    if (!grab_slots<Whole>(p, grab)) return false;
    const u32 slot = grab.slot + wave_lane();
    const Place place = slot_place(p, grab.tile, slot);
    const u32 pixel = slot < grab.end ? pixel_at(p.scene, place) : no_pixel;
    grab.slot += wave_size();
    if (pixel == no_pixel) return true;
    const u32 sample = p.known_samples != ~0u ? p.known_samples : p.film.counts[pixel];
    if (sample < p.samples) h = Held{primary_path(p.scene, place, sample), pack_place(place)};
    return true;
}

// Rays for idle lanes from the tiles' queues. False: they are empty.
template <class QueueLane>
RQ_INLINE bool take_parked(const TileParams &p, QueueLane &lane, u32 &tile, Held &h) {
    const u32 found = tile_with_rays(p, tile);
    if (found == (u32)tile_count(p)) return false;
    tile = found;
    auto queue = TheQueue::at(p.space, tile);
    u32 number = 0;
    if (TheQueue::dequeue(queue, lane, h.where == no_pixel, number) != queue_ok) return true;
    const u64 slot = (u64)tile * p.tile_slots + number;
    const Path path = load_slot(p, slot);
    if (path.info == no_path) return true;
    clear_slot(p, slot);
    h = Held{path, pack_place(slot_place(p, tile, number))};
    return true;
}

// Puts every lane's path into its slot and its tile's queue, tile after tile. What a queue refuses, the host
// finds in its slot.
template <class QueueLane> RQ_INLINE void park(const TileParams &p, QueueLane &lane, const Held &h) {
    bool waits = h.where != no_pixel;
    Slot slot{0, 0};
    if (waits) {
        slot = slot_of(p, held_place(h.where));
        store_slot(p, (u64)slot.tile * p.tile_slots + slot.number, h.path);
    }
    for (LaneMask waiting = wave_ballot(waits); waiting != 0; waiting = wave_ballot(waits)) {
        const u32 tile = wave_broadcast(slot.tile, first_lane(waiting));
        const bool mine = waits && slot.tile == tile;
        auto queue = TheQueue::at(p.space, tile);
        put_back(queue, lane, mine, slot.number);
        waits = waits && !mine;
    }
}

// What a lane keeps for the queues; nothing where there are none, nor a record in memory.
struct NoQueues {};
template <bool Whole> RQ_INLINE auto queue_lane([[maybe_unused]] const TileParams &p) {
    if constexpr (Whole) return NoQueues{};
    else return TheQueue::lane(p.space, global_thread());
}

// The policy's launch. `Whole`: it may take as long as it needs and no ray is in a queue, so that it ends with the
// last pixel and touches no queue; without the code for that the compiler has registers to spare.
template <bool Whole, class S> RQ_INLINE void adaptive(const TileParams &p, const S &scene, RayTally &tally) {
    [[maybe_unused]] auto lane = queue_lane<Whole>(p);
    const u64 start = device_ticks();
    [[maybe_unused]] u32 tile = (u32)((u64)global_wave() * tile_count(p) / grid_waves());
    Grab grab = first_grab<Whole>(p);
    Stash stash = Stash::of_this_wave(p);
    Held held{};
    held.where = no_pixel;
    bool primaries = true, parked = !Whole && p.parked != 0;
    u32 debt = 0;  // lane-steps that idle lanes have cost since the last refill
    for (u32 turn = 1; Whole || !is_over(p, start, turn, tally); ++turn) {
        LaneMask live = wave_ballot(held.where != no_pixel);
        const u32 idle = wave_size() - count_lanes(live);
        debt += idle;
        if (live == 0 || debt >= p.refill_price) {
            debt = 0;
            if (stash.count >= idle || (!primaries && stash.count > 0)) {
                stash.refill(held);
            } else if (parked && idle > 0) {
                if constexpr (!Whole) parked = take_parked(p, lane, tile, held);
            } else if (primaries && idle > 0) {
                stash.take_all(held, live);
                primaries = take_primaries<Whole>(p, grab, held);
                if (!primaries) stash.refill(held);
            }
            live = wave_ballot(held.where != no_pixel);
            if (live == 0) {
                if (stash.count > 0 || primaries || parked) continue;
                break;
            }
        }
        if (held.where != no_pixel) {
            const Place place = held_place(held.where);
            bool goes_on = step_at(scene, held.path, place, tally);
            // A wave of one lane has nobody to keep step with.
            while (wave_size_is_one && goes_on) goes_on = step_at(scene, held.path, place, tally);
            if (!goes_on && !next_sample(p, place, held.path, tally)) held.where = no_pixel;
        }
    }
    if constexpr (!Whole) {
        // The slice is over: everything that this wave still has goes into the queues.
        while (wave_any(held.where != no_pixel) || stash.count > 0) {
            park(p, lane, held);
            held.where = no_pixel;
            stash.refill(held);
        }
        while (has_slots(grab)) {
            take_primaries<Whole>(p, grab, held);
            park(p, lane, held);
            held.where = no_pixel;
        }
    }
}

// A launch of limited time, or one that begins with rays in the queues.
RQ_KERNEL_BOUNDS(adaptive_slice, TileParams, 256, RQ_TRACE_BLOCKS) {
    count_begin();
    with_scene(p.scene, [&](const auto &scene) {
        RayTally tally{};
        adaptive<false>(p, scene, tally);
        flush(p.counters, tally);
    });
}

// A launch that traces all that the pass asks for.
RQ_KERNEL_BOUNDS(adaptive_whole, TileParams, 256, RQ_TRACE_BLOCKS) {
    count_begin();
    with_scene(p.scene, [&](const auto &scene) {
        RayTally tally{};
        adaptive<true>(p, scene, tally);
        flush(p.counters, tally);
    });
}

}  // namespace rq
