"""Recorded launches and captured graphs: nothing runs while recording, everything runs in order later."""

import ctypes
import gc
import threading

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.commands.command import Launch
from warpsim.errors import (
    ArgumentCountError,
    ArgumentTypeError,
    DeviceError,
    DimensionError,
    KernelAssertionError,
    LaunchError,
    ReadOnlyError,
)

DEVICES = ("cpu", "interp")


@wp.kernel
def axpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def scatter(x: wp.array(dtype=float), cell: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, cell[i], x[i])


@wp.kernel
def checked(x: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] < 100.0, "too large"
    x[i] = x[i] * 10.0


def line(n=4):
    return wp.array(np.arange(n, dtype=np.float32))


# ----- recorded launches ------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_a_recorded_launch_runs_when_told(device):
    x, y = line(), wp.zeros(4, dtype=float)
    command = wp.launch(axpy, dim=4, inputs=[x, y, 2.0], device=device, record_cmd=True)
    assert isinstance(command, Launch)
    assert isinstance(command, wp.Launch)
    assert not y.numpy().any()
    for times in (1, 2, 3):
        command.launch()
        assert y.numpy().tolist() == [0.0, 2.0 * times, 4.0 * times, 6.0 * times]


@pytest.mark.parametrize("device", DEVICES)
def test_every_way_to_change_parameters(device):
    x, y = line(), wp.zeros(4, dtype=float)
    command = wp.launch(axpy, dim=4, inputs=[x, y, 1.0], device=device, record_cmd=True)
    command.set_param_at_index(2, 5.0)
    command.launch()
    assert y.numpy()[1] == 5.0
    command.set_param_by_name("a", 7.0)
    command.launch()
    assert y.numpy()[1] == 12.0
    other = wp.zeros(4, dtype=float)
    command.set_param_by_name("y", other)
    command.set_param_at_index_from_ctype(2, ctypes.c_float(0.5))
    command.launch()
    assert (y.numpy()[1], other.numpy()[1]) == (12.0, 0.5)
    command.set_param_by_name_from_ctype("a", ctypes.c_float(1.5))
    command.set_dim(2)
    command.launch()
    assert other.numpy().tolist() == [0.0, 2.0, 1.0, 1.5]
    command.set_params([other, y, 1.0])
    command.set_dim((4,))
    command.launch()
    assert y.numpy().tolist() == [0.0, 14.0, 25.0, 37.5]


@pytest.mark.cpu(reason="NumPy memory as an argument")
def test_parameters_of_another_kind_recompile():
    """Strided memory, and NumPy arrays, after contiguous ones."""
    x, y = line(8), wp.zeros(4, dtype=float)
    command = wp.launch(axpy, dim=4, inputs=[line(), y, 1.0], record_cmd=True)
    command.set_param_by_name("x", x[::2])
    command.launch()
    assert y.numpy().tolist() == [0.0, 2.0, 4.0, 6.0]
    command.set_param_by_name("x", np.full(4, 10.0, np.float32))
    command.launch()
    assert y.numpy().tolist() == [10.0, 12.0, 14.0, 16.0]


@pytest.mark.cpu(reason="NumPy memory as an argument")
@pytest.mark.parametrize("device", DEVICES)
def test_a_refused_change_changes_nothing(device):
    x, y = line(), wp.zeros(4, dtype=float)
    command = wp.launch(axpy, dim=4, inputs=[x, y, 1.0], device=device, record_cmd=True)
    changes = [
        (lambda: command.set_param_at_index(3, 1.0), LaunchError, "parameter 3 of kernel 'axpy'\nexpected: 0 to 2"),
        (lambda: command.set_param_by_name("b", 1.0), LaunchError, "has no parameter 'b'\nexpected: x, y, a"),
        (lambda: command.set_params([x, y]), LaunchError, "2 values for kernel 'axpy'\nexpected: 3"),
        (lambda: command.set_dim((2, 2, 2, 2, 2)), DimensionError, "expected"),
        (lambda: command.set_dim(-1), DimensionError, "launch dimension -1 of kernel 'axpy'\nexpected: 0 to"),
    ]
    fixed = np.zeros(4, np.float32)
    fixed.flags.writeable = False
    changes += [
        (lambda: command.set_param_by_name("a", "x"), ArgumentTypeError, "argument 'a' of kernel 'axpy'"),
        (lambda: command.set_param_by_name("x", wp.zeros(4, dtype=int)), ArgumentTypeError, "argument 'x'"),
        (lambda: command.set_param_by_name("y", fixed), ReadOnlyError, "argument 'y' of kernel 'axpy'"),
    ]
    for change, kind, message in changes:
        with pytest.raises(kind, match=message):
            change()
    assert (command.dim, command.args[0] is x, command.args[1] is y) == (4, True, True)
    command.launch()
    assert y.numpy().tolist() == [0.0, 1.0, 2.0, 3.0]


def test_recording_checks_arguments_at_once():
    with pytest.raises(ArgumentCountError, match="kernel 'axpy' got 2 arguments"):
        wp.launch(axpy, dim=4, inputs=[line(), line()], record_cmd=True)
    with pytest.raises(ArgumentTypeError, match="argument 'a' of kernel 'axpy'"):
        wp.launch(axpy, dim=4, inputs=[line(), line(), "x"], record_cmd=True)


# ----- captured graphs --------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_a_graph_replays_its_launches_in_order(device):
    x, y, z = line(), wp.zeros(4, dtype=float), wp.zeros(4, dtype=float)
    with wp.ScopedCapture(device) as capture:
        wp.launch(axpy, dim=4, inputs=[x, y, 2.0], device=device)
        wp.launch(axpy, dim=4, inputs=[y, z, 1.0], device=device)
        wp.launch(axpy, dim=2, inputs=[z, y, -1.0], device=device)
    assert not y.numpy().any()
    assert not z.numpy().any()
    expected_y, expected_z = np.zeros(4), np.zeros(4)
    for _ in range(3):
        wp.capture_launch(capture.graph)
        expected_y += 2.0 * x.numpy()
        expected_z += expected_y
        expected_y[:2] -= expected_z[:2]
        assert y.numpy().tolist() == expected_y.tolist()
        assert z.numpy().tolist() == expected_z.tolist()


def test_many_small_and_large_launches():
    """Serial launches, launches in chunks, and neighbours of both kinds."""
    small, large = wp.zeros(10, dtype=float), wp.zeros(100_000, dtype=float)
    ones = wp.ones(100_000, dtype=float)
    wp.capture_begin()
    for k in range(50):
        wp.launch(axpy, dim=10, inputs=[ones, small, float(k)])
        wp.launch(axpy, dim=100_000, inputs=[ones, large, 1.0])
    graph = wp.capture_end()
    for times in (1, 2):
        wp.capture_launch(graph)
        assert (small.numpy() == times * sum(range(50))).all()
        assert (large.numpy() == times * 50).all()


@pytest.mark.cpu(reason="NumPy memory as an argument")
def test_a_graph_keeps_what_it_needs():
    y = wp.zeros(1000, dtype=float)
    with wp.ScopedCapture() as capture:
        for k in range(20):
            wp.launch(axpy, dim=1000, inputs=[wp.full(1000, float(k)), y, 1.0])
            wp.launch(axpy, dim=1000, inputs=[np.full(1000, 0.5, np.float32), y, 1.0])
    gc.collect()
    junk = [wp.full(1000, -1.0) for _ in range(100)]
    wp.capture_launch(capture.graph)
    assert (y.numpy() == 190.0 + 10.0).all()
    assert len(junk) == 100


def test_array_operations_are_recorded():
    x, y, z, picked = line(), wp.zeros(4, dtype=float), wp.zeros(4, dtype=float), wp.zeros(2, dtype=float)
    fill_value = np.array([3.0])[0:1].reshape(())
    with wp.ScopedCapture() as capture:
        y.fill_(fill_value)
        wp.launch(axpy, dim=4, inputs=[x, y, 1.0])
        wp.copy(z, y)
        wp.copy(z, x, dest_offset=2, count=1)
        y.zero_()
        y[3] = 9.0
        wp.copy(picked, z[[3, 0]])
        made, ones = wp.zeros(4, dtype=float), wp.ones(4, dtype=float)
        wp.launch(axpy, dim=4, inputs=[ones, made, 2.0])
        cloned, turned = wp.clone(made), z.reshape((2, 2)).transpose().contiguous()
        y[:2] = z[2:]
        z[[0]].fill_(-1.0)
    fill_value[...] = 100.0  # the value at the time of recording counts
    unset = (y, z, picked, made)  # a clone is undefined until it is made
    assert not any(a.numpy().any() for a in unset)
    for _ in range(2):  # `zeros` and `ones` start anew in every replay
        wp.capture_launch(capture.graph)
        assert picked.numpy().tolist() == [6.0, 3.0]
        assert z.numpy().tolist() == [-1.0, 4.0, 0.0, 6.0]
        assert y.numpy().tolist() == [0.0, 6.0, 0.0, 9.0]
        assert made.numpy().tolist() == cloned.numpy().tolist() == [2.0] * 4
        assert turned.numpy().tolist() == [[3.0, 0.0], [4.0, 6.0]]


@wp.struct
class Cell:
    weight: float
    values: wp.array(dtype=float)


def test_structs_written_by_a_graph_keep_their_arrays():
    @wp.kernel
    def gather(cells: wp.array(dtype=Cell), out: wp.array(dtype=float)):
        i = wp.tid()
        c = cells[i]
        out[i] = c.weight * c.values[i]

    cells, out = wp.zeros(2, dtype=Cell), wp.zeros(2, dtype=float)
    with wp.ScopedCapture() as capture:
        cells[0] = Cell(weight=2.0, values=wp.full(2, 5.0))
        cells[1] = Cell(weight=3.0, values=wp.full(2, 7.0))
        wp.launch(gather, dim=2, inputs=[cells, out])
    gc.collect()
    wp.capture_launch(capture.graph)
    assert out.numpy().tolist() == [10.0, 21.0]


@pytest.mark.parametrize("n", [100, 50_000])
@pytest.mark.parametrize("deterministic", [False, True])
def test_scattered_sums_in_a_graph(n, deterministic):
    rng = np.random.default_rng(3)
    x = wp.array(rng.integers(0, 8, n).astype(np.float32))  # sums of small integers are exact
    cell = wp.array(rng.integers(0, 97, n), dtype=int)
    out, doubled = wp.zeros(97, dtype=float), wp.zeros(97, dtype=float)
    with wp.ScopedCapture() as capture:
        out.zero_()
        wp.launch(scatter, dim=n, inputs=[x, cell, out], deterministic=deterministic)
        wp.launch(axpy, dim=97, inputs=[out, doubled, 2.0])
    expected = np.bincount(cell.numpy(), x.numpy(), 97)
    for times in (1, 2):
        wp.capture_launch(capture.graph)
        assert np.array_equal(out.numpy(), expected)
        assert np.array_equal(doubled.numpy(), 2 * times * expected)


def test_checks_of_kernels_report_from_a_graph():
    x = line()
    with wp.ScopedCapture() as capture:
        wp.launch(checked, dim=4, inputs=[x])
    wp.capture_launch(capture.graph)
    wp.capture_launch(capture.graph)
    with pytest.raises(KernelAssertionError, match="too large"):
        wp.capture_launch(capture.graph)
        wp.synchronize()


def test_recorded_launches_join_a_graph_as_they_are_then():
    x, y = wp.ones(4, dtype=float), wp.zeros(4, dtype=float)
    command = wp.launch(axpy, dim=4, inputs=[x, y, 1.0], record_cmd=True)
    with wp.ScopedCapture() as capture:
        command.launch()
        command.set_param_by_name("a", 10.0)
        command.launch()
        command.set_param_by_name("a", 100.0)
    gc.collect()
    wp.capture_launch(capture.graph)
    assert y.numpy().tolist() == [11.0] * 4
    command.launch()
    assert y.numpy().tolist() == [111.0] * 4


def test_a_graph_inside_a_graph():
    x, y = wp.ones(4, dtype=float), wp.zeros(4, dtype=float)
    with wp.ScopedCapture() as inner:
        wp.launch(axpy, dim=4, inputs=[x, y, 1.0])
    with wp.ScopedCapture() as outer:
        wp.capture_launch(inner.graph)
        wp.launch(axpy, dim=4, inputs=[y, y, 1.0])
        wp.capture_launch(inner.graph)
    assert not y.numpy().any()
    wp.capture_launch(outer.graph)
    assert y.numpy().tolist() == [3.0] * 4


def test_map_in_a_graph():
    x = line()
    with wp.ScopedCapture() as capture:
        squares = wp.map(wp.mul, x, x)
    x.assign([1.0, 2.0, 3.0, 5.0])
    wp.capture_launch(capture.graph)
    assert squares.numpy().tolist() == [1.0, 4.0, 9.0, 25.0]


@pytest.mark.cpu(reason="other threads have the CPU as their device")
def test_captures_belong_to_their_thread():
    x, y = wp.ones(4, dtype=float), wp.zeros(4, dtype=float)
    with wp.ScopedCapture() as capture:
        other = threading.Thread(target=lambda: wp.launch(axpy, dim=4, inputs=[x, y, 1.0]))
        other.start()
        other.join()
        assert y.numpy().tolist() == [1.0] * 4
    assert capture.graph.steps == []
    wp.capture_launch(capture.graph)
    assert y.numpy().tolist() == [1.0] * 4


def test_captures_end_after_an_error():
    capture = wp.ScopedCapture()
    with pytest.raises(ArgumentCountError), capture:
        wp.launch(axpy, dim=4, inputs=[])
    assert capture.graph.steps == []
    with pytest.raises(LaunchError, match=r"no capture is running on this thread\nhelp: call capture_begin"):
        wp.capture_end()


def test_misuse_of_captures():
    with wp.ScopedCapture(), pytest.raises(LaunchError, match=r"a capture is already running"):
        wp.capture_begin()
    with pytest.raises(LaunchError, match="None is not a graph\nexpected: what capture_end"):
        wp.capture_launch(None)
    with pytest.raises(DeviceError, match="unknown device"):
        wp.capture_begin(device="tpu")
    with pytest.raises(TypeError, match="forse_module_load"):
        wp.ScopedCapture(forse_module_load=True)
    wp.capture_begin(force_module_load=False)
    assert wp.capture_end().steps == []
