"""Which contents an adjoint asks for: those after the launch, those before it, or what atomics returned."""

import numpy as np
import pytest
from adjoint_runs import adjoint_program, check, some, types_of

import warpsim as wp
from warpsim.core.emit.program import Form, FormKind
from warpsim.core.ir.nodes import Call, walk
from warpsim.core.passes.reverse.extra_params import Before, Returned

D = wp.float64
Numbers, Ints = wp.array(dtype=D), wp.array(dtype=int)


@wp.kernel
def square(a: Numbers):
    i = wp.tid()
    a[i] = a[i] * a[i]


@wp.kernel
def doubled(a: Numbers):
    i = wp.tid()
    a[i] = a[i] * D(2.0)


@wp.kernel
def read_then_cleared(a: Numbers, b: Numbers):
    i = wp.tid()
    b[i] = a[i] * a[i]
    a[i] = D(1.0)


@wp.kernel
def products(a: Numbers, b: Numbers, n: int):
    for k in range(n):
        b[k + 1] = a[k] * b[k]


@wp.kernel
def prefix(a: Numbers, n: int):
    for k in range(1, n):
        a[k] = a[k] * a[k] + D(0.5) * a[k - 1] * a[k - 1]


@wp.kernel
def added_then_read(a: Numbers, b: Numbers):
    i = wp.tid()
    a[i] += b[i] * b[i]
    b[i] = a[i] * a[i]


@pytest.mark.parametrize(
    ("kernel", "args", "dim", "before"),
    [
        (square, [some(3)], 3, [0]),
        (doubled, [some(3)], 3, []),
        (read_then_cleared, [some(3), some(3)], 3, [0]),
        (products, [some(3), some(4), np.int32(3)], 1, []),
        (prefix, [some(5), np.int32(5)], 1, [0]),
        (added_then_read, [some(3), some(3, seed=1)], 3, [1]),
    ],
    ids=lambda v: getattr(v, "key", None),
)
def test_copies_from_before_only_where_they_are_needed(kernel, args, dim, before):
    arrays = [n for n, a in zip(kernel.patterns, args, strict=True) if isinstance(a, np.ndarray)]
    extras = adjoint_program(kernel, *arrays).extras
    assert [*extras] == [Before(k) for k in before]
    for out in arrays:
        check(kernel, dim, args, arrays, out)


@wp.kernel
def through_another_name(a: Numbers, b: Numbers, c: Numbers):
    i = wp.tid()
    b[i] = a[i] * D(3.0)
    c[i] = a[i] * a[i]


def test_one_array_under_two_names():
    """The second read sees what the store under the other name left."""
    names = ("a", "b", "c")
    assert not adjoint_program(through_another_name, *names).extras
    fn = adjoint_program(through_another_name, *names, same=((0, 1),)).fn
    loads = [n.args[0] for n in walk(fn.body) if isinstance(n, Call) and n.op.name == "load"]
    assert fn.params[0] in loads and fn.params[1] not in loads


@wp.kernel
def slots(counter: Ints, x: Numbers, y: Numbers):
    k = wp.atomic_add(counter, 0, 1)
    if k % 2 == 0:
        old = wp.atomic_max(counter, 1, k)
        y[old] = x[k] * x[k]


def test_returned_values_are_recorded_by_the_launch_and_read_by_the_reverse():
    types = types_of(slots)
    recording = slots.program(types, form=Form(FormKind.RECORDING))
    assert recording.extras == (Returned(0), Returned(1))
    stores = [n for n in walk(recording.fn.body) if isinstance(n, Call) and n.op.name == "store"]
    assert len(stores) == 3 and {s.args[0] for s in stores} >= set(recording.fn.params[-2:])
    reverse = adjoint_program(slots, "x", "y")
    assert reverse.extras == (Returned(0), Returned(1))


@wp.struct
class Holder:
    a: wp.array(dtype=wp.float64)


@wp.kernel
def in_a_struct(h: Holder):
    i = wp.tid()
    h.a[i] = h.a[i] * h.a[i]


def test_an_array_in_a_struct_comes_from_a_copy_of_the_struct():
    program = adjoint_program(in_a_struct, "h.a")
    assert program.extras == (Before(0),)
    assert program.fn.params[-1].type is Holder
