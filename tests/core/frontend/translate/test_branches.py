"""Joining two sides of a branch: equal operands stay what they are, different ones meet in one typed value."""

import numpy as np
import pytest
from kernel_runs import filled, like_python, ran, refused

import warpsim as wp
from warpsim.core.ir.nodes import If, walk
from warpsim.errors import KernelTypeError, ReadOnlyError

Ints = wp.array(dtype=int)
Floats = wp.array(dtype=float)


@wp.struct
class Pair:
    x: float
    n: int


@wp.kernel
def joins(out: Floats):
    i = wp.tid()
    a = 1.0
    b = 2
    c = wp.vec3(1.0, 2.0, 3.0)
    p = Pair(x=5.0, n=1)
    t = (1.0, 2)
    if i == 0:
        a = 10.0
        c.y = 20.0
        p.x = 50.0
    elif i == 1:
        b = 30
        p = Pair(n=7)
        t = (4.0, 5)
    else:
        a = a + c.z
        c = -c
        p.n += i
        t = (t[0] + 1.0, t[1])
    out[i] = a + float(b) + c.x + c.y + c.z + p.x + float(p.n) + t[0] * 1000.0 + float(t[1]) * 10000.0


def test_numbers_vectors_structs_and_tuples_join():
    want = [10 + 2 + 24 + 50 + 1 + 1000 + 20000, 1 + 30 + 6 + 0 + 7 + 4000 + 50000, 4 + 2 - 6 + 5 + 3 + 2000 + 20000]
    assert filled(joins, 3) == want


@wp.kernel
def literals_meet(out: Floats, n: wp.uint8):
    i = wp.tid()
    x = 1
    if i > 0:
        x = 2.5
    y = 0
    if i > 1:
        y = out[i] + 1.0
    k = 3
    if i > 0:
        k = n
    out[i] = x + y + float(k)


def test_literals_take_the_type_of_the_other_side():
    assert filled(literals_meet, 3, 9) == [4, 11.5, 12.5]


@wp.kernel
def known_afterwards(out: Floats):
    i = wp.tid()
    n = 4
    if i > 0:
        out[i] = 1.0
        m = 2
    else:
        out[i] = 2.0
        m = 2
    a = wp.zeros(shape=(n, m), dtype=float)
    out[i] += float(len(a)) * 10.0 + float(a.shape[1]) * 100.0


def test_what_both_sides_agree_on_stays_known_at_compile_time():
    assert filled(known_afterwards, 2) == [242, 241]


@wp.func
def plus(x: float):
    return x + 1.0


@wp.func
def times(x: float):
    return x * 2.0


@wp.kernel
def same_function(out: Floats):
    i = wp.tid()
    if i > 0:
        f = plus
        out[i] = 1.0
    else:
        f = plus
    out[i] += f(5.0)


def test_functions_join_when_they_are_one():
    assert filled(same_function, 2) == [6, 7]


def test_different_functions_do_not_join():
    error = refused("f = plus\nif wp.tid() > 0:\n    f = times\nout[0] = f(1.0)", plus=plus, times=times)
    assert (type(error), error.message) == (
        KernelTypeError,
        "'f' has no single type here: it is times on one path and plus on the other",
    )


@wp.kernel
def leaves_one_side(out: Floats):
    i = wp.tid()
    if i == 0:
        return
    else:
        f = plus
        n = 2
        w = 5.0
    a = wp.zeros(shape=n, dtype=float)
    out[i] = f(w) + float(len(a))


def test_a_side_that_leaves_says_nothing_about_names():
    assert filled(leaves_one_side, 2) == [0, 8]


@wp.kernel
def chosen_arrays(out: Floats, x: Floats, y: Floats):
    i = wp.tid()
    source = x if i % 2 == 0 else y
    target = out
    if i == 3:
        target = x
    target[i] = source[i] * 10.0
    local = wp.zeros(shape=2, dtype=float)
    other = wp.zeros(shape=2, dtype=float)
    chosen = local
    if i > 1:
        chosen = other
    chosen[0] = 0.5
    out[i] += local[0] + other[0] * 10.0


def test_arrays_join():
    x, y = np.array([1, 2, 3, 4], np.float32), np.array([5, 6, 7, 8], np.float32)
    out, x_after, y_after = ran(chosen_arrays, 4, np.zeros(4, np.float32), x, y)
    assert out.tolist() == [10.5, 60.5, 35, 5]
    assert x_after.tolist() == [1, 2, 3, 80]
    assert y_after.tolist() == y.tolist()


@pytest.mark.cpu(reason="launches over NumPy arrays")
def test_writes_through_a_chosen_array_are_seen_by_launches():
    """A read-only argument is refused even where another name writes to it."""
    frozen = np.zeros(4, np.float32)
    frozen.flags.writeable = False
    for device in ("interp", "cpu"):
        with pytest.raises(ReadOnlyError, match="'x'"):
            wp.launch(chosen_arrays, dim=4, inputs=[np.zeros(4, np.float32), frozen, frozen], device=device)
    assert frozen.tolist() == [0, 0, 0, 0]


@wp.kernel
def nested(out: Ints):
    i = wp.tid()
    n = 0
    if i > 1:
        n += 1
        if i > 3:
            n += 10
            if i % 2 == 0:
                n += 100
            else:
                n -= 1
        elif i == 3:
            n = 50
        n *= 2
    else:
        if i == 1:
            n = 7
    out[i] = n


def test_nested_branches():
    like_python(nested, 8, np.zeros(8, np.int32))


@wp.kernel
def constant_conditions(out: Ints, wide: wp.array(dtype=wp.float64)):
    i = wp.tid()
    if wp.static(3 > 2):
        out[i] = 1
    else:
        out[i] = wp.vec3()
    if wide.dtype == wp.float64:
        out[i] += 10
    else:
        out[i] = undefined_name  # noqa: F821


def test_a_side_that_is_never_taken_is_not_translated():
    """This is how generic code chooses by type."""
    assert ran(constant_conditions, 1, np.zeros(1, np.int32), np.zeros(1))[0].tolist() == [11]
    program = constant_conditions.program(tuple(constant_conditions.patterns.values()))
    assert [n for n in walk(program.fn.body) if isinstance(n, If)] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.0 if n > 0 else n", "it is float32 on one path and int32 on the other"),
        ("v if n > 0 else 0.0", "it is vec3f on one path and float32 on the other"),
        ("plus if n > 0 else times", "it is plus on one path and times on the other"),
        ("out if n > 0 else v", "it is array(float32, ndim=1) on one path and vec3f on the other"),
    ],
)
def test_sides_of_an_expression_that_do_not_fit(text, message):
    error = refused(f"x = {text}", "out: wp.array(dtype=float), n: int, v: wp.vec3", plus=plus, times=times)
    assert (type(error), error.message) == (KernelTypeError, f"the two sides do not fit together: {message}")


@pytest.mark.parametrize("test", ["v", "plus"])
def test_what_is_no_condition(test):
    error = refused(f"if {test}:\n    pass", "out: wp.array(dtype=float), v: wp.vec3", plus=plus)
    assert isinstance(error, KernelTypeError)
    assert error.message.endswith("is not a condition")


def test_errors_of_both_sides_and_of_the_condition_are_found():
    error = refused("if missing_a:\n    x = missing_b\nelse:\n    y = missing_c\nout[0] = x")
    assert [e.message for e in error.errors] == [f"name 'missing_{k}' is not defined" for k in "abc"]
