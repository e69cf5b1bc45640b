"""Kernels that nobody holds leave nothing behind: neither machine code nor mappings nor Python objects."""

import gc
import linecache
import os
import subprocess
import sys
import threading
import types
import weakref
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit import build as builder
from warpsim.core.emit.native import code_memory, linker
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.errors import DeviceMemoryError, KernelError

pytestmark = pytest.mark.cpu(reason="counts machine code of the CPU")


def scaled(factor):
    @wp.kernel
    def scale(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * wp.static(float(factor))

    return scale


def arrays(requires_grad=False):
    x = wp.array(np.arange(1, 5), dtype=float, requires_grad=requires_grad)
    return x, wp.zeros(4, dtype=float, requires_grad=requires_grad)


def launched(kernel):
    x, y = arrays()
    wp.launch(kernel, dim=4, inputs=[x, y])
    return y.numpy().tolist()


def times(factor):
    return [factor * k for k in range(1, 5)]


def linked():
    get_pool()  # has code of its own
    gc.collect()
    return len(linker._linkers)


# ----- what is shared and what goes -----------------------------------------------------------------


def test_a_dropped_kernel_leaves_nothing():
    launched(scaled(1001))
    before = linked()
    kernel = scaled(1002)
    assert launched(kernel) == times(1002.0)
    assert linked() == before + 1
    traces = [weakref.ref(kernel), weakref.ref(kernel.latest["cpu"]), weakref.ref(kernel.latest["cpu"].code)]
    del kernel
    assert linked() == before and [trace() for trace in traces] == [None] * 3


def test_kernels_of_equal_programs_share_their_code():
    first, second = scaled(1003), scaled(1003)
    assert launched(first) == times(1003.0)
    before = linked()
    assert launched(second) == times(1003.0)
    assert linked() == before
    assert first.latest["cpu"].code is second.latest["cpu"].code
    del first
    assert linked() == before and launched(second) == times(1003.0)


def test_the_same_kernel_made_again_takes_no_memory():
    held = [scaled(1004) for _ in range(30)]
    assert launched(held[0]) == times(1004.0)
    before = linked(), mappings()
    for kernel in held:
        assert launched(kernel) == times(1004.0)
    assert (linked(), mappings()) == before


def taped(kernel):
    """A tape of one launch, and what takes the gradient back."""
    x, y = arrays(requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=4, inputs=[x, y])

    def back():
        tape.backward(grads={y: wp.array(np.ones(4), dtype=float)})
        return x.grad.numpy().tolist()

    return back


def test_every_form_of_a_kernel_goes_with_it():
    taped(scaled(1005))()  # kernels of the library stay
    before = linked()
    kernel = scaled(1006)
    back = taped(kernel)
    assert back() == [1006.0] * 4
    assert linked() > before
    del kernel, back
    assert linked() == before


def test_recompiling_drops_what_nobody_holds():
    kernel = scaled(1006)
    launched(kernel)
    before = linked()
    held = kernel.latest["cpu"]
    kernel.forget()
    assert launched(kernel) == times(1006.0)
    assert linked() == before  # the code is the one that `held` keeps
    del held
    assert linked() == before and launched(kernel) == times(1006.0)


# ----- who holds code ---------------------------------------------------------------------------------


def of_command(kernel, x, y):
    return wp.launch(kernel, dim=4, inputs=[x, y], record_cmd=True).launch


def of_graph(kernel, x, y):
    with wp.ScopedCapture() as capture:
        wp.launch(kernel, dim=4, inputs=[x, y])
        wp.launch(kernel, dim=4, inputs=[x, y])
    graph = capture.graph
    return lambda: wp.capture_launch(graph)


def of_captured_command(kernel, x, y):
    command = wp.launch(kernel, dim=4, inputs=[x, y], record_cmd=True)
    with wp.ScopedCapture() as capture:
        command.launch()
    graph = capture.graph
    return lambda: wp.capture_launch(graph)


def of_nested_graph(kernel, x, y):
    with wp.ScopedCapture() as inner:
        wp.launch(kernel, dim=4, inputs=[x, y])
    with wp.ScopedCapture() as outer:
        wp.capture_launch(inner.graph)
    graph = outer.graph
    return lambda: wp.capture_launch(graph)


@pytest.mark.parametrize("holder", [of_command, of_graph, of_captured_command, of_nested_graph])
def test_recorded_launches_hold_their_code(holder):
    x, y = arrays()
    before = linked()
    again = holder(scaled(1007), x, y)
    gc.collect()
    others = [launched(scaled(1100 + k)) for k in range(6)]  # would lie where the code was
    for _ in range(2):
        y.zero_()
        again()
        assert y.numpy().tolist() == times(1007.0)
    assert others == [times(1100.0 + k) for k in range(6)]
    del again
    assert linked() == before


def test_tapes_hold_their_code():
    taped(scaled(1008))()  # kernels of the library stay
    before = linked()
    back = taped(scaled(1009))
    gc.collect()
    for k in range(4):
        launched(scaled(1120 + k))
    assert back() == [1009.0] * 4
    del back
    assert linked() == before


def test_a_running_launch_holds_its_code():
    """Kernels are dropped and made anew while other threads are inside of them."""
    failures, stop = [], threading.Event()
    kernels = [scaled(1130), scaled(1131)]
    x = wp.array(np.ones(200_000), dtype=float)

    def run(k):
        y = wp.zeros(200_000, dtype=float)
        while not stop.is_set():
            wp.launch(kernels[k], dim=200_000, inputs=[x, y])
            if not (y.numpy() == 1130.0 + k).all():
                failures.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in (0, 1)]
    for thread in threads:
        thread.start()
    for round_ in range(8):
        kernels[round_ % 2] = scaled(1130 + round_ % 2)
        kernels[round_ % 2].forget()
        launched(scaled(1140 + round_ % 5))
        wp.get_module(__name__).load() if round_ == 4 else gc.collect()
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_command_may_get_other_arguments_while_it_runs():
    """The arrays and code of a running launch are held, though the command has let go of them."""
    command = wp.launch(scaled(1132), dim=100_000, inputs=[*ones(100_000)], record_cmd=True)
    stop = threading.Event()

    def run():
        while not stop.is_set():
            command.launch()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        command.set_params([*ones(100_000)])
    stop.set()
    for thread in threads:
        thread.join()
    x, y = ones(100_000)
    command.set_params([x, y])
    command.launch()
    assert (y.numpy() == 1132.0).all()


def ones(count):
    return wp.array(np.ones(count), dtype=float), wp.zeros(count, dtype=float)


# ----- limits -------------------------------------------------------------------------------------------


def test_the_limit_of_mappings_is_named(monkeypatch):
    kernel = scaled(1150)
    monkeypatch.setattr(code_memory, "_protect", lambda *_: (_ for _ in ()).throw(code_memory._refusal(4096)))
    monkeypatch.setattr(code_memory, "_mappings", lambda: (65530, 65530))
    with pytest.raises(DeviceMemoryError, match=r"65530 memory mappings, and vm\.max_map_count is 65530"):
        launched(kernel)
    monkeypatch.setattr(code_memory, "_mappings", lambda: (100, 65530))
    with pytest.raises(DeviceMemoryError, match="of machine code"):
        launched(kernel)
    monkeypatch.undo()
    assert launched(kernel) == times(1150.0)


MANY = """
import gc, sys
import warpsim as wp

def scaled(k):
    @wp.kernel
    def scale(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * float(k) + float(k)
    return scale

def memory():
    gc.collect()
    resident = int(open("/proc/self/statm").read().split()[1]) * 4
    return resident, open("/proc/self/maps").read().count("\\n"), len(gc.get_objects())

x = wp.zeros(4)
def round_(start, count, hold):
    held = []
    for k in range(start, start + count):
        kernel = scaled(k)
        wp.launch(kernel, dim=4, inputs=[x])
        if hold:
            held.append(kernel)
    return memory()

count = int(sys.argv[1])
round_(0, 40, False)
before = memory()
mapped = round_(100, count // 4, True)
assert mapped[1] - before[1] < 40, (before, mapped)  # many kernels in one mapping
round_(100, count, False)
after = memory()
print(*(y - x for x, y in zip(before, after)))
"""


def growth(count, folder):
    """KiB, mappings and objects that so many closures, compiled and dropped, left behind."""
    path = folder / "many.py"
    path.write_text(MANY)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(wp.__file__).parents[1]),
        "WARPSIM_CACHE_PATH": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(path), str(count)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return tuple(map(int, done.stdout.split()))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_closures_give_memory_and_mappings_back(tmp_path):
    kilobytes, mapped, objects = growth(120, tmp_path)
    assert kilobytes < 8000 and mapped < 20 and objects < 120


@pytest.mark.nightly
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_many_closures_give_memory_and_mappings_back(tmp_path):
    """A thousand every night; WARPSIM_CLOSURES=10000 makes that many, within the same bounds."""
    kilobytes, mapped, objects = growth(int(os.environ.get("WARPSIM_CLOSURES", "1000")), tmp_path)
    assert kilobytes < 60_000 and mapped < 60 and objects < 1000


def mappings():
    maps = Path("/proc/self/maps")
    return maps.read_text().count("\n") if maps.exists() else 0


def test_the_table_is_weak():
    launched(scaled(1160))
    gc.collect()
    before = len(builder._present)
    launched(scaled(1161))
    gc.collect()
    assert len(builder._present) == before


# ----- kernels that do not compile ----------------------------------------------------------------


def cell(body):
    """A module as a cell of a notebook leaves it: a kernel `k` that does not compile."""
    module = types.ModuleType("a_cell_of_a_notebook")
    lines = ["import warpsim as wp", "@wp.kernel", "def k(x: wp.array(dtype=float)):", *body]
    text = "\n".join(lines) + "\n"
    name = f"<cell {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def frames_of(error):
    """What IPython keeps of an error for `%debug` and its display: the local variables of all frames."""
    kept, traceback = [], error.__traceback__
    while traceback is not None:
        kept.append(dict(traceback.tb_frame.f_locals))
        traceback = traceback.tb_next
    return kept


ONE = ["    x[0] = wp.vec3(1.0, 2.0, 3.0)"]
TWO = ["    import os", "    try:", "        pass", "    finally:", "        pass"]
FAILS = {
    "launch": lambda m, x: wp.launch(m.k, 1, [x]),
    "launch on the interpreter": lambda m, x: wp.launch(m.k, 1, [wp.clone(x, device="interp")], device="interp"),
    "launch_tiled": lambda m, x: wp.launch_tiled(m.k, 1, [x], block_dim=1),
    "a recorded launch": lambda m, x: wp.launch(m.k, 1, [x], record_cmd=True),
    "an adjoint launch": lambda m, x: wp.launch(m.k, 1, [x], adjoint=True, adj_inputs=[x]),
    "load_module": lambda m, x: wp.load_module(m),
    "load_module with threads": lambda m, x: wp.load_module(m, max_workers=2),
    "force_load": lambda m, x: wp.force_load(modules=[m]),
    "gradcheck": lambda m, x: wp.autograd.gradcheck(m.k, dim=1, inputs=[x], outputs=[]),
}


@pytest.mark.parametrize("body", [ONE, TWO], ids=["one error", "several errors"])
@pytest.mark.parametrize("call", FAILS.values(), ids=FAILS.keys())
def test_an_error_that_is_kept_does_not_keep_the_kernel(call, body):
    module = cell(body)
    with pytest.raises(KernelError) as caught:
        call(module, wp.zeros(1, dtype=float, requires_grad=True))
    kept = [caught.value, frames_of(caught.value)]  # until the end
    trace = weakref.ref(module.k)
    module.k = None  # the cell runs again
    caught._excinfo = None
    gc.collect()
    assert trace() is None and kept
