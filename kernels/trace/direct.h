// direct.h: light that a hit asks for with a shadow ray, and the weight of light that a path finds by itself.
#pragma once
#include "trace/light.h"
#include "trace/substance.h"

namespace rq {

// A shadow ray stops this share of the way before the light's surface.
constexpr float short_of_light = 1.0f - 1.0f / 2048.0f;

// LightingView::sampling: what counts of the light that has a size. src/engine/lighting.rs has the same numbers.
constexpr u32 sampling_both = 0, sampling_lights = 1, sampling_surfaces = 2;
// The weight of light that a shadow ray has asked for with density `pdf`, which a ray could have found with `other`.
RQ_INLINE float asked_share(u32 sampling, float pdf, float other) {
    return sampling == sampling_both ? power_share(pdf, other) : sampling == sampling_lights ? 1.0f : 0.0f;
}
// The weight of light that a ray has found with density `pdf`, which could have been asked for with `other`.
RQ_INLINE float found_share(u32 sampling, float pdf, float other) {
    if (!(pdf > 0.0f && other > 0.0f)) return 1.0f;
    return sampling == sampling_both ? power_share(pdf, other) : sampling == sampling_lights ? 0.0f : 1.0f;
}

RQ_INLINE bool has_lights(const LightingView &lighting) {
    return lighting.emitter_count != 0 || lighting.sky_chance > 0.0f;
}

// A light, by six random numbers: one of r.a for sky or emitter, r.b and r.d for which, r.c for its alias; t.a and t.b
// for the place on it. False: it sends nothing.
RQ_INLINE bool sample_light(const LightingView &lighting, Vec3 from, const Random4 &r, const Random4 &t,
                            LightSample &sample) {
    if (r.a < lighting.sky_chance) {
        const u32 texel = pick(lighting.sky_width * lighting.sky_height, r.b, r.d);
        sample.direction = sample_sky(lighting, texel, r.c, t.a, t.b);
        const Sky sky = image_sky(lighting, sample.direction);
        sample.light = sky.radiance;
        sample.pdf = sky.pdf;
        sample.distance = far_away;
        return sky.pdf > 0.0f;
    }
    u32 number = pick(lighting.emitter_count, r.b, r.d);
    const Alias alias = lighting.emitter_aliases[number];
    if (!(r.c < alias.chance)) number = alias.other;
    const Emitter &e = lighting.emitters[number];
    if (e.kind < emitter_sphere) return sample_lamp(e, from, sample);
    sample.light = vec(e.radiance);
    if (e.kind == emitter_sphere) {
        sample_sphere(e, from, t.a, t.b, sample);
    } else {
        TrianglePoint point;
        if (!sample_triangle(e, from, t.a, t.b, sample, point)) return false;
        if (e.surface != no_surface) {
            const SurfaceShade &shade = lighting.surfaces[e.surface];
            if (is_hole(lighting, shade, point.u, point.v)) return false;
            sample.light = times_texture(lighting, vec(shade.emission), shade.emission_texture, point.u, point.v);
        }
    }
    sample.distance *= short_of_light;
    return true;
}

// A shadow ray, and the light that it decides about.
struct Shadow {
    Vec3 from, direction;
    float distance;
    Vec3 dark, lit;  // what the path collects at the hit if something is in the way, and if nothing is
    bool waits;      // for its answer
};

// Asks for light from one of the scene's lights by way of the surface: true if it comes unless something is in the
// way. At a path's last hit only lights without size count: to see another would take one hit, or look at the sky, more
// than the path may.
RQ_INLINE bool ask_light(const WorldScene &scene, const WorldSurface &s, const Substrate &at, bool last,
                         const Random4 &r, const Random4 &t, Shadow &shadow, Vec3 &light) {
    LightSample sample;
    if (!sample_light(scene.world.lighting, shadow.from, r, t, sample)) return false;
    if ((last && sample.pdf > 0.0f) || !(dot(sample.direction, s.geometric) > 0.0f)) return false;
    const Scatter to = scatter_at(at, s, sample.direction);
    const u32 sampling = scene.world.lighting.sampling;
    const float share = sample.pdf > 0.0f ? divide(asked_share(sampling, sample.pdf, to.pdf), sample.pdf) : 1.0f;
    light = to.share * sample.light * share;
    shadow.direction = sample.direction;
    shadow.distance = sample.distance;
    return largest(light) > 0.0f;
}

// The density with which a hit asks for the light that a ray from it has met; 0: it never does. `asked` is the
// density per area.
RQ_INLINE float asking_pdf(const WorldScene &scene, const WorldHit &hit, const WorldSurface &s, float asked, Vec3 from,
                           Vec3 direction) {
    if (!(asked > 0.0f)) return 0.0f;
    if (hit.instance != no_instance) return area_pdf(asked, hit.t, dot(s.geometric, direction));
    if (hit.primitive >= scene.view.sphere_count) return 0.0f;  // a plane has no end: it is never asked for
    const Float4 c = scene.sphere(hit.primitive);
    const float radius = s.extent, area = 4.0f * radius * radius * reciprocal(inverse_pi);
    return sphere_pdf(from, vec(c.x, c.y, c.z), radius, asked * area);
}

}  // namespace rq
