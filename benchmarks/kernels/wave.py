"""Height-field waves on a square grid: a 2-D launch, a 5-point stencil and an ``if`` at the border.

``u1 = (2 u0 - u_1) + c (sum of 4 neighbours - 4 u0)`` with a little damping, zero at the border;
the usual leapfrog scheme for the wave equation, c = (wave speed * dt / dx)^2 = 0.2.
"""

from typing import Any

import numpy as np

from benchmarks.case import Case, single

C, DAMPING = 0.2, 0.999


def inputs(side: int) -> np.ndarray:
    """The height at the start, float32 ``(side, side)``; nowhere zero, so nowhere denormal."""
    t = np.linspace(0.1, 20.0, side, dtype=np.float32)
    return np.ascontiguousarray(np.sin(t)[:, None] * np.cos(1.3 * t)[None, :])


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """One step in NumPy from rest (previous height = height)."""
    u = inputs(size["side"])
    after = np.zeros_like(u)
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    inner = u[1:-1, 1:-1]
    after[1:-1, 1:-1] = DAMPING * ((2.0 * inner - inner) + C * (around - 4.0 * inner))
    return {"u": after}


class Buffers:
    """Three heights that change roles after each step: before, now, after."""

    def __init__(self, before: Any, now: Any, after: Any) -> None:
        self.before, self.now, self.after = before, now, after

    def turn(self) -> None:
        """What was after is now."""
        self.before, self.now, self.after = self.now, self.after, self.before


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One 2-D launch per step."""
    @wp.kernel
    def wave(
        before: wp.array2d(dtype=float),
        now: wp.array2d(dtype=float),
        after: wp.array2d(dtype=float),
        c: float,
        damping: float,
    ):
        i, j = wp.tid()
        rows = now.shape[0]
        columns = now.shape[1]
        if i == 0 or j == 0 or i == rows - 1 or j == columns - 1:
            after[i, j] = 0.0
        else:
            around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
            u = now[i, j]
            after[i, j] = damping * ((2.0 * u - before[i, j]) + c * (around - 4.0 * u))

    side = size["side"]
    u = Buffers(*(wp.array(inputs(side), dtype=float) for _ in range(3)))

    def step() -> None:
        wp.launch(wave, dim=(side, side), inputs=[u.before, u.now, u.after, C, DAMPING])
        u.turn()

    return single(step, lambda: {"u": u.now.numpy()})


def taichi_case(ti: Any, size: dict[str, int]) -> Case:
    """One kernel call per step; the fields are template arguments, so three kernels are made."""
    side = size["side"]
    u = Buffers(*(ti.field(ti.f32, (side, side)) for _ in range(3)))
    for height in (u.before, u.now, u.after):
        height.from_numpy(inputs(side))

    @ti.kernel
    def wave(before: ti.template(), now: ti.template(), after: ti.template()):
        for i, j in now:
            if i == 0 or j == 0 or i == side - 1 or j == side - 1:
                after[i, j] = 0.0
            else:
                around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
                height = now[i, j]
                after[i, j] = DAMPING * ((2.0 * height - before[i, j])
                                         + C * (around - 4.0 * height))

    def step() -> None:
        wave(u.before, u.now, u.after)
        u.turn()

    # compile the kernels of the two other turns now, then start from the same state again
    for _ in range(3):
        step()
    for height in (u.before, u.now, u.after):
        height.from_numpy(inputs(side))
    return single(step, lambda: {"u": u.now.to_numpy()})


def numba_case(nb: Any, size: dict[str, int]) -> Case:
    """A ``prange`` over rows with a serial loop over columns."""
    @nb.njit(parallel=True)
    def wave(before, now, after, c, damping):
        rows, columns = now.shape
        two, four = np.float32(2.0), np.float32(4.0)
        for i in nb.prange(rows):
            for j in range(columns):
                if i == 0 or j == 0 or i == rows - 1 or j == columns - 1:
                    after[i, j] = np.float32(0.0)
                else:
                    around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
                    u = now[i, j]
                    after[i, j] = damping * ((two * u - before[i, j]) + c * (around - four * u))

    u = Buffers(*(inputs(size["side"]) for _ in range(3)))
    c, damping = np.float32(C), np.float32(DAMPING)

    def step() -> None:
        wave(u.before, u.now, u.after, c, damping)
        u.turn()

    return single(step, lambda: {"u": u.now})


def cpp_case(cpp: Any, size: dict[str, int]) -> Case:
    """A loop over rows, and over the columns between the borders."""
    u = Buffers(*(inputs(size["side"]) for _ in range(3)))
    steps = {}
    for _ in range(3):
        steps[id(u.now)] = cpp.bound("wave", size["side"], u.before, u.now, u.after, C, DAMPING)
        u.turn()

    def step() -> None:
        steps[id(u.now)]()
        u.turn()

    return single(step, lambda: {"u": u.now})
