// path.h: what a path remembers between two hits, how it enters the film, and how it is stored.
#pragma once
#include "trace/random.h"

namespace rq {

constexpr u32 no_pixel = 0xffffffffu;
// `info` of a slot without a path.
constexpr u32 no_path = 0xffffffffu;
constexpr u32 depth_bits = 12;
constexpr u32 depth_mask = (1u << depth_bits) - 1;

struct Path {
    Vec3 origin, direction;
    Vec3 weight;           // share of what it meets that reaches the pixel
    u32 red, green, blue;  // collected so far, in the film's fixed-point units
    u32 info;              // sample << 12 | hits so far
#if RQ_INTEGRATOR_GENERAL
    float pdf;  // density with which the last hit took the direction; 0: a mirror or the camera did
#endif
};

RQ_INLINE u32 path_depth(const Path &path) { return path.info & depth_mask; }
RQ_INLINE u32 path_sample(const Path &path) { return path.info >> depth_bits; }

// What a lane counts during a launch.
struct RayTally {
    u32 traced, primary;          // rays, and those of them from the camera
    u32 shadow;                   // rays that asked for a light
    u32 bad, clamped;             // contributions that were not numbers, or beyond the film's range
    u32 finished;                 // samples that entered the film
};

// Order of the words in a counter row; src/engine/counters.rs mirrors it.
enum Counter : u32 { count_traced, count_primary, count_shadow, count_bad, count_clamped, count_finished };
constexpr u32 counter_stripes = 64, counter_words = 16;

RQ_INLINE void bump(const CounterView &counters, Counter which, u32 total) {
    if (wave_lane() == 0 && total != 0)
        reduce_add(counters.words + (global_wave() % counter_stripes) * counter_words + which, (u64)total);
}
// Adds what an instrumented lane counted beside its tally: after `count_finished`, in the order of `Effort`.
RQ_INLINE void flush_effort([[maybe_unused]] const CounterView &counters) {
#if RQ_COUNTED_EFFORT
    u64 *const row = counters.words + (global_wave() % counter_stripes) * counter_words + count_finished + 1;
    for (u32 what = 0; what < efforts; ++what) reduce_add(row + what, lane_efforts()[what]);
#endif
}
// Adds a lane's tally to the launch's. All lanes of the wave call.
RQ_INLINE void flush(const CounterView &counters, const RayTally &t) {
    flush_effort(counters);
    bump(counters, count_traced, wave_sum(t.traced));
    bump(counters, count_primary, wave_sum(t.primary));
    bump(counters, count_shadow, wave_sum(t.shadow));
    bump(counters, count_finished, wave_sum(t.finished));
    if (wave_any((t.bad | t.clamped) != 0)) {
        bump(counters, count_bad, wave_sum(t.bad));
        bump(counters, count_clamped, wave_sum(t.clamped));
    }
}

// One channel of one contribution in the film's units.
RQ_INLINE u32 checked_units(const SceneView &scene, float units, RayTally &tally) {
    if (!(units >= 0.0f)) {
        tally.bad++;
        units = 0.0f;
    }
    if (units > scene.film_limit) {
        tally.clamped++;
        units = scene.film_limit;
    }
    return round_to_u32(units);
}
// Adds a contribution to what the path collected. Each is checked, clamped and rounded by itself, so that sums
// do not depend on their order. The host chooses scale and limit so that a whole path cannot overflow 32 bits.
RQ_INLINE void deposit(const SceneView &scene, Path &path, Vec3 radiance, RayTally &tally) {
    const Vec3 units = radiance * scene.film_scale;
    // As unsigned numbers the bits of negative values and NaN exceed those of every limit.
    const u32 limit = as_bits(scene.film_limit);
    if (as_bits(units.x) <= limit && as_bits(units.y) <= limit && as_bits(units.z) <= limit) {
        path.red += round_to_u32(units.x);
        path.green += round_to_u32(units.y);
        path.blue += round_to_u32(units.z);
    } else {
        path.red += checked_units(scene, units.x, tally);
        path.green += checked_units(scene, units.y, tally);
        path.blue += checked_units(scene, units.z, tally);
    }
}

// Adds to a word that nobody else touches meanwhile, without waiting for what it was.
RQ_INLINE void add_unseen(u64 *word, u64 v) {
    if constexpr (wave_size_is_one) *word += v;
    else reduce_add(word, v);
}
// Adds finished samples to a pixel that nobody else touches meanwhile. The first ones overwrite, so that
// memory need not be read: `before` is how many the pixel had.
RQ_INLINE void commit(const FilmView &film, u32 pixel, u64 red, u64 green, u64 blue, u32 before, u32 samples,
                      RayTally &tally) {
    tally.finished += samples;
    count_bytes(before != 0 ? 52 : 28);
    u64 *const sums = film.sums + pixel;
    if (before != 0) {
        add_unseen(sums, red);
        add_unseen(sums + film.pixels, green);
        add_unseen(sums + 2 * film.pixels, blue);
    } else {
        sums[0] = red;
        sums[film.pixels] = green;
        sums[2 * film.pixels] = blue;
    }
    film.counts[pixel] = before + samples;
}

// ---- pixels in chunks of 8x4, so that the lanes of a wave start with neighbouring rays
constexpr u32 chunk_lanes = 32;
struct Place {
    u32 x, y;
};
// Where item i is in a rectangle of the given width, in chunk order. May be beyond its edges.
RQ_INLINE Place chunk_place(u32 width, u64 item) {
    const u32 across = (width + 7) / 8;
    const u32 chunk = (u32)(item / chunk_lanes), lane = (u32)item % chunk_lanes;
    const u32 row = chunk / across;
    return Place{(chunk - row * across) * 8 + lane % 8, row * 4 + lane / 8};
}
// The number of the pixel at a place of the image.
RQ_INLINE u32 pixel_of(const SceneView &scene, Place place) { return place.y * scene.width + place.x; }
// The same; no_pixel beyond the image's edges.
RQ_INLINE u32 pixel_at(const SceneView &scene, Place place) {
    return place.x < scene.width && place.y < scene.height ? pixel_of(scene, place) : no_pixel;
}

// The camera ray of a sample of the pixel at `place`.
RQ_INLINE Path primary_path(const SceneView &scene, Place place, u32 sample) {
    float px = 0.5f, py = 0.5f;
    if (scene.jitter > 0.0f) {
        const Random4 r = random4(scene, pixel_at(scene, place), sample, 0);
        px = r.a;
        py = r.b;
    }
    const float u = fma((float)place.x + px, scene.pixel_size, -scene.aspect);
    const float v = fma((float)place.y + py, -scene.pixel_size, 1.0f);
    Path path;
    path.origin = vec(scene.eye);
    path.direction = unit(mad(vec(scene.right), u, mad(vec(scene.up), v, vec(scene.forward))));
    path.weight = vec(1.0f, 1.0f, 1.0f);
    path.red = path.green = path.blue = 0;
    path.info = sample << depth_bits;
#if RQ_INTEGRATOR_GENERAL
    path.pdf = 0.0f;
#endif
    return path;
}

// ---- storage: twelve words a path, moved 16 bytes at a time, and `info`
//
// Words 0 to 5 are where the ray is and goes, 9 to 11 what was collected; 6 to 8 are the weight. In general scenes the
// weight takes two words and the third holds the density of the direction.

#if RQ_INTEGRATOR_GENERAL
// A weight's channel in 21 bits: an exponent from 2^-40 to 2^23 and 15 bits of mantissa. Paths have such weights only
// (`storable`), so that a path is the same whether it was stored or not.
constexpr u32 channel_bits = 21, channel_drop = 8, least_channel = (127u - 40u) << 15;
RQ_INLINE u32 pack_channel(float weight) {
    const u32 rounded = (as_bits(weight) + (1u << (channel_drop - 1))) >> channel_drop;
    return rounded > least_channel ? min_of(rounded - least_channel, (1u << channel_bits) - 1) : 0;
}
RQ_INLINE float unpack_channel(u32 code) {
    return code != 0 ? as_float((code + least_channel) << channel_drop) : 0.0f;
}
struct PackedWeight {
    u32 low, high;  // red and the lower half of green; the rest of green, and blue
};
RQ_INLINE PackedWeight pack_weight(Vec3 w) {
    const u32 green = pack_channel(w.y);
    return PackedWeight{pack_channel(w.x) | green << 21, green >> 11 | pack_channel(w.z) << 10};
}
RQ_INLINE Vec3 unpack_weight(PackedWeight p) {
    constexpr u32 mask = (1u << channel_bits) - 1;
    return vec(unpack_channel(p.low & mask), unpack_channel((p.low >> 21 | p.high << 11) & mask),
               unpack_channel(p.high >> 10 & mask));
}
// More than any channel of a sound weight.
constexpr float most_weight = 1048576.0f;
// The nearest weight that can be stored: off by 2^-16 of it at most.
RQ_INLINE Vec3 storable(Vec3 weight) { return unpack_weight(pack_weight(weight)); }
#endif

struct PathWords {
    u32 word[12];
};
RQ_INLINE PathWords words_of(const Path &p) {
    PathWords w{{as_bits(p.origin.x), as_bits(p.origin.y), as_bits(p.origin.z), as_bits(p.direction.x),
                 as_bits(p.direction.y), as_bits(p.direction.z), 0, 0, 0, p.red, p.green, p.blue}};
#if RQ_INTEGRATOR_GENERAL
    const PackedWeight weight = pack_weight(p.weight);
    w.word[6] = weight.low, w.word[7] = weight.high, w.word[8] = as_bits(p.pdf);
#else
    w.word[6] = as_bits(p.weight.x), w.word[7] = as_bits(p.weight.y), w.word[8] = as_bits(p.weight.z);
#endif
    return w;
}
RQ_INLINE Path path_of(const PathWords &w, u32 info) {
    const u32 *const word = w.word;
    Path p;
    p.origin = vec(as_float(word[0]), as_float(word[1]), as_float(word[2]));
    p.direction = vec(as_float(word[3]), as_float(word[4]), as_float(word[5]));
#if RQ_INTEGRATOR_GENERAL
    p.weight = unpack_weight(PackedWeight{word[6], word[7]});
    p.pdf = as_float(word[8]);
#else
    p.weight = vec(as_float(word[6]), as_float(word[7]), as_float(word[8]));
#endif
    p.red = word[9], p.green = word[10], p.blue = word[11], p.info = info;
    return p;
}

// In three quads, `stride` apart.
RQ_INLINE void store_words(Quad *quads, u64 stride, const PathWords &w) {
    RQ_UNROLL
    for (u32 i = 0; i < 3; ++i)
        plain_store(quads + i * stride,
                    Quad{w.word[4 * i], w.word[4 * i + 1], w.word[4 * i + 2], w.word[4 * i + 3]});
}
RQ_INLINE PathWords load_words(const Quad *quads, u64 stride) {
    PathWords w;
    RQ_UNROLL
    for (u32 i = 0; i < 3; ++i) {
        const Quad q = plain_load(quads + i * stride);
        w.word[4 * i] = q.x, w.word[4 * i + 1] = q.y, w.word[4 * i + 2] = q.z, w.word[4 * i + 3] = q.w;
    }
    return w;
}

RQ_INLINE void store_path(const RayStore &rays, u64 slot, const Path &p) {
    store_words(rays.quads + slot, rays.capacity, words_of(p));
    plain_store(rays.info + slot, p.info);
}
RQ_INLINE Path load_path(const RayStore &rays, u64 slot) {
    const PathWords w = load_words(rays.quads + slot, rays.capacity);
    return path_of(w, plain_load(rays.info + slot));
}

}  // namespace rq
