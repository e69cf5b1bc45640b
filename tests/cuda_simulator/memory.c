/* Device memory and pools.
 *
 * Each device has two address ranges that are reserved and closed: one for cuMemAlloc, one for pools. Fresh
 * memory holds 0xCD, freed memory 0xDD; behind every allocation a rim of 0xFD is checked when it is freed, and a
 * damaged rim ends the process. Of allocations beyond `EDGE` bytes only the ends are filled.
 */
#define _GNU_SOURCE
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 256u
#define RIM 256u
#define EDGE (4u << 20)
#define FRESH 0xCD
#define FREED 0xDD
#define RIM_BYTE 0xFD

static region regions[MAX_REGIONS]; /* 2 * device: cuMemAlloc, 2 * device + 1: pools */
static struct pool default_pools[MAX_DEVICES];
static CUmemoryPool current_pools[MAX_DEVICES];
static uint64_t plain_used[MAX_DEVICES];

void memory_start(void) {
    for (int k = 0; k < 2 * settings.devices; k++) {
        region *r = &regions[k];
        r->size = 2 * settings.memory + (64u << 20);
        r->base = mmap(NULL, r->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (r->base == MAP_FAILED) {
            perror("simulated device memory");
            abort();
        }
        r->device = k / 2;
        r->pooled = k % 2;
        default_pools[k / 2].device = k / 2;
        current_pools[k / 2] = &default_pools[k / 2];
    }
}

/* ----- who may look ------------------------------------------------------------------------------------- */

void open_regions(unsigned mask) {
    for (int k = 0; k < 2 * settings.devices; k++) {
        bool wanted = mask >> k & 1;
        if (regions[k].open == wanted) continue;
        mprotect(regions[k].base, regions[k].size, wanted ? PROT_READ | PROT_WRITE : PROT_NONE);
        regions[k].open = wanted;
    }
}

void close_regions(void) { open_regions(0); }

/* What kernels on a device may use: its own memory, that of enabled peers, pools that were opened to it. */
unsigned readable_regions(int device) {
    unsigned mask = 3u << 2 * device;
    for (int k = 0; k < settings.devices; k++) {
        if (contexts[device].peers >> k & 1) mask |= 1u << 2 * k;
        if (default_pools[k].readable >> device & 1) mask |= 2u << 2 * k;
    }
    return mask;
}

static region *region_of(uint64_t address) {
    for (region *r = regions; r < regions + 2 * settings.devices; r++)
        if (address >= (uint64_t)r->base && address < (uint64_t)r->base + r->size) return r;
    return NULL;
}

bool in_device_memory(uint64_t address) { return region_of(address) != NULL; }

unsigned regions_of(uint64_t address) {
    region *r = region_of(address);
    return r == NULL ? 0 : 1u << (r - regions);
}

/* ----- blocks ------------------------------------------------------------------------------------------- */

/* The place of the last block that starts at or before an address, or -1. */
static long place_of(region *r, uint64_t address) {
    long low = -1, high = (long)r->count;
    while (high - low > 1) {
        long middle = (low + high) / 2;
        if (r->blocks[middle]->address <= address) low = middle;
        else high = middle;
    }
    return low;
}

block *block_of(uint64_t address, size_t bytes) {
    region *r = region_of(address);
    long k = r == NULL ? -1 : place_of(r, address);
    if (k < 0) return NULL;
    block *b = r->blocks[k];
    bool inside = address + bytes <= b->address + b->size && address + bytes >= address;
    return inside && (b->live || b->owner != NULL) ? b : NULL;
}

/* The first gap that is large enough. */
static block *place_block(region *r, size_t size) {
    size_t span = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + RIM;
    uint64_t at = (uint64_t)r->base;
    size_t k = 0;
    while (k < r->count && r->blocks[k]->address - at < span) at = r->blocks[k]->address + r->blocks[k]->span, k++;
    if (at + span > (uint64_t)r->base + r->size) return NULL;
    if (r->count == r->capacity) {
        r->capacity = 2 * r->capacity + 64;
        r->blocks = realloc(r->blocks, r->capacity * sizeof *r->blocks);
    }
    memmove(r->blocks + k + 1, r->blocks + k, (r->count - k) * sizeof *r->blocks);
    r->count++;
    block *b = r->blocks[k] = calloc(1, sizeof *b);
    *b = (block){.address = at, .size = size, .span = span, .home = r, .live = true};
    return b;
}

static size_t room(const block *b) { return b->span - RIM; }

static uint64_t reserved(int device) {
    uint64_t sum = plain_used[device];
    return sum + default_pools[device].reserved;
}

static void count_pool(CUmemoryPool p, int64_t more) {
    p->used += (uint64_t)more;
    if (p->used > p->used_high) p->used_high = p->used;
    if (p->reserved < p->used) p->reserved = p->used;
    if (p->reserved > p->reserved_high) p->reserved_high = p->reserved;
}

/* Pools give back what exceeds their threshold whenever somebody waits. */
void trim_pools(void) {
    for (int k = 0; k < settings.devices; k++) {
        CUmemoryPool p = &default_pools[k];
        uint64_t keep = p->used > p->threshold ? p->used : p->threshold;
        if (p->reserved > keep) p->reserved = keep;
    }
}

static block *try_allocate(int device, CUmemoryPool pool, size_t size) {
    size_t needed = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint64_t used = plain_used[device] + default_pools[device].used;
    if (needed < size || needed > settings.memory || used + needed > settings.memory) return NULL;
    block *b = place_block(&regions[2 * device + (pool != NULL)], size);
    if (b == NULL) return NULL;
    b->pool = pool;
    if (pool == NULL) plain_used[device] += needed;
    else {
        count_pool(&default_pools[device], (int64_t)needed);
        if (pool != &default_pools[device]) count_pool(pool, (int64_t)needed);
    }
    counter_add("live_bytes", (int64_t)size);
    counter_add("live_blocks", 1);
    return b;
}

/* Memory whose free still waits in a queue serves too, as the real driver waits for it. */
static CUresult allocate(int device, CUmemoryPool pool, size_t size, block **found) {
    *found = try_allocate(device, pool, size);
    if (*found == NULL) {
        TRY(run_everything());
        *found = try_allocate(device, pool, size);
    }
    return *found == NULL ? OUT_OF_MEMORY : SUCCESS;
}

static void paint(block *b, int byte) {
    open_regions(1u << (b->home - regions));
    char *data = (char *)b->address;
    if (b->size <= EDGE) memset(data, byte, b->size);
    else {
        memset(data, byte, EDGE / 4);
        memset(data + b->size - EDGE / 4, byte, EDGE / 4);
    }
}

void memory_begin(block *b) {
    paint(b, FRESH);
    memset((char *)b->address + b->size, RIM_BYTE, b->span - b->size);
}

static void check_rim(const block *b) {
    const unsigned char *rim = (const unsigned char *)b->address + b->size;
    for (size_t k = 0; k < b->span - b->size; k++)
        if (rim[k] != RIM_BYTE) {
            fprintf(stderr, "simulated GPU: byte %zu behind an allocation of %zu bytes was written\n", k, b->size);
            abort();
        }
}

void memory_end(block *b) {
    paint(b, FREED);
    check_rim(b);
    if (b->owner == NULL) release_block(b);
}

/* The address range serves others from now on. */
void release_block(block *b) {
    region *r = b->home;
    open_regions(1u << (r - regions));
    uintptr_t page = 4096, first = (b->address + EDGE / 4 + page - 1) / page * page;
    uintptr_t last = (b->address + b->size - (b->size > EDGE ? EDGE / 4 : 0)) / page * page;
    if (b->size > EDGE && last > first) madvise((void *)first, last - first, MADV_DONTNEED);
    int64_t less = -(int64_t)room(b);
    if (b->pool == NULL) plain_used[r->device] += (uint64_t)less;
    else {
        count_pool(&default_pools[r->device], less);
        if (b->pool != &default_pools[r->device]) count_pool(b->pool, less);
    }
    long k = place_of(r, b->address);
    memmove(r->blocks + k, r->blocks + k + 1, (r->count - (size_t)k - 1) * sizeof *r->blocks);
    r->count--;
    free(b);
}

/* The allocation that starts at an address, for its free; afterwards no call may name it. */
static CUresult retire(CUdeviceptr address, block **found) {
    block *b = block_of(address, 0);
    REQUIRE(b != NULL && b->live && b->address == address, INVALID_VALUE);
    b->live = false;
    counter_add("live_bytes", -(int64_t)b->size);
    counter_add("live_blocks", -1);
    *found = b;
    return SUCCESS;
}

/* ----- entries: allocation ------------------------------------------------------------------------------ */

API CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
    ENTER_CONTEXT(cuMemGetInfo_v2);
    *total = settings.memory;
    *available = settings.memory - reserved(ctx->device);
    return SUCCESS;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    ENTER_CONTEXT(cuMemAlloc_v2);
    REQUIRE(address != NULL && size > 0, INVALID_VALUE);
    TRY(unsafe_call());
    block *b;
    TRY(allocate(ctx->device, NULL, size, &b));
    memory_begin(b);
    *address = b->address;
    return SUCCESS;
}

/* Managed memory lies where that of cuMemAlloc does: the host cannot reach it here, which is no worse than required
 * of a program that also runs where managed memory is not concurrent. */
API CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned flags) {
    ENTER_CONTEXT(cuMemAllocManaged);
    REQUIRE(address != NULL && size > 0 && (flags == 1 || flags == 2), INVALID_VALUE);
    TRY(unsafe_call());
    block *b;
    TRY(allocate(ctx->device, NULL, size, &b));
    b->managed = true;
    memory_begin(b);
    *address = b->address;
    return SUCCESS;
}

API CUresult cuMemFree_v2(CUdeviceptr address) {
    ENTER_CONTEXT(cuMemFree_v2);
    if (address == 0) return SUCCESS;
    TRY(unsafe_call());
    block *b;
    TRY(retire(address, &b));
    TRY(run_everything());
    memory_end(b);
    return SUCCESS;
}

static CUresult allocate_in_stream(CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream handle) {
    CUstream s;
    REQUIRE(address != NULL && size > 0, INVALID_VALUE);
    TRY(resolve(handle, &s));
    if (pool == NULL) pool = current_pools[s->context->device];
    REQUIRE(!pool->destroyed, INVALID_VALUE);
    REQUIRE(s->capturing == NULL || !s->capturing->invalid, STREAM_CAPTURE_INVALIDATED);
    block *b;
    TRY(allocate(pool->device, pool, size, &b));
    if (s->capturing != NULL) adopt_block(s->capturing->graph, b);
    *address = b->address;
    return enqueue(s, (op){.kind = OP_ALLOCATE, .block = b});
}

API CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream) {
    ENTER_CONTEXT(cuMemAllocAsync);
    return allocate_in_stream(address, size, NULL, stream);
}

API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream) {
    ENTER_CONTEXT(cuMemAllocFromPoolAsync);
    REQUIRE(pool != NULL, INVALID_VALUE);
    return allocate_in_stream(address, size, pool, stream);
}

API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
    ENTER_CONTEXT(cuMemFreeAsync);
    CUstream s;
    block *b;
    TRY(resolve(handle, &s));
    if (address == 0) return SUCCESS;
    bool capturing = s->capturing != NULL;
    block *named = block_of(address, 0);
    bool own = capturing && named != NULL && named->owner == s->capturing->graph;
    if (capturing && !own) return refuse_capture(s->capturing, INVALID_VALUE);
    TRY(retire(address, &b));
    b->freed_by_owner = capturing;
    return enqueue(s, (op){.kind = OP_FREE, .block = b});
}

API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
    ENTER_CONTEXT(cuMemGetAddressRange_v2);
    block *b = block_of(address, 1);
    REQUIRE(b != NULL, NOT_FOUND);
    if (base != NULL) *base = b->address;
    if (size != NULL) *size = b->size;
    return SUCCESS;
}

/* ----- entries: pools ----------------------------------------------------------------------------------- */

API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
    ENTER(cuDeviceGetDefaultMemPool);
    REQUIRE(device >= 0 && device < settings.devices, INVALID_DEVICE);
    *pool = &default_pools[device];
    return SUCCESS;
}

API CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) {
    ENTER(cuDeviceGetMemPool);
    REQUIRE(device >= 0 && device < settings.devices, INVALID_DEVICE);
    *pool = current_pools[device];
    return SUCCESS;
}

API CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    ENTER(cuDeviceSetMemPool);
    REQUIRE(device >= 0 && device < settings.devices, INVALID_DEVICE);
    REQUIRE(pool != NULL && pool->device == device && !pool->destroyed, INVALID_VALUE);
    current_pools[device] = pool;
    return SUCCESS;
}

typedef struct {
    int type, id;
} location; /* type 1: a device */

typedef struct {
    int kind, handles;
    location place;
} pool_wishes;

typedef struct {
    location place;
    int flags; /* 0: none, 3: read and write */
} pool_access;

API CUresult cuMemPoolCreate(CUmemoryPool *pool, const pool_wishes *wanted) {
    ENTER(cuMemPoolCreate);
    REQUIRE(wanted->place.type == 1 && wanted->place.id >= 0 && wanted->place.id < settings.devices, INVALID_VALUE);
    REQUIRE(wanted->handles == 0, NOT_SUPPORTED);
    *pool = calloc(1, sizeof **pool);
    (*pool)->device = wanted->place.id;
    return SUCCESS;
}

API CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    ENTER(cuMemPoolDestroy);
    REQUIRE(pool != NULL && !pool->destroyed, INVALID_VALUE);
    REQUIRE(pool < default_pools || pool >= default_pools + MAX_DEVICES, NOT_PERMITTED);
    pool->destroyed = true; /* its allocations live on */
    if (current_pools[pool->device] == pool) current_pools[pool->device] = &default_pools[pool->device];
    return SUCCESS;
}

API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value) {
    ENTER(cuMemPoolGetAttribute);
    REQUIRE(pool != NULL && !pool->destroyed, INVALID_VALUE);
    uint64_t *wide = value;
    switch (attribute) {
        case 1: case 2: case 3: *(int *)value = !pool->reuse[attribute - 1]; return SUCCESS;
        case 4: *wide = pool->threshold; return SUCCESS;
        case 5: *wide = pool->reserved; return SUCCESS;
        case 6: *wide = pool->reserved_high; return SUCCESS;
        case 7: *wide = pool->used; return SUCCESS;
        case 8: *wide = pool->used_high; return SUCCESS;
    }
    return INVALID_VALUE;
}

API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, const void *value) {
    ENTER(cuMemPoolSetAttribute);
    REQUIRE(pool != NULL && !pool->destroyed, INVALID_VALUE);
    const uint64_t *wide = value;
    switch (attribute) {
        case 1: case 2: case 3: pool->reuse[attribute - 1] = !*(const int *)value; return SUCCESS;
        case 4: pool->threshold = *wide; return SUCCESS;
        case 6: case 8: /* high marks can only be reset */
            REQUIRE(*wide == 0, INVALID_VALUE);
            if (attribute == 6) pool->reserved_high = pool->reserved;
            else pool->used_high = pool->used;
            return SUCCESS;
    }
    return INVALID_VALUE;
}

API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    ENTER(cuMemPoolTrimTo);
    REQUIRE(pool != NULL && !pool->destroyed, INVALID_VALUE);
    if (pool->reserved > keep) pool->reserved = pool->used > keep ? pool->used : keep;
    return SUCCESS;
}

API CUresult cuMemPoolSetAccess(CUmemoryPool pool, const pool_access *wanted, size_t count) {
    ENTER(cuMemPoolSetAccess);
    REQUIRE(pool != NULL && !pool->destroyed, INVALID_VALUE);
    for (size_t k = 0; k < count; k++) {
        int device = wanted[k].place.id;
        REQUIRE(wanted[k].place.type == 1 && device >= 0 && device < settings.devices, INVALID_DEVICE);
        REQUIRE(device != pool->device || wanted[k].flags == 3, INVALID_VALUE);
        if (wanted[k].flags == 3) pool->readable |= 1u << device;
        else pool->readable &= ~(1u << device);
        /* address ranges are opened by device: pools of one device share their readers */
        if (wanted[k].flags == 3) default_pools[pool->device].readable |= 1u << device;
    }
    return SUCCESS;
}

API CUresult cuMemPoolGetAccess(int *flags, CUmemoryPool pool, const location *place) {
    ENTER(cuMemPoolGetAccess);
    REQUIRE(pool != NULL && !pool->destroyed, INVALID_VALUE);
    REQUIRE(place->type == 1 && place->id >= 0 && place->id < settings.devices, INVALID_DEVICE);
    *flags = place->id == pool->device || pool->readable >> place->id & 1 ? 3 : 0;
    return SUCCESS;
}

API CUresult cuDeviceGraphMemTrim(CUdevice device) {
    ENTER(cuDeviceGraphMemTrim);
    REQUIRE(device >= 0 && device < settings.devices, INVALID_DEVICE);
    return SUCCESS;
}
