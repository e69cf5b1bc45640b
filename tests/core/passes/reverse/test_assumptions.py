"""What the reverse asserts of indices that may count from the end, where a kernel writes an array that it reads."""

import numpy as np
import pytest
from pass_runs import lowered, names

import warpsim as wp
from warpsim.core.passes.reverse.assumptions import add_assertions
from warpsim.core.passes.simplify.dce import dce
from warpsim.core.passes.simplify.fold import fold
from warpsim.core.passes.simplify.inline import inline
from warpsim.errors import KernelAssertionError

pytestmark = pytest.mark.cpu(reason="names its devices")
Floats, Ints, Grid = wp.array(dtype=float), wp.array(dtype=int), wp.array2d(dtype=float)


@wp.struct
class Held:
    x: wp.array(dtype=float)


@wp.kernel
def step(x: Floats, t: int):
    x[t + 1] = x[t] * x[t]


@wp.kernel
def step_of_a_struct(held: Held, t: int):
    held.x[t + 1] = held.x[t] * held.x[t]


@wp.kernel
def rows(x: Grid, t: int):
    i = wp.tid()
    x[t, i] = x[t - 2, i] * x[t - 1, i]


@wp.kernel
def span(x: Floats, r: Ints):
    for k in range(r[0], r[1]):
        x[k] = x[k] * x[k]


@wp.kernel
def own(x: Floats, j: Ints):
    i = wp.tid()
    x[j[i]] = x[j[i]] * 2.0


@wp.kernel
def forwards(x: Floats, n: int):
    for k in range(1, n):
        x[k] = x[k - 1] * 2.0


@wp.kernel
def elsewhere(x: Floats, t: int, y: Floats):
    y[t + 1] = x[t] * x[t]


@wp.kernel
def sums(x: Floats, j: Ints, y: Floats):
    for k in range(j[0]):
        wp.atomic_add(x, j[k], y[k])
        wp.atomic_sub(x, j[k] - 1, y[j[k]])


@pytest.mark.parametrize(
    ("kernel", "count"),
    [(step, 1), (step_of_a_struct, 1), (rows, 2), (span, 1), (own, 0), (forwards, 0), (elsewhere, 0), (sums, 0)],
)
def test_what_is_asserted(kernel, count):
    fn = dce(fold(inline(lowered(kernel))))
    found = names(add_assertions(fn))
    assert found.count("assert") >= count
    assert bool(found.count("assert")) == bool(count)
    assert [n for n in found if n not in ("assert", "shape", "ne", "ge", "field")] == [
        n for n in names(fn) if n not in ("shape", "ne", "ge", "field")
    ]


def slopes(kernel, dim, x, *rest, device="cpu"):
    a = wp.array(x, dtype=float, requires_grad=True, device=device)
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim, [Held(x=a) if kernel is step_of_a_struct else a, *rest], device=device)
    tape.backward(grads={a: wp.ones(a.shape, dtype=float, device=device)})
    return a.grad.numpy().tolist()


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("kernel", [step, step_of_a_struct])
def test_gradients_count_from_the_end_too(kernel, device):
    assert slopes(kernel, 1, [2.0, 3.0, 4.0, 5.0], 1, device=device) == [1, 7, 0, 1]
    assert slopes(kernel, 1, [2.0, 3.0, 4.0, 5.0], -1, device=device) == [0, 1, 1, 11]
    assert slopes(kernel, 1, [2.0, 3.0], -2, device=device) == [5, 0]
    with pytest.raises(KernelAssertionError, match=r"'x' that are 1 apart|'held' that are 1 apart"):
        slopes(kernel, 1, [2.0], -1, device=device)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_a_row_from_the_end(device):
    x = np.arange(2.0, 14.0).reshape(4, 3)
    want = np.ones((4, 3))
    want[2] += x[3]
    want[3] += x[2]
    want[0] = 0
    assert slopes(rows, 3, x, 0, device=device) == want.tolist()


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_loops_count_forwards(device):
    assert slopes(span, 1, [2.0, 3.0, 4.0], wp.array([1, 3], dtype=int), device=device) == [1, 6, 8]
    with pytest.raises(KernelAssertionError, match="needs indices that are not negative"):
        slopes(span, 1, [2.0, 3.0], wp.array([-2, 2], dtype=int), device=device)
