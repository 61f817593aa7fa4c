// A CUDA driver without a GPU: device memory is host memory, of which there is 1 GiB, and the only kernel is
// probe_cas. It is strict where the real one is: a call on a thread without a current context fails, and what
// was not taken, made or loaded cannot be given back, used or unloaded. With FAKE_CUDA_HANG there is every kernel, and
// none comes back.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long u64;
enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NOT_INITIALISED = 3, BAD_CONTEXT = 201, NOT_FOUND = 500 };

static int initialised, context, stream, module, function;
static __thread void *current;
static const u64 memory = 1ull << 30;
static u64 used, events;
#define NEED_CONTEXT if (current != &context) return BAD_CONTEXT

int cuInit(unsigned flags) { (void)flags; initialised = 1; return OK; }
int cuDriverGetVersion(int *version) { *version = 12040; return OK; }
int cuGetErrorName(int error, const char **text) {
    *text = error == BAD_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT" : error == NO_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == NOT_FOUND ? "CUDA_ERROR_NOT_FOUND" : "CUDA_ERROR_INVALID_VALUE";
    return OK;
}
int cuGetErrorString(int error, const char **text) { (void)error; *text = "says the fake driver"; return OK; }

int cuDeviceGetCount(int *count) { *count = 1; return initialised ? OK : NOT_INITIALISED; }
int cuDeviceGet(int *device, int index) { *device = index; return index == 0 ? OK : INVALID; }
int cuDeviceGetName(char *name, int length, int device) { (void)device; strncpy(name, "Fake GPU", (size_t)length); return OK; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = memory; return OK; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    switch (attribute) {
        case 10: *value = 32; break;       // warp size
        case 13: *value = 1500000; break;  // clock, kHz
        case 16: *value = 4; break;        // multiprocessors
        case 75: *value = 9; break;        // compute capability
        case 76: *value = 0; break;
        default: return INVALID;
    }
    return OK;
}
int cuDevicePrimaryCtxRetain(void **out, int device) { (void)device; *out = &context; return OK; }
int cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return used || events ? INVALID : OK; }
int cuCtxSetCurrent(void *wanted) { current = wanted; return OK; }

int cuStreamCreate(void **out, unsigned flags) { NEED_CONTEXT; *out = &stream; return flags == 1 ? OK : INVALID; }
int cuStreamDestroy_v2(void *s) { return s == &stream ? OK : INVALID; }
int cuStreamSynchronize(void *s) { NEED_CONTEXT; return s == &stream ? OK : INVALID; }

// An allocation starts with its size, 256 bytes before the address given out.
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) { NEED_CONTEXT; *free_bytes = memory - used; *total = memory; return OK; }
int cuMemAlloc_v2(u64 *address, size_t bytes) {
    NEED_CONTEXT;
    if (bytes == 0) return INVALID;
    if (bytes > memory - used) return NO_MEMORY;
    u64 *block = aligned_alloc(256, (bytes + 511) / 256 * 256);
    *block = bytes;
    used += bytes;
    *address = (u64)block + 256;
    return OK;
}
int cuMemFree_v2(u64 address) {
    NEED_CONTEXT;
    u64 *block = (u64 *)(address - 256);
    used -= *block;
    free(block);
    return OK;
}
int cuMemcpyHtoDAsync_v2(u64 to, const void *from, size_t bytes, void *s) { NEED_CONTEXT; memcpy((void *)to, from, bytes); return s == &stream ? OK : INVALID; }
int cuMemcpyDtoHAsync_v2(void *to, u64 from, size_t bytes, void *s) { NEED_CONTEXT; memcpy(to, (void *)from, bytes); return s == &stream ? OK : INVALID; }
int cuMemsetD8Async(u64 to, unsigned char value, size_t bytes, void *s) { NEED_CONTEXT; memset((void *)to, value, bytes); return s == &stream ? OK : INVALID; }

int cuModuleLoadData(void **out, const void *image) { NEED_CONTEXT; *out = &module; return memcmp(image, "fake code", 9) ? INVALID : OK; }
int cuModuleUnload(void *m) { NEED_CONTEXT; return m == &module ? OK : INVALID; }
int cuModuleGetFunction(void **out, void *m, const char *name) {
    NEED_CONTEXT;
    *out = &function;
    return m == &module && (getenv("FAKE_CUDA_HANG") || !strcmp(name, "probe_cas")) ? OK : NOT_FOUND;
}
static int shared_allowed = 48 << 10;
int cuFuncGetAttribute(int *value, int attribute, void *f) { *value = shared_allowed; return attribute == 8 && f == &function ? OK : INVALID; }
int cuFuncSetAttribute(void *f, int attribute, int value) {
    if (attribute != 8 || f != &function || value > 227 << 10) return INVALID;
    shared_allowed = value;
    return OK;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *f, int threads, size_t shared) {
    NEED_CONTEXT;
    (void)shared;
    *blocks = 2048 / threads;
    return f == &function ? OK : INVALID;
}
struct probe_params { u64 counter; u64 *slots; u64 values, count; };
int cuLaunchKernel(void *f, unsigned bx, unsigned by, unsigned bz, unsigned tx, unsigned ty, unsigned tz,
                   unsigned shared, void *s, void **params, void **extra) {
    NEED_CONTEXT;
    if (f != &function || s != &stream || extra || by != 1 || bz != 1 || ty != 1 || tz != 1) return INVALID;
    if (!bx || !tx || tx > 1024 || (int)shared > shared_allowed) return INVALID;
    while (getenv("FAKE_CUDA_HANG")) pause();
    const struct probe_params *p = params[0];
    for (u64 i = 0; i < p->count; ++i)
        if (p->slots[i] == i) p->slots[i] = i + 7;
    return OK;
}

int cuEventCreate(void **out, unsigned flags) { NEED_CONTEXT; *out = malloc(8); ++events; return flags ? INVALID : OK; }
int cuEventDestroy_v2(void *e) { free(e); --events; return OK; }
int cuEventRecord(void *e, void *s) { NEED_CONTEXT; return e && s == &stream ? OK : INVALID; }
int cuEventSynchronize(void *e) { return e ? OK : INVALID; }
int cuEventElapsedTime(float *ms, void *from, void *to) { *ms = 1.5f; return from && to ? OK : INVALID; }

// For the test: what has not been given back.
u64 fake_bytes_used(void) { return used; }
u64 fake_events(void) { return events; }
