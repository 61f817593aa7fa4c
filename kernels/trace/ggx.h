// ggx.h: glTF's metallic-roughness model: a GGX coat over a diffuse base, or a GGX metal, or a mixture of the two.
//
// Directions are in the surface's frame, z along the normal, and point away from the surface; `out` is where the path
// came from, `in` where it goes on to. Distribution and shadowing are the GGX and the height-correlated Smith terms of
// Heitz, "Understanding the Masking-Shadowing Function in Microfacet-Based BRDFs", JCGT 2014; Fresnel is Schlick's.
//
// One bounce among the microfacets is what these terms describe; the light that bounces on is given back by a factor,
// as in Turquin, "Practical multiple scattering compensation for microfacet models", 2019, and the diffuse base gets
// what the coat does not reflect. Both need the coat's directional albedo, from a table that the host makes
// (src/scene/lighting/albedo.rs). So a white surface reflects all light at every roughness: within 0.6 % for the
// table's steps, and 2 % within a degree of grazing.
#pragma once
#include "trace/angle.h"

namespace rq {

// Smoother than this the coat is a mirror, to which no light can be sampled.
constexpr float least_alpha = 1.0e-3f;

// Steps of the table in each of roughness and the root of the cosine.
constexpr u32 albedo_steps = 32;
// The single-bounce directional albedo is f0 * scale + f90 * bias.
struct SplitAlbedo {
    float scale, bias;
};
RQ_INLINE SplitAlbedo split_albedo(const float *table, float cosine, float roughness) {
    const float last = (float)(albedo_steps - 1);
    const float x = sqrt_exact(max_of(cosine, 1.0e-8f)) * last, y = roughness * last;
    const u32 column = min_of((u32)x, albedo_steps - 2), row = min_of((u32)y, albedo_steps - 2);
    const float across = min_of(x - (float)column, 1.0f), down = y - (float)row;
    const float *const a = table + 2 * (row * albedo_steps + column), *const b = a + 2 * albedo_steps;
    return SplitAlbedo{mix(mix(a[0], a[2], across), mix(b[0], b[2], across), down),
                       mix(mix(a[1], a[3], across), mix(b[1], b[3], across), down)};
}

// A surface as light that leaves towards `out` sees it.
struct Lobes {
    Vec3 diffuse;    // share that the base scatters evenly
    Vec3 f0, boost;  // the coat's reflectance at normal incidence; what later bounces give back
    float f90;       // the same at grazing incidence
    float alpha;     // width of the microfacets' slopes
    float chance;    // that a path goes on by the coat
};

// What a texel says about a surface.
struct Substance {
    Vec3 base;
    float metallic, roughness;
    Vec3 f0;  // of the coat over the dielectric base
    float f90;
};

RQ_INLINE Lobes lobes_of(const float *table, const Substance &s, float cosine) {
    Lobes lobes;
    lobes.alpha = s.roughness * s.roughness;
    if (!(s.metallic > 0.0f || s.f90 > 0.0f || largest(s.f0) > 0.0f)) {
        lobes.diffuse = s.base;
        lobes.f0 = lobes.boost = vec(0.0f, 0.0f, 0.0f);
        lobes.f90 = lobes.chance = 0.0f;
        return lobes;
    }
    const SplitAlbedo e = split_albedo(table, cosine, s.roughness);
    const Vec3 one = vec(1.0f, 1.0f, 1.0f);
    const float all = e.scale + e.bias, again = divide(1.0f - all, all);
    const Vec3 bias = one * e.bias;
    const Vec3 coat = mad(s.f0, e.scale, bias * s.f90) * mad(s.f0, again, one);
    const Vec3 metal = mad(s.base, e.scale, bias) * mad(s.base, again, one);
    const Vec3 both = mix(coat, metal, s.metallic);
    lobes.f0 = mix(s.f0, s.base, s.metallic);
    lobes.f90 = mix(s.f90, 1.0f, s.metallic);
    // One factor for the mixture, such that its albedo is the mixture of the albedos.
    const Vec3 once = mad(lobes.f0, e.scale, bias * lobes.f90);
    lobes.boost = vec(once.x > 0.0f ? divide(both.x, once.x) : 0.0f, once.y > 0.0f ? divide(both.y, once.y) : 0.0f,
                      once.z > 0.0f ? divide(both.z, once.z) : 0.0f);
    lobes.diffuse = s.base * ((1.0f - s.metallic) * max_of(1.0f - largest(coat), 0.0f));
    const float base = sum_of(lobes.diffuse), top = sum_of(both);
    lobes.chance = top > 0.0f ? divide(top, top + base) : 0.0f;
    return lobes;
}
RQ_INLINE bool coat_is_mirror(const Lobes &lobes) { return lobes.alpha < least_alpha; }
RQ_INLINE bool is_mirror(const Lobes &lobes) { return coat_is_mirror(lobes) && lobes.chance >= 1.0f; }

// Schlick's Fresnel term, with what later bounces add.
RQ_INLINE Vec3 reflectance(const Lobes &lobes, float cosine) {
    const float m = max_of(1.0f - cosine, 0.0f), m2 = m * m, m5 = m2 * m2 * m;
    return mix(lobes.f0, vec(lobes.f90, lobes.f90, lobes.f90), m5) * lobes.boost;
}

// Smith's term is 2 z / (z + spread) for one direction.
RQ_INLINE float spread(float alpha, Vec3 w) {
    return sqrt_exact(fma(alpha * alpha, fma(w.x, w.x, w.y * w.y), w.z * w.z));
}
// Density of microfacets about the normal h.
RQ_INLINE float facets(float alpha, Vec3 h) {
    const float a2 = alpha * alpha;
    const float t = fma(divide(1.0f, a2), fma(h.x, h.x, h.y * h.y), h.z * h.z);
    return divide(inverse_pi, a2 * t * t);
}

// How much goes to a direction: the surface's share of light from `in`, times its cosine, and the density with which
// `sample` takes that direction. A mirror has no part in either.
struct Scatter {
    Vec3 share;
    float pdf;
};
RQ_INLINE Scatter scatter(const Lobes &lobes, Vec3 out, Vec3 in) {
    if (!(in.z > 0.0f && out.z > 0.0f)) return Scatter{vec(0.0f, 0.0f, 0.0f), 0.0f};
    const float even = in.z * inverse_pi;
    Scatter s{lobes.diffuse * even, (1.0f - lobes.chance) * even};
    if (lobes.chance > 0.0f && !coat_is_mirror(lobes)) {
        const Vec3 h = unit(out + in);
        const float so = spread(lobes.alpha, out), si = spread(lobes.alpha, in);
        const float d = facets(lobes.alpha, h);
        // D G2 / (4 out.z in.z) * in.z, and D G1 / (4 out.z).
        const float strength = divide(0.5f * d * in.z, fma(in.z, so, out.z * si));
        s.share = mad(reflectance(lobes, dot(out, h)), strength, s.share);
        s.pdf = fma(lobes.chance, divide(0.5f * d, out.z + so), s.pdf);
    }
    return s;
}

// A visible microfacet's normal, by the spherical cap of Dupuy and Benyoub, "Sampling Visible GGX Normals with
// Spherical Caps", HPG 2023.
RQ_INLINE Vec3 visible_facet(float alpha, Vec3 out, float u, float v) {
    const Vec3 o = unit(vec(alpha * out.x, alpha * out.y, out.z));
    const float z = fma(1.0f - u, 1.0f + o.z, -o.z);
    const float r = sqrt_exact(max_of(fma(-z, z, 1.0f), 1.0e-30f));
    const Turn t = turn(v);
    const Vec3 h = vec(fma(r, t.cosine, o.x), fma(r, t.sine, o.y), z + o.z);
    return unit(vec(alpha * h.x, alpha * h.y, max_of(h.z, 1.0e-6f)));
}
// A direction of density cosine / pi.
RQ_INLINE Vec3 cosine_direction(float u, float v) {
    const float r = sqrt_exact(max_of(u, 1.0e-30f));
    const Turn t = turn(v);
    return vec(r * t.cosine, r * t.sine, sqrt_exact(1.0f - u));
}

// Where a path goes on, what that costs it, and the density; 0 stands for a mirror's.
struct Onward {
    Vec3 direction, weight;
    float pdf;
    bool base_alone;  // `weight` is a known quotient
};
// `u`, `v` and `lobe` lie in [0, 1). False: the path ends here.
RQ_INLINE bool sample(const Lobes &lobes, Vec3 out, float u, float v, float lobe, Onward &onward) {
    const bool by_coat = lobe < lobes.chance;
    if (by_coat && coat_is_mirror(lobes)) {
        onward.direction = vec(-out.x, -out.y, out.z);
        onward.weight = reflectance(lobes, out.z) * reciprocal(lobes.chance);
        onward.pdf = 0.0f;
        onward.base_alone = false;
        return true;
    }
    if (by_coat) {
        const Vec3 h = visible_facet(lobes.alpha, out, u, v);
        onward.direction = unit(reflect(-out, h));
    } else {
        onward.direction = cosine_direction(u, v);
    }
    if (!(onward.direction.z > 0.0f)) return false;
    const Scatter s = scatter(lobes, out, onward.direction);
    if (!(s.pdf > 0.0f)) return false;
    onward.pdf = s.pdf;
    // Where the base alone is met the quotient is known: no rounding.
    onward.base_alone = !by_coat && (lobes.chance == 0.0f || coat_is_mirror(lobes));
    onward.weight = !onward.base_alone     ? s.share * reciprocal(s.pdf)
                    : lobes.chance == 0.0f ? lobes.diffuse
                                           : lobes.diffuse * reciprocal(1.0f - lobes.chance);
    return true;
}

}  // namespace rq
