// environment.h: light from infinitely far away, seen by rays that hit nothing.
//
// The sky's image is one in latitude and longitude: its middle is the direction -z, its right half +x, its top row +y.
// Its texels are picked in proportion to the light that comes from them, smoothing included; within a texel every
// direction is as likely. Both the texel of a direction and the directions of a texel follow from the same turns, so
// that the density with which a direction is picked is known when a ray has found it.
#pragma once
#include "trace/texture.h"

namespace rq {

// What a direction sees, and the density with which `sample_sky` takes it; 0: it never does.
struct Sky {
    Vec3 radiance;
    float pdf;
};
RQ_INLINE Sky image_sky(const LightingView &lighting, Vec3 d) {
    const float across = fraction_of(0.5f + turn_of(-d.z, d.x) + lighting.sky_turn);
    const float down = 2.0f * turn_of(d.y, sqrt_exact(max_of(fma(d.x, d.x, d.z * d.z), 1.0e-30f)));
    const Neighbours x = neighbours(across, lighting.sky_width, wrap_repeat, true);
    const Neighbours y = neighbours(down, lighting.sky_height, wrap_clamp, true);
    const auto at = [&](u32 column, u32 row) {
        return load_constant4(lighting.sky[(u64)row * lighting.sky_width + column].radiance);
    };
    const Float4 c = mix(mix(at(x.first, y.first), at(x.second, y.first), x.share),
                         mix(at(x.first, y.second), at(x.second, y.second), x.share), y.share);
    const u32 column = min_of((u32)(across * (float)lighting.sky_width), lighting.sky_width - 1);
    const u32 row = min_of((u32)(down * (float)lighting.sky_height), lighting.sky_height - 1);
    return Sky{vec(c.x, c.y, c.z), at(column, row).w * lighting.sky_chance};
}

// One of `n` things from 48 random bits; the table then keeps it or says which it stands for (Walker's aliases).
RQ_INLINE u32 pick(u32 n, float high, float low) {
    const u64 bits = (u64)(high * 16777216.0f) << 24 | (u64)(low * 16777216.0f);
    return (u32)((bits >> 16) * n >> 32);
}

// A direction of the image, by the light from there. `texel` is from `pick`.
RQ_INLINE Vec3 sample_sky(const LightingView &lighting, u32 texel, float keep, float u, float v) {
    const Alias alias = lighting.sky_aliases[texel];
    if (!(keep < alias.chance)) texel = alias.other;
    const u32 row = texel / lighting.sky_width, column = texel - row * lighting.sky_width;
    const float high = lighting.sky_rows[row], low = lighting.sky_rows[row + 1];
    const float y = mix(high, low, v), r = sqrt_exact(max_of(fma(-y, y, 1.0f), 1.0e-30f));
    const float across = divide((float)column + u, (float)lighting.sky_width);
    const Turn t = turn(fraction_of(across - 0.5f - lighting.sky_turn));
    return vec(r * t.sine, y, -r * t.cosine);
}

}  // namespace rq
