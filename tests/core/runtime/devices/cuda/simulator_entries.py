"""Scenarios: start, devices, errors, failures on request, modules and launches that are refused."""

import ctypes

from cuda.bindings import driver
from simulator_cases import (
    Kernel,
    call,
    context,
    counter,
    loaded,
    on_device,
    refused,
    scenario,
    stream,
    words,
)


@scenario()
def nothing_works_before_the_start():
    refused("NOT_INITIALIZED", "cuDeviceGetCount")
    call("cuInit", 0)
    assert call("cuDeviceGetCount") == 2
    refused("INVALID_CONTEXT", "cuMemAlloc", 8)
    refused("INVALID_CONTEXT", "cuStreamCreate", 0)
    refused("INVALID_DEVICE", "cuDeviceGet", 2)
    context(1)
    assert int(call("cuCtxGetDevice")) == 1
    call("cuMemAlloc", 8)


@scenario(FAKE_CUDA_DEVICES="0")
def a_driver_may_have_no_device():
    refused("NO_DEVICE", "cuInit", 0)


@scenario(FAKE_CUDA_DEVICES="3", FAKE_CUDA_CAPABILITY="120", FAKE_CUDA_VERSION="12040")
def devices_are_what_is_asked_for():
    context()
    attribute = driver.CUdevice_attribute
    wanted = {
        attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: 12,
        attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: 0,
        attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: 4,
        attribute.CU_DEVICE_ATTRIBUTE_WARP_SIZE: 32,
        attribute.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: 1024,
        attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: 1,
        attribute.CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: 1,
        attribute.CU_DEVICE_ATTRIBUTE_INTEGRATED: 0,
    }
    for k in range(call("cuDeviceGetCount")):
        assert {a: call("cuDeviceGetAttribute", a, k) for a in wanted} == wanted
    assert call("cuDriverGetVersion") == 12040
    assert len({call("cuDeviceGetUuid", k).bytes for k in range(3)}) == 3
    assert call("cuDeviceGetName", 64, 2).startswith(b"Simulated GPU 2\0")


@scenario()
def errors_have_the_names_of_the_interface():
    known = 0
    for code in driver.CUresult:
        status, name = driver.cuGetErrorName(code)
        if status == 0:
            assert name.decode() == code.name
            assert call("cuGetErrorString", code)
            known += 1
    assert known > 30


@scenario()
def entries_that_are_not_simulated_are_missing():
    context()
    try:
        driver.cuIpcGetMemHandle(on_device(0))
    except RuntimeError as error:
        assert "cuIpcGetMemHandle" in str(error)
    else:
        raise AssertionError("it was called")


@scenario(FAKE_CUDA_FAIL="cuStreamCreate:719:1,cuEventCreate:2:0")
def failures_come_when_asked_for():
    context()
    stream()
    refused("LAUNCH_FAILED", "cuStreamCreate", 0)
    refused("OUT_OF_MEMORY", "cuEventCreate", 0)
    stream()
    assert counter("cuStreamCreate") == 3
    assert loaded().fake_cuda_fail(b"cuMemAlloc", 2, 1) == 0
    assert loaded().fake_cuda_fail(b"cuNothing", 2, 1) == -1
    call("cuMemAlloc", 8)
    refused("OUT_OF_MEMORY", "cuMemAlloc", 8)
    call("cuMemAlloc", 8)
    assert counter("cuNothing") == -1


@scenario()
def contexts_are_stacked():
    first, second = context(0), context(1)
    call("cuCtxPushCurrent", first)
    assert int(call("cuCtxGetDevice")) == 0
    assert int(call("cuCtxPopCurrent")) == int(first)
    assert int(call("cuCtxGetCurrent")) == int(second)
    call("cuDevicePrimaryCtxRelease", 1)
    refused("INVALID_CONTEXT", "cuMemAlloc", 8)
    refused("CONTEXT_IS_DESTROYED", "cuCtxSetCurrent", second)


@scenario()
def modules_are_checked():
    context()
    refused("INVALID_IMAGE", "cuModuleLoadData", b"\x7fELF" + bytes(64))
    kernel = Kernel("add")
    module = call("cuModuleLoadData", kernel.image)
    refused("NOT_FOUND", "cuModuleGetFunction", module, b"another_kernel")
    assert call("cuFuncGetName", kernel.function) == b"warpsim_kernel"
    most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
    assert call("cuFuncGetAttribute", most, kernel.function) == 1024
    assert counter("live_modules") == 2
    call("cuModuleUnload", module)
    refused("INVALID_HANDLE", "cuModuleUnload", module)
    library = call("cuLibraryLoadData", kernel.image, [], [], 0, [], [], 0)
    call("cuLibraryGetKernel", library, b"warpsim_kernel")


@scenario()
def a_module_leaves_after_its_launches():
    context()
    kernel, memory, one = Kernel("add"), on_device(0), stream()
    kernel.launch(one, 1, memory, value=1)
    call("cuModuleUnload", call("cuFuncGetModule", kernel.function))
    assert counter("kernels") == 1 and words(memory, 1) == [1]
    block = (ctypes.c_int64 * 3)()
    refused("INVALID_HANDLE", *_launch(kernel, block))


def _launch(kernel, block, grid=1, threads=1, shared=0):
    """A launch of no threads, as arguments of `call`; the driver reads the block at once."""
    count = ctypes.c_int64(0)
    places = (ctypes.c_void_p * 2)(ctypes.addressof(block), ctypes.addressof(count))
    kernel.kept = count, places
    args = (kernel.function, grid, 1, 1, threads, 1, 1, shared, 0, ctypes.addressof(places), 0)
    return "cuLaunchKernel", *args


@scenario()
def launches_are_checked():
    context()
    kernel, block = Kernel("add"), (ctypes.c_int64 * 3)()
    call(*_launch(kernel, block, 4, 1024, 49152))
    for grid, threads, shared in ((0, 1, 0), (1, 0, 0), (1, 1025, 0), (1, 1, 49153)):
        refused("INVALID_VALUE", *_launch(kernel, block, grid, threads, shared))
    assert counter("launches") == 1 and counter("cuLaunchKernel") == 5


@scenario()
def launches_take_other_forms():
    """Parameters as values with their types, and a launch by a configuration."""
    context()
    kernel, memory = Kernel("add"), on_device(1)

    class Block(ctypes.Structure):
        _fields_ = (("to", ctypes.c_uint64), ("source", ctypes.c_uint64), ("value", ctypes.c_int64))

    block, count = Block(int(memory), 0, 5), ctypes.c_int64(1)
    places = (ctypes.c_void_p * 2)(ctypes.addressof(block), ctypes.addressof(count))
    config = driver.CUlaunchConfig()
    config.gridDimX = config.gridDimY = config.gridDimZ = 1
    config.blockDimX, config.blockDimY, config.blockDimZ = 32, 1, 1
    call("cuLaunchKernelEx", config, kernel.function, ctypes.addressof(places), 0)
    assert words(memory, 1) == [6]
    buffer = ctypes.create_string_buffer(bytes(block) + bytes(count), 32)
    size = ctypes.c_size_t(32)
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 0)
    call("cuLaunchKernel", kernel.function, 1, 1, 1, 32, 1, 1, 0, 0, 0, ctypes.addressof(extra))
    assert words(memory, 1) == [11]
