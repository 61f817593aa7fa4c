// bwd.h: the Broker Work Distributor of Kerbl et al. (ICS'18). A counter admits operations, an add takes the
// ticket, and the slot is awaited (turn.h); after admission it is certain to come.
//
// EMPTY and FULL are not linearizable: the counter moves before the slot does, and refused operations move it
// forth and back, so it may say empty while values lie in the ring. Admission and tickets are wave-batched here:
// the published program leaves that to NVIDIA's compiler.
#pragma once
#include "queue/turn.h"

namespace rq {

struct Bwd : Turns {
    RQ_INLINE QueueStatus enqueue(Handle &q, Lane &l, bool want, u32 value) {
        u64 ticket = l.tail_ticket;
        bool admitted = want && l.holds_tail;
        take_tickets(q, tail(q), want && !admitted, q.mask + 1, 1, admitted, ticket);
        const QueueStatus status = fill_slot(q, l, admitted, ticket, value);
        return want && !admitted ? queue_full : status;
    }

    RQ_INLINE QueueStatus dequeue(Handle &q, Lane &l, bool want, u32 &value) {
        u64 ticket = l.head_ticket;
        bool admitted = want && l.holds_head;
        take_tickets(q, head(q), want && !admitted, 0, ~0ull, admitted, ticket);
        const QueueStatus status = empty_slot(q, l, admitted, ticket, value);
        return want && !admitted ? queue_empty : status;
    }

    RQ_INLINE u64 length(const Handle &q) {
        const i64 n = (i64)atomic_load(count(q));
        return n < 0 ? 0 : min_of((u64)n, q.mask + 1);
    }

  private:
    // Admits as many wanting lanes as the count allows on its way by `step` to `limit`, and gives them tickets.
    RQ_INLINE void take_tickets(Handle &q, u64 *counter, bool want, u64 limit, u64 step, bool &admitted,
                                u64 &ticket) {
        const LaneMask wanting = wave_ballot(want);
        if (wanting == 0) return;
        const u32 leader = first_lane(wanting);
        u32 room = 0;
        wave_sync();
        if (wave_lane() == leader) {
            const u64 k = count_lanes(wanting);
            if (room_left(atomic_load<ticket_load>(count(q)), limit, step, k) > 0) {
                room = room_left(atomic_add<ticket_rmw>(count(q), step * k), limit, step, k);
                if (room < k) atomic_add<ticket_rmw>(count(q), 0 - step * (k - room));
            }
        }
        room = wave_broadcast(room, leader);
        wave_sync();
        const bool in = want && wave_rank(wanting) < room;
        if (room > 0) {
            const u64 mine = reserve_tickets(counter, wave_ballot(in));
            if (in) ticket = mine;
        }
        admitted |= in;
    }

    RQ_INLINE u32 room_left(u64 now, u64 limit, u64 step, u64 most) {
        const i64 room = (i64)((limit - now) * step);
        return room <= 0 ? 0 : (u32)min_of((u64)room, most);
    }
};

}  // namespace rq
