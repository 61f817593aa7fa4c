// hip.h: AMD, through hipRTC or clang, with compiler builtins only (so with and without HIP's own headers).
//
// Waves have 64 lanes on gfx9 and 32 on gfx10 and later: the size is asked, never assumed. Agent scope is
// one device; on multi-die parts (gfx942) it already covers every die.
#pragma once

#ifndef __global__
#define __global__ __attribute__((global))
#endif
#ifndef __device__
#define __device__ __attribute__((device))
#endif
#ifndef __shared__
#define __shared__ __attribute__((shared))
#endif

#define RQ_INLINE static __device__ inline __attribute__((always_inline))
#define RQ_METHOD __device__ inline __attribute__((always_inline))
#define RQ_NOINLINE static __device__ __attribute__((noinline))
#define RQ_UNROLL _Pragma("unroll")
#define RQ_PRAGMA(text) _Pragma(#text)
#define RQ_UNROLL_BY(n) RQ_PRAGMA(unroll n)
#define RQ_NO_UNROLL _Pragma("nounroll")
#ifndef RQ_BLOCK_THREADS
#define RQ_BLOCK_THREADS 256
#endif
// A kernel takes one struct by value; `p` names it in the body.
// (launch_bounds alone leaves clang's bound of 1024 threads, and with it half the registers.)
#define RQ_KERNEL(name, Params) RQ_KERNEL_BOUNDS(name, Params, RQ_BLOCK_THREADS, 1)
#define RQ_KERNEL_BOUNDS(name, Params, threads, min_blocks) \
    extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, threads))) void name(const Params p)

namespace rq {

RQ_INLINE u32 thread_in_block() { return __builtin_amdgcn_workitem_id_x(); }
RQ_INLINE u32 block_index() { return __builtin_amdgcn_workgroup_id_x(); }
RQ_INLINE u32 block_threads() { return __builtin_amdgcn_workgroup_size_x(); }
RQ_INLINE u32 block_count() { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); }

// Whether a wave is one lane, known when the kernel is compiled.
constexpr bool wave_size_is_one = false;

// ---- waves. Every function here is called by all lanes of the wave together.
#if __has_builtin(__builtin_amdgcn_wavefrontsize)
RQ_INLINE u32 wave_size() { return __builtin_amdgcn_wavefrontsize(); }
#else  // clang before 15: hipRTC of ROCm 5.2
RQ_INLINE u32 wave_size() { return __AMDGCN_WAVEFRONT_SIZE; }
#endif
// How many lanes below this one are in the mask.
RQ_INLINE u32 wave_rank(LaneMask mask) {
    return __builtin_amdgcn_mbcnt_hi((u32)(mask >> 32), __builtin_amdgcn_mbcnt_lo((u32)mask, 0u));
}
RQ_INLINE u32 wave_lane() { return wave_rank(~0ull); }
RQ_INLINE LaneMask wave_ballot(bool p) {
#if __has_builtin(__builtin_amdgcn_ballot_w64)
    return __builtin_amdgcn_ballot_w64(p);
#else
    return __builtin_amdgcn_uicmp((u32)p, 0u, 33);  // 33: not equal
#endif
}
// The lanes that are here now: of any use to instruments alone.
RQ_INLINE LaneMask active_lanes() { return wave_ballot(true); }
RQ_INLINE u32 wave_exchange(u32 v, u32 from) {
    return (u32)__builtin_amdgcn_ds_bpermute((i32)(from << 2), (i32)v);
}
RQ_INLINE u32 wave_broadcast(u32 v, u32 from) {
    // The leader's number is the same in every lane: a scalar read.
    return (u32)__builtin_amdgcn_readlane((i32)v, __builtin_amdgcn_readfirstlane((i32)from));
}
RQ_INLINE u64 wave_broadcast(u64 v, u32 from) {
    return ((u64)wave_broadcast((u32)(v >> 32), from) << 32) | wave_broadcast((u32)v, from);
}
RQ_INLINE i64 wave_broadcast(i64 v, u32 from) { return (i64)wave_broadcast((u64)v, from); }
// Orders memory among the lanes of the wave; the lanes are in lockstep, so this only holds the compiler.
RQ_INLINE void wave_sync() {
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
}

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
#define RQ_SCOPE __HIP_MEMORY_SCOPE_AGENT

template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_load(const T *p) {
    if constexpr (S == Scope::block)
        return __hip_atomic_load(const_cast<T *>(p), c11_load(O), __HIP_MEMORY_SCOPE_WORKGROUP);
    else return __hip_atomic_load(const_cast<T *>(p), c11_load(O), RQ_SCOPE);
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE void atomic_store(T *p, T v) {
    __hip_atomic_store(p, v, c11_store(O), RQ_SCOPE);
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_add(T *p, T v) {
    return __hip_atomic_fetch_add(p, v, c11(O), RQ_SCOPE);
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_or(T *p, T v) {
    return __hip_atomic_fetch_or(p, v, c11(O), RQ_SCOPE);
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_and(T *p, T v) {
    return __hip_atomic_fetch_and(p, v, c11(O), RQ_SCOPE);
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_max(T *p, T v) {
    return __hip_atomic_fetch_max(p, v, c11(O), RQ_SCOPE);
}
template <Order O = Order::relaxed, Scope S = Scope::device, class T> RQ_INLINE T atomic_exchange(T *p, T v) {
    return __hip_atomic_exchange(p, v, c11(O), RQ_SCOPE);
}
// Adds without asking what was there.
RQ_INLINE void reduce_add(u64 *p, u64 v) { atomic_add(p, v); }
// Returns the value found; it equals `expected` iff `desired` was stored.
template <Order O = Order::relaxed, Scope S = Scope::device, class T>
RQ_INLINE T atomic_cas(T *p, T expected, T desired) {
    __hip_atomic_compare_exchange_strong(p, &expected, desired, c11(O), c11_load(O), RQ_SCOPE);
    return expected;
}
#undef RQ_SCOPE
// The same on a word of shared memory, relaxed.
RQ_INLINE u64 on_chip_cas(u64 *p, u64 expected, u64 desired) {
    __hip_atomic_compare_exchange_strong(p, &expected, desired, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                         __HIP_MEMORY_SCOPE_WORKGROUP);
    return expected;
}

template <Order O> RQ_INLINE void fence() {
    // The builtin takes a literal only: clang before 16 refuses an expression of a template's parameter.
    if constexpr (O == Order::acquire) __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    else if constexpr (O == Order::release) __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    else if constexpr (O == Order::acq_rel) __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent");
    else __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}

// Payload that a queue publishes: ordinary accesses, ordered by the queue's release and acquire.
// An offset in a vector register keeps clang from loading a word that all lanes ask for by way of the scalar cache, which
// no acquire empties.
template <class T> RQ_INLINE T plain_load(const T *p) {
    u32 zero = 0;
    asm("" : "+v"(zero));
    return p[zero];
}
template <class T> RQ_INLINE void plain_store(T *p, T v) { *p = v; }

RQ_INLINE void spin_hint() { __builtin_amdgcn_s_sleep(1); }
// Ticks of the constant-rate counter, the same on the whole device; the host asks for its rate.
RQ_INLINE u64 device_ticks() {
#if __has_builtin(__builtin_readsteadycounter)
    return __builtin_readsteadycounter();
#else
    return __builtin_amdgcn_s_memrealtime();
#endif
}
// Cycles of this compute unit's own clock: only differences taken by one lane mean something.
RQ_INLINE u64 device_cycles() { return __builtin_readcyclecounter(); }
RQ_INLINE void block_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
extern __shared__ Quad rq_dynamic_shared[];
template <class T> RQ_INLINE T *shared_memory() { return reinterpret_cast<T *>(rq_dynamic_shared); }

RQ_INLINE Float4 load_constant(const Float4 *p) { return *p; }

// Asks for a line of memory that will be read soon.
RQ_INLINE void prefetch(const void *) {}

// ---- arithmetic with one IEEE rounding (the compiler is asked for correctly rounded divide and sqrt)
RQ_INLINE float reciprocal(float a) { return 1.0f / a; }
RQ_INLINE float divide(float a, float b) { return a / b; }
RQ_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// To the nearest integer, ties to even; 0 <= f < 2^32.
RQ_INLINE u32 round_to_u32(float f) { return (u32)(i64)__builtin_rintf(f); }
RQ_INLINE float abs_of(float a) { return __builtin_fabsf(a); }
RQ_INLINE u32 as_bits(float f) { return __builtin_bit_cast(u32, f); }
RQ_INLINE float as_float(u32 u) { return __builtin_bit_cast(float, u); }
#if __clang_major__ >= 18
RQ_INLINE float sqrt_exact(float a) { return __builtin_sqrtf(a); }
#else  // the builtin is the bare instruction, which may be one unit in the last place off
RQ_INLINE float sqrt_exact(float a) {
    const float s = __builtin_sqrtf(a);
    // The float below is nearer if a <= below * s, the one above if a > above * s: the squared midpoints, less
    // a term too small to matter. For 0, infinity and NaN both are false. Right for 2^-100 and more.
    const float below = as_float(as_bits(s) - 1), above = as_float(as_bits(s) + 1);
    const bool down = fma(-below, s, a) <= 0.0f, up = fma(-above, s, a) > 0.0f;
    return up ? above : down ? below : s;
}
#endif

}  // namespace rq
