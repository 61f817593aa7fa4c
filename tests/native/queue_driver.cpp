// queue_driver.cpp: exercises the queues with real threads on the CPU platform, each thread a wave of one lane.
// Built by tests/queues.rs, plain or under a sanitizer.
//
// Usage: driver KIND MODE key=value...   Exits 0 when every check held; else prints what broke and exits 1. A
// run that is stuck for `deadline` seconds ends by SIGALRM.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "platform/platform.h"

#ifdef RQ_TEST_YIELDS
// Threads give way before every RQ_TEST_YIELDS-th atomic operation or so: many more interleavings, and slow
// paths that really run.
namespace rq {
inline void maybe_yield() {
    static thread_local u32 random = (u32)std::hash<std::thread::id>()(std::this_thread::get_id()) | 1;
    random ^= random << 13, random ^= random >> 17, random ^= random << 5;
    if (random % RQ_TEST_YIELDS == 0) std::this_thread::yield();
}
template <Order O = Order::relaxed, class T> T yielding_load(const T *p) { return maybe_yield(), atomic_load<O>(p); }
template <Order O = Order::relaxed, class T> void yielding_store(T *p, T v) { maybe_yield(), atomic_store<O>(p, v); }
template <Order O = Order::relaxed, class T> T yielding_add(T *p, T v) { return maybe_yield(), atomic_add<O>(p, v); }
template <Order O = Order::relaxed, class T> T yielding_or(T *p, T v) { return maybe_yield(), atomic_or<O>(p, v); }
template <Order O = Order::relaxed, class T> T yielding_cas(T *p, T a, T b) {
    return maybe_yield(), atomic_cas<O>(p, a, b);
}
}  // namespace rq
#define atomic_load yielding_load
#define atomic_store yielding_store
#define atomic_add yielding_add
#define atomic_or yielding_or
#define atomic_cas yielding_cas
#endif

#include "queue/bwd.h"
#include "queue/glfq.h"
#include "queue/gwfq.h"
#include "queue/gwfq_ymc.h"
#include "queue/outer.h"
#include "queue/sfq.h"

namespace rq {
__thread CpuPlace rq_cpu_place;
extern "C" u64 rq_cpu_ticks() {
    return (u64)std::chrono::steady_clock::now().time_since_epoch().count();
}
}  // namespace rq

using namespace rq;

static u64 argument(int argc, char **argv, const char *key, u64 otherwise) {
    const size_t n = std::strlen(key);
    for (int i = 3; i < argc; ++i)
        if (std::strncmp(argv[i], key, n) == 0 && argv[i][n] == '=') return std::strtoull(argv[i] + n + 1, nullptr, 0);
    return otherwise;
}

static std::atomic<int> failures{0};
#define CHECK(condition, ...)                                        \
    do {                                                             \
        if (!(condition) && failures.fetch_add(1) < 5) {             \
            std::printf("failed: %s: ", #condition);                 \
            std::printf(__VA_ARGS__);                                \
            std::printf("\n");                                       \
        }                                                            \
    } while (0)

// Memory of the size that the host's layout asks for, so that AddressSanitizer sees a wrong one.
template <class TheQueue> struct Rig {
    std::vector<u64> words, records;
    QueueSpace space{};

    Rig(int argc, char **argv, u32 fill) {
        const auto get = [&](const char *key, u64 otherwise) { return argument(argc, argv, key, otherwise); };
        space.queues = (u32)get("queues", 1);
        space.queue_words = get("queue_words", 0);
        space.record_words = (u32)get("record_words", 0);
        space.capacity = (u32)get("capacity", 1);
        while ((1u << space.order) < space.capacity) ++space.order;
        space.lanes = space.resident_lanes = (u32)get("threads", 1);
        space.patience = (u32)get("patience", 64);
        space.help_delay = (u32)get("help_delay", 64);
        space.pool_cells = (u32)get("pool_cells", 0);
        space.first_ticket = get("first_ticket", 0);
        words.assign(get("words", space.queue_words * space.queues), 0x5555555555555555ull);
        records.assign((u64)space.record_words * space.resident_lanes, 0);
        space.words = words.data();
        space.records = records.data();
        for (u32 queue = 0; queue < space.queues; ++queue)
            for (u64 k = 0; k < 3; ++k) TheQueue::initialise(space, queue, k, 3, fill);
    }
};

struct Totals {
    std::atomic<u64> retries{0}, spins{0}, slow{0}, helps{0};
    void add(const Tally &t) {
#ifdef RQ_COUNTERS
        retries += t.retries, spins += t.spins, slow += t.slow, helps += t.helps;
#else
        (void)t;
#endif
    }
};

template <class F> static void run_threads(u32 threads, F &&body) {
    std::vector<std::thread> all;
    std::atomic<u32> started{0};
    for (u32 t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            for (++started; started < threads;) std::this_thread::yield();
            body(t);
        });
    for (auto &t : all) t.join();
}

// One lane alone: EMPTY, FIFO order, full rings and many laps.
template <class TheQueue> static void sequential(int argc, char **argv) {
    Rig<TheQueue> rig(argc, argv, 0);
    auto q = TheQueue::at(rig.space, 0);
    auto lane = TheQueue::lane(rig.space, 0);
    const u32 n = rig.space.capacity;
    const u64 laps = argument(argc, argv, "laps", 100);
    u32 value = 0;
    CHECK(TheQueue::dequeue(q, lane, true, value) == queue_empty, "a new queue");
    CHECK(TheQueue::dequeue(q, lane, false, value) == queue_idle, "nothing wanted");
    CHECK(TheQueue::enqueue(q, lane, false, 0) == queue_idle, "nothing wanted");
    for (u64 lap = 0; lap < laps; ++lap) {
        const u32 k = 1 + (u32)(lap % n);  // from nearly empty to full
        for (u32 i = 0; i < k; ++i) {
            const QueueStatus s = TheQueue::enqueue(q, lane, true, i);
            CHECK(s == queue_ok, "enqueue %u of %u in lap %llu: %u", i, k, lap, s);
        }
        CHECK(TheQueue::length(q) == k, "%llu of %u", TheQueue::length(q), k);
        for (u32 i = 0; i < k; ++i) {
            const QueueStatus s = TheQueue::dequeue(q, lane, true, value);
            CHECK(s == queue_ok && value == i, "dequeue %u in lap %llu: %u gave %u", i, lap, s, value);
        }
        for (u32 i = 0; i < 1 + lap % 5; ++i)
            CHECK(TheQueue::dequeue(q, lane, true, value) == queue_empty, "emptied, lap %llu", lap);
        CHECK(TheQueue::length(q) == 0, "emptied, lap %llu", lap);
    }
}

// A queue that starts full.
template <class TheQueue> static void prefilled(int argc, char **argv) {
    const u32 fill = (u32)argument(argc, argv, "fill", 1);
    Rig<TheQueue> rig(argc, argv, fill);
    auto lane = TheQueue::lane(rig.space, 0);
    for (u32 queue = 0; queue < rig.space.queues; ++queue) {
        auto q = TheQueue::at(rig.space, queue);
        u32 value = 0;
        for (u32 round = 0; round < 5; ++round) {
            for (u32 i = 0; i < fill; ++i) {
                CHECK(TheQueue::dequeue(q, lane, true, value) == queue_ok && value == i, "%u gave %u", i, value);
                CHECK(TheQueue::enqueue(q, lane, true, value) == queue_ok, "put back %u", i);
            }
        }
        for (u32 i = 0; i < fill; ++i) CHECK(TheQueue::dequeue(q, lane, true, value) == queue_ok, "drain %u", i);
        CHECK(TheQueue::dequeue(q, lane, true, value) == queue_empty, "drained");
    }
}

// What travels with a value: written before its enqueue, read after its dequeue, with plain accesses.
struct Payload {
    u32 producer, number;
};

// Threads pass tokens around: whoever dequeues a token owns it, stamps it and enqueues it again. Checks that
// no token is lost or doubled, and that each consumer sees each producer's stamps in order (FIFO).
template <class TheQueue> static void tokens(int argc, char **argv) {
    const u32 threads = (u32)argument(argc, argv, "threads", 2);
    const u32 fill = (u32)argument(argc, argv, "fill", 1);
    const u64 ops = argument(argc, argv, "ops", 1000);
    Rig<TheQueue> rig(argc, argv, fill);
    const u32 queues = rig.space.queues;
    std::vector<Payload> payload((u64)queues * fill, Payload{0, 0});
    std::vector<std::vector<u32>> last(threads, std::vector<u32>((u64)threads * queues, 0));
    std::vector<u64> got(threads), empty(threads), refused(threads);
    Totals totals;
    run_threads(threads, [&](u32 me) {
        auto lane = TheQueue::lane(rig.space, me);
        u32 stamp = 0, queue = me % queues;
        QueueStatus s = queue_empty;
        // A busy lane may hold a ticket: it has to come back for it, to the same queue.
        for (u64 i = 0; i < ops || s == queue_busy; ++i) {
            if (s != queue_busy) queue = (queue + 1) % queues;
            auto q = TheQueue::at(rig.space, queue);
            u32 value = 0;
            s = TheQueue::dequeue(q, lane, true, value);
            if (s == queue_exhausted) break;
            if (s != queue_ok) {
                ++empty[me];
                std::this_thread::yield();
                continue;
            }
            ++got[me];
            CHECK(value < fill, "value %u of %u", value, fill);
            Payload *const p = &payload[(u64)queue * fill + value];
            const u32 producer = plain_load(&p->producer), number = plain_load(&p->number);
            u32 &seen = last[me][(u64)producer * queues + queue];
            CHECK(number == 0 || number > seen, "producer %u: stamp %u after %u", producer, number, seen);
            if (number != 0) seen = number;
            plain_store(&p->producer, me);
            plain_store(&p->number, ++stamp);
            QueueStatus put = TheQueue::enqueue(q, lane, true, value);
            while (put != queue_ok && put != queue_exhausted && failures == 0) {
                std::this_thread::yield();
                put = TheQueue::enqueue(q, lane, true, value);
            }
            if (put == queue_exhausted) ++refused[me];
        }
        totals.add(lane.tally);
    });
    u64 left = 0, dequeued = 0, blanks = 0, kept = 0;
    for (u32 t = 0; t < threads; ++t) dequeued += got[t], blanks += empty[t], kept += refused[t];
    std::vector<u32> seen((u64)queues * fill, 0);
    auto lane = TheQueue::lane(rig.space, 0);
    for (u32 queue = 0; queue < queues; ++queue) {
        auto q = TheQueue::at(rig.space, queue);
        u32 value = 0;
        while (left < 2ull * queues * fill && TheQueue::dequeue(q, lane, true, value) == queue_ok) {
            ++left;
            if (value < fill) ++seen[(u64)queue * fill + value];
        }
    }
    if (argument(argc, argv, "exhausts", 0) == 0) {
        CHECK(left == (u64)queues * fill, "%llu of %llu tokens left", left, (u64)queues * fill);
        for (u32 count : seen) CHECK(count == 1, "a token is there %u times", count);
    } else {
        CHECK(kept > 0 || blanks > 0, "the pool never ran out");
        for (u32 count : seen) CHECK(count <= 1, "a token is there %u times", count);
    }
    std::printf("dequeued=%llu empty=%llu kept=%llu retries=%llu spins=%llu slow=%llu helps=%llu\n", dequeued, blanks,
                kept, (u64)totals.retries, (u64)totals.spins, (u64)totals.slow, (u64)totals.helps);
}

// Every thread enqueues the token that it holds, then dequeues one: as many values as threads, forms that wait
// included. Checks that tokens and payloads arrive whole.
template <class TheQueue> static void balanced(int argc, char **argv) {
    const u32 threads = (u32)argument(argc, argv, "threads", 2);
    const u64 ops = argument(argc, argv, "ops", 1000);
    Rig<TheQueue> rig(argc, argv, 0);
    std::vector<Payload> payload(threads, Payload{0, 0});
    std::vector<u32> held(threads);
    Totals totals;
    run_threads(threads, [&](u32 me) {
        auto q = TheQueue::at(rig.space, 0);
        auto lane = TheQueue::lane(rig.space, me);
        u32 token = me;
        for (u64 i = 0; i < ops && failures == 0; ++i) {
            plain_store(&payload[token].producer, token);
            plain_store(&payload[token].number, plain_load(&payload[token].number) + 1);
            while (TheQueue::enqueue(q, lane, true, token) != queue_ok) std::this_thread::yield();
            while (TheQueue::dequeue(q, lane, true, token) != queue_ok) std::this_thread::yield();
            CHECK(token < threads, "token %u of %u", token, threads);
            CHECK(plain_load(&payload[token].producer) == token, "token %u brought another's payload", token);
        }
        held[me] = token;
        totals.add(lane.tally);
    });
    std::vector<u32> seen(threads, 0);
    u64 enqueued = 0;
    for (u32 t = 0; t < threads; ++t) {
        if (held[t] < threads) ++seen[held[t]];
        enqueued += payload[t].number;
    }
    for (u32 t = 0; t < threads; ++t) CHECK(seen[t] == 1, "token %u is held %u times", t, seen[t]);
    CHECK(enqueued == threads * ops, "%llu of %llu", enqueued, threads * ops);
    std::printf("dequeued=%llu retries=%llu spins=%llu slow=%llu helps=%llu\n", enqueued, (u64)totals.retries,
                (u64)totals.spins, (u64)totals.slow, (u64)totals.helps);
}

// One lane alone on a queue of payloads: FULL after exactly `capacity`, FIFO order, EMPTY at the end.
template <class TheQueue> static void bounded(int argc, char **argv) {
    Rig<TheQueue> rig(argc, argv, 0);
    auto q = TheQueue::at(rig.space, 0);
    auto lane = TheQueue::lane(rig.space, 0);
    u64 payload = 0, next_in = 1ull << 40, next_out = next_in;
    for (u32 round = 0; round < 50; ++round) {
        for (u32 i = 0; i < rig.space.capacity; ++i)
            CHECK(TheQueue::enqueue(q, lane, true, next_in++) == queue_ok, "place %u in round %u", i, round);
        for (u32 i = 0; i < 3; ++i) CHECK(TheQueue::enqueue(q, lane, true, 0) == queue_full, "round %u", round);
        for (u32 i = 0; i < rig.space.capacity; ++i) {
            const QueueStatus s = TheQueue::dequeue(q, lane, true, payload);
            CHECK(s == queue_ok && payload == next_out, "%llu instead of %llu", payload, next_out);
            ++next_out;
        }
        for (u32 i = 0; i < 3; ++i) CHECK(TheQueue::dequeue(q, lane, true, payload) == queue_empty, "%u", round);
    }
}

// Half of the threads produce distinct payloads, half consume: each consumer sees each producer's in order, and
// together they see all.
template <class TheQueue> static void payloads(int argc, char **argv) {
    const u32 pairs = (u32)argument(argc, argv, "threads", 2) / 2;
    const u64 ops = argument(argc, argv, "ops", 1000);
    Rig<TheQueue> rig(argc, argv, 0);
    std::atomic<u64> consumed{0}, sum{0};
    Totals totals;
    run_threads(2 * pairs, [&](u32 me) {
        auto q = TheQueue::at(rig.space, 0);
        auto lane = TheQueue::lane(rig.space, me);
        if (me < pairs) {
            for (u64 i = 1; i <= ops && failures == 0; ++i)
                while (TheQueue::enqueue(q, lane, true, (u64)me << 32 | i) != queue_ok) std::this_thread::yield();
        } else {
            std::vector<u64> last(pairs, 0);
            u64 mine = 0, count = 0, payload = 0;
            while (consumed < pairs * ops && failures == 0) {
                if (TheQueue::dequeue(q, lane, true, payload) != queue_ok) {
                    consumed += count, count = 0;
                    std::this_thread::yield();
                    continue;
                }
                const u64 producer = payload >> 32, number = payload & 0xffffffffu;
                CHECK(producer < pairs && number > last[producer], "payload %llx", payload);
                if (producer < pairs) last[producer] = number;
                mine += number, ++count;
            }
            sum += mine;
        }
        totals.add(lane.tally);
    });
    CHECK(sum == pairs * (ops * (ops + 1) / 2), "sum %llu", sum.load());
    std::printf("dequeued=%llu retries=%llu spins=%llu slow=%llu helps=%llu\n", consumed.load(), (u64)totals.retries,
                (u64)totals.spins, (u64)totals.slow, (u64)totals.helps);
}

template <class TheQueue> static int run_outer(const char *mode, int argc, char **argv) {
    if (std::strcmp(mode, "bounded") == 0) bounded<TheQueue>(argc, argv);
    else if (std::strcmp(mode, "payloads") == 0) payloads<TheQueue>(argc, argv);
    else return std::fprintf(stderr, "no mode %s\n", mode), 2;
    return failures == 0 ? 0 : 1;
}

template <class TheQueue> static int run(const char *mode, int argc, char **argv) {
    if (std::strcmp(mode, "sequential") == 0) sequential<TheQueue>(argc, argv);
    else if (std::strcmp(mode, "prefilled") == 0) prefilled<TheQueue>(argc, argv);
    else if (std::strcmp(mode, "tokens") == 0) tokens<TheQueue>(argc, argv);
    else if (std::strcmp(mode, "balanced") == 0) balanced<TheQueue>(argc, argv);
    else return std::fprintf(stderr, "no mode %s\n", mode), 2;
    if (failures != 0) std::printf("%d checks failed\n", failures.load());
    return failures == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc < 3) return std::fprintf(stderr, "usage: driver KIND MODE key=value...\n"), 2;
    const char *kind = argv[1], *mode = argv[2];
    alarm((unsigned)argument(argc, argv, "deadline", 60));
#define KIND(name, Type) \
    if (std::strcmp(kind, name) == 0) return run<Type>(mode, argc, argv)
    KIND("glfq", Glfq);
    KIND("gwfq", Gwfq);
    KIND("gwfq-ymc", GwfqYmc);
#ifndef RQ_TEST_FEW_KINDS
#define OUTER(name, Ring) \
    if (std::strcmp(kind, name) == 0) return run_outer<Outer<Ring, u64>>(mode, argc, argv)
    OUTER("outer-glfq", Glfq);
    OUTER("outer-gwfq", Gwfq);
    KIND("glfq-unbatched", GlfqUnbatched);
    KIND("sfq", Sfq);
    KIND("sfq-waiting", SfqWaiting);
    KIND("bwd", Bwd);
#endif
    return std::fprintf(stderr, "no kind %s\n", kind), 2;
}
