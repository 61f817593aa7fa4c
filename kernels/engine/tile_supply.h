// tile_supply.h: where the adaptive policy's waves have their rays from, and where they leave them: turns of primaries, and
// hands.
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

// The lanes of a wave that something is for: how many they are, and which of them this one is.
struct Takers {
    u32 count, rank;
    bool takes;
};
RQ_INLINE Takers all_lanes() { return Takers{wave_size(), wave_lane(), true}; }
RQ_INLINE Takers lanes_that(bool take) {
    const LaneMask takers = wave_ballot(take);
    return Takers{count_lanes(takers), wave_rank(takers), take};
}

// This wave's share of the on-chip memory behind the scene, of so many words a lane.
RQ_INLINE u32 *wave_memory(const TileParams &p, u32 words) {
    return shared_memory<u32>() + p.stash_offset / 4 + thread_in_block() / wave_size() * wave_size() * words;
}

// ---- primaries

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

// Primaries for the takers, as far as the turn goes; neighbours stay together. False: no turn is left.
RQ_INLINE bool take_primaries(const TileParams &p, Grab &grab, const Takers &takers, Held &h) {
    if (!grab_slots(p, grab)) return false;
    const u32 tile = grab.turn / p.tile_turns;
    const u32 in_turn = grab.offset + takers.rank;
    const u32 slot = (grab.turn - tile * p.tile_turns) * turn_slots() + in_turn;
    grab.offset += takers.count;
    if (grab.offset >= turn_slots()) {
        grab.offset = 0;
        grab.turn++;
    }
    if (!takers.takes || in_turn >= turn_slots()) return true;
    const Place place = slot_place(p, tile, slot);
    const u32 pixel = slot < p.tile_slots ? pixel_at(p.scene, place) : no_pixel;
    if (pixel == no_pixel) return true;
    const u32 sample = p.known_samples != ~0u ? p.known_samples : p.film.counts[pixel];
    if (sample < p.samples) h = Held{primary_path(p.scene, place, sample), pack_place(place)};
    return true;
}

// ---- hands

// A wave's hand: places of the image whose rays are in their slots, and are this wave's. Their number comes first.
RQ_INLINE u32 *hand_of(const TileParams &p) { return p.hands + global_wave() * (u64)(1 + p.hand_size); }

// Adds the places of the lanes that have one.
RQ_INLINE void add_to_hand(const TileParams &p, u32 &count, u32 where) {
    const Takers having = lanes_that(where != no_pixel);
    if (having.takes) plain_store(hand_of(p) + 1 + count + having.rank, where);
    count += having.count;
}
// The last ones, one for each taker as far as they go.
RQ_INLINE u32 take_from_hand(const TileParams &p, u32 &count, const Takers &takers) {
    const u32 taken = min_of(count, takers.count);
    count -= taken;
    return takers.takes && takers.rank < taken ? plain_load(hand_of(p) + 1 + count + takers.rank) : no_pixel;
}
RQ_INLINE void store_hand(const TileParams &p, u32 count) {
    if (wave_lane() == 0) plain_store(hand_of(p), count);
}

// Rays of the hand for the takers.
RQ_INLINE void take_rays(const TileParams &p, u32 &count, const Takers &takers, Held &h) {
    const u32 where = take_from_hand(p, count, takers);
    if (where == no_pixel) return;
    h.where = where;
    const u64 slot = slot_at(p, slot_of(p, held_place(h.where)));
    h.path = load_slot(p, slot);
    clear_slot(p, slot);
}

// What a wave can begin. `Whole`: its launch may take as long as it needs, no hand holds a ray, and paths may have hits;
// what a slice's begin and end need would cost it some percent.
template <bool Whole> struct Supply {
    Grab grab;
    u32 in_hand;
    bool primaries;  // more may be had

    RQ_METHOD static Supply of_this_wave(const TileParams &p) {
        return Supply{first_grab(p), !Whole && p.parked != 0 ? *hand_of(p) : 0, true};
    }
    RQ_METHOD bool has_more() const { return primaries || (!Whole && in_hand != 0); }
    // Rays for some of the takers, who have none; all lanes call.
    RQ_METHOD void give(const TileParams &p, const Takers &takers, Held &h) {
        if (!Whole && in_hand != 0) take_rays(p, in_hand, takers, h);
        else primaries = take_primaries(p, grab, takers, h);
    }
    // Leaves every lane's ray in its slot and in the hand, and the lane idle.
    RQ_METHOD void leave(const TileParams &p, Held &h) {
        if (h.where != no_pixel) store_slot(p, slot_at(p, slot_of(p, held_place(h.where))), h.path);
        add_to_hand(p, in_hand, h.where);
        h.where = no_pixel;
    }
    // Leaves the slots that it was given and did not begin; no lane has a ray.
    RQ_METHOD void end(const TileParams &p) {
        Held h;
        h.where = no_pixel;
        while (has_slots(grab)) {
            take_primaries(p, grab, all_lanes(), h);
            leave(p, h);
        }
        store_hand(p, in_hand);
    }
};

}  // namespace rq
