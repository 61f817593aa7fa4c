// boxes.h: a ray against the eight boxes of a tree's node.
//
// A node's boxes are whole numbers of a grid of its own (src/accel/tree.rs), so that it takes 80 bytes. Its children
// lie in slots from which every ray meets them about in order: slot i ^ (the axes along which it goes down) is the
// i-th, which saves sorting them.
#pragma once
#include "trace/vec.h"

namespace rq {

// Boxes are larger than what they hold by `box_margin` of their coordinates (the host sees to that), and a ray's
// origin is blurred by the same share of its own: twice what the tests of boxes, triangles and spheres
// can be off by, which is below 8 * 2^-24 of both.
constexpr float box_margin = 1.0f / 1048576.0f;  // 2^-20

// What boxes ask of a ray: 1 / direction, by how much its origin is blurred, and a bit for each axis along which it goes
// down.
struct BoxRay {
    Vec3 inverse, origin;
    float blur;
    u32 down;
#if RQ_LANE_TESTS_EIGHT
    // Where its near and far sides begin in BvhNode::sides, and the slots in its order.
    u32 near_x, near_y, near_z, far_x, far_y, far_z;
    EightInts order;
#endif
};

// 1/d, or a finite stand-in where the ray runs along the axis.
RQ_INLINE float finite_inverse(float d) {
    if (abs_of(d) < 1.0e-20f) return as_bits(d) >> 31 != 0 ? -1.0e20f : 1.0e20f;
    return reciprocal(d);
}

RQ_INLINE BoxRay box_ray(Vec3 o, Vec3 d) {
    BoxRay ray;
    ray.inverse = vec(finite_inverse(d.x), finite_inverse(d.y), finite_inverse(d.z));
    const u32 x = as_bits(d.x) >> 31, y = as_bits(d.y) >> 31, z = as_bits(d.z) >> 31;
    ray.down = x | y << 1 | z << 2;
    ray.origin = o;
    ray.blur = box_margin * max_of(abs_of(o.x), max_of(abs_of(o.y), abs_of(o.z)));
#if RQ_LANE_TESTS_EIGHT
    constexpr u32 upper = sizeof BvhNode::sides[0];
    ray.near_x = upper * x, ray.near_y = upper * y + 8, ray.near_z = upper * z + 16;
    ray.far_x = upper - upper * x, ray.far_y = upper - upper * y + 8, ray.far_z = upper - upper * z + 16;
    ray.order = EightInts{0, 1, 2, 3, 4, 5, 6, 7} ^ (i32)ray.down;
#endif
    return ray;
}

// The node's grid along the ray: distances of its first lines and between two lines.
struct GridRay {
    Vec3 near_start, far_start, step;
};
RQ_INLINE GridRay grid_ray(const BoxRay &ray, Vec3 origin, u32 exponents) {
    const Vec3 step = vec(as_float((exponents & 0xffu) << 23), as_float((exponents >> 8 & 0xffu) << 23),
                          as_float((exponents >> 16 & 0xffu) << 23));
    const Vec3 start = (origin - ray.origin) * ray.inverse;
    const Vec3 blur = vec(abs_of(ray.inverse.x), abs_of(ray.inverse.y), abs_of(ray.inverse.z)) * ray.blur;
    return GridRay{start - blur, start + blur, step * ray.inverse};
}

#if RQ_LANE_TESTS_EIGHT
// Where a ray entered the boxes of a node, in its order: which of them are nearer than a hit that it has found since
// needs no second look at the node.
constexpr bool entries_are_kept = true;
typedef Eight Entries;
RQ_INLINE u32 entered_before(const Entries &entries, float t_max) { return where(entries <= t_max); }

// The slots whose boxes the ray enters before `t_max`, as bits in the ray's order.
RQ_INLINE u32 entered_slots(const BvhNode &node, const BoxRay &ray, float t_max, Entries &entries) {
    u32 exponents;
    __builtin_memcpy(&exponents, node.exponents, 4);
    const GridRay g = grid_ray(ray, vec(node.origin), exponents);
    const u8 *const sides = node.sides[0][0];
    const Eight enter = max_of(max_of(fma(load_eight(sides + ray.near_x), g.step.x, g.near_start.x),
                                      fma(load_eight(sides + ray.near_y), g.step.y, g.near_start.y)),
                               max_of(fma(load_eight(sides + ray.near_z), g.step.z, g.near_start.z), eight(0.0f)));
    const Eight leave = min_of(min_of(fma(load_eight(sides + ray.far_x), g.step.x, g.far_start.x),
                                      fma(load_eight(sides + ray.far_y), g.step.y, g.far_start.y)),
                               min_of(fma(load_eight(sides + ray.far_z), g.step.z, g.far_start.z), eight(t_max)));
    entries = ordered(enter, ray.order);
    return where(entries <= ordered(leave, ray.order));
}
#else
constexpr bool entries_are_kept = false;
struct Entries {};
RQ_INLINE u32 entered_before(const Entries &, float) { return 0xffu; }

// Bits of slots to bits in the ray's order: bit i goes to bit i ^ down.
RQ_INLINE u32 in_order(u32 slots, u32 down) {
    if ((down & 1) != 0) slots = (slots & 0x55u) << 1 | (slots >> 1 & 0x55u);
    if ((down & 2) != 0) slots = (slots & 0x33u) << 2 | (slots >> 2 & 0x33u);
    if ((down & 4) != 0) slots = (slots & 0x0fu) << 4 | slots >> 4;
    return slots;
}

RQ_INLINE float byte_of(u32 low, u32 high, u32 k) { return (float)((k < 4 ? low : high) >> 8 * (k & 3u) & 0xffu); }

RQ_INLINE u32 entered_slots(const BvhNode &node, const BoxRay &ray, float t_max, Entries &) {
    const Float4 *const quads = reinterpret_cast<const Float4 *>(&node);
    const Float4 a = load_constant(quads), c = load_constant(quads + 2), d = load_constant(quads + 3),
                 e = load_constant(quads + 4);
    const GridRay g = grid_ray(ray, vec(a.x, a.y, a.z), as_bits(a.w));
    const bool x = (ray.down & 1) != 0, y = (ray.down & 2) != 0, z = (ray.down & 4) != 0;
    // Lower sides of x, y, z, then upper sides: two words each.
    const u32 lx0 = as_bits(c.x), lx1 = as_bits(c.y), ly0 = as_bits(c.z), ly1 = as_bits(c.w), lz0 = as_bits(d.x),
              lz1 = as_bits(d.y), hx0 = as_bits(d.z), hx1 = as_bits(d.w), hy0 = as_bits(e.x), hy1 = as_bits(e.y),
              hz0 = as_bits(e.z), hz1 = as_bits(e.w);
    const u32 nx0 = x ? hx0 : lx0, nx1 = x ? hx1 : lx1, fx0 = x ? lx0 : hx0, fx1 = x ? lx1 : hx1;
    const u32 ny0 = y ? hy0 : ly0, ny1 = y ? hy1 : ly1, fy0 = y ? ly0 : hy0, fy1 = y ? ly1 : hy1;
    const u32 nz0 = z ? hz0 : lz0, nz1 = z ? hz1 : lz1, fz0 = z ? lz0 : hz0, fz1 = z ? lz1 : hz1;
    u32 slots = 0;
    RQ_UNROLL
    for (u32 k = 0; k < 8; ++k) {
        const float enter = max_of(max_of(fma(byte_of(nx0, nx1, k), g.step.x, g.near_start.x),
                                          fma(byte_of(ny0, ny1, k), g.step.y, g.near_start.y)),
                                   max_of(fma(byte_of(nz0, nz1, k), g.step.z, g.near_start.z), 0.0f));
        const float leave = min_of(min_of(fma(byte_of(fx0, fx1, k), g.step.x, g.far_start.x),
                                          fma(byte_of(fy0, fy1, k), g.step.y, g.far_start.y)),
                                   min_of(fma(byte_of(fz0, fz1, k), g.step.z, g.far_start.z), t_max));
        slots |= (u32)(enter <= leave) << k;
    }
    return in_order(slots, ray.down);
}
#endif

}  // namespace rq
