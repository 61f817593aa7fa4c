// An NVRTC that compiles nothing. It appends a line to the file FAKE_COMPILER_LOG when it is loaded and for each
// compilation, and fails to compile when FAKE_COMPILER_FAIL is set. It takes the probe kernels alone, and
// with FAKE_CUDA_HANG all. FAKE_MAJOR is its major version.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void note(const char *what) {
    FILE *log = fopen(getenv("FAKE_COMPILER_LOG"), "a");
    if (!log) return;
    fprintf(log, "%s %d\n", what, FAKE_MAJOR);
    fclose(log);
}
__attribute__((constructor)) static void loaded(void) { note("loaded"); }

static const char code[] = "fake code", text[] = "kernel.cpp(1): error: no such thing";
int nvrtcVersion(int *major, int *minor) { *major = FAKE_MAJOR; *minor = 4; return 0; }
const char *nvrtcGetErrorString(int error) { return error == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR"; }
int nvrtcGetNumSupportedArchs(int *n) { *n = 3; return 0; }
int nvrtcGetSupportedArchs(int *list) { list[0] = 75; list[1] = 80; list[2] = 90; return 0; }
int nvrtcCreateProgram(void **out, const char *source, const char *name, int headers, const char *const *texts,
                       const char *const *names) {
    (void)name, (void)texts, (void)names;
    *out = malloc(1);
    int known = getenv("FAKE_CUDA_HANG") || strstr(source, "#include \"probe/probe.cpp\"");
    return known && headers > 10 ? 0 : 5;
}
int nvrtcDestroyProgram(void **program) { free(*program); *program = NULL; return 0; }
int nvrtcCompileProgram(void *program, int n, const char *const *options) {
    (void)program;
    note("compiled");
    int arch = 0;
    for (int i = 0; i < n; ++i) arch |= !strcmp(options[i], "--gpu-architecture=sm_90");
    return getenv("FAKE_COMPILER_FAIL") ? 6 : arch ? 0 : 5;
}
int nvrtcGetProgramLogSize(void *program, size_t *n) { (void)program; *n = getenv("FAKE_COMPILER_FAIL") ? sizeof text : 1; return 0; }
int nvrtcGetProgramLog(void *program, char *out) { (void)program; strcpy(out, getenv("FAKE_COMPILER_FAIL") ? text : ""); return 0; }
int nvrtcGetCUBINSize(void *program, size_t *n) { (void)program; *n = sizeof code; return 0; }
int nvrtcGetCUBIN(void *program, char *out) { (void)program; memcpy(out, code, sizeof code); return 0; }
int nvrtcGetPTXSize(void *program, size_t *n) { (void)program; *n = 0; return 0; }
int nvrtcGetPTX(void *program, char *out) { (void)program, (void)out; return 0; }
