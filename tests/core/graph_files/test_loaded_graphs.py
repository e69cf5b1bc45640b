"""Graphs out of files: parameters, launches, what they share and what not."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from graph_file_cases import numbers, value_of
from graph_file_structures import neighbours

import warpsim as wp
from warpsim.core.emit.native import toolchain
from warpsim.errors import (
    ArgumentTypeError,
    GraphFileError,
    KernelAssertionError,
    LaunchError,
    NoCompilerError,
    ReadOnlyError,
    TapeError,
    TapeOverwriteError,
)


def test_parameters_that_do_not_fit(saved):
    graph = wp.capture_load(saved)
    wrong = [
        (np.zeros(6, np.float32), ArgumentTypeError, "parameter 'x' is given ndarray\nexpected: an array"),
        (wp.zeros(5, dtype=float), GraphFileError, r"float32 of shape \(5,\)\nexpected: float32 of shape \(6,\), or"),
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
        with pytest.raises(ArgumentTypeError, match="name is 3"):
            method(3, wp.zeros(6, dtype=float))
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
    arrays = [
        wp.array(values.reshape(2, 3), dtype=float),
        wp.array(values.reshape(2, 3), dtype=wp.vec3),
        wp.array(np.repeat(values, 2), dtype=float)[::2],
    ]
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
    assert graph.params == {}
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
    x = wp.zeros(6, dtype=float, requires_grad=True)
    y.grad.fill_(1.0)
    with wp.Tape() as tape:
        wp.copy(y, x)
        graph.get_param("y", y)
    tape.backward()
    assert not x.grad.numpy().any() and not y.grad.numpy().any()  # what came out of the graph is constant


def test_what_a_loaded_graph_sets_first_is_a_parameter(saved):
    graph, y = wp.capture_load(saved), wp.zeros(6, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        graph.get_param("y", y)
    tape.backward(grads={y: wp.ones_like(y)})
    assert y.grad.numpy().tolist() == [1.0] * 6


@wp.kernel
def below(x: wp.array(dtype=float), limit: float):
    i = wp.tid()
    assert x[i] < limit, "too large"
    x[i] = x[i] + 1.0


@wp.struct
class Part:
    x: wp.array(dtype=float)
    k: int


@wp.kernel
def sum_of_parts(parts: wp.array(dtype=Part), out: wp.array(dtype=float)):
    i = wp.tid()
    for j in range(len(parts[i].x)):
        out[i] += parts[i].x[j] * float(parts[i].k)


@pytest.mark.cpu(reason="constants that refer to arrays are copied on the host")
def test_elements_that_refer_to_arrays_are_written_in_the_graph(tmp_path):
    """Fills, items and copies of them: the loaded graph has the arrays that they refer to."""
    one, two = numbers(3), numbers(5, 1)
    first, second = Part(x=one, k=1), Part(x=two, k=2)
    parts, out = wp.array([first] * 4, dtype=Part), wp.zeros(4, dtype=float)
    spare = wp.array([first, second], dtype=Part)
    with wp.ScopedCapture() as capture:
        out.zero_()
        wp.launch(sum_of_parts, dim=4, inputs=[parts, out])
        parts.fill_(second)
        parts[1] = first
        wp.copy(parts, spare, dest_offset=2, count=2)
        parts[0:1].zero_()
        wp.launch(sum_of_parts, dim=4, inputs=[parts, out])
    wp.capture_save(capture.graph, tmp_path / "parts", {"one": one, "two": two}, {"out": out})
    graph = wp.capture_load(tmp_path / "parts")
    for _ in range(2):
        wp.capture_launch(capture.graph)
        wp.capture_launch(graph)
        np.testing.assert_array_equal(value_of(graph, "out", out), out.numpy())
    with pytest.raises(GraphFileError, match="'one' is given"):
        graph.set_param("one", spare)


def test_a_name_for_memory_that_refers_to_arrays(tmp_path):
    parts, out = wp.array([Part(x=numbers(3), k=1)], dtype=Part), wp.zeros(1, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(sum_of_parts, dim=1, inputs=[parts, out])
    with pytest.raises(GraphFileError, match="array 'parts' refers to other arrays\nhelp: name these"):
        wp.capture_save(capture.graph, tmp_path / "parts", {"parts": parts})


@wp.struct
class Pair:
    a: float
    b: wp.vec2


@wp.kernel
def swap(pairs: wp.array(dtype=Pair)):
    i = wp.tid()
    pairs[i] = Pair(pairs[i].b[0], wp.vec2(pairs[i].b[1], pairs[i].a))


def test_structs_are_parameters(tmp_path):
    pairs = wp.array([Pair(1.0, wp.vec2(2.0, 3.0)), Pair(4.0, wp.vec2(5.0, 6.0))], dtype=Pair)
    with wp.ScopedCapture() as capture:
        wp.launch(swap, dim=2, inputs=[pairs])
    wp.capture_save(capture.graph, tmp_path / "pairs", {"pairs": pairs})
    graph = wp.capture_load(tmp_path / "pairs")
    wp.capture_launch(graph)
    assert value_of(graph, "pairs", pairs)["a"].tolist() == [2.0, 5.0]
    graph.set_param("pairs", wp.array([Pair(7.0, wp.vec2(8.0, 9.0))] * 2, dtype=Pair))
    wp.capture_launch(graph)
    assert value_of(graph, "pairs", pairs)["b"].tolist() == [[9.0, 7.0]] * 2
    with pytest.raises(GraphFileError, match="'pairs' is given float32"):
        graph.set_param("pairs", wp.zeros(6, dtype=float))


def test_a_tape_outside_of_the_capture(tmp_path):
    """Its copies go along; what it cannot answer for is not saved."""
    x, out = numbers(4, requires_grad=True), wp.zeros(4, dtype=float, requires_grad=True)
    weights = numbers(4, 3)
    with wp.Tape() as tape:
        wp.launch(square, dim=4, inputs=[x, out])
        x.fill_(5.0)
    with wp.ScopedCapture() as capture:
        x.grad.zero_()
        tape.backward(grads={out: weights})
    wp.capture_save(capture.graph, tmp_path / "tape", {"weights": weights}, {"grad": x.grad})
    wp.capture_launch(capture.graph)
    graph = wp.capture_load(tmp_path / "tape")
    wp.capture_launch(graph)
    np.testing.assert_array_equal(value_of(graph, "grad", x), x.grad.numpy())
    y = numbers(4, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, dim=4, inputs=[y, out])
    with wp.ScopedCapture() as capture:
        tape.backward(grads={out: weights})
    y.fill_(1.0)
    with pytest.raises(TapeOverwriteError):
        wp.capture_save(capture.graph, tmp_path / "spoiled")


@wp.kernel
def square(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * x[i] * x[i]


def test_several_threads_each_with_a_graph_of_its_own(saved):
    graphs = [wp.capture_load(saved) for _ in range(4)]

    def work(k):
        graphs[k].set_param("x", wp.full(6, float(k), dtype=float, device=graphs[k].device))
        for _ in range(200):
            wp.capture_launch(graphs[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, graph in enumerate(graphs):
        assert value_of(graph, "y", numbers(6)).tolist() == [400.0 * k] * 6


@pytest.mark.cpu(reason="native text for the CPU")
def test_native_functions_go_along(tmp_path):
    try:
        toolchain.find()
    except NoCompilerError:
        pytest.skip("no C++ compiler")

    @wp.func_native("return x * 3.0f + 1.0f;")
    def line(x: float) -> float: ...

    @wp.kernel
    def follow(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = line(x[i])

    x = numbers(5)
    with wp.ScopedCapture() as capture:
        wp.launch(follow, dim=5, inputs=[x])
    wp.capture_save(capture.graph, tmp_path / "native", {"x": x})
    code = (
        "import sys, numpy as np, warpsim as wp; g = wp.capture_load(sys.argv[1]); wp.capture_launch(g); "
        "x = wp.zeros(5, dtype=float); g.get_param('x', x); print(x.numpy().tolist())"
    )
    environment = {**os.environ, "WARPSIM_CACHE_PATH": str(tmp_path / "cache"), "PATH": ""}
    command = [sys.executable, "-c", code, str(tmp_path / "native")]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    wp.capture_launch(capture.graph)
    assert run.stdout.strip() == str(x.numpy().tolist()), run.stderr


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
    graph = wp.capture_load(saved)
    there = f"  1 step on {graph.device}: axpy"
    here = "  launch over 6 threads: axpy"
    assert str(graph.report()).splitlines()[1] == (there if graph.device.is_cuda else here)
    assert "x: float32 of shape (6,)" in repr(graph)


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
