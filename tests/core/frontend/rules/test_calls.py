"""Calls of functions of every kind."""

from typing import Any

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import KernelTypeError

Ints, Floats = wp.array(dtype=int), wp.array(dtype=float)
pytestmark = pytest.mark.parametrize("device", ["interp", "cpu"])


def ran(kernel, values, device):
    """What an integer kernel (x, y) makes of the values."""
    x = wp.array(np.array(values, np.int32), dtype=int, device=device)
    y = wp.zeros(len(values), dtype=int, device=device)
    wp.launch(kernel, dim=len(values), inputs=[x, y], device=device)
    return y.numpy().tolist()


@wp.func
def line(n: int, factor: int = 2, offset: int = 1):
    return n * factor + offset


@wp.func
def kind(n: int):
    return 1


@wp.func
def kind(n: float):  # noqa: F811
    return 2


@wp.func
def doubled(n: Any):
    return n + n


@wp.func
def ordered(a: int, b: int):
    return wp.min(a, b), wp.max(a, b)


@wp.func
def applied(f: Any, n: int):
    return f(f(n))


@wp.func
def here():
    return wp.tid()


def adder(k):
    @wp.func
    def add(n: int):
        return n + k

    return add


add5 = adder(5)


@wp.kernel
def calls(x: Ints, y: Ints):
    i = here()
    n = x[i]
    low, high = ordered(n, 4)
    r = line(n) + line(n, offset=7) + line(n, 3)
    r += 100 * kind(n) + 1000 * kind(1.5)
    r += doubled(n) + int(doubled(1.5)) + 3 * low + high
    y[i] = r + applied(add5, n)


def test_functions(device):
    def plain(n):
        r = 2 * n + 1 + 2 * n + 7 + 3 * n + 1 + 2100
        return r + 2 * n + 3 + 3 * min(n, 4) + max(n, 4) + n + 10

    assert ran(calls, [-2, 0, 9], device) == [plain(n) for n in (-2, 0, 9)]


@wp.kernel
def local(x: Ints, y: Ints):
    i = wp.tid()
    n = x[i]

    def plus(a: int):
        return a + n

    square = lambda a: a * a  # noqa: E731
    a = wp.zeros(shape=3, dtype=int)
    a[1] = plus(2)
    y[i] = square(plus(1)) + a[0] + a[1]


def test_nested_functions_lambdas_and_local_arrays(device):
    assert ran(local, [0, 3, -4], device) == [(n + 1) ** 2 + n + 2 for n in (0, 3, -4)]


@wp.kernel
def grid(y: wp.array(dtype=int, ndim=4)):
    i, j, k, m = wp.tid()
    y[i, j, k, m] = 1000 * i + 100 * j + 10 * k + m


def test_tid_in_four_dimensions(device):
    y = wp.zeros((2, 3, 2, 2), dtype=int, device=device)
    wp.launch(grid, dim=y.shape, inputs=[y], device=device)
    np.testing.assert_array_equal(y.numpy(), np.einsum("nijkl,n->ijkl", np.indices(y.shape), [1000, 100, 10, 1]))


@wp.kernel
def draws(y: Floats):
    state = wp.rand_init(42)
    y[0] = wp.randf(state)
    y[1] = wp.randf(state)


def test_randf_rebinds_its_state(device):
    y = wp.zeros(2, dtype=float, device=device)
    wp.launch(draws, dim=1, inputs=[y], device=device)
    assert y.numpy()[0] != y.numpy()[1]


@wp.func
def tripled(a: wp.Float, b: wp.Float):
    return type(a)(2.0) * a + b


@wp.struct
class Pair:
    a: int
    b: float


@wp.kernel
def builds(x: Ints, y: Ints):
    i = wp.tid()
    p = Pair(a=x[i], b=2.5)
    q = Pair()
    q.a = p.a
    r = tripled(p.b, 1.0) + float(tripled(wp.float64(1.0), wp.float64(2.0)))
    y[i] = p.a + q.a + int(r)


def test_struct_construction_and_generic_floats(device):
    assert ran(builds, [0, 5], device) == [10, 20]


@wp.kernel
def prints(x: Ints, y: Ints):
    print(x[wp.tid()])


def test_print(device, capfd):
    ran(prints, [12345], device)
    assert "12345" in capfd.readouterr().out


@wp.func
def halved(n: int):
    return n // 2


@wp.func(overload_of=halved, inout=("half",))
def halved(n: int, half: int, rest: int = 0):
    return n // 2 + rest, n % 2 == 0


@wp.kernel
def halves(x: Ints, y: Ints):
    i = wp.tid()
    half, more = int(0), int(0)
    even = halved(x[i], half)
    halved(n=x[i], half=more, rest=100)
    y[i] = 1000 * more + 10 * half + halved(x[i])
    if even:
        y[i] += 5


def test_overloads_rebind_arguments_of_their_own(device):
    """One overload returns a value, the other writes it to an argument: told apart by the number of arguments."""
    assert ran(halves, [8, 5], device) == [104049, 102022]


@wp.func
def width(x: wp.float64):
    return 64


@wp.func(overload_of=width)
def width(x: Any):
    return 0


@wp.func
def both(x: wp.float64, y: wp.float64):
    return 64


@wp.func(overload_of=both)
def both(x: wp.Float, y: wp.Float):
    return 0


@wp.kernel
def widths(x: Ints, y: Ints):
    i = wp.tid()
    double = wp.float64(x[i])
    y[i] = 10000 * both(double, 2.0) + 100 * width(double) + width(1.0) + both(1.0, 2.0) + both(float(x[i]), 2.0)


def test_literals_prefer_overloads_that_take_them_as_they_are(device):
    """A literal is float32 and so not for float64, unless another argument makes it that."""
    assert ran(widths, [3], device) == [646400]
    assert (width(1.0), width(np.float64(1.0)), both(1.0, 2.0), both(np.float64(1.0), 2.0)) == (0, 64, 0, 64)


ROOM = 0


@wp.kernel
def keeps_as_many_as_there_is_room_for(x: Ints, y: Ints):
    i = wp.tid()
    kept = wp.vector(length=wp.static(ROOM), dtype=int)
    n = int(0)
    for k in range(i):
        if n < wp.static(ROOM):
            kept[n] = x[k]
            n += 1
    for k in range(n):
        y[i] += kept[k]
    y[i] += 10 + len(kept)


def test_vectors_of_a_length_known_at_compile_time_may_be_empty(device):
    assert ran(keeps_as_many_as_there_is_room_for, [5, 6, 7], device) == [10, 10, 10]


def test_lengths_of_vectors_are_constants_that_are_not_negative(device):
    for length in ("-1", "x[0]"):
        text = f"def k(x: wp.array[int]):\n    v = wp.vector(length={length}, dtype=int)"
        with pytest.raises(KernelTypeError, match="expected: an integer constant that is not negative"):
            wp.launch(wp.kernel_from_source(text), 1, inputs=[wp.zeros(1, dtype=int)], device=device)
