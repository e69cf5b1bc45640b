"""Scenarios: when operations run, what they see, and what events tell."""

import ctypes

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


@scenario()
def nothing_runs_before_somebody_waits():
    context()
    kernel, one, memory = Kernel("add"), stream(), on_device(1, 2)
    kernel.launch(one, 2, memory, value=10)
    assert (counter("launches"), counter("kernels")) == (1, 0)
    call("cuStreamSynchronize", stream())
    assert counter("kernels") == 0, "another stream needs nothing of it"
    call("cuStreamSynchronize", one)
    assert counter("kernels") == 1 and words(memory, 2) == [11, 12]


@scenario(FAKE_CUDA_EAGER="1")
def eager_operations_run_at_once():
    context()
    kernel, memory = Kernel("add"), on_device(1)
    kernel.launch(stream(), 1, memory, value=10)
    assert counter("kernels") == 1


@scenario()
def operations_of_a_stream_run_in_order():
    context()
    add, multiply, one, memory = Kernel("add"), Kernel("multiply"), stream(), on_device(1)
    for value in (2, 3):
        add.launch(one, 1, memory, value=value)
        multiply.launch(one, 1, memory, value=value)
    assert words(memory, 1) == [((1 + 2) * 2 + 3) * 3]


@scenario()
def bytes_of_pageable_memory_are_taken_at_the_call():
    context()
    one, memory, host = stream(), on_device(0, 0), Words(2).set(1, 2)
    call("cuMemcpyHtoDAsync", memory, host.address, 16, one)
    host.set(8, 9)
    assert words(memory, 2) == [1, 2]


@scenario()
def bytes_of_pinned_memory_are_taken_when_the_copy_runs():
    context()
    one, memory, host = stream(), on_device(0, 0), Words(2, pinned=True).set(1, 2)
    call("cuMemcpyHtoDAsync", memory, host.address, 16, one)
    host.set(8, 9)
    assert words(memory, 2) == [8, 9]


@scenario()
def registered_memory_counts_as_pinned():
    context()
    one, memory, host = stream(), on_device(0), Words(1).set(1)
    call("cuMemHostRegister", host.address, 8, 0)
    call("cuMemcpyHtoDAsync", memory, host.address, 8, one)
    host.set(8)
    assert words(memory, 1) == [8]


@scenario()
def copies_into_pageable_memory_wait_and_others_do_not():
    context()
    add, one, memory = Kernel("add"), stream(), on_device(1)
    plain, pinned = Words(1).set(0), Words(1, pinned=True).set(0)
    add.launch(one, 1, memory, value=10)
    call("cuMemcpyDtoHAsync", pinned.address, memory, 8, one)
    assert pinned.list() == [0]
    call("cuMemcpyDtoHAsync", plain.address, memory, 8, one)
    assert plain.list() == [11] == pinned.list()


@scenario()
def calls_without_a_stream_wait_as_far_as_they_must():
    context()
    memory, other, plain = on_device(1), on_device(5), Words(1).set(3)
    before = counter("executed")
    call("cuMemcpyHtoD", memory, plain.address, 8)
    call("cuMemcpyDtoD", other, memory, 8)
    call("cuMemsetD8", memory, 0, 8)
    assert counter("executed") == before
    call("cuMemcpyDtoH", plain.address, other, 8)
    assert plain.list() == [3] and words(memory, 1) == [0]
    Kernel("add").launch(stream(0), 1, memory, value=4)
    call("cuMemcpyHtoD", other, plain.address, 8)
    assert counter("kernels") == 1, "pageable bytes are taken when all before has run"


@scenario()
def the_legacy_stream_and_blocking_streams_wait_for_each_other():
    context()
    add, multiply, blocking, free, memory = Kernel("add"), Kernel("multiply"), stream(0), stream(1), on_device(1, 1)
    add.launch(blocking, 1, memory, value=1)
    multiply.launch(0, 1, memory, value=10)
    add.launch(blocking, 1, memory, value=2)
    add.launch(free, 1, int(memory) + 8, value=1)
    before = counter("kernels")
    call("cuStreamSynchronize", blocking)
    assert counter("kernels") == before + 3, "the stream that does not block is left alone"
    assert words(memory, 2) == [22, 2]


@scenario()
def a_stream_that_does_not_block_runs_beside_the_legacy_stream():
    context()
    add, multiply, free, memory = Kernel("add"), Kernel("multiply"), stream(1), on_device(1)
    add.launch(0, 1, memory, value=1)
    multiply.launch(free, 1, memory, value=10)
    call("cuStreamSynchronize", free)
    assert counter("kernels") == 1 and words(memory, 1) == [11]


@scenario()
def streams_of_threads_are_streams_of_their_own():
    context()
    add, memory = Kernel("add"), on_device(1)
    per_thread = driver.CU_STREAM_PER_THREAD
    add.launch(per_thread, 1, memory, value=1)
    call("cuStreamSynchronize", per_thread)
    assert counter("kernels") == 1
    add.launch(0, 1, memory, value=1)
    call("cuStreamSynchronize", per_thread)
    assert counter("kernels") == 1
    add.launch(per_thread, 1, memory, value=1)
    call("cuStreamSynchronize", per_thread)
    assert counter("kernels") == 3, "it waits for the legacy stream"


@scenario()
def events_order_streams():
    context()
    add, multiply, first, second, memory = Kernel("add"), Kernel("multiply"), stream(), stream(), on_device(1)
    mark = event()
    add.launch(first, 1, memory, value=1)
    call("cuEventRecord", mark, first)
    add.launch(first, 1, memory, value=100)
    call("cuStreamWaitEvent", second, mark, 0)
    multiply.launch(second, 1, memory, value=10)
    call("cuStreamSynchronize", second)
    assert counter("kernels") == 2, "what follows the event is not needed"
    assert words(memory, 1) == [120]


@scenario()
def waiting_means_the_record_of_that_moment():
    context()
    add, first, second, memory = Kernel("add"), stream(), stream(), on_device(1)
    mark = event()
    call("cuStreamWaitEvent", second, mark, 0)  # never recorded: nothing to wait for
    call("cuEventRecord", mark, first)
    call("cuStreamWaitEvent", second, mark, 0)
    add.launch(first, 1, memory, value=1)
    call("cuEventRecord", mark, first)
    call("cuStreamSynchronize", second)
    assert counter("kernels") == 0
    call("cuEventSynchronize", mark)
    assert counter("kernels") == 1


@scenario()
def events_order_devices():
    contexts = context(1), context(0)
    add, first, memory, mark = Kernel("add"), stream(), on_device(1), event()
    add.launch(first, 1, memory, value=1)
    call("cuEventRecord", mark, first)
    call("cuCtxSetCurrent", contexts[0])
    second = stream()
    call("cuStreamWaitEvent", second, mark, 0)
    call("cuStreamSynchronize", second)
    assert counter("kernels") == 1


@scenario()
def queries_make_progress_step_by_step():
    context()
    add, one, memory, mark = Kernel("add"), stream(), on_device(1), event()
    call("cuStreamQuery", one)
    call("cuEventQuery", mark)
    for _ in range(2):
        add.launch(one, 1, memory, value=1)
    refused("NOT_READY", "cuStreamQuery", one)
    call("cuEventRecord", mark, one)
    refused("NOT_READY", "cuEventQuery", mark)
    call("cuEventQuery", mark)
    call("cuStreamQuery", one)
    assert counter("kernels") == 2


@scenario()
def events_measure_time_once_they_have_run():
    context()
    one, marks = stream(), [event(), event()]
    refused("INVALID_HANDLE", "cuEventElapsedTime", *marks)
    for mark in marks:
        call("cuEventRecord", mark, one)
    refused("NOT_READY", "cuEventElapsedTime", *marks)
    call("cuEventSynchronize", marks[1])
    assert 0.0 < call("cuEventElapsedTime", *marks) < 1000.0
    untimed = call("cuEventCreate", driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)
    call("cuEventRecord", untimed, one)
    call("cuStreamSynchronize", one)
    refused("INVALID_HANDLE", "cuEventElapsedTime", marks[0], untimed)


@scenario()
def handles_that_were_destroyed_are_refused():
    context()
    add, one, memory, mark = Kernel("add"), stream(), on_device(1), event()
    add.launch(one, 1, memory, value=1)
    call("cuEventRecord", mark, one)
    call("cuEventDestroy", mark)
    call("cuStreamDestroy", one)
    refused("INVALID_HANDLE", "cuEventSynchronize", mark)
    refused("INVALID_HANDLE", "cuStreamSynchronize", one)
    refused("INVALID_HANDLE", "cuStreamWaitEvent", stream(), mark, 0)
    assert words(memory, 1) == [2], "what the stream held runs all the same"


@scenario()
def queues_are_finite():
    context()
    add, one, memory = Kernel("add"), stream(), on_device(0)
    for _ in range(1500):
        add.launch(one, 1, memory, value=1)
    assert 0 < counter("kernels") < 1500
    assert words(memory, 1) == [1500]


@scenario()
def host_functions_run_in_their_place():
    context()
    add, one, memory, seen = Kernel("add"), stream(), on_device(1), Words(1, pinned=True)
    found = []
    note = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: found.append(seen.list()))
    add.launch(one, 1, memory, value=1)
    call("cuMemcpyDtoHAsync", seen.address, memory, 8, one)
    call("cuLaunchHostFunc", one, driver.CUhostFn(_ptr=ctypes.addressof(ctypes.c_void_p.from_buffer(note))), 0)
    add.launch(one, 1, memory, value=1)
    assert found == []
    call("cuStreamSynchronize", one)
    assert found == [[2]] and words(memory, 1) == [3]


# ----- boxes and fills ----------------------------------------------------------------------------


@scenario()
def rows_are_copied_with_their_pitches():
    context()
    memory, host, back = on_device(*range(12)), Words(6).set(-1, -2, -3, -4, -5, -6), Words(4).set(0, 0, 0, 0)
    plane = driver.CUDA_MEMCPY2D()
    plane.srcMemoryType, plane.srcHost, plane.srcPitch = driver.CUmemorytype.CU_MEMORYTYPE_HOST, host.address, 24
    plane.dstMemoryType, plane.dstDevice = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE, memory
    plane.dstPitch, plane.dstXInBytes, plane.dstY, plane.WidthInBytes, plane.Height = 32, 8, 1, 16, 2
    call("cuMemcpy2DAsync", plane, stream())
    assert words(memory, 12) == [0, 1, 2, 3, 4, -1, -2, 7, 8, -4, -5, 11]
    box = driver.CUDA_MEMCPY3D()
    box.srcMemoryType, box.srcDevice = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE, memory
    box.srcPitch, box.srcHeight, box.srcXInBytes = 16, 3, 8  # (2, 3, 2) words
    box.dstMemoryType, box.dstHost, box.dstPitch, box.dstHeight = (
        driver.CUmemorytype.CU_MEMORYTYPE_HOST,
        back.address,
        8,
        2,
    )
    box.WidthInBytes, box.Height, box.Depth = 8, 2, 2
    call("cuMemcpy3D", box)
    assert back.list() == [1, 3, 7, -4]
    plane.Height = 3
    refused("INVALID_VALUE", "cuMemcpy2D", plane)


@scenario()
def fills_write_their_pattern_and_no_more():
    context()
    memory = int(on_device(0, 0, 0, 0))
    call("cuMemsetD8Async", memory, 0x11, 3, 0)
    call("cuMemsetD16Async", memory + 8, 0x2233, 2, 0)
    call("cuMemsetD32Async", memory + 16, 0x44556677, 1, 0)
    call("cuMemsetD2D8Async", memory + 4, 8, 0x99, 1, 2, 0)
    assert words(memory, 4) == [0x9900111111, 0x9922332233, 0x44556677, 0]


# ----- threads --------------------------------------------------------------------------------------


def visited(count, grid):
    context()
    memory = on_device(*[0] * (count + 1))
    Kernel("visit").launch(0, count, memory, grid=grid)
    total, *order = words(memory, count + 1)
    assert total == count and sorted(order) == list(range(count)), "each thread runs once"
    return order


@scenario()
def threads_run_in_order():
    assert visited(100, 4) == list(range(100))


@scenario(FAKE_CUDA_ORDER="reverse")
def threads_run_backwards():
    assert visited(100, 4) == list(range(99, -1, -1))


@scenario(FAKE_CUDA_ORDER="shuffled")
def threads_run_in_another_order():
    order = visited(100, 4)
    assert order != list(range(100)) and order != list(range(99, -1, -1))


@scenario(FAKE_CUDA_ORDER="shuffled")
def a_small_grid_covers_many_threads():
    visited(100, 1)
