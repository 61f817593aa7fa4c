// gwfq_ymc.h: G-WFQ-YMC, the wait-free FIFO of Yang and Mellor-Crummey (PPoPP'16) on a pool of cells.
//
// Tail and Head count cells of an array that is endless in the original and a pool here: cell i of it is found
// by arithmetic, is used once, and when the pool is used up operations answer queue_exhausted and change
// nothing; the host starts the queue afresh between launches. A cell is three words:
//
//   value     NONE, CLOSED (a dequeuer came first), or the value + 2
//   enqueuer  NONE, CLOSED (no request will get the cell), or the name {lane + 1, seq} of an enqueue request
//   dequeuer  NONE, CLOSED (a fast dequeue took the value), or the name of a dequeue request
//
// A lane whose `patience` attempts came to nothing publishes a request in its record: `operand` and `target`,
// then `state`, each with the request's seq, so that nobody takes a part of one request for another's.
//
//   state     cell 32 | seq 31 | pending      enqueue: the first cell that will do, then the cell it got
//                                             dequeue: the announced candidate, then the cell it got
//   operand   value, or the cell where a dequeue starts, 32 | seq 31
//   target    queue 32 | seq 31 | 1 for an enqueue
//
// Whoever closes cell i offers it to an enqueue request: the one in place i mod 32 of the queue's list, or that
// of lane i mod lanes. So a request is offered one of the next 32, or `lanes`, closed cells. Helpers of a
// dequeue request walk the cells from its start, announce the first that has a value left or proves the queue
// empty, and settle there.
//
// Memory: each enqueue attempt and each granted dequeue attempt uses up a cell of 24 bytes. Dequeues look at
// Tail - Head first, so finding the queue empty uses none.
#pragma once
#include "queue/ring.h"

namespace rq {

struct GwfqYmc : RingCounters<GwfqYmc, 0, true> {
    struct Handle {
        QueueSpace space;
        u64 *words;
        u32 queue;
    };
    struct Lane {
        u32 number;
        u32 seq;         // of the next request
        u32 until_look;  // operations until the next look at a peer
        u32 next_peer;
        u64 waiting;     // dequeue requests pending on the queue at the last look; only read at the next
                         // operation, so that nobody waits for the load
        Tally tally;
    };

    RQ_INLINE Handle at(const QueueSpace &s, u32 queue) { return Handle{s, s.words + queue * s.queue_words, queue}; }
    RQ_INLINE Lane lane(const QueueSpace &s, u32 number) {
        const u64 state = atomic_load(s.records + (u64)number * s.record_words + state_word);
        return Lane{number, next_seq(seq_of(state)), s.help_delay, (number + 1) % s.resident_lanes, 0, Tally{}};
    }

    RQ_INLINE void initialise(const QueueSpace &s, u32 queue, u64 first, u64 step, u32 fill) {
        u64 *const words = s.words + queue * s.queue_words;
        for (u64 w = first; w < first_cell + cell_words * s.pool_cells; w += step) {
            u64 value = 0;
            if (w == 0) value = fill;
            // Emptiness is a matter of the cells here; the threshold word of ring.h never falls.
            if (w == 2 * line_words) value = threshold_zero + 1;
            if (w >= first_cell && (w - first_cell) % cell_words == value_word) {
                const u64 i = (w - first_cell) / cell_words;
                value = i < fill ? i + first_value : none;
            }
            atomic_store(words + w, value);
        }
    }

    RQ_INLINE QueueStatus enqueue(Handle &q, Lane &l, bool want, u32 value) {
        QueueStatus status = want ? queue_ok : queue_idle;
        help_peers(q, l);
        LaneMask wanting = wave_ballot(want);
        u64 ticket = 0;
        for (u32 attempt = 0; attempt < q.space.patience && wanting != 0; ++attempt) {
            ticket = reserve_tail(q, wanting, want);
            if (want && ticket >= q.space.pool_cells) {
                status = queue_exhausted;
                want = false;
            } else if (want) {
                u64 *const place = cell(q, ticket) + value_word;
                want = atomic_cas<slot_install>(place, none, value + first_value) != none;
                if (want) RQ_TALLY(l, retries);
            }
            wanting = wave_ballot(want);
        }
        if (want) {
            RQ_TALLY(l, slow);
            if (!enqueue_slowly(q, l.number, l.seq, ticket, value)) status = queue_exhausted;
            l.seq = next_seq(l.seq);
        }
        return status;
    }

    RQ_INLINE QueueStatus dequeue(Handle &q, Lane &l, bool want, u32 &value) {
        QueueStatus status = want ? queue_empty : queue_idle;
        help_peers(q, l);
        LaneMask wanting = wave_ballot(want);
        u64 ticket = 0;
        for (u32 attempt = 0; attempt < q.space.patience && wanting != 0; ++attempt) {
            bool empty = false;
            if (reserve_head(q, wanting, want, ticket, empty)) {
                u64 found = none;
                if (ticket >= q.space.pool_cells) {
                    status = queue_exhausted;
                    want = false;
                } else if ((found = settle_cell(q, ticket)) == none) {
                    empty = true;
                } else if (found != closed && take(q, ticket)) {
                    value = (u32)(found - first_value);
                    status = queue_ok;
                    want = false;
                } else {
                    RQ_TALLY(l, retries);
                }
            }
            want = want && !empty;
            wanting = wave_ballot(want);
        }
        if (want) {
            RQ_TALLY(l, slow);
            const u64 found = dequeue_slowly(q, l.number, l.seq, ticket);
            l.seq = next_seq(l.seq);
            status = found == none ? queue_exhausted : found == closed ? queue_empty : queue_ok;
            if (status == queue_ok) value = (u32)(found - first_value);
        }
        acquire_payload();
        return status;
    }

    RQ_INLINE u64 length(const Handle &q) {
        const u64 end = min_of(atomic_load(tail(q)), (u64)q.space.pool_cells), start = atomic_load(head(q));
        return end <= start ? 0 : min_of(end - start, (u64)q.space.capacity);
    }

    // ---- what follows is the kind's own

    static constexpr u64 none = 0, closed = 1, first_value = 2;
    static constexpr u32 value_word = 0, enqueuer_word = 1, dequeuer_word = 2, cell_words = 3;
    static constexpr u32 state_word = 0, operand_word = 1, target_word = 2;
    static constexpr u64 list_places = 32;
    static constexpr u64 first_cell = counter_words + line_words + 2 * list_places;
    static constexpr u64 nowhere = 0xffffffffull;  // a request that the pool had no cell for

    RQ_INLINE u64 *cell(const Handle &q, u64 i) { return q.words + first_cell + cell_words * i; }
    // How many requests of a kind are pending, and a list of some of them.
    RQ_INLINE u64 *pending(const Handle &q, bool enqueues) { return q.words + counter_words + enqueues; }
    RQ_INLINE u64 *listed(const Handle &q, bool enqueues, u64 i) {
        return q.words + counter_words + line_words + (enqueues ? list_places : 0) + i % list_places;
    }
    RQ_INLINE u64 *record(const Handle &q, u32 lane, u32 word) {
        return q.space.records + (u64)lane * q.space.record_words + word;
    }
    RQ_INLINE u64 pack(u64 high, u32 seq, bool flag) { return high << 32 | (u64)seq << 1 | flag; }
    RQ_INLINE u64 high_of(u64 word) { return word >> 32; }
    RQ_INLINE u32 seq_of(u64 word) { return (u32)word >> 1; }
    RQ_INLINE bool flag_of(u64 word) { return word & 1; }
    RQ_INLINE u32 next_seq(u32 seq) { return (seq + 1) & 0x7fffffffu; }

    // ---- cells
    // The cell's value for its dequeuer; `closed` if there is none; `none` if that shows the queue empty.
    RQ_INLINE u64 settle_cell(const Handle &q, u64 i) {
        u64 *const place = cell(q, i) + value_word;
        u64 v = atomic_load<slot_take>(place);
        // The enqueuer of the ticket is likely on its way.
        for (u32 poll = 0; v == none && poll < 16; ++poll) {
            spin_hint();
            v = atomic_load<slot_take>(place);
        }
        return v != none && v != closed ? v : close_cell(q, i);
    }

    RQ_NOINLINE u64 close_cell(Handle q, u64 i) {
        u64 *const c = cell(q, i);
        const u64 v = atomic_cas<Order::acq_rel>(c + value_word, none, closed);
        if (v != none && v != closed) return v;
        u64 name = atomic_load<Order::acquire>(c + enqueuer_word);
        if (name == none) {
            const u64 offered = request_for(q, i);
            name = atomic_cas<Order::acq_rel>(c + enqueuer_word, none, offered);
            if (name == none) name = offered;
        }
        if (name == closed) return atomic_load<Order::acquire>(tail(q)) <= i ? none : closed;
        const u32 lane = (u32)high_of(name) - 1, seq = seq_of(name);
        u64 state = atomic_load<Order::acquire>(record(q, lane, state_word));
        const u64 operand = atomic_load<Order::acquire>(record(q, lane, operand_word));
        // A request that is over has put its value where it belongs.
        if (seq_of(state) == seq && seq_of(operand) == seq) {
            const u64 here = pack(i, seq, false);
            if (flag_of(state) && high_of(state) > i) {
                // Published too late for this cell, which stays closed.
                if (atomic_load<Order::acquire>(tail(q)) <= i) return none;
            } else {
                if (flag_of(state)) {
                    const u64 found = atomic_cas<Order::acq_rel>(record(q, lane, state_word), state, here);
                    state = found == state ? here : found;
                }
                if (state == here && !planted<Plant::missing_commit>) commit(q, i, high_of(operand));
            }
        }
        return atomic_load<Order::acquire>(c + value_word);
    }

    // The name of a pending enqueue request that may have the cell, else `closed`.
    RQ_INLINE u64 request_for(const Handle &q, u64 i) {
        if (atomic_load<Order::acquire>(pending(q, true)) == 0) return closed;
        const u64 name = atomic_load<Order::acquire>(listed(q, true, i));
        const u32 lane = name != 0 ? (u32)name - 1 : (u32)(i % q.space.resident_lanes);
        const u64 state = atomic_load<Order::acquire>(record(q, lane, state_word));
        const u64 target = atomic_load<Order::acquire>(record(q, lane, target_word));
        const bool fits = flag_of(state) && high_of(state) <= i && target == pack(q.queue, seq_of(state), true);
        return fits ? pack((u64)lane + 1, seq_of(state), false) : closed;
    }

    // Puts the value of a request into the cell that it got; whoever comes later writes the same again.
    RQ_INLINE void commit(const Handle &q, u64 i, u64 value) {
        atomic_max<Order::acq_rel>(tail(q), i + 1);
        atomic_store<Order::release>(cell(q, i) + value_word, value + first_value);
    }

    RQ_INLINE bool take(const Handle &q, u64 i) {
        return atomic_cas<slot_take>(cell(q, i) + dequeuer_word, none, closed) == none;
    }

    // ---- requests. Out of line and by value: the fast path keeps its registers.
    RQ_INLINE void publish(const Handle &q, u32 me, u32 seq, bool enqueues, u64 operand, u64 cell) {
        atomic_store<Order::release>(record(q, me, operand_word), pack(operand, seq, false));
        atomic_store<Order::release>(record(q, me, target_word), pack(q.queue, seq, enqueues));
        atomic_store<Order::release>(record(q, me, state_word), pack(cell, seq, true));
        atomic_add<Order::acq_rel>(pending(q, enqueues), (u64)1);
        atomic_cas<Order::acq_rel>(listed(q, enqueues, me), (u64)0, (u64)me + 1);
    }

    // The request's state at its end.
    RQ_INLINE u64 retire(const Handle &q, u32 me, bool enqueues) {
        atomic_cas<Order::acq_rel>(listed(q, enqueues, me), (u64)me + 1, (u64)0);
        atomic_add<Order::acq_rel>(pending(q, enqueues), ~0ull);
        return high_of(atomic_load<Order::acquire>(record(q, me, state_word)));
    }

    // False if the pool had no cell left. Each turn uses up a cell, and see the bound above.
    RQ_NOINLINE bool enqueue_slowly(Handle q, u32 me, u32 seq, u64 first, u32 value) {
        u64 *const state = record(q, me, state_word);
        publish(q, me, seq, true, value, first);
        const u64 mine = pack(first, seq, true);
        while (atomic_load<Order::acquire>(state) == mine) {
            const u64 i = atomic_add<Order::acq_rel>(tail(q), (u64)1);
            if (i >= q.space.pool_cells) {
                atomic_cas<Order::acq_rel>(state, mine, pack(nowhere, seq, false));
            } else {
                const u64 name = pack((u64)me + 1, seq, false);
                const bool ours = atomic_cas<Order::acq_rel>(cell(q, i) + enqueuer_word, none, name) == none;
                if (ours && atomic_load<Order::acquire>(cell(q, i) + value_word) != closed)
                    atomic_cas<Order::acq_rel>(state, mine, pack(i, seq, false));
            }
        }
        const u64 got = retire(q, me, true);
        if (got != nowhere) commit(q, got, value);
        return got != nowhere;
    }

    // The value word of the cell that the request got: a value, `closed` (the queue was empty), or `none` (the
    // pool had no cell left).
    RQ_NOINLINE u64 dequeue_slowly(Handle q, u32 me, u32 seq, u64 first) {
        publish(q, me, seq, false, first, first);
        help_dequeue(q, me);
        const u64 got = retire(q, me, false);
        if (got == nowhere) return none;
        atomic_max<Order::acq_rel>(head(q), got + 1);
        return atomic_load<Order::acquire>(cell(q, got) + value_word);
    }

    RQ_INLINE void help_peers(Handle &q, Lane &l) {
        const bool due = --l.until_look == 0;
        if (wave_any(due || l.waiting != 0)) {
            if (l.waiting != 0 && help_listed(q, l.number)) RQ_TALLY(l, helps);
            if (due) {
                l.until_look = q.space.help_delay;
                if (l.next_peer != l.number && help_dequeue(q, l.next_peer)) RQ_TALLY(l, helps);
                l.next_peer = (l.next_peer + 1) % q.space.resident_lanes;
            }
        }
        l.waiting = atomic_load(pending(q, false));
    }

    RQ_NOINLINE bool help_listed(Handle q, u32 me) {
        for (u32 i = 0; i < list_places; i += wave_size()) {
            const u64 name = atomic_load<Order::acquire>(listed(q, false, me + i));
            if (name != 0) return help_dequeue(q, (u32)name - 1);
        }
        return false;
    }

    // Works on a lane's dequeue request, if it has one, until it is finished; owner and helpers alike. False if
    // there was none. Bounded by the cells between the request's start and Tail.
    RQ_NOINLINE bool help_dequeue(Handle q, u32 lane) {
        u64 *const state = record(q, lane, state_word);
        u64 s = atomic_load<Order::acquire>(state);
        const u64 operand = atomic_load<Order::acquire>(record(q, lane, operand_word));
        const u64 target = atomic_load<Order::acquire>(record(q, lane, target_word));
        const u32 seq = seq_of(s);
        if (!flag_of(s) || flag_of(target) || seq_of(operand) != seq || seq_of(target) != seq) return false;
        q = at(q.space, (u32)high_of(target));
        // `prior`: the last announced cell; `i`: the last cell looked at; `candidate`: ours to announce.
        u64 prior = high_of(operand), i = prior, candidate = nowhere;
        for (;;) {
            while (candidate == nowhere && s == pack(prior, seq, true)) {
                if (++i >= q.space.pool_cells) {
                    const u64 found = atomic_cas<Order::acq_rel>(state, s, pack(nowhere, seq, false));
                    if (found == s) return true;
                    s = found;
                    break;
                }
                const u64 v = settle_cell(q, i);
                const bool left = v != closed && atomic_load<Order::acquire>(cell(q, i) + dequeuer_word) == none;
                if (v == none || left) candidate = i;
                else s = atomic_load<Order::acquire>(state);
            }
            if (candidate != nowhere) {
                atomic_cas<Order::acq_rel>(state, pack(prior, seq, true), pack(candidate, seq, true));
                s = atomic_load<Order::acquire>(state);
            }
            if (!flag_of(s) || seq_of(s) != seq) return true;
            // Somebody's candidate is announced: it does if it is closed, or if the request gets its value.
            u64 *const c = cell(q, high_of(s));
            const u64 name = pack((u64)lane + 1, seq, false);
            u64 taker = name;
            if (atomic_load<Order::acquire>(c + value_word) != closed)
                taker = atomic_cas<Order::acq_rel>(c + dequeuer_word, none, name);
            if (taker == none || taker == name) {
                atomic_cas<Order::acq_rel>(state, s, pack(high_of(s), seq, false));
                return true;
            }
            prior = high_of(s);
            if (prior >= i) i = prior, candidate = nowhere;
        }
    }
};

}  // namespace rq
