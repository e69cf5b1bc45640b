/* What the parts of the simulated CUDA driver share: types of the driver interface that they need, written
 * down from its documentation, the simulator's own objects, and the frame of every entry.
 *
 * One recursive lock guards everything. Device memory is closed (PROT_NONE) but while the simulator itself
 * works on it: `ENTER` opens an entry, and leaving it closes whatever was opened.
 */
#ifndef FAKE_CUDA_DRIVER_H
#define FAKE_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "entries.h"

#define API __attribute__((visibility("default")))
#define MAX_DEVICES 8
#define MAX_REGIONS (2 * MAX_DEVICES)

#define ERRORS(X)                                                                                                     \
    X(0, SUCCESS, "no error")                                                                                         \
    X(1, INVALID_VALUE, "invalid argument")                                                                           \
    X(2, OUT_OF_MEMORY, "out of memory")                                                                              \
    X(3, NOT_INITIALIZED, "initialization error")                                                                     \
    X(4, DEINITIALIZED, "driver shutting down")                                                                       \
    X(34, STUB_LIBRARY, "CUDA driver is a stub library")                                                              \
    X(46, DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable")                                    \
    X(100, NO_DEVICE, "no CUDA-capable device is detected")                                                           \
    X(101, INVALID_DEVICE, "invalid device ordinal")                                                                  \
    X(200, INVALID_IMAGE, "device kernel image is invalid")                                                           \
    X(201, INVALID_CONTEXT, "invalid device context")                                                                 \
    X(209, NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device")                             \
    X(217, PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices")                         \
    X(218, INVALID_PTX, "a PTX JIT compilation failed")                                                               \
    X(400, INVALID_HANDLE, "invalid resource handle")                                                                 \
    X(401, ILLEGAL_STATE, "the operation cannot be performed in the present state")                                   \
    X(500, NOT_FOUND, "named symbol not found")                                                                       \
    X(600, NOT_READY, "device not ready")                                                                             \
    X(700, ILLEGAL_ADDRESS, "an illegal memory access was encountered")                                               \
    X(701, LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")                                        \
    X(704, PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled")                                             \
    X(705, PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled")                                               \
    X(709, CONTEXT_IS_DESTROYED, "context is destroyed")                                                              \
    X(712, HOST_MEMORY_ALREADY_REGISTERED, "part or all of the requested memory range is already mapped")             \
    X(713, HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region")                   \
    X(719, LAUNCH_FAILED, "unspecified launch failure")                                                               \
    X(800, NOT_PERMITTED, "operation not permitted")                                                                  \
    X(801, NOT_SUPPORTED, "operation not supported")                                                                  \
    X(900, STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")                            \
    X(901, STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture")                     \
    X(902, STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences")                   \
    X(903, STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began")                          \
    X(904, STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work")                                             \
    X(905, STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream")                       \
    X(906, STREAM_CAPTURE_IMPLICIT, "operation would make the legacy stream depend on a capturing blocking stream")   \
    X(907, CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream")                 \
    X(908, STREAM_CAPTURE_WRONG_THREAD, "attempt to terminate a thread-local capture sequence from another thread")   \
    X(999, UNKNOWN, "unknown error")

#define ERROR_CODE(code, name, text) name = code,
typedef enum { ERRORS(ERROR_CODE) } CUresult;

typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct context *CUcontext;
typedef struct stream *CUstream;
typedef struct event *CUevent;
typedef struct module *CUmodule;
typedef struct function *CUfunction;
typedef struct pool *CUmemoryPool;
typedef struct graph *CUgraph;
typedef struct exec *CUgraphExec;
typedef struct node *CUgraphNode;

typedef struct region region;
typedef struct block block;
typedef struct op op;
typedef struct capture capture;

/* ----- objects ------------------------------------------------------------------------------------------ */

/* An allocation. `span` counts the closed rim behind it, which must keep its pattern. */
struct block {
    uint64_t address;
    size_t size, span;
    region *home;
    CUmemoryPool pool;  /* NULL: of cuMemAlloc */
    CUgraph owner;      /* of memory that a graph allocates */
    bool live, freed_by_owner, managed;
};

/* Address space of one device: half of the regions hold pools, the other half cuMemAlloc's memory. */
struct region {
    char *base;
    size_t size, count, capacity;
    block **blocks; /* by address */
    int device;
    bool pooled, open;
};

struct pool {
    int device;
    uint64_t threshold, used, used_high, reserved, reserved_high;
    uint64_t reuse[3];
    unsigned readable; /* bits of devices */
    bool destroyed;
};

typedef struct {
    CUstream stream;
    uint64_t number;
} moment; /* the end of operation `number` of a stream */

struct context {
    int device;
    unsigned references, flags;
    unsigned peers; /* bits of devices whose memory it may use */
    CUstream streams, legacy;
};

struct stream {
    uint64_t magic, id;
    CUcontext context;
    unsigned flags;
    int priority;
    uint64_t enqueued, done;
    op *head, *tail;
    CUstream next; /* of the context */
    capture *capturing;
    CUgraphNode *frontier;
    size_t frontier_count;
};

struct event {
    uint64_t magic;
    CUcontext context;
    unsigned flags;
    bool recorded;
    moment when;
    double time; /* [s] */
    capture *captured;
    CUgraphNode *frontier;
    size_t frontier_count;
};

typedef struct {
    char *to, *from, *staged;
    size_t to_pitch, to_slice, from_pitch, from_slice, width, height, depth;
} copy;

typedef struct {
    char *to;
    size_t pitch, width, height; /* in elements of `size` bytes, but `pitch` */
    uint32_t value;
    int size;
} fill;

typedef enum { OP_WAIT, OP_EVENT, OP_KERNEL, OP_COPY, OP_FILL, OP_ALLOCATE, OP_FREE, OP_HOST, OP_GRAPH } op_kind;

struct op {
    op_kind kind;
    int device;
    CUstream stream;
    op *next;
    uint64_t number; /* in the stream */
    moment *after;
    size_t after_count;
    union {
        CUevent event;
        struct {
            CUfunction function;
            char *block; /* argument block, then the count */
            unsigned grid, threads;
        } kernel;
        copy copy;
        fill fill;
        block *block;
        struct {
            void (*call)(void *);
            void *data;
        } host;
        CUgraphExec exec;
    };
};

struct node {
    op work;
    CUgraphNode *after;
    size_t after_count;
    CUgraph graph;
    size_t place;
};

struct graph {
    uint64_t magic;
    CUgraphNode *nodes;
    size_t count;
    block **blocks;
    size_t block_count;
    unsigned references;
};

struct exec {
    uint64_t magic;
    CUgraph graph;
    bool frees;
    unsigned references; /* launches in queues hold it too */
};

struct capture {
    CUgraph graph;
    CUstream origin;
    int mode;
    uint64_t id;
    uintptr_t thread;
    bool active, invalid;
    capture *next;
};

struct module {
    uint64_t magic;
    CUfunction function;
    CUcontext context; /* NULL: of a library, which serves all */
};

struct function {
    CUmodule module;
    void (*run)(const void *, int64_t);
    int32_t *registers; /* ctaid.x, ntid.x, tid.x, nctaid.x */
    size_t block_bytes;
    int dynamic_shared;
};

#define STREAM_MAGIC 0x5354524541u
#define EVENT_MAGIC 0x4556454e54u
#define MODULE_MAGIC 0x4d4f44554cu
#define GRAPH_MAGIC 0x4752415048u
#define EXEC_MAGIC 0x45584543u
#define NONBLOCKING 1u

/* ----- settings and the frame of entries (libcuda.c) ---------------------------------------------------- */

extern struct settings {
    int devices;
    uint64_t memory; /* bytes of each device */
    bool eager;
    enum { FORWARD, REVERSE, SHUFFLED } order;
    int capability; /* 90: compute capability 9.0 */
} settings;

extern struct context contexts[MAX_DEVICES];

#define ENTRY_ID(symbol, version, function) ID_##function,
enum entry_id { ENTRIES(ENTRY_ID) ENTRY_COUNT };

CUresult enter(enum entry_id id);
void leave(int *unused);
CUcontext current(void);
uintptr_t this_thread(void);
uint64_t counter_add(const char *name, int64_t more);

/* The lock, injected failures, and the closing of device memory at the end. */
#define ENTER(name)                                                                                                   \
    __attribute__((cleanup(leave), unused)) int frame_ = 0;                                                           \
    TRY(enter(ID_##name))
#define ENTER_CONTEXT(name)                                                                                           \
    ENTER(name);                                                                                                      \
    CUcontext ctx = current();                                                                                        \
    if (ctx == NULL) return INVALID_CONTEXT
#define TRY(expression)                                                                                               \
    do {                                                                                                              \
        CUresult status_ = (expression);                                                                              \
        if (status_ != SUCCESS) return status_;                                                                       \
    } while (0)
#define REQUIRE(condition, error)                                                                                     \
    do {                                                                                                              \
        if (!(condition)) return error;                                                                               \
    } while (0)

/* ----- memory.c ----------------------------------------------------------------------------------------- */

void memory_start(void);
block *block_of(uint64_t address, size_t bytes); /* the live allocation that holds all of it, or NULL */
bool in_device_memory(uint64_t address);
bool pinned(const void *address, size_t bytes);
unsigned readable_regions(int device);
unsigned regions_of(uint64_t address);
void open_regions(unsigned mask);
void close_regions(void);
void memory_begin(block *b); /* allocation reaches its place in the stream */
void memory_end(block *b);   /* free reaches its place in the stream */
void release_block(block *b);
void trim_pools(void);

/* ----- streams.c ---------------------------------------------------------------------------------------- */

CUresult resolve(CUstream handle, CUstream *found);
CUresult enqueue(CUstream s, op work);
CUresult run_until(CUstream s, uint64_t number);
CUresult run_context(CUcontext ctx);
CUresult run_everything(void);
CUresult run_before_legacy(CUcontext ctx);
CUresult execute(op *work);
void drop(op *work);
CUstream new_stream(CUcontext ctx, unsigned flags, int priority);

/* ----- graphs.c ----------------------------------------------------------------------------------------- */

CUresult unsafe_call(void); /* refuses, and invalidates captures, where one forbids calls such as cuMemAlloc */
CUresult refuse_capture(capture *c, CUresult error);
CUresult add_node(CUstream s, op work);
CUresult join_capture(CUstream s, CUevent e);
CUresult refuse_context_wait(CUcontext ctx);
void capture_event(CUevent e, CUstream s);
CUresult run_graph(CUgraphExec exec);
void release_exec(CUgraphExec exec);
void adopt_block(CUgraph graph, block *b);

void run_kernel(op *work);
#endif
