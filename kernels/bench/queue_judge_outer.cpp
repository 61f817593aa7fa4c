// queue_judge_outer.cpp: the instrumented build on a bounded queue of payloads made of two index rings.
#define RQ_BENCH_OUTER 1
#include "bench/queue_judge.cpp"
