"""Corpus kernels made per scalar type: atomics, scalar functions, conversions.

Annotations here are not postponed: they name variables of the function that makes the kernel.
"""

from typing import Any

import numpy as np
from corpus_entry import N, add, numbers

import warpsim as wp

# ----- atomics ------------------------------------------------------------------------------


def float_atomics(dtype: type) -> None:
    """Every atomic on floats, with signs and zeros on both sides."""

    def body(a: wp.array(dtype=dtype), x: wp.array(dtype=dtype), old: wp.array2d(dtype=dtype)):
        i = wp.tid()
        old[i, 0] = wp.atomic_add(a, 0, x[i])
        old[i, 1] = wp.atomic_sub(a, 1, x[i])
        old[i, 2] = wp.atomic_min(a, 2 + i % 3, x[i])
        old[i, 3] = wp.atomic_max(a, 5 + i % 3, x[i])
        old[i, 4] = wp.atomic_exch(a, 8, x[i])
        old[i, 5] = wp.atomic_cas(a, 9, a[9], x[i])
        old[i, 6] = wp.atomic_cas(a, 10, dtype(0.5), x[i])
        wp.atomic_add(a, 11, x[i])

    def arguments(r: np.random.Generator) -> list[Any]:
        cells = np.array([1.5, -2.0, 9.0, -9.0, -0.0, 9.0, -9.0, -12.0, 7.0, 8.0, 0.5, 0.25])
        values = r.uniform(-12, 12, N)
        values[::5] = [0.0, -0.0, 30.0, -30.0, 1e-3]
        values[2] = -11.0  # the cell that meets -0.0 next is negative
        return [wp.array(cells, dtype=dtype), wp.array(values, dtype=dtype), wp.zeros((N, 7), dtype=dtype)]

    add(wp.kernel(body, name=f"atomics_{dtype.__name__}"), N, arguments, ordered=True)


def integer_atomics(dtype: type) -> None:
    """Every atomic on integers; additions wrap."""

    def body(
        a: wp.array(dtype=dtype), b: wp.array(dtype=dtype), x: wp.array(dtype=dtype), old: wp.array2d(dtype=dtype)
    ):
        i = wp.tid()
        wp.atomic_add(a, 0, x[i])
        wp.atomic_sub(a, 1, x[i])
        wp.atomic_and(a, 2, x[i] | ~x[0])
        wp.atomic_or(a, 3, x[i])
        wp.atomic_xor(a, 4, x[i])
        wp.atomic_exch(a, 5, x[i])
        old[i, 0] = wp.atomic_min(b, i % 4, x[i])
        old[i, 1] = wp.atomic_max(b, 4 + i % 4, x[i])
        old[i, 2] = wp.atomic_cas(a, 6, a[6], x[i])

    low = -100 if np.issubdtype(dtype, np.signedinteger) else 0

    def arguments(r: np.random.Generator) -> list[Any]:
        cells = [numbers(r, 9, dtype, low, 100) for _ in range(2)]
        return [*cells, numbers(r, N, dtype, low, 120), wp.zeros((N, 3), dtype=dtype)]

    add(wp.kernel(body, name=f"atomics_{dtype.__name__}"), N, arguments, ordered=True)


FLOATS = (wp.float16, wp.float32, wp.float64)
INTEGERS = (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64)

for _dtype in FLOATS:
    float_atomics(_dtype)
for _dtype in INTEGERS:
    integer_atomics(_dtype)

# ----- mathematics --------------------------------------------------------------------------


@wp.func
def for_each_function(x: wp.Float, out: wp.array(dtype=wp.Float)):
    out[0] = wp.sqrt(x)
    out[1] = wp.cbrt(x)
    out[2] = wp.exp(x)
    out[3] = wp.log(x)
    out[4] = wp.log2(x)
    out[5] = wp.log10(x)
    out[6] = wp.pow(x, x)
    out[7] = wp.sin(x)
    out[8] = wp.cos(x)
    out[9] = wp.tan(x)
    out[10] = wp.asin(x)
    out[11] = wp.acos(x)
    out[12] = wp.atan(x)
    out[13] = wp.atan2(x, x + x)
    out[14] = wp.sinh(x)
    out[15] = wp.cosh(x)
    out[16] = wp.tanh(x)
    out[17] = wp.erf(x)
    out[18] = wp.erfc(x)
    out[19] = wp.floor(x * x) + wp.ceil(x)
    out[20] = wp.trunc(x + x)
    out[21] = wp.rint(x * 5.0)
    out[22] = wp.round(x * 5.0)
    out[23] = wp.abs(-x)
    out[24] = wp.copysign(x, -x)
    out[25] = (x * 7.0) % (x * x)
    out[26] = wp.smoothstep(x, x + 1.0, x + 0.3)


def mathematics(dtype: type) -> None:
    """Every scalar function in one precision."""

    def body(x: wp.array(dtype=dtype), out: wp.array2d(dtype=dtype)):
        i = wp.tid()
        for_each_function(x[i], out[i])

    rtol = {wp.float16: 2e-3, wp.float32: 1e-6, wp.float64: 1e-13}[dtype]
    add(
        wp.kernel(body, name=f"mathematics_{dtype.__name__}"),
        N,
        lambda r: [numbers(r, N, dtype, 0.1, 0.9), wp.zeros((N, 27), dtype=dtype)],
        rtol=rtol,
    )


EDGES = (0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 126.9, 127.5, -128.9, 200.0, 255.9, 256.0, 40000.0, 65536.5, -65536.5, 3e9)
EDGES += (-3e9, 5e9, 1e19, -1e19, 2e19, 1e30, -1e30, np.inf, -np.inf, np.nan)


def conversions(dtype: type) -> None:
    """A float of one precision to every integer type, at the edges of all of them."""

    def body(
        x: wp.array(dtype=dtype),
        i8: wp.array(dtype=wp.int8),
        u8: wp.array(dtype=wp.uint8),
        i16: wp.array(dtype=wp.int16),
        u16: wp.array(dtype=wp.uint16),
        i32: wp.array(dtype=wp.int32),
        u32: wp.array(dtype=wp.uint32),
        i64: wp.array(dtype=wp.int64),
        u64: wp.array(dtype=wp.uint64),
    ):
        i = wp.tid()
        i8[i] = wp.int8(x[i])
        u8[i] = wp.uint8(x[i])
        i16[i] = wp.int16(x[i])
        u16[i] = wp.uint16(x[i])
        i32[i] = wp.int32(x[i])
        u32[i] = wp.uint32(x[i])
        i64[i] = wp.int64(x[i])
        u64[i] = wp.uint64(x[i])

    def arguments(r: np.random.Generator) -> list[Any]:
        with np.errstate(over="ignore"):
            edges = np.array(EDGES).astype(dtype)
        return [wp.array(edges, dtype=dtype), *(wp.zeros(len(EDGES), dtype=t) for t in INTEGERS)]

    add(wp.kernel(body, name=f"conversions_{dtype.__name__}"), len(EDGES), arguments)


for _dtype in FLOATS:
    mathematics(_dtype)
    conversions(_dtype)
