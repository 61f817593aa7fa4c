// vec.h: points, directions and colours; every operation rounds as written (contraction is off everywhere).
#pragma once
#include "layout.h"

namespace rq {

struct Vec3 {
    float x, y, z;
};

RQ_INLINE Vec3 vec(float x, float y, float z) { return Vec3{x, y, z}; }
RQ_INLINE Vec3 vec(const float (&a)[3]) { return Vec3{a[0], a[1], a[2]}; }
RQ_INLINE Vec3 operator+(Vec3 a, Vec3 b) { return Vec3{a.x + b.x, a.y + b.y, a.z + b.z}; }
RQ_INLINE Vec3 operator-(Vec3 a, Vec3 b) { return Vec3{a.x - b.x, a.y - b.y, a.z - b.z}; }
RQ_INLINE Vec3 operator-(Vec3 a) { return Vec3{-a.x, -a.y, -a.z}; }
RQ_INLINE Vec3 operator*(Vec3 a, Vec3 b) { return Vec3{a.x * b.x, a.y * b.y, a.z * b.z}; }
RQ_INLINE Vec3 operator*(Vec3 a, float s) { return Vec3{a.x * s, a.y * s, a.z * s}; }
RQ_INLINE float dot(Vec3 a, Vec3 b) { return fma(a.x, b.x, fma(a.y, b.y, a.z * b.z)); }
RQ_INLINE Vec3 cross(Vec3 a, Vec3 b) {
    return Vec3{fma(a.y, b.z, -(a.z * b.y)), fma(a.z, b.x, -(a.x * b.z)), fma(a.x, b.y, -(a.y * b.x))};
}
// a * s + b
RQ_INLINE Vec3 mad(Vec3 a, float s, Vec3 b) { return Vec3{fma(a.x, s, b.x), fma(a.y, s, b.y), fma(a.z, s, b.z)}; }
RQ_INLINE Vec3 mad(Vec3 a, Vec3 s, Vec3 b) {
    return Vec3{fma(a.x, s.x, b.x), fma(a.y, s.y, b.y), fma(a.z, s.z, b.z)};
}
RQ_INLINE Vec3 unit(Vec3 a) { return a * reciprocal(sqrt_exact(dot(a, a))); }
RQ_INLINE float largest(Vec3 a) { return max_of(a.x, max_of(a.y, a.z)); }
RQ_INLINE Vec3 reflect(Vec3 d, Vec3 n) { return mad(n, -2.0f * dot(n, d), d); }

}  // namespace rq
