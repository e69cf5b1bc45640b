"""Gradient arrays as parameters: adjoints compute what they computed, and ask for no gradient any more."""

import numpy as np
import pytest
import tangent_kernels
from pass_runs import lowered, names, run
from tangent_kernels import GALLERY, THREADS, contents
from test_tangent import floats, random_direction

from warpsim.core.ir.host_arrays import HostArray
from warpsim.core.ir.interpret import Interpreter
from warpsim.core.ir.verify import verify
from warpsim.core.passes.forward.gradients_as_params import gradient_arrays, gradients_as_params
from warpsim.core.passes.reverse.adjoint import adjoint
from warpsim.core.passes.reverse.promote_memory import promote_memory
from warpsim.core.passes.reverse.recompute import refuse_unrecoverable
from warpsim.core.passes.simplify.dce import dce
from warpsim.core.passes.simplify.fold import fold
from warpsim.core.passes.simplify.inline import inline

REFUSED = {"chosen_arrays", "sums", "extremes"}  # by the adjoint itself


def reverse(kernel, gradients):
    fn = fold(dce(inline(promote_memory(inline(lowered(kernel), keep_gradients=True)), keep_gradients=True)))
    made, extras = adjoint(fn, frozenset(gradients), 1)
    return refuse_unrecoverable(dce(fold(inline(made)), total=True)), extras


def with_slots(fn, memory, gradients):
    """Gradients by the interpreter, where arrays own them."""
    grads = [g.copy() for g in gradients]
    values = [HostArray(m.copy(), p.type, p.hint) for m, p in zip(memory, fn.params, strict=True)]
    for value, g in zip(values, grads, strict=False):
        value.grad = HostArray(g, value.type, "grad")
    machine = Interpreter(check_numbers=False)
    for i in range(THREADS):
        machine.thread = (i,)
        machine.run(fn.body, values)
    return grads


@pytest.mark.parametrize("kernel", [k for k in GALLERY if k.key not in REFUSED], ids=lambda k: k.key)
def test_gradients_are_the_same(kernel):
    fn, extras = reverse(kernel, ["x", "y"])
    own = len(kernel.patterns)
    slots = gradient_arrays(fn.params[:own], ["x", "y"])
    plain = verify(gradients_as_params(fn, slots))
    assert not {"gradient", "has_gradient"} & set(names(plain))
    rng = np.random.default_rng(3)
    memory = contents(kernel, rng)
    memory += [memory[e.position] for e in extras]
    seeds = [random_direction(m, rng) for m in memory[:own]]
    want = with_slots(fn, memory, seeds)
    found = run(plain, [*memory, *(seeds[s.position] for s in slots)], THREADS)[len(memory) :]
    assert [s.position for s in slots] == [0, 1]
    for slot, got in zip(slots, found, strict=True):
        np.testing.assert_array_equal(floats(got), floats(want[slot.position]))


def test_an_array_that_is_not_named_keeps_its_gradient_row():
    fn, _ = reverse(tangent_kernels.straight, ["x", "y"])
    plain = gradients_as_params(fn, gradient_arrays(fn.params, ["x"]))
    assert "gradient" in names(plain)
    assert len(plain.params) == len(fn.params) + 1
