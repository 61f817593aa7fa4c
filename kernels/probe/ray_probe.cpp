// ray_probe.cpp: what given rays hit in a general scene. Tests compare the trees with testing everything, and
// measure how fast the trees are and how much they test.
#include "trace/integrator.h"
#include "trace/walks.h"

namespace rq {

struct CountedTests {
    u32 nodes = 0, triangles = 0;
    RQ_METHOD void node() { nodes++; }
    RQ_METHOD void triangle() { triangles++; }
};

RQ_INLINE ProbeHit probe_hit(const WorldScene &scene, const WorldHit &hit, const CountedTests &tests) {
    const bool triangle = hit.primitive != nothing_hit && hit.instance != no_instance;
    const u32 number = triangle ? scene.world.triangles[hit.primitive].number : hit.primitive;
    return ProbeHit{hit.t, hit.instance, number, tests.nodes, tests.triangles};
}

template <class Trace> RQ_INLINE void probe_each(const RayProbeParams &p, Trace trace) {
    const WorldScene scene{{p.scene}, *p.scene.world};
    const Items items = my_items(p.count);
    for (u64 i = items.first; i < items.end; i += items.step) {
        const ProbeRay ray = p.rays[i];
        CountedTests tests;
        const WorldHit hit = trace(scene, vec(ray.origin), vec(ray.direction), ray.t_max, tests);
        p.hits[i] = probe_hit(scene, hit, tests);
    }
}

// As the pools of engines walk their rays (engine/tile_pool.h), where those are of one lane.
template <class P> RQ_INLINE void probe_in_turns(const P &p) {
    const WorldScene scene{{p.scene}, *p.scene.world};
    const Items items = my_items(p.count);
    const auto ray_of = [&](u32 i) {
        const ProbeRay &ray = p.rays[items.first + i];
        return WaitingRay{vec(ray.origin), vec(ray.direction), ray.t_max, false};
    };
    const auto answer = [&](u32 i, const WorldHit &hit) {
        p.hits[items.first + i] = probe_hit(scene, hit, CountedTests());
    };
    walk_in_turns(scene, (u32)(items.end - items.first), ray_of, answer);
}

template <class P> RQ_INLINE void probe_trees(const P &p) {
    if constexpr (wave_size_is_one) {
        probe_in_turns(p);
    } else {
        probe_each(p, [](const WorldScene &scene, Vec3 o, Vec3 d, float t_max, CountedTests &) {
            return trace_world(scene, o, d, t_max, false);
        });
    }
}
RQ_KERNEL(probe_rays, RayProbeParams) { probe_trees(p); }

RQ_KERNEL(probe_rays_counted, RayProbeParams) {
    probe_each(p, [](const WorldScene &scene, Vec3 o, Vec3 d, float t_max, CountedTests &tests) {
        WorldHit hit = nearest_plane(scene, o, d, t_max);
        walk(scene, o, d, false, hit, tests);
        return hit;
    });
}

RQ_KERNEL(probe_rays_everything, RayProbeParams) {
    probe_each(p, [](const WorldScene &scene, Vec3 o, Vec3 d, float t_max, CountedTests &) {
        WorldHit hit = nearest_plane(scene, o, d, t_max);
        test_everything(scene, o, d, hit);
        return hit;
    });
}

}  // namespace rq
