// counted.h: the instrumented build, RQ_COUNTED_EFFORT: platform functions that count what a launch does.
//
// Counts are kept for each lane beside the code (in on-chip memory on GPUs), so that no function needs to pass them
// on; count_begin() clears them when a kernel starts. Timed kernels are compiled without any of this.
#pragma once

namespace rq {

// What is counted; the words follow those of `Counter` in trace/path.h, src/engine/counters.rs mirrors them.
enum Effort : u32 {
    effort_wave_steps,  // steps of waves, whatever number of their lanes is active
    effort_taken,       // queue operations that were ok
    effort_missed,      // queue operations that came to nothing
    effort_atomics,     // read-modify-writes of the device's memory
    effort_bytes,       // bytes of rays and film that lanes loaded or stored
    efforts
};

#if RQ_COUNTED_EFFORT

// A lane's counts. Blocks that count have at most 256 lanes.
RQ_INLINE u64 *lane_efforts() {
#if RQ_TARGET_CPU
    static __thread u64 counts[efforts];
    return counts;
#else
    __shared__ u64 counts[256 * efforts];
    return counts + (thread_in_block() % 256) * efforts;
#endif
}
RQ_INLINE void count(Effort what, u64 amount) { lane_efforts()[what] += amount; }
RQ_INLINE void count_begin() {
    for (u32 what = 0; what < efforts; ++what) lane_efforts()[what] = 0;
}
// What lanes load or store otherwise than by plain_load and plain_store.
RQ_INLINE void count_bytes(u64 bytes) { count(effort_bytes, bytes); }
// A step of the lanes that are active here: one of them counts it for the wave.
RQ_INLINE void count_step() {
    if (wave_lane() == first_lane(active_lanes())) count(effort_wave_steps, 1);
}

// The platform's functions under the same names, counting.
namespace counted {
#define RQ_COUNTED_RMW(fn)                                                                           \
    template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T fn(T *p, T v) { \
        count(effort_atomics, 1);                                                                    \
        return rq::fn<O, S>(p, v);                                                                   \
    }
RQ_COUNTED_RMW(atomic_add)
RQ_COUNTED_RMW(atomic_or)
RQ_COUNTED_RMW(atomic_and)
RQ_COUNTED_RMW(atomic_exchange)
RQ_COUNTED_RMW(atomic_max)
#undef RQ_COUNTED_RMW
template <Order O = Order::relaxed, Scope S = Scope::device, class T>
RQ_INLINE T atomic_cas(T *p, T expected, T desired) {
    count(effort_atomics, 1);
    return rq::atomic_cas<O, S>(p, expected, desired);
}
template <Order O> RQ_INLINE void reduce_or(u64 *p, u64 v) {
    count(effort_atomics, 1);
    rq::reduce_or<O>(p, v);
}
template <Order O> RQ_INLINE void reduce_max(u64 *p, u64 v) {
    count(effort_atomics, 1);
    rq::reduce_max<O>(p, v);
}
template <class T> RQ_INLINE T plain_load(const T *p) {
    count(effort_bytes, sizeof(T));
    return rq::plain_load(p);
}
template <class T> RQ_INLINE void plain_store(T *p, T v) {
    count(effort_bytes, sizeof(T));
    rq::plain_store(p, v);
}
}  // namespace counted

// From here on kernels mean those.
#define atomic_add counted::atomic_add
#define atomic_or counted::atomic_or
#define atomic_and counted::atomic_and
#define atomic_exchange counted::atomic_exchange
#define atomic_max counted::atomic_max
#define atomic_cas counted::atomic_cas
#define reduce_or counted::reduce_or
#define reduce_max counted::reduce_max
#define plain_load counted::plain_load
#define plain_store counted::plain_store

#else

RQ_INLINE void count_begin() {}
RQ_INLINE void count_bytes(u64) {}
RQ_INLINE void count_step() {}

#endif

}  // namespace rq
