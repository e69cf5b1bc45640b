"""Scenarios: device memory, pools, pinned memory, and what one may not do with them."""

import ctypes
import signal

from cuda.bindings import driver
from simulator_cases import (
    Kernel,
    Words,
    call,
    context,
    counter,
    on_device,
    refused,
    scenario,
    stream,
    words,
)

FRESH, FREED = (int.from_bytes(bytes([byte]) * 8, "little", signed=True) for byte in (0xCD, 0xDD))
MIB = 1 << 20


def pool_value(pool, attribute):
    return int(call("cuMemPoolGetAttribute", pool, getattr(driver.CUmemPool_attribute, f"CU_MEMPOOL_ATTR_{attribute}")))


@scenario()
def fresh_memory_holds_a_pattern():
    context()
    assert words(call("cuMemAlloc", 80), 10) == [FRESH] * 10
    assert words(call("cuMemAllocAsync", 80, stream()), 10) == [FRESH] * 10
    large = call("cuMemAlloc", 64 * MIB)
    assert words(large, 1) == [FRESH] == words(int(large) + 64 * MIB - 8, 1)


@scenario()
def freed_memory_holds_another_pattern():
    context()
    kernel, seen = Kernel("copy"), Words(2, pinned=True)
    first = on_device(1, 2)
    call("cuMemFree", first)
    kernel.launch(0, 2, seen.address, first)
    call("cuCtxSynchronize")
    assert seen.list() == [FREED] * 2


@scenario()
def a_free_waits_for_its_place_in_the_stream():
    context()
    kernel, seen, one = Kernel("copy"), Words(1, pinned=True), stream()
    memory = call("cuMemAllocAsync", 8, one)
    call("cuMemsetD8Async", memory, 7, 8, one)
    kernel.launch(one, 1, seen.address, memory)
    call("cuMemFreeAsync", memory, one)
    call("cuStreamSynchronize", one)
    assert seen.list() == [int.from_bytes(b"\7" * 8, "little")]


@scenario()
def memory_is_there_from_its_place_in_the_stream():
    """Another stream that does not wait for the allocation loses what it writes."""
    context()
    one, other = stream(), stream()
    memory = call("cuMemAllocAsync", 8, one)
    call("cuMemsetD8Async", memory, 7, 8, other)
    call("cuStreamSynchronize", other)
    assert words(memory, 1) == [FRESH]


@scenario()
def addresses_are_aligned_and_apart():
    context()
    places = sorted(int(call("cuMemAlloc", size)) for size in (1, 255, 256, 257, 4096))
    assert all(p % 256 == 0 for p in places) and len(set(places)) == 5


@scenario(FAKE_CUDA_MEMORY=str(4 * MIB))
def too_much_memory_is_refused_and_the_program_goes_on():
    context()
    assert call("cuMemGetInfo") == (4 * MIB, 4 * MIB)
    refused("OUT_OF_MEMORY", "cuMemAlloc", 4 * MIB + 1)
    memory = call("cuMemAlloc", 3 * MIB)
    assert call("cuMemGetInfo") == (MIB, 4 * MIB)
    refused("OUT_OF_MEMORY", "cuMemAllocAsync", 2 * MIB, stream())
    call("cuMemFree", memory)
    assert call("cuMemGetInfo") == (4 * MIB, 4 * MIB)
    call("cuMemAllocAsync", 4 * MIB, stream())
    assert counter("live_bytes") == 4 * MIB and counter("live_blocks") == 1


@scenario(FAKE_CUDA_MEMORY=str(4 * MIB))
def memory_whose_free_waits_serves_again():
    context()
    one = stream()
    for _ in range(3):
        call("cuMemFreeAsync", call("cuMemAllocAsync", 3 * MIB, one), one)


@scenario()
def frees_of_what_is_not_allocated_are_refused():
    context()
    one, memory, other = stream(), call("cuMemAlloc", 64), call("cuMemAllocAsync", 64, 0)
    refused("INVALID_VALUE", "cuMemFree", int(memory) + 8)
    call("cuMemFree", memory)
    refused("INVALID_VALUE", "cuMemFree", memory)
    call("cuMemFreeAsync", other, one)
    refused("INVALID_VALUE", "cuMemFreeAsync", other, one)
    refused("INVALID_VALUE", "cuMemFree", Words(1).address)
    refused("INVALID_VALUE", "cuMemAlloc", 0)


@scenario()
def copies_and_fills_stay_inside_their_allocation():
    context()
    memory, host = int(call("cuMemAlloc", 64)), Words(100)
    for name, args in {
        "cuMemcpyHtoD": (memory, host.address, 65),
        "cuMemcpyDtoH": (host.address, memory + 8, 64),
        "cuMemcpyDtoD": (memory, memory + 256, 8),
        "cuMemcpyHtoDAsync": (memory + 60, host.address, 8, 0),
        "cuMemsetD8": (memory + 1, 0, 64),
        "cuMemsetD32": (memory + 2, 0, 1),
        "cuMemsetD2D8": (memory, 32, 0, 33, 1 + 1),
    }.items():
        refused("INVALID_VALUE", name, *args)
    refused("INVALID_VALUE", "cuMemcpyDtoD", memory, memory + 8, 16)  # they overlap
    refused("INVALID_VALUE", "cuMemcpyHtoD", host.address, memory, 8)  # the other way round
    call("cuMemcpyHtoD", memory, host.address, 64)
    call("cuMemFree", memory)
    refused("INVALID_VALUE", "cuMemcpyHtoD", memory, host.address, 64)


@scenario(signal.SIGSEGV)
def the_host_cannot_read_memory_of_a_device():
    context()
    memory = on_device(1)
    ctypes.string_at(int(memory), 8)


@scenario(signal.SIGABRT)
def what_is_written_behind_an_allocation_is_found():
    context()
    memory = call("cuMemAlloc", 24)
    Kernel("add").launch(0, 4, memory, value=1)
    call("cuMemFree", memory)


@scenario()
def pools_count_and_keep_memory():
    context()
    pool, one = call("cuDeviceGetDefaultMemPool", 0), stream()
    threshold = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
    memory = call("cuMemAllocAsync", MIB, one)
    assert pool_value(pool, "USED_MEM_CURRENT") == MIB
    call("cuMemFreeAsync", memory, one)
    assert pool_value(pool, "USED_MEM_CURRENT") == MIB, "the free has not run"
    call("cuStreamSynchronize", one)
    assert pool_value(pool, "USED_MEM_CURRENT") == 0 == pool_value(pool, "RESERVED_MEM_CURRENT")
    assert pool_value(pool, "USED_MEM_HIGH") == MIB
    call("cuMemPoolSetAttribute", pool, threshold, driver.cuuint64_t(1 << 40))
    assert pool_value(pool, "RELEASE_THRESHOLD") == 1 << 40
    call("cuMemFreeAsync", call("cuMemAllocAsync", MIB, one), one)
    call("cuStreamSynchronize", one)
    assert pool_value(pool, "RESERVED_MEM_CURRENT") == MIB and call("cuMemGetInfo")[0] == (2 << 30) - MIB
    call("cuMemPoolTrimTo", pool, 0)
    assert pool_value(pool, "RESERVED_MEM_CURRENT") == 0 and call("cuMemGetInfo")[0] == 2 << 30


@scenario()
def pools_can_be_made():
    context()
    wishes = driver.CUmemPoolProps()
    wishes.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wishes.location.type, wishes.location.id = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, 0
    pool = call("cuMemPoolCreate", wishes)
    memory = call("cuMemAllocFromPoolAsync", 4096, pool, stream())
    assert pool_value(pool, "USED_MEM_CURRENT") == 4096
    call("cuMemFree", memory)
    assert pool_value(pool, "USED_MEM_CURRENT") == 0
    call("cuDeviceSetMemPool", 0, pool)
    call("cuMemPoolDestroy", pool)
    assert int(call("cuDeviceGetMemPool", 0)) == int(call("cuDeviceGetDefaultMemPool", 0))


@scenario()
def pointers_tell_what_they_are():
    context()
    attribute = driver.CUpointer_attribute
    kind, size = attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, attribute.CU_POINTER_ATTRIBUTE_RANGE_SIZE
    memory, pinned, plain = int(call("cuMemAlloc", 80)), Words(4, pinned=True), Words(4)
    assert call("cuPointerGetAttribute", kind, memory + 8) == driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
    assert call("cuPointerGetAttribute", size, memory + 8) == 80
    assert call("cuPointerGetAttribute", kind, pinned.address) == driver.CUmemorytype.CU_MEMORYTYPE_HOST
    refused("INVALID_VALUE", "cuPointerGetAttribute", kind, plain.address)
    ordinal = attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    assert call("cuPointerGetAttributes", 2, [ordinal, size], memory) == [0, 80]
    assert [int(x) for x in call("cuMemGetAddressRange", memory + 8)] == [memory, 80]


@scenario()
def host_memory_is_registered_once():
    context()
    plain = Words(1000)
    refused("HOST_MEMORY_NOT_REGISTERED", "cuMemHostUnregister", plain.address)
    call("cuMemHostRegister", plain.address, plain.bytes, 0)
    refused("HOST_MEMORY_ALREADY_REGISTERED", "cuMemHostRegister", plain.address + 80, 80, 0)
    assert int(call("cuMemHostGetDevicePointer", plain.address, 0)) == plain.address
    call("cuMemHostUnregister", plain.address)
    refused("INVALID_VALUE", "cuMemFreeHost", plain.address)
    call("cuMemFreeHost", Words(4, pinned=True).address)


# ----- several devices ------------------------------------------------------------------------


@scenario()
def memory_of_another_device_can_be_copied():
    contexts = context(1), context(0)
    here = on_device(1, 2, 3)
    call("cuCtxSetCurrent", contexts[0])
    there = on_device(0, 0, 0)
    refused("INVALID_VALUE", "cuMemcpyPeerAsync", there, contexts[1], here, contexts[0], 24, 0)
    call("cuMemcpyPeerAsync", there, contexts[0], here, contexts[1], 24, 0)
    assert words(there, 3) == [1, 2, 3]


@scenario()
def streams_functions_and_events_belong_to_one_device():
    contexts = context(1), context(0)
    kernel, one, mark = Kernel("add"), stream(), call("cuEventCreate", 0)
    call("cuCtxSetCurrent", contexts[0])
    other = stream()
    arguments, count = Words(3), Words(1)
    block = (ctypes.c_void_p * 2)(arguments.address, count.address)
    for on in (one, other):
        refused(
            "INVALID_HANDLE", "cuLaunchKernel", kernel.function, 1, 1, 1, 1, 1, 1, 0, on, ctypes.addressof(block), 0
        )
    refused("INVALID_HANDLE", "cuEventRecord", mark, other)
    call("cuEventRecord", mark, one)
    call("cuStreamWaitEvent", other, mark, 0)


@scenario(signal.SIGSEGV)
def kernels_cannot_use_memory_of_other_devices():
    _add_there(lambda contexts, there: None)


@scenario(signal.SIGSEGV)
def access_to_a_context_does_not_open_its_pools():
    _add_there(lambda contexts, there: call("cuCtxEnablePeerAccess", contexts[1], 0), pool=True)


@scenario()
def kernels_use_memory_of_peers_after_they_are_enabled():
    _add_there(lambda contexts, there: call("cuCtxEnablePeerAccess", contexts[1], 0))


@scenario()
def kernels_use_pools_that_are_opened_to_them():
    def open_pool(contexts, there):
        wanted = driver.CUmemAccessDesc()
        wanted.location.type, wanted.location.id = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, 0
        wanted.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        call("cuMemPoolSetAccess", call("cuDeviceGetDefaultMemPool", 1), [wanted], 1)

    _add_there(open_pool, pool=True)


def _add_there(enable, pool=False):
    """A kernel of device 0 adds to memory of device 1."""
    contexts = context(0), context(1)
    there = call("cuMemAllocAsync", 8, 0) if pool else call("cuMemAlloc", 8)
    call("cuMemsetD8", there, 0, 8)
    call("cuCtxSynchronize")
    call("cuCtxSetCurrent", contexts[0])
    enable(contexts, there)
    Kernel("add").launch(0, 1, there, value=5)
    assert words(there, 1) == [5]


@scenario(FAKE_CUDA_NO_PEERS="1")
def devices_may_be_strangers():
    contexts = context(1), context(0)
    assert call("cuDeviceCanAccessPeer", 0, 1) == 0
    refused("PEER_ACCESS_UNSUPPORTED", "cuCtxEnablePeerAccess", contexts[0], 0)
