"""Graphs of work on CUDA devices: they do what their steps did, as often as asked, whatever goes on around them."""

import gc
import threading

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.devices.cuda import driver
from warpsim.core.runtime.steps.host_call import HostCall
from warpsim.errors import DeviceError, KernelAssertionError

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]

N = 256


@wp.kernel
def axpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def checked(x: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] < 100.0, "too large"
    x[i] = x[i] * 10.0


@wp.kernel
def sum_up(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i])


def arrays(count=2):
    return [wp.full(N, float(k + 1), dtype=float, device="cuda:0") for k in range(count)]


def calls(monkeypatch, *names):
    """How often functions of the driver are called from now on."""
    found = dict.fromkeys(names, 0)
    inner = driver.call

    def counting(name, *args):
        if name in found:
            found[name] += 1
        return inner(name, *args)

    for module in ("device", "graphs", "memory"):
        monkeypatch.setattr(f"warpsim.core.runtime.devices.cuda.{module}.call", counting)
    return found


def test_nothing_runs_while_recording_and_everything_after():
    x, y = arrays()
    with wp.ScopedCapture("cuda:0") as capture:
        wp.launch(axpy, N, [x, y, 2.0], device="cuda:0")
        wp.launch(axpy, N, [y, x, 1.0], device="cuda:0")
    assert y.numpy()[0] == 2.0
    a, b = 1.0, 2.0
    for _ in range(4):
        wp.capture_launch(capture.graph)
        b = 2.0 * a + b
        a = b + a
        assert (x.numpy()[0], y.numpy()[N - 1]) == (a, b)


def test_launches_fills_and_copies_become_one_graph(monkeypatch):
    x, y, z = arrays(3)
    with wp.ScopedCapture("cuda:0") as capture:
        x.fill_(3.0)
        wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
        wp.copy(z, y)
        wp.copy(z[: N // 2], x[N // 2 :])
        z[::2].zero_()
    found = calls(monkeypatch, "cuGraphLaunch", "cuGraphInstantiate", "cuMemcpyHtoDAsync")
    for _ in range(3):
        wp.capture_launch(capture.graph)
    assert z.numpy()[[0, 1, N - 2, N - 1]].tolist() == [0.0, 3.0, 0.0, 11.0]
    assert found["cuGraphInstantiate"] == 1
    assert found["cuGraphLaunch"] == 3


def test_steps_of_the_host_stand_between_graphs(monkeypatch):
    x, y = arrays()
    seen = []
    with wp.ScopedCapture("cuda:0") as capture:
        wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
        wp.copy(y, wp.array(np.full(N, 5.0, np.float32), device="cpu"))
        wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
        wp.launch(checked, N, [y], device="cuda:0")
        wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
    found = calls(monkeypatch, "cuGraphLaunch", "cuGraphInstantiate")
    for _ in range(2):
        wp.capture_launch(capture.graph)
        seen.append(float(y.numpy()[0]))
    assert seen == [61.0, 61.0]
    assert found["cuGraphInstantiate"] == 3
    assert found["cuGraphLaunch"] == 6


def test_a_replayed_step_that_fails_names_its_line():
    x, y = arrays()
    with wp.ScopedCapture("cuda:0") as capture:
        wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
        wp.launch(checked, N, [y], device="cuda:0")
    wp.capture_launch(capture.graph)
    wp.capture_launch(capture.graph)
    with pytest.raises(KernelAssertionError, match="too large"):
        wp.capture_launch(capture.graph)
        wp.synchronize()
    assert wp.zeros(3, dtype=float, device="cuda:0").list() == [0.0] * 3


def test_values_of_numbers_are_those_of_the_recording():
    x, y = arrays()
    command = wp.launch(axpy, N, [x, y, 2.0], device="cuda:0", record_cmd=True)
    with wp.ScopedCapture("cuda:0") as capture:
        command.launch()
        command.set_param_by_name("a", 10.0)
        command.launch()
    command.set_param_by_name("a", 1000.0)
    wp.capture_launch(capture.graph)
    assert y.numpy()[0] == 14.0


def test_arrays_live_as_long_as_the_graph():
    x, y = arrays()
    with wp.ScopedCapture("cuda:0") as capture:
        inner = wp.zeros(N, dtype=float, device="cuda:0")
        wp.launch(axpy, N, [x, inner, 3.0], device="cuda:0")
        wp.launch(axpy, N, [inner, y, 1.0], device="cuda:0")
        del inner
    del x
    gc.collect()
    others = [wp.full(N, 77.0, dtype=float, device="cuda:0") for _ in range(8)]
    for times in (1, 2, 3):
        wp.capture_launch(capture.graph)
        assert y.numpy()[0] == 2.0 + 3.0 * times
    assert all(o.numpy()[0] == 77.0 for o in others)
    del capture
    gc.collect()
    wp.synchronize()


def test_memory_that_is_freed_while_a_graph_is_made_is_not_reused_in_it():
    """The driver records what a thread does; a finalizer that runs meanwhile must not be part of it."""
    x, y = arrays()
    place = wp.get_device("cuda:0")
    loose = [wp.full(N, 9.0, dtype=float, device="cuda:0") for _ in range(4)]
    pinned, event, stream = wp.zeros(8, dtype=float, device="cpu", pinned=True), wp.Event(place), wp.Stream(place)
    grid = wp.HashGrid(4, 4, 4, device="cuda:0")

    def drop():
        nonlocal pinned, event, stream, grid
        assert place.building
        loose.clear()
        pinned = event = stream = grid = None
        gc.collect()

    with wp.ScopedCapture("cuda:0") as capture:
        wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
        graph = wp.Graph(place)
    graph.add(capture.graph.steps[0])
    graph.add(HostCall(drop, place))
    graph.add(capture.graph.steps[0])
    wp.capture_launch(graph)
    assert not loose
    assert not place.building
    assert y.numpy()[0] == 4.0
    wp.capture_launch(graph)
    assert y.numpy()[0] == 6.0


def test_other_threads_work_while_a_graph_is_made():
    """They allocate, free, copy and wait, and neither disturb the recording nor are recorded."""
    place = wp.get_device("cuda:0")
    entered, leave, found = threading.Event(), threading.Event(), []
    x, y = arrays()

    def others():
        entered.wait(20)
        try:
            z = wp.full(N, 3.0, dtype=float, device="cuda:0")
            wp.launch(axpy, N, [z, z, 1.0], device="cuda:0")
            found.append(float(z.numpy()[0]))
            with wp.ScopedStream(wp.Stream("cuda:0")):
                found.append(float(wp.ones(3, dtype=float, device="cuda:0").numpy()[2]))
            del z
        except Exception as error:
            found.append(error)
        leave.set()
        wp.synchronize()  # waits until the graph is made
        found.append("waited")

    def step():
        assert place.building
        entered.set()
        # A stream of its own makes the other thread wait for the device, and so for this step.
        leave.wait(0.3)

    with wp.ScopedCapture("cuda:0") as capture:
        wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
    capture.graph.add(HostCall(step, place))
    capture.graph.add(capture.graph.steps[0])
    thread = threading.Thread(target=others)
    thread.start()
    wp.capture_launch(capture.graph)
    thread.join()
    assert found == [6.0, 1.0, "waited"]
    assert y.numpy()[0] == 4.0


def test_an_error_while_a_graph_is_made_leaves_the_device_usable():
    x, y = arrays()

    def step():
        raise KeyError("mine")

    with wp.ScopedCapture("cuda:0") as capture:
        wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
    capture.graph.add(HostCall(step, wp.get_device("cuda:0")))
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            wp.capture_launch(capture.graph)
    wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
    assert y.numpy()[0] == 3.0
    assert not wp.get_device("cuda:0").building


def test_an_exception_of_the_user_ends_the_recording():
    x, y = arrays()
    with pytest.raises(ZeroDivisionError), wp.ScopedCapture("cuda:0"):
        wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
        raise ZeroDivisionError
    wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
    assert y.numpy()[0] == 3.0


def test_graphs_run_on_any_stream():
    x, y = arrays()
    with wp.ScopedCapture("cuda:0") as capture:
        wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
    s = wp.Stream("cuda:0")
    wp.capture_launch(capture.graph)
    s.wait_stream(wp.get_stream("cuda:0"))
    wp.capture_launch(capture.graph, stream=s)
    s.synchronize()
    assert y.numpy()[0] == 4.0


def test_graphs_within_graphs_and_several_devices():
    x, y = arrays()
    with wp.ScopedCapture("cuda:0") as inner:
        wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
    host = wp.zeros(1, dtype=float, device="cpu")
    last = wp.get_cuda_devices()[-1]
    z = wp.ones(N, dtype=float, device=last)
    with wp.ScopedCapture("cuda:0") as outer:
        wp.capture_launch(inner.graph)
        wp.launch(axpy, N, [z, z, 1.0], device=last)
        wp.launch(sum_up, 1, [wp.ones(1, dtype=float, device="cpu"), host], device="cpu")
        wp.capture_launch(inner.graph)
    for _ in range(2):
        wp.capture_launch(outer.graph)
    wp.synchronize()
    assert (y.numpy()[0], z.numpy()[0], host.numpy()[0]) == (6.0, 4.0, 2.0)


def test_sums_and_gradients_replay():
    x = wp.full(N, 2.0, dtype=float, device="cuda:0", requires_grad=True)
    out = wp.zeros(1, dtype=float, device="cuda:0", requires_grad=True)
    tape = wp.Tape()
    with wp.ScopedCapture("cuda:0") as capture:
        out.zero_()
        with tape:
            wp.launch(sum_up, N, [x, out], device="cuda:0")
        tape.backward(out)
    for times in (1, 2):
        wp.capture_launch(capture.graph)
        assert out.numpy()[0] == 2.0 * N
        assert x.grad.numpy()[0] == float(times)


def test_recorded_errors_of_the_driver_are_told(monkeypatch):
    x, y = arrays()
    with wp.ScopedCapture("cuda:0") as capture:
        wp.launch(axpy, N, [x, y, 1.0], device="cuda:0")
    inner = driver.call

    def failing(name, *args):
        if name == "cuGraphInstantiate":
            raise DeviceError("cuGraphInstantiate: CUDA_ERROR_OUT_OF_MEMORY")
        return inner(name, *args)

    with monkeypatch.context() as patch:
        patch.setattr("warpsim.core.runtime.devices.cuda.graphs.call", failing)
        with pytest.raises(DeviceError, match="cuGraphInstantiate"):
            wp.capture_launch(capture.graph)
    wp.capture_launch(capture.graph)
    assert y.numpy()[0] == 3.0
