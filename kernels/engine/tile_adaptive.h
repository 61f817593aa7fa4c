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
    RQ_METHOD void take_all(Held &h) {
        const LaneMask live = wave_ballot(h.where != no_pixel);
        if (h.where != no_pixel) put(count + wave_rank(live), h);
        count += count_lanes(live);
        h.where = no_pixel;
        wave_sync();
    }
};

// Slots of a turn: a wave is given them at a time, and lanes of a narrow one one after the other.
RQ_INLINE u32 turn_slots() { return max_of(wave_size(), chunk_lanes); }

// The slots that a wave hands out. All tiles' turns are numbered one after the other and given out by one counter.
struct Grab {
    u32 turn, end;  // this wave's turns
    u32 offset;     // slots of the next turn that it has handed out
    u32 size;       // turns to take next time
};

// Turns to take at a time: several, since the counter is far away, but so few towards the end that all waves
// come back for the last ones (guided self-scheduling, Polychronopoulos and Kuck 1987).
RQ_INLINE u32 grab_size(u32 left) { return min_of(max_of(left / (8 * grid_waves()), 1u), 4u); }

// A pass gives each wave its first turn without being asked; the counter gives the others.
RQ_INLINE Grab first_grab(const TileParams &p) {
    const bool given = p.first_slice != 0 && global_wave() < p.turns;
    return Grab{global_wave(), global_wave() + given, 0, grab_size(p.turns)};
}
RQ_INLINE bool has_slots(const Grab &grab) { return grab.turn < grab.end; }

// Makes sure that the wave has a slot to hand out. False: none are left.
RQ_INLINE bool grab_slots(const TileParams &p, Grab &grab) {
    if (has_slots(grab)) return true;
    u32 first = 0;
    if (wave_lane() == 0) first = atomic_add(p.given, grab.size);
    first = wave_broadcast(first, 0) + grid_waves();
    if (first >= p.turns) return false;
    grab.turn = first;
    grab.end = min_of(first + grab.size, p.turns);
    grab.size = grab_size(p.turns - first);
    return true;
}

// A chunk of primaries for all lanes. False: none are left.
RQ_INLINE bool take_primaries(const TileParams &p, Grab &grab, Held &h) {
    if (!grab_slots(p, grab)) return false;
    const u32 tile = grab.turn / p.tile_turns;
    const u32 slot = (grab.turn - tile * p.tile_turns) * turn_slots() + grab.offset + wave_lane();
    grab.offset += wave_size();
    if (grab.offset >= turn_slots()) {
        grab.offset = 0;
        grab.turn++;
    }
    const Place place = slot_place(p, tile, slot);
    const u32 pixel = slot < p.tile_slots ? pixel_at(p.scene, place) : no_pixel;
    if (pixel == no_pixel) return true;
    const u32 sample = p.known_samples != ~0u ? p.known_samples : p.film.counts[pixel];
    if (sample < p.samples) h = Held{primary_path(p.scene, place, sample), pack_place(place)};
    return true;
}

// A wave's hand: places of the image whose rays are in their slots, and are this wave's. Their number comes first.
RQ_INLINE u32 *hand_of(const TileParams &p) { return p.hands + global_wave() * (u64)(1 + p.hand_size); }

// Adds the places of the lanes that have one.
RQ_INLINE void add_to_hand(const TileParams &p, u32 &count, u32 where) {
    const LaneMask having = wave_ballot(where != no_pixel);
    if (where != no_pixel) plain_store(hand_of(p) + 1 + count + wave_rank(having), where);
    count += count_lanes(having);
}
// The last ones, one for each lane as far as they go.
RQ_INLINE u32 take_from_hand(const TileParams &p, u32 &count) {
    const u32 taken = min_of(count, wave_size());
    count -= taken;
    return wave_lane() < taken ? plain_load(hand_of(p) + 1 + count + wave_lane()) : no_pixel;
}
RQ_INLINE void store_hand(const TileParams &p, u32 count) {
    if (wave_lane() == 0) plain_store(hand_of(p), count);
}

RQ_INLINE u64 slot_at(const TileParams &p, Slot slot) { return (u64)slot.tile * p.tile_slots + slot.number; }

// Rays of the hand for all lanes; all are idle.
RQ_INLINE void take_rays(const TileParams &p, u32 &count, Held &h) {
    h.where = take_from_hand(p, count);
    if (h.where == no_pixel) return;
    const u64 slot = slot_at(p, slot_of(p, held_place(h.where)));
    h.path = load_slot(p, slot);
    clear_slot(p, slot);
}
// Leaves every lane's ray in its slot, and the lane idle.
RQ_INLINE void leave_rays(const TileParams &p, u32 &count, Held &h) {
    if (h.where != no_pixel) store_slot(p, slot_at(p, slot_of(p, held_place(h.where))), h.path);
    add_to_hand(p, count, h.where);
    h.where = no_pixel;
}

// What a wave has.
struct Work {
    Held held;  // this lane's
    Stash stash;
    u32 in_hand;
    Grab grab;
    bool primaries;  // more may be had
    u32 debt;        // lane-steps that idle lanes have cost since the last refill

    RQ_METHOD bool lives() const { return held.where != no_pixel; }

    // Fresh rays for all lanes, which stay together; what lanes had goes into the stash.
    template <bool Whole> RQ_METHOD void freshen(const TileParams &p) {
        stash.take_all(held);
        if (!Whole && in_hand != 0) take_rays(p, in_hand, held);
        else primaries = take_primaries(p, grab, held);
    }
    // Fills idle lanes if that is worth its price by now. Returns whether the wave has anything left.
    template <bool Whole> RQ_METHOD bool refill(const TileParams &p) {
        for (;;) {
            const LaneMask live = wave_ballot(lives());
            const u32 idle = wave_size() - count_lanes(live);
            debt += idle;
            if (live != 0 && debt < p.refill_price) return true;
            debt = 0;
            const bool more = primaries || (!Whole && in_hand != 0);
            if (stash.count >= idle || (!more && stash.count > 0)) stash.refill(held);
            else if (more && idle > 0) freshen<Whole>(p);
            else return live != 0;
            if (wave_any(lives())) return true;
        }
    }
    template <class S> RQ_METHOD void advance(const TileParams &p, const S &scene, RayTally &tally) {
        if (!lives()) return;
        const Place place = held_place(held.where);
        bool goes_on = step_at(scene, held.path, place, tally);
        // A wave of one lane has nobody to keep step with.
        while (wave_size_is_one && goes_on) goes_on = step_at(scene, held.path, place, tally);
        if (!goes_on && !next_sample(p, place, held.path, tally)) held.where = no_pixel;
    }
    // Leaves everything in slots and in the hand.
    RQ_METHOD void leave(const TileParams &p) {
        while (wave_any(lives()) || stash.count > 0) {
            leave_rays(p, in_hand, held);
            stash.refill(held);
        }
        while (has_slots(grab)) {
            take_primaries(p, grab, held);
            leave_rays(p, in_hand, held);
        }
        store_hand(p, in_hand);
    }
};

// The policy's launch. `Whole`: it may take as long as it needs and no hand holds a ray, so that it ends with the last
// pixel; what a slice's begin and end need would cost it some percent.
template <bool Whole, class S> RQ_INLINE void adaptive(const TileParams &p, const S &scene, RayTally &tally) {
    const u64 start = device_ticks();
    Work work{};
    work.held.where = no_pixel;
    work.stash = Stash::of_this_wave(p);
    work.in_hand = !Whole && p.parked != 0 ? *hand_of(p) : 0;
    work.grab = first_grab(p);
    work.primaries = true;
    for (u32 turn = 1; Whole || !is_over(p, start, turn, tally); ++turn) {
        if (!work.template refill<Whole>(p)) break;
        work.advance(p, scene, tally);
    }
    if constexpr (!Whole) work.leave(p);
}

// Begins with the rays of the hand, and goes on until time or work runs out.
RQ_KERNEL_BOUNDS(adaptive_slice, TileParams, 256, RQ_TRACE_BLOCKS) {
    count_begin();
    with_scene(p.scene, [&](const auto &scene) {
        RayTally tally{};
        adaptive<false>(p, scene, tally);
        flush(p.counters, tally);
    });
}

// Traces all that the pass asks for.
RQ_KERNEL_BOUNDS(adaptive_whole, TileParams, 256, RQ_TRACE_BLOCKS) {
    count_begin();
    with_scene(p.scene, [&](const auto &scene) {
        RayTally tally{};
        adaptive<true>(p, scene, tally);
        flush(p.counters, tally);
    });
}

// Puts what hands hold into the tiles' queues, tile after tile. What a queue refuses, the host finds in its slot.
RQ_KERNEL(adaptive_park, TileParams) {
    count_begin();
    auto lane = TheQueue::lane(p.space, global_thread());
    u32 count = *hand_of(p);
    while (count != 0) {
        const u32 where = take_from_hand(p, count);
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
