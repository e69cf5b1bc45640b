"""Forward mode after the launch: the tangents of forward mode during it, from the contents that the adjoint sees."""

import numpy as np
import pytest
import tangent_kernels
from pass_runs import lowered, names, run
from tangent_kernels import GALLERY, THREADS, contents
from test_tangent import floats, random_direction, tangents

from warpsim.core.ir.verify import verify
from warpsim.core.passes.forward.derived import forward_again, moving_floats
from warpsim.core.passes.reverse.extra_params import Before, TangentOf
from warpsim.core.passes.reverse.promote_memory import promote_memory
from warpsim.core.passes.reverse.recompute import refuse_unrecoverable
from warpsim.core.passes.simplify.dce import dce
from warpsim.core.passes.simplify.fold import fold
from warpsim.core.passes.simplify.inline import inline
from warpsim.errors import NotDifferentiableError

REFUSED = {
    "chosen_arrays": "the gradient needs an element that the kernel overwrote after reading it",
    "extremes": "the gradient needs the derivative of what atomic_max returned",
    "sums": "atomic_exch has no tangent after the launch",
}
ARRAYS = frozenset({"x", "y"})


def after_launch(kernel):
    fn = fold(dce(inline(promote_memory(inline(lowered(kernel), keep_gradients=True)), keep_gradients=True)))
    made, extras = forward_again(fn, ARRAYS, 1)
    return verify(refuse_unrecoverable(dce(fold(verify(made)), total=True))), extras, moving_floats(fn.params, ARRAYS)


@pytest.mark.parametrize("kernel", [k for k in GALLERY if k.key not in REFUSED], ids=lambda k: k.key)
def test_tangents_are_those_of_the_launch_and_contents_stay(kernel):
    fn = inline(lowered(kernel))
    rng = np.random.default_rng(2)
    memory = contents(kernel, rng)
    along = [random_direction(m, rng) for m in memory]
    done, want = tangents(fn, memory, along)
    program, extras, slots = after_launch(kernel)
    kept = [memory[e.position] for e in extras if isinstance(e, Before)]
    assert all(isinstance(e, Before | TangentOf) for e in extras)
    found = run(program, [*done, *kept, *(along[s.position] for s in slots)], THREADS)
    for got, before in zip(found, [*done, *kept], strict=False):
        np.testing.assert_array_equal(floats(got), floats(before))
    for slot, got in zip(slots, found[len(done) + len(kept) :], strict=True):
        np.testing.assert_allclose(floats(got), floats(want[slot.position]), rtol=1e-13, atol=1e-14)


def test_it_does_nothing_but_move_tangents():
    """Of a kernel that computes much, only loads and what Jacobians need are left."""
    program, _, slots = after_launch(tangent_kernels.straight)
    assert names(program).count("store") == len(slots) - 1  # y, and not x, which the kernel only reads
    stored = [n.args[0] for n in program.body.nodes if n.op.name == "store"]
    assert stored == [program.params[-1]]


@pytest.mark.parametrize("name, reason", REFUSED.items())
def test_what_nobody_knows_afterwards_is_refused(name, reason):
    with pytest.raises(NotDifferentiableError, match=reason):
        after_launch(getattr(tangent_kernels, name))
