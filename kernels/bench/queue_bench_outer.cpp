// queue_bench_outer.cpp: the micro-benchmarks on a bounded queue of payloads made of two index rings.
#define RQ_BENCH_OUTER 1
#include "bench/queue_bench.cpp"
