// texture.h: images as surfaces wear them. (0, 0) is the corner of the first texel of the first row; there are no
// coarser copies of an image, samples of a pixel average it.
#pragma once
#include "trace/angle.h"

namespace rq {

constexpr u32 no_texture = 0xffffffffu;
// Bits of TextureView::flags, as src/scene/lighting/texture.rs sets them; then two bits a direction for the wrap mode.
constexpr u32 texture_floats = 1, texture_smooth = 2, texture_srgb = 4;
constexpr u32 wrap_across_shift = 4, wrap_down_shift = 6, wrap_repeat = 0, wrap_mirror = 1, wrap_clamp = 2;

// A coordinate taken back to [0, 1].
RQ_INLINE float wrapped(float u, u32 mode) {
    if (mode == wrap_repeat) return fraction_of(u);
    if (mode == wrap_clamp) return min_of(max_of(u, 0.0f), 1.0f);
    const float there_and_back = 2.0f * fraction_of(0.5f * u);
    return there_and_back > 1.0f ? 2.0f - there_and_back : there_and_back;
}

// The two texels of a row or column about a coordinate, and the second's share.
struct Neighbours {
    u32 first, second;
    float share;
};
RQ_INLINE Neighbours neighbours(float u, u32 size, u32 mode, bool smooth) {
    const float place = wrapped(u, mode) * (float)size;
    if (!smooth) {
        const u32 nearest = min_of((u32)place, size - 1);
        return Neighbours{nearest, nearest, 0.0f};
    }
    const float left = place - 0.5f;
    const i32 first = floor_of(left);
    // A mirrored or clamped edge has itself for a neighbour, a repeated one the other edge.
    const bool repeats = mode == wrap_repeat;
    const u32 before = first >= 0 ? (u32)first : repeats ? size - 1 : 0;
    const u32 after = (u32)(first + 1) < size ? (u32)(first + 1) : repeats ? 0 : size - 1;
    return Neighbours{before, after, left - (float)first};
}

RQ_INLINE Float4 texel(const LightingView &lighting, const TextureView &t, u32 column, u32 row) {
    const u64 place = (u64)row * t.width + column;
    const u32 *const first = lighting.texels + 4 * (u64)t.first;
    if (t.flags & texture_floats) return load_constant(reinterpret_cast<const Float4 *>(first) + place);
    const u32 rgba = first[place];
    const u32 r = rgba & 255u, g = rgba >> 8 & 255u, b = rgba >> 16 & 255u;
    const float step = 1.0f / 255.0f, alpha = (float)(rgba >> 24) * step;
    if (t.flags & texture_srgb) return Float4{lighting.srgb[r], lighting.srgb[g], lighting.srgb[b], alpha};
    return Float4{(float)r * step, (float)g * step, (float)b * step, alpha};
}

RQ_INLINE Float4 mix(Float4 a, Float4 b, float share) {
    return Float4{mix(a.x, b.x, share), mix(a.y, b.y, share), mix(a.z, b.z, share), mix(a.w, b.w, share)};
}

// Red, green, blue, linear, and alpha of texture number `texture` at the mesh's coordinates (u, v).
RQ_INLINE Float4 texture_at(const LightingView &lighting, u32 texture, float u, float v) {
    const TextureView &t = lighting.textures[texture];
    const float tu = fma(t.map[0], u, fma(t.map[1], v, t.map[2]));
    const float tv = fma(t.map[3], u, fma(t.map[4], v, t.map[5]));
    const bool smooth = (t.flags & texture_smooth) != 0;
    const Neighbours x = neighbours(tu, t.width, t.flags >> wrap_across_shift & 3u, smooth);
    const Neighbours y = neighbours(tv, t.height, t.flags >> wrap_down_shift & 3u, smooth);
    if (!smooth) return texel(lighting, t, x.first, y.first);
    return mix(mix(texel(lighting, t, x.first, y.first), texel(lighting, t, x.second, y.first), x.share),
               mix(texel(lighting, t, x.first, y.second), texel(lighting, t, x.second, y.second), x.share), y.share);
}

// Whether a surface has a hole there.
RQ_INLINE bool is_hole(const LightingView &lighting, const SurfaceShade &shade, float u, float v) {
    if (!(shade.alpha_cutoff > 0.0f)) return false;
    const float texel = shade.base_texture == no_texture ? 1.0f : texture_at(lighting, shade.base_texture, u, v).w;
    return shade.alpha * texel < shade.alpha_cutoff;
}

}  // namespace rq
