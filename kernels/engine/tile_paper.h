// tile_paper.h: the paper's policy. Every primary is in its tile's queue before tracing starts, and every ray
// that goes on returns to its tile's queue.
#pragma once
#include "engine/tile.h"

namespace rq {

// The next sample of every pixel that lacks one, into its slot. The numbers of slots without work are in the
// queue all the same and drop out when they are drawn.
RQ_KERNEL(paper_generate, TileParams) {
    count_begin();
    const Items slots = my_items(tile_count(p) * p.tile_slots);
    for (u64 i = slots.first; i < slots.end; i += slots.step) {
        const Place place = slot_place(p, (u32)(i / p.tile_slots), (u32)(i % p.tile_slots));
        const u32 pixel = pixel_at(p.scene, place);
        const u32 sample = pixel == no_pixel ? p.samples : p.film.counts[pixel];
        if (sample < p.samples) store_slot(p, i, primary_path(p.scene, place, sample));
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
    if (!step_at(scene, path, place, tally) && !next_sample(p, place, path, tally)) {
        clear_slot(p, slot);
        return false;
    }
    store_slot(p, slot, path);
    return true;
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
        u32 tile = (u32)((u64)global_wave() * tiles / grid_waves());
        auto queue = TheQueue::at(p.space, tile);
        u32 number = 0;
        bool holds = false;
        for (u32 turn = 1; !is_over(p, start, turn, tally); ++turn) {
            const QueueStatus taken = TheQueue::dequeue(queue, lane, !holds, number);
            holds = holds || taken == queue_ok;
            if (wave_any(holds)) {
                bool goes_on = false;
                if (holds) {
                    const u64 slot = (u64)tile * p.tile_slots + number;
                    goes_on = advance(p, scene, slot, slot_place(p, tile, number), tally);
                }
                holds = !put_back(queue, lane, goes_on, number) && goes_on;
            } else {
                // Nobody waits for a ray that another wave holds: that wave will enqueue it and look again.
                tile = tile_with_rays(p, tile);
                if (tile == tiles) break;
                queue = TheQueue::at(p.space, tile);
            }
        }
        flush(p.counters, tally);
    });
}

}  // namespace rq
