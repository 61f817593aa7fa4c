// general.h: path tracing of general scenes: meshes, spheres and planes with every material.
#pragma once
#include "trace/surface.h"

namespace rq {

// Calls `body` with the scene.
template <class Body> RQ_INLINE void with_scene(const SceneView &view, Body body) {
    body(WorldScene{{view}, *view.world});
}

// A direction on the ray's side of the true surface: interpolated normals send some to the other side, from where
// they are mirrored, so that no light is lost.
RQ_INLINE Vec3 above(const WorldSurface &s, Vec3 direction) {
    const float height = dot(direction, s.geometric);
    return height < 0.0f ? mad(s.geometric, -2.0f * height, direction) : direction;
}

RQ_INLINE bool general_bounce(const WorldScene &scene, Path &path, u32 pixel, const WorldSurface &s, const Material &m,
                              RayTally &tally) {
    const Vec3 weight = path.weight;
    Vec3 light = vec(m.emission);
    const Random4 r = random4(scene.view, pixel, path_sample(path), 1 + 2 * path_depth(path));
    Vec3 direction, side = s.geometric;
    const Vec3 albedo = vec(m.albedo);
    if (m.kind == material_dielectric) {
        const Refraction f = refract_or_reflect(path.direction, s, m.parameter, r.a);
        direction = f.through ? -above(s, -unit(f.direction)) : above(s, unit(f.direction));
        if (f.through) side = -side;
    } else if (m.kind == material_metal) {
        const Vec3 mirror = above(s, reflect(path.direction, s.normal));
        direction = unit_or(mad(random_direction(r.a, r.b), m.parameter, mirror), mirror);
        if (!(dot(direction, s.geometric) > 0.0f)) return false;  // fuzz sent it into the surface: absorbed
        path.weight = path.weight * albedo;
    } else if (m.kind == material_reflective && r.c < m.parameter) {
        direction = above(s, reflect(path.direction, s.normal));
        path.weight = path.weight * albedo;
    } else {
        // Lambert: a point of the unit sphere that touches the surface is cosine-distributed.
        if (scene.view.light_count != 0) light = mad(albedo, direct_light<true>(scene, s, tally), light);
        direction = above(s, unit_or(s.normal + random_direction(r.a, r.b), s.normal));
        path.weight = path.weight * albedo;
    }
    if (light.x != 0.0f || light.y != 0.0f || light.z != 0.0f) deposit(scene.view, path, weight * light, tally);
    return survives_roulette(scene.view, path, r.d) && continue_path(scene.view, path, s, side, direction);
}

// Traces the path's ray and shades what it meets. Returns whether the path goes on.
RQ_INLINE bool step(const WorldScene &scene, Path &path, u32 pixel, RayTally &tally) {
    tally.traced++;
    if (path_depth(path) == 0) tally.primary++;
    const WorldHit hit = nearest_hit(scene, path.origin, path.direction, far_away);
    if (hit.primitive == nothing_hit) {
        deposit(scene.view, path, path.weight * background(scene.view, path.direction), tally);
        return false;
    }
    const WorldSurface s = surface_at(scene, path.origin, path.direction, hit);
    return general_bounce(scene, path, pixel, s, scene.material(s.material), tally);
}

}  // namespace rq
