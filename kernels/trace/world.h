// world.h: the nearest hit of a ray in a general scene: spheres and instances of meshes in a tree of boxes, each
// mesh's triangles in a tree of its own, planes apart.
//
// The nearest hit is the smallest (t, instance, number), spheres and planes before all instances. Boxes are
// enlarged by more than the tests' rounding errors, and a box is passed over only when it is strictly farther than
// the nearest hit: so the trees never show, and testing everything gives the same hits.
#pragma once
#include "trace/boxes.h"
#include "trace/material.h"
#include "trace/texture.h"
#include "trace/triangle.h"

namespace rq {

// Items of the world: an instance has this bit, a sphere has not.
constexpr u32 item_instance = 1u << 31;
// Bits of TriangleTest::flags: what lets rays pass.
constexpr u32 triangle_single_sided = 1, triangle_masked = 2;

// Bits of TriangleCorners::flags: what the vertices hold, and whether bitangents are cross(tangent, normal).
constexpr u32 corners_normals = 1, corners_tangents = 2, corners_uvs = 4, corners_mirrored = 8;

// MeshInstance::material where each triangle has its own.
constexpr u32 own_materials = 0xffffffffu;
// The instance of spheres and planes.
constexpr u32 no_instance = 0xffffffffu;
// Most entries of a traversal's stack. The host (src/accel/mod.rs) sees to it that no two trees need more: one for
// each node on the way down, and one for the way out of an instance.
constexpr u32 stack_entries = 64;
// Steps to nodes before the lanes of a wave meet to test triangles: measured on an H200.
constexpr u32 nodes_together = 4;

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

RQ_INLINE Vec3 mapped(const float (&rows)[12], Vec3 v, float one) {
    const float *const m = rows;
    return vec(fma(m[0], v.x, fma(m[1], v.y, fma(m[2], v.z, m[3] * one))),
               fma(m[4], v.x, fma(m[5], v.y, fma(m[6], v.z, m[7] * one))),
               fma(m[8], v.x, fma(m[9], v.y, fma(m[10], v.z, m[11] * one))));
}
// A ray within an instance. Distances along it are the world's: its direction is not unit.
struct MeshRay {
    Vec3 origin, direction;
};
RQ_INLINE MeshRay mesh_ray(const MeshInstance &instance, Vec3 o, Vec3 d) {
    return MeshRay{mapped(instance.to_mesh, o, 1.0f), mapped(instance.to_mesh, d, 0.0f)};
}

#if RQ_TARGET_CPU
RQ_INLINE const TriangleTest &load_triangle(const WorldScene &scene, u32 place) { return scene.world.triangles[place]; }
#else
RQ_INLINE TriangleTest load_triangle(const WorldScene &scene, u32 place) {
    const TriangleTest &t = scene.world.triangles[place];
    const Float4 a = load_constant4(t.a), b = load_constant4(t.b), c = load_constant4(t.c);
    return TriangleTest{{a.x, a.y, a.z}, as_bits(a.w), {b.x, b.y, b.z}, as_bits(b.w), {c.x, c.y, c.z}, as_bits(c.w)};
}
#endif

RQ_INLINE u32 material_of(const MeshInstance &instance, const TriangleTest &t) {
    return instance.material == own_materials ? instance.first_material + t.surface : instance.material;
}

// Its normal, as long as twice its area.
RQ_INLINE Vec3 face_of(const TriangleTest &t) { return cross(vec(t.b) - vec(t.a), vec(t.c) - vec(t.a)); }

// Whether a masked triangle has a hole where a ray meets it.
RQ_NOINLINE bool has_hole(const WorldScene &scene, const MeshInstance &instance, const TriangleTest &t,
                          const TriangleHit &met) {
    const Material m = scene.material(material_of(instance, t));
    const TriangleCorners corners = scene.world.corners[instance.first_triangle + t.number];
    float u = 0.0f, v = 0.0f;
    if ((corners.flags & corners_uvs) != 0) {
        const Vec3 weights = met.weights * reciprocal(met.sum);
        const MeshVertex *const vertices = scene.world.vertices;
        const MeshVertex &a = vertices[corners.vertices[0]], &b = vertices[corners.vertices[1]];
        const MeshVertex &c = vertices[corners.vertices[2]];
        u = dot(weights, vec(a.u, b.u, c.u));
        v = dot(weights, vec(a.v, b.v, c.v));
    }
    return m.kind == material_surface &&
           is_hole(scene.world.lighting, scene.world.lighting.surfaces[as_bits(m.parameter)], u, v);
}

// Whether a ray that meets the triangle there is stopped by it. A single-sided triangle lets rays through its
// back; a masked one where its texture says so.
RQ_INLINE bool stops_ray(const WorldScene &scene, const MeshInstance &instance, const TriangleTest &t, u32 flags, Vec3 d,
                         const TriangleHit &met) {
    const bool passes_back = (flags & triangle_single_sided) != 0;
    if (passes_back && dot(face_of(t), mapped(instance.to_mesh, d, 0.0f)) > 0.0f) return false;
    return (flags & triangle_masked) == 0 || !has_hole(scene, instance, t, met);
}

// The ray goes along `d`; within the instance it is `shear`.
RQ_INLINE void take_triangle(const WorldScene &scene, const MeshInstance &instance, u32 instance_number, Vec3 d,
                             const ShearRay &shear, u32 place, WorldHit &hit) {
    const TriangleTest &t = load_triangle(scene, place);
    TriangleHit met;
    if (!meets_triangle(shear, t, met)) return;
    if (!(met.t > scene.view.t_min && met.t <= hit.t)) return;
    if (met.t == hit.t && !goes_before(scene, hit, instance_number, t.number)) return;
    const u32 flags = instance.material == own_materials ? t.flags : instance.flags;
    if (flags != 0 && !stops_ray(scene, instance, t, flags, d, met)) return;
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
        const ShearRay shear = shear_ray(ray.origin, ray.direction);
        for (u32 k = 0; k < instance.triangles; ++k)
            take_triangle(scene, instance, number, d, shear, instance.first_triangle + k, hit);
    }
}

// Counts nothing; what probes count, they count in a type of their own.
struct NoTests {
    RQ_METHOD void node() {}
    RQ_METHOD void triangle() {}
};

// Nodes with slots that are still to be visited, and without any for the way out of an instance.
struct WalkStack {
    u32 nodes[stack_entries], slots[stack_entries];
    Entries entries[stack_entries];
};

// With these in `left`, slots that the ray misses are among the others.
constexpr u32 all_slots = 0xffu, untested = 0x100u;

// A ray's walk through the world's tree and, from its leaves, through those of meshes: for the nearest hit or, with
// `any`, for the first that is found.
template <class Tests> struct Walk {
    const WorldScene &scene;
    WalkStack &stack;
    Tests &tests;

    Vec3 origin, direction;
    bool any;
    WorldHit hit;

    u32 inside;          // the instance whose tree it is in
    u32 node;            // where it is,
    u32 left;            // and which of the node's slots are left: bit i is the i-th in the ray's order
    u32 held;            // entries of the stack
    u32 leaf, leaf_end;  // triangles at hand
    BoxRay boxes;
    ShearRay shear{};
    Entries entries{};   // of the node's boxes

    RQ_METHOD Walk(const WorldScene &scene, WalkStack &stack, Tests &tests) : scene(scene), stack(stack), tests(tests) {}

    // With the nearest hit that is known.
    RQ_METHOD void begin(Vec3 o, Vec3 d, bool for_any, const WorldHit &known) {
        origin = o;
        direction = d;
        any = for_any;
        hit = known;
        held = 0;
        leaf = leaf_end = 0;
        const u32 root = scene.world.root;
        if ((root & item_instance) != 0) {
            enter(root & ~item_instance);
        } else {
            leave();
            start(root);
        }
    }
    RQ_METHOD bool is_answered() const { return any && hit.primitive != nothing_hit; }
    // When no triangles are at hand.
    RQ_METHOD bool is_over() const { return (left | held) == 0 || is_answered(); }

    RQ_METHOD void start(u32 root) {
        node = root;
        left = all_slots | untested;
    }
    RQ_METHOD void leave() {
        inside = no_instance;
        boxes = box_ray(origin, direction);
    }
    RQ_METHOD void enter(u32 instance) {
        inside = instance;
        const MeshRay in_mesh = mesh_ray(scene.world.instances[instance], origin, direction);
        shear = shear_ray(in_mesh.origin, in_mesh.direction);
        boxes = box_ray(in_mesh.origin, in_mesh.direction);
        start(scene.world.instances[instance].root);
    }

    RQ_METHOD void put_aside(u32 slots) {
        stack.nodes[held] = node;
        stack.entries[held] = entries;
        stack.slots[held++] = slots;
    }
    RQ_METHOD void come_back() {
        --held;
        node = stack.nodes[held];
        left = stack.slots[held];
        entries = stack.entries[held];
        if (left == 0) leave();
        else left &= entered_before(entries, hit.t);  // what lies behind the hit by now needs no visit
    }
    // What the next slot leads to.
    RQ_METHOD void visit_slot() {
        const BvhNode &at = scene.world.nodes[node];
        const u32 slot = first_lane(left) ^ boxes.down;
        left &= left - 1;
        const bool inner = (at.inner >> slot & 1u) != 0;
        const u32 code = at.leaves[slot], first = at.first_item + (code & 31u), end = first + (code >> 5);
        if (inner) {
            if (left != 0) put_aside(left);
            start(at.first_child + count_lanes(at.inner & ((1u << slot) - 1)));
        } else if (inside != no_instance) {
            leaf = first, leaf_end = end;
        } else if (first < end) {
            const u32 item = scene.world.items[first];
            if ((item & item_instance) == 0) {
                take_sphere(scene, origin, direction, item, hit);
                return;
            }
            if (left != 0) put_aside(left);
            if (held != 0) put_aside(0);
            enter(item & ~item_instance);
        }
    }
    RQ_METHOD void test_boxes() {
        tests.node();
        left = entered_slots(scene.world.nodes[node], boxes, hit.t, entries);
    }
    RQ_METHOD void test_triangles() {
        const MeshInstance &instance = scene.world.instances[inside];
        for (u32 place = leaf; place < leaf_end; ++place) {
            tests.triangle();
            take_triangle(scene, instance, inside, direction, shear, place, hit);
        }
        leaf_end = leaf;
    }
    // The way to the next node or triangles to read.
    RQ_METHOD void go_down() {
        if (left == 0) come_back();
        if (left != 0 && (left & untested) == 0) visit_slot();
    }
    // A few steps down, until there are triangles to test, and these. Each of the two dear parts, boxes and triangles, is
    // at one place, where the lanes of a wave do it together.
    RQ_METHOD void go_on() {
        RQ_NO_UNROLL
        for (u32 k = 0; k < nodes_together && leaf == leaf_end && !is_over(); ++k) {
            go_down();
            if ((left & untested) != 0) test_boxes();
        }
        if (leaf != leaf_end) test_triangles();
    }
    // The same for a lane that has nobody to meet: reads a node or triangles, and finds what to read next. False: nothing.
    RQ_METHOD bool read_and_go_on() {
        if (leaf != leaf_end) test_triangles();
        else test_boxes();
        while (leaf == leaf_end && (left & untested) == 0 && !is_over()) go_down();
        return leaf != leaf_end || !is_over();
    }
};

template <class Tests>
RQ_INLINE void walk(const WorldScene &scene, Vec3 o, Vec3 d, bool any, WorldHit &hit, Tests &tests) {
    WalkStack stack;
    Walk<Tests> walk(scene, stack, tests);
    walk.begin(o, d, any, hit);
    if constexpr (wave_size_is_one) {
        for (bool goes_on = !walk.is_over(); goes_on;) goes_on = walk.read_and_go_on();
    } else {
        while (!walk.is_over()) walk.go_on();
    }
    hit = walk.hit;
}

// The nearest plane, as a first hit.
RQ_INLINE WorldHit nearest_plane(const WorldScene &scene, Vec3 o, Vec3 d, float t_max) {
    Hit plane{t_max, nothing_hit};
    for (u32 i = 0; i < scene.view.plane_count; ++i) test_plane(scene, i, o, d, plane);
    return WorldHit{plane.t, plane.primitive, no_instance};
}

RQ_NOINLINE WorldHit trace_world(const WorldScene &scene, Vec3 o, Vec3 d, float t_max, bool any) {
    WorldHit hit = nearest_plane(scene, o, d, t_max);
    NoTests none;
    walk(scene, o, d, any, hit, none);
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
