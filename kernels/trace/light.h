// light.h: choosing a light, and a point of it, to ask for with a shadow ray.
//
// Everything that gives off light is an emitter: lights without size, spheres, triangles, and the sky's image. A hit
// asks for one of them, chosen by a table of aliases (Walker 1977) in proportion to its power; where an emitter is
// one that a ray can hit, both ways count with the weights of Veach's power heuristic.
#pragma once
#include "trace/environment.h"
#include "trace/intersect.h"

namespace rq {

constexpr u32 emitter_directional = 0, emitter_point = 1, emitter_spot = 2, emitter_sphere = 3, emitter_triangle = 4;
// Emitter::surface where the light of all its points is `radiance`.
constexpr u32 no_surface = 0xffffffffu;

// The weight of a sample of density p that could have been found with density q in another way.
RQ_INLINE float power_share(float p, float q) {
    const float ratio = divide(q, p);
    return reciprocal(fma(ratio, ratio, 1.0f));
}

// A light as seen from a point. `pdf` is the density of the direction, choice of the emitter included; 0: the light
// has no size, and `light` is its irradiance on a facing surface over the chance of its choice.
struct LightSample {
    Vec3 direction;
    float distance;
    Vec3 light;  // else: the radiance from there
    float pdf;
};

// Lights without size.
RQ_INLINE bool sample_lamp(const Emitter &e, Vec3 from, LightSample &s) {
    float strength = reciprocal(e.chance);
    s.direction = vec(e.place);
    s.distance = far_away;
    s.pdf = 0.0f;
    if (e.kind != emitter_directional) {
        const Vec3 to = s.direction - from;
        const float d2 = max_of(dot(to, to), 1.0e-12f);
        s.distance = sqrt_exact(d2);
        s.direction = to * reciprocal(s.distance);
        strength = divide(strength, d2);
    }
    if (e.kind == emitter_spot) {
        // KHR_lights_punctual: the square of a ramp between the cosines of the outer and the inner angle.
        const float inner = e.uv[0], outer = e.uv[1], cosine = -dot(s.direction, vec(e.first));
        const float ramp = min_of(divide(cosine - outer, max_of(inner - outer, 1.0e-3f)), 1.0f);
        if (!(ramp > 0.0f)) return false;
        strength *= ramp * ramp;
    }
    s.light = vec(e.second) * strength;
    return true;
}

// One less the cosine of half the angle that a sphere fills, seen from outside; 2 seen from inside.
RQ_INLINE float sphere_opening(Vec3 from, Vec3 centre, float radius) {
    const Vec3 to = centre - from;
    const float d2 = dot(to, to), sin2 = divide(radius * radius, d2);
    return sin2 < 1.0f ? divide(sin2, 1.0f + sqrt_exact(1.0f - sin2)) : 2.0f;
}
// The density of a direction to a sphere that is chosen with the given chance: even within its cone.
RQ_INLINE float sphere_pdf(Vec3 from, Vec3 centre, float radius, float chance) {
    return divide(chance * 0.5f * inverse_pi, sphere_opening(from, centre, radius));
}
RQ_INLINE void sample_sphere(const Emitter &e, Vec3 from, float u, float v, LightSample &s) {
    const Vec3 centre = vec(e.place), to = centre - from;
    const float radius = e.uv[0], opening = sphere_opening(from, centre, radius);
    const float below = u * opening, z = 1.0f - below;  // 1 - z^2 without cancellation:
    const float sin2 = max_of(below * (2.0f - below), 1.0e-30f), r = sqrt_exact(sin2);
    const float d2 = dot(to, to);
    const Turn t = turn(v);
    const Vec3 axis = d2 > 1.0e-20f ? to * reciprocal(sqrt_exact(d2)) : vec(0.0f, 0.0f, 1.0f);
    s.direction = unit(out_of_frame(frame_about(axis), vec(r * t.cosine, r * t.sine, z)));
    const float disc = sqrt_exact(max_of(fma(-d2, sin2, radius * radius), 0.0f)), along = sqrt_exact(d2) * z;
    s.distance = opening < 2.0f ? along - disc : along + disc;
    s.pdf = divide(e.chance * 0.5f * inverse_pi, opening);
}

// The density of a direction that meets a surface of the given density per area at this distance and cosine.
RQ_INLINE float area_pdf(float per_area, float distance, float cosine) {
    return divide(per_area * distance * distance, max_of(abs_of(cosine), 1.0e-12f));
}
struct TrianglePoint {
    float u, v;  // texture coordinates
};
RQ_INLINE bool sample_triangle(const Emitter &e, Vec3 from, float u, float v, LightSample &s, TrianglePoint &point) {
    const float root = sqrt_exact(max_of(u, 1.0e-30f)), first = root * (1.0f - v), second = root * v;
    const Vec3 edge = vec(e.first), other = vec(e.second);
    const Vec3 to = mad(edge, first, mad(other, second, vec(e.place))) - from;
    const float d2 = dot(to, to);
    if (!(d2 > 1.0e-20f)) return false;
    s.distance = sqrt_exact(d2);
    s.direction = to * reciprocal(s.distance);
    const Vec3 across = vec(fma(edge.y, other.z, -(edge.z * other.y)), fma(edge.z, other.x, -(edge.x * other.z)),
                            fma(edge.x, other.y, -(edge.y * other.x)));
    const float twice_area = sqrt_exact(dot(across, across));
    const float cosine = -divide(dot(across, s.direction), twice_area);
    if (!(cosine > 0.0f || e.both_sides != 0)) return false;
    s.pdf = area_pdf(divide(2.0f * e.chance, twice_area), s.distance, cosine);
    const float rest = 1.0f - root;
    point.u = fma(first, e.uv[2], fma(second, e.uv[4], rest * e.uv[0]));
    point.v = fma(first, e.uv[3], fma(second, e.uv[5], rest * e.uv[1]));
    return s.pdf > 0.0f;
}

}  // namespace rq
