"""Scenarios about the simulated driver: how they are declared, and what they say with few words.

A scenario is a function that raises when the driver does what it should not. Each runs in a process of its
own, forked before the driver is loaded, so settings are its own and a crash can be what it expects:
`python simulator_cases.py LIBRARY` runs them all and prints what became of each.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import struct
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from cuda.bindings import driver

FOLDERS = (Path(__file__).resolve().parents[4], Path(__file__).resolve().parent)
TOPICS = ("simulator_memory", "simulator_streams", "simulator_graphs", "simulator_entries")
_CRASHED = "crashed with signal "


class Scenario(NamedTuple):
    run: Callable[[], None]
    environment: dict[str, str]
    signal: int
    """That ends the process, when all is well."""


SCENARIOS: dict[str, Scenario] = {}


def scenario(signal: int = 0, **environment: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Declare a scenario; keywords are settings, such as FAKE_CUDA_DEVICES="1"."""

    def declared(run: Callable[[], None]) -> Callable[[], None]:
        SCENARIOS[run.__name__] = Scenario(run, environment, signal)
        return run

    return declared


# ----- words of scenarios ---------------------------------------------------------------------


def call(name: str, *args: Any) -> Any:
    """What a function of the driver returns when it works."""
    status, *results = getattr(driver, name)(*args)
    assert status == 0, f"{name}: {status.name}"
    return results[0] if len(results) == 1 else tuple(results)


def refused(code: str, name: str, *args: Any) -> None:
    """A function of the driver returns this error."""
    status = getattr(driver, name)(*args)[0]
    assert status.name == f"CUDA_ERROR_{code}", f"{name}: {status.name} instead of {code}"


def counter(name: str) -> int:
    return int(loaded().fake_cuda_counters(name.encode()))


def loaded() -> ctypes.CDLL:
    from cuda_simulator import simulator  # noqa: PLC0415  (found by the process that runs scenarios)

    return simulator.start_driver()


def context(device: int = 0) -> Any:
    """A current context."""
    call("cuInit", 0)
    found = call("cuDevicePrimaryCtxRetain", device)
    call("cuCtxSetCurrent", found)
    return found


def stream(flags: int = 1) -> Any:
    """A new stream; 1: it does not wait for the legacy default stream."""
    return call("cuStreamCreate", flags)


def event() -> Any:
    return call("cuEventCreate", 0)


class Words:
    """64-bit words of the host, pinned or not."""

    def __init__(self, count: int, pinned: bool = False):
        self.count, self.bytes = count, 8 * count
        if pinned:
            self.address = int(call("cuMemHostAlloc", self.bytes, 0))
            self.data = (ctypes.c_int64 * count).from_address(self.address)
        else:
            self.data = (ctypes.c_int64 * count)()
            self.address = ctypes.addressof(self.data)

    def set(self, *values: int) -> Words:
        self.data[:] = values
        return self

    def list(self) -> list[int]:
        return list(self.data)


def on_device(*values: int) -> Any:
    """Memory that holds these words."""
    address, host = call("cuMemAlloc", 8 * len(values)), Words(len(values)).set(*values)
    call("cuMemcpyHtoD", address, host.address, host.bytes)
    call("cuCtxSynchronize")
    return address


def words(address: Any, count: int) -> list[int]:
    """What memory of the device holds after all work."""
    call("cuCtxSynchronize")
    found = Words(count)
    call("cuMemcpyDtoH", found.address, address, found.bytes)
    return found.list()


class Kernel:
    """One of the kernels in simulator_kernels.c."""

    def __init__(self, name: str):
        library = loaded()
        places = (ctypes.cast(library[f"test_{name}"], ctypes.c_void_p).value, _address(library, "test_registers"))
        self.image = b"WSIMCUDA" + struct.pack("<3Q", *places, 24)
        self.function = call("cuModuleGetFunction", call("cuModuleLoadData", self.image), b"warpsim_kernel")

    def launch(self, on: Any, count: int, to: Any, source: Any = 0, value: int = 0, grid: int = 1) -> None:
        block = ctypes.create_string_buffer(struct.pack("<QQq", int(to), int(source), value), 24)
        threads = ctypes.c_int64(count)
        places = (ctypes.c_void_p * 2)(ctypes.addressof(block), ctypes.addressof(threads))
        call("cuLaunchKernel", self.function, grid, 1, 1, 32, 1, 1, 0, on, ctypes.addressof(places), 0)
        ctypes.memset(block, 0xEE, 24)  # the launch has taken its copy
        threads.value = -1


def _address(library: ctypes.CDLL, symbol: str) -> int:
    return ctypes.addressof((ctypes.c_int32 * 4).in_dll(library, symbol))


# ----- running ------------------------------------------------------------------------------------


def outcome(chosen: Scenario, library: str) -> str:
    """Run a scenario in a forked process: nothing when all is well, else what happened."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.environ.update(chosen.environment)
        try:
            from cuda_simulator import simulator  # noqa: PLC0415  (found by now)

            simulator.start_driver(Path(library))
            chosen.run()
        except BaseException:
            os.write(writer, traceback.format_exc().encode()[-4000:])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if signal == chosen.signal:
        return said
    return f"{_CRASHED}{signal} instead of {chosen.signal}\n{said}"


def gather() -> dict[str, Scenario]:
    """The scenarios of all topics."""
    for topic in TOPICS:
        importlib.import_module(topic)
    return SCENARIOS


if __name__ == "__main__":
    sys.path[:0] = [str(folder) for folder in FOLDERS]
    sys.modules["simulator_cases"] = sys.modules["__main__"]
    print(json.dumps({name: outcome(chosen, sys.argv[1]) for name, chosen in gather().items()}))
