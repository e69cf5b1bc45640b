"""Every row of the op table compiles for CUDA in every scalar type: rows stay portable.

For each scalar type one kernel computes `out[k, i] = row k(in[0, i], in[1, i], ...)` for every
overload that the type has, so that a row which NVVM refuses cannot hide.
"""

import itertools

import pytest

from warpsim.core.emit.cuda import cuda, tools
from warpsim.core.emit.target import Options
from warpsim.core.ir.builder import Builder, constant
from warpsim.core.ir.nodes import Function, Region, Value
from warpsim.core.ops.registry import PURE, TABLE, emit
from warpsim.core.passes.analysis.atomics import analyse
from warpsim.core.passes.simplify.dce import dce
from warpsim.core.passes.simplify.fold import fold
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.passes.simplify.unroll import unroll
from warpsim.core.types import compounds, scalars
from warpsim.core.types.arrays import array_type
from warpsim.errors import CompilerError

pytestmark = pytest.mark.skipif(bool(tools.missing()), reason=f"without {', '.join(tools.missing())}")

DIALECTS = ((9, 0), (12, 0))  # NVVM reads an old dialect of LLVM below 10.0, and a recent one from there on
ASSEMBLED = (scalars.float16, scalars.float32, scalars.uint64)  # of one width each; it takes as long as compiling

# Rows that act on memory, threads or output, or need attributes: kernels of the corpus and tests below use them.
ELSEWHERE = {"construct", "field", "with_field", "cast", "reinterpret", "printf", "assert", "breakpoint", "load"}
ELSEWHERE |= {"store", "view", "field_view", "component_view", "gradient", "has_gradient", "is_none", "shape"}
ELSEWHERE |= {"local_array", "resolve", "atomic_add", "atomic_sub", "atomic_min", "atomic_max", "atomic_exch"}
ELSEWHERE |= {"atomic_cas", "atomic_and", "atomic_or", "atomic_xor", "tid", "block_dim"}


def operands(dtype):
    """Types over one scalar type, and those that go with any: an index and a condition."""
    found = [dtype, compounds.vector(3, dtype), *(compounds.matrix((n, n), dtype) for n in (3, 2, 4))]
    if scalars.is_float(dtype):
        found += [compounds.quaternion(dtype), compounds.transformation(dtype)]
    return found + [t for t in (scalars.int32, scalars.bool_) if t is not dtype]


def overloads(dtype):
    """(row, operand types, result types) of everything that takes operands of this scalar type."""
    for operation in TABLE.values():
        for row in operation.rows:
            if row.effect != PURE or row.name in ELSEWHERE:
                continue
            for count in (1, 2, 3):
                for types in itertools.product(operands(dtype), repeat=count):
                    found = row.match(list(types), {})
                    if found is not None and tuple(found.arg_types) == types:
                        yield row, types, found.result_types


def kernel(cases):
    """A program that computes every case from its own inputs into its own outputs."""
    params = {}

    def memory(kind, t):
        return params.setdefault((kind, t), Value(array_type(t, 2), f"{kind}_{t.__name__}"))

    region = Region()
    with Builder(region).active() as builder:
        i = emit(builder, TABLE["tid"], (), {"ndim": 1})
        for k, (row, types, results, *attributes) in enumerate(cases):
            loads = [(memory("in", t), constant(scalars.int32, j), i) for j, t in enumerate(types)]
            args = tuple(emit(builder, TABLE["load"], load) for load in loads)
            made = builder.call(row, args, results, attributes[0] if attributes else {})
            for value, t in zip(made if isinstance(made, tuple) else (made,), results, strict=True):
                emit(builder, TABLE["store"], (memory("out", t), constant(scalars.int32, k), i, value))
        region.params = tuple(params.values())
        return dce(fold(unroll(inline(Function("rows", region)), 16)))


def compiled(cases, arch=(9, 0)):
    """The PTX of all cases in one kernel; when NVVM refuses it, the error names the rows at fault."""
    fn = kernel(cases)
    try:
        return cuda.emit(fn, 1, Options(), analyse(fn), arch=arch)
    except CompilerError:
        assert [_describe(case) for case in cases if _refused(case, arch)] == []
        raise  # only all rows together are refused


def _refused(case, arch):
    fn = kernel([case])
    try:
        cuda.emit(fn, 1, Options(), analyse(fn), arch=arch)
    except CompilerError:
        return True
    return False


def _describe(case):
    return f"{case[0].name}({', '.join(t.__name__ for t in case[1])})"


def shared_out(dtypes):
    """Scalar types with a dialect: each with one of them every day, with the other at night."""
    for k, dtype in enumerate(dtypes):
        for n, arch in enumerate(DIALECTS):
            marks = [pytest.mark.nightly] if (k + n) % 2 else []
            yield pytest.param(dtype, arch, marks=marks, id=f"{dtype.__name__}-{arch}")


@pytest.mark.parametrize(("dtype", "arch"), list(shared_out(scalars.NUMBERS)))
def test_every_row_compiles(dtype, arch):
    cases = list(overloads(dtype))
    assert len(cases) > 60
    made = compiled(cases, arch)
    if dtype in ASSEMBLED:
        assert cuda.assemble(made.ptx, arch).startswith(b"\x7fELF")
    stored = sum("st.global" in line for line in made.ptx.splitlines())
    assert stored >= len(cases), "every case has an effect"


def test_no_row_was_left_out():
    tried = {row for dtype in scalars.NUMBERS for row, *_ in overloads(dtype)}
    missing = {row.name for operation in TABLE.values() for row in operation.rows if row not in tried}
    assert missing <= ELSEWHERE


@pytest.mark.parametrize("arch", DIALECTS, ids=str)
def test_every_conversion_compiles(arch):
    cast = TABLE["cast"].rows[0]
    pairs = [(a, b) for a in scalars.SCALARS for b in scalars.SCALARS if a is not b]
    assert len(pairs) == 132
    compiled([(cast, (a,), (b,), {"to": b}) for a, b in pairs], arch)


def test_a_refused_row_is_named(monkeypatch):
    [row] = [row for row in TABLE["neg"].rows if row.value]
    monkeypatch.setattr(row, "value", lambda target, call, args: [target.builder.fneg(x) for x in args[0]])
    vec3 = compounds.vector(3, scalars.float32)
    with pytest.raises(AssertionError, match=r"neg\(vec3f\)"):
        compiled([(row, (vec3,), (vec3,))])
