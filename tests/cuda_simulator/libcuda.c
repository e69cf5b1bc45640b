/* A CUDA driver without a GPU: start, devices, contexts, errors, and how programs find entries.
 *
 * What it promises is in README.md. `fake_cuda_fail` and `fake_cuda_counters` are its own.
 */
#define _GNU_SOURCE
#include "driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 13050

struct settings settings;
struct context contexts[MAX_DEVICES];

/* ----- entries ------------------------------------------------------------------------------------------ */

typedef void (*any_function)(void);
static struct entry {
    const char *symbol;
    int version;
    any_function address;
    uint64_t calls;
    int code;      /* of the failure that waits */
    int64_t after; /* calls before it; negative: none waits */
} entries[ENTRY_COUNT];

static struct counter {
    const char *name;
    uint64_t value;
    struct counter *next;
} *counters;

API int fake_cuda_fail(const char *symbol, int code, int after);
API int64_t fake_cuda_counters(const char *name);

static pthread_mutex_t lock;
static int depth;
static bool initialized;

void list_entries(void (*add)(int, const char *, int, any_function));

static void add_entry(int id, const char *symbol, int version, any_function address) {
    entries[id] = (struct entry){symbol, version, address, 0, 0, -1};
}

static void fail_as_asked(const char *text) {
    char name[64];
    int code, after, used;
    while (text != NULL && sscanf(text, "%63[^:,]:%d:%d%n", name, &code, &after, &used) == 3) {
        if (fake_cuda_fail(name, code, after) != 0) fprintf(stderr, "FAKE_CUDA_FAIL: no entry %s\n", name);
        text += used;
        text = *text == ',' ? text + 1 : NULL;
    }
}

static uint64_t number(const char *variable, uint64_t otherwise) {
    const char *text = getenv(variable);
    return text != NULL && *text != 0 ? strtoull(text, NULL, 0) : otherwise;
}

static const char *const counted[] = {
    "launches", "kernels", "executed", "graph_launches", "live_bytes", "live_blocks", "pinned_bytes", "live_modules",
};

__attribute__((constructor)) static void start(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    const char *order = getenv("FAKE_CUDA_ORDER");
    settings.devices = (int)number("FAKE_CUDA_DEVICES", 2);
    if (settings.devices > MAX_DEVICES) settings.devices = MAX_DEVICES;
    settings.memory = number("FAKE_CUDA_MEMORY", 2ull << 30);
    settings.eager = number("FAKE_CUDA_EAGER", 0) != 0;
    settings.capability = (int)number("FAKE_CUDA_CAPABILITY", 90);
    if (order != NULL && !strcmp(order, "reverse")) settings.order = REVERSE;
    if (order != NULL && !strcmp(order, "shuffled")) settings.order = SHUFFLED;
    list_entries(add_entry);
    memory_start();
    for (size_t k = 0; k < sizeof counted / sizeof *counted; k++) counter_add(counted[k], 0);
    fail_as_asked(getenv("FAKE_CUDA_FAIL"));
}

CUresult enter(enum entry_id id) {
    pthread_mutex_lock(&lock);
    depth++;
    struct entry *e = &entries[id];
    e->calls++;
    if (e->after >= 0 && e->after-- == 0) return (CUresult)e->code;
    return initialized || id == ID_cuInit || id == ID_cuDriverGetVersion ? SUCCESS : NOT_INITIALIZED;
}

void leave(int *unused) {
    (void)unused;
    if (--depth == 0) close_regions();
    pthread_mutex_unlock(&lock);
}

/* The next call of an entry but `after` returns `code`, once; 0, or -1 where there is no such entry. */
API int fake_cuda_fail(const char *symbol, int code, int after) {
    int found = -1;
    for (int k = 0; k < ENTRY_COUNT; k++)
        if (!strcmp(entries[k].symbol, symbol)) {
            entries[k].code = code;
            entries[k].after = after;
            found = 0;
        }
    return found;
}

/* How often an entry was called, or a counter of the simulator; -1 for names of neither. */
API int64_t fake_cuda_counters(const char *name) {
    int64_t found = -1;
    for (int k = 0; k < ENTRY_COUNT; k++)
        if (!strcmp(entries[k].symbol, name)) found = (found < 0 ? 0 : found) + (int64_t)entries[k].calls;
    for (struct counter *c = counters; c != NULL; c = c->next)
        if (!strcmp(c->name, name)) found = (int64_t)c->value;
    return found;
}

uint64_t counter_add(const char *name, int64_t more) {
    struct counter *c = counters;
    while (c != NULL && strcmp(c->name, name)) c = c->next;
    if (c == NULL) {
        c = calloc(1, sizeof *c);
        c->name = name;
        c->next = counters;
        counters = c;
    }
    return c->value += (uint64_t)more;
}

API CUresult cuGetProcAddress_v2(const char *symbol, void **address, int version, uint64_t flags, int *status) {
    (void)flags;
    struct entry *best = NULL;
    bool known = false;
    for (int k = 0; k < ENTRY_COUNT; k++) {
        struct entry *e = &entries[k];
        if (strcmp(e->symbol, symbol)) continue;
        known = true;
        if (e->version <= version && (best == NULL || e->version > best->version)) best = e;
    }
    *address = best == NULL ? NULL : (void *)best->address;
    if (status != NULL) *status = best != NULL ? 0 : known ? 2 : 1;
    return best != NULL ? SUCCESS : NOT_FOUND;
}

API CUresult cuGetProcAddress(const char *symbol, void **address, int version, uint64_t flags) {
    return cuGetProcAddress_v2(symbol, address, version, flags, NULL);
}

/* ----- errors ------------------------------------------------------------------------------------------- */

API CUresult cuGetErrorName(int error, const char **found) {
    switch (error) {
#define NAME(code, label, text) case code: *found = code == 0 ? "CUDA_SUCCESS" : "CUDA_ERROR_" #label; return SUCCESS;
        ERRORS(NAME)
    }
    *found = NULL;
    return INVALID_VALUE;
}

API CUresult cuGetErrorString(int error, const char **found) {
    switch (error) {
#define TEXT(code, label, text) case code: *found = text; return SUCCESS;
        ERRORS(TEXT)
    }
    *found = NULL;
    return INVALID_VALUE;
}

/* ----- devices ------------------------------------------------------------------------------------------ */

API CUresult cuInit(unsigned flags) {
    ENTER(cuInit);
    REQUIRE(flags == 0, INVALID_VALUE);
    REQUIRE(settings.devices > 0, NO_DEVICE);
    for (int k = 0; !initialized && k < settings.devices; k++) {
        contexts[k].device = k;
        contexts[k].legacy = new_stream(&contexts[k], 0, 0);
    }
    initialized = true;
    return SUCCESS;
}

API CUresult cuDriverGetVersion(int *version) {
    ENTER(cuDriverGetVersion);
    *version = (int)number("FAKE_CUDA_VERSION", VERSION);
    return SUCCESS;
}

static bool exists(CUdevice device) { return device >= 0 && device < settings.devices; }

API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    ENTER(cuDeviceGet);
    REQUIRE(exists(ordinal), INVALID_DEVICE);
    *device = ordinal;
    return SUCCESS;
}

API CUresult cuDeviceGetCount(int *count) {
    ENTER(cuDeviceGetCount);
    *count = settings.devices;
    return SUCCESS;
}

API CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    ENTER(cuDeviceGetName);
    REQUIRE(exists(device), INVALID_DEVICE);
    snprintf(name, (size_t)size, "Simulated GPU %d", device);
    return SUCCESS;
}

API CUresult cuDeviceGetUuid_v2(unsigned char *uuid, CUdevice device) {
    ENTER(cuDeviceGetUuid_v2);
    REQUIRE(exists(device), INVALID_DEVICE);
    memset(uuid, 0xA0 + device, 16);
    return SUCCESS;
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    ENTER(cuDeviceTotalMem_v2);
    REQUIRE(exists(device), INVALID_DEVICE);
    *bytes = settings.memory;
    return SUCCESS;
}

API CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice device) {
    ENTER(cuDeviceGetPCIBusId);
    REQUIRE(exists(device), INVALID_DEVICE);
    snprintf(text, (size_t)size, "0000:%02X:00.0", device + 1);
    return SUCCESS;
}

/* Attributes by their number in the interface; those that are not here are 0. */
static const struct { int attribute, value; } attributes[] = {
    {1, 1024}, {2, 1024}, {3, 1024}, {4, 64},          /* threads of a block, in each dimension */
    {5, 2147483647}, {6, 65535}, {7, 65535},           /* blocks of a grid */
    {8, 49152}, {9, 65536}, {10, 32}, {11, 2147483647}, /* shared and constant memory, warp, pitch */
    {12, 65536}, {13, 1000000}, {14, 512}, {15, 1},    /* registers, clock, alignment, overlap */
    {16, 4}, {19, 1}, {31, 1}, {36, 1000000}, {37, 256}, /* multiprocessors, mapping, concurrency, memory */
    {38, 1 << 20}, {39, 2048}, {40, 2}, {41, 1},       /* L2, threads of a multiprocessor, unified addresses */
    {78, 1}, {79, 1}, {80, 1}, {81, 102400}, {82, 65536}, {83, 1}, /* priorities, caches, per multiprocessor, managed */
    {91, 1}, {95, 1}, {96, 1}, {97, 49152}, {99, 1}, {106, 16}, {115, 1}, /* host pointers, cooperation, pools */
};

API CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    ENTER(cuDeviceGetAttribute);
    REQUIRE(exists(device), INVALID_DEVICE);
    REQUIRE(attribute > 0 && attribute < 1000, INVALID_VALUE);
    *value = attribute == 33   ? device + 1
             : attribute == 75 ? settings.capability / 10
             : attribute == 76 ? settings.capability % 10
                               : 0;
    for (size_t k = 0; k < sizeof attributes / sizeof *attributes; k++)
        if (attributes[k].attribute == attribute) *value = attributes[k].value;
    return SUCCESS;
}

static bool peers_allowed(void) { return number("FAKE_CUDA_NO_PEERS", 0) == 0; }

API CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    ENTER(cuDeviceCanAccessPeer);
    REQUIRE(exists(device) && exists(peer), INVALID_DEVICE);
    *can = device != peer && peers_allowed();
    return SUCCESS;
}

API CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice device, CUdevice peer) {
    ENTER(cuDeviceGetP2PAttribute);
    REQUIRE(exists(device) && exists(peer) && device != peer, INVALID_DEVICE);
    *value = attribute == 2 && peers_allowed();
    return SUCCESS;
}

/* ----- contexts: the primary one of each device --------------------------------------------------------- */

#define STACK 64
static __thread CUcontext stack[STACK];
static __thread int top; /* the current context is stack[top] */
static __thread char thread_mark;

uintptr_t this_thread(void) { return (uintptr_t)&thread_mark; }

static bool is_context(CUcontext ctx) { return ctx >= contexts && ctx < contexts + settings.devices; }

CUcontext current(void) { return stack[top] != NULL && stack[top]->references > 0 ? stack[top] : NULL; }

API CUresult cuDevicePrimaryCtxRetain(CUcontext *found, CUdevice device) {
    ENTER(cuDevicePrimaryCtxRetain);
    REQUIRE(exists(device), INVALID_DEVICE);
    contexts[device].references++;
    *found = &contexts[device];
    return SUCCESS;
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    ENTER(cuDevicePrimaryCtxRelease_v2);
    REQUIRE(exists(device), INVALID_DEVICE);
    REQUIRE(contexts[device].references > 0, INVALID_CONTEXT);
    if (contexts[device].references == 1) TRY(run_context(&contexts[device]));
    contexts[device].references--;
    return SUCCESS;
}

API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    ENTER(cuDevicePrimaryCtxGetState);
    REQUIRE(exists(device), INVALID_DEVICE);
    *flags = contexts[device].flags;
    *active = contexts[device].references > 0;
    return SUCCESS;
}

API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    ENTER(cuDevicePrimaryCtxSetFlags_v2);
    REQUIRE(exists(device), INVALID_DEVICE);
    contexts[device].flags = flags;
    return SUCCESS;
}

API CUresult cuCtxGetCurrent(CUcontext *found) {
    ENTER(cuCtxGetCurrent);
    *found = stack[top];
    return SUCCESS;
}

API CUresult cuCtxSetCurrent(CUcontext ctx) {
    ENTER(cuCtxSetCurrent);
    REQUIRE(ctx == NULL || is_context(ctx), INVALID_CONTEXT);
    REQUIRE(ctx == NULL || ctx->references > 0, CONTEXT_IS_DESTROYED);
    stack[top] = ctx;
    return SUCCESS;
}

API CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
    ENTER(cuCtxPushCurrent_v2);
    REQUIRE(is_context(ctx), INVALID_CONTEXT);
    REQUIRE(top + 1 < STACK, INVALID_VALUE);
    stack[++top] = ctx;
    return SUCCESS;
}

API CUresult cuCtxPopCurrent_v2(CUcontext *found) {
    ENTER(cuCtxPopCurrent_v2);
    REQUIRE(stack[top] != NULL, INVALID_CONTEXT);
    if (found != NULL) *found = stack[top];
    stack[top] = NULL;
    if (top > 0) top--;
    return SUCCESS;
}

API CUresult cuCtxGetDevice(CUdevice *device) {
    ENTER_CONTEXT(cuCtxGetDevice);
    *device = ctx->device;
    return SUCCESS;
}

API CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext of) {
    ENTER(cuCtxGetDevice_v2);
    CUcontext ctx = of != NULL ? of : current();
    REQUIRE(is_context(ctx), INVALID_CONTEXT);
    *device = ctx->device;
    return SUCCESS;
}

API CUresult cuCtxGetFlags(unsigned *flags) {
    ENTER_CONTEXT(cuCtxGetFlags);
    *flags = ctx->flags;
    return SUCCESS;
}

API CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned *version) {
    ENTER(cuCtxGetApiVersion);
    (void)ctx;
    *version = VERSION;
    return SUCCESS;
}

static size_t limits[16] = {1024, 1 << 20, 8 << 20}; /* stack, printf buffer, heap; the rest 0 */

API CUresult cuCtxGetLimit(size_t *value, unsigned limit) {
    ENTER_CONTEXT(cuCtxGetLimit);
    REQUIRE(limit < 16, INVALID_VALUE);
    *value = limits[limit];
    return SUCCESS;
}

API CUresult cuCtxSetLimit(unsigned limit, size_t value) {
    ENTER_CONTEXT(cuCtxSetLimit);
    REQUIRE(limit < 16, INVALID_VALUE);
    limits[limit] = value;
    return SUCCESS;
}

API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    ENTER_CONTEXT(cuCtxGetStreamPriorityRange);
    if (least != NULL) *least = 0;
    if (greatest != NULL) *greatest = -5;
    return SUCCESS;
}

API CUresult cuCtxSynchronize(void) {
    ENTER_CONTEXT(cuCtxSynchronize);
    TRY(refuse_context_wait(ctx));
    return run_context(ctx);
}

API CUresult cuCtxSynchronize_v2(CUcontext of) {
    ENTER(cuCtxSynchronize_v2);
    CUcontext ctx = of != NULL ? of : current();
    REQUIRE(is_context(ctx), INVALID_CONTEXT);
    TRY(refuse_context_wait(ctx));
    return run_context(ctx);
}

API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    ENTER_CONTEXT(cuCtxEnablePeerAccess);
    REQUIRE(is_context(peer) && peer != ctx, INVALID_CONTEXT);
    REQUIRE(flags == 0, INVALID_VALUE);
    REQUIRE(peers_allowed(), PEER_ACCESS_UNSUPPORTED);
    REQUIRE(!(ctx->peers >> peer->device & 1), PEER_ACCESS_ALREADY_ENABLED);
    ctx->peers |= 1u << peer->device;
    return SUCCESS;
}

API CUresult cuCtxDisablePeerAccess(CUcontext peer) {
    ENTER_CONTEXT(cuCtxDisablePeerAccess);
    REQUIRE(is_context(peer), INVALID_CONTEXT);
    REQUIRE(ctx->peers >> peer->device & 1, PEER_ACCESS_NOT_ENABLED);
    TRY(run_context(ctx));
    ctx->peers &= ~(1u << peer->device);
    return SUCCESS;
}

API CUresult cuProfilerStart(void) {
    ENTER(cuProfilerStart);
    return SUCCESS;
}

API CUresult cuProfilerStop(void) {
    ENTER(cuProfilerStop);
    return SUCCESS;
}
