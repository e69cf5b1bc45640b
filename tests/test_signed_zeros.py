"""0.0 and -0.0 are two numbers wherever a number decides what is looked up: programs, launches, graphs, operators."""

from typing import Any

import numpy as np
import pytest

import warpsim as wp

ZEROS = (0.0, -0.0, 0.0)


@wp.func
def ratio(a: float, b: float):
    return a / b


@wp.kernel
def divide(x: wp.array[float], s: float, y: wp.array[float]):
    i = wp.tid()
    y[i] = x[i] / s


@wp.kernel
def divide_by_first(x: wp.array[float], s: wp.vec2, y: wp.array[float]):
    i = wp.tid()
    y[i] = x[i] / s[0]


@wp.kernel
def divide_any(x: wp.array[float], s: Any, y: wp.array[float]):
    i = wp.tid()
    y[i] = x[i] / float(s)


@wp.struct
class Scale:
    by: float


@wp.kernel
def divide_by_field(x: wp.array[float], s: Scale, y: wp.array[float]):
    i = wp.tid()
    y[i] = x[i] / s.by


def with_closure(s):
    @wp.kernel
    def divide_by_variable(x: wp.array[float], y: wp.array[float]):
        i = wp.tid()
        y[i] = x[i] / s

    return divide_by_variable


def with_static(s):
    @wp.kernel
    def divide_by_static(x: wp.array[float], y: wp.array[float]):
        i = wp.tid()
        y[i] = x[i] / wp.static(s)

    return divide_by_static


def with_vector(s):
    v = wp.vec2(s, 1.0)

    @wp.kernel
    def divide_by_component(x: wp.array[float], y: wp.array[float]):
        i = wp.tid()
        y[i] = x[i] / v[0]

    return divide_by_component


def scale_of(s):
    scale = Scale()
    scale.by = s
    return scale


def launched(kernel, *between):
    y = wp.zeros(2, dtype=float)
    wp.launch(kernel, 2, [wp.ones(2, dtype=float), *between, y])
    return y.numpy()


def by_command(s):
    y = wp.zeros(2, dtype=float)
    command = wp.launch(divide, 2, [wp.ones(2, dtype=float), -s, y], record_cmd=True)
    command.set_param_by_name("s", s)
    command.launch()
    return y.numpy()


def by_graph(s):
    y, other = wp.zeros(2, dtype=float), wp.zeros(2, dtype=float)
    x = wp.ones(2, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(divide, 2, [x, -s, other])
        wp.launch(divide, 2, [x, s, y])
    wp.capture_launch(capture.graph)
    return y.numpy()


def gradient(s):
    x, y = wp.ones(2, dtype=float, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(divide, 2, [x, s, y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    return x.grad.numpy()


def filled(s):
    x, y, by = wp.ones(2, dtype=float), wp.zeros(2, dtype=float), wp.full(2, s, dtype=float)
    by.fill_(-s)
    by.fill_(s)
    wp.map(ratio, x, by, out=y)
    return y.numpy()


def by_operator(s):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return wp.torch_op(divide)(torch.ones(2), s).numpy()


def by_numba(s):
    numba = pytest.importorskip("numba", reason="Numba is not installed")
    function = wp.to_numba(ratio)

    @numba.njit
    def call(s):
        return function(np.float32(1.0), s)

    return np.array([call(np.float32(s))])


WAYS = {
    "argument": lambda s: launched(divide, s),
    "vector": lambda s: launched(divide_by_first, wp.vec2(s, 1.0)),
    "field": lambda s: launched(divide_by_field, scale_of(s)),
    "generic": lambda s: launched(divide_any, wp.float32(s)),
    "closure": lambda s: launched(with_closure(s)),
    "static": lambda s: launched(with_static(s)),
    "constant vector": lambda s: launched(with_vector(s)),
    "map": lambda s: wp.map(ratio, wp.ones(2, dtype=float), s).numpy(),
    "command": by_command,
    "graph": by_graph,
    "gradient": gradient,
    "fill": filled,
}
WAYS_ON_THE_CPU = {"operator": by_operator, "numba": by_numba}


@pytest.mark.parametrize("way", WAYS)
def test_a_zero_has_its_sign(way):
    for zero in ZEROS:
        assert (WAYS[way](zero) == np.copysign(np.inf, zero)).all(), zero


@pytest.mark.cpu(reason="calls of other frameworks")
@pytest.mark.parametrize("way", WAYS_ON_THE_CPU)
def test_a_zero_has_its_sign_for_other_frameworks(way):
    for zero in ZEROS:
        assert (WAYS_ON_THE_CPU[way](zero) == np.copysign(np.inf, zero)).all(), zero


@wp.kernel
def divide_by_literals(x: wp.array[float], y: wp.array[float]):
    y[0] = x[0] / 0.0
    y[1] = x[0] / -0.0
    y[2] = ratio(x[0], -0.0)
    y[3] = ratio(x[0], 0.0)
    y[4] = x[0] / wp.vec2(0.0, 1.0)[0]
    y[5] = x[0] / wp.vec2(-0.0, 1.0)[0]
    for i in range(6, 8):
        zero = 0.0
        if i == 7:
            zero = -0.0
        y[i] = x[0] / zero


def test_equal_expressions_of_two_zeros_in_one_program_are_two():
    y = wp.zeros(8, dtype=float)
    wp.launch(divide_by_literals, 1, [wp.ones(1, dtype=float), y])
    assert np.sign(y.numpy()).tolist() == [1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0]
    assert np.isinf(y.numpy()).all()
