"""Rows that touch arrays: loads, stores, views, shapes, local arrays, and the duals of loads and stores."""

import numpy as np
import pytest
from memory_kernels import DEVICES, kernel, run
from reverse_walk import adjoint
from row_cases import Inner, Outer, compound_types, random_value
from row_devices import array_of

from warpsim.core.ir.builder import active_builder, constant
from warpsim.core.ops import load, memory, mul, registry, sin, store, view
from warpsim.core.ops.registry import TABLE
from warpsim.core.types import compounds, scalars, structs
from warpsim.core.types.arrays import array_type
from warpsim.core.types.scalars import bool_, float32, float64, int8, int32, int64, uint8, uint32, uint64
from warpsim.core.types.structs import numpy_dtype
from warpsim.errors import KernelTypeError, OutOfBoundsError

ELEMENTS = [*scalars.SCALARS, *compound_types(), compounds.vector(3, uint8), Inner, Outer]
field_view, component_view, gradient = TABLE["field_view"], TABLE["component_view"], TABLE["gradient"]
local_array, shape, has_gradient, is_none = (TABLE[n] for n in ("local_array", "shape", "has_gradient", "is_none"))


def filled(t, extents, seed=0):
    """Random memory of elements of type `t`."""
    rng = np.random.default_rng(seed)
    flat = [random_value(t, -9.0, 9.0, rng) for _ in range(int(np.prod(extents)))]
    layout = numpy_dtype(t)
    return array_of(flat, t).reshape((*extents, *layout.shape))


def blank(t, extents):
    return np.zeros(extents, numpy_dtype(t))


def ints(*values):
    return np.array(values, np.int32)


# ----- load and store -----------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_elements_of_every_type_are_copied_whole(device):
    types = [t for e in ELEMENTS for t in (array_type(e), array_type(e))]

    def body(i, *arrays):
        for source, target in zip(arrays[::2], arrays[1::2], strict=True):
            store(target, i, load(source, i))

    memories = [m for e in ELEMENTS for m in (filled(e, (11,)), blank(e, (11,)))]
    run(kernel(types, body), memories, 11, device)
    for e, source, target in zip(ELEMENTS, memories[::2], memories[1::2], strict=True):
        np.testing.assert_array_equal(target, source, err_msg=str(e))


@pytest.mark.parametrize("index", scalars.INTEGERS)
@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_any_integer_is_an_index(index, device):
    where = np.array([2, 0, 1], index)

    def body(i, at, source, target):
        store(target, load(at, i), load(source, load(at, i)) + load(source, i))

    source, target = np.array([1.0, 10.0, 100.0], np.float32), np.zeros(3, np.float32)
    run(kernel([array_type(index), array_type(float32), array_type(float32)], body), [where, source, target], 3, device)
    assert target.tolist() == [1.0 + 10.0, 10.0 + 100.0, 100.0 + 1.0]


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_every_rank_and_any_strides(rank, device):
    """The thread index is unravelled by hand; the source is transposed, the target has gaps."""
    extents = (3, 2, 4, 5)[:rank]
    t = compounds.vector(2, float32)
    source = filled(t, extents[::-1]).transpose(*range(rank)[::-1], rank)
    target = blank(t, tuple(2 * n for n in extents))[(slice(None, None, 2),) * rank]

    def body(i, a, b):
        at, rest = [], i
        for n in reversed(extents):
            at.insert(0, rest % n)
            rest = rest / n
        store(b, *at, load(a, *at))

    run(kernel([array_type(t, rank)] * 2, body), [source, target], int(np.prod(extents)), device)
    np.testing.assert_array_equal(target, source)


def test_the_interpreter_checks_every_axis():
    def body(i, at, a):
        store(a, load(at, 0), load(at, 1), 1.0)

    fn = kernel([array_type(int32), array_type(float32, 2)], body)
    a = np.zeros((2, 3), np.float32)
    run(fn, [ints(1, 2), a], 1, "interp")
    assert a[1, 2] == 1.0
    for bad, axis in (((2, 0), 0), ((-3, 0), 0), ((0, 3), 1), ((0, -4), 1)):
        with pytest.raises(OutOfBoundsError, match=rf"of a1 is outside axis {axis} of length {a.shape[axis]}"):
            run(fn, [ints(*bad), a], 1, "interp")


MISFITS = [(load, array_type(float32, 2), int32), (load, array_type(float32), float32), (load, float32, int32)]
MISFITS += [(store, array_type(float32), int32, float64), (store, array_type(int32), int32, registry.weak_type(1.5))]
MISFITS += [(view, array_type(float32), int32), (view, array_type(float32, 2), int32, int32)]
MISFITS += [(memory.atomic_add, array_type(Inner), int32, Inner)]
MISFITS += [(memory.atomic_and, array_type(float32), int32, float32)]
MISFITS += [(memory.atomic_add, array_type(bool_), int32, bool_), (component_view, array_type(float32), int32)]


@pytest.mark.parametrize("types", MISFITS, ids=str)
def test_what_does_not_fit_the_array_is_refused(types):
    operation, *rest = types
    with pytest.raises(KernelTypeError, match=f"{operation.name}: no overload for"):
        operation.find(rest, {})


# ----- views --------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_a_view_is_the_memory_itself(device):
    a = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
    want = a.copy()
    want[1, 2, :] += 100 * np.arange(4)

    def body(i, x):
        plane = view(x, 1)
        row = view(plane, i - i + 2)
        store(row, i, load(row, i) + 100.0 * TABLE["cast"](i, to=float64))
        store(view(x, 0, 0), 0, load(view(x, 0), 0, 0))

    run(kernel([array_type(float64, 3)], body), [a], 4, device)
    np.testing.assert_array_equal(a, want)


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_a_field_of_every_struct_is_an_array(device):
    a = filled(Outer, (5,))
    want = a.copy()
    want["inner"]["v"] *= 2
    want["n"] += 1

    def body(i, x):
        v = field_view(field_view(x, name="inner"), name="v")
        store(v, i, load(v, i) * 2.0)
        n = field_view(x, name="n")
        store(n, i, load(n, i) + 1)

    run(kernel([array_type(Outer)], body), [a], 5, device)
    np.testing.assert_array_equal(a, want)


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_a_component_of_every_element_is_an_array(device):
    v, m = filled(compounds.vector(3, float64), (4,)), filled(compounds.matrix((2, 3), float64), (4,))
    want_v, want_m = v.copy(), m.copy()
    want_v[:, 1] += 1
    want_m[:, 1] = want_m[:, 0] + v[:, :]
    want_m[:, 0, 2] = 7

    def body(i, x, y):
        store(component_view(y, 1), i, load(component_view(y, 0), i) + load(x, i))
        store(component_view(y, 0, 2), i, 7.0)
        middle = component_view(x, 1)
        store(middle, i, load(middle, i) + 1.0)

    types = [array_type(compounds.vector(3, float64)), array_type(compounds.matrix((2, 3), float64))]
    run(kernel(types, body), [v, m], 4, device)
    np.testing.assert_array_equal(v, want_v)
    np.testing.assert_array_equal(m, want_m)


@pytest.mark.parametrize("index", [int8, int32, int64, uint32, uint64])
@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_a_computed_component_counts_from_the_end_or_is_dropped(index, device):
    """An index outside must not reach another element's memory, nor another component."""
    reach = [0, 1, 2, 3, 100, np.iinfo(index).max] + ([-1, -3, -4, np.iinfo(index).min] if np.iinfo(index).min else [])
    inside = [k for k in reach if -3 <= k < 3]
    if device == "interp":
        for k in set(reach) - set(inside):
            with pytest.raises(OutOfBoundsError, match="component index"):
                run(*ones_at_components(index, [k]), 1, device)
        reach = inside
    fn, arguments = ones_at_components(index, reach)
    run(fn, arguments, len(reach), device)
    want = np.zeros((len(reach), 3), np.float32)
    for row, k in enumerate(reach):
        if k in inside:
            want[row, k] = 1.0
    np.testing.assert_array_equal(arguments[1], want)


def ones_at_components(index, at):
    """A kernel that writes a one to a component of each vector, and its arguments."""

    def body(i, at, x):
        store(component_view(x, load(at, i)), i, 1.0)

    types = [array_type(index), array_type(compounds.vector(3))]
    return kernel(types, body), [np.array(at, index), np.zeros((len(at), 3), np.float32)]


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_shape_is_the_extent_of_an_axis(device):
    def body(i, a, out):
        for axis in range(3):
            store(out, axis, shape(a, axis=axis))
        store(out, 3, shape(view(a, 0), axis=1))

    out = np.zeros(4, np.int32)
    run(kernel([array_type(float32, 3), array_type(int32)], body), [np.zeros((2, 5, 3), np.float32), out], 1, device)
    assert out.tolist() == [2, 5, 3, 3]


@structs.struct
class Reference:
    values: array_type(compounds.vector(2, float32), 2)
    at: int32


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.cpu(reason="addresses of the host lie in memory")
def test_an_array_in_a_struct_goes_through_memory(device):
    """A reference to an array is stored, loaded by the next kernel, and followed."""
    v = compounds.vector(2, float32)
    target, references = np.zeros((3, 8, 2), np.float32)[:, ::2], blank(Reference, (3,))

    def note(i, a, r):
        made = registry.emit(active_builder(), TABLE["construct"], (a, i), {"to": Reference})
        store(r, i, made)

    def use(i, r):
        found = load(r, i)
        store(TABLE["field"](found, name="values"), TABLE["field"](found, name="at"), 3, constant(v, v(1.0, 2.0)))

    run(kernel([array_type(v, 2), array_type(Reference)], note), [target, references], 3, device)
    run(kernel([array_type(Reference)], use), [references], 3, device)
    want = np.zeros((3, 4, 2))
    want[:, 3] = 1.0, 2.0
    np.testing.assert_array_equal(target, want)
    if device == "interp":
        references["at"] = 3
        with pytest.raises(OutOfBoundsError, match="array in a struct is outside axis 0 of length 3"):
            run(kernel([array_type(Reference)], use), [references], 1, device)


# ----- gradients of arrays ------------------------------------------------------------------


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_views_take_their_gradient_along(device):
    t = compounds.vector(3, float64)
    a, slopes = filled(t, (2, 4)), np.zeros((2, 4, 3))

    def body(i, x):
        row = gradient(view(x, 1))
        store(component_view(row, 2), i, 5.0)
        store(gradient(component_view(view(x, 0), 1)), i, 7.0)

    run(kernel([array_type(t, 2)], body), [a, slopes][:1], 4, device, {0: slopes})
    want = np.zeros((2, 4, 3))
    want[1, :, 2], want[0, :, 1] = 5.0, 7.0
    np.testing.assert_array_equal(slopes, want)
    np.testing.assert_array_equal(a, filled(t, (2, 4)))


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_fields_take_their_gradient_along(device):
    a, slopes = filled(Outer, (3,)), blank(Outer, (3,))

    def body(i, x):
        store(gradient(field_view(field_view(x, name="inner"), name="a")), i, 2.5)

    run(kernel([array_type(Outer)], body), [a], 3, device, {0: slopes})
    assert slopes["inner"]["a"].tolist() == [2.5] * 3
    assert not slopes["inner"]["v"].any() and not slopes["m"].any()


@pytest.mark.parametrize("device", DEVICES)
def test_has_gradient_tells_whether_there_is_one(device):
    """Views of an array with a gradient have one too."""

    def body(i, x, y, out):
        store(out, i, 0, has_gradient(x))
        store(out, i, 1, has_gradient(y))
        store(out, i, 2, has_gradient(view(x, i)))

    types = [array_type(float64, 2), array_type(float64), array_type(bool_, 2)]
    found = np.zeros((2, 3), np.bool_)
    run(kernel(types, body), [np.zeros((2, 3)), np.zeros(2), found], 2, device, {0: np.zeros((2, 3))})
    np.testing.assert_array_equal(found, [[True, False, True]] * 2)


@pytest.mark.parametrize("device", DEVICES)
def test_an_array_is_none_where_it_lies_at_no_address(device):
    def body(i, x, out):
        store(out, i, is_none(x))

    found = np.ones(2, np.bool_)
    run(kernel([array_type(float64), array_type(bool_)], body), [np.zeros(2), found], 2, device)
    assert not found.any()  # None itself is what launches pass, see tests/core/frontend/rules/test_none.py


def test_an_array_without_gradient_says_so():
    def body(i, x):
        store(gradient(x), i, 1.0)

    with pytest.raises(OutOfBoundsError, match="a0 has no gradient\nhelp: create it with requires_grad=True"):
        run(kernel([array_type(float32)], body), [np.zeros(1, np.float32)], 1, "interp")


# ----- local arrays -------------------------------------------------------------------------


def new_local_array(extents, element):
    # Without operands a call on the host and a traced one look alike: say that this one is traced.
    return registry.emit(active_builder(), local_array, (), {"shape": extents, "dtype": element})


ON_THE_STACK = [bool_, int8, float64, compounds.vector(3, float32), compounds.matrix((2, 3), float64), Outer]


@pytest.mark.parametrize("element", ON_THE_STACK)
@pytest.mark.parametrize("device", DEVICES)
def test_a_local_array_is_zero_for_every_thread_and_its_own(element, device):
    """Each thread copies what it finds, then leaves other values for the next one to stumble over."""
    extents = (3, 2)
    source = filled(element, extents)
    before, after = filled(element, (40, *extents), seed=5), blank(element, (40, *extents))

    def body(i, a, found, kept):
        mine = new_local_array(extents, element)
        for j, k in np.ndindex(extents):
            store(found, i, j, k, load(mine, j, k))
        for j, k in np.ndindex(extents):
            store(mine, j, k, load(a, j, k))
        for j, k in np.ndindex(extents):
            store(kept, i, j, k, load(view(mine, j), k))

    types = [array_type(element, 2), array_type(element, 3), array_type(element, 3)]
    run(kernel(types, body), [source, before, after], 40, device)
    np.testing.assert_array_equal(before, blank(element, (40, *extents)))
    np.testing.assert_array_equal(after, np.broadcast_to(source, after.shape))


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_local_arrays_take_computed_indices_and_atomics(device):
    def body(i, at, out):
        mine = new_local_array((4,), float32)
        for k in range(6):
            memory.atomic_add(mine, load(at, k), 1.5)
        store(out, i, load(mine, load(at, i)))

    at, out = ints(0, 3, 3, 1, 3, 0), np.zeros(6, np.float32)
    run(kernel([array_type(int32), array_type(float32)], body), [at, out], 6, device)
    assert out.tolist() == [3.0, 4.5, 4.5, 1.5, 4.5, 3.0]


# ----- duals --------------------------------------------------------------------------------


def slopes_of(types, body, memories, seeds, count, device):
    """Gradients after the reversed kernel, which starts from `seeds`."""
    gradients = {k: s.copy() for k, s in enumerate(seeds)}
    run(adjoint(kernel(types, body)), memories, count, device, gradients)
    return [gradients[k] for k in range(len(seeds))]


@pytest.mark.parametrize("device", DEVICES)
def test_a_load_adds_to_the_gradient_and_a_store_takes_from_it(device):
    """y[i] = x[j] sin(x[j]) with repeated j: the shares of one element add up, dy is used up."""
    types = [array_type(int32), array_type(float64), array_type(float64)]

    def body(i, at, x, y):
        value = load(x, load(at, i))
        store(y, i, mul(value, sin(value)))

    at, x, dy = ints(0, 2, 2, 1, 0), np.array([0.5, 1.5, -0.7]), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    seeds = [np.zeros(5, np.int32), np.array([10.0, 0.0, 0.0]), dy]
    _, dx, rest = slopes_of(types, body, [at, x, np.zeros(5)], seeds, 5, device)
    want = np.array([10.0, 0.0, 0.0])
    np.add.at(want, at, dy * (np.sin(x[at]) + x[at] * np.cos(x[at])))
    np.testing.assert_allclose(dx, want, rtol=1e-14)
    assert rest.tolist() == [0.0] * 5


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_gradients_flow_through_views_fields_and_components(device):
    types = [array_type(Outer, 2), array_type(compounds.matrix((2, 2), float64))]

    def body(i, x, y):
        row = view(x, 1)
        v = load(field_view(field_view(row, name="inner"), name="v"), i)
        store(component_view(y, 0, 1), i, mul(v[0], v[2]))
        store(component_view(y, 1, 0), i, load(field_view(row, name="x"), i))

    x, dy = filled(Outer, (2, 3)), filled(compounds.matrix((2, 2), float64), (3,))
    dx, rest = slopes_of(types, body, [x, np.zeros((3, 2, 2))], [blank(Outer, (2, 3)), dy], 3, device)
    v, want = x["inner"]["v"][1], np.zeros((2, 3, 3))
    want[1, :, 0], want[1, :, 2] = dy[:, 0, 1] * v[:, 2], dy[:, 0, 1] * v[:, 0]
    np.testing.assert_allclose(dx["inner"]["v"], want, rtol=1e-14)
    np.testing.assert_array_equal(dx["x"][1], dy[:, 1, 0])
    assert not dx["x"][0].any() and not dx["m"].any()
    assert not rest[:, 0, 1].any() and not rest[:, 1, 0].any()
    np.testing.assert_array_equal(rest[:, 0, 0], dy[:, 0, 0])


@structs.struct
class Placed:
    """Fields whose default value is not zero, and one that has no slope."""

    pose: compounds.transformation(float64)
    mass: float64 = 3.0
    index: int32 = 7


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_the_gradient_of_a_struct_moves_field_by_field(device):
    """Whatever the defaults of the struct are: a cleared gradient is zero."""
    types = [array_type(Placed), array_type(Placed)]

    def body(i, x, y):
        element = load(x, i)
        store(y, i, TABLE["with_field"](element, TABLE["field"](element, name="mass") * 2.0, name="mass"))

    x, dy = filled(Placed, (2,)), filled(Placed, (2,), seed=3)
    before = filled(Placed, (2,), seed=4)
    dx, rest = slopes_of(types, body, [x, x.copy()], [before, dy], 2, device)
    np.testing.assert_allclose(dx["mass"], before["mass"] + 2 * dy["mass"])
    np.testing.assert_allclose(dx["pose"], before["pose"] + dy["pose"])
    assert not rest["mass"].any() and not rest["pose"].any()
