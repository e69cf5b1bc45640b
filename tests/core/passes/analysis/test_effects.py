"""Which arrays a program reads, writes and updates, held against what its launches do to them."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.ir.nodes import Call, walk
from warpsim.core.passes.analysis.alias import points_to
from warpsim.core.passes.analysis.array_uses import read_after_write
from warpsim.core.passes.analysis.effects import array_effects, effects_of
from warpsim.core.types.array_ref import ArrayRef
from warpsim.errors import NotDifferentiableError

Floats = wp.array(dtype=float)


@wp.struct
class Pair:
    first: Floats
    second: Floats


@wp.func
def moved(source: Floats, target: Floats, i: int):
    target[i] = source[i] + 1.0


@wp.kernel
def copies(a: Floats, b: Floats, c: Floats, pair: Pair):
    i = wp.tid()
    moved(a, b, i)


@wp.kernel
def adds(a: Floats, b: Floats, c: Floats, pair: Pair):
    i = wp.tid()
    wp.atomic_add(c, 0, a[i])


@wp.kernel
def in_structs(a: Floats, b: Floats, c: Floats, pair: Pair):
    i = wp.tid()
    pair.second[i] = pair.first[i] * 2.0


@wp.kernel
def one_of_two(a: Floats, b: Floats, c: Floats, pair: Pair):
    i = wp.tid()
    target = a
    if i > 0:
        target = b
    target[i] = c[i]


@wp.kernel
def extreme(a: Floats, b: Floats, c: Floats, pair: Pair):
    i = wp.tid()
    wp.atomic_max(b, 0, a[i])


CASES = {
    copies: ({"a"}, {"b"}),
    adds: ({"a"}, {"c"}),
    in_structs: ({"pair.first"}, {"pair.second"}),
    one_of_two: ({"c"}, {"a", "b"}),
    extreme: ({"a"}, {"b"}),
}


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.key)
def test_what_a_kernel_reads_and_writes(kernel):
    uses = kernel.program(tuple(kernel.patterns.values())).uses
    read, changed, extremes = (
        {ref.name(list(kernel.patterns)) for ref in refs} for refs in (uses.read, uses.changed, uses.extremes)
    )
    assert (read, changed) == CASES[kernel] and extremes == ({"b"} if kernel is extreme else set())


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.key)
def test_what_changes_is_written_and_what_matters_is_read(kernel):
    arrays = {key: np.arange(1, 4, dtype=np.float32) * k for k, key in enumerate(("a", "b", "c", "f", "s"), 1)}
    read, written = CASES[kernel]

    def run(**changed):
        given = {key: wp.array(changed.get(key, value), device="interp") for key, value in arrays.items()}
        pair = Pair()
        pair.first, pair.second = given["f"], given["s"]
        wp.launch(kernel, 3, [given["a"], given["b"], given["c"], pair], device="interp")
        return {key: a.numpy() for key, a in given.items()}

    names = {"a": "a", "b": "b", "c": "c", "f": "pair.first", "s": "pair.second"}
    before = run()
    assert {names[key] for key, value in arrays.items() if (before[key] != value).any()} <= written
    for key, value in arrays.items():
        after = run(**{key: value + 10})
        others = [other for other in arrays if other != key and (after[other] != before[other]).any()]
        assert not others or names[key] in read


def test_functions_that_stay_calls_count_with_their_bodies():
    fn = copies.lower(tuple(copies.patterns.values()))
    assert any(isinstance(n, Call) and n.op.name == "moved" for n in walk(fn.body))
    found = array_effects(fn.body, points_to(fn))
    assert [b.holder.hint for b in found.read] == ["a"] and [b.holder.hint for b in found.written] == ["b"]
    assert all(any(effects_of(call)) for call, _ in found.calls)


@wp.kernel
def in_a_loop(a: Floats, b: Floats, c: Floats, pair: Pair):
    i = wp.tid()
    for k in range(pair.first.shape[0]):
        c[i] = a[k]
        b[k] = 1.0


def test_reads_after_writes_of_an_earlier_iteration():
    fn = in_a_loop.program(tuple(in_a_loop.patterns.values())).fn
    a, b, c = map(ArrayRef, range(3))
    assert read_after_write(fn, a, b) and read_after_write(fn, a, c)
    assert not read_after_write(fn, b, c)


@wp.func
def first_of(a: Floats):
    return a[0]


@wp.func
def scaled(a: Floats, x: float):
    return a[0] * x


@wp.func_grad(scaled)
def adj_scaled(a: Floats, x: float, out: float):
    wp.adjoint[x] += first_of(a) * out


@wp.kernel
def scaled_then_overwritten(a: Floats, x: Floats, y: Floats):
    i = wp.tid()
    y[i] = scaled(a, x[i])
    a[0] = 100.0


def test_what_a_gradient_reads_through_another_function_must_still_be_there():
    a = wp.array([3.0], dtype=float)
    x, y = (wp.array([2.0], dtype=float, requires_grad=True) for _ in range(2))
    with pytest.raises(NotDifferentiableError, match="gradient of 'scaled' looks at 'a', which the kernel changes"):
        with wp.Tape() as tape:
            wp.launch(scaled_then_overwritten, 1, [a, x, y])
        tape.backward(grads={y: wp.ones(1, dtype=float)})
