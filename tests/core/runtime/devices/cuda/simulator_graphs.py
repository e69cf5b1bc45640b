"""Scenarios: stream capture, what it forbids, and graphs."""

import tempfile
import threading
from pathlib import Path

from cuda.bindings import driver
from simulator_cases import (
    Kernel,
    Words,
    call,
    context,
    counter,
    event,
    on_device,
    refused,
    scenario,
    stream,
    words,
)

GLOBAL, THREAD_LOCAL, RELAXED = (
    getattr(driver.CUstreamCaptureMode, f"CU_STREAM_CAPTURE_MODE_{name}")
    for name in ("GLOBAL", "THREAD_LOCAL", "RELAXED")
)
ACTIVE = driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_ACTIVE
INVALIDATED = driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_INVALIDATED


def begin(flags=1, mode=GLOBAL):
    """A stream that is being captured."""
    one = stream(flags)
    call("cuStreamBeginCapture", one, mode)
    return one


def in_thread(work):
    """Run it in another thread with the same context; what it raises is raised."""
    current, errors = call("cuCtxGetCurrent"), []

    def run():
        try:
            call("cuCtxSetCurrent", current)
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    for error in errors:
        raise error


@scenario()
def captured_work_runs_with_the_graph():
    context()
    kernel, memory = Kernel("add"), on_device(1, 1)
    one = begin()
    kernel.launch(one, 2, memory, value=4)
    assert call("cuStreamIsCapturing", one) == ACTIVE
    call("cuMemsetD8Async", int(memory) + 8, 0, 8, one)
    graph = call("cuStreamEndCapture", one)
    assert words(memory, 2) == [1, 1]
    ready = call("cuGraphInstantiate", graph, 0)
    call("cuGraphDestroy", graph)
    for _ in range(3):
        call("cuGraphLaunch", ready, one)
    call("cuGraphExecDestroy", ready)
    assert counter("kernels") == 0
    assert words(memory, 2) == [13, 0]
    refused("INVALID_VALUE", "cuGraphLaunch", ready, one)


@scenario()
def graphs_read_host_memory_when_they_run():
    context()
    memory, host = on_device(0), Words(1, pinned=True).set(1)
    one = begin()
    call("cuMemcpyHtoDAsync", memory, host.address, 8, one)
    ready = call("cuGraphInstantiate", call("cuStreamEndCapture", one), 0)
    for value in (5, 6):
        host.set(value)
        call("cuGraphLaunch", ready, one)
        assert words(memory, 1) == [value]


def forbidden(one, memory, mark, image):
    """Calls that a capture of a stream that does not block forbids, and with what error."""
    host = Words(1)
    return {
        "cuStreamSynchronize": (one,),
        "cuStreamQuery": (one,),
        "cuCtxSynchronize": (),
        "cuMemAlloc": (8,),
        "cuMemFree": (memory,),
        "cuMemHostAlloc": (8, 0),
        "cuMemcpyHtoD": (memory, host.address, 8),
        "cuMemcpyDtoH": (host.address, memory, 8),
        "cuMemsetD8": (memory, 0, 8),
        "cuEventQuery": (mark,),
        "cuModuleLoadData": (image,),
    }


@scenario()
def calls_that_wait_are_forbidden():
    context()
    memory, mark, image = on_device(0), event(), Kernel("add").image
    for name in forbidden(0, memory, mark, image):
        one = begin()
        args = forbidden(one, memory, mark, image)[name]
        refused("STREAM_CAPTURE_UNSUPPORTED", name, *args)
        assert call("cuStreamIsCapturing", one) == INVALIDATED, name
        refused("STREAM_CAPTURE_INVALIDATED", "cuMemsetD8Async", memory, 0, 8, one)
        refused("STREAM_CAPTURE_INVALIDATED", "cuStreamEndCapture", one)
        call("cuStreamSynchronize", one)
    call("cuMemFree", memory)


@scenario()
def relaxed_captures_allow_more():
    context()
    mark = event()
    one = begin(mode=RELAXED)
    call("cuMemFree", call("cuMemAlloc", 8))
    call("cuEventQuery", mark)
    refused("STREAM_CAPTURE_UNSUPPORTED", "cuStreamSynchronize", one)
    refused("STREAM_CAPTURE_INVALIDATED", "cuStreamEndCapture", one)
    one = begin()
    assert call("cuThreadExchangeStreamCaptureMode", RELAXED) == GLOBAL
    call("cuMemAlloc", 8)
    call("cuThreadExchangeStreamCaptureMode", GLOBAL)
    call("cuStreamEndCapture", one)


@scenario()
def captures_of_a_thread_do_not_bind_others():
    context()
    one = begin(mode=THREAD_LOCAL)
    in_thread(lambda: call("cuMemAlloc", 8))
    in_thread(lambda: refused("STREAM_CAPTURE_WRONG_THREAD", "cuStreamEndCapture", one))
    refused("STREAM_CAPTURE_UNSUPPORTED", "cuMemAlloc", 8)
    refused("STREAM_CAPTURE_INVALIDATED", "cuStreamEndCapture", one)
    one = begin(mode=GLOBAL)
    in_thread(lambda: refused("STREAM_CAPTURE_UNSUPPORTED", "cuMemAlloc", 8))
    refused("STREAM_CAPTURE_INVALIDATED", "cuStreamEndCapture", one)


@scenario()
def the_legacy_stream_stays_away_from_captures():
    context()
    memory = on_device(0)
    refused("STREAM_CAPTURE_UNSUPPORTED", "cuStreamBeginCapture", 0, GLOBAL)
    one = begin(flags=0)
    refused("STREAM_CAPTURE_IMPLICIT", "cuMemsetD8Async", memory, 0, 8, 0)
    refused("STREAM_CAPTURE_INVALIDATED", "cuStreamEndCapture", one)
    one = begin(flags=1)
    call("cuMemsetD8Async", memory, 0, 8, 0)
    call("cuStreamEndCapture", one)


@scenario()
def other_streams_go_on_during_a_capture():
    context()
    kernel, memory, other = Kernel("add"), on_device(0), stream()
    one = begin()
    kernel.launch(other, 1, memory, value=1)
    call("cuStreamSynchronize", other)
    assert counter("kernels") == 1
    call("cuStreamEndCapture", one)


def fork(one, other):
    mark = event()
    call("cuEventRecord", mark, one)
    call("cuStreamWaitEvent", other, mark, 0)


@scenario(FAKE_CUDA_ORDER="reverse")
def captures_fork_and_join():
    """What forked off runs in any order, but after what it depends on."""
    context()
    add, multiply, other, memory = Kernel("add"), Kernel("multiply"), stream(), on_device(1, 1)
    one = begin()
    add.launch(one, 2, memory, value=1)
    fork(one, other)
    multiply.launch(one, 1, memory, value=10)
    multiply.launch(other, 1, int(memory) + 8, value=100)
    assert call("cuStreamIsCapturing", other) == ACTIVE
    fork(other, one)
    add.launch(one, 2, memory, value=3)
    graph = call("cuStreamEndCapture", one)
    assert call("cuGraphGetNodes", graph)[1] == 4
    call("cuGraphLaunch", call("cuGraphInstantiate", graph, 0), one)
    assert words(memory, 2) == [23, 203]


@scenario()
def work_that_is_not_joined_is_an_error():
    context()
    memory, other = on_device(1), stream()
    one = begin()
    fork(one, other)
    call("cuMemsetD8Async", memory, 0, 8, other)
    refused("STREAM_CAPTURE_UNJOINED", "cuStreamEndCapture", one)
    call("cuStreamSynchronize", other)
    one = begin()
    fork(one, other)
    refused("STREAM_CAPTURE_UNMATCHED", "cuStreamEndCapture", other)


@scenario()
def captures_do_not_wait_for_what_is_outside():
    context()
    mark, other = event(), stream()
    call("cuEventRecord", mark, other)
    one = begin()
    refused("STREAM_CAPTURE_ISOLATION", "cuStreamWaitEvent", one, mark, 0)
    refused("STREAM_CAPTURE_INVALIDATED", "cuStreamEndCapture", one)


@scenario()
def events_of_a_capture_are_for_it_alone():
    context()
    mark, other = event(), begin()
    one = begin()
    call("cuEventRecord", mark, one)
    refused("STREAM_CAPTURE_MERGE", "cuStreamWaitEvent", other, mark, 0)
    one = begin()
    call("cuEventRecord", mark, one)
    refused("CAPTURED_EVENT", "cuEventSynchronize", mark)
    refused("STREAM_CAPTURE_INVALIDATED", "cuStreamEndCapture", one)
    refused("CAPTURED_EVENT", "cuStreamWaitEvent", one, mark, 0)


@scenario()
def graphs_allocate_at_each_launch():
    context()
    add, seen = Kernel("add"), Words(1, pinned=True)
    one = begin()
    memory = call("cuMemAllocAsync", 8, one)
    call("cuMemsetD8Async", memory, 0, 8, one)
    add.launch(one, 1, memory, value=3)
    call("cuMemcpyDtoHAsync", seen.address, memory, 8, one)
    call("cuMemFreeAsync", memory, one)
    graph = call("cuStreamEndCapture", one)
    ready = call("cuGraphInstantiate", graph, 0)
    for _ in range(2):
        seen.set(0)
        call("cuGraphLaunch", ready, one)
        call("cuStreamSynchronize", one)
        assert seen.list() == [3]
    assert counter("live_blocks") == 0
    other = on_device(0)
    assert int(other) != int(memory), "the graph keeps its addresses"


@scenario()
def memory_that_a_graph_leaves_is_freed_by_its_user():
    context()
    one = begin()
    memory = call("cuMemAllocAsync", 8, one)
    call("cuMemsetD8Async", memory, 1, 8, one)
    ready = call("cuGraphInstantiate", call("cuStreamEndCapture", one), 0)
    refused("INVALID_VALUE", "cuMemFreeAsync", memory, one)  # not allocated yet
    call("cuGraphLaunch", ready, one)
    refused("INVALID_VALUE", "cuGraphLaunch", ready, one)  # allocated still
    assert words(memory, 1) == [0x0101010101010101]
    call("cuMemFreeAsync", memory, one)
    call("cuGraphLaunch", ready, one)
    assert counter("live_blocks") == 1


@scenario()
def captures_free_what_they_allocated_alone():
    context()
    memory = on_device(0)
    one = begin()
    refused("INVALID_VALUE", "cuMemFreeAsync", memory, one)
    refused("STREAM_CAPTURE_INVALIDATED", "cuStreamEndCapture", one)


@scenario()
def graphs_are_printed_as_dot():
    context()
    memory = on_device(0)
    one = begin()
    call("cuMemsetD8Async", memory, 1, 8, one)
    assert call("cuStreamGetCaptureInfo", one)[0] == ACTIVE
    graph = call("cuStreamEndCapture", one)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.dot"
        call("cuGraphDebugDotPrint", graph, str(path).encode(), 0)
        assert "MEMSET" in path.read_text()
