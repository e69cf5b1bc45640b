/* Stream capture and graphs.
 *
 * While a stream is captured its operations become nodes of a graph, each after the nodes that the stream then
 * depends on (its frontier); an event that was recorded there carries the frontier into other streams. What the
 * interface forbids meanwhile is refused and invalidates the capture. Graphs run their nodes as late as their
 * dependencies allow when FAKE_CUDA_ORDER is `reverse` or `shuffled`, else in the order of capture.
 */
#define _GNU_SOURCE
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GLOBAL 0
#define THREAD_LOCAL 1
#define RELAXED 2
#define AUTO_FREE 1u

static capture *captures; /* those that are going on */
static __thread int thread_mode = GLOBAL;

/* ----- what a capture forbids --------------------------------------------------------------------------- */

/* Invalidates a capture; returns the error. */
CUresult refuse_capture(capture *c, CUresult error) {
    if (c->active) c->invalid = true;
    return error;
}

/* Calls that might touch a captured stream behind the program's back, such as cuMemAlloc. */
CUresult unsafe_call(void) {
    CUresult status = SUCCESS;
    for (capture *c = captures; c != NULL; c = c->next) {
        bool own = c->thread == this_thread() && c->mode != RELAXED;
        bool foreign = c->mode == GLOBAL && thread_mode == GLOBAL;
        if (thread_mode != RELAXED && (own || foreign)) status = refuse_capture(c, STREAM_CAPTURE_UNSUPPORTED);
    }
    return status;
}

CUresult refuse_context_wait(CUcontext ctx) {
    CUresult status = SUCCESS;
    for (capture *c = captures; c != NULL; c = c->next)
        if (c->origin->context == ctx) status = refuse_capture(c, STREAM_CAPTURE_UNSUPPORTED);
    return status;
}

/* ----- nodes -------------------------------------------------------------------------------------------- */

static void add_to(CUgraphNode **list, size_t *count, CUgraphNode node) {
    for (size_t k = 0; k < *count; k++)
        if ((*list)[k] == node) return;
    *list = realloc(*list, (*count + 1) * sizeof **list);
    (*list)[(*count)++] = node;
}

CUresult add_node(CUstream s, op work) {
    capture *c = s->capturing;
    if (c->invalid) {
        drop(&work);
        return STREAM_CAPTURE_INVALIDATED;
    }
    if (work.kind == OP_GRAPH) {
        drop(&work);
        return refuse_capture(c, NOT_SUPPORTED); /* graphs within graphs */
    }
    CUgraph g = c->graph;
    CUgraphNode node = calloc(1, sizeof *node);
    *node = (struct node){work, s->frontier, s->frontier_count, g, g->count};
    g->nodes = realloc(g->nodes, (g->count + 1) * sizeof *g->nodes);
    g->nodes[g->count++] = node;
    s->frontier = NULL;
    s->frontier_count = 0;
    add_to(&s->frontier, &s->frontier_count, node);
    return SUCCESS;
}

void capture_event(CUevent e, CUstream s) {
    free(e->frontier);
    e->frontier = malloc((s->frontier_count + 1) * sizeof *e->frontier);
    e->frontier_count = s->frontier_count;
    if (s->frontier_count > 0) memcpy(e->frontier, s->frontier, s->frontier_count * sizeof *e->frontier);
    e->captured = s->capturing;
    e->recorded = false;
}

/* A stream waits for an event where one of both is captured: the stream joins the capture. */
CUresult join_capture(CUstream s, CUevent e) {
    if (e->captured == NULL) {
        if (!e->recorded) return SUCCESS;
        return refuse_capture(s->capturing, STREAM_CAPTURE_ISOLATION);
    }
    REQUIRE(e->captured->active, CAPTURED_EVENT);
    REQUIRE(!e->captured->invalid, STREAM_CAPTURE_INVALIDATED);
    if (s->capturing != NULL && s->capturing != e->captured) {
        refuse_capture(s->capturing, SUCCESS);
        return refuse_capture(e->captured, STREAM_CAPTURE_MERGE);
    }
    if (s == s->context->legacy) return refuse_capture(e->captured, STREAM_CAPTURE_IMPLICIT);
    s->capturing = e->captured;
    for (size_t k = 0; k < e->frontier_count; k++) add_to(&s->frontier, &s->frontier_count, e->frontier[k]);
    return SUCCESS;
}

void adopt_block(CUgraph graph, block *b) {
    b->owner = graph;
    graph->blocks = realloc(graph->blocks, (graph->block_count + 1) * sizeof *graph->blocks);
    graph->blocks[graph->block_count++] = b;
}

static CUgraph new_graph(void) {
    CUgraph g = calloc(1, sizeof *g);
    *g = (struct graph){.magic = GRAPH_MAGIC, .references = 1};
    return g;
}

static void set_live(block *b, bool live) {
    if (b->live == live) return;
    b->live = live;
    counter_add("live_bytes", live ? (int64_t)b->size : -(int64_t)b->size);
    counter_add("live_blocks", live ? 1 : -1);
}

static void release_graph(CUgraph g) {
    if (--g->references > 0) return;
    for (size_t k = 0; k < g->count; k++) {
        drop(&g->nodes[k]->work);
        free(g->nodes[k]->after);
        free(g->nodes[k]);
    }
    for (size_t k = 0; k < g->block_count; k++) {
        g->blocks[k]->owner = NULL;
        if (!g->blocks[k]->live) release_block(g->blocks[k]);
    }
    free(g->nodes);
    free(g->blocks);
    free(g);
}

/* ----- running ------------------------------------------------------------------------------------------ */

static bool ready(CUgraphNode node, const bool *done) {
    for (size_t k = 0; k < node->after_count; k++)
        if (!done[node->after[k]->place]) return false;
    return true;
}

CUresult run_graph(CUgraphExec exec) {
    CUgraph g = exec->graph;
    bool *done = calloc(g->count + 1, sizeof *done);
    CUresult status = SUCCESS;
    for (size_t left = g->count; left > 0 && status == SUCCESS; left--) {
        size_t at = 0;
        if (settings.order == FORWARD) at = g->count - left; /* captured in an order that is right */
        else
            for (at = g->count - 1; done[at] || !ready(g->nodes[at], done);) at--;
        done[at] = true;
        status = execute(&g->nodes[at]->work);
    }
    free(done);
    return status;
}

void release_exec(CUgraphExec exec) {
    if (--exec->references > 0) return;
    release_graph(exec->graph);
    free(exec);
}

/* ----- entries: capture --------------------------------------------------------------------------------- */

API CUresult cuStreamBeginCapture_v2(CUstream handle, int mode) {
    ENTER_CONTEXT(cuStreamBeginCapture_v2);
    static uint64_t serial;
    CUstream s;
    REQUIRE(mode >= GLOBAL && mode <= RELAXED, INVALID_VALUE);
    TRY(resolve(handle, &s));
    REQUIRE(s != s->context->legacy, STREAM_CAPTURE_UNSUPPORTED);
    REQUIRE(s->capturing == NULL, ILLEGAL_STATE);
    capture *c = calloc(1, sizeof *c);
    *c = (capture){new_graph(), s, mode, ++serial, this_thread(), true, false, captures};
    captures = s->capturing = c;
    return SUCCESS;
}

static bool reaches(CUgraphNode from, CUgraphNode to, bool *seen) {
    if (from == to) return true;
    if (seen[from->place]) return false;
    seen[from->place] = true;
    for (size_t k = 0; k < from->after_count; k++)
        if (reaches(from->after[k], to, seen)) return true;
    return false;
}

/* Whether the origin waits for all that other streams did in its capture. */
static bool joined(capture *c) {
    bool all = true, *seen = malloc(c->graph->count + 1);
    for (int d = 0; d < settings.devices; d++)
        for (CUstream s = contexts[d].streams; s != NULL; s = s->next)
            for (size_t k = 0; s->capturing == c && k < s->frontier_count; k++) {
                bool found = false;
                memset(seen, 0, c->graph->count + 1);
                for (size_t j = 0; j < c->origin->frontier_count; j++)
                    found |= reaches(c->origin->frontier[j], s->frontier[k], seen);
                all &= found;
            }
    free(seen);
    return all;
}

static void end(capture *c) {
    for (int d = 0; d < settings.devices; d++)
        for (CUstream s = contexts[d].streams; s != NULL; s = s->next)
            if (s->capturing == c) {
                free(s->frontier);
                s->capturing = NULL;
                s->frontier = NULL;
                s->frontier_count = 0;
            }
    capture **link = &captures;
    while (*link != c) link = &(*link)->next;
    *link = c->next;
    c->active = false; /* kept: events name it */
    for (size_t k = 0; k < c->graph->block_count; k++) set_live(c->graph->blocks[k], false);
}

API CUresult cuStreamEndCapture(CUstream handle, CUgraph *found) {
    ENTER_CONTEXT(cuStreamEndCapture);
    CUstream s;
    *found = NULL;
    TRY(resolve(handle, &s));
    capture *c = s->capturing;
    REQUIRE(c != NULL, ILLEGAL_STATE);
    REQUIRE(c->mode == RELAXED || c->thread == this_thread(), STREAM_CAPTURE_WRONG_THREAD);
    CUresult status = c->invalid ? STREAM_CAPTURE_INVALIDATED : s != c->origin ? STREAM_CAPTURE_UNMATCHED
                      : !joined(c) ? STREAM_CAPTURE_UNJOINED : SUCCESS;
    end(c);
    if (status != SUCCESS) release_graph(c->graph);
    else *found = c->graph;
    return status;
}

API CUresult cuStreamIsCapturing(CUstream handle, int *status) {
    ENTER_CONTEXT(cuStreamIsCapturing);
    CUstream s;
    TRY(resolve(handle, &s));
    *status = s->capturing == NULL ? 0 : s->capturing->invalid ? 2 : 1;
    return SUCCESS;
}

static CUresult capture_info(
    CUstream handle, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **after, size_t *count
) {
    CUstream s;
    TRY(resolve(handle, &s));
    *status = s->capturing == NULL ? 0 : s->capturing->invalid ? 2 : 1;
    if (*status != 1) return SUCCESS;
    if (id != NULL) *id = s->capturing->id;
    if (graph != NULL) *graph = s->capturing->graph;
    if (after != NULL) *after = s->frontier;
    if (count != NULL) *count = s->frontier_count;
    return SUCCESS;
}

API CUresult cuStreamGetCaptureInfo_v2(
    CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **after, size_t *count
) {
    ENTER_CONTEXT(cuStreamGetCaptureInfo_v2);
    return capture_info(stream, status, id, graph, after, count);
}

API CUresult cuStreamGetCaptureInfo_v3(
    CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **after, const void **edges,
    size_t *count
) {
    ENTER_CONTEXT(cuStreamGetCaptureInfo_v3);
    static const uint64_t plain_edges[64]; /* 8 bytes each, all zero */
    size_t found = 0;
    TRY(capture_info(stream, status, id, graph, after, &found));
    REQUIRE(edges == NULL || found <= 64, NOT_SUPPORTED);
    if (edges != NULL) *edges = plain_edges;
    if (count != NULL) *count = found;
    return SUCCESS;
}

API CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
    ENTER(cuThreadExchangeStreamCaptureMode);
    REQUIRE(*mode >= GLOBAL && *mode <= RELAXED, INVALID_VALUE);
    int before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return SUCCESS;
}

/* ----- entries: graphs ---------------------------------------------------------------------------------- */

static bool is_graph(CUgraph g) { return g != NULL && g->magic == GRAPH_MAGIC; }
static bool is_exec(CUgraphExec e) { return e != NULL && e->magic == EXEC_MAGIC; }

API CUresult cuGraphCreate(CUgraph *found, unsigned flags) {
    ENTER(cuGraphCreate);
    REQUIRE(found != NULL && flags == 0, INVALID_VALUE);
    *found = new_graph();
    return SUCCESS;
}

API CUresult cuGraphDestroy(CUgraph g) {
    ENTER(cuGraphDestroy);
    REQUIRE(is_graph(g), INVALID_VALUE);
    g->magic = 0;
    release_graph(g);
    return SUCCESS;
}

API CUresult cuGraphGetNodes(CUgraph g, CUgraphNode *nodes, size_t *count) {
    ENTER(cuGraphGetNodes);
    REQUIRE(is_graph(g) && count != NULL, INVALID_VALUE);
    for (size_t k = 0; nodes != NULL && k < *count; k++) nodes[k] = k < g->count ? g->nodes[k] : NULL;
    if (nodes == NULL || *count > g->count) *count = g->count;
    return SUCCESS;
}

API CUresult cuGraphDebugDotPrint(CUgraph g, const char *path, unsigned flags) {
    ENTER(cuGraphDebugDotPrint);
    static const char *const kinds[] = {
        "WAIT", "EVENT", "KERNEL", "MEMCPY", "MEMSET", "MEM_ALLOC", "MEM_FREE", "HOST", "GRAPH",
    };
    (void)flags;
    REQUIRE(is_graph(g) && path != NULL, INVALID_VALUE);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL, INVALID_VALUE);
    fprintf(file, "digraph dot {\n");
    for (size_t k = 0; k < g->count; k++)
        fprintf(file, "\"node_%zu\" [label=\"%s\"];\n", k, kinds[g->nodes[k]->work.kind]);
    for (size_t k = 0; k < g->count; k++)
        for (size_t j = 0; j < g->nodes[k]->after_count; j++)
            fprintf(file, "\"node_%zu\" -> \"node_%zu\";\n", g->nodes[k]->after[j]->place, k);
    fprintf(file, "}\n");
    fclose(file);
    return SUCCESS;
}

API CUresult cuGraphInstantiateWithFlags(CUgraphExec *found, CUgraph g, uint64_t flags) {
    ENTER(cuGraphInstantiateWithFlags);
    REQUIRE(is_graph(g) && found != NULL, INVALID_VALUE);
    *found = calloc(1, sizeof **found);
    **found = (struct exec){EXEC_MAGIC, g, flags & AUTO_FREE, 1};
    g->references++;
    return SUCCESS;
}

API CUresult cuGraphUpload(CUgraphExec exec, CUstream handle) {
    ENTER_CONTEXT(cuGraphUpload);
    CUstream s;
    REQUIRE(is_exec(exec), INVALID_VALUE);
    return resolve(handle, &s);
}

/* Memory that a graph allocates and does not free is its caller's from here on, until the caller frees it. */
static CUresult take_blocks(CUgraphExec exec) {
    CUgraph g = exec->graph;
    for (size_t k = 0; k < g->block_count; k++) REQUIRE(!g->blocks[k]->live || exec->frees, INVALID_VALUE);
    for (size_t k = 0; k < g->block_count; k++) set_live(g->blocks[k], !g->blocks[k]->freed_by_owner);
    return SUCCESS;
}

API CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle) {
    ENTER_CONTEXT(cuGraphLaunch);
    CUstream s;
    REQUIRE(is_exec(exec), INVALID_VALUE);
    TRY(resolve(handle, &s));
    TRY(take_blocks(exec));
    exec->references++;
    counter_add("graph_launches", 1);
    return enqueue(s, (op){.kind = OP_GRAPH, .exec = exec});
}

API CUresult cuGraphExecDestroy(CUgraphExec exec) {
    ENTER(cuGraphExecDestroy);
    REQUIRE(is_exec(exec), INVALID_VALUE);
    exec->magic = 0;
    release_exec(exec);
    return SUCCESS;
}
