"""Graphs out of files: parameters, launches, what they share and what not."""

import subprocess
import sys

import numpy as np
import pytest
from graph_file_cases import numbers, value_of
from graph_file_structures import neighbours

import warpsim as wp
from warpsim.errors import (
    ArgumentTypeError,
    GraphFileError,
    KernelAssertionError,
    LaunchError,
    ReadOnlyError,
    TapeError,
)


def test_parameters_that_do_not_fit(saved):
    graph = wp.capture_load(saved)
    wrong = [
        (np.zeros(6, np.float32), ArgumentTypeError, "parameter 'x' is given ndarray\nexpected: an array"),
        (wp.zeros(5, dtype=float), GraphFileError, r"'x' is given float32 of shape \(5,\)\nexpected: float32"),
        (wp.zeros(6, dtype=int), GraphFileError, "'x' is given int32"),
        (wp.zeros(3, dtype=wp.float64), GraphFileError, "'x' is given float64"),
        (wp.zeros(6, dtype=wp.vec3), GraphFileError, "'x' is given vec3f"),
        (None, ArgumentTypeError, "NoneType"),
    ]
    for a, kind, message in wrong:
        for method in (graph.set_param, graph.get_param):
            with pytest.raises(kind, match=message):
                method("x", a)
    for method in (graph.set_param, graph.get_param):
        with pytest.raises(GraphFileError, match="no parameter 'z'\nexpected: 'x', 'y'"):
            method("z", wp.zeros(6, dtype=float))
    assert graph.get_param_ptr("z") is None
    assert isinstance(graph.get_param_ptr("x"), int)


@pytest.mark.cpu(reason="memory that NumPy protects")
def test_a_parameter_is_not_read_into_protected_memory(saved):
    graph, fixed = wp.capture_load(saved), np.zeros(6, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(ReadOnlyError):
        graph.get_param("x", wp.array(fixed, copy=False))
    graph.set_param("x", wp.array(fixed, copy=False))


def test_the_same_numbers_in_another_shape_fit(saved):
    graph, values = wp.capture_load(saved), np.arange(6, dtype=np.float32)
    arrays = [wp.array(values.reshape(2, 3), dtype=float), wp.array(values.reshape(2, 3), dtype=wp.vec3),
              wp.array(np.repeat(values, 2), dtype=float)[::2]]  # fmt: skip
    for a in arrays:
        graph.set_param("x", numbers(6))
        graph.set_param("x", a)
        np.testing.assert_array_equal(value_of(graph, "x", numbers(6)), values)
        result = wp.empty_like(a)
        graph.get_param("x", result)
        np.testing.assert_array_equal(result.numpy(), a.numpy())


@pytest.mark.parametrize("method", ["set_param", "get_param"])
def test_a_captured_graph_has_no_parameters(method):
    with wp.ScopedCapture() as capture:
        numbers(2).fill_(1.0)
    graph = capture.graph
    assert not graph.is_loaded and graph.params == {}
    with pytest.raises(LaunchError, match="was captured in this process\nexpected: one that capture_load returned"):
        getattr(graph, method)("x", numbers(2))
    with pytest.raises(RuntimeError):
        graph.get_param_ptr("x")


# ----- launches -----------------------------------------------------------------------------------


def test_copies_of_a_graph_share_no_memory(saved):
    first, second = wp.capture_load(saved), wp.capture_load(saved)
    ones = wp.full(6, 1.0, dtype=float)
    first.set_param("x", ones)
    for _ in range(3):
        wp.capture_launch(first)
    np.testing.assert_array_equal(value_of(first, "y", ones), np.full(6, 6.0))
    np.testing.assert_array_equal(value_of(second, "y", ones), np.zeros(6))
    assert first.get_param_ptr("x") != second.get_param_ptr("x")


def test_a_loaded_graph_is_a_step_of_another_capture(saved):
    graph, x, y = wp.capture_load(saved), numbers(6, 5), wp.zeros(6, dtype=float)
    with wp.ScopedCapture() as capture:
        graph.set_param("x", x)
        wp.capture_launch(graph)
        graph.get_param("y", y)
    assert not y.numpy().any()
    outer, values = capture.graph, x.numpy().copy()
    del graph, capture
    wp.capture_launch(outer)
    np.testing.assert_allclose(y.numpy(), 2.0 * values, rtol=1e-6)
    x.fill_(1.0)
    wp.capture_launch(outer)
    np.testing.assert_allclose(y.numpy(), 2.0 * values + 2.0, rtol=1e-6)


def test_no_gradient_passes_through_a_loaded_graph(saved):
    graph, y = wp.capture_load(saved), wp.zeros(6, dtype=float, requires_grad=True)
    with wp.Tape(), pytest.raises(TapeError, match="no gradient passes through it\nhelp: launch it outside"):
        wp.capture_launch(graph)
    y.grad.fill_(1.0)
    with wp.Tape() as tape:
        graph.get_param("y", y)
    tape.backward()
    assert not y.grad.numpy().any()  # what came out of the graph is constant


@wp.kernel
def below(x: wp.array(dtype=float), limit: float):
    i = wp.tid()
    assert x[i] < limit, "too large"
    x[i] = x[i] + 1.0


def test_failed_checks_are_raised_from_loaded_graphs(tmp_path):
    x = wp.zeros(4, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(below, dim=4, inputs=[x, 2.0])
    wp.capture_save(capture.graph, tmp_path / "checked", {"x": x})
    graph = wp.capture_load(tmp_path / "checked")
    wp.capture_launch(graph)
    wp.capture_launch(graph)
    with pytest.raises(KernelAssertionError, match=r"too large\n(.|\n)*in kernel 'below', thread"):
        wp.capture_launch(graph)


def test_a_loaded_graph_reports_what_runs(saved):
    assert str(wp.capture_load(saved).report()).splitlines()[1] == "  launch over 6 threads: axpy"
    assert "x: float32" in repr(wp.capture_load(saved))


def test_memory_goes_with_the_graph(tmp_path):
    """Also that of structures: their ids stand for nothing afterwards."""
    code = """
import gc, sys
import numpy as np
import warpsim as wp
from warpsim.core.types.handles import ROWS
rows = int((ROWS[:, 0] != 0).sum())
graphs = [wp.capture_load(sys.argv[1]) for _ in range(20)]
for graph in graphs:
    wp.capture_launch(graph)
assert int((ROWS[:, 0] != 0).sum()) == rows + 20
del graphs, graph
gc.collect()
assert int((ROWS[:, 0] != 0).sum()) == rows
"""
    grid, x = wp.HashGrid(4, 4, 4, device="cpu"), numbers(9, dtype=wp.vec3, device="cpu")
    out = wp.zeros(9, dtype=int, device="cpu")
    grid.reserve(9)
    with wp.ScopedCapture(device="cpu") as capture:
        grid.build(x, 0.2)
        wp.launch(neighbours, dim=9, inputs=[grid.id, x, out], device="cpu")
    wp.capture_save(capture.graph, tmp_path / "grid")
    command = [sys.executable, "-c", code, str(tmp_path / "grid")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
