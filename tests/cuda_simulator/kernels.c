/* Modules, kernels and launches.
 *
 * A module image is "WSIMCUDA" and three little-endian 64-bit words: the address of void kernel(const void *block,
 * int64 count) in this process, that of its registers int32[4] (ctaid.x, ntid.x, tid.x, nctaid.x), the bytes of the
 * argument block. A launch runs all threads of the grid, one after the other, in the order that is set.
 */
#define _GNU_SOURCE
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "warpsim_kernel"
#define MAX_THREADS 1024u
#define MAX_SHARED 49152

/* ----- modules ------------------------------------------------------------------------------------------ */

static CUresult load(CUmodule *found, const void *image, CUcontext ctx) {
    REQUIRE(found != NULL && image != NULL, INVALID_VALUE);
    TRY(unsafe_call());
    REQUIRE(!memcmp(image, "WSIMCUDA", 8), INVALID_IMAGE);
    uint64_t words[3];
    memcpy(words, (const char *)image + 8, sizeof words);
    REQUIRE(words[0] != 0 && words[1] != 0, INVALID_IMAGE);
    CUfunction f = calloc(1, sizeof *f);
    *f = (struct function){NULL, (void (*)(const void *, int64_t))words[0], (int32_t *)words[1], words[2], 0};
    *found = f->module = calloc(1, sizeof **found);
    **found = (struct module){MODULE_MAGIC, f, ctx};
    counter_add("live_modules", 1);
    return SUCCESS;
}

API CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    ENTER_CONTEXT(cuModuleLoadData);
    return load(module, image, ctx);
}

API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, void *options, void **values) {
    ENTER_CONTEXT(cuModuleLoadDataEx);
    (void)count, (void)options, (void)values;
    return load(module, image, ctx);
}

API CUresult cuLibraryLoadData(
    CUmodule *library, const void *code, void *jit, void **jit_values, unsigned jit_count, void *options, void **values,
    unsigned count
) {
    ENTER(cuLibraryLoadData);
    (void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    return load(library, code, NULL);
}

static bool loaded(CUmodule m) { return m != NULL && m->magic == MODULE_MAGIC; }

/* Work in queues may still use it: that runs first. */
static CUresult unload(CUmodule m) {
    REQUIRE(loaded(m), INVALID_HANDLE);
    TRY(unsafe_call());
    TRY(run_everything());
    m->magic = 0;
    counter_add("live_modules", -1);
    return SUCCESS;
}

API CUresult cuModuleUnload(CUmodule m) {
    ENTER_CONTEXT(cuModuleUnload);
    return unload(m);
}

API CUresult cuLibraryUnload(CUmodule m) {
    ENTER(cuLibraryUnload);
    return unload(m);
}

static CUresult find_function(CUfunction *found, CUmodule m, const char *name) {
    REQUIRE(loaded(m), INVALID_HANDLE);
    REQUIRE(name != NULL && !strcmp(name, NAME), NOT_FOUND);
    *found = m->function;
    return SUCCESS;
}

API CUresult cuModuleGetFunction(CUfunction *found, CUmodule m, const char *name) {
    ENTER_CONTEXT(cuModuleGetFunction);
    return find_function(found, m, name);
}

API CUresult cuLibraryGetKernel(CUfunction *found, CUmodule m, const char *name) {
    ENTER(cuLibraryGetKernel);
    return find_function(found, m, name);
}

API CUresult cuLibraryGetModule(CUmodule *found, CUmodule m) {
    ENTER_CONTEXT(cuLibraryGetModule);
    REQUIRE(loaded(m), INVALID_HANDLE);
    *found = m;
    return SUCCESS;
}

API CUresult cuModuleGetLoadingMode(int *mode) {
    ENTER(cuModuleGetLoadingMode);
    *mode = 1;
    return SUCCESS;
}

/* ----- functions ---------------------------------------------------------------------------------------- */

static bool usable(CUfunction f) { return f != NULL && loaded(f->module); }

API CUresult cuKernelGetFunction(CUfunction *found, CUfunction kernel) {
    ENTER_CONTEXT(cuKernelGetFunction);
    REQUIRE(usable(kernel), INVALID_HANDLE);
    *found = kernel;
    return SUCCESS;
}

API CUresult cuFuncGetModule(CUmodule *found, CUfunction f) {
    ENTER_CONTEXT(cuFuncGetModule);
    REQUIRE(usable(f), INVALID_HANDLE);
    *found = f->module;
    return SUCCESS;
}

API CUresult cuFuncGetName(const char **name, CUfunction f) {
    ENTER(cuFuncGetName);
    REQUIRE(usable(f), INVALID_HANDLE);
    *name = NAME;
    return SUCCESS;
}

API CUresult cuFuncLoad(CUfunction f) {
    ENTER_CONTEXT(cuFuncLoad);
    return usable(f) ? SUCCESS : INVALID_HANDLE;
}

static CUresult get_attribute(int *value, int attribute, CUfunction f) {
    REQUIRE(usable(f), INVALID_HANDLE);
    REQUIRE(attribute >= 0 && attribute < 18, INVALID_VALUE);
    int known[18] = {(int)MAX_THREADS, 0, 0, 0, 32, 90, settings.capability, 0, f->dynamic_shared, -1};
    *value = known[attribute];
    return SUCCESS;
}

static CUresult set_attribute(CUfunction f, int attribute, int value) {
    REQUIRE(usable(f), INVALID_HANDLE);
    REQUIRE(attribute == 8 || attribute == 9, INVALID_VALUE);
    if (attribute == 9) return SUCCESS;
    REQUIRE(value >= 0 && value <= MAX_SHARED, INVALID_VALUE);
    f->dynamic_shared = value;
    return SUCCESS;
}

API CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction f) {
    ENTER(cuFuncGetAttribute);
    return get_attribute(value, attribute, f);
}

API CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value) {
    ENTER(cuFuncSetAttribute);
    return set_attribute(f, attribute, value);
}

API CUresult cuKernelGetAttribute(int *value, int attribute, CUfunction f, CUdevice device) {
    ENTER(cuKernelGetAttribute);
    (void)device;
    return get_attribute(value, attribute, f);
}

API CUresult cuKernelSetAttribute(int attribute, int value, CUfunction f, CUdevice device) {
    ENTER(cuKernelSetAttribute);
    (void)device;
    return set_attribute(f, attribute, value);
}

API CUresult cuFuncSetCacheConfig(CUfunction f, int config) {
    ENTER(cuFuncSetCacheConfig);
    REQUIRE(config >= 0 && config <= 3, INVALID_VALUE);
    return usable(f) ? SUCCESS : INVALID_HANDLE;
}

API CUresult cuOccupancyMaxPotentialBlockSize(
    int *grid, int *threads, CUfunction f, size_t (*shared_of)(int), size_t shared, int limit
) {
    ENTER_CONTEXT(cuOccupancyMaxPotentialBlockSize);
    (void)shared_of, (void)shared;
    REQUIRE(usable(f), INVALID_HANDLE);
    *threads = limit > 0 && limit < (int)MAX_THREADS ? limit : (int)MAX_THREADS;
    *grid = 4 * (2048 / *threads);
    return SUCCESS;
}

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads, size_t shared) {
    ENTER_CONTEXT(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    (void)shared;
    REQUIRE(usable(f), INVALID_HANDLE);
    REQUIRE(threads > 0 && threads <= (int)MAX_THREADS, INVALID_VALUE);
    *blocks = 2048 / threads > 32 ? 32 : 2048 / threads;
    return SUCCESS;
}

/* ----- launches ----------------------------------------------------------------------------------------- */

/* The argument block and the count behind it, from a list of parameters or from one buffer. */
static CUresult pack(CUfunction f, void **parameters, void **extra, char **packed) {
    size_t bytes = f->block_bytes + sizeof(int64_t);
    REQUIRE((parameters != NULL) != (extra != NULL), INVALID_VALUE);
    if (parameters != NULL) {
        REQUIRE(parameters[0] != NULL && parameters[1] != NULL, INVALID_VALUE);
        *packed = malloc(bytes);
        memcpy(*packed, parameters[0], f->block_bytes);
        memcpy(*packed + f->block_bytes, parameters[1], sizeof(int64_t));
        return SUCCESS;
    }
    const char *buffer = NULL;
    size_t size = 0;
    for (void **e = extra; *e != NULL; e += 2) {
        REQUIRE(e[0] == (void *)1 || e[0] == (void *)2, INVALID_VALUE);
        if (e[0] == (void *)1) buffer = e[1];
        else size = *(size_t *)e[1];
    }
    REQUIRE(buffer != NULL && size == bytes, INVALID_VALUE);
    *packed = malloc(bytes);
    memcpy(*packed, buffer, bytes);
    return SUCCESS;
}

typedef struct {
    unsigned grid[3], threads[3], shared;
    CUstream stream;
    const struct {
        int id;
        char pad[4];
        unsigned value[16];
    } *attributes;
    unsigned attribute_count;
} launch_config;

static CUresult launch(const launch_config *c, CUfunction f, void **parameters, void **extra) {
    CUstream s;
    TRY(resolve(c->stream, &s));
    REQUIRE(usable(f), INVALID_HANDLE);
    REQUIRE(current() == s->context, INVALID_HANDLE);
    REQUIRE(f->module->context == NULL || f->module->context == s->context, INVALID_HANDLE);
    REQUIRE(c->grid[0] > 0 && c->grid[0] <= 2147483647u && c->threads[0] > 0, INVALID_VALUE);
    for (int k = 1; k < 3; k++) REQUIRE(c->grid[k] == 1 && c->threads[k] == 1, NOT_SUPPORTED); /* kernels know x */
    REQUIRE(c->threads[0] <= MAX_THREADS, INVALID_VALUE);
    REQUIRE(c->shared <= MAX_SHARED, INVALID_VALUE);
    op work = {.kind = OP_KERNEL, .kernel = {.function = f, .grid = c->grid[0], .threads = c->threads[0]}};
    TRY(pack(f, parameters, extra, &work.kernel.block));
    counter_add("launches", 1);
    return enqueue(s, work);
}

API CUresult cuLaunchKernel(
    CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned x, unsigned y, unsigned z,
    unsigned shared, CUstream stream, void **parameters, void **extra
) {
    ENTER_CONTEXT(cuLaunchKernel);
    launch_config c = {{grid_x, grid_y, grid_z}, {x, y, z}, shared, stream, NULL, 0};
    return launch(&c, f, parameters, extra);
}

API CUresult cuLaunchKernelEx(const launch_config *c, CUfunction f, void **parameters, void **extra) {
    ENTER_CONTEXT(cuLaunchKernelEx);
    return launch(c, f, parameters, extra);
}

static uint64_t divisor(uint64_t a, uint64_t b) { return b == 0 ? a : divisor(b, a % b); }

void run_kernel(op *work) {
    CUfunction f = work->kernel.function;
    uint64_t threads = work->kernel.threads, all = threads * work->kernel.grid, step = 1, start = 0;
    int64_t count;
    memcpy(&count, work->kernel.block + f->block_bytes, sizeof count);
    if (settings.order == REVERSE) step = all - 1, start = all - 1;
    if (settings.order == SHUFFLED) {
        step = 2654435761u % all | 1; /* threads k * step + start modulo all: each once */
        while (divisor(step, all) != 1) step += 2;
        step %= all, start = all / 3;
    }
    counter_add("kernels", 1);
    f->registers[1] = (int32_t)threads;
    f->registers[3] = (int32_t)work->kernel.grid;
    for (uint64_t k = 0, at = start; k < all; k++, at = (at + step) % all) {
        f->registers[0] = (int32_t)(at / threads);
        f->registers[2] = (int32_t)(at % threads);
        f->run(work->kernel.block, count);
    }
    fflush(stdout);
}

/* ----- host functions, and what kernels call ------------------------------------------------------------ */

static CUresult launch_host(CUstream handle, void (*call)(void *), void *data) {
    CUstream s;
    TRY(resolve(handle, &s));
    REQUIRE(call != NULL, INVALID_VALUE);
    return enqueue(s, (op){.kind = OP_HOST, .host = {call, data}});
}

API CUresult cuLaunchHostFunc(CUstream stream, void (*call)(void *), void *data) {
    ENTER_CONTEXT(cuLaunchHostFunc);
    return launch_host(stream, call, data);
}

API CUresult cuLaunchHostFunc_v2(CUstream stream, void (*call)(void *), void *data, unsigned mode) {
    ENTER_CONTEXT(cuLaunchHostFunc_v2);
    (void)mode;
    return launch_host(stream, call, data);
}

/* CUDA's vprintf: arguments lie behind each other, in 8 bytes each, characters in 4. */
API int fake_cuda_vprintf(const char *format, const char *values) {
    char piece[64];
    int count = 0;
    size_t at = 0;
    while (*format != 0) {
        size_t plain = strcspn(format, "%");
        fwrite(format, 1, plain, stdout);
        format += plain;
        if (*format == 0) break;
        size_t size = 1 + strspn(format + 1, "-+ #0123456789.lhz") + 1;
        if (size >= sizeof piece || format[size - 1] == 0) break;
        memcpy(piece, format, size);
        piece[size] = 0;
        format += size;
        char kind = piece[size - 1];
        if (kind == '%') {
            putchar('%');
            continue;
        }
        count++;
        size_t width = kind == 'c' ? 4 : 8;
        at = (at + width - 1) / width * width;
        if (kind == 'c') {
            int x;
            memcpy(&x, values + at, sizeof x);
            printf(piece, x);
        } else if (strchr("aAeEfFgG", kind) != NULL) {
            double x;
            memcpy(&x, values + at, sizeof x);
            printf(piece, x);
        } else {
            uint64_t x;
            memcpy(&x, values + at, sizeof x);
            printf(piece, x);
        }
        at += width;
    }
    return count;
}
