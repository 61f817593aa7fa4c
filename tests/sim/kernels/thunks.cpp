// thunks.cpp: the step from a kernel of the simulator into the host's table of functions.
//
// Each thunk hands its own frame over: the word above it is the return address into the kernel. The empty
// statement after a call keeps the frame alive during it.
#include "platform/platform.h"

namespace rq {
extern "C" {

typedef void *const *Frame;
// The fields are those of `Table` in tests/sim/src/platform.rs. An entry may unwind.
struct SimTable {
    void (*enter)(Frame);
    const SimPlace *(*place)();
    u64 (*load)(const void *, u32, u32, Frame);
    void (*store)(void *, u32, u64, u32, Frame);
    u64 (*rmw)(SimRmw, void *, u32, u64, u32, Frame);
    u64 (*cas)(void *, u32, u64, u64, u32, Frame);
    u64 (*plain_load)(const void *, u32, Frame);
    void (*plain_store)(void *, u32, u64, Frame);
    void (*fence)(u32, Frame);
    u64 (*wave)(SimWaveOp, u64, u32, const char *, u32, Frame);
    void (*barrier)(const char *, u32, Frame);
    void (*spin)(Frame);
    u64 (*ticks)(Frame);
};
static __thread const SimTable *table;  // launches of several host threads do not know of each other
void rq_sim_use(const SimTable *t);
void rq_sim_use(const SimTable *t) { table = t; }

#define FRAME ((Frame)__builtin_frame_address(0))
#define KEEP asm volatile("")
void rq_sim_enter(void *frame) { table->enter((Frame)frame); KEEP; }
const SimPlace *rq_sim_place() { return table->place(); }
u64 rq_sim_load(const void *p, u32 bytes, u32 order) {
    const u64 r = table->load(p, bytes, order, FRAME);
    KEEP;
    return r;
}
void rq_sim_store(void *p, u32 bytes, u64 v, u32 order) { table->store(p, bytes, v, order, FRAME); KEEP; }
u64 rq_sim_rmw(SimRmw op, void *p, u32 bytes, u64 v, u32 order) {
    const u64 r = table->rmw(op, p, bytes, v, order, FRAME);
    KEEP;
    return r;
}
u64 rq_sim_cas(void *p, u32 bytes, u64 expected, u64 desired, u32 order) {
    const u64 r = table->cas(p, bytes, expected, desired, order, FRAME);
    KEEP;
    return r;
}
u64 rq_sim_plain_load(const void *p, u32 bytes) {
    const u64 r = table->plain_load(p, bytes, FRAME);
    KEEP;
    return r;
}
void rq_sim_plain_store(void *p, u32 bytes, u64 v) { table->plain_store(p, bytes, v, FRAME); KEEP; }
void rq_sim_fence(u32 order) { table->fence(order, FRAME); KEEP; }
u64 rq_sim_wave(SimWaveOp op, u64 v, u32 from, const char *file, u32 line) {
    const u64 r = table->wave(op, v, from, file, line, FRAME);
    KEEP;
    return r;
}
void rq_sim_barrier(const char *file, u32 line) { table->barrier(file, line, FRAME); KEEP; }
void rq_sim_spin() { table->spin(FRAME); KEEP; }
u64 rq_sim_ticks() {
    const u64 r = table->ticks(FRAME);
    KEEP;
    return r;
}

}  // extern "C"
}  // namespace rq
