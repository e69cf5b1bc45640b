/* Copies and fills.
 *
 * Bytes of pageable host memory are taken at the call, those of pinned memory when the copy runs. A copy into
 * pageable memory ends before the call returns. Calls without a stream use the legacy default stream: to or from
 * pinned memory they wait; from pageable memory they wait for what was enqueued before, but not for the copy itself;
 * between device allocations they do not wait at all, and neither do fills.
 */
#define _GNU_SOURCE
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST_PITCH 2147483647u

typedef enum { DEVICE, PINNED, PAGEABLE, WRONG } place;

/* Where a box of `extent` bytes from its first to its last byte lies. */
static place place_of_box(const void *start, size_t extent) {
    if (block_of((uint64_t)start, extent) != NULL) return DEVICE;
    if (in_device_memory((uint64_t)start)) return WRONG;
    if (pinned(start, extent)) return PINNED;
    return start == NULL || pinned(start, 1) ? WRONG : PAGEABLE;
}

static size_t extent_of(size_t width, size_t pitch, size_t height, size_t slice, size_t depth) {
    return (depth - 1) * slice + (height - 1) * pitch + width;
}

typedef enum { HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, ANY } direction;

static bool fits(direction d, place to, place from) {
    if (to == WRONG || from == WRONG) return false;
    if (d == HOST_TO_DEVICE) return to != PAGEABLE && from != DEVICE;
    if (d == DEVICE_TO_HOST) return to != DEVICE && from != PAGEABLE;
    return d == ANY || (to != PAGEABLE && from != PAGEABLE);
}

static void stage(copy *c) {
    c->staged = malloc(c->width * c->height * c->depth);
    char *at = c->staged;
    for (size_t k = 0; k < c->depth; k++)
        for (size_t row = 0; row < c->height; row++, at += c->width)
            memcpy(at, c->from + k * c->from_slice + row * c->from_pitch, c->width);
}

/* handle NULL and `waits`: a call without a stream. */
static CUresult enqueue_copy(copy c, direction d, CUstream handle, bool waits) {
    CUstream s;
    TRY(resolve(handle, &s));
    if (waits) TRY(unsafe_call());
    if (c.width == 0 || c.height == 0 || c.depth == 0) return SUCCESS;
    size_t to_extent = extent_of(c.width, c.to_pitch, c.height, c.to_slice, c.depth);
    size_t from_extent = extent_of(c.width, c.from_pitch, c.height, c.from_slice, c.depth);
    place to = place_of_box(c.to, to_extent), from = place_of_box(c.from, from_extent);
    REQUIRE(fits(d, to, from), INVALID_VALUE);
    bool flat = c.height == 1 && c.depth == 1, apart = c.to + to_extent <= c.from || c.from + from_extent <= c.to;
    REQUIRE(!flat || apart || c.to == c.from, INVALID_VALUE); /* overlaps are undefined */
    if (s->capturing != NULL) return enqueue(s, (op){.kind = OP_COPY, .copy = c});
    if (from == PAGEABLE) {
        if (waits) TRY(run_before_legacy(s->context));
        stage(&c);
    }
    TRY(enqueue(s, (op){.kind = OP_COPY, .copy = c}));
    bool host = to == PINNED || from == PINNED;
    return to == PAGEABLE || (waits && host) ? run_until(s, s->enqueued) : SUCCESS;
}

static copy flat_copy(uint64_t to, uint64_t from, size_t bytes) {
    return (copy){.to = (char *)to, .from = (char *)from, .width = bytes, .height = 1, .depth = 1};
}

/* ----- entries: one-dimensional copies ------------------------------------------------------------------ */

API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    ENTER_CONTEXT(cuMemcpy);
    return enqueue_copy(flat_copy(to, from, bytes), ANY, NULL, true);
}

API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER_CONTEXT(cuMemcpyAsync);
    return enqueue_copy(flat_copy(to, from, bytes), ANY, stream, false);
}

API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    ENTER_CONTEXT(cuMemcpyHtoD_v2);
    return enqueue_copy(flat_copy(to, (uint64_t)from, bytes), HOST_TO_DEVICE, NULL, true);
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    ENTER_CONTEXT(cuMemcpyHtoDAsync_v2);
    return enqueue_copy(flat_copy(to, (uint64_t)from, bytes), HOST_TO_DEVICE, stream, false);
}

API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    ENTER_CONTEXT(cuMemcpyDtoH_v2);
    return enqueue_copy(flat_copy((uint64_t)to, from, bytes), DEVICE_TO_HOST, NULL, true);
}

API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER_CONTEXT(cuMemcpyDtoHAsync_v2);
    return enqueue_copy(flat_copy((uint64_t)to, from, bytes), DEVICE_TO_HOST, stream, false);
}

API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    ENTER_CONTEXT(cuMemcpyDtoD_v2);
    return enqueue_copy(flat_copy(to, from, bytes), DEVICE_TO_DEVICE, NULL, true);
}

API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER_CONTEXT(cuMemcpyDtoDAsync_v2);
    return enqueue_copy(flat_copy(to, from, bytes), DEVICE_TO_DEVICE, stream, false);
}

/* A pointer to device memory belongs to the context that the caller names. */
static bool belongs(CUdeviceptr address, CUcontext ctx) {
    block *b = block_of(address, 1);
    bool known = ctx >= contexts && ctx < contexts + settings.devices;
    return known && b != NULL && b->home->device == ctx->device;
}

API CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t bytes) {
    ENTER_CONTEXT(cuMemcpyPeer);
    REQUIRE(belongs(to, there) && belongs(from, here), INVALID_VALUE);
    TRY(run_context(there));
    TRY(run_context(here));
    TRY(enqueue_copy(flat_copy(to, from, bytes), DEVICE_TO_DEVICE, NULL, true));
    return run_context(ctx);
}

API CUresult cuMemcpyPeerAsync(
    CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t bytes, CUstream stream
) {
    ENTER_CONTEXT(cuMemcpyPeerAsync);
    REQUIRE(belongs(to, there) && belongs(from, here), INVALID_VALUE);
    return enqueue_copy(flat_copy(to, from, bytes), DEVICE_TO_DEVICE, stream, false);
}

/* ----- entries: boxes ----------------------------------------------------------------------------------- */

typedef struct {
    size_t from_x, from_y;
    int from_kind;
    const void *from_host;
    CUdeviceptr from_device;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_kind;
    void *to_host;
    CUdeviceptr to_device;
    void *to_array;
    size_t to_pitch;
    size_t width, height;
} plane_copy; /* CUDA_MEMCPY2D */

typedef struct {
    size_t from_x, from_y, from_z, from_level;
    int from_kind;
    const void *from_host;
    CUdeviceptr from_device;
    void *from_array, *from_context;
    size_t from_pitch, from_height;
    size_t to_x, to_y, to_z, to_level;
    int to_kind;
    void *to_host;
    CUdeviceptr to_device;
    void *to_array, *to_context;
    size_t to_pitch, to_height;
    size_t width, height, depth;
} box_copy; /* CUDA_MEMCPY3D and its peer form */

/* Kinds of memory: 1 host, 2 device, 4 either (the field for devices holds the pointer). */
static char *pointer(int kind, const void *host, CUdeviceptr device) {
    return kind == 1 ? (char *)host : kind == 2 || kind == 4 ? (char *)device : NULL;
}

static direction direction_of(int to, int from) {
    if (to == 4 || from == 4 || to == from) return to == 2 && from == 2 ? DEVICE_TO_DEVICE : ANY;
    return to == 2 ? HOST_TO_DEVICE : DEVICE_TO_HOST;
}

static CUresult enqueue_box(const box_copy *b, CUstream stream, bool waits) {
    char *to = pointer(b->to_kind, b->to_host, b->to_device);
    char *from = pointer(b->from_kind, b->from_host, b->from_device);
    REQUIRE(to != NULL && from != NULL, INVALID_VALUE);
    size_t to_pitch = b->to_pitch != 0 ? b->to_pitch : b->width + b->to_x;
    size_t from_pitch = b->from_pitch != 0 ? b->from_pitch : b->width + b->from_x;
    size_t to_height = b->to_height != 0 ? b->to_height : b->height + b->to_y;
    size_t from_height = b->from_height != 0 ? b->from_height : b->height + b->from_y;
    REQUIRE(b->to_x + b->width <= to_pitch && b->from_x + b->width <= from_pitch, INVALID_VALUE);
    REQUIRE(to_pitch <= LARGEST_PITCH && from_pitch <= LARGEST_PITCH, INVALID_VALUE);
    REQUIRE(b->depth <= 1 || (b->to_y + b->height <= to_height && b->from_y + b->height <= from_height), INVALID_VALUE);
    copy c = {
        .to_pitch = to_pitch, .to_slice = to_pitch * to_height, .from_pitch = from_pitch,
        .from_slice = from_pitch * from_height, .width = b->width, .height = b->height, .depth = b->depth,
    };
    c.to = to + b->to_z * c.to_slice + b->to_y * to_pitch + b->to_x;
    c.from = from + b->from_z * c.from_slice + b->from_y * from_pitch + b->from_x;
    return enqueue_copy(c, direction_of(b->to_kind, b->from_kind), stream, waits);
}

static CUresult enqueue_plane(const plane_copy *p, CUstream stream, bool waits) {
    box_copy b = {
        .from_x = p->from_x, .from_y = p->from_y, .from_kind = p->from_kind, .from_host = p->from_host,
        .from_device = p->from_device, .from_pitch = p->from_pitch, .to_x = p->to_x, .to_y = p->to_y,
        .to_kind = p->to_kind, .to_host = p->to_host, .to_device = p->to_device, .to_pitch = p->to_pitch,
        .width = p->width, .height = p->height, .depth = 1,
    };
    return enqueue_box(&b, stream, waits);
}

API CUresult cuMemcpy2D_v2(const plane_copy *wanted) {
    ENTER_CONTEXT(cuMemcpy2D_v2);
    return enqueue_plane(wanted, NULL, true);
}

API CUresult cuMemcpy2DUnaligned_v2(const plane_copy *wanted) {
    ENTER_CONTEXT(cuMemcpy2DUnaligned_v2);
    return enqueue_plane(wanted, NULL, true);
}

API CUresult cuMemcpy2DAsync_v2(const plane_copy *wanted, CUstream stream) {
    ENTER_CONTEXT(cuMemcpy2DAsync_v2);
    return enqueue_plane(wanted, stream, false);
}

API CUresult cuMemcpy3D_v2(const box_copy *wanted) {
    ENTER_CONTEXT(cuMemcpy3D_v2);
    return enqueue_box(wanted, NULL, true);
}

API CUresult cuMemcpy3DAsync_v2(const box_copy *wanted, CUstream stream) {
    ENTER_CONTEXT(cuMemcpy3DAsync_v2);
    return enqueue_box(wanted, stream, false);
}

API CUresult cuMemcpy3DPeer(const box_copy *wanted) {
    ENTER_CONTEXT(cuMemcpy3DPeer);
    return enqueue_box(wanted, NULL, true);
}

API CUresult cuMemcpy3DPeerAsync(const box_copy *wanted, CUstream stream) {
    ENTER_CONTEXT(cuMemcpy3DPeerAsync);
    return enqueue_box(wanted, stream, false);
}

/* ----- entries: fills ----------------------------------------------------------------------------------- */

static CUresult enqueue_fill(
    CUdeviceptr to, size_t pitch, uint32_t value, int size, size_t width, size_t height, CUstream handle
) {
    CUstream s;
    TRY(resolve(handle, &s));
    REQUIRE(to % (unsigned)size == 0 && (height <= 1 || pitch % (unsigned)size == 0), INVALID_VALUE);
    if (width == 0 || height == 0) return SUCCESS;
    REQUIRE(height == 1 || width * (size_t)size <= pitch, INVALID_VALUE);
    place at = place_of_box((void *)to, (height - 1) * pitch + width * (size_t)size);
    REQUIRE(at == DEVICE || at == PINNED, INVALID_VALUE);
    fill f = {.to = (char *)to, .pitch = pitch, .width = width, .height = height, .value = value, .size = size};
    return enqueue(s, (op){.kind = OP_FILL, .fill = f});
}

#define FILLS(function, plane, type, size)                                                                            \
    API CUresult function##_v2(CUdeviceptr to, type value, size_t count) {                                            \
        ENTER_CONTEXT(function##_v2);                                                                                 \
        TRY(unsafe_call());                                                                                           \
        return enqueue_fill(to, 0, value, size, count, 1, NULL);                                                      \
    }                                                                                                                 \
    API CUresult function##Async(CUdeviceptr to, type value, size_t count, CUstream stream) {                         \
        ENTER_CONTEXT(function##Async);                                                                               \
        return enqueue_fill(to, 0, value, size, count, 1, stream);                                                    \
    }                                                                                                                 \
    API CUresult plane##_v2(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height) {                  \
        ENTER_CONTEXT(plane##_v2);                                                                                    \
        TRY(unsafe_call());                                                                                           \
        return enqueue_fill(to, pitch, value, size, width, height, NULL);                                             \
    }                                                                                                                 \
    API CUresult plane##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, CUstream s) {    \
        ENTER_CONTEXT(plane##Async);                                                                                  \
        return enqueue_fill(to, pitch, value, size, width, height, s);                                                \
    }

FILLS(cuMemsetD8, cuMemsetD2D8, unsigned char, 1)
FILLS(cuMemsetD16, cuMemsetD2D16, unsigned short, 2)
FILLS(cuMemsetD32, cuMemsetD2D32, unsigned, 4)
