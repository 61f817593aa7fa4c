// world.h: the nearest hit of a ray in a general scene: spheres and instances of meshes in a tree of boxes, each
// mesh's triangles in a tree of its own, planes apart.
//
// The nearest hit is the smallest (t, instance, number), spheres and planes before all instances. Boxes are
// enlarged by more than the tests' rounding errors, and a box is passed over only when it is strictly farther than
// the nearest hit: so the trees never show, and testing everything (`brute_force`) gives the same hits.
#pragma once
#include "trace/intersect.h"
#include "trace/triangle.h"

namespace rq {

// References to children in a tree: an inner node's index, or a leaf: this bit, the number of things in it, and
// the first of them. src/accel/mod.rs has the same numbers.
constexpr u32 leaf_bit = 1u << 31, leaf_count_shift = 27, leaf_first_mask = (1u << leaf_count_shift) - 1;
// Items of the world: an instance has this bit, a sphere has not.
constexpr u32 item_instance = 1u << 31;
// Bits of TriangleTest::flags: what lets rays pass.
constexpr u32 triangle_single_sided = 1, triangle_masked = 2;

// MeshInstance::material where each triangle has its own.
constexpr u32 own_materials = 0xffffffffu;
// The instance of spheres and planes.
constexpr u32 no_instance = 0xffffffffu;
// Most entries of a traversal's stack. The host sees to it that no tree needs more.
constexpr u32 stack_entries = 96;

// A general scene: what DeviceScene reads, and the world.
struct WorldScene : DeviceScene {
    const WorldView &world;
};

// The primitive is a sphere, a plane (after the spheres), or an instance's triangle: its place in
// WorldView::triangles.
struct WorldHit {
    float t;
    u32 primitive, instance;
};

// ---- boxes

// What boxes ask of a ray. The ray's origin is blurred by `box_margin` of its coordinates and boxes by the same
// share of theirs (by the host): more than twice what the tests of boxes and triangles can be off by, which is
// below 7 * 2^-24 of both.
constexpr float box_margin = 1.0f / 1048576.0f;  // 2^-20
struct BoxRay {
    Vec3 inverse, low, high;  // 1/d, and -(o + blur)/d for lower sides, -(o - blur)/d for upper ones
};

// 1/d, or a finite stand-in where the ray runs along the axis.
RQ_INLINE float finite_inverse(float d) {
    if (abs_of(d) < 1.0e-20f) return as_bits(d) >> 31 ? -1.0e20f : 1.0e20f;
    return reciprocal(d);
}

RQ_INLINE BoxRay box_ray(Vec3 o, Vec3 d) {
    const float blur = box_margin * max_of(abs_of(o.x), max_of(abs_of(o.y), abs_of(o.z)));
    const Vec3 wide = vec(blur, blur, blur);
    const Vec3 inverse = vec(finite_inverse(d.x), finite_inverse(d.y), finite_inverse(d.z));
    return BoxRay{inverse, -(o + wide) * inverse, -(o - wide) * inverse};
}

// Where the ray enters the box, or a negative number if it does not reach it before `t_max`.
RQ_INLINE float box_entry(const BoxRay &ray, Vec3 low, Vec3 high, float t_max) {
    const Vec3 l = mad(low, ray.inverse, ray.low), h = mad(high, ray.inverse, ray.high);
    const float enter = max_of(max_of(min_of(l.x, h.x), min_of(l.y, h.y)), max_of(min_of(l.z, h.z), 0.0f));
    const float leave = min_of(min_of(max_of(l.x, h.x), max_of(l.y, h.y)), min_of(max_of(l.z, h.z), t_max));
    return enter <= leave ? enter : -1.0f;
}

// ---- what leaves hold

// Whether a hit at the distance of `hit` goes before it.
RQ_INLINE bool goes_before(const WorldScene &scene, const WorldHit &hit, u32 instance, u32 number) {
    if (hit.primitive == nothing_hit) return false;
    if (instance != hit.instance) return instance + 1 < hit.instance + 1;  // no_instance comes first
    if (instance == no_instance) return number < hit.primitive;
    return number < scene.world.triangles[hit.primitive].number;
}

RQ_INLINE void take_loose(const WorldScene &scene, Hit found, WorldHit &hit) {
    if (found.primitive == nothing_hit) return;
    if (found.t < hit.t || goes_before(scene, hit, no_instance, found.primitive))
        hit = WorldHit{found.t, found.primitive, no_instance};
}

RQ_INLINE void take_sphere(const WorldScene &scene, Vec3 o, Vec3 d, u32 sphere, WorldHit &hit) {
    // Asked with the next farther distance, so that a hit as far as `hit` shows.
    Hit found{as_float(as_bits(hit.t) + 1), nothing_hit};
    const Float4 s = scene.sphere(sphere);
    const QuickRay ray = quick_ray(o, d);
    if (quick_test(ray, s.x, s.y, s.z, s.w) > 0.0f) test_sphere(scene, ray, vec(s.x, s.y, s.z), sphere, found);
    take_loose(scene, found, hit);
}

// A ray within an instance. Distances along it are the world's: its direction is not unit.
struct MeshRay {
    Vec3 origin, direction;
    ShearRay shear;
};
RQ_INLINE Vec3 mapped(const float (&rows)[12], Vec3 v, float one) {
    const float *const m = rows;
    return vec(fma(m[0], v.x, fma(m[1], v.y, fma(m[2], v.z, m[3] * one))),
               fma(m[4], v.x, fma(m[5], v.y, fma(m[6], v.z, m[7] * one))),
               fma(m[8], v.x, fma(m[9], v.y, fma(m[10], v.z, m[11] * one))));
}
RQ_INLINE MeshRay mesh_ray(const MeshInstance &instance, Vec3 o, Vec3 d) {
    const Vec3 origin = mapped(instance.to_mesh, o, 1.0f), direction = mapped(instance.to_mesh, d, 0.0f);
    return MeshRay{origin, direction, shear_ray(origin, direction)};
}

struct Corners {
    Vec3 a, b, c;
    u32 number, surface, flags;
};
RQ_INLINE Corners load_triangle(const WorldScene &scene, u32 place) {
    const TriangleTest &t = scene.world.triangles[place];
    const Float4 a = load_constant4(t.a), b = load_constant4(t.b), c = load_constant4(t.c);
    return Corners{vec(a.x, a.y, a.z), vec(b.x, b.y, b.z), vec(c.x, c.y, c.z), as_bits(a.w), as_bits(b.w), as_bits(c.w)};
}

// Whether a ray that meets the triangle there is stopped by it. A single-sided triangle lets rays through its
// back; a masked one where its texture says so.
RQ_INLINE bool stops_ray(const Corners &t, u32 flags, const MeshRay &ray) {
    if ((flags & triangle_single_sided) != 0 && dot(cross(t.b - t.a, t.c - t.a), ray.direction) > 0.0f) return false;
    return true;
}

RQ_INLINE void take_triangle(const WorldScene &scene, const MeshInstance &instance, u32 instance_number,
                             const MeshRay &ray, u32 place, WorldHit &hit) {
    const Corners t = load_triangle(scene, place);
    TriangleHit met;
    if (!meets_triangle(ray.shear, t.a, t.b, t.c, met)) return;
    if (!(met.t > scene.view.t_min && met.t <= hit.t)) return;
    if (met.t == hit.t && !goes_before(scene, hit, instance_number, t.number)) return;
    const u32 flags = instance.material == own_materials ? t.flags : instance.flags;
    if (flags != 0 && !stops_ray(t, flags, ray)) return;
    hit = WorldHit{met.t, place, instance_number};
}

// ---- rays

RQ_INLINE void test_everything(const WorldScene &scene, Vec3 o, Vec3 d, WorldHit &hit) {
    for (u32 i = 0; i < scene.world.item_count; ++i) {
        const u32 item = scene.world.items[i];
        if ((item & item_instance) == 0) {
            take_sphere(scene, o, d, item, hit);
            continue;
        }
        const u32 number = item & ~item_instance;
        const MeshInstance &instance = scene.world.instances[number];
        const MeshRay ray = mesh_ray(instance, o, d);
        for (u32 k = 0; k < instance.triangles; ++k)
            take_triangle(scene, instance, number, ray, instance.first_triangle + k, hit);
    }
}

// Walks the world's tree and, from its leaves, those of meshes: one stack for both. With `any` the first hit that
// is found will do.
RQ_INLINE void walk(const WorldScene &scene, Vec3 o, Vec3 d, bool any, WorldHit &hit) {
    constexpr u32 way_out = 0xffffffffu;  // on the stack: the end of an instance
    u32 stack[stack_entries];
    u32 held = 0, current = scene.world.root, inside = no_instance;
    BoxRay boxes = box_ray(o, d);
    MeshRay mesh{};
    while (true) {
        if ((current & leaf_bit) == 0) {
            const BvhNode &node = scene.world.nodes[current];
            const Float4 la = load_constant4(node.low_a), ha = load_constant4(node.high_a);
            const Float4 lb = load_constant4(node.low_b), hb = load_constant4(node.high_b);
            const float a = box_entry(boxes, vec(la.x, la.y, la.z), vec(ha.x, ha.y, ha.z), hit.t);
            const float b = box_entry(boxes, vec(lb.x, lb.y, lb.z), vec(hb.x, hb.y, hb.z), hit.t);
            const u32 child_a = as_bits(la.w), child_b = as_bits(ha.w);
            if (a >= 0.0f && b >= 0.0f) {
                stack[held++] = a <= b ? child_b : child_a;
                current = a <= b ? child_a : child_b;
                continue;
            }
            if (a >= 0.0f || b >= 0.0f) {
                current = a >= 0.0f ? child_a : child_b;
                continue;
            }
        } else if (inside == no_instance) {
            const u32 item = (current >> leaf_count_shift & 15u) != 0
                ? scene.world.items[current & leaf_first_mask] : way_out;
            if (item != way_out && (item & item_instance) != 0) {
                inside = item & ~item_instance;
                const MeshInstance &instance = scene.world.instances[inside];
                mesh = mesh_ray(instance, o, d);
                boxes = box_ray(mesh.origin, mesh.direction);
                stack[held++] = way_out;
                current = instance.root;
                continue;
            }
            if (item != way_out) take_sphere(scene, o, d, item, hit);
        } else {
            const MeshInstance &instance = scene.world.instances[inside];
            const u32 first = current & leaf_first_mask, end = first + (current >> leaf_count_shift & 15u);
            for (u32 place = first; place < end; ++place) take_triangle(scene, instance, inside, mesh, place, hit);
        }
        if (held == 0 || (any && hit.primitive != nothing_hit)) return;
        current = stack[--held];
        if (current == way_out) {
            inside = no_instance;
            boxes = box_ray(o, d);
            if (held == 0) return;
            current = stack[--held];
        }
    }
}

RQ_NOINLINE WorldHit trace_world(const WorldScene &scene, Vec3 o, Vec3 d, float t_max, bool any) {
    Hit plane{t_max, nothing_hit};
    for (u32 i = 0; i < scene.view.plane_count; ++i) test_plane(scene, i, o, d, plane);
    WorldHit hit{plane.t, plane.primitive, no_instance};
    if (any && hit.primitive != nothing_hit) return hit;
    if (scene.world.brute_force != 0) test_everything(scene, o, d, hit);
    else walk(scene, o, d, any, hit);
    return hit;
}

// Spheres, planes, instances.
RQ_INLINE u32 object_number(const WorldScene &scene, const WorldHit &hit) {
    if (hit.instance == no_instance) return hit.primitive + 1;
    return scene.view.sphere_count + scene.view.plane_count + hit.instance + 1;
}

// As for other scenes (intersect.h, material.h), by the world's trees.
RQ_INLINE WorldHit nearest_hit(const WorldScene &scene, Vec3 o, Vec3 d, float t_max) {
    return trace_world(scene, o, d, t_max, false);
}
RQ_INLINE bool is_hidden(const WorldScene &scene, Vec3 from, Vec3 direction, float distance) {
    return trace_world(scene, from, direction, distance, true).primitive != nothing_hit;
}

}  // namespace rq
