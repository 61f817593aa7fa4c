// common.h: what every target shares, built on the functions of the target's own header.
#pragma once

namespace rq {

RQ_INLINE u32 global_thread() { return block_index() * block_threads() + thread_in_block(); }
RQ_INLINE u32 grid_threads() { return block_count() * block_threads(); }
// The number of this wave within the launch. A block is a whole number of waves.
RQ_INLINE u32 global_wave() { return global_thread() / wave_size(); }
RQ_INLINE u32 grid_waves() { return grid_threads() / wave_size(); }

RQ_INLINE u32 count_lanes(LaneMask mask) { return (u32)__builtin_popcountll(mask); }
RQ_INLINE u32 first_lane(LaneMask mask) { return (u32)__builtin_ctzll(mask); }
RQ_INLINE bool wave_any(bool p) { return wave_ballot(p) != 0; }

#if !RQ_TARGET_CUDA
// Like atomic_or and atomic_max, without asking what was there; NVIDIA has instructions of its own.
template <Order O> RQ_INLINE void reduce_or(u64 *p, u64 v) { atomic_or<O>(p, v); }
template <Order O> RQ_INLINE void reduce_max(u64 *p, u64 v) { atomic_max<O>(p, v); }
#endif

// Written so that NaN in the first argument gives the second, on every target.
template <class T> RQ_INLINE T min_of(T a, T b) { return a < b ? a : b; }
template <class T> RQ_INLINE T max_of(T a, T b) { return a > b ? a : b; }

// Sum of a 32-bit value over the wave, in every lane. All lanes call.
RQ_INLINE u32 wave_sum(u32 v) {
    for (u32 step = wave_size() / 2; step > 0; step /= 2) v += wave_exchange(v, wave_lane() ^ step);
    return v;
}

// Sum of the values of this lane and those below it. All lanes call.
RQ_INLINE u32 wave_prefix_sum(u32 v) {
    for (u32 step = 1; step < wave_size(); step *= 2) {
        const bool has_left = wave_lane() >= step;
        const u32 left = wave_exchange(v, has_left ? wave_lane() - step : 0);
        v += has_left ? left : 0;
    }
    return v;
}

// The items [0, n) that this lane handles, as (first, end, step).
//
// On a GPU neighbouring lanes take neighbouring items, so that accesses coalesce; on the CPU a block is one
// lane and takes a contiguous run, so that its cache lines are its own.
struct Items {
    u64 first, end, step;
};
RQ_INLINE Items my_items(u64 n) {
#if RQ_TARGET_CPU
    const u64 blocks = block_count(), b = block_index();
    return Items{n * b / blocks, n * (b + 1) / blocks, 1};
#else
    return Items{global_thread(), n, grid_threads()};
#endif
}

// The stretches of items that this wave handles: lane l of it takes item first + l of each, if below `end`.
// All lanes run the loop equally often, as wave operations in it need.
RQ_INLINE Items my_wave_items(u64 n) {
    Items items = my_items(n);
    items.first -= wave_lane();
    return items;
}
// The numbers in [0, n) that this wave handles as a whole.
RQ_INLINE Items my_wave_numbers(u64 n) {
#if RQ_TARGET_CPU
    return my_items(n);
#else
    return Items{global_wave(), n, grid_waves()};
#endif
}

// For lanes that get nowhere: the CPU may have fewer processors than lanes.
#if RQ_TARGET_CPU
extern "C" void rq_cpu_yield();
RQ_INLINE void give_way() { rq_cpu_yield(); }
#else
RQ_INLINE void give_way() { spin_hint(); }
#endif

// Whether the clock shows `tick` or later; one answer for the wave, as the clocks of its lanes need not agree.
RQ_INLINE bool is_past(u64 tick) { return wave_broadcast((u32)(device_ticks() >= tick), 0) != 0; }

// Four floats in one access from memory that no launch writes; `p` is aligned to 16.
RQ_INLINE Float4 load_constant4(const float *p) { return load_constant(reinterpret_cast<const Float4 *>(p)); }

}  // namespace rq
