// sim.h: the simulator of tests/sim. Every operation asks a table of functions that the host fills, so that
// the host decides who runs next, what a load sees and how wide a wave is.
//
// The rq_sim_ functions are out of line (tests/sim/kernels/thunks.cpp): the return addresses above their
// frames tell apart the places in a kernel from which an operation can be called. For that, frames keep their
// pointers and nothing is optimised: a compiler that merges or copies call sites would blur what a lane is at.
#pragma once

#define RQ_INLINE static inline __attribute__((always_inline))
#define RQ_METHOD inline __attribute__((always_inline))
#define RQ_NOINLINE static __attribute__((noinline))
#define RQ_UNROLL
#define RQ_UNROLL_BY(n)
#define RQ_NO_UNROLL
#define RQ_PASTE2(a, b) a##_##b
#define RQ_PASTE(a, b) RQ_PASTE2(a, b)
// RQ_UNIT is the name of this compilation, set by the build script.
#define RQ_SYMBOL(name) RQ_PASTE(RQ_UNIT, name)
// A kernel takes one struct; `p` names it in the body.
#define RQ_KERNEL(name, Params)                          \
    static void RQ_PASTE(name, body)(const Params &p);   \
    extern "C" void RQ_SYMBOL(name)(const Params &p);    \
    extern "C" void RQ_SYMBOL(name)(const Params &p) {   \
        rq::rq_sim_enter(__builtin_frame_address(0));    \
        RQ_PASTE(name, body)(p);                         \
    }                                                    \
    static void RQ_PASTE(name, body)([[maybe_unused]] const Params &p)
#define RQ_KERNEL_BOUNDS(name, Params, threads, min_blocks) RQ_KERNEL(name, Params)

namespace rq {

// Where a lane is. The host keeps one for each (tests/sim/src/platform.rs).
struct SimPlace {
    u32 thread, block, block_threads, blocks, wave_size, wave_lane;
    void *shared;
};
enum class SimRmw : u32 { add, or_, and_, exchange, max };
enum class SimWaveOp : u32 { ballot, broadcast, exchange, sync };

// Words of 4 or 8 bytes, widened to 64 bits. Orders are those of `Order`.
extern "C" {
void rq_sim_enter(void *frame);
const SimPlace *rq_sim_place();
u64 rq_sim_load(const void *p, u32 bytes, u32 order);
void rq_sim_store(void *p, u32 bytes, u64 v, u32 order);
u64 rq_sim_rmw(SimRmw op, void *p, u32 bytes, u64 v, u32 order);
u64 rq_sim_cas(void *p, u32 bytes, u64 expected, u64 desired, u32 order);
u64 rq_sim_plain_load(const void *p, u32 bytes);
void rq_sim_plain_store(void *p, u32 bytes, u64 v);
void rq_sim_fence(u32 order);
u64 rq_sim_wave(SimWaveOp op, u64 v, u32 from, const char *file, u32 line);
void rq_sim_barrier(const char *file, u32 line);
void rq_sim_spin();
u64 rq_sim_ticks();
}

RQ_INLINE u32 thread_in_block() { return rq_sim_place()->thread; }
RQ_INLINE u32 block_index() { return rq_sim_place()->block; }
RQ_INLINE u32 block_threads() { return rq_sim_place()->block_threads; }
RQ_INLINE u32 block_count() { return rq_sim_place()->blocks; }

// Waves have any size, known at run time only.
constexpr bool wave_size_is_one = false;

template <class T> RQ_INLINE u64 sim_bits(T v) {
    static_assert(sizeof(T) <= 8, "at most one word");
    u64 bits = 0;
    __builtin_memcpy(&bits, &v, sizeof(T));
    return bits;
}
template <class T> RQ_INLINE T sim_value(u64 bits) {
    T v;
    __builtin_memcpy(&v, &bits, sizeof(T));
    return v;
}

// ---- waves of 1 to 64 lanes. Every function here is called by all lanes of the wave together: a lane that
// does not come, or that calls from another place, is reported with the file and line of the call.
#define RQ_CALLER const char *file = __builtin_FILE(), u32 line = (u32)__builtin_LINE()
RQ_INLINE u32 wave_size() { return rq_sim_place()->wave_size; }
RQ_INLINE u32 wave_lane() { return rq_sim_place()->wave_lane; }
// The lanes that are here now: each lane runs by itself.
RQ_INLINE LaneMask active_lanes() { return 1ull << wave_lane(); }
// How many lanes below this one are in the mask.
RQ_INLINE u32 wave_rank(LaneMask mask) {
    return (u32)__builtin_popcountll(mask & ((1ull << wave_lane()) - 1));
}
RQ_INLINE LaneMask wave_ballot(bool p, RQ_CALLER) { return rq_sim_wave(SimWaveOp::ballot, p, 0, file, line); }
template <class T> RQ_INLINE T wave_broadcast(T v, u32 from, RQ_CALLER) {
    return sim_value<T>(rq_sim_wave(SimWaveOp::broadcast, sim_bits(v), from, file, line));
}
template <class T> RQ_INLINE T wave_exchange(T v, u32 from, RQ_CALLER) {
    return sim_value<T>(rq_sim_wave(SimWaveOp::exchange, sim_bits(v), from, file, line));
}
// Orders memory among the lanes of the wave; the only function of a wave that does.
RQ_INLINE void wave_sync(RQ_CALLER) { rq_sim_wave(SimWaveOp::sync, 0, 0, file, line); }

// ---- atomics
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_load(const T *p) {
    return (T)rq_sim_load(p, sizeof(T), (u32)O);
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE void atomic_store(T *p, T v) {
    rq_sim_store(p, sizeof(T), (u64)v, (u32)O);
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_add(T *p, T v) {
    return (T)rq_sim_rmw(SimRmw::add, p, sizeof(T), (u64)v, (u32)O);
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_or(T *p, T v) {
    return (T)rq_sim_rmw(SimRmw::or_, p, sizeof(T), (u64)v, (u32)O);
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_and(T *p, T v) {
    return (T)rq_sim_rmw(SimRmw::and_, p, sizeof(T), (u64)v, (u32)O);
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_exchange(T *p, T v) {
    return (T)rq_sim_rmw(SimRmw::exchange, p, sizeof(T), (u64)v, (u32)O);
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_max(T *p, T v) {
    return (T)rq_sim_rmw(SimRmw::max, p, sizeof(T), (u64)v, (u32)O);
}
// Adds without asking what was there.
RQ_INLINE void reduce_add(u64 *p, u64 v) { atomic_add(p, v); }
// Returns the value found; it equals `expected` iff `desired` was stored.
template <Order O = Order::relaxed, Scope S = Scope::device, class T>
RQ_INLINE T atomic_cas(T *p, T expected, T desired) {
    return (T)rq_sim_cas(p, sizeof(T), (u64)expected, (u64)desired, (u32)O);
}
RQ_INLINE u64 on_chip_cas(u64 *p, u64 expected, u64 desired) { return atomic_cas(p, expected, desired); }
template <Order O> RQ_INLINE void fence() { rq_sim_fence((u32)O); }

// Payload that a queue publishes: checked for races under the weak memory model.
template <class T> RQ_INLINE T plain_load(const T *p) {
    static_assert(sizeof(T) == 4 || sizeof(T) % 8 == 0, "whole words");
    constexpr u32 bytes = sizeof(T) == 4 ? 4 : 8;
    T v;
    for (u32 at = 0; at < sizeof(T); at += bytes) {
        const u64 word = rq_sim_plain_load((const char *)p + at, bytes);
        __builtin_memcpy((char *)&v + at, &word, bytes);
    }
    return v;
}
template <class T> RQ_INLINE void plain_store(T *p, T v) {
    static_assert(sizeof(T) == 4 || sizeof(T) % 8 == 0, "whole words");
    constexpr u32 bytes = sizeof(T) == 4 ? 4 : 8;
    for (u32 at = 0; at < sizeof(T); at += bytes) {
        u64 word = 0;
        __builtin_memcpy(&word, (const char *)&v + at, bytes);
        rq_sim_plain_store((char *)p + at, bytes, word);
    }
}

RQ_INLINE void spin_hint() { rq_sim_spin(); }
RQ_INLINE u64 device_ticks() { return rq_sim_ticks(); }  // steps of all lanes so far
RQ_INLINE u64 device_cycles() { return rq_sim_ticks(); }
RQ_INLINE void block_barrier(RQ_CALLER) { rq_sim_barrier(file, line); }
#undef RQ_CALLER
template <class T> RQ_INLINE T *shared_memory() { return static_cast<T *>(rq_sim_place()->shared); }

template <class T> RQ_INLINE T load_constant(const T *p) { return *p; }

// Asks for a line of memory that will be read soon.
RQ_INLINE void prefetch(const void *) {}

// ---- arithmetic with one IEEE rounding
RQ_INLINE float sqrt_exact(float a) { return __builtin_sqrtf(a); }
RQ_INLINE float reciprocal(float a) { return 1.0f / a; }
RQ_INLINE float divide(float a, float b) { return a / b; }
RQ_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// To the nearest integer, ties to even; 0 <= f < 2^32.
RQ_INLINE u32 round_to_u32(float f) { return (u32)(i64)__builtin_rintf(f); }
RQ_INLINE float abs_of(float a) { return __builtin_fabsf(a); }
RQ_INLINE u32 as_bits(float f) { return (u32)sim_bits(f); }
RQ_INLINE float as_float(u32 u) { return sim_value<float>(u); }

}  // namespace rq
