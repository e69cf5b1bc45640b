"""Arrays without gradient hold constants: what is written to them passes no gradient on, and hinders none."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.passes.reverse.promote_memory import promote_memory
from warpsim.core.passes.reverse.recompute import CONSTANT

D = wp.float64
Numbers = wp.array(dtype=D)

pytestmark = pytest.mark.usefixtures("device")


@wp.struct
class Pair:
    shown: wp.array(dtype=wp.float64)
    kept: wp.array(dtype=wp.float64)


def numbers(*values, requires_grad=True):
    return wp.array(np.array(values, float), dtype=D, requires_grad=requires_grad)


def gradient(kernel, dim, args, of, loss):
    with wp.Tape() as tape:
        wp.launch(kernel, dim, inputs=args)
    tape.backward(grads={loss: wp.ones_like(loss)})
    return of.grad.numpy().tolist()


@wp.kernel
def stored(x: Numbers, y: Numbers, loss: Numbers):
    i = wp.tid()
    n = x[i] * x[i]
    y[i] = n
    loss[i] = n


@wp.kernel
def added(x: Numbers, y: Numbers, loss: Numbers):
    i = wp.tid()
    n = x[i] * x[i]
    wp.atomic_add(y, i, n)
    loss[i] = n


@wp.kernel
def extremes(x: Numbers, y: Numbers, loss: Numbers):
    i = wp.tid()
    n = x[i] * x[i]
    wp.atomic_max(y, i, n)
    y[i] = n + n  # who won is lost, and nobody asks
    loss[i] = n


@wp.kernel
def exchanged(x: Numbers, y: Numbers, loss: Numbers):
    i = wp.tid()
    n = x[i] * x[i]
    old = wp.atomic_exch(y, i, n)
    loss[i] = n + old * D(0.5)


@wp.kernel
def in_place(x: Numbers, y: Numbers, loss: Numbers):
    i = wp.tid()
    n = x[i] * x[i]
    for _ in range(3):
        y[i] *= n
        if y[i] > D(0.0):
            y[i] += n
    loss[i] = n


@pytest.mark.parametrize("kernel", [stored, added, extremes, exchanged, in_place], ids=lambda k: k.key)
@pytest.mark.parametrize("verify", [False, True], ids=["fast", "verify"])
def test_a_value_written_beside(kernel, verify, monkeypatch):
    monkeypatch.setattr(wp.config, "verify", verify)
    x, y, loss = numbers(2, 3), numbers(0, 0, requires_grad=False), numbers(0, 0)
    assert gradient(kernel, 2, [x, y, loss], x, loss) == [4.0, 6.0]


def test_a_value_written_beside_by_many_threads():
    facts = ((3.0, True), (0.0, False), (0.0, True))
    x, y, loss = (wp.array(np.full(700, v), dtype=D, requires_grad=has) for v, has in facts)
    assert gradient(stored, 700, [x, y, loss], x, loss) == [6.0] * 700


@wp.kernel
def carried(x: Numbers, v: Numbers, loss: Numbers):
    t = wp.tid()
    v[t] = x[t] * D(2.0)
    v[t] = v[t] * D(3.0)
    wp.atomic_add(loss, 0, v[t] * x[t])


@pytest.mark.parametrize(("has", "slope"), [(False, 9.0), (True, 18.0)])
def test_an_element_that_is_carried_in_a_variable(has, slope):
    x, v, loss = numbers(1.5), numbers(0, requires_grad=has), numbers(0)
    assert gradient(carried, 1, [x, v, loss], x, loss) == [slope]


def test_only_elements_of_arrays_without_gradient_become_constants():
    fn = carried.program(tuple(carried.patterns.values())).fn
    marked = [any(c.op is CONSTANT for c in promote_memory(fn, chosen).body.nodes) for chosen in (None, frozenset())]
    assert marked == [False, True]


@wp.kernel
def carried_round(x: Numbers, v: Numbers, loss: Numbers, n: int):
    t = wp.tid()
    for _ in range(n):
        v[t] = v[t] * x[t]
        wp.atomic_add(loss, t, v[t] * x[t])


@pytest.mark.parametrize("has", [False, True])
def test_an_element_that_is_carried_round_a_loop(has):
    x, v, loss = numbers(1.5, 2), numbers(1, 1, requires_grad=has), numbers(0, 0)
    got = gradient(carried_round, 2, [x, v, loss, 3], x, loss)
    want = [sum((k + 1 if has else 1) * s**k for k in (1, 2, 3)) for s in (1.5, 2.0)]
    np.testing.assert_allclose(got, want)


@wp.kernel
def in_a_struct(x: Numbers, s: Pair, loss: Numbers):
    t = wp.tid()
    s.shown[t] = x[t] * x[t]
    s.kept[t] = x[t] * x[t]
    s.shown[t] = s.shown[t] * s.shown[t]
    loss[t] = s.kept[t] + s.shown[t]


def test_a_field_of_a_struct():
    s = Pair()
    s.shown, s.kept = numbers(0, 0, requires_grad=False), numbers(0, 0)
    x, loss = numbers(2, 3), numbers(0, 0)
    assert gradient(in_a_struct, 2, [x, s, loss], x, loss) == [4.0, 6.0]
    x, loss, s.shown = numbers(2, 3), numbers(0, 0), numbers(0, 0)
    assert gradient(in_a_struct, 2, [x, s, loss], x, loss) == [36.0, 114.0]


@wp.kernel
def picked(x: Numbers, a: Numbers, b: Numbers, loss: Numbers):
    i = wp.tid()
    y = a
    if i % 2 == 1:
        y = b
    y[i] = x[i] * x[i]
    loss[i] = y[i]


def test_an_array_that_the_run_picks():
    x, loss = numbers(2, 3), numbers(0, 0)
    a, b = numbers(0, 0), numbers(0, 0, requires_grad=False)
    assert gradient(picked, 2, [x, a, b, loss], x, loss) == [4.0, 0.0]


@wp.kernel
def through_a_table(x: Numbers, y: wp.indexedarray(dtype=D), loss: Numbers):
    i = wp.tid()
    y[i] = x[i] * x[i]
    loss[i] = y[i] * x[i]


@pytest.mark.parametrize("has", [False, True])
def test_an_indexedarray(has):
    x, y, loss = numbers(2, 3), numbers(0, 0, 0, requires_grad=has), numbers(0, 0)
    view = wp.indexedarray(y, [wp.array([2, 0], dtype=int)])
    assert gradient(through_a_table, 2, [x, view, loss], x, loss) == ([12.0, 27.0] if has else [4.0, 9.0])
