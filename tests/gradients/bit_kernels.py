"""Kernels that decide by computed values, and what shows whether their adjoints decide in the same way.

A kernel computes values `v[k]` from `x` and `y` and compares each, bit for bit, with what the same kernel
computed in a launch before, `held`. Where they agree it passes `z` on: to an output, or by the number of
rounds of a loop. So the gradient of `z` says what the adjoint saw: 1 where its values had the same bits.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from grammar.writer import Writer, seeded
from kernel_text import module

import warpsim as wp

NAMES = {"f16": wp.float16, "f32": wp.float32, "f64": wp.float64}


class Expressions(Writer):
    """Expressions of numbers `a` and `b` of type T."""

    FORMS: ClassVar = {"f": (
        "wp.sin({f})", "wp.cos({f})", "wp.exp(-wp.abs({f}))", "wp.log(wp.abs({f}) + T(0.5))", "wp.tanh({f})",
        "wp.atan({f})", "wp.sqrt(wp.abs({f}))", "wp.tan(wp.sin({f}))", "wp.erf({f})", "wp.cbrt({f})", "{f} ** T(2.0)",
        "wp.abs({f}) ** T(0.5)", "wp.pow(wp.abs({f}) + T(0.1), T(1.7))", "wp.sinh(wp.sin({f}))",
        "wp.acos(wp.sin({f}))", "wp.length(wp.types.vector(length=3, dtype=T)({f}, T(0.3), T(-0.2)))",
        *("{f} {:+ - *} {f}", "{f} / (wp.abs({f}) + T(0.25))", "wp.min({f}, {f})", "wp.atan2({f}, {f})") * 2,
        "wp.lerp({f}, {f}, T(0.3))", "wp.mod({f}, wp.abs({f}) + T(0.5))", "(wp.abs({f}) + T(0.1)) ** ({f})",
    )}  # fmt: skip

    def leaf(self, t):
        return self.pick("a", "b", "T(0.7)", "T(-1.3)", "a", "b")


def expressions(seed, count=5, depth=4):
    writer = Expressions(seeded(seed))
    return [writer.expr("f", depth) for _ in range(count)]


_PARAMETERS = """
@wp.kernel(fast_math={fast})
def same(
    x: wp.array(dtype=T), y: wp.array(dtype=T), z: wp.array2d(dtype=T), held: wp.array2d(dtype=T),
    seen: wp.array2d(dtype=T), out: wp.array2d(dtype=T), peak: wp.array(dtype=T),
):
    i = wp.tid()
    a = x[i]
    b = y[i]
"""
BY = {
    "branch": """
    v{k} = {v}
    seen[{k}, i] = v{k}
    if v{k} == held[{k}, i]:
        out[{k}, i] = z[{k}, i]
    else:
        out[{k}, i] = T(5.0) * z[{k}, i]
""",
    "choice": """
    v{k} = {v}
    seen[{k}, i] = v{k}
    out[{k}, i] = wp.where(v{k} == held[{k}, i], T(1.0), T(5.0)) * z[{k}, i]
""",
    "loop": """
    v{k} = {v}
    seen[{k}, i] = v{k}
    for j in range(4 + 2 * int(v{k} < held[{k}, i]) + int(v{k} > held[{k}, i])):
        out[{k}, i] += T(0.25) * z[{k}, i]
""",
    "peak": """
    wp.atomic_max(peak, {k}, {v})
""",
}


def kernel(expressions, by, t, fast):
    """The kernel that computes some expressions, and decides as `by` says."""
    lines = [_PARAMETERS.format(fast=fast), *(BY[by].format(k=k, v=v) for k, v in enumerate(expressions))]
    return module("".join(lines), {"wp": wp, "T": NAMES[t]})["same"]


def disagreements(made, count, n, t, low=-2.0, high=2.0, seed=0):
    """Values whose comparison the kernel, launched again, or its adjoint answered otherwise: (kernel's, adjoint's)."""
    rng, dtype = np.random.default_rng(seed), NAMES[t]
    x, y = (wp.array(rng.uniform(low, high, n).astype(dtype), dtype=dtype, requires_grad=True) for _ in range(2))
    z = wp.full((count, n), 1.0, dtype=dtype, requires_grad=True)
    held, peak = wp.full((count, n), np.inf, dtype=dtype), wp.zeros(count, dtype=dtype)
    seen, out = (wp.zeros((count, n), dtype=dtype, requires_grad=True) for _ in range(2))
    wp.launch(made, n, [x, y, z, held, seen, out, peak])
    held.assign(seen)
    out.zero_()
    with wp.Tape() as tape:
        wp.launch(made, n, [x, y, z, held, seen, out, peak])
    tape.backward(grads={out: wp.ones_like(out), seen: wp.ones_like(seen)})
    number = ~np.isnan(held.numpy())
    return int((out.numpy() != 1.0)[number].sum()), int((z.grad.numpy() != 1.0)[number].sum())


def largest(made, n, t, chosen=None, seed=0):
    """The largest value that threads (all, or one) offer, and the gradients that arrive at their operands."""
    rng, dtype = np.random.default_rng(seed), NAMES[t]
    numbers = rng.uniform(-2, 2, (2, n)).astype(dtype)[:, slice(None) if chosen is None else slice(chosen, chosen + 1)]
    x, y = (wp.array(part, dtype=dtype, requires_grad=True) for part in numbers)
    z, held, seen, out = (wp.zeros((1, len(x)), dtype=dtype, requires_grad=True) for _ in range(4))
    peak = wp.full(1, -np.inf, dtype=dtype, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(made, len(x), [x, y, z, held, seen, out, peak])
    tape.backward(peak)
    return peak.numpy()[0], x.grad.numpy(), y.grad.numpy()
