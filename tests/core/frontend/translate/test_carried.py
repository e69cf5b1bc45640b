"""What a loop carries: locals of every kind keep their values and types, or the error says what to do."""

import numpy as np
import pytest
from kernel_runs import filled, ran, refused

import warpsim as wp
from warpsim.core.ir.nodes import For, walk
from warpsim.errors import KernelTypeError

Ints = wp.array(dtype=int)
Floats = wp.array(dtype=float)


@wp.kernel
def carries(out: Floats, n: int):
    v = wp.vec3(1.0, 2.0, 3.0)
    m = wp.mat22(1.0, 0.0, 0.0, 1.0)
    a, b = 1.0, 2.0
    pair = (a, 5)
    flag = True
    for i in range(n):
        v[i % 3] += 1.0
        v = wp.vec3(v.y, v.z, v.x)
        m[0, 1] += float(i)
        a, b = b, a + b
        pair = (pair[0] * 2.0, pair[1] + 1)
        flag = not flag
    out[0] = v.x + v.y * 10.0 + v.z * 100.0
    out[1] = m[0, 1]
    out[2] = a
    out[3] = pair[0] + float(pair[1])
    out[4] = 1.0 if flag else 0.0


@pytest.mark.parametrize("n", [0, 1, 5])
def test_vectors_matrices_tuples_and_bools_are_carried(n):
    v, a, b, pair = [1.0, 2.0, 3.0], 1.0, 2.0, (1.0, 5)
    for i in range(n):
        v[i % 3] += 1
        v = [v[1], v[2], v[0]]
        a, b = b, a + b
        pair = (pair[0] * 2, pair[1] + 1)
    want = [v[0] + 10 * v[1] + 100 * v[2], sum(range(n)), a, pair[0] + pair[1], float(n % 2 == 0)]
    assert filled(carries, 5, n, threads=1) == want


@wp.kernel
def swaps_arrays(x: Floats, y: Floats, n: int):
    t = wp.tid()
    source = x
    target = y
    for _ in range(n):
        target[t] = source[t] * 2.0 + 1.0
        source, target = target, source


def test_arrays_are_carried():
    x, y = ran(swaps_arrays, 3, np.array([1, 2, 3], np.float32), np.zeros(3, np.float32), 3)
    assert (x.tolist(), y.tolist()) == ([7, 11, 15], [15, 23, 31])


def test_a_local_array_that_two_names_have_cannot_be_replaced_in_a_loop():
    made = "wp.zeros(shape=2, dtype=float)"
    error = refused(f"a = {made}\nc = a\nfor i in range(3):\n    b = {made}\n    a = b\nout[0] = c[0]")
    assert error.message == "a loop gives 'a' another array, and before the loop another name may reach the one it has"
    assert error.help.startswith("write into one array (a += x, wp.tile_assign)")
    error = refused(f"a = {made}, {made}\nfor i in range(3):\n    a = a[1], a[0]")
    assert error.message == "a loop changes 'a', which holds local arrays"


@wp.kernel
def local_array_per_turn(out: Floats, n: int):
    for i in range(n):
        a = wp.zeros(shape=4, dtype=float)
        a[i % 4] += 1.0
        total = float(0)
        for k in range(4):
            total += a[k]
        out[i] = total


def test_a_local_array_made_in_a_loop_is_new_every_time():
    assert filled(local_array_per_turn, 6, 6, threads=1) == [1] * 6


ANOTHER = "use another name for the new value"


@pytest.mark.parametrize(
    ("start", "body", "message", "cure"),
    [
        ("1", "x = 2.5", "'x' changes its type in a loop", "start it as float(...)"),
        ("1.0", "x = wp.vec3()", "'x' changes its type in a loop", "start it as wp.vec3f(...)"),
        ("out[0]", "x = i", "'x' changes its type in a loop", ANOTHER),
        ("1.0, 2", "x = 3.0", "'x' changes from (1.0 (float32), 2 (int32)) to 3.0 (float32) in a loop", ""),
        (
            "1.0, 2",
            "x = 3.0, 2, 1",
            "'x' changes from (1.0 (float32), 2 (int32)) to (3.0 (float32), 2 (int32), 1 (int32)) in a loop",
            "",
        ),
    ],
)
def test_a_carried_local_keeps_its_type(start, body, message, cure):
    error = refused(f"x = {start}\nfor i in range(3):\n    {body}")
    assert (type(error), error.message, error.help) == (KernelTypeError, message, cure)


@wp.kernel
def literals_take_the_type(out: Floats, n: wp.int64):
    x = out[0]
    k = n
    for i in range(3):
        x = 1
        k = 5
        if i == 1:
            x = 0.5
    out[0] = x + float(k)


def test_a_literal_takes_the_type_that_the_local_has():
    assert filled(literals_take_the_type, 1, 2**40) == [6]


def test_one_error_for_one_mistake_in_a_loop():
    """The local that the failed statement would have assigned is not reported again."""
    error = refused("x = 0\nfor i in range(3):\n    x += 1.5\nout[0] = float(x)")
    assert error.message == "add: no overload for (int32, float literal)"


@wp.kernel
def writes_through(s: Ints, n: int):
    view = s
    for i in range(n):
        view[i] = i
        view[i] += 1


def test_writing_elements_carries_nothing():
    program = writes_through.program(tuple(writes_through.patterns.values()))
    [loop] = [n for n in walk(program.fn.body) if isinstance(n, For)]
    assert loop.init == ()


@wp.kernel
def reuses_a_name(out: Floats, n: int):
    c = wp.vec3(out[0], 1.0, 2.0)
    out[0] = c[1]
    for r in range(n):
        for c in range(r + 1):
            out[1] += float(c)
        if r > 1:
            c = 2.5
            out[2] += c


def test_a_name_may_have_another_type_in_each_iteration_that_nothing_reads_afterwards():
    assert filled(reuses_a_name, 3, 4, threads=1) == [1.0, 0.0 + 1.0 + 3.0 + 6.0, 5.0]


@pytest.mark.parametrize(
    "code",
    [
        "for i in range(3):\n    out[i] = x\n    if i > 1:\n        x = i",
        "for i in range(3):\n    if i > 1:\n        x = i\nout[0] = x",
        "while x < 2.0:\n    out[1] += 1.0\n    if out[1] > 1.0:\n        x = wp.vec3()",
    ],
)
def test_a_name_of_two_types_is_refused_where_it_is_read(code):
    error = refused(f"x = 1.0\n{code}")
    assert isinstance(error, KernelTypeError)
    assert error.message.startswith("'x' has no single type here: it is ")
