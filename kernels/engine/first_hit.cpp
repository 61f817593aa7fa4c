// first_hit.cpp: what the centre of each pixel sees first, for pictures beside the picture (albedo, normal, depth,
// object). One ray a pixel, unfiltered; the film is not touched.
#include "trace/integrator.h"

namespace rq {

// General scenes have one of their own: trace/substance.h.
template <class S> RQ_INLINE Vec3 albedo_at(const S &, const Surface &, const Material &m) { return vec(m.albedo); }

template <class S> RQ_INLINE FirstHit first_hit_of(const S &scene, const Path &path) {
    const auto hit = nearest_hit(scene, path.origin, path.direction, far_away);
    if (hit.primitive == nothing_hit) return FirstHit{{}, as_float(0x7f800000u), {}, 0};
    const auto s = surface_at(scene, path.origin, path.direction, hit);
    const Vec3 albedo = albedo_at(scene, s, scene.material(s.material));
    return FirstHit{{albedo.x, albedo.y, albedo.z}, hit.t, {s.normal.x, s.normal.y, s.normal.z},
                    object_number(scene, hit)};
}

RQ_KERNEL_BOUNDS(first_hit, FirstHitParams, 256, RQ_TRACE_BLOCKS) {
    with_scene(p.scene, [&](const auto &scene) {
        const Items items = my_items(p.chunks * chunk_lanes);
        for (u64 i = items.first; i < items.end; i += items.step) {
            const Place place = chunk_place(p.scene.width, i);
            const u32 pixel = pixel_at(p.scene, place);
            if (pixel != no_pixel) p.hits[pixel] = first_hit_of(scene, primary_path(p.scene, place, 0));
        }
    });
}

}  // namespace rq
