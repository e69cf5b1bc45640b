"""Every row of the op table, walked: type rule, and value on the interpreter and the CPU.

The oracle is the row's own NumPy function. Rows with `ulps` 0 agree with it to the bit, at random
points of their domain and at special values: zeros of both signs, infinities, NaN, limits. What is
made of such rows alone agrees between interpreter and CPU to the bit as well. A new row gets its
tests by being in the table.
"""

from pathlib import Path

import numpy as np
import pytest
from row_cases import ALL, ELSEWHERE, match, random_operands, random_source, special_operands
from row_devices import batches, called, compiled_results, interpreted

from warpsim.core.ir.nodes import walk
from warpsim.core.ops.registry import TABLE, rows
from warpsim.core.types import compounds, structs
from warpsim.core.types.scalars import (
    bool_,
    float16,
    float32,
    float64,
    int32,
    uint8,
    uint32,
)
from warpsim.core.types.signatures import WEAK_FLOAT, WEAK_INT
from warpsim.errors import KernelTypeError

NAMES = sorted({case.row.name for case in ALL})
RANDOM_POINTS = 6
NODES = 200  # in one kernel: LLVM's time grows faster than the code


def cases_named(name):
    return [case for case in ALL if case.row.name == name]


# ----- the table ----------------------------------------------------------------------------


def test_every_row_is_tried_here_or_in_a_file_of_its_own():
    tried = {case.row for case in ALL}
    missing = [row.signature() for row in rows() if row not in tried and row.name not in ELSEWHERE]
    assert missing == []
    here = Path(__file__).parent
    for name, file in ELSEWHERE.items():
        assert name in TABLE, f"{name} has gone"
        assert name in (here / f"{file}.py").read_text(encoding="utf-8"), f"{file} does not test {name}"


def test_every_row_without_a_derivative_says_why():
    for row in rows():
        assert row.adjoint_rule or row.expansion or row.nondiff, row.signature()


def test_every_row_has_an_oracle():
    without = {row.name for row in rows() if row.numpy is None}
    assert without == {"tid", "block_dim"}, "the interpreter answers these two itself"


@pytest.mark.parametrize("name", NAMES)
def test_the_type_rule_accepts_its_types_and_gives_the_result(name):
    for case in cases_named(name):
        found = match(case)
        assert found is not None, case
        assert found.arg_types == case.types, case
        assert found.result_types == case.results, case
        assert TABLE[name].find(list(case.types), case.attributes).result_types == case.results, case


PAIRED = {case.row.name for case in ALL if case.types == (float32, float32) and not case.attributes}


@pytest.mark.parametrize("name", sorted(PAIRED))
def test_two_float_types_do_not_mix(name):
    for wrong in ([float32, float64], [float16, float32], [float64, int32], [bool_, float32]):
        with pytest.raises(KernelTypeError, match=f"{name}: no overload for"):
            TABLE[name].find(wrong)


@pytest.mark.parametrize(
    "types, wanted",
    [
        (("add", float64, WEAK_FLOAT), (float64, float64)),
        (("add", WEAK_INT, float16), (float16, float16)),
        (("mul", uint8, WEAK_INT), (uint8, uint8)),
        (("pow", WEAK_FLOAT, WEAK_FLOAT), (float32, float32)),
        (("sqrt", WEAK_INT), (float32,)),
        (("abs", WEAK_INT), (int32,)),
        (("mul", WEAK_FLOAT, compounds.vector(3, float64)), (float64, compounds.vector(3, float64))),
        (("clamp", float64, WEAK_INT, WEAK_FLOAT), (float64, float64, float64)),
        (("where", bool_, WEAK_INT, float64), (bool_, float64, float64)),
    ],
)
def test_a_literal_takes_the_type_of_what_it_meets(types, wanted):
    assert TABLE[types[0]].find(list(types[1:])).arg_types == wanted


@pytest.mark.parametrize("types", [
    ("add", int32, WEAK_FLOAT), ("mul", compounds.vector(3, int32), WEAK_FLOAT), ("bit_and", int32, WEAK_FLOAT),
    ("where", bool_, int32, WEAK_FLOAT), ("add", bool_, bool_), ("add", compounds.vector(2), compounds.vector(3)),
    ("mul", compounds.matrix((2, 3)), compounds.matrix((2, 3))), ("determinant", compounds.matrix((2, 3))),
    ("dot", compounds.vector(3, float32), compounds.vector(3, float64)), ("inverse", compounds.matrix((5, 5))),
    ("cross", compounds.vector(2), compounds.vector(2)), ("mul", compounds.quaternion(), compounds.vector(3)),
    ("lshift", float32, int32),
    ("unot", compounds.vector(3)), ("lt", bool_, bool_), ("extract", compounds.vector(3), float32), ("sin", int32),
])  # fmt: skip
def test_what_does_not_fit_is_refused(types):
    with pytest.raises(KernelTypeError, match=f"{types[0]}: no overload for"):
        TABLE[types[0]].find(list(types[1:]), {})


# ----- values -------------------------------------------------------------------------------


def points_of(case):
    """Random points, then special ones; the same in every run."""
    rng = random_source(case)
    return [random_operands(case, rng) for _ in range(RANDOM_POINTS)], special_operands(case, rng)


def leaves(value, t):
    """The scalars of a value: of the interpreter's, or of an element of memory."""
    if structs.is_struct(t):
        return np.concatenate([leaves(value[name], f) for name, f in t.fields.items()])
    flat = np.ravel(np.asarray(value))
    return flat.astype(np.float64) if flat.dtype.kind == "b" else flat


def same_bits(a, b):
    """Equal numbers with equal signs, or NaN both."""
    return ((a == b) & (np.signbit(a) == np.signbit(b))) | ((a != a) & (b != b))


def distance(case, operands, want, got):
    """The largest difference in units in the last place.

    Of the result itself for a primitive row; expansions with `ulps` cancel, and are measured at the
    largest number in play, where everything is finite.
    """
    with np.errstate(all="ignore"):
        if np.all(same_bits(want, got)):
            return 0.0
        if want.dtype.kind != "f":
            return np.inf
        size = np.abs(want)
        if case.row.expansion and case.row.ulps:
            numbers = [leaves(o, t).astype(np.float64) for o, t in zip(operands, case.types, strict=True)]
            everything = np.abs(np.concatenate([want, got, *numbers]))
            if compounds.is_compound(case.types[0]) and not np.all(np.isfinite(everything)):
                return 0.0
            size = np.full_like(want, np.max(everything))
        gap = np.abs(want.astype(np.longdouble) - got.astype(np.longdouble)) / np.spacing(size)
        gap = np.where(same_bits(want, got), 0, np.where(np.isfinite(want) & np.isfinite(got), gap, np.inf))
        return float(np.max(gap))


def is_exact(fn):
    """Whether interpreter and CPU must agree to the bit."""
    return all(node.op.ulps == 0 for node in walk(fn.body))


def compare(case, fn, operands, compiled):
    """Failures at one point, as text."""
    wrong = []
    want = case.row.evaluate(list(operands), case.results, case.attributes)
    with np.errstate(all="ignore"):
        run = interpreted(fn, operands) if case.row.expansion else want
    for t, wanted, simulated, element in zip(case.results, want, run, compiled, strict=True):
        a, b, c = leaves(wanted, t), leaves(simulated, t), leaves(element, t)
        for device, found in (("interp", b), ("cpu", c)):
            if found.dtype != a.dtype:
                wrong.append(f"{case} on {device} gives {found.dtype}, not {a.dtype}")
            elif not distance(case, operands, a, found) <= case.row.ulps:
                wrong.append(f"{case} at {operands}: {device} gives {found}, the oracle {a}")
        if is_exact(fn) and not np.all(same_bits(b, c)):
            wrong.append(f"{case} at {operands}: interp {b}, cpu {c}")
    return wrong


def check(cases, points, optimized):
    wrong = []
    functions = [called(case) for case in cases]
    for group in batches(functions, NODES):
        found = compiled_results([functions[k] for k in group], [points[k] for k in group], optimized)
        for k, results in zip(group, found, strict=True):
            for at, operands in enumerate(points[k]):
                wrong += compare(cases[k], functions[k], operands, [r[at] for r in results])
    assert wrong == [], "\n".join(wrong[:10])


@pytest.mark.parametrize("name", NAMES)
def test_the_value_is_the_oracles(name):
    cases = cases_named(name)
    check(cases, [[*a, *b] for a, b in map(points_of, cases)], optimized=False)


def is_typical(case):
    """On the types that most kernels use; library functions also in float64."""
    known = (float32, float64) if case.row.value and case.row.ulps else (float32, int32, uint32, bool_)
    flat = all(compounds.scalar_of(t) in known for t in (*case.types, *case.results))
    return flat and all(compounds.size_of(t) in (1, 3, 4, 9) for t in case.types)


TYPICAL = [case for case in ALL if is_typical(case)]


@pytest.mark.parametrize("name", sorted({case.row.name for case in TYPICAL}))
def test_optimised_code_gives_the_same(name):
    """The whole pipeline of LLVM. Kernels of library functions are small: those it vectorises."""
    cases = [case for case in TYPICAL if case.row.name == name]
    points = []
    for case in cases:
        rng = random_source(case)
        points.append([random_operands(case, rng) for _ in range(37)] + special_operands(case, rng))
    check(cases, points, optimized=True)
