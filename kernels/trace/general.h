// general.h: path tracing of general scenes: meshes, spheres and planes with every material, under every light.
//
// At each hit a path adds what the surface gives off, asks for one light (direct.h), and goes on. Light that can be
// found in both ways counts with weights that add up to 1. The shadow ray is traced last, when nothing of the hit has to
// be kept any more.
#pragma once
#include "trace/direct.h"

namespace rq {

// Calls `body` with the scene.
template <class Body> RQ_INLINE void with_scene(const SceneView &view, Body body) {
    body(WorldScene{{view}, *view.world});
}

// How a path goes on from a hit: the factor of its weight in `onward`, and the side of the surface.
struct Way {
    Onward onward;
    Vec3 side;
};

// Mirrors and glass, which no light can be sampled for. False: the path ends.
RQ_INLINE bool mirror_way(const WorldSurface &s, const Material &m, Vec3 d, const Random4 &r, Way &way) {
    way.onward.pdf = 0.0f;
    way.onward.weight = vec(m.albedo);
    if (m.kind == material_dielectric) {
        const Refraction f = refract_or_reflect(d, s, m.parameter, r.a);
        way.onward.direction = f.through ? -above(s, -unit(f.direction)) : above(s, unit(f.direction));
        way.onward.weight = vec(1.0f, 1.0f, 1.0f);
        if (f.through) way.side = -way.side;
        return true;
    }
    const Vec3 mirror = above(s, reflect(d, s.normal));
    way.onward.direction = mirror;
    if (m.kind != material_metal) return true;
    way.onward.direction = unit_or(mad(random_direction(r.a, r.b), m.parameter, mirror), mirror);
    return dot(way.onward.direction, s.geometric) > 0.0f;  // else fuzz sent it into the surface: absorbed
}
RQ_INLINE bool is_mirror(const Material &m, const Random4 &r) {
    return m.kind == material_dielectric || m.kind == material_metal ||
           (m.kind == material_reflective && r.c < m.parameter);
}

// Dimensions of random numbers beyond those of every depth (random.h): places on lights.
constexpr u32 first_place_dimension = 2u << depth_bits;

// Light that the surface gives off, a shadow ray to a light, and how the path goes on. False: it ends.
RQ_INLINE bool substrate_way(const WorldScene &scene, const Path &path, u32 pixel, const WorldHit &hit,
                             const WorldSurface &s, const Material &m, const Random4 &r, Shadow &shadow, Way &way) {
    const Substrate at = substrate_at(scene, s, m, path.direction);
    Vec3 light = vec(0.0f, 0.0f, 0.0f);
    if (largest(at.emission) > 0.0f)
        light = at.emission * found_share(scene.world.lighting.sampling, path.pdf,
                                          asking_pdf(scene, hit, s, at.asked, path.origin, path.direction));
    shadow.dark = path.weight * light;
    if (has_lights(scene.world.lighting) && !is_mirror(at.lobes)) {
        const u32 sample = path_sample(path), depth = path_depth(path);
        const Random4 which = random4(scene.view, pixel, sample, 2 + 2 * depth);
        const Random4 where = random4(scene.view, pixel, sample, first_place_dimension + depth);
        shadow.from = offset_point(scene.view, s, s.geometric);
        Vec3 asked;
        shadow.waits = ask_light(scene, s, at, depth + 1 >= scene.view.max_depth, which, where, shadow, asked);
        if (shadow.waits) shadow.lit = path.weight * (light + asked);
    }
    return sample_at(at, s, r, way.onward);
}

// What happens to the path at a hit. Returns whether it goes on; there may be a shadow ray to trace.
RQ_INLINE bool general_bounce(const WorldScene &scene, Path &path, u32 pixel, const WorldHit &hit, Shadow &shadow,
                              RayTally &tally) {
    const WorldSurface s = surface_at(scene, path.origin, path.direction, hit);
    const Material m = scene.material(s.material);
    const Random4 r = random4(scene.view, pixel, path_sample(path), 1 + 2 * path_depth(path));
    Way way{};
    way.side = s.geometric;
    shadow.dark = vec(0.0f, 0.0f, 0.0f);
    const bool goes_on = is_mirror(m, r) ? mirror_way(s, m, path.direction, r, way)
                                         : substrate_way(scene, path, pixel, hit, s, m, r, shadow, way);
    if (shadow.waits) tally.shadow++;
    else if (shadow.dark.x != 0.0f || shadow.dark.y != 0.0f || shadow.dark.z != 0.0f)
        deposit(scene.view, path, shadow.dark, tally);
    if (!goes_on) return false;
    path.weight = path.weight * way.onward.weight;
    path.pdf = way.onward.pdf;
    if (!(sum_of(path.weight) < most_weight)) {  // no number, or no weight that a path can have
        tally.bad++;
        return false;
    }
    if (!survives_roulette(scene.view, path, r.d)) return false;
    path.weight = storable(path.weight);
    return continue_path(scene.view, path, s, way.side, way.onward.direction);
}

RQ_INLINE bool see_sky(const WorldScene &scene, Path &path, RayTally &tally) {
    const LightingView &lighting = scene.world.lighting;
    Vec3 light;
    if (lighting.sky_width != 0) {
        const Sky sky = image_sky(lighting, path.direction);
        light = sky.radiance * found_share(lighting.sampling, path.pdf, sky.pdf);
    } else {
        light = background(scene.view, path.direction);
    }
    deposit(scene.view, path, path.weight * light, tally);
    return false;
}

// What a hit of the path's ray comes to. Returns whether the path goes on; there may be a shadow ray to trace.
RQ_INLINE bool shade(const WorldScene &scene, Path &path, u32 pixel, const WorldHit &hit, Shadow &shadow,
                     RayTally &tally) {
    tally.traced++;
    count_step();
    if (path_depth(path) == 0) tally.primary++;
    shadow.waits = false;
    if (hit.primitive == nothing_hit) return see_sky(scene, path, tally);
    return general_bounce(scene, path, pixel, hit, shadow, tally);
}

// Traces the path's ray and shades what it meets. Returns whether the path goes on.
RQ_INLINE bool step(const WorldScene &scene, Path &path, u32 pixel, RayTally &tally) {
    const WorldHit hit = nearest_hit(scene, path.origin, path.direction, far_away);
    Shadow shadow;
    const bool goes_on = shade(scene, path, pixel, hit, shadow, tally);
    if (shadow.waits) {
        const bool hidden = is_hidden(scene, shadow.from, shadow.direction, shadow.distance);
        deposit(scene.view, path, hidden ? shadow.dark : shadow.lit, tally);
    }
    return goes_on;
}

}  // namespace rq
