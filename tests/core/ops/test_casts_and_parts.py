"""Conversions that round or saturate, and parts at constant indices: where one random point says little."""

import numpy as np
import pytest
from memory_kernels import kernel, run
from row_cases import special_values

from warpsim.core.ir.builder import Builder, constant
from warpsim.core.ir.nodes import Constant, Function, Region, Value
from warpsim.core.ops import construct, extract, identity, insert, load, matrix, store, vector
from warpsim.core.ops.choice import cast, cast_oracle
from warpsim.core.passes.simplify.fold import fold
from warpsim.core.types import compounds, scalars
from warpsim.core.types.arrays import array_type
from warpsim.core.types.scalars import float16, float32, float64, int8, int32, int64, uint8, uint64
from warpsim.errors import OutOfBoundsError


def converted(values, to, device):
    source, target = np.asarray(values), np.zeros(len(values), to)
    types = [array_type(source.dtype.type), array_type(to)]
    run(kernel(types, lambda i, a, b: store(b, i, cast(load(a, i), to=to))), [source, target], len(source), device)
    return target


def all_halves():
    return np.arange(2**16, dtype=np.uint16).view(float16)


@pytest.mark.parametrize("nudge", [0.0, 1e-13, -1e-13], ids=["tie", "above", "below"])
def test_float64_rounds_to_float16_once(nudge):
    """Midpoints of neighbouring halves, and points so near them that float32 takes them for the midpoint."""
    halves = np.sort(all_halves()[np.isfinite(all_halves())].astype(np.float64))
    middle = (halves[:-1] + halves[1:]) / 2 * (1 + nudge)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(converted(middle, float16, "cpu"), middle.astype(float16))


def test_float64_beyond_float16():
    far = np.array([65519.99, 65520.0, 1e5, 1e39, 1e308, np.inf, np.nan, 1e-8, 2.9e-8, 3e-8, 1e-40, 1e-320])
    both = np.concatenate([far, -far])
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_array_equal(converted(both, float16, "cpu"), both.astype(float16))


@pytest.mark.parametrize("source", scalars.FLOATS)
@pytest.mark.parametrize("to", scalars.INTEGERS)
def test_floats_saturate_at_the_limits_of_integers(source, to):
    info = np.iinfo(to)
    with np.errstate(over="ignore"):
        limits = np.array([info.max, info.min], source)
    near = [np.nextafter(x, source(y)) for x in limits for y in (-np.inf, np.inf)]
    values = np.array([*limits, *near, *special_values(source), 1.9, -1.9, 254.5, -0.9], source)
    want = np.array([cast_oracle(v, to) for v in values])
    np.testing.assert_array_equal(converted(values, to, "cpu"), want)
    wide = np.clip(np.nan_to_num(values.astype(float)), -1e30, 1e30)
    assert want.tolist() == [min(max(int(v), info.min), info.max) for v in wide]


@pytest.mark.parametrize("to", [int8, uint8, int32, uint64])
def test_integers_wrap(to):
    values = np.array([0, 1, 127, 128, 255, 256, -1, -128, -129, 2**31, -(2**31) - 1, 2**62], int64)
    for device in ("interp", "cpu"):
        np.testing.assert_array_equal(converted(values, to, device), values.astype(to))


@pytest.mark.parametrize("source", scalars.NUMBERS)
def test_every_number_but_zero_is_true(source):
    values = np.array(special_values(source), source)
    for device in ("interp", "cpu"):
        np.testing.assert_array_equal(converted(values, scalars.bool_, device), values != 0)


# ----- parts at constant indices ------------------------------------------------------------

M = compounds.matrix((2, 3), float64)
GRID = np.arange(6.0).reshape(2, 3)


PLACES = [((0, 0), (0, 0)), ((1, 2), (1, 2)), ((-1, -1), (1, 2)), ((-2, -3), (0, 0)), ((1,), (1,)), ((-1,), (1,))]
PLACES += [((5, 1), None), ((0, 7), None), ((-9, 1), None), ((0, -9), None), ((4,), None), ((-7,), None)]


@pytest.mark.parametrize("at, want", PLACES)
@pytest.mark.parametrize("device", ["interp", "cpu", "folded"])
def test_constant_indices_mean_what_computed_ones_do(at, want, device):
    """Negative ones count from the end. Outside, in code that nobody refused, is NaN to read and nothing to write."""
    part = float64 if len(at) == 2 else compounds.vector(3, float64)
    if device == "folded":
        body = Region()
        with Builder(body).active():
            # A constant is no traced value: the call is appended as the front end would.
            row = extract.rows[0]
            operands = (constant(M, M.wrap(GRID)), *(constant(int32, i) for i in at))
            body.yields = (Builder(body).call(row, operands, (part,)),)
        [found] = fold(Function("f", body)).body.yields
        assert isinstance(found, Constant) == (want is not None)
        if want is None:
            return
        np.testing.assert_array_equal(np.asarray(found.value), GRID[want])
        return

    def kernel_body(i, a, out, changed):
        store(out, i, extract(load(a, i), *at))
        store(changed, i, insert(load(a, i), *at, extract(load(a, i), 0) if len(at) == 1 else constant(float64, 99.0)))

    out, changed = np.zeros((1, 3) if len(at) == 1 else 1), np.zeros((1, 2, 3))
    types = [array_type(t) for t in (M, part, M)]
    if want is None and device == "interp":
        with pytest.raises(OutOfBoundsError, match="component index"):
            run(kernel(types, kernel_body), [GRID[None].copy(), out, changed], 1, device)
        return
    run(kernel(types, kernel_body), [GRID[None].copy(), out, changed], 1, device)
    expected = GRID.copy()
    if want is None:
        assert np.isnan(out).all()
        np.testing.assert_array_equal(changed[0], expected)
        return
    np.testing.assert_array_equal(out[0], GRID[want])
    expected[want] = GRID[0] if len(at) == 1 else 99.0
    np.testing.assert_array_equal(changed[0], expected)


# ----- constructors that choose the type ----------------------------------------------------


def test_constructors_on_the_host_make_host_values():
    assert vector(1.0, 2.0, 3.0) == compounds.vector(3)(1, 2, 3)
    assert vector(2.0, length=3, dtype=float64) == compounds.vector(3, float64)(2, 2, 2)
    assert matrix(1.0, 2.0, 3.0, 4.0) == compounds.matrix((2, 2))(1, 2, 3, 4)
    assert identity(3, dtype=float64) == compounds.matrix((3, 3), float64)(1, 0, 0, 0, 1, 0, 0, 0, 1)


@pytest.mark.parametrize("dtype", [float16, float32, float64])
def test_constructors_while_tracing_append_a_construct(dtype):
    x = Value(compounds.vector(2, dtype))
    body = Region((x,))
    with Builder(body).active():
        made = vector(x, x[0])
    assert made.type is compounds.vector(3, dtype)
    assert body.nodes[-1].op is construct.construct.rows[0]
