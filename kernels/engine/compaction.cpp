// compaction.cpp: the wavefront baseline. All rays of one bounce are traced, then the survivors are brought
// together, in one of two ways: `append` (each wave reserves room behind a counter) or `scan` (flags, a
// device-wide prefix sum, scatter). Counts stay on the device: the host launches bounce after bounce.
#include "trace/integrator.h"

namespace rq {

// Rays whose survivors one wave counts and scatters (scan form).
constexpr u32 stretch = 256;

// Place `i` of a batch's first bounce: 32 places a chunk. Those without a pixel, or whose pixel has the sample, stay
// empty. A primary is made where it is traced, so it never goes through memory.
RQ_INLINE u32 fresh_path(const CompactionParams &p, u64 i, Path &path) {
    const Place place = chunk_place(p.scene.width, p.first_chunk * chunk_lanes + i);
    const u32 pixel = pixel_at(p.scene, place);
    count_bytes(4);
    if (pixel == no_pixel || p.film.counts[pixel] != p.sample) return no_pixel;
    path = primary_path(p.scene, place, p.sample);
    return pixel;
}
RQ_INLINE u32 stored_path(const CompactionParams &p, u64 i, Path &path) {
    count_bytes(4);
    path = load_path(p.rays, i);
    return p.rays.pixel[i];
}

// Traces the ray in place `i`. Returns whether it goes on; if not, its sample is in the film.
template <class S>
RQ_INLINE bool trace_one(const CompactionParams &p, const S &scene, u64 i, Path &path, u32 &pixel, RayTally &tally) {
    pixel = p.fresh != 0 ? fresh_path(p, i, path) : stored_path(p, i, path);
    if (pixel == no_pixel) return false;
    if (p.scene.max_depth > 0 && step(scene, path, pixel, tally)) return true;
    commit(p.film, pixel, path.red, path.green, path.blue, path_sample(path), 1, tally);
    return false;
}
RQ_INLINE u64 ray_count(const CompactionParams &p) { return p.fresh != 0 ? p.chunks * chunk_lanes : *p.count; }

RQ_KERNEL_BOUNDS(trace_append, CompactionParams, 256, RQ_TRACE_BLOCKS) {
    count_begin();
    with_scene(p.scene, [&](const auto &scene) {
        RayTally tally{};
        const u64 n = ray_count(p);
        const Items waves = my_wave_items(n);
        for (u64 first = waves.first; first < waves.end; first += waves.step) {
            const u64 i = first + wave_lane();
            Path path;
            u32 pixel = no_pixel;
            const bool goes_on = i < waves.end && trace_one(p, scene, i, path, pixel, tally);
            const LaneMask survivors = wave_ballot(goes_on);
            if (survivors == 0) continue;
            u32 base = 0;
            if (wave_lane() == 0) base = atomic_add(p.next_count, count_lanes(survivors));
            const u64 place = wave_broadcast(base, 0) + wave_rank(survivors);
            if (goes_on) {
                store_path(p.next, place, path);
                p.next.pixel[place] = pixel;
                count_bytes(4);
            }
        }
        flush(p.counters, tally);
    });
}

RQ_KERNEL_BOUNDS(trace_flag, CompactionParams, 256, RQ_TRACE_BLOCKS) {
    count_begin();
    with_scene(p.scene, [&](const auto &scene) {
        RayTally tally{};
        const u64 n = ray_count(p);
        const Items stretches = my_wave_numbers((n + stretch - 1) / stretch);
        for (u64 s = stretches.first; s < stretches.end; s += stretches.step) {
            u32 survivors = 0;
            for (u64 first = s * stretch; first < (s + 1) * stretch && first < n; first += wave_size()) {
                const u64 i = first + wave_lane();
                Path path;
                u32 pixel = no_pixel;
                const bool goes_on = i < n && trace_one(p, scene, i, path, pixel, tally);
                if (goes_on) {
                    store_path(p.rays, i, path);
                    if (p.fresh != 0) p.rays.pixel[i] = pixel;
                    count_bytes(p.fresh != 0 ? 4 : 0);
                }
                if (i < n) p.flags[i] = goes_on;
                count_bytes(1);
                survivors += count_lanes(wave_ballot(goes_on));
            }
            if (wave_lane() == 0) p.sums[s] = survivors;
        }
        flush(p.counters, tally);
    });
}

// One block turns the stretches' sums into where each stretch's survivors start.
RQ_KERNEL_BOUNDS(scan_sums, CompactionParams, 1024, 1) {
    u32 *const totals = shared_memory<u32>();
    const u32 stretches = (u32)((ray_count(p) + stretch - 1) / stretch);
    const u32 share = (stretches + block_threads() - 1) / block_threads();
    const u32 me = thread_in_block(), first = min_of(stretches, me * share), end = min_of(stretches, first + share);
    u32 sum = 0;
    for (u32 i = first; i < end; ++i) sum += p.sums[i];
    totals[me] = sum;
    block_barrier();
    for (u32 step = 1; step < block_threads(); step *= 2) {
        const u32 left = me >= step ? totals[me - step] : 0;
        block_barrier();
        totals[me] += left;
        block_barrier();
    }
    if (me == block_threads() - 1) *p.next_count = totals[me];
    u32 start = totals[me] - sum;
    for (u32 i = first; i < end; ++i) {
        const u32 here = p.sums[i];
        p.sums[i] = start;
        start += here;
    }
}

RQ_KERNEL(scatter, CompactionParams) {
    count_begin();
    const u64 n = ray_count(p);
    const Items stretches = my_wave_numbers((n + stretch - 1) / stretch);
    for (u64 s = stretches.first; s < stretches.end; s += stretches.step) {
        u64 place = p.sums[s];
        for (u64 first = s * stretch; first < (s + 1) * stretch && first < n; first += wave_size()) {
            const u64 i = first + wave_lane();
            const bool goes_on = i < n && p.flags[i] != 0;
            const LaneMask survivors = wave_ballot(goes_on);
            if (goes_on) {
                const u64 to = place + wave_rank(survivors);
                store_path(p.next, to, load_path(p.rays, i));
                p.next.pixel[to] = p.rays.pixel[i];
            }
            count_bytes(goes_on ? 9 : 1);
            place += count_lanes(survivors);
        }
    }
    flush_effort(p.counters);
}

}  // namespace rq
