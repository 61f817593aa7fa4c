// triangle.h: rays against triangles without leaks.
//
// The test is that of Woop, Benthin and Wald, "Watertight Ray/Triangle Intersection", JCGT 2013: the corners are
// moved and sheared so that the ray is the z axis, and the signs of three edge functions decide. Two triangles
// that share an edge round its ends alike, so that what one misses the other takes, if the signs are right. The
// paper asks doubles where a sign is in doubt; here each edge function is a difference of two products that is
// right to two ulps (Kahan; see Jeannerod, Louvet and Muller, Math. Comp. 82, 2013), so that no sign is.
#pragma once
#include "trace/vec.h"

namespace rq {

RQ_INLINE float difference_of_products(float a, float b, float c, float d) {
    const float cd = c * d;
    return fma(a, b, -cd) + fma(-c, d, cd);
}

// A ray in axes that are renamed so that z is the one along which it goes fastest.
struct ShearRay {
    Vec3 origin;
    float shear_x, shear_y, per_z;
    u32 axis;  // the axis called z
};

// x, y and z renamed: `axis` becomes z, the order stays.
RQ_INLINE Vec3 renamed(const float (&v)[3], u32 axis) {
#if RQ_TARGET_CPU
    // From memory: rays that go all ways would defeat the prediction of branches.
    const u32 x = axis < 2 ? axis + 1 : 0, y = x < 2 ? x + 1 : 0;
    return vec(v[x], v[y], v[axis]);
#else
    if (axis == 0) return vec(v[1], v[2], v[0]);
    return axis == 1 ? vec(v[2], v[0], v[1]) : vec(v);
#endif
}
RQ_INLINE Vec3 renamed(Vec3 v, u32 axis) { return renamed({v.x, v.y, v.z}, axis); }

RQ_INLINE ShearRay shear_ray(Vec3 o, Vec3 d) {
    const float x = abs_of(d.x), y = abs_of(d.y), z = abs_of(d.z);
    const u32 axis = x > y ? (x > z ? 0 : 2) : (y > z ? 1 : 2);
    const Vec3 r = renamed(d, axis);
    const float per_z = reciprocal(r.z);
    return ShearRay{renamed(o, axis), r.x * per_z, r.y * per_z, per_z, axis};
}

// Where the ray meets a triangle: the distance, and the corners' weights times their sum.
struct TriangleHit {
    float t;
    Vec3 weights;
    float sum;
};

// Whether the ray's line meets the triangle. Either side counts; t may be negative.
RQ_INLINE bool meets_triangle(const ShearRay &ray, const TriangleTest &t, TriangleHit &hit) {
    const Vec3 p = renamed(t.a, ray.axis) - ray.origin;
    const Vec3 q = renamed(t.b, ray.axis) - ray.origin;
    const Vec3 r = renamed(t.c, ray.axis) - ray.origin;
    const float px = fma(-ray.shear_x, p.z, p.x), py = fma(-ray.shear_y, p.z, p.y);
    const float qx = fma(-ray.shear_x, q.z, q.x), qy = fma(-ray.shear_y, q.z, q.y);
    const float rx = fma(-ray.shear_x, r.z, r.x), ry = fma(-ray.shear_y, r.z, r.y);
    const float u = difference_of_products(rx, qy, ry, qx);
    const float v = difference_of_products(px, ry, py, rx);
    const float w = difference_of_products(qx, py, qy, px);
    const float least = min_of(u, min_of(v, w)), most = max_of(u, max_of(v, w));
    if (least < 0.0f && most > 0.0f) return false;
    const float sum = u + v + w;
    if (sum == 0.0f) return false;
    hit.t = divide(fma(u, p.z, fma(v, q.z, w * r.z)), sum) * ray.per_z;
    hit.weights = vec(u, v, w);
    hit.sum = sum;
    return true;
}

}  // namespace rq
