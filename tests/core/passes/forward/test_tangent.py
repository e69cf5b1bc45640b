"""Forward mode of whole kernels against central differences, in float64 on the interpreter."""

import numpy as np
import pytest
import tangent_kernels
from pass_runs import lowered, nodes, run
from tangent_kernels import GALLERY, THREADS, contents

import warpsim as wp
from warpsim.core.ir.nodes import For, Function, If, While, count
from warpsim.core.ir.verify import verify
from warpsim.core.passes.forward.duals import Duals
from warpsim.core.passes.forward.tangent import chosen_floats, needs_one_thread, tangent
from warpsim.core.passes.simplify.dce import dce
from warpsim.core.passes.simplify.fold import fold
from warpsim.core.passes.simplify.inline import inline
from warpsim.errors import NotDifferentiableError

STEP = 1e-6
TOLERANCE = 1e-8


def inlined(kernel):
    return verify(inline(lowered(kernel), keep_gradients=True))


def forward(fn, names=("x", "y")):
    return verify(dce(fold(verify(tangent(fn, chosen_floats(fn.params, names)), "tangent"))), "dce")


def floats(memory):
    """All floats of an array, fields one after the other."""
    if memory.dtype.names:
        return np.concatenate([floats(memory[name]) for name in memory.dtype.names])
    return memory.ravel() if memory.dtype.kind == "f" else np.zeros(0)


def moved(memory, direction, by):
    made = memory.copy()
    if memory.dtype.names:
        for name in memory.dtype.names:
            made[name] = moved(memory[name], direction[name], by)
    elif memory.dtype.kind == "f":
        made += by * direction
    return made


def random_direction(memory, rng):
    made = np.zeros_like(memory)
    if memory.dtype.names:
        for name in memory.dtype.names:
            made[name] = random_direction(memory[name], rng)
    elif memory.dtype.kind == "f":
        made[...] = rng.uniform(-1, 1, memory.shape)
    return made


def tangents(fn, memory, along, names=("x", "y")):
    """Memory after the program of forward mode, and tangents by the position of their array."""
    positions = [slot.position for slot in chosen_floats(fn.params, names)]
    after = run(forward(fn, names), [*memory, *(along[k] for k in positions)], THREADS)
    return after[: len(memory)], dict(zip(positions, after[len(memory) :], strict=True))


@pytest.mark.parametrize("kernel", GALLERY, ids=lambda k: k.key)
def test_tangents_are_slopes_and_values_stay(kernel):
    fn = inlined(kernel)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        memory = contents(kernel, rng)
        along = [random_direction(m, rng) for m in memory]
        after, found = tangents(fn, memory, along)
        for got, want in zip(after, run(fn, memory, THREADS), strict=True):
            np.testing.assert_array_equal(floats(got), floats(want))
        ends = [run(fn, [moved(m, d, by) for m, d in zip(memory, along, strict=True)], THREADS) for by in (STEP, -STEP)]
        for k, tangent_ in found.items():
            want = (floats(ends[0][k]) - floats(ends[1][k])) / (2 * STEP)
            np.testing.assert_allclose(floats(tangent_), want, rtol=TOLERANCE, atol=TOLERANCE)


def test_an_array_without_tangent_holds_constants():
    fn = inlined(tangent_kernels.straight)
    rng = np.random.default_rng(5)
    memory = contents(tangent_kernels.straight, rng)
    along = [random_direction(m, rng) for m in memory]
    _, found = tangents(fn, memory, along, ["y"])
    assert list(found) == [1]
    assert np.all(found[1] == 0.0)


def test_control_flow_keeps_its_shape():
    """No region is copied: as many branches and loops as before, and at most the nodes of the rules."""
    for kernel in (tangent_kernels.leaving, tangent_kernels.loops, tangent_kernels.branches):
        fn = inlined(kernel)
        made = forward(fn)
        for kind in (If, For, While):
            assert len(nodes(made, kind)) == len(nodes(dce(fold(fn)), kind))
        assert count(made.body) < 4 * count(fn.body)


@wp.kernel
def deep(x: tangent_kernels.Reals, y: tangent_kernels.Reals):
    u = wp.float64(0.0)
    t = wp.float64(1.0)
    for a in range(x.shape[0]):
        for b in range(a + 2):
            for c in range(b + 2):
                for d in range(c + 2):
                    for e in range(d + 2):
                        u = u + t
                        t = t * x[e % 5]
    y[0] = u


def test_deep_loops_do_not_multiply_work(monkeypatch):
    """A level that learnt what it carries keeps it: the innermost body is translated a few times, not 2^5 times."""
    fn, visits, visit = inlined(deep), [], Duals.visit
    monkeypatch.setattr(Duals, "visit", lambda self, node: (visits.append(node), visit(self, node)))
    made = forward(fn)
    assert max(visits.count(node) for node in nodes(fn)) <= 7
    assert len(nodes(made, For)) == 5


# ----- what needs one thread, what is refused ------------------------------------------------


def test_order_matters_where_the_outcome_of_an_atomic_does():
    wanted = {k.key for k in GALLERY if needs_one_thread(forward(inlined(k)))}
    assert wanted == {"sums", "extremes"}


@wp.kernel
def swaps(x: tangent_kernels.Reals, y: tangent_kernels.Reals):
    i = wp.tid()
    wp.atomic_cas(y, i, x[i], x[i] * x[i])


def test_compare_and_swap_is_refused_with_its_place():
    with pytest.raises(NotDifferentiableError) as caught:
        forward(inlined(swaps))
    text = str(caught.value)
    assert "atomic_cas on floats has no tangent" in text
    assert "wp.atomic_cas(y, i, x[i], x[i] * x[i])" in text
    assert "help: use atomic_add" in text
    assert isinstance(forward(inlined(swaps), ["x"]), Function)


def test_a_choice_between_arrays_of_which_one_has_a_tangent_is_refused():
    with pytest.raises(NotDifferentiableError, match="an array with a tangent and one without") as e:
        forward(inlined(tangent_kernels.chosen_arrays), ["x"])
    assert "help: give the other array a tangent of zeros" in str(e.value)
