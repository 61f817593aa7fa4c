// selftest.cpp: small programs whose outcomes are known, so that the simulator can be tested itself.
#include "platform/platform.h"

namespace rq {

// The fields are those of `SelftestParams` in tests/sim/src/tests.rs.
struct SelftestParams {
    u64 *words;
    u32 which, reserved;
};
enum Selftest : u32 {
    count_atomically,    // words[0] += 1 by every lane; words[1] counts lanes that saw a whole ballot
    store_buffering,     // lanes 0 and 1 store, then load the other's word
    buffering_fenced,    // the same with sequentially consistent fences
    message_relaxed,     // lane 0 publishes a plain word without release
    message_released,    // the same with release and acquire
    message_fenced,      // the same with fences around relaxed accesses
    leader_acquires,     // lane 1 acquires and tells its wave by a broadcast only
    leader_syncs,        // the same, followed by wave_sync
    lost_update,         // load, then store: not atomic
    missing_lane,        // the last lane leaves before a ballot
    divergent_calls,     // two ballots in two places
    wait_in_wave,        // lane 0 spins until the last lane of its wave stores
    block_sum,           // each lane adds up its block's shared memory after a barrier
    wait_for_next_block, // block 0 spins until the last block stores
    shuffle,             // words[lane] = a reversed wave, then the sum
};

RQ_INLINE void publish(const SelftestParams &p) {
    u64 *data = p.words, *flag = p.words + 1;
    if (global_thread() == 0) {
        plain_store<u64>(data, 42);
        if (p.which == message_relaxed) atomic_store(flag, (u64)1);
        else if (p.which == message_fenced) {
            fence<Order::release>();
            atomic_store(flag, (u64)1);
        } else atomic_store<Order::release>(flag, (u64)1);
    }
}

RQ_INLINE void receive(const SelftestParams &p) {
    u64 *data = p.words, *flag = p.words + 1, *seen = p.words + 2;
    u64 ready = 0;
    if (p.which == leader_acquires || p.which == leader_syncs) {
        if (wave_lane() == 0) ready = atomic_load<Order::acquire>(flag);
        ready = wave_broadcast(ready, 0);
        if (p.which == leader_syncs) wave_sync();
    } else if (p.which == message_fenced) {
        ready = atomic_load(flag);
        fence<Order::acquire>();
    } else ready = atomic_load<Order::acquire>(flag);
    if (ready && wave_lane() == wave_size() - 1) atomic_store(seen, plain_load(data));
}

RQ_INLINE void store_then_load(const SelftestParams &p) {
    const u32 me = global_thread();
    if (me > 1) return;
    atomic_store(p.words + me, (u64)1);
    if (p.which == buffering_fenced) fence<Order::seq_cst>();
    atomic_store(p.words + 2 + me, atomic_load(p.words + 1 - me));
}

RQ_INLINE void sum_of_block(const SelftestParams &p) {
    u32 *shared = shared_memory<u32>();
    shared[thread_in_block()] = thread_in_block() + 1;
    block_barrier();
    u64 sum = 0;
    for (u32 i = 0; i < block_threads(); i++) sum += shared[i];
    atomic_store(p.words + global_thread(), sum);
}

}  // namespace rq

using namespace rq;

RQ_KERNEL(selftest, SelftestParams) {
    const u32 last = wave_size() - 1;
    switch (p.which) {
        case count_atomically: {
            atomic_add(p.words, (u64)1);
            const LaneMask all = wave_ballot(true);
            if (count_lanes(all) == wave_size()) atomic_add(p.words + 1, (u64)1);
            break;
        }
        case store_buffering:
        case buffering_fenced: store_then_load(p); break;
        case message_relaxed:
        case message_released:
        case message_fenced:
        case leader_acquires:
        case leader_syncs:
            if (global_wave() == 0) publish(p);
            else receive(p);
            break;
        case lost_update: atomic_store(p.words, atomic_load(p.words) + 1); break;
        case missing_lane:
            if (wave_lane() != last) wave_ballot(true);
            break;
        case divergent_calls:
            if (wave_lane() == last) wave_ballot(true);
            else wave_ballot(false);
            break;
        case wait_in_wave:
            if (wave_lane() == 0) {
                while (!atomic_load<Order::acquire>(p.words)) spin_hint();
            } else if (wave_lane() == last) atomic_store<Order::release>(p.words, (u64)1);
            break;
        case block_sum: sum_of_block(p); break;
        case wait_for_next_block:
            if (block_index() == block_count() - 1) atomic_store<Order::release>(p.words, (u64)1);
            else while (!atomic_load<Order::acquire>(p.words)) spin_hint();
            break;
        case shuffle: {
            const u64 reversed = wave_exchange((u64)wave_lane(), last - wave_lane());
            const u32 sum = wave_sum(wave_lane());
            atomic_store(p.words + global_thread(), reversed << 32 | sum);
            break;
        }
    }
}
