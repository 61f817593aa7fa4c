// random.h: random numbers as a pure function of (seed, pixel, sample, dimension).
//
// No state travels with a path and nothing depends on which lane draws, so a picture is the same for every
// engine and device. The mixer is pcg4d of Jarzynski and Olano, "Hash Functions for GPU Rendering", JCGT 2020.
#pragma once
#include "trace/vec.h"

namespace rq {

struct Random4 {
    float a, b, c, d;  // each in [0, 1), a multiple of 2^-24
};

// Dimension 0 is the pixel filter; interaction k of a path owns dimensions 1 + 2k and 2 + 2k.
RQ_INLINE Random4 random4(const SceneView &scene, u32 pixel, u32 sample, u32 dimension) {
    u32 x = pixel, y = sample, z = dimension + scene.seed_high, w = scene.seed_low;
    x = x * 1664525u + 1013904223u;
    y = y * 1664525u + 1013904223u;
    z = z * 1664525u + 1013904223u;
    w = w * 1664525u + 1013904223u;
    x += y * w;
    y += z * x;
    z += x * y;
    w += y * z;
    x ^= x >> 16;
    y ^= y >> 16;
    z ^= z >> 16;
    w ^= w >> 16;
    x += y * w;
    y += z * x;
    z += x * y;
    w += y * z;
    const float step = 1.0f / 16777216.0f;
    return Random4{(float)(x >> 8) * step, (float)(y >> 8) * step, (float)(z >> 8) * step, (float)(w >> 8) * step};
}

// Cosine and sine of 2 pi u for u in [0, 1): own polynomials, since libraries differ between targets.
struct Turn {
    float cosine, sine;
};
RQ_INLINE Turn turn(float u) {
    // Reduce to an angle x in [-pi/4, pi/4] and a quadrant; u * 4 and the subtraction are exact.
    const float q = u * 4.0f;
    const u32 quadrant = (u32)(q + 0.5f);
    const float x = (q - (float)quadrant) * 1.57079632679f;
    const float x2 = x * x;
    // Taylor to x^9 and x^8: below 2^-24 on this interval.
    const float s = x * fma(x2, fma(x2, fma(x2, fma(x2, 2.75573192e-6f, -1.98412698e-4f), 8.33333333e-3f),
                                    -1.66666667e-1f), 1.0f);
    const float c = fma(x2, fma(x2, fma(x2, fma(x2, 2.48015873e-5f, -1.38888889e-3f), 4.16666667e-2f), -0.5f), 1.0f);
    const bool swap = quadrant & 1;
    const float cosine = swap ? s : c, sine = swap ? c : s;
    return Turn{((quadrant + 1) & 2) ? -cosine : cosine, (quadrant & 2) ? -sine : sine};
}

// A uniform direction on the unit sphere.
RQ_INLINE Vec3 random_direction(float a, float b) {
    const float z = fma(-2.0f, a, 1.0f);
    const float r = sqrt_exact(max_of(1.0e-30f, fma(-z, z, 1.0f)));
    const Turn t = turn(b);
    return vec(r * t.cosine, r * t.sine, z);
}

}  // namespace rq
