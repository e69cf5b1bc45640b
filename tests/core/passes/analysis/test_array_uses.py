"""What kernels do to the arrays of their parameters, and to arrays that structs in memory refer to."""

import pytest

import warpsim as wp
from warpsim.core.emit.program import Form, FormKind
from warpsim.core.types.array_ref import ArrayRef


@wp.struct
class Cell:
    first: wp.array(dtype=float)
    second: wp.array(dtype=float)


@wp.kernel
def looks(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    x[0] = float(c[0].first.shape[0])


@wp.kernel
def reads(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    x[0] = c[0].first[0]


@wp.kernel
def writes(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    c[0].second[0] = c[0].first[0]


@wp.kernel
def adds(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    whole = c[0]
    wp.atomic_add(whole.second, 0, 1.0)


@wp.kernel
def chooses(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    a = c[0].first
    if x[0] > 0.0:
        a = c[0].second
    a[0] = 1.0


@wp.kernel
def stores(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    c[0] = c[1]


@wp.kernel
def stores_field(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    c[0].second = x


def uses_of(kernel):
    return kernel.program(tuple(kernel.patterns.values())).uses


@pytest.mark.parametrize(
    ("kernel", "followed", "written", "stored"),
    [
        (looks, False, set(), False),
        (reads, True, set(), False),
        (writes, True, {"second"}, False),
        (adds, True, {"second"}, False),
        (chooses, True, {None}, False),
        (stores, False, set(), True),
        (stores_field, False, set(), True),
    ],
)
def test_arrays_in_elements(kernel, followed, written, stored):
    uses = uses_of(kernel)
    assert (uses.followed, uses.fields_written, uses.stores_arrays) == (followed, written, stored)
    use = uses.get(ArrayRef(0, in_elements=True))
    assert (use is not None) == followed and (use is not None and use.changes) == bool(written)


@wp.struct
class Pair:
    first: wp.array(dtype=float)
    second: wp.array(dtype=float)


@wp.kernel
def some(a: wp.array(dtype=float), b: wp.array(dtype=float), pair: Pair, n: int):
    i = wp.tid()
    if n > 0:
        b[i] = a[i]
    else:
        a[i] = 1.0
    for k in range(n):
        pair.first[k] += pair.second[i]
    wp.atomic_add(pair.second, 0, 1.0)


def test_what_every_thread_uses_is_what_stands_under_no_branch_and_in_no_loop():
    always = {ref for ref, use in uses_of(some).items() if use.always}
    assert always == {ArrayRef(0), ArrayRef(2, ("second",))}


def test_the_table_in_dumps():
    program = some.program(tuple(some.patterns.values()))
    assert program.uses.table(program.fn, program.own).splitlines() == [
        "  a            reads, writes, always; index 0 is thread 0",
        "  b            writes; index 0 is thread 0",
        "  pair.first   updates",
        "  pair.second  reads, updates, always",
    ]


def test_gradients_have_names_of_their_own():
    form = Form(FormKind.ADJOINT, frozenset({"a", "b"}))
    uses = some.program(tuple(some.patterns.values()), form=form).uses
    grads = {ref.name(["a", "b", "pair", "n"]): str(use) for ref, use in uses.items() if ref.is_grad}
    assert grads.keys() == {"a.grad", "b.grad"} and not uses.changed
