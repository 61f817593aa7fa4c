// tile_queue.cpp: tiles that each own a queue of ray slots, and a persistent kernel that serves them.
//
// A slot is a pixel of its tile; whoever holds its number owns the slot, so payloads never move. A ray that
// goes on returns to its own tile's queue; when a path ends, the pixel's next sample takes its place.
//
// Policy `paper`: every primary is in its queue before tracing starts, and every bounce goes through the queue.
#include "queue/select.h"
#include "trace/integrator.h"

namespace rq {

RQ_KERNEL(queue_initialise, QueueInitParams) {
    // One wave a queue at a time on a GPU, one worker on the CPU.
    const Items queues = my_wave_numbers(p.space.queues);
    for (u64 q = queues.first; q < queues.end; q += queues.step)
        TheQueue::initialise(p.space, (u32)q, wave_lane(), wave_size(), p.fill);
}

// Where a tile's slot is in the image: slots are numbered in chunks of 8x4, so that neighbours start together.
// Slots that pad the tile to whole chunks are beyond the image.
RQ_INLINE Place slot_place(const TileParams &p, u32 tile, u32 slot) {
    const Place in_tile = chunk_place(p.tile_width, slot);
    if (in_tile.x >= p.tile_width || in_tile.y >= p.tile_height) return Place{p.scene.width, 0};
    const u32 row = tile / p.tiles_x;
    return Place{(tile - row * p.tiles_x) * p.tile_width + in_tile.x, row * p.tile_height + in_tile.y};
}

RQ_INLINE u64 tile_count(const TileParams &p) { return (u64)p.tiles_x * p.tiles_y; }

// The next sample of every pixel that lacks one, into its slot. Slots without work are marked as such; their
// numbers are in the queue all the same and drop out when they are drawn.
RQ_KERNEL(tile_generate, TileParams) {
    const Items slots = my_items(tile_count(p) * p.tile_slots);
    for (u64 i = slots.first; i < slots.end; i += slots.step) {
        const Place place = slot_place(p, (u32)(i / p.tile_slots), (u32)(i % p.tile_slots));
        const u32 pixel = pixel_at(p.scene, place);
        const u32 sample = pixel == no_pixel ? p.samples : p.film.counts[pixel];
        if (sample < p.samples) store_path(p.rays, i, primary_path(p.scene, place, sample));
        else p.rays.info[i] = no_path;
    }
}

// Of the tiles from `start` on, one with much work: the fullest of the first group (a tile a lane) that has
// any. Every lane gets the same answer; tile_count if all queues look empty.
RQ_INLINE u32 find_work(const TileParams &p, u32 start) {
    const u32 tiles = (u32)tile_count(p), width = wave_size();
    for (u32 seen = 0; seen < tiles; seen += width) {
        const u32 offset = seen + wave_lane();
        const u32 tile = start + offset < tiles ? start + offset : start + offset - tiles;
        u32 length = 0;
        if (offset < tiles) length = (u32)TheQueue::length(TheQueue::at(p.space, tile));
        u32 most = length;
        for (u32 step = width / 2; step > 0; step /= 2)
            most = max_of(most, wave_exchange(most, wave_lane() ^ step));
        if (most == 0) continue;
        return wave_broadcast(tile, first_lane(wave_ballot(length == most)));
    }
    return tiles;
}

// Traces the path in a slot by one step. Returns whether the slot has a ray to enqueue again.
template <class S>
RQ_INLINE bool advance(const TileParams &p, const S &scene, u64 slot, Place place, RayTally &tally) {
    const u32 pixel = pixel_at(p.scene, place);
    Path path = load_path(p.rays, slot);
    if (path.info == no_path) return false;
    if (p.scene.max_depth == 0 || !step(scene, path, pixel, tally)) {
        const u32 sample = path_sample(path);
        commit(p.film, pixel, path.red, path.green, path.blue, sample, 1, tally);
        if (sample + 1 >= p.samples) {
            p.rays.info[slot] = no_path;
            return false;
        }
        path = primary_path(p.scene, place, sample + 1);
    }
    store_path(p.rays, slot, path);
    return true;
}

// Batches between two looks at the clock.
constexpr u32 batches_unseen = wave_size_is_one ? 64 : 4;

// Policy `paper`. A ray that its queue will not take (a pool that is used up, a slot in another lane's hands)
// stays with its lane, which goes on with it; at the end of a slice the host finds it in its slot.
RQ_KERNEL_BOUNDS(tile_trace, TileParams, 256, RQ_TRACE_BLOCKS) {
    with_scene(p.scene, [&](const auto &scene) {
        RayTally tally{};
        auto lane = TheQueue::lane(p.space, global_thread());
        const u64 start = device_ticks();
        const u32 tiles = (u32)tile_count(p);
        u32 tile = (u32)((u64)global_wave() * tiles / grid_waves());
        auto queue = TheQueue::at(p.space, tile);
        u32 number = 0;
        bool holds = false;
        for (u32 batch = 1;; ++batch) {
            const QueueStatus taken = TheQueue::dequeue(queue, lane, !holds, number);
            holds = holds || taken == queue_ok;
            if (wave_any(holds)) {
                bool goes_on = false;
                if (holds) {
                    const u64 slot = (u64)tile * p.tile_slots + number;
                    goes_on = advance(p, scene, slot, slot_place(p, tile, number), tally);
                }
                holds = TheQueue::enqueue(queue, lane, goes_on, number) != queue_ok && goes_on;
            } else {
                // Nobody waits for a ray that another wave holds: that wave will enqueue it and look again.
                tile = find_work(p, tile);
                if (tile == tiles) break;
                queue = TheQueue::at(p.space, tile);
            }
            // One answer for the wave: the clocks of its lanes need not agree.
            if (p.budget_ticks != 0 && batch % batches_unseen == 0 &&
                wave_broadcast((u32)(device_ticks() - start >= p.budget_ticks), 0) != 0)
                break;
        }
        flush(p.counters, tally);
    });
}

}  // namespace rq
