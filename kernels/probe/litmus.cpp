// litmus.cpp: small races whose outcomes show what the platform's orders are worth on a device, each in the very form
// in which the queues rely on it, and in a weakened form that is allowed to fail.
//
// Every lane owns an instance of the test in each round, plays the first part in its own and the second part in
// another lane's: in the same wave, in the next one, anywhere. Half of the waves play the second part first, so that
// both meet. Each round has words of its own, so nothing is ever used twice. What a part saw is its word of `seen`;
// the host counts (src/bench/litmus.rs).
#include "layout.h"
#include "queue/order.h"

namespace rq {

// The values are those of `Test` in src/bench/litmus.rs.
enum Litmus : u32 {
    litmus_message,         // a payload, published by the compare-and-swap that fills a slot (rings)
    litmus_turn,            // the same by a store (turn.h)
    litmus_request,         // an atomic word, published by the store of a request (gwfq's helping)
    litmus_reuse,           // a payload is read, its slot given back, and written by the next owner (outer.h)
    litmus_tickets,         // two counters moved one after the other, seen one after the other (ring.h)
    litmus_leader_publish,  // a wave fills slots, its leader moves a counter; a wave's leader looks, its lanes read slots
    litmus_leader_payload,  // the same with payloads: one lane's atomics and wave_sync() order all lanes' plain accesses
    litmus_buffering,       // each stores, then reads the other's word: fences around recorded operations
};

// What a part saw; 0: it did not run.
constexpr u32 saw_nothing = 1, saw_old = 2, saw_new = 3;

// An instance: two atomic words a line apart from each other, four words of payload of which the first is used, and one
// counter for the wave.
struct Instance {
    u64 *x, *y, *payload, *counter;
    u32 *first, *second;
};

// A stretch of `lanes` of each array a round. Neighbours' words y lie apart.
RQ_INLINE Instance instance_of(const LitmusParams &p, u32 round, u32 number) {
    const u64 lanes = grid_threads(), at = round * lanes + number;
    const u64 apart = round * lanes + ((u64)number * 17 & (lanes - 1));
    return Instance{p.x + at, p.y + apart, p.payload + 4 * at, p.y + round * lanes + (number - number % wave_size()),
                    p.seen + 2 * at, p.seen + 2 * at + 1};
}

// Whose second part this lane plays: a permutation of the waves, then one within the wave.
RQ_INLINE u32 partner(const LitmusParams &p, u32 round) {
    const u32 waves = grid_waves(), wave = global_wave(), random = (p.seed + round) * 0x9e3779b9u;
    u32 other = wave;
    if (round % 4 == 1) other = wave ^ (waves > 1);
    if (round % 4 > 1) other = wave * (random >> 8 | 1) + (random >> 4);
    return (other & (waves - 1)) * wave_size() + ((wave_lane() + 1 + (random >> 16)) & (wave_size() - 1));
}

// Waves begin a round together, as far as they come within a moment.
RQ_INLINE void meet(const LitmusParams &p, u32 round) {
    if (wave_lane() == 0) {
        atomic_add(p.arrived, 1u);
        for (u32 look = 0; look < p.patience && atomic_load(p.arrived) < (round + 1) * grid_waves(); ++look) spin_hint();
    }
    wave_sync();
}

template <bool Weak> constexpr Order published = Weak ? Order::relaxed : slot_install;
template <bool Weak> constexpr Order taken = Weak ? Order::relaxed : slot_take;
template <bool Weak> constexpr Order released = Weak ? Order::relaxed : Order::release;
template <bool Weak> constexpr Order acquired = Weak ? Order::relaxed : Order::acquire;
template <bool Weak> RQ_INLINE void acquire_unless_weak() {
    if (!Weak) acquire_payload();
}
template <bool Weak> RQ_INLINE void sync_unless_weak() {
    if (!Weak) wave_sync();
}

// The word once it is not 0, or 0 after a few looks.
template <Order O> RQ_INLINE u64 poll(const LitmusParams &p, const u64 *word) {
    u64 seen = atomic_load<O>(word);
    for (u32 look = 0; look < p.looks && seen == 0; ++look) seen = atomic_load<O>(word);
    return seen;
}
RQ_INLINE u32 saw(u64 value) { return value == 0 ? saw_old : saw_new; }

template <bool Weak> RQ_INLINE void first_part(const LitmusParams &p, const Instance &i) {
    switch (p.test) {
        case litmus_message:
            plain_store(i.payload, (u64)1);
            atomic_cas<published<Weak>>(i.x, (u64)0, (u64)1);
            break;
        case litmus_turn:
            plain_store(i.payload, (u64)1);
            atomic_store<published<Weak>>(i.x, (u64)1);
            break;
        case litmus_request:
            atomic_store(i.y, (u64)1);
            atomic_store<released<Weak>>(i.x, (u64)1);
            break;
        case litmus_reuse:
            *i.first = saw(plain_load(i.payload));
            atomic_cas<published<Weak>>(i.x, (u64)0, (u64)1);
            break;
        case litmus_tickets:
            if (Weak) {
                atomic_store(i.x, (u64)1);
                atomic_store(i.y, (u64)1);
            } else if (atomic_add<ticket_rmw>(i.x, (u64)1) == 0) {
                atomic_add<ticket_rmw>(i.y, (u64)1);
            }
            break;
        case litmus_leader_publish:
            if (Weak) atomic_store(i.x, (u64)1);
            else atomic_cas<slot_install>(i.x, (u64)0, (u64)1);
            sync_unless_weak<Weak>();
            if (wave_lane() == 0) reduce_max<Weak ? Order::relaxed : ticket_rmw>(i.counter, 1);
            break;
        case litmus_leader_payload:
            plain_store(i.payload, (u64)1);
            sync_unless_weak<Weak>();
            if (wave_lane() == 0) atomic_add<released<Weak>>(i.counter, (u64)1);
            break;
        case litmus_buffering:
            atomic_store(i.x, (u64)1);
            if (!Weak) fence<Order::seq_cst>();
            *i.first = saw(atomic_load(i.y));
            break;
    }
}

template <bool Weak> RQ_INLINE u32 second_part(const LitmusParams &p, const Instance &i) {
    // Brings the payload's sector near, where it can grow old: its last word is never written.
    const u64 zero = p.test <= litmus_turn || p.test == litmus_leader_payload ? plain_load(i.payload + 3) : 0;
    switch (p.test) {
        case litmus_message:
        case litmus_turn:
            if (poll<taken<Weak>>(p, i.x) == 0) return saw_nothing;
            acquire_unless_weak<Weak>();
            return saw(plain_load(i.payload) + zero);
        case litmus_request:
            if (poll<acquired<Weak>>(p, i.x) == 0) return saw_nothing;
            return saw(atomic_load<acquired<Weak>>(i.y));
        case litmus_reuse:
            if (poll<taken<Weak>>(p, i.x) == 0) return saw_nothing;
            acquire_unless_weak<Weak>();
            plain_store(i.payload, (u64)1);
            return saw_new;
        case litmus_tickets: {
            if (Weak) {  // both loads in flight together
                const u64 later = atomic_load(i.y), earlier = atomic_load(i.x);
                return later == 0 ? saw_nothing : saw(earlier);
            }
            if (poll<ticket_load>(p, i.y) == 0) return saw_nothing;
            return saw(atomic_load<ticket_load>(i.x));
        }
        case litmus_leader_publish:
        case litmus_leader_payload: {
            u64 count = 0;
            const bool payload = p.test == litmus_leader_payload;
            if (wave_lane() == 0) {
                if (Weak) count = poll<Order::relaxed>(p, i.counter);
                else count = payload ? poll<Order::acquire>(p, i.counter) : poll<ticket_load>(p, i.counter);
            }
            count = wave_broadcast(count, 0);
            sync_unless_weak<Weak>();
            if (count == 0) return saw_nothing;
            return saw(payload ? plain_load(i.payload) + zero : atomic_load<taken<Weak>>(i.x));
        }
        case litmus_buffering:
            atomic_store(i.y, (u64)1);
            if (!Weak) fence<Order::seq_cst>();
            return saw(atomic_load(i.x));
    }
    return 0;
}

template <bool Weak> RQ_INLINE void play(const LitmusParams &p) {
    for (u32 round = 0; round < p.rounds; ++round) {
        const Instance mine = instance_of(p, round, global_thread());
        const Instance other = instance_of(p, round, partner(p, round));
        meet(p, round);
        const bool early = ((global_wave() ^ round) & 1) != 0;
        if (early) *other.second = second_part<Weak>(p, other);
        first_part<Weak>(p, mine);
        if (!early) *other.second = second_part<Weak>(p, other);
    }
}

}  // namespace rq

using namespace rq;

// Lanes are a power of two, waves too.
RQ_KERNEL(litmus, LitmusParams) {
    if (p.weakened) play<true>(p);
    else play<false>(p);
}
