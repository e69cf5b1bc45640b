"""Krylov iterations: from an approximate solution and its residual to a better one.

Every function here runs one cycle: it improves `x` in place from the residual `r` until `system.enough(norm, ...)` says
stop, and returns what stopped it otherwise ("" for nothing). The norms that it reports are those of residuals updated
by recursion; `linear` computes the true one between cycles and decides.

Preconditioners stand on the right (M approximates the inverse of A), so that residuals are those of A x = b.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.language import array, kernel, tid
from .operators import LinearOperator
from .vectors import Vector, combine, inner, norm, run, vector_like

INDEFINITE, BREAKDOWN, NOT_FINITE = "indefinite", "breakdown", "not finite"
RESTART = "restart"
"""The cycle was as long as it was asked to be."""

_TINY = 1.0e-30  # an inner product this small beside its factors holds no digit


class Room:
    """The vectors of iterations: those of one are used again by the next."""

    def __init__(self, like: array):
        self._like = like
        self._vectors: list[Vector] = []
        self._used = 0

    def reuse(self) -> None:
        """Nobody needs the vectors that were handed out."""
        self._used = 0

    def new(self) -> Vector:
        """A vector of zeros."""
        if self._used == len(self._vectors):
            self._vectors.append(vector_like(self._like))
        else:
            self._vectors[self._used].flat.zero_()
        self._used += 1
        return self._vectors[self._used - 1]


class System:
    """A, its preconditioner, room for vectors, and when to stop."""

    enough: Callable[[float], bool]

    def __init__(self, A: LinearOperator, M: LinearOperator | None, room: Room):
        self.A, self.M, self.room = A, M, room

    def new(self, count: int) -> list[Vector]:
        """Vectors of zeros."""
        return [self.room.new() for _ in range(count)]

    def apply(self, x: Vector, out: Vector) -> None:
        self.A.matvec(x.typed, out.typed, out.typed, 1.0, 0.0)

    def residual(self, b: Vector, x: Vector, out: Vector) -> None:
        self.A.matvec(x.typed, b.typed, out.typed, -1.0, 1.0)

    def precondition(self, x: Vector, out: Vector) -> Vector:
        """M x in `out`, or x itself without M."""
        if self.M is None:
            return x
        self.M.matvec(x.typed, out.typed, out.typed, 1.0, 0.0)
        return out


def add(x: Vector, a: float, y: Vector) -> None:
    """x += a y."""
    combine(x.flat, 1.0, x.flat, a, y.flat)


def copy(x: Vector, out: Vector) -> None:
    combine(out.flat, 1.0, x.flat)


def positive(product: float) -> str:
    """What is wrong with p . A p of a positive definite A."""
    if not math.isfinite(product):
        return NOT_FINITE
    return "" if product > 0.0 else INDEFINITE


@kernel
def _descend(a: Any, p: array(dtype=Any), q: array(dtype=Any), x: array(dtype=Any), r: array(dtype=Any)):
    """x += a p and r -= a q, in one pass."""
    i = tid()
    x[i] = x[i] + a * p[i]
    r[i] = r[i] - a * q[i]


def descend(a: float, p: Vector, q: Vector, x: Vector, r: Vector) -> None:
    kind = x.flat.dtype
    run(_descend, x.flat.size, [kind(a), p.flat, q.flat, x.flat, r.flat], x.flat.device)


def _cycle(restart: int | None) -> Any:
    """Counts the iterations of a cycle: as many as are asked for, or no end of them."""
    return itertools.count() if restart is None else range(restart)


def cg(system: System, x: Vector, r: Vector, restart: int | None) -> str:
    """Conjugate gradients for positive definite A and M (Hestenes and Stiefel 1952)."""
    p, q, room = system.new(3)
    z = system.precondition(r, room)
    copy(z, p)
    rz = inner(r.flat, z.flat)
    for _ in _cycle(restart):
        if problem := positive(rz):
            return problem
        system.apply(p, q)
        pq = inner(p.flat, q.flat)
        if problem := positive(pq):
            return problem
        descend(rz / pq, p, q, x, r)
        if system.enough(norm(r.flat)):
            return ""
        z = system.precondition(r, room)
        before, rz = rz, inner(r.flat, z.flat)
        combine(p.flat, 1.0, z.flat, rz / before, p.flat)
    return RESTART


def cr(system: System, x: Vector, r: Vector, restart: int | None) -> str:
    """Conjugate residuals for symmetric A, which may be indefinite, and positive definite M (Stiefel 1955)."""
    z, p, Az, Ap, room = system.new(5)
    copy(system.precondition(r, room), z)
    copy(z, p)
    system.apply(z, Az)
    copy(Az, Ap)
    zAz = inner(z.flat, Az.flat)
    for _ in _cycle(restart):
        MAp = system.precondition(Ap, room)
        size = inner(Ap.flat, MAp.flat)
        if problem := positive(size):
            return problem
        if abs(zAz) <= _TINY * norm(z.flat) * norm(Az.flat):
            return BREAKDOWN
        a = zAz / size
        descend(a, p, Ap, x, r)
        add(z, -a, MAp)
        if system.enough(norm(r.flat)):
            return ""
        system.apply(z, Az)
        before, zAz = zAz, inner(z.flat, Az.flat)
        combine(p.flat, 1.0, z.flat, zAz / before, p.flat)
        combine(Ap.flat, 1.0, Az.flat, zAz / before, Ap.flat)
    return RESTART


def bicgstab(system: System, x: Vector, r: Vector, restart: int | None) -> str:
    """Stabilised biconjugate gradients for any A (van der Vorst 1992)."""
    shadow, p, v, t, room1, room2 = system.new(6)
    copy(r, shadow)
    copy(r, p)
    rho, scale = inner(r.flat, r.flat), norm(r.flat)
    while True:
        Mp = system.precondition(p, room1)
        system.apply(Mp, v)
        below = inner(shadow.flat, v.flat)
        if not abs(below) > _TINY * scale * norm(v.flat):
            return BREAKDOWN if math.isfinite(below) else NOT_FINITE
        a = rho / below
        add(r, -a, v)  # halfway: r is what the paper calls s
        Mr = system.precondition(r, room2)
        system.apply(Mr, t)
        tt = inner(t.flat, t.flat)
        omega = inner(t.flat, r.flat) / tt if tt > 0.0 else 0.0
        add(x, a, Mp)
        descend(omega, Mr, t, x, r)
        size = norm(r.flat)
        if system.enough(size):
            return ""
        before, rho = rho, inner(shadow.flat, r.flat)
        if omega == 0.0 or not abs(rho) > _TINY * scale * size:
            return BREAKDOWN if math.isfinite(rho) else NOT_FINITE
        # p = r + beta (p - omega v)
        beta = rho / before * a / omega
        combine(p.flat, beta, p.flat, -beta * omega, v.flat)
        add(p, 1.0, r)


def gmres(system: System, x: Vector, r: Vector, restart: int) -> str:
    """`restart` steps of generalised minimal residuals for any A (Saad and Schultz 1986)."""
    room, image = system.new(2)
    basis = [r]
    size = norm(r.flat)
    combine(r.flat, 1.0 / size, r.flat)
    triangle, rotations = np.zeros((restart, restart)), np.zeros((restart, 2))
    rest = np.zeros(restart + 1)
    rest[0] = size
    steps, problem = 0, ""
    for j in range(restart):
        (new,) = system.new(1)
        system.apply(system.precondition(basis[j], room), new)
        column = orthogonalise(new, basis)
        if not np.isfinite(column).all():
            problem = NOT_FINITE
            break
        rotate(column, rotations[:j])
        length = math.hypot(column[j], column[j + 1])
        if length <= _TINY:  # A maps the space into itself, and is singular on it
            problem = BREAKDOWN
            break
        below = column[j + 1]
        rotations[j] = column[j] / length, below / length
        triangle[: j + 1, j] = [*column[:j], length]
        rest[j : j + 2] = rotations[j, 0] * rest[j], -rotations[j, 1] * rest[j]
        steps = j + 1
        if system.enough(abs(rest[j + 1])) or below == 0.0:
            break
        basis.append(new)
    weights = np.linalg.solve(triangle[:steps, :steps], rest[:steps])
    combine(image.flat, 0.0, image.flat)
    for weight, v in zip(weights, basis, strict=False):
        add(image, float(weight), v)
    add(x, 1.0, system.precondition(image, room))
    return problem


def orthogonalise(new: Vector, basis: list[Vector]) -> np.ndarray:
    """Make `new` orthonormal to the basis by modified Gram-Schmidt; returns its coefficients, the length last."""
    coefficients = np.zeros(len(basis) + 1)
    start = norm(new.flat)
    for _ in range(2):  # the second removes what rounding left of the first
        for k, v in enumerate(basis):
            part = inner(v.flat, new.flat)
            add(new, -part, v)
            coefficients[k] += part
        length = norm(new.flat)
        if length > 0.1 * start:
            break
    tiny = float(np.finfo(new.flat.dtype).eps) * start
    coefficients[-1] = 0.0 if length <= tiny else length
    combine(new.flat, 1.0 / length if length > tiny else 0.0, new.flat)
    return coefficients


def rotate(column: np.ndarray, rotations: np.ndarray) -> None:
    """Apply earlier Givens rotations to a new column, in place."""
    for k, (c, s) in enumerate(rotations):
        column[k], column[k + 1] = c * column[k] + s * column[k + 1], c * column[k + 1] - s * column[k]
