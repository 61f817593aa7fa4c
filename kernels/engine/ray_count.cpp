// ray_count.cpp: how many rays one sample of each pixel takes. For false-colour pictures; the film is not touched.
#include "trace/integrator.h"

namespace rq {

RQ_KERNEL_BOUNDS(ray_count, RayCountParams, 256, RQ_TRACE_BLOCKS) {
    with_scene(p.scene, [&](const auto &scene) {
        const Items items = my_items(p.chunks * chunk_lanes);
        for (u64 i = items.first; i < items.end; i += items.step) {
            const Place place = chunk_place(p.scene.width, i);
            const u32 pixel = pixel_at(p.scene, place);
            if (pixel == no_pixel) continue;
            RayTally tally{};
            Path path = primary_path(p.scene, place, p.sample);
            bool goes_on = p.scene.max_depth > 0;
            while (goes_on) goes_on = step(scene, path, pixel, tally);
            p.rays[pixel] = tally.traced + tally.shadow;
        }
    });
}

}  // namespace rq
