// traverse.h: level-synchronous breadth-first search in one persistent launch, over any kind of frontier.
//
// The unit of work is a row: up to some number of a vertex's arcs (the host cuts long adjacency lists), so that a hub
// is many rows and spreads over many waves. Rows of a level are taken out of one queue, what they discover is put
// into the other.
//
// Rows are counted over the whole traversal, and a level is the rows below `end` of the state word that are not done.
// A wave claims the next few rows by one add, ahead of time: it already holds its claim when the level begins, so a
// short level costs no claim at all. When its rows are done it adds to `progress` how many these were and how many
// rows they put into the next queue. Whoever completes the level sees so by the result of that add, which also tells
// the size of the next level, and writes the new state. So
//
//   - nobody but the waves that have rows of a level takes part in its end: there is no barrier of all blocks, and
//     no wave waits for one that may not be resident, since claims are held by running waves alone;
//   - a claim is for rows that are certainly in the queue: nobody probes for empty. (A row may become visible a moment
//     after the level's begin, since nothing here is ordered but what a frontier orders: take() waits for it.)
//
// A claim is a number, not a queue's ticket. When a launch ends, at its time limit or at a level that the host asked
// for, claims that were not served are forgotten, and the next launch begins at the number of rows that are done.
//
// A frontier type F has
//   F::of_this_lane(p)                  what a lane keeps
//   take(p, level, want, place, row)    a row of the level for each lane that wants one; false: it did not come
//   put(p, level, want, row)            rows for the next level; says whether this lane's was taken
//   F::any_order                        whether any claim will do for any row. If not, forgotten claims would be holes:
//                                       then a launch ends with a level only
#pragma once
#include "queue/order.h"
#include "queue/queue.h"

namespace rq {

// ---- control words, each on a line of its own
constexpr u32 claims_word = 0;    // rows claimed
constexpr u32 progress_word = 1;  // rows done << 32 | rows put in
constexpr u32 trouble_word = 2;   // why the result is not worth reading
constexpr u32 tail_word = 3;      // rows in the append frontier
constexpr u32 state_word = 4;     // the state, in copies: waiting waves do not queue up for one word
constexpr u32 state_copies = 64;

constexpr u64 trouble_refused = 1;  // a queue did not take a row
constexpr u64 trouble_lost = 2;     // a row did not come out of its queue

RQ_INLINE u64 *control(const BfsParams &p, u32 word) { return p.control + word * line_words; }

struct State {
    u32 end;    // rows below this are out or may be taken out
    u32 level;  // what they discover gets this level, 1 or more
    bool over;  // the launch is
};
RQ_INLINE u64 pack_state(const State &s) { return (u64)s.over << 63 | (u64)s.level << 32 | s.end; }
RQ_INLINE State unpack_state(u64 word) { return State{(u32)word, (u32)(word >> 32) & 0x7fffffffu, word >> 63 != 0}; }

// ---- sums over waves
constexpr u32 tally_stripes = 64, tally_arcs = 0, tally_reached = 1;
RQ_INLINE void add_tally(u64 *tallies, u32 which, u64 v) {
    if (wave_lane() == 0 && v != 0) reduce_add(tallies + (global_wave() % tally_stripes) * line_words + which, v);
}

// ---- the lists of several lanes, walked by all of them together
//
// Each lane has `count` items from `first` on; all lists are one sequence in lane order.
struct Lists {
    u32 end;    // of this lane's part in the sequence
    u32 shift;  // item less place in the sequence
    u32 total;
};
RQ_INLINE Lists join_lists(u32 first, u32 count) {
    const u32 end = wave_prefix_sum(count);
    return Lists{end, first - (end - count), wave_broadcast(end, wave_size() - 1)};
}
// The item in a place of the sequence, which is below `total` if the result is to mean anything. All lanes call.
RQ_INLINE u32 item_at(const Lists &lists, u32 place) {
    u32 owner = 0;  // the number of lanes whose part ends before this place
    for (u32 step = wave_size() / 2; step > 0; step /= 2)
        if (wave_exchange(lists.end, owner + step - 1) <= place) owner += step;
    return wave_exchange(lists.shift, owner) + place;
}

// Turns of arcs that a wave has in flight together.
constexpr u32 arcs_in_flight = wave_size_is_one ? 1 : 4;
// Vertices that a lane stashes at most: less than one is left of the turns before.
constexpr u32 stash_depth = arcs_in_flight + 1;

template <class F> struct Traversal {
    const BfsParams &p;
    F frontier;
    u32 level;       // given to what is found
    u32 *stash;      // vertices that were found and not put in yet
    u32 stashed;
    bool hurries;    // the level is short: latency is all that matters
    u32 done, put;   // rows, not reported yet
    u64 arcs;        // walked
    u64 reached;     // vertices

    // Marks a vertex; true: this lane was the first.
    RQ_METHOD bool mark(bool want, u32 vertex) {
        u32 *const word = p.visited + vertex / 32;
        const u32 bit = 1u << vertex % 32;
        // Most have a level already. An old word will do for this look; a short level would only wait for it.
        if (want && !hurries) want = (atomic_load<Order::relaxed, Scope::block>(word) & bit) == 0;
        if (want) want = (atomic_or(word, bit) & bit) == 0;
        return want;
    }

    RQ_METHOD void put_rows(bool want, u32 row) {
        u32 begin = 0;
        if (hurries && want) begin = p.offsets[row];
        const bool taken = frontier.put(p, level, want, row);
        if (want && !taken) atomic_or(control(p, trouble_word), trouble_refused);
        put += count_lanes(wave_ballot(taken));
        if (hurries && want) prefetch(p.targets + begin);
    }

    // Puts in the rows of a vertex a lane. (Queues' code is long: it is here once.)
    RQ_METHOD void put_vertices(bool want, u32 vertex) {
        u32 first = vertex, count = want;
        if (p.first_row != nullptr && want) {
            first = p.first_row[vertex];
            count = p.first_row[vertex + 1] - first;
        }
        const bool one_each = !wave_any(count > 1);
        const Lists rows = one_each ? Lists{0, 0, 1} : join_lists(first, count);
        RQ_NO_UNROLL
        for (u32 base = 0; base < rows.total; base += wave_size()) {
            u32 row = first;
            if (!one_each) {
                want = base + wave_lane() < rows.total;
                row = item_at(rows, base + wave_lane());
            }
            put_rows(want, row);
        }
    }

    // Puts in what is in the stash, a wave's width at a time, until fewer than `enough` are left.
    RQ_METHOD void unstash(u32 enough) {
        RQ_NO_UNROLL
        while (stashed >= enough) {
            const u32 n = min_of(stashed, wave_size());
            stashed -= n;
            const bool want = wave_lane() < n;
            const u32 vertex = want ? stash[stashed + wave_lane()] : 0;
            wave_sync();
            put_vertices(want, vertex);
        }
    }

    RQ_METHOD void discover(bool found, u32 vertex) {
        const LaneMask finders = wave_ballot(found);
        if (found) plain_store(p.levels + vertex, level + 1);
        reached += count_lanes(finders);
        if (wave_size_is_one) {
            if (found) put_vertices(found, vertex);
            return;
        }
        if (found) stash[stashed + wave_rank(finders)] = vertex;
        stashed += count_lanes(finders);
    }

    // Walks the arcs of a row a lane.
    RQ_METHOD void walk(bool want, u32 row) {
        const u32 begin = want ? p.offsets[row] : 0;
        const u32 count = want ? p.offsets[row + 1] - begin : 0;
        const Lists lists = join_lists(begin, count);
        arcs += lists.total;
        for (u32 base = 0; base < lists.total; base += arcs_in_flight * wave_size()) {
            u32 vertex[arcs_in_flight];
            bool found[arcs_in_flight];
            RQ_UNROLL
            for (u32 j = 0; j < arcs_in_flight; ++j) {
                vertex[j] = 0;
                found[j] = false;
                if (base + j * wave_size() >= lists.total) continue;
                const u32 place = base + j * wave_size() + wave_lane();
                const u32 arc = item_at(lists, place);
                found[j] = place < lists.total;
                if (found[j]) vertex[j] = p.targets[arc];
            }
            RQ_UNROLL
            for (u32 j = 0; j < arcs_in_flight; ++j) found[j] = mark(found[j], vertex[j]);
            RQ_UNROLL
            for (u32 j = 0; j < arcs_in_flight; ++j) discover(found[j], vertex[j]);
            wave_sync();
            unstash(wave_size());
        }
    }

    // Takes out and walks `n` rows, of which the first is number `first`; false: they did not come.
    RQ_METHOD bool work(u32 first, u32 n) {
        for (u32 i = 0; i < n; i += wave_size()) {
            const bool want = i + wave_lane() < n;
            u32 row = 0;
            if (!frontier.take(p, level, want, first + i + wave_lane(), row)) {
                if (wave_lane() == 0) atomic_or(control(p, trouble_word), trouble_lost);
                return false;
            }
            walk(want, row);
        }
        done += n;
        return true;
    }

    // Adds what was done to the common count; who completes the level opens the next one.
    RQ_METHOD void report(u32 end, u64 limit) {
        unstash(1);
        if (done == 0) return;
        u64 now = 0;
        const u64 mine = (u64)done << 32 | put;
        wave_sync();
        if (wave_lane() == 0) now = atomic_add<ticket_rmw>(control(p, progress_word), mine) + mine;
        now = wave_broadcast(now, 0);
        wave_sync();
        done = put = 0;
        if ((u32)(now >> 32) == end) open_level(end, (u32)now, !F::any_order && is_past(limit));
    }
    RQ_METHOD void open_level(u32 end, u32 next_end, bool late) {
        const bool over = late || next_end == end || level >= p.last_level || next_end - end > p.most_rows;
        const u64 word = pack_state(State{next_end, level + 1, over});
        for (u32 copy = wave_lane(); copy < state_copies; copy += wave_size())
            atomic_store(control(p, state_word + copy), word);
    }
};

// Waves are numbered across blocks, so that a short level is spread over the device.
RQ_INLINE u32 spread_wave() { return thread_in_block() / wave_size() * block_count() + block_index(); }

// Polls between two looks at the clock.
constexpr u32 polls_unseen = 16;

// Waits until row `first` may be taken out; `over` if that will not be in this launch.
template <class F> RQ_INLINE State await_row(const BfsParams &p, u32 first, u64 limit) {
    const u64 *const word = control(p, state_word + spread_wave() % state_copies);
    for (u32 poll = 1;; ++poll) {
        u64 seen = 0;
        if (wave_lane() == 0) seen = atomic_load<ticket_load>(word);
        State s = unpack_state(wave_broadcast(seen, 0));
        wave_sync();
        if (s.over || s.end > first) return s;
        if (F::any_order && poll % polls_unseen == 0 && is_past(limit)) {
            s.over = true;
            return s;
        }
        give_way();
    }
}

RQ_INLINE u32 claim(const BfsParams &p, u32 rows) {
    u64 first = 0;
    if (wave_lane() == 0) first = atomic_add(control(p, claims_word), (u64)rows);
    return (u32)wave_broadcast(first, 0);
}

template <class F> RQ_INLINE void traverse(const BfsParams &p) {
    u32 *const stash = shared_memory<u32>() + thread_in_block() / wave_size() * wave_size() * stash_depth;
    Traversal<F> t{p, F::of_this_lane(p), 0, stash, 0, false, 0, 0, 0, 0};
    const u64 limit = p.budget_ticks == 0 ? ~0ull : device_ticks() + p.budget_ticks;
    const u32 waves = grid_waves();
    const u64 reach = (u64)waves * p.least_bite;  // rows that waves without work hold claims of
    u32 first = p.first_claim + spread_wave() * p.least_bite, count = p.least_bite;
    for (bool leaves = false; !leaves;) {
        const State s = await_row<F>(p, first, limit);
        if (s.over) break;
        t.level = s.level;
        t.hurries = s.end - first <= reach;
        // As long as the level may have more than the others hold, the wave claims first and reports later.
        for (bool goes_on = true; goes_on;) {
            const u32 n = min_of(count, s.end - first);
            leaves = !t.work(first, n) || (F::any_order && is_past(limit));
            first += n;
            count -= n;
            goes_on = !leaves && count == 0 && s.end - first > reach && s.end > first;
            if (goes_on) {
                const u32 share = (u32)((s.end - first) / waves);
                count = min_of(max_of(share, p.least_bite), p.most_bite);
                first = claim(p, count);
                goes_on = s.end > first;
            }
        }
        t.report(s.end, limit);
        if (!leaves && count == 0) {
            count = p.least_bite;
            first = claim(p, count);
        }
    }
    add_tally(p.tallies, tally_arcs, t.arcs);
    add_tally(p.tallies, tally_reached, t.reached);
}

// Puts in the rows of the source, which are the first level: the host has said so in the state.
template <class F> RQ_INLINE void start(const BfsParams &p) {
    F frontier = F::of_this_lane(p);
    const u32 row = p.first_row == nullptr ? p.source : p.first_row[p.source];
    const u32 rows = p.first_row == nullptr ? 1 : p.first_row[p.source + 1] - row;
    if (global_thread() == 0) {
        p.visited[p.source / 32] = 1u << p.source % 32;
        p.levels[p.source] = 1;
    }
    if (global_wave() == 0) add_tally(p.tallies, tally_reached, 1);
    const Items items = my_wave_items(rows);
    u32 put = 0;
    for (u64 i = items.first; i < items.end; i += items.step) {
        const bool want = i + wave_lane() < items.end;
        const bool taken = frontier.put(p, 0, want, row + (u32)i + wave_lane());
        if (want && !taken) atomic_or(control(p, trouble_word), trouble_refused);
        put += count_lanes(wave_ballot(taken));
    }
    if (wave_lane() == 0 && put != 0) atomic_add(control(p, progress_word), (u64)put);
}

}  // namespace rq
