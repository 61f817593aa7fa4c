// integrator.h: one step of a path: find the hit, collect its light, choose how to go on.
//
// Two integrators, chosen when the kernel is compiled:
//   whitted   direct light at each hit and one mirror ray on; `shadowed` is whitted with shadow rays
//   path      Monte Carlo: diffuse, metal with fuzz, dielectric, emission, sky; point and directional lights
//             are asked for with shadow rays at diffuse hits. `general` is path over scenes with meshes
#pragma once
#include "trace/material.h"

// Blocks of 256 lanes that a tracing kernel shall fit on a multiprocessor: what its registers are capped for.
// Measured on an H200: fewer spill less, more hide more.
#if RQ_INTEGRATOR_PATH || RQ_INTEGRATOR_GENERAL
#define RQ_TRACE_BLOCKS 3
#else
#define RQ_TRACE_BLOCKS 4
#endif

namespace rq {

// Sends the path on from surface `s`, on the side of `n`, if it may have another hit.
template <class Face>
RQ_INLINE bool continue_path(const SceneView &scene, Path &path, const Face &s, Vec3 n, Vec3 direction) {
    path.origin = offset_point(scene, s, n);
    path.direction = direction;
    path.info++;
    return path_depth(path) < scene.max_depth;
}

template <bool Shadows, class S>
RQ_INLINE bool whitted_bounce(const S &scene, Path &path, const Surface &s, const Material &m, RayTally &tally) {
    const Vec3 albedo = vec(m.albedo);
    if (m.kind == material_dielectric) {
        // One ray goes on: through, unless the reflection is total.
        const Refraction r = refract_or_reflect(path.direction, s, m.parameter, 1.0f);
        return continue_path(scene.view, path, s, r.through ? -s.normal : s.normal, unit(r.direction));
    }
    const float mirror = m.kind == material_reflective ? m.parameter : m.kind == material_metal ? 1.0f : 0.0f;
    Vec3 light = vec(m.emission);
    if (mirror < 1.0f) {
        const Vec3 diffuse = mad(albedo, direct_light<Shadows>(scene, s, tally), vec(scene.view.ambient));
        light = mad(diffuse, 1.0f - mirror, light);
    }
    deposit(scene.view, path, path.weight * light, tally);
    if (!(mirror > 0.0f)) return false;
    path.weight = path.weight * albedo * mirror;
    return continue_path(scene.view, path, s, s.normal, reflect(path.direction, s.normal));
}

// Unit direction to `toward`, or `fallback` where it has no length.
RQ_INLINE Vec3 unit_or(Vec3 toward, Vec3 fallback) {
    const float length2 = dot(toward, toward);
    return length2 > 1.0e-20f ? toward * reciprocal(sqrt_exact(length2)) : fallback;
}

// A path that carries little ends by chance, the survivors carrying what it would have: the largest weight
// is its chance, so that no weight ever exceeds 1.
RQ_INLINE bool survives_roulette(const SceneView &scene, Path &path, float u) {
    if (path_depth(path) < scene.roulette_depth) return true;
    const float chance = largest(path.weight);
    if (chance >= 1.0f) return true;
    if (!(u < chance)) return false;
    path.weight = path.weight * reciprocal(chance);
    return true;
}

template <class S>
RQ_INLINE bool path_bounce(const S &scene, Path &path, u32 pixel, const Surface &s, const Material &m,
                           RayTally &tally) {
    const Vec3 weight = path.weight;
    Vec3 light = vec(m.emission);
    const Random4 r = random4(scene.view, pixel, path_sample(path), 1 + 2 * path_depth(path));
    Vec3 direction, side = s.normal;
    const Vec3 albedo = vec(m.albedo);
    if (m.kind == material_dielectric) {
        const Refraction f = refract_or_reflect(path.direction, s, m.parameter, r.a);
        direction = unit(f.direction);
        if (f.through) side = -s.normal;
    } else if (m.kind == material_metal) {
        const Vec3 mirror = reflect(path.direction, s.normal);
        direction = unit_or(mad(random_direction(r.a, r.b), m.parameter, mirror), mirror);
        if (!(dot(direction, s.normal) > 0.0f)) return false;  // fuzz sent it into the surface: absorbed
        path.weight = path.weight * albedo;
    } else if (m.kind == material_reflective && r.c < m.parameter) {
        direction = reflect(path.direction, s.normal);
        path.weight = path.weight * albedo;
    } else {
        // Lambert: a point of the unit sphere that touches the surface is cosine-distributed.
        if (scene.view.light_count != 0) light = mad(albedo, direct_light<true>(scene, s, tally), light);
        direction = unit_or(s.normal + random_direction(r.a, r.b), s.normal);
        path.weight = path.weight * albedo;
    }
    if (light.x != 0.0f || light.y != 0.0f || light.z != 0.0f) deposit(scene.view, path, weight * light, tally);
    return survives_roulette(scene.view, path, r.d) && continue_path(scene.view, path, s, side, direction);
}

#if RQ_INTEGRATOR_GENERAL
}  // namespace rq
#include "trace/general.h"
#else

// Traces the path's ray and shades what it meets. Returns whether the path goes on.
template <class S> RQ_INLINE bool step(const S &scene, Path &path, [[maybe_unused]] u32 pixel, RayTally &tally) {
    tally.traced++;
    count_step();
    if (path_depth(path) == 0) tally.primary++;
    const Hit hit = nearest_hit(scene, path.origin, path.direction, far_away);
    if (hit.primitive == nothing_hit) {
        deposit(scene.view, path, path.weight * background(scene.view, path.direction), tally);
        return false;
    }
    const Surface s = surface_at(scene, path.origin, path.direction, hit);
    const Material m = scene.material(s.material);
#if RQ_INTEGRATOR_PATH
    return path_bounce(scene, path, pixel, s, m, tally);
#elif RQ_INTEGRATOR_SHADOWED
    return whitted_bounce<true>(scene, path, s, m, tally);
#else
    return whitted_bounce<false>(scene, path, s, m, tally);
#endif
}

}  // namespace rq
#endif
