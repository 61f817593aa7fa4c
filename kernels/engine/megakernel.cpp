// megakernel.cpp: one lane per pixel, samples and bounces in a loop.
#include "trace/integrator.h"

namespace rq {

// The samples that a pixel lacks, traced one after the other.
template <class S>
RQ_INLINE void render_pixel(const MegakernelParams &p, const S &scene, Place place, u32 pixel, RayTally &tally) {
    const u32 before = p.film.counts[pixel];
    count_bytes(4);
    if (before >= p.samples) return;
    u64 red = 0, green = 0, blue = 0;
    for (u32 sample = before; sample < p.samples; ++sample) {
        Path path = primary_path(p.scene, place, sample);
        bool goes_on = p.scene.max_depth > 0;
        while (goes_on) goes_on = step(scene, path, pixel, tally);
        red += path.red;
        green += path.green;
        blue += path.blue;
    }
    commit(p.film, pixel, red, green, blue, before, p.samples - before, tally);
}

RQ_KERNEL_BOUNDS(megakernel, MegakernelParams, 256, RQ_TRACE_BLOCKS) {
    count_begin();
    with_scene(p.scene, [&](const auto &scene) {
        RayTally tally{};
        const Items items = my_items(p.chunks * chunk_lanes);
        for (u64 i = items.first; i < items.end; i += items.step) {
            const Place place = chunk_place(p.scene.width, p.first_chunk * chunk_lanes + i);
            const u32 pixel = pixel_at(p.scene, place);
            if (pixel != no_pixel) render_pixel(p, scene, place, pixel, tally);
        }
        flush(p.counters, tally);
    });
}

}  // namespace rq
