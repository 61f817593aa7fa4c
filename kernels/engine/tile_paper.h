// tile_paper.h: the paper's policy. Every primary is in its tile's queue before tracing starts, and every ray
// that goes on returns to its tile's queue.
#pragma once
#include "engine/tile.h"

namespace rq {

// The next sample of every pixel that lacks one, into its slot: its number alone, the ray being made from it when
// it is drawn. The numbers of slots without work are in the queue all the same and drop out then.
RQ_KERNEL(paper_generate, TileParams) {
    count_begin();
    const Items slots = my_items(tile_count(p) * p.tile_slots);
    for (u64 i = slots.first; i < slots.end; i += slots.step) {
        const Place place = slot_place(p, (u32)(i / p.tile_slots), (u32)(i % p.tile_slots));
        const u32 pixel = pixel_at(p.scene, place);
        const u32 sample = pixel == no_pixel ? p.samples : p.film.counts[pixel];
        if (sample < p.samples) plain_store(p.rays.info + i, (sample << depth_bits) + 1);
        else clear_slot(p, i);
        count_bytes(4);
    }
    flush_effort(p.counters);
}

// Traces the path in a slot by one step. Returns whether the slot has a ray to enqueue again.
template <class S>
RQ_INLINE bool advance(const TileParams &p, const S &scene, u64 slot, Place place, RayTally &tally) {
    Path path = load_slot(p, slot);
    if (path.info == no_path) return false;
    if (path_depth(path) == 0) path = primary_path(p.scene, place, path_sample(path));
    if (!step_at(scene, path, place, tally) && !next_sample(p, place, path, tally)) {
        clear_slot(p, slot);
        return false;
    }
    store_slot(p, slot, path);
    return true;
}

// Where a wave goes on that finds its tile empty. Waves serve the tiles in groups of `tile_waves`, each group its own
// tiles one after the other, so that few tiles' rays are under way at a time and stay in the caches. Whoever has no
// tile of its own left helps elsewhere. Every lane gets the same answer.
RQ_INLINE u32 next_tile(const TileParams &p, u32 &own, u32 groups, u32 home) {
    const u32 tiles = (u32)tile_count(p);
    for (own += groups; own < tiles; own += groups) {
        // Lanes may see different lengths, but must agree.
        const u32 waiting = (u32)TheQueue::length(TheQueue::at(p.space, own));
        if (wave_broadcast(waiting, 0) != 0) return own;
    }
    own = tiles;
    return tile_with_rays(p, home);
}

// A ray that its queue will not take (a pool that is used up) stays with its lane, which goes on with it; at the
// end of a slice the host finds it in its slot.
RQ_KERNEL_BOUNDS(paper_trace, TileParams, 256, RQ_TRACE_BLOCKS) {
    count_begin();
    with_scene(p.scene, [&](const auto &scene) {
        RayTally tally{};
        auto lane = TheQueue::lane(p.space, global_thread());
        const u64 start = device_ticks();
        const u32 tiles = (u32)tile_count(p);
        const u32 groups = (grid_waves() + p.tile_waves - 1) / p.tile_waves;
        const u32 home = (u32)((u64)global_wave() * tiles / grid_waves());
        u32 own = global_wave() / p.tile_waves;  // the next tile of this wave's group
        u32 tile = own < tiles ? own : home;
        auto queue = TheQueue::at(p.space, tile);
        u32 number = 0;
        bool holds = false;
        for (u32 turn = 1; !is_over(p, start, turn, tally); ++turn) {
            const QueueStatus taken = TheQueue::dequeue(queue, lane, !holds, number);
            holds = holds || taken == queue_ok;
            if (wave_any(holds)) {
                bool goes_on = false;
                if (holds) {
                    const u64 slot = slot_at(p, Slot{tile, number});
                    goes_on = advance(p, scene, slot, slot_place(p, tile, number), tally);
                }
                holds = !put_back(queue, lane, goes_on, number) && goes_on;
            } else {
                // Nobody waits for a ray that another wave holds: that wave will enqueue it and look again.
                tile = next_tile(p, own, groups, home);
                if (tile == tiles) break;
                queue = TheQueue::at(p.space, tile);
            }
        }
        flush(p.counters, tally);
    });
}

}  // namespace rq
