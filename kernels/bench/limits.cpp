// limits.cpp: what the device can do at most, one ceiling a kernel: what the engines' and queues' figures are
// fractions of. Each leaves results that the host can check.
#include "layout.h"

namespace rq {

RQ_INLINE Quad pattern(u64 i) {
    const u32 n = (u32)i;
    return Quad{n, n ^ 0x9e3779b9u, ~n, n * 2654435761u};
}

RQ_KERNEL(limit_fill, LimitParams) {
    const Items quads = my_items(p.length);
    for (u64 i = quads.first; i < quads.end; i += quads.step) p.source[i] = pattern(i);
}

// Memory: every quad is read once and written once.
RQ_KERNEL(limit_copy, LimitParams) {
    const Items quads = my_items(p.length);
    RQ_UNROLL_BY(4)
    for (u64 i = quads.first; i < quads.end; i += quads.step) p.target[i] = p.source[i];
}

// words[0] becomes the number of quads that arrived.
RQ_KERNEL(limit_check_copy, LimitParams) {
    u32 right = 0;
    const Items quads = my_items(p.length);
    for (u64 i = quads.first; i < quads.end; i += quads.step) {
        const Quad q = p.target[i], wanted = pattern(i);
        right += q.x == wanted.x && q.y == wanted.y && q.z == wanted.z && q.w == wanted.w;
    }
    reduce_add(p.words, (u64)right);
}

// Arithmetic: as many chains of multiply-adds, none waiting for another, as keep a lane's units busy: on the CPU a
// lane is a core with several units of eight lanes each.
constexpr u32 chains = wave_size_is_one ? 96 : 8;

RQ_KERNEL(limit_fma, LimitParams) {
    float x[chains];
    const float start = (float)(global_thread() % 64);
    RQ_UNROLL
    for (u32 c = 0; c < chains; ++c) x[c] = start + (float)c;
    for (u32 round = 0; round < p.rounds; ++round) {
        RQ_UNROLL
        for (u32 c = 0; c < chains; ++c) x[c] = fma(x[c], p.factor, 1.0f);
    }
    float sum = 0.0f;
    RQ_UNROLL
    for (u32 c = 0; c < chains; ++c) sum += x[c];
    p.values[global_thread()] = sum;
}

// Tickets: all waves add to words[0], one add a wave for all its lanes. words[1] becomes the sum of the waves' first
// tickets.
RQ_KERNEL(limit_tickets, LimitParams) {
    u64 sum = 0;
    if (wave_lane() == 0) {
        for (u32 round = 0; round < p.rounds; ++round) sum += atomic_add(p.words, (u64)wave_size());
        reduce_add(p.words + 16, sum);
    }
}

// Compare-and-swap: each lane on words of its own, beside its neighbours' words. Whoever owns a word knows what it
// holds, so every one succeeds; words end as `rounds`.
RQ_KERNEL(limit_cas, LimitParams) {
    const Items mine = my_items(p.length);
    for (u32 round = 0; round < p.rounds; ++round) {
        RQ_UNROLL_BY(4)
        for (u64 i = mine.first; i < mine.end; i += mine.step) atomic_cas(p.words + i, (u64)round, (u64)round + 1);
    }
}

// The same in on-chip memory, `on_chip_words` words a lane; the lane then adds what it finds to its own word.
constexpr u32 on_chip_words = 4;

RQ_KERNEL(limit_cas_on_chip, LimitParams) {
    u64 *const mine = shared_memory<u64>() + thread_in_block();
    RQ_UNROLL
    for (u32 w = 0; w < on_chip_words; ++w) mine[w * block_threads()] = 0;
    block_barrier();
    for (u32 round = 0; round < p.rounds; ++round) {
        RQ_UNROLL
        for (u32 w = 0; w < on_chip_words; ++w) on_chip_cas(mine + w * block_threads(), (u64)round, (u64)round + 1);
    }
    block_barrier();
    u64 sum = 0;
    RQ_UNROLL
    for (u32 w = 0; w < on_chip_words; ++w) sum += mine[w * block_threads()];
    p.words[global_thread()] = sum;
}

}  // namespace rq
