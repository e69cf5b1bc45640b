"""Which indices are known not to be negative: read off small kernels, statement by statement."""

import linecache

import pytest
from pass_runs import lowered, nodes

import warpsim as wp
from warpsim.core.ir.nodes import Call
from warpsim.core.passes.analysis.ranges import Ranges
from warpsim.core.passes.simplify.dce import dce
from warpsim.core.passes.simplify.fold import fold
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.types.arrays import ArrayType

# Statements around `x[e]`, where no index is ever negative.
NEVER = r"""
a = x[i]
a = x[i + 1]
a = x[3]
a = x[i * 4 + 3]
a = x[i * x.shape[0] + j]
a = x[n & 7]
a = x[i % n]
a = x[(i + 3) // 2]
a = x[i >> 1]
a = x[i << 2]
a = x[wp.max(n, 0)]
a = x[wp.clamp(n, 0, 4)]
a = x[wp.min(i, x.shape[0])]
a = x[wp.int32(wp.uint8(n))]
a = x[wp.int32(u[0] >> wp.uint32(4))]
a = x[u[0]]
a = x[wp.uint64(n)]
a = x[wp.int64(i) + wp.int64(1)]
a = x[int(wp.abs(f))]
a = x[int(wp.clamp(wp.floor(f), 0.0, 4.0))]
a = x[i - 1 if i > 0 else 0]
a = x[wp.where(i > 0, i - 1, i)]
a = x[wp.where(n < 0, 0, n)]
if n >= 0: a = x[n]
if n > 0: a = x[n - 1]
if n >= 0 and n != 0: a = x[n - 1]
if i != 0: a = x[i - 1]
if not n < 0: a = x[n]
if n > 2 and m > n: a = x[m - 3]
if n < 0 or m < 0: return\n    a = x[n] + x[m]
if i == 0 or i >= x.shape[0] - 1: return\n    a = x[i - 1]
if i - 1 >= 0: a = x[i - 1]
k = i - 1\n    if i >= 1: a = x[k]
if n == i: a = x[n]
if f >= 0.0: a = x[int(f)]
assert n >= 0\n    a = x[n]
for k in range(n): a = x[k]
for k in range(1, n): a = x[k - 1]
for k in range(n, -1, -1): a = x[k]
for k in range(i, n): a = x[k]
k = 0\n    while k < n:\n        a = x[k]\n        k += 2
k = 5\n    while k > 0:\n        a = x[k - 1]\n        k -= 1
k = 0\n    for _ in range(n):\n        a = x[k]\n        k = k + i
k = 3\n    while True:\n        k -= 1\n        if k < 0:\n            break\n        a = x[k]
""".strip().splitlines()

# And here it may be.
SOMETIMES = r"""
a = x[-1]
a = x[i - 1]
a = x[n]
a = x[i + n]
a = x[-i]
a = x[t[0]]
a = x[n % 7]
a = x[i * 73856093]
a = x[wp.abs(n)]
a = x[(i * 73856093) % n]
a = x[wp.int32(u[0])]
a = x[wp.int32(wp.uint32(i) - wp.uint32(1))]
a = x[wp.int32(wp.int8(i))]
a = x[int(f)]
a = x[x.shape[0] - 1 - i]
a = x[wp.min(n, 5)]
if n < 0: a = x[n]
if n >= 0 or m >= 0: a = x[n]
if n >= 0: a = 1.0\n    a = x[n]
if i >= 0: a = x[i - 1]
if n != 0: a = x[n]
for k in range(n, 5): a = x[k]
for k in range(-1, 5): a = x[k]
for k in range(1, n): a = x[k - 2]
for k in range(n, -2, -1): a = x[k]
k = 3\n    for _ in range(n):\n        a = x[k]\n        k -= 1
k = 1\n    for _ in range(n):\n        a = x[k]\n        k = k * 31 + 7
k = 0\n    while k < n:\n        a = x[k]\n        k += m
""".strip().splitlines()


def indices(statement):
    """Whether each index of `x` in a statement may count from the end."""
    text = (
        "def program(x: wp.array(dtype=float), t: wp.array(dtype=int), u: wp.array(dtype=wp.uint32), n: int, m: int, "
        "f: float, y: wp.array2d(dtype=float)):\n    i, j = wp.tid()\n    a = float(0.0)\n"
        f"    {statement.replace(chr(92) + 'n', chr(10))}\n    y[i, j] = a\n"
    )
    scope = written(text)
    fn = dce(fold(inline(lowered(wp.kernel(scope["program"], module="unique")))))
    ranges, x = Ranges(fn), fn.params[0]
    loads = [c for c in nodes(fn, Call) if c.op.name == "load" and c.args[0] is x]
    assert loads
    return [ranges.may_count_back(c, 1) for c in loads]


def written(text):
    name = f"<ranges {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"wp": wp}
    exec(compile(text, name, "exec"), scope)
    return scope


@pytest.mark.parametrize("statement", NEVER)
def test_never_negative(statement):
    assert not any(indices(statement))


@pytest.mark.parametrize("statement", SOMETIMES)
def test_perhaps_negative(statement):
    assert any(indices(statement))


def test_an_index_made_outside_of_a_loop_is_steady():
    @wp.kernel
    def program(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
        k = n - 1
        for j in range(n):
            y[j] = x[k] + x[j - n]

    fn = dce(fold(inline(lowered(program))))
    ranges = Ranges(fn)
    loads = [c for c in nodes(fn, Call) if c.op.name == "load" and isinstance(c.args[0].type, ArrayType)]
    assert [ranges.is_steady(c, 1) for c in loads] == [True, False]
