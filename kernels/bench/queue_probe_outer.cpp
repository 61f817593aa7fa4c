// queue_probe_outer.cpp: the queue probe on a bounded queue of payloads (queue/outer.h) made of two index rings.
#define RQ_PROBE_OUTER 1
#include "bench/queue_probe.cpp"
