"""A program whose kernels run on the simulated driver: `python simulator_program.py LIBRARY`. It checks what they did.

Everything of a kernel that the simulator supplies is in here: thread registers, the argument block, atomics,
sums in registers, printing, native functions, reports of failed checks, and no trace in the kernel cache.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))

from cuda.bindings import driver
from cuda_simulator import simulator

import warpsim as wp
from warpsim.core.emit import build as builder
from warpsim.core.emit.target import Options
from warpsim.core.runtime.launches.arguments import packer
from warpsim.errors import NoCompilerError

N = 1000


@wp.kernel
def move(x: wp.array(dtype=wp.vec3), bins: wp.array(dtype=float), total: wp.array(dtype=float), a: float):
    i, j = wp.tid()
    k = 10 * i + j
    x[k] = a * x[k] + wp.vec3(float(i), float(j), wp.sin(float(k)))
    wp.atomic_add(bins, k % 7, float(k))
    wp.atomic_add(total, 0, 1.0)
    if k == 123:
        print("here", k, a)


@wp.func_native("return 3.0f * x;")
def triple(x: float) -> float: ...


@wp.kernel
def call_native(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = triple(x[i])


@wp.kernel
def check(x: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] < 5.0, "too large"


def call(name, *args):
    status, *results = getattr(driver, name)(*args)
    assert status == 0, (name, status)
    return results[0] if len(results) == 1 else results


def run(kernel, dims, *args):
    """Compile for the simulated driver, copy arrays there, launch, copy them back; returns the report."""
    types = tuple(kernel.patterns.values())
    program = kernel.program(types)
    code = builder.build_cuda(program, Options(), (9, 0))
    function = call("cuModuleGetFunction", call("cuModuleLoadData", code.code), b"warpsim_kernel")
    arrays = [np.zeros(5, np.int64), *(a for a in args if isinstance(a, np.ndarray))]
    places = [call("cuMemAlloc", a.nbytes) for a in arrays]
    for a, place in zip(arrays, places, strict=True):
        call("cuMemcpyHtoD", place, a.ctypes.data, a.nbytes)
    header = np.array([int(places[0]), *dims, *[1] * (4 - len(dims)), 1], np.int64).tobytes()
    rest = iter(zip(arrays[1:], places[1:], strict=True))
    parts = [np.array([int(p), 0, len(a), a.strides[0]], np.int64).tobytes() for a, p in rest]
    parts += [packer(t)(v) for t, v in zip(types, args, strict=True) if not isinstance(v, np.ndarray)]
    block = ctypes.create_string_buffer(header + b"".join(parts), code.block_bytes)
    count = ctypes.c_int64(int(np.prod(dims)))
    pointers = (ctypes.c_void_p * 2)(ctypes.addressof(block), ctypes.addressof(count))
    call("cuLaunchKernel", function, 3, 1, 1, 64, 1, 1, 0, 0, ctypes.addressof(pointers), 0)
    for a, place in zip(arrays, places, strict=True):
        call("cuMemcpyDtoH", a.ctypes.data, place, a.nbytes)
        call("cuMemFree", place)
    return arrays[0], code


def main() -> None:
    simulator.start(Path(sys.argv[1]))
    call("cuInit", 0)
    call("cuCtxSetCurrent", call("cuDevicePrimaryCtxRetain", 0))
    x, bins, total = np.ones((N, 3), np.float32), np.zeros(7, np.float32), np.zeros(1, np.float32)
    k = np.arange(N)
    report, code = run(move, (N // 10, 10), x, bins, total, 2.0)
    np.testing.assert_allclose(x, 2 + np.stack([k // 10, k % 10, np.sin(k)], 1), rtol=1e-6)
    np.testing.assert_array_equal(bins, np.bincount(k % 7, k))
    assert total[0] == N and code.reduces and not report.any()
    y = np.arange(8, dtype=np.float32)
    report, code = run(check, (8,), y)
    assert report[0] == 1 and report[4] >= 5 and code.sites[report[1]].text == "too large"
    try:
        run(call_native, (8,), y)
        np.testing.assert_array_equal(y, 3 * np.arange(8))
    except NoCompilerError:
        print("no C++ compiler")
    assert simulator.counter("launches") == simulator.counter("kernels") >= 2
    assert simulator.counter("live_blocks") == 0
    print("all is well")


if __name__ == "__main__":
    main()
