/* Streams and events: queues of operations that run only when something waits for them.
 *
 * An operation runs after its predecessor in the stream and after the moments that it names: events that the stream
 * waits for, and, between the legacy default stream and blocking streams of a context, all that was enqueued there
 * before. Waiting for a stream runs what that needs and nothing else, so a program that waits for too little reads
 * memory too early. A queue holds `LONGEST` operations, as the hardware's are finite too.
 */
#define _GNU_SOURCE
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LONGEST 1024
#define LEGACY ((CUstream)1)
#define PER_THREAD ((CUstream)2)
#define NO_TIMING 2u

static bool running; /* an operation that calls back must not call the driver */

/* ----- which stream ------------------------------------------------------------------------------------- */

CUstream new_stream(CUcontext ctx, unsigned flags, int priority) {
    static uint64_t serial;
    CUstream s = calloc(1, sizeof *s);
    *s = (struct stream){.magic = STREAM_MAGIC, .id = ++serial, .context = ctx, .flags = flags, .priority = priority};
    s->next = ctx->streams;
    ctx->streams = s; /* newest first; streams are never freed, old handles stay recognisable */
    return s;
}

static bool blocks(CUstream s) { return !(s->flags & NONBLOCKING) && s != s->context->legacy; }

/* The stream of a handle; uses of the legacy stream while a blocking stream is captured are refused. */
CUresult resolve(CUstream handle, CUstream *found) {
    static __thread CUstream own[MAX_DEVICES];
    CUcontext ctx = current();
    REQUIRE(ctx != NULL, INVALID_CONTEXT);
    if (handle == PER_THREAD) {
        if (own[ctx->device] == NULL) own[ctx->device] = new_stream(ctx, 0, 0);
        *found = own[ctx->device];
        return SUCCESS;
    }
    if (handle != NULL && handle != LEGACY) {
        REQUIRE(handle->magic == STREAM_MAGIC, INVALID_HANDLE);
        *found = handle;
        return SUCCESS;
    }
    for (CUstream s = ctx->streams; s != NULL; s = s->next)
        if (s->capturing != NULL && blocks(s)) return refuse_capture(s->capturing, STREAM_CAPTURE_IMPLICIT);
    *found = ctx->legacy;
    return SUCCESS;
}

/* ----- queues ------------------------------------------------------------------------------------------- */

static void add_moment(op *work, CUstream s, uint64_t number) {
    if (s->done >= number) return;
    work->after = realloc(work->after, (work->after_count + 1) * sizeof *work->after);
    work->after[work->after_count++] = (moment){s, number};
}

static void order_with_legacy(CUstream s, op *work) {
    CUcontext ctx = s->context;
    if (blocks(s)) add_moment(work, ctx->legacy, ctx->legacy->enqueued);
    for (CUstream t = ctx->streams; s == ctx->legacy && t != NULL; t = t->next)
        if (blocks(t)) add_moment(work, t, t->enqueued);
}

CUresult enqueue(CUstream s, op work) {
    work.device = s->context->device;
    if (s->capturing != NULL) return add_node(s, work);
    order_with_legacy(s, &work);
    op *kept = malloc(sizeof *kept);
    *kept = work;
    kept->stream = s;
    kept->number = ++s->enqueued;
    kept->next = NULL;
    if (s->tail != NULL) s->tail->next = kept;
    else s->head = kept;
    s->tail = kept;
    if (work.kind == OP_EVENT) work.event->when = (moment){s, kept->number};
    if (settings.eager) return run_until(s, s->enqueued);
    return s->enqueued - s->done > LONGEST ? run_until(s, s->done + 1) : SUCCESS;
}

/* What an operation holds besides itself. */
void drop(op *work) {
    free(work->after);
    if (work->kind == OP_KERNEL) free(work->kernel.block);
    if (work->kind == OP_COPY) free(work->copy.staged);
    if (work->kind == OP_GRAPH) release_exec(work->exec);
}

CUresult run_until(CUstream s, uint64_t number) {
    if (running) return NOT_PERMITTED;
    while (s->done < number) {
        op *work = s->head;
        for (size_t k = 0; k < work->after_count; k++) TRY(run_until(work->after[k].stream, work->after[k].number));
        s->head = work->next;
        if (s->head == NULL) s->tail = NULL;
        running = true;
        CUresult status = execute(work);
        running = false;
        s->done++;
        drop(work);
        free(work);
        TRY(status);
    }
    return SUCCESS;
}

CUresult run_context(CUcontext ctx) {
    for (CUstream s = ctx->streams; s != NULL; s = s->next) TRY(run_until(s, s->enqueued));
    trim_pools();
    return SUCCESS;
}

CUresult run_everything(void) {
    for (int k = 0; k < settings.devices; k++) TRY(run_context(&contexts[k]));
    return SUCCESS;
}

/* All that an operation of the legacy stream would wait for. */
CUresult run_before_legacy(CUcontext ctx) {
    for (CUstream s = ctx->streams; s != NULL; s = s->next)
        if (blocks(s) || s == ctx->legacy) TRY(run_until(s, s->enqueued));
    return SUCCESS;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run_fill(const fill *f) {
    for (size_t row = 0; row < f->height; row++) {
        char *at = f->to + row * f->pitch;
        if (f->size == 1) memset(at, (int)f->value, f->width);
        size_t size = f->size == 1 ? 0 : (size_t)f->size;
        for (size_t k = 0; size > 0 && k < f->width; k++) memcpy(at + k * size, &f->value, size);
    }
}

static void run_copy(const copy *c) {
    const char *from = c->staged != NULL ? c->staged : c->from;
    size_t pitch = c->staged != NULL ? c->width : c->from_pitch;
    size_t slice = c->staged != NULL ? c->width * c->height : c->from_slice;
    for (size_t k = 0; k < c->depth; k++)
        for (size_t row = 0; row < c->height; row++)
            memcpy(c->to + k * c->to_slice + row * c->to_pitch, from + k * slice + row * pitch, c->width);
}

CUresult execute(op *work) {
    counter_add("executed", 1);
    switch (work->kind) {
        case OP_WAIT: break;
        case OP_EVENT: {
            moment when = work->event->when; /* of its newest record */
            if (when.stream == work->stream && when.number == work->number) work->event->time = now();
            break;
        }
        case OP_KERNEL:
            open_regions(readable_regions(work->device));
            run_kernel(work);
            break;
        case OP_COPY:
            open_regions(regions_of((uint64_t)work->copy.to) | regions_of((uint64_t)work->copy.from));
            run_copy(&work->copy);
            break;
        case OP_FILL:
            open_regions(regions_of((uint64_t)work->fill.to));
            run_fill(&work->fill);
            break;
        case OP_ALLOCATE: memory_begin(work->block); break;
        case OP_FREE: memory_end(work->block); break;
        case OP_HOST:
            close_regions();
            work->host.call(work->host.data);
            break;
        case OP_GRAPH: return run_graph(work->exec);
    }
    return SUCCESS;
}

/* ----- entries: streams --------------------------------------------------------------------------------- */

API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
    ENTER_CONTEXT(cuStreamCreateWithPriority);
    REQUIRE(stream != NULL && flags <= NONBLOCKING, INVALID_VALUE);
    *stream = new_stream(ctx, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority);
    return SUCCESS;
}

API CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    ENTER_CONTEXT(cuStreamCreate);
    REQUIRE(stream != NULL && flags <= NONBLOCKING, INVALID_VALUE);
    *stream = new_stream(ctx, flags, 0);
    return SUCCESS;
}

API CUresult cuStreamDestroy_v2(CUstream s) {
    ENTER(cuStreamDestroy_v2);
    REQUIRE(s > PER_THREAD && s->magic == STREAM_MAGIC, INVALID_HANDLE);
    if (s->capturing != NULL) refuse_capture(s->capturing, SUCCESS);
    s->magic = 0; /* what it holds runs when somebody waits for the context */
    CUstream *link = &s->context->streams;
    while (*link != s) link = &(*link)->next;
    if (s->done == s->enqueued) *link = s->next;
    return SUCCESS;
}

API CUresult cuStreamQuery(CUstream handle) {
    ENTER_CONTEXT(cuStreamQuery);
    CUstream s;
    TRY(resolve(handle, &s));
    if (s->capturing != NULL) return refuse_capture(s->capturing, STREAM_CAPTURE_UNSUPPORTED);
    TRY(unsafe_call());
    if (s->done < s->enqueued) TRY(run_until(s, s->done + 1));
    return s->done < s->enqueued ? NOT_READY : SUCCESS;
}

API CUresult cuStreamSynchronize(CUstream handle) {
    ENTER_CONTEXT(cuStreamSynchronize);
    CUstream s;
    TRY(resolve(handle, &s));
    if (s->capturing != NULL) return refuse_capture(s->capturing, STREAM_CAPTURE_UNSUPPORTED);
    if (s == s->context->legacy) TRY(run_before_legacy(s->context));
    TRY(run_until(s, s->enqueued));
    trim_pools();
    return SUCCESS;
}

API CUresult cuStreamGetFlags(CUstream handle, unsigned *flags) {
    ENTER_CONTEXT(cuStreamGetFlags);
    CUstream s;
    TRY(resolve(handle, &s));
    *flags = s->flags;
    return SUCCESS;
}

API CUresult cuStreamGetPriority(CUstream handle, int *priority) {
    ENTER_CONTEXT(cuStreamGetPriority);
    CUstream s;
    TRY(resolve(handle, &s));
    *priority = s->priority;
    return SUCCESS;
}

API CUresult cuStreamGetId(CUstream handle, uint64_t *id) {
    ENTER_CONTEXT(cuStreamGetId);
    CUstream s;
    TRY(resolve(handle, &s));
    *id = s->id;
    return SUCCESS;
}

API CUresult cuStreamGetCtx(CUstream handle, CUcontext *found) {
    ENTER_CONTEXT(cuStreamGetCtx);
    CUstream s;
    TRY(resolve(handle, &s));
    *found = s->context;
    return SUCCESS;
}

API CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *found, void **green) {
    ENTER_CONTEXT(cuStreamGetCtx_v2);
    CUstream s;
    TRY(resolve(handle, &s));
    *found = s->context;
    if (green != NULL) *green = NULL;
    return SUCCESS;
}

API CUresult cuStreamGetDevice(CUstream handle, CUdevice *device) {
    ENTER_CONTEXT(cuStreamGetDevice);
    CUstream s;
    TRY(resolve(handle, &s));
    *device = s->context->device;
    return SUCCESS;
}

API CUresult cuStreamWaitEvent(CUstream handle, CUevent e, unsigned flags) {
    ENTER_CONTEXT(cuStreamWaitEvent);
    CUstream s;
    REQUIRE(e != NULL && e->magic == EVENT_MAGIC, INVALID_HANDLE);
    REQUIRE(flags <= 1, INVALID_VALUE);
    TRY(resolve(handle, &s));
    if (e->captured != NULL || s->capturing != NULL) return join_capture(s, e);
    if (!e->recorded) return SUCCESS;
    op work = {.kind = OP_WAIT};
    add_moment(&work, e->when.stream, e->when.number);
    return enqueue(s, work);
}

/* ----- entries: events ---------------------------------------------------------------------------------- */

static bool is_event(CUevent e) { return e != NULL && e->magic == EVENT_MAGIC; }
static bool reached(CUevent e) { return !e->recorded || e->when.stream->done >= e->when.number; }

API CUresult cuEventCreate(CUevent *event, unsigned flags) {
    ENTER_CONTEXT(cuEventCreate);
    REQUIRE(event != NULL && flags <= 7, INVALID_VALUE);
    *event = calloc(1, sizeof **event);
    **event = (struct event){.magic = EVENT_MAGIC, .context = ctx, .flags = flags};
    return SUCCESS;
}

API CUresult cuEventDestroy_v2(CUevent e) {
    ENTER(cuEventDestroy_v2);
    REQUIRE(is_event(e), INVALID_HANDLE);
    e->magic = 0; /* kept, because operations in queues may name it */
    return SUCCESS;
}

static CUresult record(CUevent e, CUstream handle) {
    CUstream s;
    REQUIRE(is_event(e), INVALID_HANDLE);
    TRY(resolve(handle, &s));
    REQUIRE(e->context == s->context, INVALID_HANDLE);
    if (s->capturing != NULL) {
        REQUIRE(!s->capturing->invalid, STREAM_CAPTURE_INVALIDATED);
        capture_event(e, s);
        return SUCCESS;
    }
    e->captured = NULL;
    e->recorded = true;
    return enqueue(s, (op){.kind = OP_EVENT, .event = e});
}

API CUresult cuEventRecord(CUevent e, CUstream stream) {
    ENTER_CONTEXT(cuEventRecord);
    return record(e, stream);
}

API CUresult cuEventRecordWithFlags(CUevent e, CUstream stream, unsigned flags) {
    ENTER_CONTEXT(cuEventRecordWithFlags);
    REQUIRE(flags == 0, NOT_SUPPORTED);
    return record(e, stream);
}

static CUresult refuse_captured(CUevent e) {
    REQUIRE(is_event(e), INVALID_HANDLE);
    return e->captured == NULL ? SUCCESS : refuse_capture(e->captured, CAPTURED_EVENT);
}

API CUresult cuEventQuery(CUevent e) {
    ENTER(cuEventQuery);
    TRY(refuse_captured(e));
    TRY(unsafe_call());
    if (!reached(e)) TRY(run_until(e->when.stream, e->when.stream->done + 1));
    return reached(e) ? SUCCESS : NOT_READY;
}

API CUresult cuEventSynchronize(CUevent e) {
    ENTER(cuEventSynchronize);
    TRY(refuse_captured(e));
    if (e->recorded) TRY(run_until(e->when.stream, e->when.number));
    trim_pools();
    return SUCCESS;
}

static CUresult elapsed(float *milliseconds, CUevent from, CUevent to) {
    TRY(refuse_captured(from));
    TRY(refuse_captured(to));
    REQUIRE(from->recorded && to->recorded, INVALID_HANDLE);
    REQUIRE(!(from->flags & NO_TIMING) && !(to->flags & NO_TIMING), INVALID_HANDLE);
    REQUIRE(reached(from) && reached(to), NOT_READY);
    *milliseconds = (float)(1e3 * (to->time - from->time));
    return SUCCESS;
}

API CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
    ENTER(cuEventElapsedTime);
    return elapsed(milliseconds, from, to);
}

API CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent from, CUevent to) {
    ENTER(cuEventElapsedTime_v2);
    return elapsed(milliseconds, from, to);
}
