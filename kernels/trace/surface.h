// surface.h: where a ray has met a general scene: what shading needs to know.
#pragma once
#include "trace/world.h"

namespace rq {

// `normal` is for shading, `geometric` the surface's own; both unit and on the ray's side. Spheres and planes have
// no texture coordinates: (0, 0), and a tangent of length 0, as triangles without one.
struct WorldSurface : Surface {
    Vec3 geometric, tangent;
    float u, v, handedness;
};

// The vector at length 1, however long it is; `fallback` where it has no length.
RQ_INLINE Vec3 unit_of(Vec3 v, Vec3 fallback) {
    const float size = max_of(abs_of(v.x), max_of(abs_of(v.y), abs_of(v.z)));
    if (!(size > 1.0e-36f && size < 1.0e36f)) return fallback;
    return unit(v * reciprocal(size));
}

// A normal of the mesh in the world: by the transpose of the map to the mesh, which keeps it across the surface
// and, mirrored or not, on the front.
RQ_INLINE Vec3 normal_to_world(const MeshInstance &instance, Vec3 n) {
    const float *const m = instance.to_mesh;
    return vec(fma(m[0], n.x, fma(m[4], n.y, m[8] * n.z)), fma(m[1], n.x, fma(m[5], n.y, m[9] * n.z)),
               fma(m[2], n.x, fma(m[6], n.y, m[10] * n.z)));
}

RQ_INLINE Vec3 blend(Vec3 weights, Vec3 a, Vec3 b, Vec3 c) {
    return mad(a, weights.x, mad(b, weights.y, c * weights.z));
}
RQ_INLINE float largest_size(Vec3 v) { return max_of(abs_of(v.x), max_of(abs_of(v.y), abs_of(v.z))); }

// A shading normal that the ray sees: on the side of the geometric one, and bent towards the ray where
// interpolation turned it away.
RQ_INLINE Vec3 seen_normal(Vec3 n, Vec3 geometric, Vec3 d) {
    if (dot(n, geometric) < 0.0f) n = -n;
    const float toward = -dot(n, d);
    constexpr float least = 1.0e-3f;
    return toward < least ? unit_of(mad(d, toward - least, n), geometric) : n;
}

// What the corners of a triangle add: interpolated normals, tangents and texture coordinates.
RQ_INLINE void shade_corners(const WorldScene &scene, const MeshInstance &instance, const TriangleCorners &corners,
                             Vec3 weights, Vec3 d, WorldSurface &s) {
    const MeshVertex &a = scene.world.vertices[corners.vertices[0]];
    const MeshVertex &b = scene.world.vertices[corners.vertices[1]];
    const MeshVertex &c = scene.world.vertices[corners.vertices[2]];
    const Float4 na = load_constant4(a.normal), nb = load_constant4(b.normal), nc = load_constant4(c.normal);
    const Float4 ta = load_constant4(a.tangent), tb = load_constant4(b.tangent), tc = load_constant4(c.tangent);
    s.u = dot(weights, vec(na.w, nb.w, nc.w));
    s.v = dot(weights, vec(ta.w, tb.w, tc.w));
    if ((corners.flags & corners_normals) != 0) {
        const Vec3 n = blend(weights, vec(na.x, na.y, na.z), vec(nb.x, nb.y, nb.z), vec(nc.x, nc.y, nc.z));
        s.normal = seen_normal(unit_of(normal_to_world(instance, n), s.geometric), s.geometric, d);
    }
    if ((corners.flags & corners_tangents) != 0) {
        const Vec3 t = blend(weights, vec(ta.x, ta.y, ta.z), vec(tb.x, tb.y, tb.z), vec(tc.x, tc.y, tc.z));
        s.tangent = unit_of(mapped(instance.to_world, t, 0.0f), vec(0.0f, 0.0f, 0.0f));
        s.handedness = (corners.flags & corners_mirrored) != 0 ? -1.0f : 1.0f;
    }
}

RQ_INLINE void meet_triangle(const WorldScene &scene, Vec3 o, Vec3 d, const WorldHit &hit, WorldSurface &s) {
    const MeshInstance &instance = scene.world.instances[hit.instance];
    const TriangleTest &t = load_triangle(scene, hit.primitive);
    const MeshRay ray = mesh_ray(instance, o, d);
    TriangleHit met{hit.t, vec(1.0f, 0.0f, 0.0f), 1.0f};
    meets_triangle(shear_ray(ray.origin, ray.direction), t, met);
    const Vec3 weights = met.weights * reciprocal(met.sum);
    const Vec3 face = face_of(t);
    s.from_inside = dot(face, ray.direction) > 0.0f;
    // By the weights, which puts the point onto the triangle however far the ray has come.
    s.point = mapped(instance.to_world, blend(weights, vec(t.a), vec(t.b), vec(t.c)), 1.0f);
    const float size = max_of(largest_size(vec(t.a)), max_of(largest_size(vec(t.b)), largest_size(vec(t.c))));
    s.extent = fma(instance.stretch, size, instance.shift);
    s.geometric = unit_of(normal_to_world(instance, face), -d);
    if (s.from_inside) s.geometric = -s.geometric;
    s.normal = s.geometric;
    s.material = material_of(instance, t);
    const TriangleCorners corners = scene.world.corners[instance.first_triangle + t.number];
    if (corners.flags != 0) shade_corners(scene, instance, corners, weights, d, s);
}

RQ_INLINE WorldSurface surface_at(const WorldScene &scene, Vec3 o, Vec3 d, const WorldHit &hit) {
    WorldSurface s{};
    if (hit.instance == no_instance) {
        static_cast<Surface &>(s) = surface_at<DeviceScene>(scene, o, d, Hit{hit.t, hit.primitive});
        s.geometric = s.normal;
    } else {
        meet_triangle(scene, o, d, hit, s);
    }
    return s;
}

// Where a ray starts that leaves the surface on the side of `n`: the side counts, the way is the geometric normal's.
RQ_INLINE Vec3 offset_point(const SceneView &scene, const WorldSurface &s, Vec3 n) {
    const Vec3 out = dot(n, s.geometric) < 0.0f ? -s.geometric : s.geometric;
    return offset_point(scene, static_cast<const Surface &>(s), out);
}

}  // namespace rq
