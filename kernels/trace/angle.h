// angle.h: angles of directions, and frames about them, by polynomials of our own: libraries differ between targets.
#pragma once
#include "trace/random.h"

namespace rq {

constexpr float inverse_pi = 0.318309886f;

// The angle of (x, y) as a share of a turn, in [0, 1), counted from x towards y; 0 for (0, 0). The polynomial meets
// atan(t) / 2 pi at the Chebyshev nodes of t^2 in [0, 1]: off by 1.0e-8 at most, by 6e-8 with its rounding.
RQ_INLINE float turn_of(float x, float y) {
    const float across = abs_of(x), up = abs_of(y);
    const float longer = max_of(across, up), shorter = min_of(across, up);
    if (!(longer > 0.0f)) return 0.0f;
    const float t = divide(shorter, longer), t2 = t * t;
    float p = fma(t2, -7.25713434e-4f, 3.78478708e-3f);
    p = fma(t2, p, -9.36304601e-3f);
    p = fma(t2, p, 1.57067872e-2f);
    p = fma(t2, p, -2.22869285e-2f);
    p = fma(t2, p, 3.17784067e-2f);
    p = fma(t2, p, -5.30492275e-2f);
    p = t * fma(t2, p, 1.59154924e-1f);
    if (up > across) p = 0.25f - p;
    if (x < 0.0f) p = 0.5f - p;
    if (y < 0.0f) p = 1.0f - p;
    return p < 1.0f ? p : 0.0f;
}

// The whole number at or below `a`, for |a| < 2^31.
RQ_INLINE i32 floor_of(float a) {
    const i32 whole = (i32)a;
    return whole - (i32)((float)whole > a);
}
// What `a` has beyond the whole number below it, in [0, 1); 0 where floats are whole anyway, and for NaN.
RQ_INLINE float fraction_of(float a) {
    if (!(abs_of(a) < 8388608.0f)) return 0.0f;
    const float fraction = a - (float)floor_of(a);
    return fraction < 1.0f ? fraction : 0.0f;
}

// Two unit vectors across a normal, and it (Duff et al., "Building an Orthonormal Basis, Revisited", JCGT 2017).
struct Frame {
    Vec3 x, y, z;
};
RQ_INLINE Frame frame_about(Vec3 n) {
    const float sign = n.z < 0.0f ? -1.0f : 1.0f;
    const float a = -reciprocal(sign + n.z), b = n.x * n.y * a;
    return Frame{vec(fma(sign * n.x, n.x * a, 1.0f), sign * b, -sign * n.x), vec(b, fma(n.y, n.y * a, sign), -n.y), n};
}
RQ_INLINE Vec3 into_frame(const Frame &f, Vec3 v) { return vec(dot(f.x, v), dot(f.y, v), dot(f.z, v)); }
RQ_INLINE Vec3 out_of_frame(const Frame &f, Vec3 v) { return mad(f.x, v.x, mad(f.y, v.y, f.z * v.z)); }

RQ_INLINE Vec3 mix(Vec3 a, Vec3 b, float share) { return mad(b - a, share, a); }
RQ_INLINE float mix(float a, float b, float share) { return fma(b - a, share, a); }
RQ_INLINE float sum_of(Vec3 a) { return a.x + a.y + a.z; }

}  // namespace rq
