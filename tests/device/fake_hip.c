// A HIP runtime without a GPU, hipRTC included: device memory is host memory, of which there is 1 GiB, and the
// only kernel is probe_cas. Strict as fake_cuda.c is. hipRTC aborts when FAKE_HIPRTC_ABORT is set.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long u64;
enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NO_DEVICE_SET = 101, NOT_FOUND = 500 };

static int stream, module, function;
static __thread int current = -1;
static const u64 memory = 1ull << 30;
static u64 used, events;
#define NEED_DEVICE if (current != 0) return NO_DEVICE_SET

int hipInit(unsigned flags) { return flags ? INVALID : OK; }
int hipDriverGetVersion(int *version) { *version = 60443483; return OK; }
const char *hipGetErrorName(int error) { return error == NO_MEMORY ? "hipErrorOutOfMemory" : "hipErrorInvalidValue"; }
const char *hipGetErrorString(int error) { (void)error; return "says the fake runtime"; }
int hipGetDeviceCount(int *count) { *count = 1; return OK; }
int hipDeviceGetName(char *name, int length, int device) { strncpy(name, "Fake GPU", (size_t)length); return device ? INVALID : OK; }
int hipDeviceTotalMem(size_t *bytes, int device) { *bytes = memory; return device ? INVALID : OK; }
int hipDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
        case 5: *value = 1700000; break;     // clock, kHz
        case 63: *value = 4; break;          // compute units
        case 87: *value = 64; break;         // wave size
        case 10017: *value = 25000; break;   // constant-rate counter, kHz
        default: return INVALID;
    }
    return device ? INVALID : OK;
}
// ROCm 6 and later: 1472 bytes with the architecture's name at 1160.
int hipGetDevicePropertiesR0600(char *properties, int device) {
    memset(properties, 0, 1472);
    strcpy(properties, "Fake GPU");
    strcpy(properties + 1160, "gfx90a:sramecc+:xnack-");
    return device ? INVALID : OK;
}
int hipSetDevice(int device) { current = device; return device ? INVALID : OK; }

int hipStreamCreateWithFlags(void **out, unsigned flags) { NEED_DEVICE; *out = &stream; return flags == 1 ? OK : INVALID; }
int hipStreamDestroy(void *s) { return s == &stream ? OK : INVALID; }
int hipStreamSynchronize(void *s) { NEED_DEVICE; return s == &stream ? OK : INVALID; }

// An allocation starts with its size, 256 bytes before the address given out.
int hipMemGetInfo(size_t *free_bytes, size_t *total) { NEED_DEVICE; *free_bytes = memory - used; *total = memory; return OK; }
int hipMalloc(void **address, size_t bytes) {
    NEED_DEVICE;
    if (bytes > memory - used) return NO_MEMORY;
    u64 *block = aligned_alloc(256, (bytes + 511) / 256 * 256);
    *block = bytes;
    used += bytes;
    *address = (char *)block + 256;
    return OK;
}
int hipFree(void *address) {
    NEED_DEVICE;
    u64 *block = (u64 *)((char *)address - 256);
    used -= *block;
    free(block);
    return OK;
}
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int direction, void *s) {
    NEED_DEVICE;
    memcpy(to, from, bytes);
    return s == &stream && (direction == 1 || direction == 2) ? OK : INVALID;
}
int hipMemsetAsync(void *to, int value, size_t bytes, void *s) { NEED_DEVICE; memset(to, value, bytes); return s == &stream ? OK : INVALID; }

int hipModuleLoadData(void **out, const void *image) { NEED_DEVICE; *out = &module; return memcmp(image, "fake code", 9) ? INVALID : OK; }
int hipModuleUnload(void *m) { NEED_DEVICE; return m == &module ? OK : INVALID; }
int hipModuleGetFunction(void **out, void *m, const char *name) {
    NEED_DEVICE;
    *out = &function;
    return m == &module && !strcmp(name, "probe_cas") ? OK : NOT_FOUND;
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *f, int threads, size_t shared) {
    NEED_DEVICE;
    (void)shared;
    *blocks = 2048 / threads;
    return f == &function ? OK : INVALID;
}
struct probe_params { u64 counter; u64 *slots; u64 values, count; };
int hipModuleLaunchKernel(void *f, unsigned bx, unsigned by, unsigned bz, unsigned tx, unsigned ty, unsigned tz,
                          unsigned shared, void *s, void **params, void **extra) {
    NEED_DEVICE;
    if (f != &function || s != &stream || extra || by != 1 || bz != 1 || ty != 1 || tz != 1) return INVALID;
    if (!bx || !tx || tx > 1024 || shared > 64 << 10) return INVALID;
    const struct probe_params *p = params[0];
    for (u64 i = 0; i < p->count; ++i)
        if (p->slots[i] == i) p->slots[i] = i + 7;
    return OK;
}

int hipEventCreate(void **out) { NEED_DEVICE; *out = malloc(8); ++events; return OK; }
int hipEventDestroy(void *e) { free(e); --events; return OK; }
int hipEventRecord(void *e, void *s) { NEED_DEVICE; return e && s == &stream ? OK : INVALID; }
int hipEventSynchronize(void *e) { return e ? OK : INVALID; }
int hipEventElapsedTime(float *ms, void *from, void *to) { *ms = 1.5f; return from && to ? OK : INVALID; }

// For the test: what has not been given back.
u64 fake_bytes_used(void) { return used; }
u64 fake_events(void) { return events; }

// ---- hipRTC
static const char code[] = "fake code", text[] = "kernel.cpp(1): error: no such thing";
static void note(const char *what) {
    FILE *log = fopen(getenv("FAKE_COMPILER_LOG"), "a");
    if (!log) return;
    fprintf(log, "%s\n", what);
    fclose(log);
}
int hiprtcVersion(int *major, int *minor) { *major = 12; *minor = 4; return 0; }
const char *hiprtcGetErrorString(int error) { return error == 6 ? "HIPRTC_ERROR_COMPILATION" : "HIPRTC_ERROR"; }
int hiprtcCreateProgram(void **out, const char *source, const char *name, int headers, const char **texts,
                        const char **names) {
    (void)name, (void)texts, (void)names;
    *out = malloc(1);
    return strstr(source, "#include \"probe/probe.cpp\"") && headers > 10 ? 0 : 5;
}
int hiprtcDestroyProgram(void **program) { free(*program); *program = NULL; return 0; }
int hiprtcCompileProgram(void *program, int n, const char **options) {
    (void)program;
    note("compiled");
    if (getenv("FAKE_HIPRTC_ABORT")) abort();
    int arch = 0;
    for (int i = 0; i < n; ++i) arch |= !strcmp(options[i], "--offload-arch=gfx90a:sramecc+:xnack-");
    return getenv("FAKE_COMPILER_FAIL") ? 6 : arch ? 0 : 5;
}
int hiprtcGetProgramLogSize(void *program, size_t *n) { (void)program; *n = getenv("FAKE_COMPILER_FAIL") ? sizeof text : 1; return 0; }
int hiprtcGetProgramLog(void *program, char *out) { (void)program; strcpy(out, getenv("FAKE_COMPILER_FAIL") ? text : ""); return 0; }
int hiprtcGetCodeSize(void *program, size_t *n) { (void)program; *n = sizeof code; return 0; }
int hiprtcGetCode(void *program, char *out) { (void)program; memcpy(out, code, sizeof code); return 0; }
