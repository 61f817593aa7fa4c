// intersect.h: the nearest hit of a ray among spheres and planes, by testing all of them.
//
// The nearest hit is the smallest (t, primitive), primitives being numbered spheres first, then planes, so that
// the winner of a tie does not depend on who asks.
#pragma once
#include "trace/scene.h"

namespace rq {

constexpr u32 nothing_hit = 0xffffffffu;

struct Hit {
    float t;
    u32 primitive;
};

// Squared distances below this are no hit: it keeps square roots and quotients within normal numbers.
constexpr float least_square = 1.0e-30f;
constexpr float least_depth = 1.0e-20f;
// No hit is farther; scenes reach to 1e9. A distance that overflows is farther too.
constexpr float far_away = 1.0e17f;

// A ray, with what the quick test of spheres asks of it.
//
// The quick test is the textbook discriminant, b^2 - |c - o|^2 + r^2 with b = d.(c - o), multiplied out so that
// it takes eight operations a sphere. It cancels badly for large and far spheres, so it only excludes: `reach`
// (made by the host) and `origin2` are enlarged by more than its rounding errors can amount to, and what
// passes is tested precisely. Those errors, and the precise test's own, are below 66 * 2^-24 * (|c|^2 + |o|^2 +
// r^2): 32 from the square of b (8 roundings of at most |c| + |o|), 10 from the products of c and o, 4 from a
// direction that is not quite unit, and 20 from the precise test near its threshold. The margin is twice that.
constexpr float quick_margin = 1.0f / 131072.0f;  // 2^-17
struct QuickRay {
    Vec3 origin, direction;
    Vec3 twice_origin;
    float along;    // -d.o
    float origin2;  // |o|^2, reduced
};
RQ_INLINE QuickRay quick_ray(Vec3 o, Vec3 d) {
    return QuickRay{o, d, o + o, -dot(o, d), dot(o, o) * (1.0f - quick_margin)};
}
// Of one sphere, or of eight.
template <class F> RQ_INLINE F quick_test(const QuickRay &ray, F x, F y, F z, F reach) {
    const Vec3 d = ray.direction, o2 = ray.twice_origin;
    const F b = fma(x, d.x, fma(y, d.y, fma(z, d.z, ray.along)));
    return fma(b, b, fma(x, o2.x, fma(y, o2.y, fma(z, o2.z, reach - ray.origin2))));
}

// Takes the sphere if it is hit nearer than `hit`. The ray's distance from the centre is formed as a vector
// before it is squared, which keeps the cancellation small (Haines et al., "Precision Improvements for
// Ray/Sphere Intersection", Ray Tracing Gems 2019).
template <class S> RQ_INLINE void test_sphere(const S &scene, const QuickRay &ray, Vec3 centre, u32 sphere, Hit &hit) {
    const float radius = scene.shade(sphere).radius;
    const Vec3 to = centre - ray.origin;
    const float b = dot(to, ray.direction);
    const Vec3 l = mad(ray.direction, -b, to);
    const float disc = fma(-l.x, l.x, fma(-l.y, l.y, fma(-l.z, l.z, radius * radius)));
    if (disc > least_square) {
        const float q = sqrt_exact(disc);
        float t = b - q;
        if (!(t > scene.view.t_min)) t = b + q;
        if (t > scene.view.t_min && t < hit.t) hit = Hit{t, sphere};
    }
}

template <class S> RQ_INLINE void test_spheres(const S &scene, const QuickRay &ray, Hit &hit) {
#if RQ_LANE_TESTS_EIGHT
    // All that a ray may touch first, up to 64 at a time, then the precise tests: fewer branches to guess.
    const SphereBatch *const batches = scene.view.sphere_batches;
    for (u32 first = 0; first < scene.view.sphere_count; first += 64) {
        const u32 end = min_of(first + 64, scene.view.sphere_count);
        u64 touched = 0;
        for (u32 i = first; i < end; i += 8) {
            const SphereBatch &s = batches[i / 8];
            const Eight near = quick_test(ray, load_eight(s.x), load_eight(s.y), load_eight(s.z), load_eight(s.reach));
            touched |= (u64)where(near > 0.0f) << (i - first);
        }
        for (; touched != 0; touched &= touched - 1) {
            const u32 i = first + first_lane(touched);
            const SphereBatch &s = batches[i / 8];
            test_sphere(scene, ray, vec(s.x[i % 8], s.y[i % 8], s.z[i % 8]), i, hit);
        }
    }
#else
    RQ_UNROLL_BY(4)
    for (u32 i = 0; i < scene.view.sphere_count; ++i) {
        const Float4 s = scene.sphere(i);
        if (quick_test(ray, s.x, s.y, s.z, s.w) > 0.0f) test_sphere(scene, ray, vec(s.x, s.y, s.z), i, hit);
    }
#endif
}

// Without branches: the distance to a plane that lies behind is negative, to one that the ray runs along it is
// beyond `far_away` or no number, and neither is taken.
template <class S> RQ_INLINE void test_plane(const S &scene, u32 plane, Vec3 o, Vec3 d, Hit &hit) {
    const Float4 p = scene.plane(plane);
    const Vec3 n = vec(p.x, p.y, p.z);
    const float depth = fma(n.x, o.x, fma(n.y, o.y, fma(n.z, o.z, p.w)));
    const float t = -depth * reciprocal(dot(n, d));
    if (t > scene.view.t_min && t < hit.t && abs_of(depth) > least_depth) hit = Hit{t, scene.view.sphere_count + plane};
}

// The nearest hit with t_min < t < t_max along the unit direction d.
template <class S> RQ_INLINE Hit nearest_hit(const S &scene, Vec3 o, Vec3 d, float t_max) {
    Hit hit{t_max, nothing_hit};
    test_spheres(scene, quick_ray(o, d), hit);
    RQ_UNROLL_BY(2)
    for (u32 i = 0; i < scene.view.plane_count; ++i) test_plane(scene, i, o, d, hit);
    return hit;
}

// The number of the object that was hit, from 1.
template <class S> RQ_INLINE u32 object_number(const S &, Hit hit) { return hit.primitive + 1; }

// What shading needs of a hit: the point, the normal on the ray's side, and which way the ray went through.
struct Surface {
    Vec3 point, normal;
    bool from_inside;
    float extent;  // of the primitive's own numbers: a sphere's radius, a plane's distance from the origin
    u32 material;
};

template <class S> RQ_INLINE Surface surface_at(const S &scene, Vec3 o, Vec3 d, Hit hit) {
    Surface s;
    s.point = mad(d, hit.t, o);
    s.extent = 0.0f;
    const u32 planes = scene.view.sphere_count;
    if (hit.primitive < planes) {
        const SphereShade shade = scene.shade(hit.primitive);
        const Float4 c = scene.sphere(hit.primitive);
        const Vec3 centre = vec(c.x, c.y, c.z);
        s.normal = unit(s.point - centre);
        // Back onto the sphere: a hit far away is off by an ulp of its distance, not of the radius.
        s.point = mad(s.normal, shade.radius, centre);
        s.material = shade.material;
        s.extent = shade.radius;
    } else {
        const Float4 p = scene.plane(hit.primitive - planes);
        s.normal = vec(p.x, p.y, p.z);
        s.material = scene.plane_material(hit.primitive - planes);
        s.extent = abs_of(p.w);
        // Back onto the plane, likewise; where the scene sets the offset, it has seen to that.
        if (scene.view.ray_offset < 0.0f) s.point = mad(s.normal, -(dot(s.normal, s.point) + p.w), s.point);
    }
    s.from_inside = dot(s.normal, d) > 0.0f;
    if (s.from_inside) s.normal = -s.normal;
    return s;
}

// Where a ray that leaves the surface on the side of `n` starts. Unless the scene sets the distance, it is a
// share of the largest coordinate involved, as rounding errors are.
RQ_INLINE Vec3 offset_point(const SceneView &scene, const Surface &s, Vec3 n) {
    float offset = scene.ray_offset;
    if (offset < 0.0f) {
        const Vec3 p = s.point;
        offset *= -max_of(s.extent, max_of(abs_of(p.x), max_of(abs_of(p.y), abs_of(p.z))));
    }
    return mad(n, offset, s.point);
}

}  // namespace rq
