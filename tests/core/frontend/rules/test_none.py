"""Arrays that may be None: the tests that kernels make of them, and what an access without one gives."""

import itertools

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, KernelError, OutOfBoundsError

Numbers = wp.array(dtype=float)


@wp.struct
class Part:
    a: wp.array(dtype=float)
    scale: float


@wp.func
def given_or(a: Numbers, i: int, other: float):
    if a is None:
        return other
    return a[i]


@wp.kernel
def every_test(a: Numbers, b: Numbers, p: Part, out: wp.array2d(dtype=float)):
    i = wp.tid()
    if a:
        out[0, i] = a[i]
    if not a:
        out[1, i] = 1.0
    if a is None:
        out[2, i] = 1.0
    if a is not None:
        out[3, i] = a[i]
    if a is not None and b is not None and a[i] < b[i]:
        out[4, i] = b[i]
    if a or b:
        out[5, i] = 1.0
    out[6, i] = a[i] if a is not None else -1.0
    if p.a:
        out[7, i] = p.a[i] * p.scale
    out[8, i] = given_or(b, i, -2.0) + given_or(p.a, i, -3.0)
    if not (a is None or b is None):
        out[9, i] = a[i] + b[i]


def expected(a, b, p, n):
    none = np.zeros(n)
    return np.array(
        [
            none if a is None else a,
            none + (a is None),
            none + (a is None),
            none if a is None else a,
            none if a is None or b is None else np.where(a < b, b, 0.0),
            none + (a is not None or b is not None),
            none - 1.0 if a is None else a,
            none if p is None else 2.0 * p,
            (none - 2.0 if b is None else b) + (none - 3.0 if p is None else p),
            none if a is None or b is None else a + b,
        ]
    )


@pytest.fixture(params=["cpu", "interp"])
def device(request):
    with wp.ScopedDevice(request.param):
        yield request.param


@pytest.fixture(params=[False, True], ids=["", "verify"])
def verify(request):
    wp.config.verify = request.param


SUBSETS = list(itertools.product([False, True], repeat=3))


def arrays(subset, n=5, **options):
    numbers = np.random.default_rng(1).uniform(-1, 1, (3, n)).astype(np.float32)
    values = [x if there else None for x, there in zip(numbers, subset, strict=True)]
    return values, [None if x is None else wp.array(x, dtype=float, **options) for x in values]


def struct_of(a):
    s = Part()
    s.a, s.scale = a, 2.0
    return s


@pytest.mark.parametrize("subset", SUBSETS)
def test_tests_for_none_of_arguments_fields_and_function_parameters(subset, device, verify):
    values, (a, b, c) = arrays(subset)
    out = wp.zeros((10, 5), dtype=float)
    wp.launch(every_test, 5, [a, b, struct_of(c), out])
    np.testing.assert_allclose(out.numpy(), expected(*values, 5), rtol=1e-6)


@pytest.mark.parametrize("subset", SUBSETS)
def test_gradients_go_to_the_arrays_that_are_there(subset, device):
    values, (a, b, c) = arrays(subset, requires_grad=True)
    out = wp.zeros((10, 5), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(every_test, 5, [a, b, struct_of(c), out])
    tape.backward(grads={out: wp.ones_like(out)})
    x, y, _ = values
    if a is not None:
        assert a.grad.numpy() == pytest.approx(np.full(5, 3.0 + (b is not None)))
    if b is not None:
        assert b.grad.numpy() == pytest.approx(1.0 + (0.0 if x is None else 1.0 + (x < y)) + np.zeros(5))
    if c is not None:
        assert c.grad.numpy() == pytest.approx(np.full(5, 3.0))


@wp.kernel
def optional(x: Numbers, bias: Numbers, y: Numbers):
    i = wp.tid()
    y[i] = 2.0 * x[i]
    if bias:
        y[i] += bias[i]


def test_recorded_launches_and_graphs(device):
    x, y = wp.ones(3, dtype=float), wp.zeros(3, dtype=float)
    command = wp.launch(optional, 3, [x, None, y], record_cmd=True)
    command.launch()
    assert y.numpy().tolist() == [2.0] * 3
    command.set_param_at_index(1, wp.ones(3, dtype=float))
    command.launch()
    assert y.numpy().tolist() == [3.0] * 3
    with wp.ScopedCapture() as capture:
        wp.launch(optional, 3, [x, None, y])
    y.zero_()
    wp.capture_launch(capture.graph)
    assert y.numpy().tolist() == [2.0] * 3


def test_an_empty_array_is_not_none_but_false(device):
    @wp.kernel
    def kinds(a: Numbers, out: wp.array(dtype=int)):
        out[0] = 1 if a else 2
        out[1] = 1 if a is None else 2

    found = []
    for a in (None, wp.zeros(0, dtype=float), wp.zeros(3, dtype=float)):
        out = wp.zeros(2, dtype=int)
        wp.launch(kinds, 1, [a, out])
        found.append(out.numpy().tolist())
    assert found == [[2, 1], [2, 2], [1, 2]]


def test_indexed_and_two_dimensional_arrays(device, verify):
    @wp.kernel
    def other_kinds(a: wp.indexedarray(dtype=float), b: wp.array2d(dtype=wp.vec3), y: Numbers):
        i = wp.tid()
        if a:
            y[i] = a[i]
        if a is None:
            y[i] += 10.0
        if b is not None:
            y[i] += b[i, 0][0]

    picked = wp.indexedarray(wp.array([1.0, 2.0, 3.0], dtype=float), [wp.array([2, 0], dtype=int)])
    for a, b in itertools.product((None, picked), (None, wp.full((2, 2), wp.vec3(5.0), dtype=wp.vec3))):
        y = wp.zeros(2, dtype=float)
        wp.launch(other_kinds, 2, [a, b, y])
        wanted = np.array([10.0, 10.0] if a is None else [3.0, 1.0]) + (0.0 if b is None else 5.0)
        assert y.numpy().tolist() == wanted.tolist()


def test_an_indexedarray_may_be_none_on_tapes_and_in_recorded_launches(device):
    @wp.kernel
    def weighted(a: wp.indexedarray(dtype=float), x: Numbers, y: Numbers):
        i = wp.tid()
        w = float(2.0)
        if a:
            w = a[i]
        y[i] = w * x[i]

    x, y = (wp.array([1.0, 5.0], dtype=float, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(weighted, 2, [None, x], outputs=[y])
    tape.backward(grads={y: wp.ones_like(y)})
    assert x.grad.numpy().tolist() == [2.0, 2.0]
    picked = wp.indexedarray(wp.array([3.0, 4.0], dtype=float), [wp.array([1, 0], dtype=int)])
    command = wp.launch(weighted, 2, [picked, x, y], record_cmd=True)
    command.set_param_by_name("a", None)
    command.launch()
    assert y.numpy().tolist() == [2.0, 10.0]


def test_generic_kernels(device):
    T = wp.Float

    @wp.kernel
    def scaled(x: wp.array(dtype=T), bias: wp.array(dtype=T), y: wp.array(dtype=T)):
        i = wp.tid()
        y[i] = x[i] + x[i]
        if bias is not None:
            y[i] += bias[i]

    for t in (wp.float32, wp.float64):
        x, y = wp.ones(2, dtype=t), wp.zeros(2, dtype=t)
        wp.launch(scaled, 2, [x, None, y])
        assert y.numpy().tolist() == [2.0, 2.0]
        wp.launch(scaled, 2, [x, x, y])
        assert y.numpy().tolist() == [3.0, 3.0]


# ----- refused --------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 2])
def test_none_for_what_every_thread_uses_is_refused_at_launch(k, device):
    given = [wp.ones(3, dtype=float), None, wp.zeros(3, dtype=float)]
    given[k] = None
    with pytest.raises(ArgumentTypeError, match=f"array '{'xby'[k]}' of kernel 'optional' is None, and every thread"):
        wp.launch(optional, 3, given)


def test_a_field_that_every_thread_uses_is_refused_at_every_launch(device):
    @wp.kernel
    def of_field(p: Part, y: Numbers):
        i = wp.tid()
        y[i] = p.a[i]

    y = wp.zeros(2, dtype=float)
    for _ in range(2):
        wp.launch(of_field, 2, [struct_of(wp.ones(2, dtype=float)), y])
        with pytest.raises(ArgumentTypeError, match=r"p.* is None, and every thread uses it"):
            wp.launch(of_field, 2, [struct_of(None), y])


def test_an_access_that_only_the_run_meets_is_an_error_under_verify(device):
    @wp.kernel
    def careless(n: int, a: Numbers, y: Numbers):
        i = wp.tid()
        if n > 1:
            y[i] = a[i]

    wp.config.verify = True
    y = wp.zeros(2, dtype=float)
    wp.launch(careless, 2, [0, None, y])
    with pytest.raises(OutOfBoundsError, match="a is None, and is read or written") as caught:
        wp.launch(careless, 2, [2, None, y])
    if device == "cpu":
        assert "careless" in str(caught.value) and "y[i] = a[i]" in str(caught.value)


def test_identity_with_anything_else_is_not_in_the_language():
    @wp.kernel
    def same(a: Numbers, b: Numbers):
        if a is b:
            a[0] = 1.0

    with pytest.raises(KernelError, match="`is`"):
        wp.launch(same, 1, [wp.zeros(1, dtype=float), wp.zeros(1, dtype=float)])
