/* Host memory that the driver knows (pinned: allocated or registered), and what a pointer points to. */
#define _GNU_SOURCE
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct host_range {
    char *start;
    size_t size;
    unsigned flags;
    bool registered;
    struct host_range *next;
} host_range;

static host_range *ranges;

static host_range *range_of(const void *address, size_t bytes) {
    const char *p = address;
    for (host_range *r = ranges; r != NULL; r = r->next)
        if (p >= r->start && p < r->start + r->size && bytes <= (size_t)(r->start + r->size - p)) return r;
    return NULL;
}

bool pinned(const void *address, size_t bytes) { return range_of(address, bytes) != NULL; }

static host_range *add_range(char *start, size_t size, unsigned flags, bool registered) {
    host_range *r = malloc(sizeof *r);
    *r = (host_range){start, size, flags, registered, ranges};
    counter_add("pinned_bytes", (int64_t)size);
    return ranges = r;
}

static CUresult remove_range(const void *start, bool registered, host_range *found) {
    host_range **link = &ranges;
    while (*link != NULL && (*link)->start != start) link = &(*link)->next;
    host_range *r = *link;
    if (r == NULL || r->registered != registered) return registered ? HOST_MEMORY_NOT_REGISTERED : INVALID_VALUE;
    *found = *r;
    *link = r->next;
    counter_add("pinned_bytes", -(int64_t)r->size);
    free(r);
    return SUCCESS;
}

static CUresult allocate_host(void **address, size_t size, unsigned flags) {
    REQUIRE(address != NULL && size > 0, INVALID_VALUE);
    TRY(unsafe_call());
    void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(start != MAP_FAILED, OUT_OF_MEMORY);
    memset(start, 0xCD, size < (1u << 20) ? size : 1u << 20);
    *address = add_range(start, size, flags, false)->start;
    return SUCCESS;
}

API CUresult cuMemHostAlloc(void **address, size_t size, unsigned flags) {
    ENTER_CONTEXT(cuMemHostAlloc);
    return allocate_host(address, size, flags);
}

API CUresult cuMemAllocHost_v2(void **address, size_t size) {
    ENTER_CONTEXT(cuMemAllocHost_v2);
    return allocate_host(address, size, 0);
}

API CUresult cuMemFreeHost(void *address) {
    ENTER_CONTEXT(cuMemFreeHost);
    host_range gone;
    if (address == NULL) return SUCCESS;
    TRY(unsafe_call());
    REQUIRE(range_of(address, 0) != NULL, INVALID_VALUE);
    TRY(run_everything());
    TRY(remove_range(address, false, &gone));
    munmap(gone.start, gone.size); /* a later use of it ends the process */
    return SUCCESS;
}

API CUresult cuMemHostRegister_v2(void *address, size_t size, unsigned flags) {
    ENTER_CONTEXT(cuMemHostRegister_v2);
    REQUIRE(address != NULL && size > 0, INVALID_VALUE);
    TRY(unsafe_call());
    char *start = address;
    for (host_range *r = ranges; r != NULL; r = r->next)
        REQUIRE(start + size <= r->start || start >= r->start + r->size, HOST_MEMORY_ALREADY_REGISTERED);
    add_range(start, size, flags, true);
    return SUCCESS;
}

API CUresult cuMemHostUnregister(void *address) {
    ENTER_CONTEXT(cuMemHostUnregister);
    host_range gone;
    TRY(unsafe_call());
    TRY(run_everything());
    return remove_range(address, true, &gone);
}

API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *found, void *address, unsigned flags) {
    ENTER_CONTEXT(cuMemHostGetDevicePointer_v2);
    REQUIRE(flags == 0 && range_of(address, 1) != NULL, INVALID_VALUE);
    *found = (CUdeviceptr)address;
    return SUCCESS;
}

API CUresult cuMemHostGetFlags(unsigned *flags, void *address) {
    ENTER_CONTEXT(cuMemHostGetFlags);
    host_range *r = range_of(address, 1);
    REQUIRE(r != NULL, INVALID_VALUE);
    *flags = r->flags;
    return SUCCESS;
}

/* ----- what a pointer points to ------------------------------------------------------------------------- */

/* Attribute numbers and sizes are those of the interface; false for what the driver does not know. */
static bool pointer_attribute(void *data, int attribute, CUdeviceptr address, CUresult *status) {
    block *b = block_of(address, 1);
    host_range *h = b == NULL ? range_of((void *)address, 1) : NULL;
    int device = b != NULL ? b->home->device : 0;
    CUdeviceptr start = b != NULL ? b->address : h != NULL ? (CUdeviceptr)h->start : 0;
    size_t size = b != NULL ? b->size : h != NULL ? h->size : 0;
    *status = SUCCESS;
    switch (attribute) {
        case 1: *(CUcontext *)data = b != NULL && b->pool == NULL ? &contexts[device] : NULL; break;
        case 2: *(unsigned *)data = b != NULL ? 2 : h != NULL ? 1 : 0; break;
        case 3: *(CUdeviceptr *)data = start != 0 ? address : 0; break;
        case 4: *(void **)data = h != NULL ? (void *)address : NULL; break;
        case 7: *(uint64_t *)data = start / 256; break;
        case 8: *(unsigned char *)data = b != NULL && b->managed; break;
        case 9: *(int *)data = start != 0 ? device : -2; break;
        case 10: *(unsigned char *)data = 0; break;
        case 11: *(CUdeviceptr *)data = start; break;
        case 12: *(size_t *)data = size; break;
        case 13: *(unsigned char *)data = start != 0; break;
        case 16: *(int *)data = start != 0 ? 3 : 0; break;
        case 17: *(CUmemoryPool *)data = b != NULL ? b->pool : NULL; break;
        default: *status = NOT_SUPPORTED;
    }
    return start != 0;
}

API CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr address) {
    ENTER(cuPointerGetAttribute);
    uint64_t room[2] = {0};
    CUresult status;
    bool known = pointer_attribute(room, attribute, address, &status);
    TRY(status);
    REQUIRE(known, INVALID_VALUE);
    pointer_attribute(data, attribute, address, &status);
    return SUCCESS;
}

API CUresult cuPointerGetAttributes(unsigned count, const int *attributes, void **data, CUdeviceptr address) {
    ENTER(cuPointerGetAttributes);
    for (unsigned k = 0; k < count; k++) {
        CUresult status;
        pointer_attribute(data[k], attributes[k], address, &status);
        TRY(status);
    }
    return SUCCESS;
}
