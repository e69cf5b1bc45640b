"""Adjoint stencils: which adjoints are two steps, and what is in them; test_stencil_gradients has what they compute."""

import pytest
from adjoint_runs import adjoint_program

import warpsim as wp
from warpsim.core.compile import phase_of
from warpsim.core.ir.nodes import Call, walk

Floats, Grid = wp.array(dtype=float), wp.array2d(dtype=float)
Points = wp.array2d(dtype=wp.vec3)


@wp.kernel
def neighbours(a: Floats, o: Floats):
    i = wp.tid()
    if i > 0 and i < a.shape[0] - 1:
        o[i] = a[i - 1] + a[i + 1]


@wp.kernel
def ahead(a: Floats, o: Floats):
    i = wp.tid()
    o[i] = o[i] + a[i] * a[i + 3]


@wp.kernel
def columns(a: Grid, o: Floats):
    i = wp.tid()
    o[i] = a[i, 0] * a[i + 1, 2]


@wp.kernel
def turned(a: Grid, o: Grid):
    i, j = wp.tid()
    o[i, j] = a[j + 1, i] * a[j, i + 2]


@wp.kernel
def own(a: Floats, o: Floats):
    i = wp.tid()
    o[i] = a[i] * a[i]


@wp.kernel
def wrapped(a: Floats, o: Floats):
    i = wp.tid()
    o[i] = a[i] * a[i - 1]


@wp.kernel
def clamped(a: Floats, o: Floats):
    i = wp.tid()
    o[i] = a[i] * a[wp.max(i - 1, 0)]


@wp.kernel
def both_ways(a: Grid, o: Grid):
    i, j = wp.tid()
    o[i, j] = a[i, j] * a[j, i]


@wp.kernel
def looped(a: Floats, o: Floats, n: int):
    i = wp.tid()
    total = float(0.0)
    for _ in range(n):
        total = total * 0.5 + wp.sin(a[i] * a[i + 1])
    o[i] = total


@wp.kernel
def paired(a: Floats, o: Floats):
    i = wp.tid()
    o[i // 2] = a[i] * a[i + 1]


@wp.func
def pull(x: wp.vec3, y: wp.vec3):
    d = y - x
    return d * (1.0 - 1.0 / wp.length(d))


@wp.kernel
def cloth(a: Points, o: Points):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < a.shape[0] - 1 and j < a.shape[1] - 1:
        x = a[i, j]
        f = pull(x, a[i - 1, j]) + pull(x, a[i + 1, j]) + pull(x, a[i, j - 1]) + pull(x, a[i, j + 1])
        o[i, j] = f + pull(x, a[i - 1, j - 1]) + pull(x, a[i + 1, j + 1])


@wp.kernel
def vectors(a: Points, o: Points):
    i, j = wp.tid()
    o[i, j] = a[i, j] - 0.5 * a[i + 1, j] - 0.5 * a[i, j + 1]


def steps(kernel):
    """The two steps of the adjoint, or None."""
    program = adjoint_program(kernel, "a", "o")
    return program.gathered and (phase_of(program, "gathered").fn, phase_of(program, "rest").fn)


def effects(fn):
    return {node.op.name for node in walk(fn.body) if isinstance(node, Call) and node.op.effect}


@pytest.mark.parametrize("kernel", [neighbours, ahead, columns, turned], ids=lambda k: k.key)
def test_constant_distances_are_gathered_without_atomics(kernel):
    gathering, rest = steps(kernel)
    assert effects(gathering) == {"load", "store"}
    assert "store" in effects(rest)


def test_the_rest_of_a_stencil_only_clears():
    assert effects(steps(neighbours)[1]) == {"store"}


@pytest.mark.parametrize("kernel", [own, wrapped, clamped, both_ways, looped, paired], ids=lambda k: k.key)
def test_other_indices_are_left_as_they_are(kernel):
    assert steps(kernel) is None


@pytest.mark.parametrize("kernel", [cloth, vectors], ids=lambda k: k.key)
def test_vectors_of_several_numbers_are_scattered_as_that_is_faster(kernel):
    assert steps(kernel) is None


def test_as_many_threads_gather_as_the_arrays_and_the_launch_reach():
    found = adjoint_program(ahead, "a", "o").gathered
    a, o = wp.zeros(10, dtype=float), wp.zeros(8, dtype=float)
    assert found.margin == (3,)
    assert found.dims((7,), [a, o]) == (10,) and found.dims((2,), [a, o]) == (5,)
