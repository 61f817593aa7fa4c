// tile_pool.h: another way to trace under the adaptive policy, for scenes with trees.
//
// There rays differ in how far they walk; where each lane walks its path's ray, the wave waits at each step for the longest
// walk of them, and a wave of one lane, that of a CPU, waits for memory. Here a wave has more paths than lanes: a pool, in
// memory. In turns it shades what their rays have met, a lane a path, which makes new rays and shadow rays; and its lanes
// walk these, each going on to the next ray when it is done with one (as the persistent threads of Aila and Laine,
// "Understanding the Efficiency of Ray Traversal on GPUs", 2009), or a single lane several in turns (walks.h). A shadow ray
// is answered like any other, and the path collects its light in the next turn.
//
// Paths go through memory at each turn for that, which does not pay where walks are short or alike: src/engine/trial.rs
// tries both ways.
#pragma once
#include "engine/tile_supply.h"
#include "trace/walks.h"

namespace rq {

// Idle lanes of a wave that make it worth while to give them their next rays: measured on an H200.
RQ_INLINE u32 enough_idle() { return wave_size() / 8; }

// A pooled path's record is 8 quads. 0 to 2: the path's words. 3: its state, and the last of the light that hangs on its
// shadow ray. 4 to 6: the shadow ray, and that light. 7: its ray's hit, and then a word that says whether the shadow ray
// was stopped. Quads of a number lie side by side.
constexpr u32 path_quad = 0, state_quad = 3, shadow_quad = 4, hit_quad = 7, record_quads = 8;
// Bits of the state's third word: rays that are walked or waiting for it.
constexpr u32 has_ray = 1, has_shadow_ray = 2;
// Paths of a wave's pool: src/engine/waves.rs has the same numbers. Measured on an H200 and on an AMD EPYC.
constexpr u32 pool_paths_a_lane = wave_size_is_one ? 64 : 6;
RQ_INLINE u32 pool_paths() { return pool_paths_a_lane * wave_size(); }

RQ_INLINE Quad quad_of(Vec3 v, float w) { return Quad{as_bits(v.x), as_bits(v.y), as_bits(v.z), as_bits(w)}; }

// Whose turn it is to be walked: rays of paths, listed from the front, and shadow rays, listed from the back, since
// short walks had better come last. In on-chip memory.
struct Waiting {
    u16 *list;
    u32 rays, shadows;

    RQ_METHOD void add(u32 entry, bool ray, bool shadow) {
        const Takers r = lanes_that(ray), s = lanes_that(shadow);
        if (ray) list[rays + r.rank] = (u16)entry;
        if (shadow) list[2 * pool_paths() - 1 - shadows - s.rank] = (u16)entry;
        rays += r.count;
        shadows += s.count;
    }
    RQ_METHOD u32 total() const { return rays + shadows; }
    RQ_METHOD bool is_shadow(u32 i) const { return i >= rays; }
    RQ_METHOD u32 entry(u32 i) const { return list[is_shadow(i) ? 2 * pool_paths() - 1 - (i - rays) : i]; }
};

// A wave's pool. An entry's lane is its number modulo the wave's size, while it is shaded.
struct Pool {
    Quad *quads;
    Waiting waiting;

    RQ_METHOD static Pool of_this_wave(const TileParams &p) {
        return Pool{p.pools + global_wave() * (u64)(pool_paths() * record_quads + pool_paths() / 4),
                    Waiting{reinterpret_cast<u16 *>(wave_memory(p, pool_paths_a_lane)), 0, 0}};
    }
    RQ_METHOD Quad *at(u32 quad, u32 entry) const { return quads + quad * pool_paths() + entry; }
    RQ_METHOD u32 *stopped() const { return reinterpret_cast<u32 *>(at(record_quads, 0)); }
    RQ_METHOD Quad load(u32 quad, u32 entry) const { return plain_load(at(quad, entry)); }
    RQ_METHOD void store(u32 quad, u32 entry, const Quad &q) const { plain_store(at(quad, entry), q); }

    // ---- the path and its place, which all lanes of a chunk load and store together

    RQ_METHOD void clear() const {
        for (u32 entry = wave_lane(); entry < pool_paths(); entry += wave_size())
            store(state_quad, entry, Quad{0, no_pixel, 0, 0});
    }
    RQ_METHOD Path path(u32 entry, u32 info) const {
        return path_of(load_words(at(path_quad, entry), pool_paths()), info);
    }
    RQ_METHOD void store_path(u32 entry, const Path &path) const {
        store_words(at(path_quad, entry), pool_paths(), words_of(path));
    }
    RQ_METHOD void store_shadow(u32 entry, const Shadow &s) const {
        store(shadow_quad, entry, quad_of(s.from, s.direction.x));
        store(shadow_quad + 1, entry, quad_of(vec(s.direction.y, s.direction.z, s.distance), s.dark.x));
        store(shadow_quad + 2, entry, quad_of(vec(s.dark.y, s.dark.z, s.lit.x), s.lit.y));
    }
    // What the answer to a shadow ray lets through; `last` is the state's last word.
    RQ_METHOD Vec3 asked_light(u32 entry, u32 last) const {
        const Quad a = load(shadow_quad + 1, entry), b = load(shadow_quad + 2, entry);
        if (plain_load(stopped() + entry) != 0) return vec(as_float(a.w), as_float(b.x), as_float(b.y));
        return vec(as_float(b.z), as_float(b.w), as_float(last));
    }

    // ---- walks

    // The first six words of a path as of a shadow ray are the origin and direction; then a shadow ray has its length.
    RQ_METHOD WaitingRay ray(u32 entry, bool shadow) const {
        const u32 quad = shadow ? shadow_quad : path_quad;
        const Quad a = load(quad, entry), b = load(quad + 1, entry);
        return WaitingRay{vec(as_float(a.x), as_float(a.y), as_float(a.z)),
                          vec(as_float(a.w), as_float(b.x), as_float(b.y)), shadow ? as_float(b.z) : far_away, shadow};
    }
    RQ_METHOD void answer(const WorldHit &hit, bool shadow, u32 entry) const {
        if (shadow) plain_store(stopped() + entry, (u32)(hit.primitive != nothing_hit));
        else store(hit_quad, entry, Quad{as_bits(hit.t), hit.primitive, hit.instance, 0});
    }
    // Walks all that wait.
    template <class S> RQ_METHOD void walk_all(const S &scene) const {
        if constexpr (wave_size_is_one) {
            walk_in_turns(
                scene, waiting.total(), [&](u32 i) { return ray(waiting.entry(i), waiting.is_shadow(i)); },
                [&](u32 i, const WorldHit &hit) { answer(hit, waiting.is_shadow(i), waiting.entry(i)); });
        } else {
            walk_side_by_side(scene);
        }
    }
    template <class S> RQ_METHOD void walk_side_by_side(const S &scene) const {
        constexpr u32 nobody = 0xffffffffu;
        WalkStack stack;
        NoTests none;
        Walk<NoTests> walk(scene, stack, none);
        u32 next = 0, entry = nobody;  // whose ray this lane walks
        for (;;) {
            const Takers idle = lanes_that(entry == nobody);
            const bool more = next < waiting.total();
            if (!more && idle.count == wave_size()) break;
            if (more && idle.count >= enough_idle()) {
                const u32 mine = next + idle.rank;
                next += idle.count;
                if (idle.takes && mine < waiting.total()) {
                    entry = waiting.entry(mine);
                    begin_walk(walk, ray(entry, waiting.is_shadow(mine)));
                }
            }
            if (entry == nobody) continue;
            walk.go_on();
            if (!walk.is_over()) continue;
            answer(walk.hit, walk.any, entry);
            entry = nobody;
        }
        wave_sync();
    }
};
// A function of its own, which so has all registers.
RQ_NOINLINE void walk_all(const WorldScene &scene, const Pool &pool) { pool.walk_all(scene); }

// A path in a lane's hands while it is shaded.
struct Shaded {
    Held held;
    bool ray;  // the path goes on
    Shadow shadow;
};

// The entry's path with what its shadow ray and, if it `shades`, its ray have met.
template <class S>
RQ_INLINE void load_entry(const TileParams &p, const S &scene, const Pool &pool, u32 entry, bool shades, Shaded &lane,
                          RayTally &tally) {
    const Quad state = pool.load(state_quad, entry);  // info, where, rays, and a channel of light
    lane.held.where = state.y;
    lane.ray = lane.shadow.waits = false;
    if (state.y == no_pixel) return;
    Path &path = lane.held.path;
    path = pool.path(entry, state.x);
    const Place place = held_place(state.y);
    if ((state.z & has_shadow_ray) != 0) deposit(scene.view, path, pool.asked_light(entry, state.w), tally);
    lane.ray = (state.z & has_ray) != 0;
    if (lane.ray && shades) {
        const Quad hit = pool.load(hit_quad, entry);
        const WorldHit met{as_float(hit.x), hit.y, hit.z};
        lane.ray = scene.view.max_depth != 0 && shade(scene, path, pixel_of(p.scene, place), met, lane.shadow, tally);
    }
    if (lane.ray || lane.shadow.waits) return;
    lane.ray = next_sample(p, place, path, tally);
    if (!lane.ray) lane.held.where = no_pixel;
}
RQ_INLINE void store_entry(const Pool &pool, u32 entry, const Shaded &lane) {
    const bool lives = lane.held.where != no_pixel;
    if (lives) pool.store_path(entry, lane.held.path);
    if (lane.shadow.waits) pool.store_shadow(entry, lane.shadow);
    const u32 rays = (lane.ray ? has_ray : 0) | (lane.shadow.waits ? has_shadow_ray : 0);
    const u32 last = lane.shadow.waits ? as_bits(lane.shadow.lit.z) : 0;
    pool.store(state_quad, entry, Quad{lives ? lane.held.path.info : 0, lane.held.where, rays, last});
}

// Shades the pool's paths and fills its gaps. Returns whether it has any.
template <bool Whole, class S>
RQ_INLINE bool shade_all(const TileParams &p, const S &scene, Pool &pool, Supply<Whole> &supply, RayTally &tally) {
    bool lives = false;
    pool.waiting.rays = pool.waiting.shadows = 0;
    RQ_NO_UNROLL
    for (u32 entry = wave_lane(); entry < pool_paths(); entry += wave_size()) {
        Shaded lane{};
        load_entry(p, scene, pool, entry, true, lane, tally);
        for (;;) {
            const Takers idle = lanes_that(lane.held.where == no_pixel);
            if (idle.count == 0 || !supply.has_more()) break;
            supply.give(p, idle, lane.held);
            if (idle.takes && lane.held.where != no_pixel) lane.ray = true;
        }
        store_entry(pool, entry, lane);
        pool.waiting.add(entry, lane.ray, lane.shadow.waits);
        lives = wave_any(lane.held.where != no_pixel) || lives;
    }
    wave_sync();
    return lives;
}

// Leaves the pool's paths, whose rays are still to be walked.
template <bool Whole, class S>
RQ_INLINE void leave_all(const TileParams &p, const S &scene, const Pool &pool, Supply<Whole> &supply, RayTally &tally) {
    RQ_NO_UNROLL
    for (u32 entry = wave_lane(); entry < pool_paths(); entry += wave_size()) {
        Shaded lane{};
        load_entry(p, scene, pool, entry, false, lane, tally);
        supply.leave(p, lane.held);
    }
    supply.end(p);
}

// The policy's launch.
template <bool Whole, class S> RQ_INLINE void pooled(const TileParams &p, const S &scene, RayTally &tally) {
    const u64 start = device_ticks();
    Pool pool = Pool::of_this_wave(p);
    pool.clear();
    auto supply = Supply<Whole>::of_this_wave(p);
    while (shade_all(p, scene, pool, supply, tally)) {
        const bool over = !Whole && is_time(p, start, tally);
        if (over) pool.waiting.rays = 0;  // the next slice's; shadow rays hang on what only the pool remembers
        walk_all(scene, pool);
        if (!over) continue;
        leave_all(p, scene, pool, supply, tally);
        return;
    }
    if constexpr (!Whole) supply.end(p);
}

}  // namespace rq
