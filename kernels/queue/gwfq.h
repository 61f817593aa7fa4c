// gwfq.h: G-WFQ, a wait-free FIFO ring of indices after Nikolaev and Ravindran's wCQ (SPAA'22), in single words.
//
// The fast path is G-LFQ's (glfq.h). A lane whose `patience` attempts came to nothing publishes a request;
// everybody who sees it works on it, all with the same ticket at a time, until it is finished. What each word
// holds, high bits first (C11 orders on all of them but on the fast path, see order.h):
//
//   slot       lap F | note F | safe | enq | index R       R = log2(2n), F = (62 - R) / 2
//   Tail Head  count 45 | lane + 1 of a helper whose add is not confirmed yet, or 0
//   request    place 46 (queue << order | index) | seq 16 | kind 2         one a lane, and the next two too:
//   local      count 45 | seq 16 | fresh | inc | fin        the ticket that the request's helpers share
//   phase2     count 29 | lane 19 | seq 16                  the add that this lane makes, and for which request
//
// Rules that the slow path rests on:
//   1. `inc` marks a reserved count whose global add is not confirmed. The global counter moves once for each
//      reservation, whoever does it; who meets a helper's number there confirms its add first.
//   2. note >= lap always: every write sets note = max(note, lap). A helper that gives a ticket up leaves the
//      slot with note or lap at the ticket's lap or beyond, so every later helper of that ticket gives up too.
//      Helpers of a slow dequeue give up only slots that no enqueuer of that ticket can fill any more.
//   3. A slow enqueuer installs with enq = 0, finishes the request, then sets enq, once. A dequeuer that meets
//      enq = 0 finishes the request for the owner (owners[index] names it) before it consumes.
//   4. BOTTOM in the ticket's own lap means that a dequeuer closed the slot: that enqueue has not happened.
//      CONSUMED there means that it has happened and its value is gone.
//
// Everything that wraps is compared serially. A helper, or a slot, staler than half a field's range would be
// misjudged: 2^(F-1) laps of 2n tickets (2^38 for n = 65536: 275 s at 1 G tickets/s), 2^44 counts, 2^15
// requests of one lane that a helper sleeps through between two of its steps. Slots do not grow stale: each lap
// somebody closes or fills them.
//
// Bounds. An operation makes at most `patience` fast attempts. Each failed step of the slow path is another's
// success: a lane that sees requests pending helps before its next add, so a request waits for at most `glances`
// more fast operations of each wave, and for the requests published before it. A request takes at most one round
// a slot of the ring, 2n.
#pragma once
#include "queue/ring.h"

namespace rq {

struct Gwfq : RingCounters<Gwfq, 19, true> {
    struct Handle {
        QueueSpace space;
        u64 *words;
        u32 queue;
        u32 glance_mask;  // 0 in bits of `until_look`: time to look for requests
    };
    struct Lane {
        u32 number;
        u32 seq;         // of the next request
        u32 until_look;  // operations until the next look at a peer
        u32 next_peer;
        u64 waiting;     // requests pending on the queue at the last glance; only read at the next operation, so
                         // that nobody waits for the load
        Tally tally;
        bool sated;  // the last dequeue got all that it wanted; the same in all lanes of a wave
    };

    RQ_INLINE Handle at(const QueueSpace &s, u32 queue) {
        return Handle{s, s.words + queue * s.queue_words, queue, s.help_delay < glances ? 0 : glances - 1};
    }
    RQ_INLINE Lane lane(const QueueSpace &s, u32 number) {
        const u32 seq = request_seq(atomic_load(s.records + (u64)number * s.record_words + request_word));
        return Lane{number, seq, s.help_delay, (number + 1) % s.resident_lanes, 0, Tally{}, false};
    }

    RQ_INLINE void initialise(const QueueSpace &s, u32 queue, u64 first, u64 step, u32 fill) {
        const Handle q = at(s, queue);
        const u64 slots = 2 * (u64)s.capacity;
        const u64 start = next(s.first_ticket & ~(slots - 1), 0);
        const u32 now = lap(q, start), before = lap(q, start - slots);
        for (u64 w = first; w < first_slot + slots + s.capacity; w += step) {
            u64 value = 0;
            if (w == 0) value = next(start, fill) << lane_bits;
            if (w == line_words) value = start << lane_bits;
            if (w == 2 * line_words) value = fill > 0 ? fresh_threshold(q) : threshold_zero - 1;
            if (w >= first_slot && w < first_slot + slots) {
                const u64 j = w - first_slot;
                value = j < fill ? pack(q, Slot{(u32)j, true, true, now, now})
                                 : pack(q, Slot{bottom(q), true, true, before, before});
            }
            atomic_store(q.words + w, value);
        }
    }

    RQ_INLINE QueueStatus enqueue(Handle &q, Lane &l, bool want, u32 value) {
        const QueueStatus status = want ? queue_ok : queue_idle;
        help_peers(q, l);
        LaneMask wanting = wave_ballot(want);
        if (wanting == 0) return status;
        u64 ticket = 0;
        glance(q, l);
        for (u32 attempt = 0; attempt < q.space.patience && wanting != 0; ++attempt) {
            ticket = reserve_tail(q, wanting, want);
            if (want) {
                want = !install(q, ticket, value);
                if (want) RQ_TALLY(l, retries);
            }
            wanting = wave_ballot(want);
        }
        // All lanes stay until the last request of the wave is finished: none is left pending behind.
        if (want) {
            RQ_TALLY(l, slow);
            enqueue_slowly(q, l.number, l.seq, ticket, value);
            l.seq = (l.seq + 1) & seq_mask;
        }
        raise_threshold(q, fresh_threshold(q));
        return status;
    }

    RQ_INLINE QueueStatus dequeue(Handle &q, Lane &l, bool want, u32 &value) {
        QueueStatus status = want ? queue_empty : queue_idle;
        help_peers(q, l);
        LaneMask wanting = wave_ballot(want);
        if (wanting == 0) return status;
        u64 ticket = 0;
        glance(q, l);
        for (u32 attempt = 0; attempt < q.space.patience && wanting != 0; ++attempt) {
            bool empty = false;
            const bool granted = reserve_head(q, wanting, want, l.sated, ticket, empty);
            const bool got = granted && find(q, l, ticket, value);
            if (wave_any(got)) {
                acquire_payload();
                if (got) reduce_or<Order::relaxed>(slot(q, ticket), consumed_bits(q));
            }
            if (got) status = queue_ok;
            const bool failed = granted && !got;
            if (wave_any(failed)) empty = settle(q, failed, ticket) || empty;
            want = want && !got && !empty;
            if (want && failed) RQ_TALLY(l, retries);
            l.sated = !wave_any(failed || empty);
            wanting = wave_ballot(want);
        }
        if (want) {
            RQ_TALLY(l, slow);
            const u64 found = dequeue_slowly(q, l.number, l.seq, ticket);
            l.seq = (l.seq + 1) & seq_mask;
            if (found != finished) {
                value = (u32)found;
                status = queue_ok;
            }
        }
        return status;
    }

    RQ_INLINE u64 length(const Handle &q) { return length_within(q, q.space.capacity); }

    // ---- what follows is the kind's own

    static constexpr u32 lane_bits = 19, count_bits = 64 - lane_bits, seq_bits = 16;
    static constexpr u64 seq_mask = (1ull << seq_bits) - 1;
    static constexpr u64 enqueue_kind = 1, dequeue_kind = 2;
    static constexpr u64 fin = 1, inc = 2, fresh = 4;
    static constexpr u32 request_word = 0, local_word = 1, phase2_word = 2;
    static constexpr u64 announcements = 32;
    static constexpr u32 glances = 8;  // operations between two looks whether anybody asks for help, a power of two
    static constexpr u64 first_slot = counter_words + line_words + announcements;
    static constexpr u64 finished = ~0ull;  // no ticket: counts have 45 bits

    // ---- slots
    struct Slot {
        u32 index;
        bool enq, safe;
        u32 note, lap;
    };
    RQ_INLINE u32 index_bits(const Handle &q) { return q.space.order + 1; }
    RQ_INLINE u32 lap_bits(const Handle &q) {
#ifdef RQ_TEST_CYCLE_BITS  // narrow laps, so that tests see them wrap
        return (void)q, RQ_TEST_CYCLE_BITS;
#else
        return (62 - index_bits(q)) / 2;
#endif
    }
    RQ_INLINE u32 lap_mask(const Handle &q) { return (1u << lap_bits(q)) - 1; }
    RQ_INLINE u32 lap(const Handle &q, u64 ticket) { return (u32)(ticket >> index_bits(q)) & lap_mask(q); }
    RQ_INLINE bool is_before(const Handle &q, u32 a, u32 b) {
        return planted<Plant::raw_comparison> ? a < b : ((a - b) >> (lap_bits(q) - 1)) & 1;
    }
    RQ_INLINE u32 later(const Handle &q, u32 a, u32 b) { return is_before(q, a, b) ? b : a; }

    RQ_INLINE u64 consumed_bits(const Handle &q) { return (4ull << q.space.order) - 1; }  // index and enq
    RQ_INLINE u32 consumed(const Handle &q) { return (2u << q.space.order) - 1; }
    RQ_INLINE u32 bottom(const Handle &q) { return (2u << q.space.order) - 2; }
    RQ_INLINE bool is_free(const Handle &q, const Slot &s) { return s.index >= bottom(q); }

    RQ_INLINE u64 pack(const Handle &q, const Slot &s) {
        const u32 r = index_bits(q), f = lap_bits(q);
        return (u64)s.index | (u64)s.enq << r | (u64)s.safe << (r + 1) | (u64)s.note << (r + 2) |
               (u64)s.lap << (r + 2 + f);
    }
    // The same for a safe slot with enq set and note = lap, in fewer steps.
    RQ_INLINE u64 fast_word(const Handle &q, u32 lap, u32 index) {
        const u32 r = index_bits(q);
        return (((1ull << lap_bits(q)) + 1) << (r + 2)) * lap + ((3ull << r) | index);
    }
    RQ_INLINE Slot unpack(const Handle &q, u64 word) {
        const u32 r = index_bits(q), f = lap_bits(q), mask = lap_mask(q);
        return Slot{(u32)word & consumed(q), (word >> r & 1) != 0, (word >> (r + 1) & 1) != 0,
                    (u32)(word >> (r + 2)) & mask, (u32)(word >> (r + 2 + f)) & mask};
    }
    RQ_INLINE u64 *slot(const Handle &q, u64 ticket) {
        return q.words + first_slot + (ticket & (2 * (u64)q.space.capacity - 1));
    }
    RQ_INLINE u64 *owner(const Handle &q, u32 index) {
        return q.words + first_slot + 2 * (u64)q.space.capacity + index;
    }

    // ---- queue and lane words
    RQ_INLINE u64 *pending(const Handle &q) { return q.words + counter_words; }
    RQ_INLINE u64 *announcement(const Handle &q, u32 i) { return q.words + counter_words + line_words + i; }
    RQ_INLINE u64 *record(const Handle &q, u32 lane, u32 word) {
        return q.space.records + (u64)lane * q.space.record_words + word;
    }
    // A slow dequeue moves the threshold for its owner wherever its helpers come from: all lanes count.
    RQ_INLINE u64 fresh_threshold(const Handle &q) {
        return threshold_after_enqueue(q.space, q.space.resident_lanes);
    }

    RQ_INLINE u64 pack_request(u64 kind, u32 seq, u64 place) { return place << (seq_bits + 2) | (u64)seq << 2 | kind; }
    RQ_INLINE u64 request_kind(u64 r) { return r & 3; }
    RQ_INLINE u32 request_seq(u64 r) { return (u32)(r >> 2 & seq_mask); }
    RQ_INLINE u64 request_place(u64 r) { return r >> (seq_bits + 2); }
    RQ_INLINE u64 pack_local(u64 count, u32 seq, u64 flags) { return count << lane_bits | (u64)seq << 3 | flags; }
    RQ_INLINE u64 local_count(u64 l) { return l >> lane_bits; }
    RQ_INLINE u32 local_seq(u64 l) { return (u32)(l >> 3 & seq_mask); }
    RQ_INLINE u64 pack_phase2(u64 count, u32 lane, u32 seq) {
        return count << (lane_bits + seq_bits) | (u64)lane << seq_bits | seq;
    }

    // ---- fast path
    RQ_INLINE bool came_too_late(Handle &q, u64 ticket) {
        return distance(ticket_of(atomic_add<ticket_rmw>(head(q), (u64)0)), ticket) > 0;
    }

    // As G-LFQ's; gives up after a few changes of the slot, since notes may change it again and again and
    // an enqueuer may drop a ticket whenever it likes.
    RQ_INLINE bool install(Handle &q, u64 ticket, u32 value) {
        u64 *const place = slot(q, ticket);
        const u32 mine = lap(q, ticket);
        // The first guess, that the slot was consumed in the lap before, spares a load in a busy ring.
        u64 word = fast_word(q, (mine - 1) & lap_mask(q), consumed(q)), full = fast_word(q, mine, value);
        RQ_NO_UNROLL
        for (u32 tries = 0; tries < 4; ++tries) {
            const u64 found = atomic_cas<slot_install>(place, word, full);
            if (found == word) return true;
            word = found;
            const Slot s = unpack(q, word);
            if (!is_before(q, s.lap, mine) || !is_free(q, s)) return false;
            if (!s.safe && came_too_late(q, ticket)) return false;
            full = pack(q, Slot{value, true, true, later(q, s.note, mine), mine});
        }
        return false;
    }

    // What a dequeuer with a ticket of lap `mine` leaves in a slot of an older lap.
    RQ_INLINE Slot passed_by(const Handle &q, const Slot &s, u32 mine, u32 note) {
        if (is_free(q, s)) return Slot{bottom(q), true, s.safe, later(q, s.note, mine), mine};
        return Slot{s.index, s.enq, false, later(q, s.note, note), s.lap};
    }

    // As G-LFQ's. Each turn of the loop answers a change of the slot in an older lap: at most two by each
    // operation there, and one note by each slow operation.
    RQ_INLINE bool find(Handle &q, Lane &l, u64 ticket, u32 &value) {
        u64 *const place = slot(q, ticket);
        const u32 mine = lap(q, ticket);
        u64 word = atomic_load<slot_take>(place);
        // As a rule the value is there, with its enq bit set.
        const u32 r = index_bits(q);
        value = (u32)word & consumed(q);
        if ((u32)(word >> (r + 2 + lap_bits(q))) == mine && (word >> r & 1) != 0) return true;
        word = await_fill(place, word, [&](u64 seen) {
            const Slot s = unpack(q, seen);
            return is_before(q, s.lap, mine) && is_free(q, s);
        });
        for (;;) {
            const Slot s = unpack(q, word);
            if (s.lap == mine) {
                value = s.index;
                if (!s.enq) finish_for_owner(q, ticket, s.index);
                return true;
            }
            if (is_before(q, mine, s.lap) || planted<Plant::dropped_ticket>) return false;
            const u64 passed = pack(q, passed_by(q, s, mine, s.note));
            if (passed == word) return false;
            const u64 found = atomic_cas<slot_take>(place, word, passed);
            if (found == word) return false;
            word = found;
            RQ_TALLY(l, retries);
        }
    }

    // ---- helping. Out of line and by value: the fast path keeps its registers.
    // Before an operation: works on a peer's request if any is pending here, or if it is time to look at the
    // next lane's record. All lanes call and look at different peers; none waits for another, so they need not agree.
    RQ_INLINE void help_peers(Handle &q, Lane &l) {
        const bool due = --l.until_look == 0;
        if (!due && l.waiting == 0) return;
        if (l.waiting != 0 && help_announced(q, l.number)) RQ_TALLY(l, helps);
        if (!due) return;
        l.until_look = q.space.help_delay;
        if (help(q, l.number, l.next_peer)) RQ_TALLY(l, helps);
        l.next_peer = (l.next_peer + 1) % q.space.resident_lanes;
    }

    // Whether anybody asks for help; now and then, as the word is as busy as a counter.
    RQ_INLINE void glance(Handle &q, Lane &l) {
        if ((l.until_look & q.glance_mask) == 0) l.waiting = atomic_load(pending(q));
    }

    RQ_NOINLINE bool help_announced(Handle q, u32 me) {
        for (u32 i = 0; i < announcements; i += wave_size()) {
            const u64 name = atomic_load<Order::acquire>(announcement(q, (me + i) % announcements));
            if (name != 0) return help(q, me, (u32)name - 1);
        }
        return false;
    }

    RQ_NOINLINE bool help(Handle q, u32 me, u32 peer) {
        const u64 request = atomic_load<Order::acquire>(record(q, peer, request_word));
        if (request_kind(request) == 0 || peer == me) return false;
        work_on(at(q.space, (u32)(request_place(request) >> q.space.order)), me, peer, request);
        return true;
    }

    // Runs rounds of a request until it is finished; owner and helpers alike.
    RQ_NOINLINE void work_on(Handle q, u32 me, u32 owner, u64 request) {
        const u32 seq = request_seq(request);
        const bool enqueues = request_kind(request) == enqueue_kind;
        u64 ticket = finished;
        for (;;) {
            ticket = shared_ticket(q, enqueues, me, owner, seq, ticket);
            if (ticket == finished) return;
            if (enqueues) try_enqueue(q, ticket, owner, seq, (u32)request_place(request) & (q.space.capacity - 1));
            else try_dequeue(q, ticket, owner, seq);
        }
    }

    // ---- slow path
    RQ_NOINLINE void enqueue_slowly(Handle q, u32 me, u32 seq, u64 ticket, u32 value) {
        atomic_store(owner(q, value), (u64)me);
        publish_and_work(q, me, seq, enqueue_kind, ticket, value);
        retire(q, me, seq);
    }

    // The value, or `finished` if the queue was empty.
    RQ_NOINLINE u64 dequeue_slowly(Handle q, u32 me, u32 seq, u64 ticket) {
        publish_and_work(q, me, seq, dequeue_kind, ticket, 0);
        const u64 last = local_count(atomic_load<Order::acquire>(record(q, me, local_word)));
        const Slot s = unpack(q, atomic_load<Order::acquire>(slot(q, last)));
        const bool got = s.lap == lap(q, last) && !is_free(q, s) && (s.enq || !planted<Plant::owner_says_empty>);
        if (got) {
            if (!s.enq) finish_for_owner(q, last, s.index);
            reduce_or<Order::relaxed>(slot(q, last), consumed_bits(q));
        }
        retire(q, me, seq);
        return got ? s.index : finished;
    }

    RQ_INLINE void publish_and_work(const Handle &q, u32 me, u32 seq, u64 kind, u64 ticket, u32 index) {
        const u64 request = pack_request(kind, seq, (u64)q.queue << q.space.order | index);
        atomic_store(record(q, me, local_word), pack_local(ticket, seq, fresh));
        atomic_store<Order::release>(record(q, me, request_word), request);
        // A place in the list gets help sooner; without one, helpers still come by, lane by lane.
        atomic_add<Order::acq_rel>(pending(q), (u64)1);
        u64 *const place = announcement(q, me % announcements);
        const bool listed = atomic_cas<Order::acq_rel>(place, (u64)0, (u64)me + 1) == 0;
        work_on(q, me, me, request);
        if (listed) atomic_store<Order::release>(place, (u64)0);
        atomic_add<Order::acq_rel>(pending(q), ~0ull);
    }

    RQ_INLINE void retire(const Handle &q, u32 me, u32 seq) {
        atomic_store<Order::release>(record(q, me, request_word), pack_request(0, (seq + 1) & seq_mask, 0));
    }

    // The ticket that the request's helpers try now, other than the one `tried`; moves the global counter by
    // one for the whole group if there is none (SlowFAA). `finished` when the request is.
    RQ_INLINE u64 shared_ticket(Handle &q, bool enqueues, u32 me, u32 owner, u32 seq, u64 tried) {
        u64 *const counter = enqueues ? tail(q) : head(q), *const local = record(q, owner, local_word);
        for (;;) {
            const u64 l = atomic_load<Order::acquire>(local);
            if (local_seq(l) != seq || (l & fin) != 0) return finished;
            const u64 g = atomic_load<Order::acquire>(counter);
            if ((g & own_bits) != 0) {
                meet(q, counter, g);
                continue;
            }
            const u64 count = ticket_of(g);
            if ((l & (inc | fresh)) == 0 && local_count(l) != tried) return local_count(l);
            if ((l & inc) == 0 || local_count(l) != count) {
                // Reserve the count; anew, if a fast add took it meanwhile.
                const u64 reserved = pack_local(count, seq, inc);
                if (atomic_cas<Order::acq_rel>(local, l, reserved) != l) continue;
            }
            atomic_store<Order::release>(record(q, me, phase2_word), pack_phase2(count, owner, seq));
            const u64 added = next(count, 1) << lane_bits;
            const bool made = atomic_cas<Order::acq_rel>(counter, g, added | (me + 1)) == g;
            if (!made && !planted<Plant::reused_ticket>) continue;
            if (!enqueues) atomic_add<Order::acq_rel>(threshold(q), ~0ull);
            atomic_cas<Order::acq_rel>(local, pack_local(count, seq, inc), pack_local(count, seq, 0));
            atomic_cas<Order::acq_rel>(counter, added | (me + 1), added);
            return count;
        }
    }

    // Confirms the add of the helper named in a counter's word, for it, and takes its name away.
    //
    // The name may have stayed after its add was confirmed, and the helper may have armed its phase-2 word for
    // another add since, here or on another queue. So confirm only what the helper armed for a request on this
    // very counter, and only a count that the counter has passed.
    RQ_NOINLINE void meet(Handle q, u64 *counter, u64 word) {
        const u64 p = atomic_load<Order::acquire>(record(q, (u32)(word & own_bits) - 1, phase2_word));
        const u32 owner = (u32)(p >> seq_bits & own_bits), seq = (u32)(p & seq_mask);
        const u64 l = atomic_load<Order::acquire>(record(q, owner, local_word));
        const u64 r = atomic_load<Order::acquire>(record(q, owner, request_word));
        const bool here = request_kind(r) == (counter == tail(q) ? enqueue_kind : dequeue_kind) &&
                          request_place(r) >> q.space.order == q.queue && request_seq(r) == seq;
        const bool armed = (l & inc) != 0 && pack_phase2(local_count(l), owner, local_seq(l)) == p;
        if (here && armed && distance(ticket_of(word), local_count(l)) > 0)
            atomic_cas<Order::acq_rel>(record(q, owner, local_word), l, l & ~inc);
        atomic_cas<Order::acq_rel>(counter, word, word & ~own_bits);
    }

    // Marks the request finished at this ticket. False if it was already, or has left the ticket.
    RQ_INLINE bool finish(const Handle &q, u32 owner, u64 ticket, u32 seq) {
        const u64 l = pack_local(ticket, seq, 0);
        return atomic_cas<Order::acq_rel>(record(q, owner, local_word), l, l | fin) == l;
    }

    // For a dequeuer that is about to consume an index installed with enq = 0.
    RQ_NOINLINE void finish_for_owner(Handle q, u64 ticket, u32 index) {
        fence<Order::acquire>();  // the slot's word was loaded on the fast path
        const u32 lane = (u32)atomic_load<Order::acquire>(owner(q, index));
        const u64 r = atomic_load<Order::acquire>(record(q, lane, request_word));
        // Otherwise the owner has returned, perhaps into another operation.
        if (request_kind(r) == enqueue_kind && request_place(r) == ((u64)q.queue << q.space.order | index))
            finish(q, lane, next(ticket, 0), request_seq(r));
    }

    RQ_INLINE void try_enqueue(Handle &q, u64 ticket, u32 owner, u32 seq, u32 index) {
        u64 *const place = slot(q, ticket);
        const u32 mine = lap(q, ticket);
        u64 word = atomic_load<Order::acquire>(place);
        for (;;) {
            Slot s = unpack(q, word);
            if (s.lap == mine) {
                if (s.index != bottom(q) || planted<Plant::closed_is_done>) finish(q, owner, ticket, seq);
                return;
            }
            if (is_before(q, mine, s.lap)) return;
            if (!is_before(q, s.note, mine) && !planted<Plant::stale_note>) return;
            const bool usable = is_free(q, s) && (s.safe || !came_too_late(q, ticket));
            s.note = mine;
            const u64 changed = pack(q, usable ? Slot{index, false, true, mine, mine} : s);
            const u64 found = atomic_cas<Order::acq_rel>(place, word, changed);
            if (found == word) {
                const u64 visible = changed | 1ull << index_bits(q);
                if (usable && finish(q, owner, ticket, seq)) atomic_cas<Order::acq_rel>(place, changed, visible);
                return;
            }
            word = found;
        }
    }

    RQ_INLINE void try_dequeue(Handle &q, u64 ticket, u32 owner, u32 seq) {
        u64 *const place = slot(q, ticket);
        const u32 mine = lap(q, ticket);
        u64 word = atomic_load<Order::acquire>(place);
        for (;;) {
            const Slot s = unpack(q, word);
            if (s.lap == mine && s.index != bottom(q)) {
                finish(q, owner, ticket, seq);
                return;
            }
            if (!is_before(q, s.lap, mine)) break;
            const u64 passed = pack(q, passed_by(q, s, mine, mine));
            if (passed == word) break;
            const u64 found = atomic_cas<Order::acq_rel>(place, word, passed);
            if (found == word) break;
            word = found;
        }
        // Nothing will ever come at this ticket. Where the queue is empty the request ends here.
        const u64 end = atomic_load<Order::acquire>(tail(q)), after = next(ticket, 1);
        catch_up(q, end, after);
        if (distance(ticket_of(end), after) <= 0 || atomic_load<Order::acquire>(threshold(q)) < threshold_zero)
            finish(q, owner, ticket, seq);
    }
};

static_assert(Gwfq::count_bits + Gwfq::lane_bits == 64, "a counter is one word");
static_assert(Gwfq::count_bits + Gwfq::seq_bits + 3 == 64, "local is one word");

}  // namespace rq
