"""What is computed twice is computed once, and nothing else changes."""

import numpy as np
from pass_runs import lowered, names, run

import warpsim as wp
from warpsim.core.ir.nodes import Call, Function, walk
from warpsim.core.ir.verify import verify
from warpsim.core.passes.simplify.cse import cse
from warpsim.core.passes.simplify.inline import inline

Floats = wp.array(dtype=float)


def shared(kernel):
    return verify(cse(inline(lowered(kernel), keep_gradients=True)), "cse")


def unchanged_on(kernel, values):
    """Whether memory is the same with and without sharing."""
    before, after = (run(fn, [values], len(values))[0] for fn in (inline(lowered(kernel)), inline(shared(kernel))))
    return np.array_equal(before, after)


@wp.kernel
def repeated(x: Floats):
    i = wp.tid()
    a = x[i]
    b = wp.sin(a * 2.0) + wp.sin(a * 2.0)
    if a > 0.0:
        b = b + wp.sin(a * 2.0)
    else:
        b = b * wp.cos(a) - wp.cos(a)
    x[i] = b


VALUES = np.array([-1.5, -0.0, 0.5, 2.0], np.float32)


def test_equal_calls_become_one_in_their_region_and_the_regions_inside():
    kept = names(shared(repeated))
    assert kept.count("sin") == 1
    assert kept.count("cos") == 1
    assert kept.count("mul") == 2
    assert unchanged_on(repeated, VALUES)


@wp.kernel
def apart(x: Floats):
    i = wp.tid()
    a = x[i]
    b = float(0.0)
    if a > 0.0:
        b = wp.sin(a)
    else:
        b = wp.sin(a) * 2.0
    for _ in range(wp.int32(a)):
        b = wp.exp(b)
    x[i] = b + wp.exp(a)


def test_sides_of_a_branch_and_turns_of_a_loop_share_nothing():
    kept = names(shared(apart))
    assert kept.count("sin") == 2
    assert kept.count("exp") == 2
    assert unchanged_on(apart, VALUES)


@wp.kernel
def memory(x: Floats):
    i = wp.tid()
    a = x[i]
    x[i] = a + 1.0
    b = x[i]
    wp.atomic_add(x, i, b)
    wp.atomic_add(x, i, b)


def test_reads_and_effects_stay():
    kept = names(shared(memory))
    assert kept.count("load") == 2
    assert kept.count("atomic_add") == 2
    assert unchanged_on(memory, VALUES)


@wp.kernel
def constants(x: Floats):
    i = wp.tid()
    a = x[i]
    x[i] = wp.atan2(a, 0.0) + wp.atan2(a, -0.0) + wp.atan2(a, 0.0)


def test_zeros_of_either_sign_are_different_operands():
    assert names(shared(constants)).count("atan2") == 2
    assert unchanged_on(constants, VALUES)


@wp.kernel
def attributes(x: Floats):
    i = wp.tid()
    a = x[i]
    x[i] = float(wp.int32(a) + wp.int32(a)) + float(wp.int64(a))


def test_attributes_count():
    assert names(shared(attributes)).count("cast") == 4
    assert unchanged_on(attributes, VALUES)


@wp.func
def halved(x: float):
    return wp.sqrt(wp.abs(x)) * 0.5


@wp.func_grad(halved)
def adj_halved(x: float, adj_ret: float):
    wp.adjoint[x] += halved(x) * adj_ret


@wp.func
def counted(a: Floats, i: int, x: float):
    return wp.atomic_add(a, i, x)


@wp.func_grad(counted)
def adj_counted(a: Floats, i: int, x: float, adj_ret: float):
    wp.adjoint[x] += wp.adjoint[a][i]


@wp.kernel
def functions(x: Floats):
    i = wp.tid()
    b = halved(x[i])
    b = halved(b) + halved(b)
    x[i] = b + counted(x, i, b) + counted(x, i, b)


def test_functions_that_stay_calls_are_shared_where_they_are_pure():
    calls = [n.op.name for n in walk(shared(functions).body) if isinstance(n, Call) and isinstance(n.op, Function)]
    assert calls == ["halved", "halved", "counted", "counted"]
    assert unchanged_on(functions, VALUES)
