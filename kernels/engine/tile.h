// tile.h: what the policies of the tile-queue engine share: tiles, their slots and their queues.
//
// A slot is a pixel of its tile; whoever holds its number owns the slot, so payloads never move and nothing
// can overflow. `info` of a slot is stored plus one: zero, as memory is cleared, means that it has no path.
#pragma once
#include "queue/select.h"
#include "trace/integrator.h"

namespace rq {

RQ_INLINE u64 tile_count(const TileParams &p) { return (u64)p.tiles_x * p.tiles_y; }

// Where a tile's slot is in the image: slots are numbered in chunks of 8x4, so that neighbours start together,
// or row by row in tiles that are smaller than that. Slots that pad a tile are beyond the image.
RQ_INLINE Place slot_in_tile(const TileParams &p, u32 slot) {
    if (p.tile_width < 8 || p.tile_height < 4) {
        const u32 row = slot / p.tile_width;
        return Place{slot - row * p.tile_width, row};
    }
    const Place place = chunk_place(p.tile_width, slot);
    const bool pads = place.x >= p.tile_width || place.y >= p.tile_height;
    return Place{pads ? p.scene.width : place.x, place.y};
}
RQ_INLINE Place tile_corner(const TileParams &p, u32 tile) {
    const u32 row = tile / p.tiles_x;
    return Place{(tile - row * p.tiles_x) * p.tile_width, row * p.tile_height};
}
RQ_INLINE Place slot_place(const TileParams &p, u32 tile, u32 slot) {
    const Place corner = tile_corner(p, tile), in_tile = slot_in_tile(p, slot);
    return Place{corner.x + in_tile.x, corner.y + in_tile.y};
}

// A slot's tile and its number there: the inverse of slot_place.
struct Slot {
    u32 tile, number;
};
RQ_INLINE Slot slot_of(const TileParams &p, Place place) {
    const u32 column = place.x / p.tile_width, row = place.y / p.tile_height;
    const u32 x = place.x - column * p.tile_width, y = place.y - row * p.tile_height;
    const u32 tile = row * p.tiles_x + column;
    if (p.tile_width < 8 || p.tile_height < 4) return Slot{tile, y * p.tile_width + x};
    const u32 chunk = y / 4 * ((p.tile_width + 7) / 8) + x / 8;
    return Slot{tile, chunk * chunk_lanes + y % 4 * 8 + x % 8};
}
// Where a slot is in memory.
RQ_INLINE u64 slot_at(const TileParams &p, Slot slot) { return (u64)slot.tile * p.tile_slots + slot.number; }

RQ_INLINE void store_slot(const TileParams &p, u64 slot, Path path) {
    path.info++;
    store_path(p.rays, slot, path);
}
RQ_INLINE Path load_slot(const TileParams &p, u64 slot) {
    Path path = load_path(p.rays, slot);
    path.info--;
    return path;
}
RQ_INLINE bool has_path(const TileParams &p, u64 slot) { return plain_load(p.rays.info + slot) != 0; }
RQ_INLINE void clear_slot(const TileParams &p, u64 slot) { plain_store(p.rays.info + slot, 0u); }

// The largest value of the wave's lanes, in every lane.
RQ_INLINE u32 wave_largest(u32 v) {
    for (u32 step = wave_size() / 2; step > 0; step /= 2) v = max_of(v, wave_exchange(v, wave_lane() ^ step));
    return v;
}

// Of the tiles from `start` on, one with much work: the fullest of the first group (a tile a lane) that has
// any by `amount(tile)`. Every lane gets the same answer; tile_count if there is none.
template <class Amount> RQ_INLINE u32 fullest_tile(const TileParams &p, u32 start, Amount amount) {
    const u32 tiles = (u32)tile_count(p), width = wave_size();
    for (u32 seen = 0; seen < tiles; seen += width) {
        const u32 offset = seen + wave_lane();
        const u32 tile = start + offset < tiles ? start + offset : start + offset - tiles;
        const u32 mine = offset < tiles ? amount(tile) : 0;
        const u32 most = wave_largest(mine);
        if (most != 0) return wave_broadcast(tile, first_lane(wave_ballot(mine == most)));
    }
    return tiles;
}
RQ_INLINE u32 tile_with_rays(const TileParams &p, u32 start) {
    return fullest_tile(p, start, [&](u32 tile) { return (u32)TheQueue::length(TheQueue::at(p.space, tile)); });
}

// Enqueues a slot's number. Returns whether the queue took it; if not (a pool that is used up), the lane keeps
// the ray. A slot that another lane is just emptying is waited for: that lane is within its dequeue, and a
// blocking queue has already given this one its ticket.
template <class Queue, class QueueLane>
RQ_INLINE bool put_back(Queue &queue, QueueLane &lane, bool want, u32 number) {
    QueueStatus status = TheQueue::enqueue(queue, lane, want, number);
    while (wave_any(status == queue_busy)) {
        spin_hint();
        const QueueStatus again = TheQueue::enqueue(queue, lane, status == queue_busy, number);
        if (status == queue_busy) status = again;
    }
    return status == queue_ok;
}

// Turns of a persistent kernel between two looks at the clock.
constexpr u32 turns_unseen = wave_size_is_one ? 64 : 8;

// Whether the wave has used up its time and got something done: a slice may be shorter than it takes to draw
// slots that have nothing left to do. One answer for the wave: the clocks of its lanes need not agree.
RQ_INLINE bool is_time(const TileParams &p, u64 start, const RayTally &tally) {
    return p.budget_ticks != 0 && wave_broadcast((u32)(device_ticks() - start >= p.budget_ticks), 0) != 0 &&
           wave_any((tally.traced | tally.finished) != 0);
}
// The same, looked at now and then.
RQ_INLINE bool is_over(const TileParams &p, u64 start, u32 turn, const RayTally &tally) {
    return turn % turns_unseen == 0 && is_time(p, start, tally);
}

// The path's sample is over: into the film with it. Returns whether the pixel goes on, with its next sample.
RQ_INLINE bool next_sample(const TileParams &p, Place place, Path &path, RayTally &tally) {
    const u32 sample = path_sample(path);
    commit(p.film, pixel_of(p.scene, place), path.red, path.green, path.blue, sample, 1, tally);
    if (sample + 1 >= p.samples) return false;
    path = primary_path(p.scene, place, sample + 1);
    return true;
}
template <class S> RQ_INLINE bool step_at(const S &scene, Path &path, Place place, RayTally &tally) {
    return scene.view.max_depth != 0 && step(scene, path, pixel_of(scene.view, place), tally);
}

}  // namespace rq
