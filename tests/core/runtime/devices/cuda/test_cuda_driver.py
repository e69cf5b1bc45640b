"""What is said where CUDA cannot be used, and what becomes of a program whose device fails.

Each case is a process of its own with the simulated driver, so that nothing of it stays behind.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cuda_simulator import simulator

from warpsim.core.runtime.devices.cuda import driver

pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")
pytestmark = [
    pytest.mark.skipif(bool(simulator.missing()), reason=simulator.missing()),
    pytest.mark.cpu(reason="about processes of their own"),
]

ROOT = Path(__file__).resolve().parents[5]

START = """
import gc, os, sys, threading
import numpy as np
sys.path.insert(0, {tests!r})
from pathlib import Path
from cuda_simulator import simulator
simulator.start(Path({library!r}))
import warpsim as wp
from warpsim.core.runtime.devices.cuda import driver
from warpsim.errors import DeviceError, DeviceMemoryError

def told(action):
    try:
        action()
    except Exception as error:
        return f"{{type(error).__name__}}: {{error}}"
    return "nothing"
"""

KERNEL = """
@wp.kernel
def axpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return simulator.build(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def run(library, tmp_path):
    """Run a program with the simulated driver; what it prints. Nothing may be said on stderr."""

    def go(text, kernels=True, complaint="", **environment):
        program = tmp_path / "program.py"
        begin = START.format(tests=str(ROOT / "tests"), library=str(library))
        program.write_text(begin + (KERNEL if kernels else "") + text, encoding="utf-8")
        surroundings = {**os.environ, "PYTHONPATH": str(ROOT), **{k: str(v) for k, v in environment.items()}}
        command = [sys.executable, "-X", "faulthandler", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=surroundings, check=False)
        assert done.returncode == 0, done.stderr
        assert complaint in done.stderr
        assert complaint or not done.stderr, done.stderr
        return done.stdout

    return go


# ----- looking for a driver -------------------------------------------------------------------------

ASK = """
print(wp.is_cuda_available(), wp.get_cuda_device_count(), wp.get_cuda_devices(), wp.get_preferred_device())
print(told(lambda: wp.zeros(3, device="cuda")))
print(told(lambda: wp.get_device("cuda:0")))
print(wp.zeros(3, device="cpu").numpy().tolist())
"""


@pytest.mark.parametrize(
    "environment, why",
    [
        ({"FAKE_CUDA_DEVICES": 0}, "is installed and does not start: it finds no GPU"),
        ({"FAKE_CUDA_VERSION": 12040}, "is for CUDA 12.4, and 13.0 is needed: update it"),
    ],
)
def test_reasons_of_drivers(run, environment, why):
    text = run(ASK, kernels=False, **environment)
    assert text.startswith("False 0 [] cpu")
    assert text.count("DeviceError: device 'cuda") == 2
    assert text.count(why) == 2
    assert text.endswith("[0.0, 0.0, 0.0]\n")


def test_missing_bindings_are_named(run):
    text = run("sys.modules['cuda.bindings.driver'] = None\n" + ASK, kernels=False)
    assert text.startswith("False 0 [] cpu")
    assert "a driver is installed, but not what talks to it" in text
    assert "pip install 'warpsim[cuda]'" in text


def test_a_machine_without_a_driver(monkeypatch):
    def refuse(name):
        raise OSError(name)

    monkeypatch.setattr(driver.ctypes, "CDLL", refuse)
    assert driver._look().reason == "no NVIDIA driver is installed (libcuda.so.1 is not found)"


class Library:
    """A driver that answers so."""

    def __init__(self, status, version, count):
        self.status, self.version, self.count = status, version, count

    def cuInit(self, flags):
        return self.status

    def cuDriverGetVersion(self, to):
        to._obj.value = self.version

    def cuDeviceGetCount(self, to):
        to._obj.value = self.count


@pytest.mark.parametrize(
    "answers, why",
    [
        ((999, 13000, 1), "is installed and does not start: cuInit returns 999"),
        ((100, 13000, 1), "is installed and does not start: it finds no GPU"),
        ((0, 12080, 1), "is for CUDA 12.8, and 13.0 is needed: update it"),
        ((0, 13010, 0), "finds no GPU (CUDA_VISIBLE_DEVICES may hide them)"),
        ((0, 13010, 2), ""),
    ],
)
def test_answers_of_drivers(monkeypatch, answers, why):
    monkeypatch.setattr(driver.ctypes, "CDLL", lambda name: Library(*answers))
    found = driver._look()
    assert why in found.reason
    assert bool(found.reason) == bool(why)


def test_asking_costs_no_package(run):
    text = run("print(sorted(m for m in sys.modules if m.startswith('cuda.bindings.driver')))\n", kernels=False)
    assert text == "[]\n"


def test_a_device_says_what_it_is(run):
    text = run(
        "d = wp.get_device('cuda:1')\n"
        "print(d, d.name, d.arch, d.is_cuda, d.ordinal, d.is_uva, d.is_primary, d.has_context, d.sm_count > 0)\n"
        "print(d.uuid, d.pci_bus_id, d.total_memory, d.free_memory <= d.total_memory, d.has_context)\n"
        "print(wp.get_cuda_driver_version(), wp.get_cuda_device(1) is d, d == 'cuda:1', d.can_access(d))\n",
        FAKE_CUDA_CAPABILITY=120,
    )
    first, second, third = text.splitlines()
    assert first.endswith("(12, 0) True 1 True True False True")
    assert second.startswith("GPU-")
    assert second.endswith(f"{2 << 30} True True")
    assert third == "(13, 5) True True True"


def test_a_forked_process_says_so(run):
    text = run(
        """
a = wp.ones(4, dtype=float, device="cuda:0")
wp.launch(axpy, 4, [a, a, 0.0], device="cuda:0")
pid = os.fork()
if pid == 0:
    print(told(lambda: wp.zeros(3, device="cuda:0")), flush=True)
    print(told(lambda: wp.launch(axpy, 4, [a, a, 1.0], device="cuda:0")), flush=True)
    print(told(lambda: a.numpy()), flush=True)
    del a  # and nothing happens
    gc.collect()
    print(wp.ones(2, dtype=float, device="cpu").numpy().tolist(), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
print(a.numpy().tolist())
"""
    )
    assert text.count("DeviceError: ") == text.count("CUDA was in use before this process was forked") == 3
    assert text.endswith("[1.0, 1.0]\n[1.0, 1.0, 1.0, 1.0]\n")


def test_an_untouched_device_has_no_context(run):
    text = run(
        "a = wp.ones(4, dtype=float, device='cuda:0')\nwp.synchronize()\n"
        "print([d.has_context for d in wp.get_cuda_devices()])\n"
    )
    assert text == "[True, False]\n"


# ----- failures -------------------------------------------------------------------------------------


def test_a_dead_context_is_explained_and_finalizers_stay_silent(run):
    text = run(
        """
x, y = (wp.ones(4, dtype=float, device="cuda:0") for _ in range(2))
pinned, stream, event = wp.zeros(4, device="cpu", pinned=True), wp.Stream("cuda:0"), wp.Event("cuda:0")
grid = wp.HashGrid(2, 2, 2, device="cuda:0")
wp.launch(axpy, 4, [x, y, 1.0], device="cuda:0")
with wp.ScopedCapture("cuda:0") as capture:
    wp.launch(axpy, 4, [x, y, 1.0], device="cuda:0")
wp.capture_launch(capture.graph)
simulator.fail("cuLaunchKernel", 700)
print(told(lambda: wp.launch(axpy, 4, [x, y, 1.0], device="cuda:0")))
for name in ("cuMemFreeAsync", "cuStreamDestroy", "cuEventDestroy", "cuMemFreeHost", "cuGraphExecDestroy",
             "cuModuleUnload", "cuStreamSynchronize", "cuEventRecord", "cuMemsetD8Async"):
    simulator.fail(name, 700)
del x, y, pinned, stream, event, capture, grid
axpy.forget()
gc.collect()
"""
    )
    assert "DeviceError: cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS" in text
    assert "cannot be used by this process any more" in text
    assert "config.verify = True" in text


def test_the_end_of_a_context_is_explained(run):
    text = run(
        """
x, y = (wp.ones(4, dtype=float, device="cuda:0") for _ in range(2))
wp.launch(axpy, 4, [x, y, 1.0], device="cuda:0")
simulator.fail("cuLaunchKernel", 709)
print(told(lambda: wp.launch(axpy, 4, [x, y, 1.0], device="cuda:0")))
"""
    )
    assert text.startswith("DeviceError: cuLaunchKernel: CUDA_ERROR_CONTEXT_IS_DESTROYED: other code in this process")


FAILING = {
    "cuMemcpyDtoH": "x.numpy()",
    "cuMemcpyHtoDAsync": "x.assign(np.arange(4, dtype=np.float32))",
    "cuMemsetD8Async": "x.zero_()",
    "cuMemcpyDtoDAsync": "wp.copy(x, y)",
    "cuLaunchKernel": "wp.launch(axpy, 4, [x, y, 0.0], device='cuda:0')",
    "cuStreamSynchronize": "wp.synchronize_stream(wp.get_stream('cuda:0'))",
    "cuCtxSynchronize": "wp.synchronize()",
    "cuStreamCreateWithPriority": "wp.Stream('cuda:0')",
    "cuEventCreate": "wp.Event('cuda:0')",
    "cuModuleLoadData": "fresh(['cuda:0'])",
    "cuModuleGetFunction": "fresh(['cuda:0'])",
    "cuGraphInstantiateWithFlags": "wp.capture_launch(captured())",
    "cuGraphLaunch": "wp.capture_launch(captured())",
    "cuStreamBeginCapture": "wp.capture_launch(captured())",
    "cuStreamCreate": "wp.capture_launch(captured())",
}


def test_one_failing_call_is_told_and_the_next_works(run):
    """CUDA_ERROR_NOT_SUPPORTED (801) once from any call: a DeviceError that names it, then all is well."""
    text = run(
        f"""
def fresh(devices):
    axpy.forget()
    for d in devices:
        wp.launch(axpy, 4, [x, y, 0.0], device=d)

def captured():
    with wp.ScopedCapture("cuda:0") as capture:
        wp.launch(axpy, 4, [x, y, 0.0], device="cuda:0")
    return capture.graph

x, y = (wp.ones(4, dtype=float, device="cuda:0") for _ in range(2))
wp.launch(axpy, 4, [x, y, 0.0], device="cuda:0")
for symbol, action in {FAILING!r}.items():
    wp.synchronize()
    simulator.fail(symbol, 801)
    print(symbol, told(lambda: eval(action)).partition("\\n")[0])
    print(symbol, told(lambda: eval(action)))
    print(symbol, wp.ones(3, dtype=float, device="cuda:0").numpy().tolist())
    gc.collect()
"""
    )
    expected = []
    for symbol in FAILING:
        name = symbol.removesuffix("WithFlags")
        expected.append(f"{symbol} DeviceError: {name} fails: CUDA_ERROR_NOT_SUPPORTED")
        expected += [f"{symbol} nothing", f"{symbol} [1.0, 1.0, 1.0]"]
    assert text.splitlines() == expected


def test_memory_is_used_again_and_shortage_is_survived(run):
    text = run(
        """
MB = 1 << 20
for _ in range(40):
    wp.empty(20 * MB, dtype=wp.uint8, device="cuda:0")
print(told(lambda: wp.empty(100 * MB, dtype=wp.uint8, device="cuda:0")))
kept = wp.full(10, 3.0, device="cuda:0")
class Holder: pass
gc.disable()
for _ in range(8):
    h = Holder(); h.me, h.memory = h, wp.empty(20 * MB, dtype=wp.uint8, device="cuda:0")
print("cycles were freed")
print(kept.numpy().tolist())
print(told(lambda: wp.zeros((10 * MB, 10), pinned=True, device="cpu")))
simulator.fail("cuMemHostAlloc", 2)
print(told(lambda: wp.zeros(MB, pinned=True, device="cpu")))
""",
        FAKE_CUDA_MEMORY=64 << 20,
    )
    lines = text.splitlines()
    assert lines[0].startswith("DeviceMemoryError: cuda:0")
    assert "has no room for 104,857,600 bytes" in lines[0]
    assert "cycles were freed" in text
    assert str([3.0] * 10) in text
    assert "bytes of page-locked memory of the host\nhelp: leave out pinned=True" in text


def test_memory_without_pools(run):
    text = run(
        """
d = wp.get_device("cuda:0")
print(wp.is_mempool_supported(d), wp.is_mempool_enabled(d))
with wp.ScopedMempool(d, False):
    x = wp.ones(1000, dtype=float, device=d)
    before = simulator.counter("cuMemAllocAsync")
    y = wp.full(1000, 2.0, device=d)
    print(simulator.counter("cuMemAllocAsync") - before, simulator.counter("cuMemAlloc") > 0, wp.is_mempool_enabled(d))
print(wp.is_mempool_enabled(d))
wp.launch(axpy, 1000, [x, y, 3.0], device=d)
del x
gc.collect()
print(simulator.counter("cuMemFree"), y.numpy()[:3].tolist())
"""
    )
    assert text.splitlines() == ["True True", "0 True False", "True", "1 [5.0, 5.0, 5.0]"]


# ----- others in the process ------------------------------------------------------------------------


@pytest.mark.parametrize("devices", [1, 2])
def test_other_code_may_change_the_current_context(run, devices):
    text = run(
        """
from cuda.bindings import driver as cuda
x, y = (wp.ones(4, dtype=float, device="cuda:0") for _ in range(2))
wp.launch(axpy, 4, [x, y, 1.0], device="cuda:0")
away = lambda: cuda.cuCtxSetCurrent(cuda.CUcontext(0))
away(); wp.launch(axpy, 4, [x, y, 1.0], device="cuda:0")
away(); z = wp.zeros(4, dtype=float, device="cuda:0")
away(); z.fill_(3.0)
away(); wp.copy(z[::2], y[::2])
away(); print(z.numpy().tolist())
away(); event = wp.record_event(wp.Event("cuda:0", enable_timing=True))
away(); wp.synchronize_event(event)
away(); stream = wp.Stream("cuda:0"); away(); stream.wait_event(event); away(); stream.synchronize()
away(); del x, y, z, stream, event; gc.collect()
away(); wp.synchronize()
""",
        FAKE_CUDA_DEVICES=devices,
    )
    assert text == "[3.0, 3.0, 3.0, 3.0]\n"


def test_finalizers_leave_the_current_device_of_other_code_alone(run):
    text = run(
        """
from cuda.bindings import driver as cuda
x, s, e = wp.ones(4, dtype=float, device="cuda:0"), wp.Stream("cuda:0"), wp.Event("cuda:0")
y = wp.ones(4, dtype=float, device="cuda:1")
before = int(cuda.cuCtxGetCurrent()[1])
del x, s, e
gc.collect()
print(int(cuda.cuCtxGetCurrent()[1]) == before)
with wp.get_device("cuda:0").context_guard:
    print(int(cuda.cuCtxGetCurrent()[1]) == before)
print(int(cuda.cuCtxGetCurrent()[1]) == before)
"""
    )
    assert text == "True\nFalse\nTrue\n"


def test_the_interpreter_ends_in_any_state(run):
    """Arrays, streams, graphs and cycles that are alive at the end; work that nobody waited for."""
    text = run(
        """
x, y = (wp.ones(4, dtype=float, device="cuda:0") for _ in range(2))
stream, event, pinned = wp.Stream("cuda:0"), wp.Event("cuda:0"), wp.zeros(4, device="cpu", pinned=True)
grid = wp.HashGrid(2, 2, 2, device="cuda:0")
mesh = wp.Mesh(wp.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=wp.vec3, device="cuda:0"),
               wp.array([0, 1, 2], dtype=int, device="cuda:0"))
class Holder: pass
h = Holder(); h.me, h.all = h, [x, y, stream, event, grid, mesh, pinned]
with wp.ScopedCapture("cuda:0") as capture:
    wp.launch(axpy, 4, [x, y, 1.0], device="cuda:0")
wp.capture_launch(capture.graph)
wp.launch(axpy, 4, [x, y, 1.0], stream=stream)
wp.set_stream(stream)
local = threading.local(); local.kept = [wp.zeros(3, device="cuda:0"), h]
threading.Thread(target=lambda: wp.set_stream(wp.Stream("cuda:0"))).start()
print("end")
"""
    )
    assert text == "end\n"


def test_a_failed_assertion_that_nobody_waits_for_is_told_at_exit(run):
    text = """
@wp.kernel
def strict(x: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] > 0.0, "positive"

wp.set_device("cuda:0")
wp.launch(strict, 2, [wp.array([1.0, -1.0], dtype=float)])
print("launched")
"""
    said = run(text, complaint="a launch failed and nothing waited for it: positive")
    assert said.strip() == "launched"
