"""The adjoint of whole kernels against finite differences, and what it refuses."""

import numpy as np
import pytest
from adjoint_runs import adjoint_program, check, gradients, some

import warpsim as wp
from warpsim.core.ir.nodes import Call, For, While, walk
from warpsim.errors import NotDifferentiableError

D = wp.float64
Numbers, Grid, Vectors = wp.array(dtype=D), wp.array(dtype=D, ndim=2), wp.array(dtype=wp.vec3d)


@wp.struct
class Body:
    mass: D
    place: wp.vec3d
    index: int


@wp.kernel
def straight(x: Numbers, y: Numbers, a: D):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * a + x[i] / (a + x[i] * x[i])


@wp.kernel
def branches(x: Numbers, y: Numbers):
    i = wp.tid()
    v = x[i]
    if i == 0:
        v = v * v
    elif i == 1:
        w = wp.exp(v)
        v = w * x[0]
    if i == 2:
        return
    y[i] = v * x[i]


@wp.kernel
def nested_branches(x: Numbers, y: Numbers, n: int):
    i = wp.tid()
    v = x[i]
    if i < n:
        u = v * v
        if i == 0:
            v = u * x[1]
        else:
            if i == 1:
                u = wp.sin(u)
            v = u + v
        v = v * u
    y[i] = v


@wp.kernel
def loops_in_loops(x: Numbers, y: Numbers, n: int):
    p = D(1.0)
    for i in range(n):
        q = D(0.5)
        for j in range(i):
            q = q * x[j] + p
        p = p * q + x[i]
    y[0] = p


@wp.kernel
def sums_in_loops(x: Numbers, y: Numbers, n: int):
    s = D(0.0)
    for i in range(n):
        for j in range(i):
            if j % 2 == 0:
                s += x[i] * x[j]
            else:
                s -= wp.sin(x[j])
    y[0] = s * s


@wp.kernel
def sum_beside_state(x: Numbers, y: Numbers, n: int):
    s, p, c = D(0.0), D(1.0), 0
    for i in range(n - 1, -1, -1):
        p = p * x[i]
        s += p
        c = (c * 3 + 1) % n
        s += x[c]
    y[0] = s + p


@wp.kernel
def whiles(x: Numbers, y: Numbers):
    i = wp.tid()
    v, n = x[i], 0
    while v < D(40.0) and n < 20:
        v = v * v + x[0]
        n += 1
        if n == 5:
            continue
        if n == 7:
            break
        v = v + D(0.1) * v
    y[i] = v


@wp.kernel
def while_that_sums(x: Numbers, y: Numbers, n: int):
    s, k = D(0.0), 0
    while k < n:
        s += x[k] * x[k]
        k += 2
    y[0] = s * s


@wp.kernel
def vectors(x: Vectors, y: Numbers):
    i = wp.tid()
    v = x[i]
    v[0] = v[1] * v[2]
    v.y = wp.dot(v, x[i])
    v[i] = v[i] * v[0]
    y[i] = wp.length(v) + v.z


@wp.kernel
def in_structs(x: Numbers, v: Vectors, y: Numbers, n: int):
    b = Body(mass=x[0], place=v[0], index=1)
    for _ in range(n):
        b.place = b.place * b.mass + v[b.index]
        b.mass = b.mass + wp.length(b.place) * D(0.1)
        b.index = (b.index + 1) % 2
    y[0] = b.mass * b.place.x


@wp.func
def twice(v: D, k: int):
    for _ in range(k):
        v = v * v + D(0.1)
    return v, wp.sin(v)


@wp.kernel
def functions(x: Numbers, y: Numbers, n: int):
    i = wp.tid()
    a, b = twice(x[i], n)
    c, d = twice(a * b, 1)
    y[i] = c + d / b


@wp.kernel
def extremes(x: Numbers, low: Numbers, high: Numbers):
    i = wp.tid()
    wp.atomic_min(low, 0, x[i] * x[i])
    wp.atomic_max(high, 0, x[i] * D(2.0))


@wp.kernel
def extreme_then_store(x: Numbers, y: Numbers):
    wp.atomic_max(y, 0, x[0])
    y[0] = y[0] * x[1]


N4 = np.int32(4)


@pytest.mark.parametrize(
    ("kernel", "dim", "args", "wanted", "out"),
    [
        (straight, 3, [some(3), np.zeros(3), D(1.3)], ["x", "y", "a"], "y"),
        (branches, 4, [some(4), some(4, seed=1)], ["x", "y"], "y"),
        (nested_branches, 4, [some(4), np.zeros(4), np.int32(3)], ["x", "y"], "y"),
        (loops_in_loops, 1, [some(4), np.zeros(1), N4], ["x", "y"], "y"),
        (sums_in_loops, 1, [some(4), np.zeros(1), N4], ["x", "y"], "y"),
        (sum_beside_state, 1, [some(4), np.zeros(1), N4], ["x", "y"], "y"),
        (whiles, 4, [some(4), np.zeros(4)], ["x", "y"], "y"),
        (while_that_sums, 1, [some(5), np.zeros(1), np.int32(5)], ["x", "y"], "y"),
        (vectors, 3, [some(3, 3), np.zeros(3)], ["x", "y"], "y"),
        (in_structs, 1, [some(1), some(2, 3), np.zeros(1), np.int32(3)], ["x", "v", "y"], "y"),
        (functions, 3, [some(3) / 2, np.zeros(3), np.int32(3)], ["x", "y"], "y"),
        (extremes, 4, [some(4), np.full(1, 9.0), np.zeros(1)], ["x", "low", "high"], "low"),
        (extremes, 4, [some(4), np.full(1, 9.0), np.zeros(1)], ["x", "low", "high"], "high"),
        (extreme_then_store, 1, [some(2), np.zeros(1)], ["x", "y"], "y"),
    ],
    ids=lambda v: getattr(v, "key", None),
)
def test_gradients_equal_finite_differences(kernel, dim, args, wanted, out):
    check(kernel, dim, args, wanted, out)


@wp.kernel
def product(x: Numbers, y: Numbers, n: int):
    p = D(1.0)
    for i in range(n):
        p = p * x[i] + D(0.001) * wp.sin(p)
    y[0] = p


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 127, 200, 4100])
def test_any_number_of_iterations(n):
    """Around the number of kept states, beyond it, and beyond its square."""
    x = 1.0 + 0.001 * np.sin(np.arange(max(n, 1)))
    found = gradients(product, 1, [x, np.zeros(1), np.int32(n)], ["x", "y"], "y", 1.0)["x"]
    states = [1.0]
    for k in range(n):
        states.append(states[-1] * x[k] + 0.001 * np.sin(states[-1]))
    slope, want = 1.0, np.zeros_like(x)
    for k in reversed(range(n)):
        want[k] = slope * states[k]
        slope *= x[k] + 0.001 * np.cos(states[k])
    np.testing.assert_allclose(found, want, rtol=1e-9)


@pytest.mark.parametrize(("kernel", "loops"), [(sums_in_loops, 2), (while_that_sums, 1)])
def test_sums_are_reversed_without_keeping_states(kernel, loops):
    """The replay computes the sum, since its square is differentiated; the reverse adds one loop of each."""
    nodes = list(walk(adjoint_program(kernel, "x", "y").fn.body))
    assert sum(isinstance(n, For | While) for n in nodes) == 2 * loops
    assert not any(isinstance(n, Call) and n.op.name == "local_array" for n in nodes)


def test_arrays_without_gradients_cost_nothing():
    fn = adjoint_program(straight, "y").fn
    assert not any(isinstance(n, Call) and n.op.name in ("sin", "cos", "atomic_add") for n in walk(fn.body))


def test_replays_do_not_write():
    fn = adjoint_program(in_structs, "x", "v", "y").fn
    gradient_arrays = {n.results[0] for n in walk(fn.body) if isinstance(n, Call) and n.op.name == "gradient"}
    local = {n.results[0] for n in walk(fn.body) if isinstance(n, Call) and n.op.name == "local_array"}
    written = [n.args[0] for n in walk(fn.body) if isinstance(n, Call) and n.op.name in ("store", "atomic_add")]
    assert written and set(written) <= gradient_arrays | local


# ----- refusals ---------------------------------------------------------------------------------


@wp.kernel
def exchanged(x: Numbers, y: Numbers):
    i = wp.tid()
    y[i] = wp.atomic_exch(x, i, D(0.0)) * D(2.0)


@wp.kernel
def swapped(x: Numbers, y: Numbers):
    i = wp.tid()
    wp.atomic_cas(y, i, D(0.0), x[i])


@wp.kernel
def order_of_threads(x: Numbers, y: Numbers):
    i = wp.tid()
    y[i + 1] = wp.atomic_add(y, 0, x[i])


@wp.kernel
def extreme_then_sum(x: Numbers, y: Numbers):
    wp.atomic_max(y, 0, x[0])
    wp.atomic_add(y, 0, x[1])


@wp.kernel
def counter_in_a_loop(x: Numbers, y: Numbers, c: wp.array(dtype=int), n: int):
    for _ in range(n):
        j = wp.atomic_add(c, 0, 1)
        y[j] = x[j] * x[j]


@wp.kernel
def lost_element(x: Numbers, y: Numbers, at: wp.array(dtype=int), n: int):
    for k in range(n):
        x[at[k]] = x[at[k]] * x[at[k]] + y[k]


@wp.kernel
def switched_arrays(x: Numbers, y: Numbers, n: int):
    a, b = x, y
    v = D(1.0)
    for k in range(n):
        v = v * a[k] * b[k]
        a, b = b, a
    y[0] = v


@pytest.mark.parametrize(
    ("kernel", "message", "cure"),
    [
        (exchanged, "atomic_exch has no derivative", "wp.func_grad"),
        (swapped, "atomic_cas has no derivative", "wp.func_grad"),
        (order_of_threads, "depends on the order of threads", "second launch"),
        (extreme_then_sum, "who won is not known", "second launch"),
        (counter_in_a_loop, "needs the value that atomic_add returned", "wp.func_replay"),
        (lost_element, "an element that the kernel overwrote after reading it", "another array"),
        (switched_arrays, "rebinds an array variable", "index one array"),
    ],
)
def test_what_cannot_be_exact_is_refused(kernel, message, cure):
    with pytest.raises(NotDifferentiableError) as caught:
        adjoint_program(kernel, "x", "y")
    assert message in str(caught.value) and cure in str(caught.value)
    assert caught.value.location is not None and "test_adjoint.py" in caught.value.location.file
