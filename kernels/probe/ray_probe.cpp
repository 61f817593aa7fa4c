// ray_probe.cpp: what given rays hit in a general scene. Tests compare the trees with testing everything, and
// measure how fast the trees are and how much they test.
#include "trace/integrator.h"

namespace rq {

struct CountedTests {
    u32 nodes = 0, triangles = 0;
    RQ_METHOD void node() { nodes++; }
    RQ_METHOD void triangle() { triangles++; }
};

template <class Trace> RQ_INLINE void probe_each(const RayProbeParams &p, Trace trace) {
    const WorldScene scene{{p.scene}, *p.scene.world};
    const Items items = my_items(p.count);
    for (u64 i = items.first; i < items.end; i += items.step) {
        const ProbeRay ray = p.rays[i];
        CountedTests tests;
        const WorldHit hit = trace(scene, vec(ray.origin), vec(ray.direction), ray.t_max, tests);
        const bool triangle = hit.primitive != nothing_hit && hit.instance != no_instance;
        const u32 number = triangle ? scene.world.triangles[hit.primitive].number : hit.primitive;
        p.hits[i] = ProbeHit{hit.t, hit.instance, number, tests.nodes, tests.triangles};
    }
}

RQ_KERNEL(probe_rays, RayProbeParams) {
    probe_each(p, [](const WorldScene &scene, Vec3 o, Vec3 d, float t_max, CountedTests &) {
        return trace_world(scene, o, d, t_max, false);
    });
}

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
