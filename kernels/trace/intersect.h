// intersect.h: the nearest hit of a ray among spheres and planes, by testing all of them.
//
// The nearest hit is the smallest (t, primitive), primitives being numbered spheres first, then planes, so that
// the winner of a tie does not depend on who asks.
#pragma once
#include "trace/vec.h"

namespace rq {

constexpr u32 nothing_hit = 0xffffffffu;

struct Hit {
    float t;
    u32 primitive;
};

RQ_INLINE u32 first_plane(const SceneView &scene) { return scene.sphere_batches * 8; }

// Takes the sphere if it is nearer than `hit`. `b` is the distance along the ray of its point nearest to the
// centre, `disc` the radius squared less the square of the ray's distance from the centre.
RQ_INLINE void take_sphere(float b, float disc, u32 primitive, float t_min, Hit &hit) {
    if (disc > 0.0f) {
        const float q = sqrt_exact(disc);
        float t = b - q;
        if (!(t > t_min)) t = b + q;
        if (t > t_min && t < hit.t) hit = Hit{t, primitive};
    }
}

// The distance of the ray from each centre is formed as a vector before it is squared, which keeps the
// cancellation of the textbook form (b*b - c) away from large and far spheres (Haines et al., "Precision
// Improvements for Ray/Sphere Intersection", Ray Tracing Gems 2019).
RQ_INLINE void test_batch(const SphereBatch &s, u32 first, Vec3 o, Vec3 d, float t_min, Hit &hit) {
#if RQ_LANE_TESTS_EIGHT
    float b[8], disc[8];
    for (u32 k = 0; k < 8; ++k) {
        const float x = s.x[k] - o.x, y = s.y[k] - o.y, z = s.z[k] - o.z;
        b[k] = fma(x, d.x, fma(y, d.y, z * d.z));
        const float lx = fma(-b[k], d.x, x), ly = fma(-b[k], d.y, y), lz = fma(-b[k], d.z, z);
        disc[k] = fma(-lx, lx, fma(-ly, ly, fma(-lz, lz, s.r2[k])));
    }
    u32 touched = 0;
    for (u32 k = 0; k < 8; ++k) touched |= (u32)(disc[k] > 0.0f) << k;
    for (; touched != 0; touched &= touched - 1) {
        const u32 k = (u32)__builtin_ctz(touched);
        take_sphere(b[k], disc[k], first + k, t_min, hit);
    }
#else
    for (u32 half = 0; half < 8; half += 4) {
        const Float4 cx = load4(s.x + half), cy = load4(s.y + half), cz = load4(s.z + half), r2 = load4(s.r2 + half);
        const float xs[4] = {cx.x, cx.y, cx.z, cx.w}, ys[4] = {cy.x, cy.y, cy.z, cy.w};
        const float zs[4] = {cz.x, cz.y, cz.z, cz.w}, rs[4] = {r2.x, r2.y, r2.z, r2.w};
        RQ_UNROLL
        for (u32 k = 0; k < 4; ++k) {
            const float x = xs[k] - o.x, y = ys[k] - o.y, z = zs[k] - o.z;
            const float b = fma(x, d.x, fma(y, d.y, z * d.z));
            const float lx = fma(-b, d.x, x), ly = fma(-b, d.y, y), lz = fma(-b, d.z, z);
            const float disc = fma(-lx, lx, fma(-ly, ly, fma(-lz, lz, rs[k])));
            take_sphere(b, disc, first + half + k, t_min, hit);
        }
    }
#endif
}

RQ_INLINE void test_plane(const Plane &plane, u32 primitive, Vec3 o, Vec3 d, float t_min, Hit &hit) {
    const Vec3 n = vec(plane.normal);
    const float toward = dot(n, d), height = -(dot(n, o) + plane.offset);
    // The quotient is positive only if the signs agree; most planes of a room lie behind.
    if (toward != 0.0f && (toward > 0.0f) == (height > 0.0f)) {
        const float t = divide(height, toward);
        if (t > t_min && t < hit.t) hit = Hit{t, primitive};
    }
}

// The nearest hit with t_min < t < t_max along the unit direction d.
RQ_INLINE Hit nearest_hit(const SceneView &scene, Vec3 o, Vec3 d, float t_max) {
    Hit hit{t_max, nothing_hit};
    for (u32 batch = 0; batch < scene.sphere_batches; ++batch)
        test_batch(scene.spheres[batch], batch * 8, o, d, scene.t_min, hit);
    const u32 planes = first_plane(scene);
    for (u32 i = 0; i < scene.plane_count; ++i)
        test_plane(scene.planes[i], planes + i, o, d, scene.t_min, hit);
    return hit;
}

// What shading needs of a hit: the point, the normal on the ray's side, and which way the ray went through.
struct Surface {
    Vec3 point, normal;
    bool from_inside;
    float magnitude;  // of the coordinates involved: rounding errors, and with them offsets, scale with it
    u32 material;
};

RQ_INLINE Surface surface_at(const SceneView &scene, Vec3 o, Vec3 d, Hit hit) {
    Surface s;
    s.point = mad(d, hit.t, o);
    float size = 0.0f;
    const u32 planes = first_plane(scene);
    if (hit.primitive < planes) {
        const SphereBatch &batch = scene.spheres[hit.primitive / 8];
        const u32 k = hit.primitive % 8;
        const SphereShade shade = scene.sphere_shades[hit.primitive];
        const Vec3 centre = vec(batch.x[k], batch.y[k], batch.z[k]);
        s.normal = unit(s.point - centre);
        // Back onto the sphere: a hit far away is off by an ulp of its distance, not of the radius.
        s.point = mad(s.normal, shade.radius, centre);
        s.material = shade.material;
        size = shade.radius;
    } else {
        s.normal = vec(scene.planes[hit.primitive - planes].normal);
        s.material = scene.plane_materials[hit.primitive - planes];
    }
    s.from_inside = dot(s.normal, d) > 0.0f;
    if (s.from_inside) s.normal = -s.normal;
    s.magnitude = max_of(size, max_of(abs_of(s.point.x), max_of(abs_of(s.point.y), abs_of(s.point.z))));
    return s;
}

// Where a ray that leaves the surface on the side of `n` starts.
RQ_INLINE Vec3 offset_point(const SceneView &scene, const Surface &s, Vec3 n) {
    const float offset = scene.ray_offset < 0.0f ? -scene.ray_offset * s.magnitude : scene.ray_offset;
    return mad(n, offset, s.point);
}

}  // namespace rq
