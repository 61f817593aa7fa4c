// append.cpp: the baselines. The frontier is an array to which waves append, and for levels with much of the graph in
// them, a step from below: each vertex without a level looks for a neighbour that has one (Beamer, Asanovic and
// Patterson, SC'12).
#include "bfs/traverse.h"

namespace rq {

// Rows keep the place that they were put in at: a level is a stretch of the array. A place holds the row plus one, or
// zero as long as nothing has come there: so it needs no fence to tell.
struct ArrayFrontier {
    static constexpr bool any_order = false;
    RQ_INLINE ArrayFrontier of_this_lane(const BfsParams &) { return ArrayFrontier{}; }

    RQ_METHOD bool put(const BfsParams &p, u32, bool want, u32 row) {
        const LaneMask wanting = wave_ballot(want);
        if (wanting == 0) return false;
        u64 base = 0;
        if (wave_lane() == 0) base = atomic_add(control(p, tail_word), (u64)count_lanes(wanting));
        base = wave_broadcast(base, 0);
        if (want) atomic_store(p.frontier + base + wave_rank(wanting), row + 1);
        return want;
    }

    RQ_METHOD bool take(const BfsParams &p, u32, bool want, u32 place, u32 &row) {
        u64 limit = 0;
        for (;;) {
            const u32 found = want ? atomic_load(p.frontier + place) : 1;
            if (!wave_any(found == 0)) {
                row = found - 1;
                return true;
            }
            // Its store is under way.
            if (limit == 0) limit = device_ticks() + p.patience_ticks;
            if (is_past(limit)) return false;
            give_way();
        }
    }
};

}  // namespace rq

using namespace rq;

RQ_KERNEL_BOUNDS(bfs_start, BfsParams, 512, 1) { start<ArrayFrontier>(p); }

RQ_KERNEL_BOUNDS(bfs_run, BfsParams, 512, 2) { traverse<ArrayFrontier>(p); }

// The arcs that a vertex looks at until it finds one from a vertex with a level; `found` if it does.
//
// Whoever had a level before and is next to one who had none has the latest one, so nobody asks which.
RQ_INLINE u32 look_up(const BfsPullParams &p, u32 vertex, bool &found) {
    const u32 row = p.first_row == nullptr ? vertex : p.first_row[vertex];
    const u32 next_row = p.first_row == nullptr ? vertex + 1 : p.first_row[vertex + 1];
    const u32 begin = p.offsets[row], end = p.offsets[next_row];
    for (u32 arc = begin; arc < end; ++arc) {
        const u32 from = p.sources[arc];
        found = (p.visited[from / 32] >> from % 32 & 1) != 0;
        if (found) return arc + 1 - begin;
    }
    return end - begin;
}

// A lane a vertex; a wave makes whole words of the bits.
RQ_KERNEL(bfs_pull, BfsPullParams) {
    const u32 width = max_of(wave_size(), 32u);
    const Items parts = my_wave_numbers((p.vertices + (u64)width - 1) / width);
    u32 arcs = 0;
    u64 reached = 0;
    for (u64 part = parts.first; part < parts.end; part += parts.step) {
        LaneMask finds = 0;
        for (u32 step = 0; step < width; step += wave_size()) {
            const u32 vertex = (u32)(part * width) + step + wave_lane();
            bool found = false;
            if (vertex < p.vertices && (p.visited[vertex / 32] >> vertex % 32 & 1) == 0)
                arcs += look_up(p, vertex, found);
            if (found) p.levels[vertex] = p.level + 1;
            finds |= wave_ballot(found) << step;
        }
        reached += count_lanes(finds);
        const u64 word = part * (width / 32) + wave_lane();
        if (wave_lane() < width / 32 && word * 32 < p.vertices)
            p.next_visited[word] = p.visited[word] | (u32)(finds >> (32 * wave_lane()));
    }
    add_tally(p.tallies, tally_arcs, wave_sum(arcs));
    add_tally(p.tallies, tally_reached, reached);
}

// Appends the vertices of level `last_level`, found from below, for a launch of bfs_run to go on with.
RQ_KERNEL_BOUNDS(bfs_gather, BfsParams, 512, 1) {
    Traversal<ArrayFrontier> t{p, ArrayFrontier{}, 0, nullptr, 0, false, 0, 0, 0, 0};
    const Items items = my_wave_items(p.vertices);
    for (u64 first = items.first; first < items.end; first += items.step) {
        const u64 vertex = first + wave_lane();
        t.put_vertices(vertex < items.end && p.levels[vertex] == p.last_level + 1, (u32)vertex);
    }
    if (wave_lane() == 0 && t.put != 0) atomic_add(control(p, progress_word), (u64)t.put);
}
