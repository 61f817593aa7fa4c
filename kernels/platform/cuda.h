// cuda.h: NVIDIA, through NVRTC. sm_70 is the floor (independent lanes, scoped atomics).
//
// Orders: PTX scoped atomics on addresses converted to global, since a generic address drags in a fallback
// for shared memory. `volatile` and the memory clobber keep the compiler from moving accesses across.
#pragma once

// NVRTC 12 has no __builtin_offsetof; this is the intrinsic that its own headers make offsetof of.
#define __builtin_offsetof(T, member) __INTADDR__(&((T *)0)->member)

#define RQ_INLINE static __device__ __forceinline__
#define RQ_METHOD __device__ __forceinline__
#define RQ_NOINLINE static __device__ __noinline__
#define RQ_UNROLL _Pragma("unroll")
#define RQ_PRAGMA(text) _Pragma(#text)
#define RQ_UNROLL_BY(n) RQ_PRAGMA(unroll n)
#define RQ_NO_UNROLL _Pragma("unroll 1")
#ifndef RQ_BLOCK_THREADS
#define RQ_BLOCK_THREADS 256
#endif
// A kernel takes one struct by value; `p` names it in the body.
#define RQ_KERNEL(name, Params) \
    extern "C" __global__ void __launch_bounds__(RQ_BLOCK_THREADS) name(const __grid_constant__ Params p)
#define RQ_KERNEL_BOUNDS(name, Params, threads, min_blocks) \
    extern "C" __global__ void __launch_bounds__(threads, min_blocks) name(const __grid_constant__ Params p)

namespace rq {

RQ_INLINE u32 thread_in_block() { return threadIdx.x; }
RQ_INLINE u32 block_index() { return blockIdx.x; }
RQ_INLINE u32 block_threads() { return blockDim.x; }
RQ_INLINE u32 block_count() { return gridDim.x; }

// Whether a wave is one lane, known when the kernel is compiled.
constexpr bool wave_size_is_one = false;

// ---- waves: a warp of 32. Every function here is called by all lanes of the wave together.
constexpr u32 full_warp = 0xffffffffu;
RQ_INLINE constexpr u32 wave_size() { return 32u; }
RQ_INLINE u32 wave_lane() {
    u32 lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
RQ_INLINE LaneMask wave_ballot(bool p) { return __ballot_sync(full_warp, p); }
// The lanes that are here now: of any use to instruments alone.
RQ_INLINE LaneMask active_lanes() { return __activemask(); }
// How many lanes below this one are in the mask.
RQ_INLINE u32 wave_rank(LaneMask mask) {
    u32 below;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    return (u32)__popc((u32)mask & below);
}
template <class T> RQ_INLINE T wave_broadcast(T v, u32 from) { return __shfl_sync(full_warp, v, (int)from); }
template <class T> RQ_INLINE T wave_exchange(T v, u32 from) { return __shfl_sync(full_warp, v, (int)from); }
// Orders memory among the lanes of the wave (PTX bar.warp.sync), and converges them.
RQ_INLINE void wave_sync() { __syncwarp(full_warp); }

// ---- atomics
#define RQ_PTX_RMW(fn, op, T, ty, reg)                                                                       \
    template <Order O = Order::relaxed, Scope S = Scope::device> RQ_INLINE T fn(T *p, T v) {                 \
        T old;                                                                                               \
        const u64 a = __cvta_generic_to_global(p);                                                           \
        if constexpr (O == Order::relaxed)                                                                   \
            asm volatile("atom.relaxed.gpu.global." op "." ty " %0, [%1], %2;"                               \
                         : "=" reg(old) : "l"(a), reg(v) : "memory");                                        \
        else if constexpr (O == Order::acquire)                                                              \
            asm volatile("atom.acquire.gpu.global." op "." ty " %0, [%1], %2;"                               \
                         : "=" reg(old) : "l"(a), reg(v) : "memory");                                        \
        else if constexpr (O == Order::release)                                                              \
            asm volatile("atom.release.gpu.global." op "." ty " %0, [%1], %2;"                               \
                         : "=" reg(old) : "l"(a), reg(v) : "memory");                                        \
        else                                                                                                 \
            asm volatile("atom.acq_rel.gpu.global." op "." ty " %0, [%1], %2;"                               \
                         : "=" reg(old) : "l"(a), reg(v) : "memory");                                        \
        return old;                                                                                          \
    }
RQ_PTX_RMW(atomic_add, "add", u64, "u64", "l")
RQ_PTX_RMW(atomic_or, "or", u64, "b64", "l")
RQ_PTX_RMW(atomic_and, "and", u64, "b64", "l")
RQ_PTX_RMW(atomic_exchange, "exch", u64, "b64", "l")
RQ_PTX_RMW(atomic_max, "max", u64, "u64", "l")
RQ_PTX_RMW(atomic_add, "add", u32, "u32", "r")
RQ_PTX_RMW(atomic_or, "or", u32, "b32", "r")
RQ_PTX_RMW(atomic_and, "and", u32, "b32", "r")
RQ_PTX_RMW(atomic_exchange, "exch", u32, "b32", "r")
RQ_PTX_RMW(atomic_max, "max", u32, "u32", "r")
#undef RQ_PTX_RMW

// Adds without asking what was there.
RQ_INLINE void reduce_add(u64 *p, u64 v) {
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(v) : "memory");
}
// The same for OR and the unsigned maximum; there are no orders but relaxed.
template <Order O> RQ_INLINE void reduce_or(u64 *p, u64 v) {
    static_assert(O == Order::relaxed, "as the PTX instruction");
    asm volatile("red.relaxed.gpu.global.or.b64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(v) : "memory");
}
template <Order O> RQ_INLINE void reduce_max(u64 *p, u64 v) {
    static_assert(O == Order::relaxed, "as the PTX instruction");
    asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(v) : "memory");
}

// Returns the value found; it equals `expected` iff `desired` was stored.
#define RQ_PTX_CAS(T, ty, reg)                                                                               \
    template <Order O = Order::relaxed, Scope S = Scope::device>                                             \
    RQ_INLINE T atomic_cas(T *p, T expected, T desired) {                                                    \
        T old;                                                                                               \
        const u64 a = __cvta_generic_to_global(p);                                                           \
        if constexpr (O == Order::relaxed)                                                                   \
            asm volatile("atom.relaxed.gpu.global.cas." ty " %0, [%1], %2, %3;"                              \
                         : "=" reg(old) : "l"(a), reg(expected), reg(desired) : "memory");                   \
        else if constexpr (O == Order::acquire)                                                              \
            asm volatile("atom.acquire.gpu.global.cas." ty " %0, [%1], %2, %3;"                              \
                         : "=" reg(old) : "l"(a), reg(expected), reg(desired) : "memory");                   \
        else if constexpr (O == Order::release)                                                              \
            asm volatile("atom.release.gpu.global.cas." ty " %0, [%1], %2, %3;"                              \
                         : "=" reg(old) : "l"(a), reg(expected), reg(desired) : "memory");                   \
        else                                                                                                 \
            asm volatile("atom.acq_rel.gpu.global.cas." ty " %0, [%1], %2, %3;"                              \
                         : "=" reg(old) : "l"(a), reg(expected), reg(desired) : "memory");                   \
        return old;                                                                                          \
    }
RQ_PTX_CAS(u64, "b64", "l")
RQ_PTX_CAS(u32, "b32", "r")
#undef RQ_PTX_CAS

// The same on a word of shared memory, relaxed.
RQ_INLINE u64 on_chip_cas(u64 *p, u64 expected, u64 desired) {
    u64 old;
    asm volatile("atom.relaxed.cta.shared.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(old) : "l"(__cvta_generic_to_shared(p)), "l"(expected), "l"(desired) : "memory");
    return old;
}

#define RQ_PTX_LOAD_STORE(T, ty, reg)                                                                        \
    template <Order O = Order::relaxed, Scope S = Scope::device> RQ_INLINE T atomic_load(const T *p) {       \
        T v;                                                                                                 \
        const u64 a = __cvta_generic_to_global(p);                                                           \
        if constexpr (O == Order::relaxed && S == Scope::block)                                              \
            asm volatile("ld.relaxed.cta.global." ty " %0, [%1];" : "=" reg(v) : "l"(a) : "memory");         \
        else if constexpr (O == Order::relaxed)                                                              \
            asm volatile("ld.relaxed.gpu.global." ty " %0, [%1];" : "=" reg(v) : "l"(a) : "memory");         \
        else                                                                                                 \
            asm volatile("ld.acquire.gpu.global." ty " %0, [%1];" : "=" reg(v) : "l"(a) : "memory");         \
        return v;                                                                                            \
    }                                                                                                        \
    template <Order O = Order::relaxed, Scope S = Scope::device> RQ_INLINE void atomic_store(T *p, T v) {    \
        const u64 a = __cvta_generic_to_global(p);                                                           \
        if constexpr (O == Order::relaxed)                                                                   \
            asm volatile("st.relaxed.gpu.global." ty " [%0], %1;" ::"l"(a), reg(v) : "memory");              \
        else                                                                                                 \
            asm volatile("st.release.gpu.global." ty " [%0], %1;" ::"l"(a), reg(v) : "memory");              \
    }
RQ_PTX_LOAD_STORE(u64, "u64", "l")
RQ_PTX_LOAD_STORE(u32, "u32", "r")
#undef RQ_PTX_LOAD_STORE

template <Order O> RQ_INLINE void fence() {
    if constexpr (O == Order::seq_cst) asm volatile("fence.sc.gpu;" ::: "memory");
    else asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

// Payload that a queue publishes: ordinary accesses, ordered by the queue's release and acquire.
template <class T> RQ_INLINE T plain_load(const T *p) { return *p; }
template <class T> RQ_INLINE void plain_store(T *p, T v) { *p = v; }

RQ_INLINE void spin_hint() { __nanosleep(20); }
// Nanoseconds since an arbitrary start, the same on every multiprocessor.
RQ_INLINE u64 device_ticks() {
    u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}
// Cycles of this multiprocessor's own clock: only differences taken by one lane mean something.
RQ_INLINE u64 device_cycles() { return (u64)clock64(); }
RQ_INLINE void block_barrier() { __syncthreads(); }
template <class T> RQ_INLINE T *shared_memory() {
    extern __shared__ Quad rq_dynamic_shared[];
    return reinterpret_cast<T *>(rq_dynamic_shared);
}

RQ_INLINE Float4 load_constant(const Float4 *p) {
    const float4 v = __ldg(reinterpret_cast<const float4 *>(p));
    return Float4{v.x, v.y, v.z, v.w};
}

// Asks for a line of memory that will be read soon.
RQ_INLINE void prefetch(const void *p) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(p)));
}

// ---- arithmetic with one IEEE rounding
//
// The compiler's own forms branch to a subroutine for operands near the ends of the exponent range, which
// costs every kernel registers. These are the forms without: correctly rounded for operands and results of
// magnitude 2^-100 .. 2^100 (and a dividend of zero), which is what callers must keep to. The root and the
// reciprocal refine the hardware's approximation by one step; tools/gpu-check.sh compares them with the CPU's for every
// significand. The quotient follows Markstein (IBM J. Res. Dev. 34, 1990): from a correctly rounded reciprocal
// and a quotient off by at most one ulp, one residual step gives the correctly rounded quotient.
RQ_INLINE float sqrt_exact(float a) {
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    const float s = a * r;
    return __fmaf_rn(__fmaf_rn(-s, s, a), 0.5f * r, s);
}
RQ_INLINE float reciprocal(float a) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return __fmaf_rn(__fmaf_rn(-a, r, 1.0f), r, r);
}
RQ_INLINE float divide(float a, float b) {
    const float r = reciprocal(b), q = a * r;
    const float near = __fmaf_rn(__fmaf_rn(-b, q, a), r, q);
    return __fmaf_rn(__fmaf_rn(-b, near, a), r, near);
}
RQ_INLINE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
// To the nearest integer, ties to even; 0 <= f < 2^32.
RQ_INLINE u32 round_to_u32(float f) { return __float2uint_rn(f); }
RQ_INLINE float abs_of(float a) { return fabsf(a); }
RQ_INLINE u32 as_bits(float f) { return __float_as_uint(f); }
RQ_INLINE float as_float(u32 u) { return __uint_as_float(u); }

}  // namespace rq

// The bit functions that GCC and clang have as builtins.
#define __builtin_popcountll(m) __popcll(m)
#define __builtin_ctzll(m) (__ffsll((long long)(m)) - 1)
#define __builtin_clzll(m) __clzll((long long)(m))
