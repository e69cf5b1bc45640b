"""Operators on operands of several types: comparisons by value, constant division, users' operators, constructors."""

import itertools
import math
import operator
import textwrap

import numpy as np
import pytest
from kernel_text import module

import warpsim as wp

DEVICES = pytest.mark.parametrize("device", ["cpu", "interp"])
EDGES = {
    wp.int8: [-128, -1, 0, 1, 127],
    wp.uint8: [0, 1, 127, 255],
    wp.int32: [-(2**31), -1, 0, 1, 2**31 - 1],
    wp.int64: [-(2**63), -1, 0, 255, 2**63 - 1],
    wp.uint64: [0, 1, 255, 2**63 - 1, 2**63, 2**64 - 1],
    wp.float32: [-1.5, 0.0, 0.5, 127.0, 3.0e9],
    wp.float64: [-0.5, 1.0, 2.0**40, float("nan")],
}


def comparisons(a, b):
    @wp.kernel(module="unique")
    def compare(x: wp.array(dtype=a), y: wp.array(dtype=b), out: wp.array2d[wp.bool]):
        i, j = wp.tid()
        k = i * y.shape[0] + j
        out[0, k] = x[i] < y[j]
        out[1, k] = x[i] <= y[j]
        out[2, k] = x[i] == y[j]
        out[3, k] = x[i] != y[j]
        out[4, k] = x[i] > y[j]
        out[5, k] = x[i] >= y[j]

    return compare


PAIRS = [
    (wp.int8, wp.uint8),
    (wp.int32, wp.uint64),
    (wp.uint64, wp.int64),
    (wp.int64, wp.float64),
    (wp.float32, wp.int8),
    (wp.float32, wp.float64),
    (wp.uint8, wp.uint64),
]


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda t: t.__name__)
@DEVICES
def test_numbers_of_different_types_compare_by_value(a, b, device):
    x, y = EDGES[a], EDGES[b]
    out = wp.zeros((6, len(x) * len(y)), dtype=wp.bool, device=device)
    args = [wp.array(x, dtype=a, device=device), wp.array(y, dtype=b, device=device), out]
    wp.launch(comparisons(a, b), (len(x), len(y)), inputs=args, device=device)
    for row, compare in enumerate("lt le eq ne gt ge".split()):
        asked = getattr(operator, compare)
        assert out.numpy()[row].tolist() == [asked(p, q) for p, q in itertools.product(x, y)], compare


@DEVICES
def test_constants_divide_as_numbers_of_a_kernel(device):
    @wp.kernel
    def divide(out: wp.array[float], n: int):
        out[0] = float(7 / 2)
        out[1] = float(-7 / 2)
        out[2] = 1.0 / 0.0
        out[3] = -1.0 / 0.0
        out[4] = 0.0 / 0.0
        out[5] = float(5 / 0) + float(5 % 0)
        if n < 0.5:
            out[6] = 1.0

    out = wp.zeros(7, device=device)
    wp.config.check_numbers = False
    wp.launch(divide, 1, inputs=[out, 0], device=device)
    assert out.list()[:4] == [3.0, -3.0, math.inf, -math.inf]
    assert math.isnan(out.list()[4]) and out.list()[5:] == [5.0, 1.0]


@wp.struct
class Complex:
    re: float
    im: float


@wp.func
def add(a: Complex, b: Complex):
    return Complex(a.re + b.re, a.im + b.im)


@wp.func
def mul(a: Complex, b: Complex):
    return Complex(a.re * b.re - a.im * b.im, im=a.re * b.im + a.im * b.re)


@wp.func
def mul(a: wp.vec2, b: wp.vec2):  # noqa: F811 - an overload
    return wp.vec2(a[0] * b[0], -a[1] * b[1])


@wp.func
def neg(a: Complex):
    return Complex(-a.re, -a.im)


@wp.kernel
def squares(z: wp.array[Complex], v: wp.array[wp.vec2], n: int):
    i = wp.tid()
    for _ in range(n):
        z[i] = z[i] * z[i] + Complex(0.25, 0.5)
    z[i] += -Complex(1.0, 0.0)
    z[i] *= Complex(0.0, 2.0)
    v[i] = v[i] * wp.vec2(3.0, 4.0) + v[i] * 2.0


@DEVICES
def test_functions_named_after_operators_are_operators_of_structs_and_vectors(device):
    z = wp.array([Complex(0.1, 0.2), Complex(-0.5, 0.3)], dtype=Complex, device=device)
    v = wp.array([[1.0, 2.0], [3.0, 4.0]], dtype=wp.vec2, device=device)
    wp.launch(squares, 2, inputs=[z, v, 3], device=device)
    for row, value in zip(z.numpy(), (0.1 + 0.2j, -0.5 + 0.3j), strict=True):
        for _ in range(3):
            value = value * value + (0.25 + 0.5j)
        value = (value - 1.0) * 2.0j
        np.testing.assert_allclose([row["re"], row["im"]], [value.real, value.imag], rtol=1e-5)
    np.testing.assert_array_equal(v.numpy(), [[5.0, -4.0], [15.0, -8.0]])


@wp.func
def sub(a: wp.vec2, b: float):
    return wp.vec2(a[0] + b, a[1] * b)


@wp.kernel
def own_updates(v: wp.array[wp.vec2], s: float):
    i = wp.tid()
    v[i] -= s
    v[i] -= wp.vec2(1.0, 1.0)


@DEVICES
def test_updates_of_elements_ask_for_the_operator_of_both_types(device):
    v = wp.array([[1.0, 2.0], [3.0, 4.0]], dtype=wp.vec2, device=device)
    wp.launch(own_updates, 2, inputs=[v, 5.0], device=device)
    np.testing.assert_array_equal(v.numpy(), [[5.0, 9.0], [7.0, 19.0]])


@DEVICES
def test_every_form_of_constructor(device):
    @wp.kernel
    def build(out: wp.array[float]):
        h = wp.types.vector(1.0, length=2, dtype=wp.float16)
        zeros = wp.types.vector(length=3, dtype=float)
        own = wp.types.vector(length=3, dtype=wp.float64)(wp.float64(2.0))
        two = wp.types.vector(wp.vec2(3.0, 4.0), dtype=wp.float64)
        m = wp.types.matrix(1.0, 2.0, 3.0, 4.0, shape=(2, 2))
        same = wp.types.matrix(m, dtype=wp.float64)
        still, moved, filled = wp.transform(), wp.transform(p=wp.vec3(1.0, 2.0, 3.0)), wp.transform(1.5)
        turned = wp.transform(q=wp.quat(1.0, 0.0, 0.0, 0.0))
        nothing = wp.types.vector(length=3, dtype=float)[3:]
        out[0] = float(h[1]) + zeros[2] + float(own[2]) + float(two[1])
        out[1] = m[1, 1] + float(same[1, 0])
        out[2] = still[6] + moved[2] + 10.0 * moved[6] + filled[4] + turned[3] + float(len(nothing))

    out = wp.zeros(3, device=device)
    wp.launch(build, 1, inputs=[out], device=device)
    assert out.list() == [7.0, 7.0, 0.0 + 3.0 + 10.0 + 1.5 + 1.0]


@DEVICES
def test_transforms_are_made_of_a_position_a_rotation_or_both_with_gradients(device):
    @wp.kernel
    def build(p: wp.array[wp.vec3], q: wp.array[wp.quat], out: wp.array[wp.transform]):
        out[0] = wp.transform(p[0])
        out[1] = wp.transformation(p[0], dtype=wp.float32)
        out[2] = wp.transform(p[0], q=q[0])
        out[3] = wp.transform(q=q[0], p=p[0])
        out[4] = wp.types.transformation(p[0], q[0])
        out[5] = wp.transform((4.0, 5.0, 6.0))

    p = wp.array([wp.vec3(1.0, 2.0, 3.0)], requires_grad=True, device=device)
    q = wp.array([wp.quat(0.5, -0.5, 0.5, 0.5)], requires_grad=True, device=device)
    out = wp.zeros(6, dtype=wp.transform, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(build, 1, inputs=[p, q, out], device=device)
    on_host = [wp.transform(p.list()[0]), wp.transform(p.list()[0], q=q.list()[0]), wp.transform((4, 5, 6))]
    assert [out.list()[k] for k in (0, 1)] == on_host[:1] * 2 and [out.list()[k] for k in (2, 3, 4)] == on_host[1:2] * 3
    assert out.list()[5] == on_host[2] == (4, 5, 6, 0, 0, 0, 1)
    tape.backward(grads={out: wp.array(np.arange(42.0).reshape(6, 7), dtype=wp.transform, device=device)})
    assert p.grad.list() == [wp.vec3(70.0, 75.0, 80.0)] and q.grad.list() == [wp.quat(72.0, 75.0, 78.0, 81.0)]


@pytest.mark.parametrize("wrong", ["wp.vec3(1.0), p=wp.vec3()", "wp.vec2(1.0)", "1.0, q=wp.quat()", "q=wp.vec3(), r=1"])
def test_transforms_of_other_parts_are_refused(wrong):
    make = module(f"@wp.kernel\ndef make():\n    t = wp.transform({wrong})\n", {"wp": wp})["make"]
    with pytest.raises(wp.errors.KernelTypeError, match="transformf cannot be made"):
        wp.launch(make, 1)


@DEVICES
def test_slices_of_matrices_are_read_and_written(device):
    mat23 = wp.types.matrix((2, 3), float)

    @wp.kernel
    def rearrange(x: wp.array[mat23], y: wp.array[wp.mat33], n: int):
        i = wp.tid()
        m = y[i]
        m[1:] = x[i]
        m[0, ::2] = x[i][n, 1:]
        m[:2, 1] += x[i][::-1, 0]
        y[i] = m
        y[i][2, :2] = m[0:2, 2]

    def numpy_does(x, y, n):
        m = y.copy()
        m[1:] = x
        m[0, ::2] = x[n, 1:]
        m[:2, 1] += x[::-1, 0]
        out = m.copy()
        out[2, :2] = m[0:2, 2]
        return out

    rng = np.random.default_rng(7)
    a, b, w = rng.normal(size=(2, 3)), rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    x, y = (wp.array(v[None], dtype=t, device=device, requires_grad=True) for v, t in ((a, mat23), (b, wp.mat33)))
    with wp.Tape() as tape:
        wp.launch(rearrange, 1, inputs=[x, y, 1], device=device)
    np.testing.assert_allclose(y.numpy()[0], numpy_does(a, b, 1), rtol=1e-5)
    tape.backward(grads={y: wp.array(w[None], dtype=wp.mat33, device=device)})
    slopes = [[(w * (numpy_does(a + d.reshape(2, 3), b, 1) - numpy_does(a, b, 1))).sum() for d in np.eye(6)]]
    np.testing.assert_allclose(x.grad.numpy()[0].ravel(), slopes[0], rtol=1e-4, atol=1e-5)


@DEVICES
def test_results_go_into_variables_of_the_caller(device):
    @wp.kernel
    def decompose(A: wp.array[wp.mat33], q: wp.array[wp.quat], out: wp.array[wp.mat33], turn: wp.array[wp.vec3]):
        U, s, V = wp.mat33(), wp.vec3(), wp.mat33()
        wp.svd3(A[0], U, s, V)
        out[0] = U * wp.diag(s) * wp.transpose(V)
        Q, R = wp.mat33(), wp.mat33()
        wp.qr3(A[0], Q, R)
        out[1] = Q * R
        axis, angle = wp.vec3(), float(0.0)
        wp.quat_to_axis_angle(q[0], axis, angle)
        turn[0] = axis * angle

    a = np.array([[2.0, 0.3, 0.1], [0.0, 1.5, 0.2], [0.4, 0.0, 1.0]], np.float32)
    out, turn = wp.zeros(2, dtype=wp.mat33, device=device), wp.zeros(1, dtype=wp.vec3, device=device)
    q = wp.array([wp.quat_from_axis_angle(wp.vec3(0.0, 0.6, 0.8), 0.7)], dtype=wp.quat, device=device)
    args = [wp.array([a], dtype=wp.mat33, device=device), q, out, turn]
    wp.launch(decompose, 1, inputs=args, device=device)
    np.testing.assert_allclose(out.numpy(), [a, a], atol=1e-5)
    np.testing.assert_allclose(turn.numpy(), [[0.0, 0.42, 0.56]], atol=1e-5)


BOOLS = {
    "b == 1": lambda b, n, x: b == 1, "1 == b": lambda b, n, x: b == 1, "b == 0.0": lambda b, n, x: not b,
    "b != n": lambda b, n, x: b != n, "n == b": lambda b, n, x: b == n, "b < 2": lambda b, n, x: True,
    "b >= x": lambda b, n, x: b >= x, "x < b": lambda b, n, x: x < b, "b == 2": lambda b, n, x: False,
    "True == n": lambda b, n, x: n == 1, "x == True": lambda b, n, x: x == 1, "b < True": lambda b, n, x: b < True,
    "b == (n > 0)": lambda b, n, x: b == (n > 0), "b <= (n > 0)": lambda b, n, x: b <= (n > 0),
    "wp.uint8(1) == b": lambda b, n, x: b == 1, "wp.bool(True) == wp.int64(1)": lambda b, n, x: True,
    "0 < b < n": lambda b, n, x: 0 < b < n,
}  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("text", BOOLS)
def test_truth_values_meet_numbers_as_0_and_1(text, device):
    text_of_kernel = f"""
        @wp.kernel
        def k(ns: wp.array(dtype=int), xs: wp.array(dtype=float), out: wp.array(dtype=int)):
            i = wp.tid()
            n, x = ns[i], xs[i]
            b = n > 1
            out[i] = int({text})
    """
    kernel = wp.kernel_from_source(textwrap.dedent(text_of_kernel))
    n, x = [0, 1, 2, 3, -1], [0.0, 1.0, 0.5, 1.0, 2.0]
    out = wp.zeros(5, dtype=int, device=device)
    inputs = [wp.array(n, dtype=int, device=device), wp.array(x, dtype=float, device=device), out]
    wp.launch(kernel, dim=5, inputs=inputs, device=device)
    assert out.list() == [int(BOOLS[text](a > 1, a, y)) for a, y in zip(n, x, strict=True)]
