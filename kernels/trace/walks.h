// walks.h: rays that wait to be walked through a general scene, and several of their walks in turns.
#pragma once
#include "trace/world.h"

namespace rq {

// For its nearest hit before `t_max` or, with `any`, for the first that is found.
struct WaitingRay {
    Vec3 origin, direction;
    float t_max;
    bool any;
};

template <class Tests> RQ_INLINE void begin_walk(Walk<Tests> &walk, const WaitingRay &ray) {
    const WorldHit plane = nearest_plane(walk.scene, ray.origin, ray.direction, ray.t_max);
    walk.begin(ray.origin, ray.direction, ray.any, plane);
}

// ---- for waves of one lane

// Walks that a core has under way at a time: measured on an AMD EPYC.
constexpr u32 walks_in_turns = 12;

// A walk with what it needs of its own.
struct OwnWalk : Walk<NoTests> {
    WalkStack own_stack;
    NoTests none;

    RQ_METHOD explicit OwnWalk(const WorldScene &scene) : Walk(scene, own_stack, none) {}
    // Asks for what it reads next.
    RQ_METHOD void ask() const {
        if (leaf != leaf_end) ask_for(scene.world.triangles + leaf, scene.world.triangles + leaf_end);
        else ask_for(scene.world.nodes + node, scene.world.nodes + node + 1);
    }
    template <class T> RQ_METHOD static void ask_for(const T *first, const T *end) {
        constexpr u32 line = 64;
        const u8 *const last = reinterpret_cast<const u8 *>(end) - 1;
        for (const u8 *p = reinterpret_cast<const u8 *>(first); p < last; p += line) prefetch(p);
        prefetch(last);
    }
};

// Rays from one place that go about the same way, as those of the camera: the second finds what the first has read in
// the nearest caches.
RQ_INLINE bool go_alike(const WaitingRay &a, const WaitingRay &b) {
    return dot(a.direction, b.direction) > 0.99f && a.origin.x == b.origin.x && a.origin.y == b.origin.y &&
           a.origin.z == b.origin.z;
}

// Walks `count` rays: `ray_of(i)` is the i-th, `answer(i, hit)` takes its hit. A ray that goes like the one before is walked
// by itself, which computes faster; of others several are under way, and while one waits for memory the core goes on with
// the rest.
template <class RayOf, class Answer>
RQ_INLINE void walk_in_turns(const WorldScene &scene, u32 count, RayOf ray_of, Answer answer) {
    OwnWalk walks[walks_in_turns] = {
        OwnWalk(scene), OwnWalk(scene), OwnWalk(scene), OwnWalk(scene), OwnWalk(scene), OwnWalk(scene),
        OwnWalk(scene), OwnWalk(scene), OwnWalk(scene), OwnWalk(scene), OwnWalk(scene), OwnWalk(scene)};
    OwnWalk *under_way[walks_in_turns];
    u32 whose[walks_in_turns];
    for (u32 k = 0; k < walks_in_turns; ++k) under_way[k] = walks + k;
    u32 active = 0, next = 0;
    WaitingRay before{};
    NoTests none;
    // Begins the walk of the next ray that goes another way. False: there is none.
    const auto begin = [&](u32 k) {
        while (next < count) {
            const u32 i = next++;
            const WaitingRay ray = ray_of(i);
            const bool alike = go_alike(ray, before);
            before = ray;
            if (alike) {
                WorldHit hit = nearest_plane(scene, ray.origin, ray.direction, ray.t_max);
                walk(scene, ray.origin, ray.direction, ray.any, hit, none);
                answer(i, hit);
                continue;
            }
            OwnWalk &walk = *under_way[k];
            begin_walk(walk, ray);
            whose[k] = i;
            if (!walk.is_over()) return true;
            answer(i, walk.hit);
        }
        return false;
    };
    while (active < walks_in_turns && begin(active)) active++;
    while (active != 0) {
        for (u32 k = 0; k < active;) {
            OwnWalk &walk = *under_way[k];
            if (walk.read_and_go_on()) {
                walk.ask();
                k++;
                continue;
            }
            answer(whose[k], walk.hit);
            if (begin(k)) {
                k++;
                continue;
            }
            --active;
            under_way[k] = under_way[active];
            under_way[active] = &walk;
            whose[k] = whose[active];
        }
    }
}

}  // namespace rq
