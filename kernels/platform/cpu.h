// cpu.h: the CPU. A wave has one lane, a block is one wave, and every worker thread runs blocks.
//
// The file is compiled once for the baseline and once for x86-64-v3; RQ_SYMBOL names the copies apart.
#pragma once

#define RQ_INLINE static inline __attribute__((always_inline))
#define RQ_METHOD inline __attribute__((always_inline))
#define RQ_NOINLINE static __attribute__((noinline))
#define RQ_UNROLL
// A lane is a whole core: it tests eight spheres or boxes at once.
#define RQ_LANE_TESTS_EIGHT 1
#define RQ_UNROLL_BY(n)
#define RQ_NO_UNROLL
#define RQ_PASTE2(a, b) a##_##b
#define RQ_PASTE(a, b) RQ_PASTE2(a, b)
// RQ_UNIT is the name of this compilation: target and program variant, set by the build script.
#define RQ_SYMBOL(name) RQ_PASTE(RQ_UNIT, name)
// A kernel takes one struct; `p` names it in the body.
#define RQ_KERNEL(name, Params)                     \
    extern "C" void RQ_SYMBOL(name)(const Params &p); \
    extern "C" void RQ_SYMBOL(name)([[maybe_unused]] const Params &p)
#define RQ_KERNEL_BOUNDS(name, Params, threads, min_blocks) RQ_KERNEL(name, Params)

namespace rq {

// Where the calling worker is: set by the host (src/device/cpu.rs) before each block.
struct CpuPlace {
    u32 block, blocks;
    void *shared;
};
extern "C" {
extern __thread CpuPlace rq_cpu_place;
}
extern "C" u64 rq_cpu_ticks();  // nanoseconds, from the host

RQ_INLINE u32 thread_in_block() { return 0; }
RQ_INLINE u32 block_index() { return rq_cpu_place.block; }
RQ_INLINE u32 block_threads() { return 1; }
RQ_INLINE u32 block_count() { return rq_cpu_place.blocks; }

// Whether a wave is one lane, known when the kernel is compiled.
constexpr bool wave_size_is_one = true;

// ---- waves of one lane
RQ_INLINE constexpr u32 wave_size() { return 1; }
RQ_INLINE u32 wave_lane() { return 0; }
RQ_INLINE LaneMask wave_ballot(bool p) { return p ? 1 : 0; }
RQ_INLINE u32 wave_rank(LaneMask) { return 0; }
RQ_INLINE LaneMask active_lanes() { return 1; }
template <class T> RQ_INLINE T wave_broadcast(T v, u32) { return v; }
template <class T> RQ_INLINE T wave_exchange(T v, u32) { return v; }
RQ_INLINE void wave_sync() {}

// ---- atomics
constexpr int c11(Order o) {
    return o == Order::relaxed ? __ATOMIC_RELAXED
         : o == Order::acquire ? __ATOMIC_ACQUIRE
         : o == Order::release ? __ATOMIC_RELEASE
         : o == Order::acq_rel ? __ATOMIC_ACQ_REL : __ATOMIC_SEQ_CST;
}
// Of a load, and of a compare-and-swap that fails: what releases only does not acquire.
constexpr int c11_load(Order o) {
    return o == Order::relaxed || o == Order::release ? __ATOMIC_RELAXED : __ATOMIC_ACQUIRE;
}
constexpr int c11_store(Order o) { return o == Order::relaxed ? __ATOMIC_RELAXED : __ATOMIC_RELEASE; }

template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_load(const T *p) {
    return __atomic_load_n(p, c11_load(O));
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE void atomic_store(T *p, T v) {
    __atomic_store_n(p, v, c11_store(O));
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_add(T *p, T v) {
    return __atomic_fetch_add(p, v, c11(O));
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_or(T *p, T v) {
    return __atomic_fetch_or(p, v, c11(O));
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_and(T *p, T v) {
    return __atomic_fetch_and(p, v, c11(O));
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_exchange(T *p, T v) {
    return __atomic_exchange_n(p, v, c11(O));
}
// Adds without asking what was there.
RQ_INLINE void reduce_add(u64 *p, u64 v) { atomic_add(p, v); }
// Returns the value found; it equals `expected` iff `desired` was stored.
template <Order O = Order::relaxed, Scope S = Scope::device, class T>
RQ_INLINE T atomic_cas(T *p, T expected, T desired) {
    __atomic_compare_exchange_n(p, &expected, desired, false, c11(O), c11_load(O));
    return expected;
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_max(T *p, T v) {
    T seen = atomic_load(p);
    while (seen < v) {
        const T found = atomic_cas<O>(p, seen, v);
        if (found == seen) break;
        seen = found;
    }
    return seen;
}
template <Order O> RQ_INLINE void fence() { __atomic_thread_fence(c11(O)); }

// Payload that a queue publishes: ordinary accesses, ordered by the queue's release and acquire.
template <class T> RQ_INLINE T plain_load(const T *p) { return *p; }
template <class T> RQ_INLINE void plain_store(T *p, T v) { *p = v; }

RQ_INLINE void spin_hint() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}
RQ_INLINE u64 device_ticks() { return rq_cpu_ticks(); }
RQ_INLINE u64 device_cycles() { return rq_cpu_ticks(); }  // nanoseconds: cores have no common name for cycles
RQ_INLINE void block_barrier() {}
RQ_INLINE u64 on_chip_cas(u64 *p, u64 expected, u64 desired) { return atomic_cas(p, expected, desired); }
template <class T> RQ_INLINE T *shared_memory() { return static_cast<T *>(rq_cpu_place.shared); }

RQ_INLINE Float4 load_constant(const Float4 *p) { return *p; }

// Asks for a line of memory that will be read soon.
RQ_INLINE void prefetch(const void *p) { __builtin_prefetch(p); }

// ---- arithmetic with one IEEE rounding
RQ_INLINE float sqrt_exact(float a) { return __builtin_sqrtf(a); }
RQ_INLINE float reciprocal(float a) { return 1.0f / a; }
RQ_INLINE float divide(float a, float b) { return a / b; }
RQ_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// To the nearest integer, ties to even; 0 <= f < 2^32.
RQ_INLINE u32 round_to_u32(float f) { return (u32)(i64)__builtin_rintf(f); }
RQ_INLINE float abs_of(float a) { return __builtin_fabsf(a); }
RQ_INLINE u32 as_bits(float f) {
    u32 u;
    __builtin_memcpy(&u, &f, 4);
    return u;
}
RQ_INLINE float as_float(u32 u) {
    float f;
    __builtin_memcpy(&f, &u, 4);
    return f;
}

// ---- eight numbers side by side, each with the arithmetic of one; written out for x86 where compilers do not see that
// there is an instruction for it. Between Eights, + - * < and their like are the compiler's own.
// Nobody outside a unit calls these functions, so it is no matter how vectors are passed.
#pragma GCC diagnostic ignored "-Wpsabi"
typedef float Eight __attribute__((vector_size(32)));
typedef i32 EightInts __attribute__((vector_size(32)));

RQ_INLINE Eight eight(float v) { return Eight{v, v, v, v, v, v, v, v}; }
RQ_INLINE Eight load_eight(const float (&numbers)[8]) {
    Eight v;
    __builtin_memcpy(&v, numbers, sizeof v);
    return v;
}
RQ_INLINE Eight load_eight(const u8 *bytes) {
#if defined(__AVX2__) && !defined(__clang__)
    typedef char Bytes __attribute__((vector_size(16)));
    typedef u64 Words __attribute__((vector_size(16)));
    u64 all;
    __builtin_memcpy(&all, bytes, 8);
    return __builtin_convertvector((EightInts)__builtin_ia32_pmovzxbd256((Bytes)Words{all, 0}), Eight);
#else
    typedef u8 EightBytes __attribute__((vector_size(8)));
    EightBytes v;
    __builtin_memcpy(&v, bytes, sizeof v);
    return __builtin_convertvector(__builtin_convertvector(v, EightInts), Eight);
#endif
}
RQ_INLINE Eight fma(Eight a, Eight b, Eight c) {
#if defined(__FMA__)
    return __builtin_ia32_vfmaddps256(a, b, c);
#else
    for (u32 k = 0; k < 8; ++k) a[k] = fma(a[k], b[k], c[k]);
    return a;
#endif
}
RQ_INLINE Eight fma(Eight a, float b, Eight c) { return fma(a, eight(b), c); }
RQ_INLINE Eight fma(Eight a, float b, float c) { return fma(a, eight(b), eight(c)); }
// Number order[k] of `v` in place k.
RQ_INLINE Eight ordered(Eight v, EightInts order) {
#if defined(__AVX2__)
    return __builtin_ia32_permvarsf256(v, order);
#else
    Eight to;
    for (u32 k = 0; k < 8; ++k) to[k] = v[order[k]];
    return to;
#endif
}
// Where a comparison holds, a bit each.
RQ_INLINE u32 where(EightInts holds) {
#if defined(__AVX__)
    return (u32)__builtin_ia32_movmskps256((Eight)holds);
#elif defined(__SSE__)
    typedef float Four __attribute__((vector_size(16)));
    Four halves[2];
    __builtin_memcpy(halves, &holds, sizeof holds);
    return (u32)(__builtin_ia32_movmskps(halves[0]) | __builtin_ia32_movmskps(halves[1]) << 4);
#else
    u32 bits = 0;
    for (u32 k = 0; k < 8; ++k) bits |= (u32)(holds[k] & 1) << k;
    return bits;
#endif
}

}  // namespace rq
