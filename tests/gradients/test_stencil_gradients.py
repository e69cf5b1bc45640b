"""Gradients of stencils: gathered at each element they are those that threads scatter, whatever the kernel does at
the border, whatever is launched, and whichever arrays have gradients.

The oracle is the adjoint in one step, whose sums are scattered, and central differences. 30 random kernels every day;
WARPSIM_STENCILS=2000 runs that many others.
"""

import os
from collections import Counter

import numpy as np
import pytest
from gradient_runs import assert_gradient, new_loss, random_f64
from stencil_programs import random_stencil

import warpsim as wp
from warpsim.core.emit.program import FormKind
from warpsim.core.passes.reverse import adjoint_stencils
from warpsim.core.runtime.tape import adjoint_launch

MORE = int(os.environ.get("WARPSIM_STENCILS", "0"))
FIRST, COUNT = (100_000, MORE) if MORE else (0, 30)
SURE = 1e-11


Numbers = wp.array(dtype=wp.float64)


@wp.kernel
def bend(a: Numbers, b: Numbers, o: Numbers):
    i = wp.tid()
    if i < 1 or i >= a.shape[0] - 1:
        return
    o[i] = a[i - 1] * b[i] + wp.sin(a[i]) * b[i + 1] + b[i - 1]


@wp.kernel
def weigh(o: Numbers, loss: Numbers):
    i = wp.tid()
    wp.atomic_add(loss, 0, o[i] * (1.0 + 0.5 * wp.float64(i)))


def bent(dim):
    """The program that launches `bend` over `dim` threads and weighs what it writes."""

    def program(a, b):
        o, loss = wp.zeros(b.shape[0], dtype=wp.float64, requires_grad=True), new_loss()
        wp.launch(bend, dim=dim, inputs=[a, b, o])
        wp.launch(weigh, dim=o.shape[0], inputs=[o, loss])
        return loss

    return program


def steps_of(kernel):
    """The steps of adjoints that have run of a kernel."""
    return {launcher.form.phase for launcher in kernel.launchers.values() if launcher.form.kind is FormKind.ADJOINT}


def fresh(kernel):
    """The kernel with nothing launched yet."""
    return wp.kernel(kernel.function)


def leaf(numbers):
    return wp.array(np.asarray(numbers, np.float64), dtype=wp.float64, requires_grad=True)


def recorded(kernel, a, b, o, dim=None):
    with wp.Tape() as tape:
        wp.launch(kernel, dim=o.shape[0] if dim is None else dim, inputs=[a, b, o])
    return tape


def numbers(n, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 1.5, n)


def by_hand(a, b, seeds):
    """The gradients of `bend` for cotangents of what it writes."""
    da, db, inner = np.zeros_like(a), np.zeros_like(b), seeds[1:-1]
    da[:-2] += inner * b[1:-1]
    da[1:-1] += inner * np.cos(a[1:-1]) * b[2:]
    db[1:-1] += inner * a[:-2]
    db[2:] += inner * np.sin(a[1:-1])
    db[:-2] += inner
    return da, db


def gradients_of(stencil, kernel, device="cpu"):
    """The gradients after a backward pass, and how many steps the adjoint had."""
    arrays = stencil.arrays(device)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=stencil.dim, inputs=list(arrays.values()), device=device)
    tape.backward()
    kept = [launcher for launcher in kernel.launchers.values() if launcher.form.phase]
    return {name: arrays[name].grad.numpy() for name in stencil.gradients}, len(kept)


@pytest.fixture
def scattered(monkeypatch):
    """A function after whose call all adjoints are in one step."""
    return lambda: monkeypatch.setattr(adjoint_launch, "phases", lambda needs, form, args: [form])


@pytest.fixture
def whatever_the_cost(monkeypatch):
    """Adjoints gather wherever they can, whether that is faster or not."""
    monkeypatch.setattr(adjoint_stencils, "gains_from_gathering", lambda adjoint, gathering: True)


@pytest.mark.assembled_one_in(7)
@pytest.mark.parametrize("chunk", range(0, COUNT, 15))
def test_random_stencils_gather_what_they_scatter(chunk, whatever_the_cost, scattered):
    stencils = [random_stencil(FIRST + seed) for seed in range(chunk, min(chunk + 15, COUNT))]
    found, steps = [], Counter()
    for stencil in stencils:
        gathered, count = gradients_of(stencil, stencil.kernel())
        steps[bool(count)] += 1
        found.append([gathered])
    for stencil, results in zip(stencils[::5], found[::5], strict=True):
        results.append(gradients_of(stencil, stencil.kernel(), "interp")[0])
    scattered()
    for stencil, results in zip(stencils, found, strict=True):
        expected, _ = gradients_of(stencil, stencil.kernel())
        for result in results:
            for name, gradient in expected.items():
                message = f"seed {stencil.seed}, gradient of {name}\n{stencil.text}"
                np.testing.assert_allclose(result[name], gradient, rtol=SURE, atol=SURE, err_msg=message)
    assert steps[True] >= len(stencils) // 4, steps


# ----- one kernel, many launches -------------------------------------------------------------------


@pytest.mark.parametrize("dim", [7, 5, 12, 1, 0])
def test_launches_of_all_sizes_agree_with_differences(dim):
    assert_gradient(bent(dim), [random_f64(0, 7), random_f64(1, 7)])


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5000])
def test_gradients_are_added_to_what_gradients_hold(n):
    kernel = fresh(bend)
    a, b, o = leaf(numbers(n)), leaf(numbers(n, 1)), leaf(np.zeros(n))
    tape = recorded(kernel, a, b, o)
    for _ in range(2):
        o.grad.fill_(2.0)
        tape.backward()
    expected = by_hand(a.numpy(), b.numpy(), np.full(n, 4.0))
    np.testing.assert_allclose(a.grad.numpy(), expected[0], atol=1e-13)
    np.testing.assert_allclose(b.grad.numpy(), expected[1], atol=1e-13)
    assert not o.grad.numpy()[1:-1].any()  # what was overwritten is cleared
    assert (o.grad.numpy()[:1] == 2.0).all()
    assert steps_of(kernel) == {"gathered", "rest"}


def test_arrays_that_share_gradients_scatter():
    kernel, whole = fresh(bend), leaf(numbers(9))
    for apart in (False, True, False):  # the steps of an earlier launch are not taken again where they do not fit
        a, b = (leaf(numbers(8)), leaf(numbers(8, 1))) if apart else (whole[:-1], whole[1:])
        whole.grad.zero_()
        o = leaf(np.zeros(8))
        tape = recorded(kernel, a, b, o)
        o.grad.fill_(1.0)
        tape.backward()
        da, db = by_hand(a.numpy(), b.numpy(), np.ones(8))
        if apart:
            np.testing.assert_allclose(a.grad.numpy(), da, atol=1e-13)
            assert steps_of(kernel) == {"", "gathered", "rest"}
        else:
            both = np.append(da, 0.0) + np.append(0.0, db)
            np.testing.assert_allclose(whole.grad.numpy(), both, atol=1e-13)


def test_one_array_for_two_parameters_scatters():
    kernel, x, o = fresh(bend), leaf(numbers(8)), leaf(np.zeros(8))
    tape = recorded(kernel, x, x, o)
    o.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(x.grad.numpy(), sum(by_hand(x.numpy(), x.numpy(), np.ones(8))), atol=1e-13)
    assert steps_of(kernel) == {""}


def test_elements_through_a_table_scatter():
    x, b, o = leaf(numbers(5)), leaf(numbers(8, 1)), leaf(np.zeros(8))
    table = wp.array([0, 1, 1, 4, 2, 3, 3, 0], dtype=wp.int32)

    @wp.kernel
    def through(a: wp.indexedarray(dtype=wp.float64), b: Numbers, o: Numbers):
        i = wp.tid()
        if i < 1 or i >= a.shape[0] - 1:
            return
        o[i] = a[i - 1] * b[i] + wp.sin(a[i]) * b[i + 1] + b[i - 1]

    a = wp.indexedarray(x, [table])
    tape = recorded(through, a, b, o)
    o.grad.fill_(1.0)
    tape.backward()
    expected = np.zeros(5)
    np.add.at(expected, table.numpy(), by_hand(x.numpy()[table.numpy()], b.numpy(), np.ones(8))[0])
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-13)
    assert steps_of(through) == {""}


def test_checked_indices_scatter(monkeypatch):
    monkeypatch.setattr(wp.config, "verify", True)
    kernel, a, b, o = fresh(bend), leaf(numbers(8)), leaf(numbers(8, 1)), leaf(np.zeros(8))
    tape = recorded(kernel, a, b, o)
    o.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(a.grad.numpy(), by_hand(a.numpy(), b.numpy(), np.ones(8))[0], atol=1e-13)
    assert steps_of(kernel) == {""}


def test_a_graph_holds_both_steps():
    a, b, o = leaf(numbers(8)), leaf(numbers(8, 1)), leaf(np.zeros(8))
    tape = recorded(fresh(bend), a, b, o)
    with wp.ScopedCapture() as capture:
        tape.backward(grads={o: wp.ones(8, dtype=wp.float64)})
    for turn in (1.0, 2.0):
        wp.capture_launch(capture.graph)
        np.testing.assert_allclose(a.grad.numpy(), turn * by_hand(a.numpy(), b.numpy(), np.ones(8))[0], atol=1e-13)


def test_an_overwritten_input_is_read_as_it_was():
    a, b, o = leaf(numbers(8)), leaf(numbers(8, 1)), leaf(np.zeros(8))
    before = a.numpy().copy()
    with wp.Tape() as tape:
        wp.launch(bend, dim=8, inputs=[a, b, o])
        a.fill_(0.25)
    tape.backward(grads={o: wp.ones(8, dtype=wp.float64)})
    np.testing.assert_allclose(b.grad.numpy(), by_hand(before, b.numpy(), np.ones(8))[1], atol=1e-13)


def test_products_with_the_hessian_agree_with_differences():
    a, b = numbers(8), numbers(8, 1)
    u, step = numbers(8, 2), 1e-6

    def gradients(moved):
        x, y = leaf(moved), leaf(b)
        with wp.Tape() as tape:
            loss = bent(8)(x, y)
        tape.backward(loss)
        return tape, loss, x, y

    tape, loss, x, y = gradients(a)
    products = wp.autograd.hvp(tape, loss=loss, vector={x: u})
    (ahead, behind) = (gradients(a + sign * step * u) for sign in (1.0, -1.0))
    for array, k in ((x, 2), (y, 3)):
        measured = (ahead[k].grad.numpy() - behind[k].grad.numpy()) / (2.0 * step)
        np.testing.assert_allclose(products[array].numpy(), measured, atol=1e-7)


@wp.struct
class Cell:
    height: wp.float64
    flow: wp.vec2d


@wp.kernel
def spread(cells: wp.array(dtype=Cell), rows: wp.array2d(dtype=wp.float64), o: Numbers):
    i = wp.tid()
    if i > 0 and i < o.shape[0] - 1:
        left, right = cells[i - 1], cells[i + 1]
        o[i] = left.height * right.flow[0] + right.height * rows[i, 1] + rows[i - 1, 0] * rows[i + 1, 1]


def test_fields_and_columns_gather_each_for_itself(whatever_the_cost, scattered):
    def run(kernel):
        content = [Cell(height=h, flow=wp.vec2d(f, -f)) for h, f in zip(numbers(9), numbers(9, 1), strict=True)]
        cells = wp.array(content, dtype=Cell, requires_grad=True)
        rows = wp.array(numbers((9, 2), 3), dtype=wp.float64, requires_grad=True)
        o = leaf(np.zeros(9))
        with wp.Tape() as tape:
            wp.launch(kernel, dim=9, inputs=[cells, rows, o])
        tape.backward(grads={o: wp.array(numbers(9, 2), dtype=wp.float64)})
        slopes = cells.grad.numpy()
        return np.column_stack([slopes["height"], slopes["flow"], rows.grad.numpy()])

    kernel = fresh(spread)
    gathered = run(kernel)
    assert steps_of(kernel) == {"gathered", "rest"}
    scattered()
    np.testing.assert_allclose(gathered, run(fresh(spread)), atol=1e-13)
