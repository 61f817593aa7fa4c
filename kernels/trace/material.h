// material.h: what surfaces do with light. The numbers of `kind` are those of src/scene/flatten.rs.
#pragma once
#include "trace/intersect.h"
#include "trace/path.h"

namespace rq {

constexpr u32 material_lambert = 0, material_metal = 1, material_dielectric = 2, material_reflective = 3,
              material_surface = 4;  // of a model; in general scenes alone
constexpr u32 light_directional = 0;

// Whether light at `item` is hidden from the surface. `direction` is unit, `distance` how far the light is.
template <class S> RQ_INLINE bool is_hidden(const S &scene, Vec3 from, Vec3 direction, float distance) {
    return nearest_hit(scene, from, direction, distance).primitive != nothing_hit;
}

// Irradiance from the scene's lights on a surface, over pi. With `Shadows` each light that faces the surface
// is asked for with a ray.
template <bool Shadows, class S, class Face>
RQ_INLINE Vec3 direct_light(const S &scene, const Face &s, RayTally &tally) {
    Vec3 sum = vec(0.0f, 0.0f, 0.0f);
    RQ_NO_UNROLL
    for (u32 i = 0; i < scene.view.light_count; ++i) {
        const Light light = scene.light(i);
        Vec3 toward = vec(light.vector);
        float distance = far_away, share = 1.0f;
        if (light.kind != light_directional) {
            toward = toward - s.point;
            const float d2 = max_of(dot(toward, toward), 1.0e-12f);
            distance = sqrt_exact(d2);
            toward = toward * reciprocal(distance);
            share = reciprocal(d2);
        }
        const float facing = dot(s.normal, toward);
        if (!(facing > 0.0f)) continue;
        if constexpr (Shadows) {
            tally.shadow++;
            if (is_hidden(scene, offset_point(scene.view, s, s.normal), toward, distance)) continue;
        }
        sum = mad(vec(light.color), facing * share, sum);
    }
    return sum;
}

RQ_INLINE Vec3 background(const SceneView &scene, Vec3 direction) {
    const float up = fma(0.5f, direction.y, 0.5f);
    const Vec3 low = vec(scene.background_low), high = vec(scene.background_high);
    // Written so that equal ends give exactly that radiance.
    return mad(high - low, up, low);
}

// A smooth dielectric: the way a ray takes through or off it. `u` in [0, 1) decides by Fresnel's equations.
struct Refraction {
    Vec3 direction;
    bool through;
};
RQ_INLINE Refraction refract_or_reflect(Vec3 d, const Surface &s, float ior, float u) {
    const float eta = s.from_inside ? ior : reciprocal(ior);
    const float cos_in = min_of(1.0f, -dot(d, s.normal));
    const float sin2_out = eta * eta * fma(-cos_in, cos_in, 1.0f);
    if (sin2_out >= 1.0f) return Refraction{reflect(d, s.normal), false};
    const float cos_out = sqrt_exact(1.0f - sin2_out);
    // Amplitudes for both polarisations, unpolarised light. eta = n_in / n_out.
    const float rs = divide(fma(eta, cos_in, -cos_out), fma(eta, cos_in, cos_out));
    const float rp = divide(fma(eta, cos_out, -cos_in), fma(eta, cos_out, cos_in));
    const float reflected = 0.5f * fma(rs, rs, rp * rp);
    if (u < reflected) return Refraction{reflect(d, s.normal), false};
    return Refraction{mad(s.normal, fma(eta, cos_in, -cos_out), d * eta), true};
}

}  // namespace rq
