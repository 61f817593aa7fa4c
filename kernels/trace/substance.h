// substance.h: what a hit of a general scene is made of: plain materials, and models' surfaces with their textures.
#pragma once
#include "trace/ggx.h"
#include "trace/surface.h"

namespace rq {

// A surface where a ray has met it, in the frame about its shading normal.
struct Substrate {
    Frame frame;
    Vec3 out;  // to where the path came from, in the frame
    Lobes lobes;
    Vec3 emission;
    float asked;  // density per area with which hits ask for the surface's light
    bool bent;    // the frame is not about the geometric normal
};

RQ_INLINE Vec3 times_texture(const LightingView &lighting, Vec3 color, u32 texture, float u, float v) {
    if (texture == no_texture) return color;
    const Float4 t = texture_at(lighting, texture, u, v);
    return vec(color.x * t.x, color.y * t.y, color.z * t.z);
}

RQ_INLINE Vec3 base_color(const LightingView &lighting, const SurfaceShade &shade, float u, float v) {
    return times_texture(lighting, vec(shade.base), shade.base_texture, u, v);
}

RQ_INLINE Substance substance_at(const LightingView &lighting, const SurfaceShade &shade, float u, float v) {
    Substance s{base_color(lighting, shade, u, v), shade.metallic, shade.roughness, vec(shade.f0), shade.f90};
    if (shade.roughness_texture != no_texture) {
        const Float4 t = texture_at(lighting, shade.roughness_texture, u, v);
        s.roughness *= t.y;
        s.metallic *= t.z;
    }
    return s;
}

// Share of light that is reflected, as the material says it: a model's surface has its base colour.
RQ_INLINE Vec3 albedo_at(const WorldScene &scene, const WorldSurface &s, const Material &m) {
    if (m.kind != material_surface) return vec(m.albedo);
    return base_color(scene.world.lighting, scene.world.lighting.surfaces[as_bits(m.parameter)], s.u, s.v);
}

// The shading normal, bent by the surface's texture if it has one and the mesh says how it lies.
RQ_INLINE Vec3 textured_normal(const LightingView &lighting, const SurfaceShade &shade, const WorldSurface &s, Vec3 d) {
    if (shade.normal_texture == no_texture || !(dot(s.tangent, s.tangent) > 0.5f)) return s.normal;
    const Float4 t = texture_at(lighting, shade.normal_texture, s.u, s.v);
    const float x = fma(2.0f, t.x, -1.0f) * shade.normal_scale, y = fma(2.0f, t.y, -1.0f) * shade.normal_scale;
    // The tangent and its companion lie as on the front, where the ray may see the back.
    const Vec3 front = s.from_inside ? -s.normal : s.normal;
    const Vec3 tangent = unit_of(mad(front, -dot(front, s.tangent), s.tangent), s.tangent);
    const Vec3 companion = cross(front, tangent) * s.handedness;
    const Vec3 n = mad(tangent, x, mad(companion, y, front * fma(2.0f, t.z, -1.0f)));
    return seen_normal(unit_of(n, s.normal), s.geometric, d);
}

// The substrate of everything but mirrors and glass. `d` is the ray's direction.
RQ_INLINE Substrate substrate_at(const WorldScene &scene, const WorldSurface &s, const Material &m, Vec3 d) {
    const LightingView &lighting = scene.world.lighting;
    Substrate at;
    Vec3 normal = s.normal;
    Substance substance{vec(m.albedo), 0.0f, 1.0f, vec(0.0f, 0.0f, 0.0f), 0.0f};
    at.emission = vec(m.emission);
    at.asked = m.kind == material_lambert ? m.parameter : 0.0f;
    if (m.kind == material_surface) {
        const SurfaceShade &shade = lighting.surfaces[as_bits(m.parameter)];
        substance = substance_at(lighting, shade, s.u, s.v);
        normal = textured_normal(lighting, shade, s, d);
        at.emission = times_texture(lighting, at.emission, shade.emission_texture, s.u, s.v);
        at.asked = shade.asked;
    }
    at.frame = frame_about(normal);
    at.out = into_frame(at.frame, -d);
    at.out.z = max_of(at.out.z, 1.0e-6f);
    at.lobes = lobes_of(lighting.albedos, substance, at.out.z);
    at.bent = normal.x != s.geometric.x || normal.y != s.geometric.y || normal.z != s.geometric.z;
    return at;
}

// A direction on the ray's side of the true surface: bent normals send some to the other side, from where they are
// mirrored, so that no light is lost.
RQ_INLINE Vec3 above(const WorldSurface &s, Vec3 direction) {
    const float height = dot(direction, s.geometric);
    return height < 0.0f ? mad(s.geometric, -2.0f * height, direction) : direction;
}
// What goes to a direction, in the world: with what is mirrored into it.
RQ_INLINE Scatter scatter_at(const Substrate &at, const WorldSurface &s, Vec3 direction) {
    Scatter sum = scatter(at.lobes, at.out, into_frame(at.frame, direction));
    if (at.bent) {
        const Vec3 below = mad(s.geometric, -2.0f * dot(direction, s.geometric), direction);
        const Scatter more = scatter(at.lobes, at.out, into_frame(at.frame, below));
        sum.share = sum.share + more.share;
        sum.pdf += more.pdf;
    }
    return sum;
}
// As `sample`, in the world.
RQ_INLINE bool sample_at(const Substrate &at, const WorldSurface &s, const Random4 &r, Onward &onward) {
    if (!sample(at.lobes, at.out, r.a, r.b, r.c, onward)) return false;
    onward.direction = above(s, unit(out_of_frame(at.frame, onward.direction)));
    if (at.bent && onward.pdf > 0.0f) {
        const Scatter both = scatter_at(at, s, onward.direction);
        onward.pdf = both.pdf;
        if (!onward.base_alone) onward.weight = both.share * reciprocal(both.pdf);
    }
    return true;
}

}  // namespace rq
