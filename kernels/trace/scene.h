// scene.h: where a kernel reads a scene's arrays from.
//
// Functions that trace take a scene of one of two kinds: DeviceScene reads device memory, ChipScene a copy in
// on-chip memory that each block makes when it starts. The copy needs fewer instructions an access, and it
// survives the acquires of the queues, which empty a GPU's nearest cache.
#pragma once
#include "trace/vec.h"

namespace rq {

struct DeviceScene {
    const SceneView &view;

    RQ_METHOD Float4 sphere(u32 i) const { return load_constant4(view.spheres[i].centre); }
    RQ_METHOD SphereShade shade(u32 i) const { return view.sphere_shades[i]; }
    RQ_METHOD Float4 plane(u32 i) const { return load_constant4(view.planes[i].normal); }
    RQ_METHOD u32 plane_material(u32 i) const { return view.plane_materials[i]; }
    RQ_METHOD Material material(u32 i) const {
        return unpack(load_constant4(view.materials[i].albedo), load_constant4(view.materials[i].emission));
    }
    RQ_METHOD Light light(u32 i) const {
        return unpack_light(load_constant4(view.lights[i].vector), load_constant4(view.lights[i].color));
    }

    RQ_METHOD static Material unpack(Float4 a, Float4 b) {
        return Material{{a.x, a.y, a.z}, as_bits(a.w), {b.x, b.y, b.z}, b.w};
    }
    RQ_METHOD static Light unpack_light(Float4 a, Float4 b) {
        return Light{{a.x, a.y, a.z}, as_bits(a.w), {b.x, b.y, b.z}, b.w};
    }
};

#if !RQ_TARGET_CPU && !RQ_INTEGRATOR_GENERAL
// The copy is laid out as spheres, planes, materials, lights, then shades and plane materials; Target in
// src/engine/target.rs knows how much room that takes.
struct ChipScene {
    const SceneView &view;

    RQ_METHOD static Float4 *quads() { return shared_memory<Float4>(); }
    RQ_METHOD u32 first_plane() const { return view.sphere_count; }
    RQ_METHOD u32 first_material() const { return first_plane() + view.plane_count; }
    RQ_METHOD u32 first_light() const { return first_material() + 2 * view.material_count; }
    RQ_METHOD SphereShade *shades() const {
        return reinterpret_cast<SphereShade *>(quads() + first_light() + 2 * view.light_count);
    }
    RQ_METHOD u32 *plane_materials() const { return reinterpret_cast<u32 *>(shades() + view.sphere_count); }

    RQ_METHOD Float4 sphere(u32 i) const { return quads()[i]; }
    RQ_METHOD SphereShade shade(u32 i) const { return shades()[i]; }
    RQ_METHOD Float4 plane(u32 i) const { return quads()[first_plane() + i]; }
    RQ_METHOD u32 plane_material(u32 i) const { return plane_materials()[i]; }
    RQ_METHOD Material material(u32 i) const {
        const Float4 *const m = quads() + first_material() + 2 * i;
        return DeviceScene::unpack(m[0], m[1]);
    }
    RQ_METHOD Light light(u32 i) const {
        const Float4 *const l = quads() + first_light() + 2 * i;
        return DeviceScene::unpack_light(l[0], l[1]);
    }

    template <class T> RQ_METHOD static const Float4 *quads_of(const T *p) {
        return reinterpret_cast<const Float4 *>(p);
    }
    template <class T> RQ_METHOD static void copy(T *to, const T *from, u32 count) {
        for (u32 i = thread_in_block(); i < count; i += block_threads()) to[i] = from[i];
    }
    // All lanes of the block call.
    RQ_METHOD static ChipScene load(const SceneView &view) {
        const ChipScene scene{view};
        copy(quads(), quads_of(view.spheres), view.sphere_count);
        copy(quads() + scene.first_plane(), quads_of(view.planes), view.plane_count);
        copy(quads() + scene.first_material(), quads_of(view.materials), 2 * view.material_count);
        copy(quads() + scene.first_light(), quads_of(view.lights), 2 * view.light_count);
        copy(scene.shades(), static_cast<const SphereShade *>(view.sphere_shades), view.sphere_count);
        copy(scene.plane_materials(), static_cast<const u32 *>(view.plane_materials), view.plane_count);
        block_barrier();
        return scene;
    }
};
#endif

#if !RQ_INTEGRATOR_GENERAL
// Calls `body` with the scene, from wherever the host decided that it is to be read. (General scenes: general.h.)
template <class Body> RQ_INLINE void with_scene(const SceneView &view, Body body) {
#if !RQ_TARGET_CPU
    if (view.on_chip != 0) {
        body(ChipScene::load(view));
        return;
    }
#endif
    body(DeviceScene{view});
}
#endif

}  // namespace rq
