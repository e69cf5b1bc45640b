"""Krylov iterations: from an approximate solution and its residual to a better one.

Every function here runs one cycle: it improves `x` in place from the residual `r` until no subproblem of the system is
open any more; what else than a small residual closed one is in `system.trouble`. The norms that it reports are those
of residuals updated by recursion; `solve` computes the true one between cycles and decides.

Preconditioners stand on the right (M approximates the inverse of A), so that residuals are those of A x = b.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..core.language import array, kernel, tid
from .operators import LinearOperator
from .subproblems import Batches, Coefficients, Whole, norms
from .vectors import Vector, run, vector_like

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
    """A, its preconditioner, room for vectors, and which subproblems are open.

    watch(sizes): counts an iteration, and tells which subproblems have done enough at these norms of residuals.
    """

    watch: Any

    def __init__(self, A: LinearOperator, M: LinearOperator | None, room: Room, parts: Whole | Batches):
        self.A, self.M, self.room, self.parts = A, M, room, parts
        self.open = np.ones(parts.count, bool)
        self.trouble = np.full(parts.count, "", object)
        self.iterations = np.zeros(parts.count, int)  # of each subproblem when it was closed

    def begin(self, open_ones: np.ndarray, r: Vector) -> None:
        """Open subproblems for a cycle from the residual r, which is zeroed in others: it may not be finite there."""
        self.open, self.trouble[:] = open_ones.copy(), ""
        self.room.reuse()
        if not self.open.all():
            self.combine(r, self.ones(), r)

    def close(self, where: np.ndarray, trouble: str) -> None:
        """Close those of the open subproblems for which `where` holds."""
        where = where & self.open
        if not where.any():
            return
        self.trouble[where], self.iterations[where] = trouble, self.watch.count
        self.open &= ~where

    def enough(self, sizes: np.ndarray) -> bool:
        """Count an iteration, and close what has a small enough residual; whether nothing is open any more."""
        self.close(self.watch(sizes), "")
        return not self.open.any()

    def enough_of(self, r: Vector, restart: int | None) -> bool:
        """The same with the norms of r, which cycles of a fixed length only look at in their end."""
        if restart is None:
            return self.enough(self.norm(r))
        self.watch.count += 1
        return not self.open.any()

    def require_positive(self, products: np.ndarray) -> None:
        """Close subproblems where p . A p of a positive definite A is not positive."""
        good = (products > 0.0) & (products < np.inf)
        if not good.all():
            self.close(~np.isfinite(products), NOT_FINITE)
            self.close(~good, INDEFINITE)

    def ratio(self, a: Coefficients, b: np.ndarray) -> np.ndarray:
        """a / b of open subproblems, 0 of others and where b is 0."""
        return np.divide(a, b, out=np.zeros(self.parts.count), where=self.open & (b != 0.0))

    def ones(self) -> np.ndarray:
        """1 for open subproblems, 0 for others."""
        return self.open.astype(float)

    def new(self, count: int) -> list[Vector]:
        """Vectors of zeros."""
        return [self.room.new() for _ in range(count)]

    def apply(self, x: Vector, out: Vector) -> None:
        self.A.matvec(x.typed, out.typed, out.typed, 1.0, 0.0)
        self.parts.settle(out.flat)

    def residual(self, b: Vector, x: Vector, out: Vector) -> None:
        self.A.matvec(x.typed, b.typed, out.typed, -1.0, 1.0)
        self.parts.settle(out.flat)

    def precondition(self, x: Vector, out: Vector) -> Vector:
        """M x in `out`, or x itself without M."""
        if self.M is None:
            return x
        self.M.matvec(x.typed, out.typed, out.typed, 1.0, 0.0)
        self.parts.settle(out.flat)
        return out

    def dot(self, x: Vector, y: Vector) -> np.ndarray:
        return self.parts.inner(x.flat, y.flat)

    def norm(self, x: Vector) -> np.ndarray:
        return norms(self.parts, x.flat)

    def combine(self, out: Vector, a: Coefficients, x: Vector, b: Coefficients = 0.0, y: Vector | None = None) -> None:
        """out = a x + b y."""
        self.parts.combine(out.flat, a, x.flat, b, None if y is None else y.flat)

    def add(self, x: Vector, a: Coefficients, y: Vector) -> None:
        """x += a y."""
        self.combine(x, 1.0, x, a, y)

    def descend(self, a: np.ndarray, p: Vector, q: Vector, x: Vector, r: Vector) -> None:
        """x += a p and r -= a q."""
        if isinstance(self.parts, Whole):
            kind = x.flat.dtype
            run(_descend, x.flat.size, [kind(a[0]), p.flat, q.flat, x.flat, r.flat], x.flat.device)
        else:
            self.add(x, a, p)
            self.add(r, -a, q)


@kernel
def _descend(a: Any, p: array(dtype=Any), q: array(dtype=Any), x: array(dtype=Any), r: array(dtype=Any)):
    """x += a p and r -= a q, in one pass."""
    i = tid()
    x[i] = x[i] + a * p[i]
    r[i] = r[i] - a * q[i]


def _cycle(restart: int | None) -> Any:
    """Counts the iterations of a cycle: as many as are asked for, or no end of them."""
    return itertools.count() if restart is None else range(restart)


def cg(system: System, x: Vector, r: Vector, restart: int | None) -> None:
    """Conjugate gradients for positive definite A and M (Hestenes and Stiefel 1952)."""
    p, q, room = system.new(3)
    z = system.precondition(r, room)
    system.combine(p, system.ones(), z)
    rz = system.dot(r, z)
    for _ in _cycle(restart):
        system.require_positive(rz)
        if not system.open.any():
            return
        system.apply(p, q)
        pq = system.dot(p, q)
        system.require_positive(pq)
        if not system.open.any():
            return
        system.descend(system.ratio(rz, pq), p, q, x, r)
        if system.enough_of(r, restart):
            return
        z = system.precondition(r, room)
        before, rz = rz, system.dot(r, z)
        system.combine(p, system.ones(), z, system.ratio(rz, before), p)
    system.close(system.open, RESTART)


def cr(system: System, x: Vector, r: Vector, restart: int | None) -> None:
    """Conjugate residuals for symmetric A, which may be indefinite, and positive definite M (Stiefel 1955)."""
    z, p, Az, Ap, room = system.new(5)
    system.combine(z, system.ones(), system.precondition(r, room))
    system.combine(p, 1.0, z)
    system.apply(z, Az)
    system.combine(Ap, 1.0, Az)
    zAz = system.dot(z, Az)
    for _ in _cycle(restart):
        MAp = system.precondition(Ap, room)
        size = system.dot(Ap, MAp)
        system.require_positive(size)
        system.close(np.abs(zAz) <= _TINY * system.norm(z) * system.norm(Az), BREAKDOWN)
        if not system.open.any():
            return
        a = system.ratio(zAz, size)
        system.descend(a, p, Ap, x, r)
        system.add(z, -a, MAp)
        if system.enough_of(r, restart):
            return
        system.apply(z, Az)
        before, zAz = zAz, system.dot(z, Az)
        b = system.ratio(zAz, before)
        system.combine(p, system.ones(), z, b, p)
        system.combine(Ap, system.ones(), Az, b, Ap)
    system.close(system.open, RESTART)


def bicgstab(system: System, x: Vector, r: Vector, restart: int | None) -> None:
    """Stabilised biconjugate gradients for any A (van der Vorst 1992)."""
    shadow, p, v, t, room1, room2 = system.new(6)
    system.combine(shadow, 1.0, r)
    system.combine(p, system.ones(), r)
    rho, scale = system.dot(r, r), system.norm(r)
    while True:
        Mp = system.precondition(p, room1)
        system.apply(Mp, v)
        below = system.dot(shadow, v)
        system.close(~np.isfinite(below), NOT_FINITE)
        system.close(~(np.abs(below) > _TINY * scale * system.norm(v)), BREAKDOWN)
        if not system.open.any():
            return
        a = system.ratio(rho, below)
        system.add(r, -a, v)  # halfway: r is what the paper calls s
        Mr = system.precondition(r, room2)
        system.apply(Mr, t)
        omega = system.ratio(system.dot(t, r), system.dot(t, t))
        system.add(x, a, Mp)
        system.descend(omega, Mr, t, x, r)
        size = system.norm(r)
        if system.enough(size):
            return
        before, rho = rho, system.dot(shadow, r)
        system.close(~np.isfinite(rho), NOT_FINITE)
        system.close((omega == 0.0) | ~(np.abs(rho) > _TINY * scale * size), BREAKDOWN)
        # p = r + beta (p - omega v)
        beta = system.ratio(system.ratio(rho, before) * a, omega)
        system.combine(p, beta, p, -beta * omega, v)
        system.add(p, system.ones(), r)


def gmres(system: System, x: Vector, r: Vector, restart: int) -> None:
    """`restart` steps of generalised minimal residuals for any A (Saad and Schultz 1986)."""
    room, image = system.new(2)
    basis, opened = [r], system.ones()
    size = np.where(system.open, system.norm(r), 0.0)
    system.combine(r, system.ratio(1.0, size), r)
    squares = _LeastSquares(size, restart)
    for j in range(restart):
        (new,) = system.new(1)
        system.apply(system.precondition(basis[j], room), new)
        column = orthogonalise(system, new, basis)
        system.close(~np.isfinite(column).all(axis=1), NOT_FINITE)
        length = squares.turn(column, j)
        system.close(length <= _TINY, BREAKDOWN)  # A maps the space into itself, and is singular on it
        if not system.open.any():
            break
        squares.extend(system.open, column, length, j)
        exact = system.open & (column[:, j + 1] == 0.0)
        if system.enough(squares.residuals()):
            break
        system.close(exact, "")
        basis.append(new)
    for weights, v in zip(squares.solve().T, basis, strict=False):
        system.add(image, weights, v)
    system.add(x, opened, system.precondition(image, room))


def orthogonalise(system: System, new: Vector, basis: list[Vector]) -> np.ndarray:
    """Make `new` orthonormal to the basis by modified Gram-Schmidt; returns its coefficients, the length last."""
    coefficients = np.zeros((system.parts.count, len(basis) + 1))
    start = system.norm(new)
    for _ in range(2):  # the second removes what rounding left of the first
        for k, v in enumerate(basis):
            part = np.where(system.open, system.dot(v, new), 0.0)
            system.add(new, -part, v)
            coefficients[:, k] += part
        length = system.norm(new)
        if (length > 0.1 * start)[system.open].all():
            break
    length = np.where(length <= float(np.finfo(new.flat.dtype).eps) * start, 0.0, length)
    coefficients[:, -1] = length
    system.combine(new, system.ratio(1.0, length), new)
    return coefficients


class _LeastSquares:
    """The small least squares problems of GMRES, by Givens rotations: one for each subproblem, of `steps` unknowns."""

    def __init__(self, sizes: np.ndarray, restart: int):
        self.steps = np.zeros(sizes.size, int)
        self._triangle = np.tile(np.eye(restart), (sizes.size, 1, 1))
        self._rotations = np.zeros((restart, sizes.size, 2))
        self._rest = np.zeros((sizes.size, restart + 1))
        self._rest[:, 0] = sizes

    def turn(self, column: np.ndarray, j: int) -> np.ndarray:
        """Apply the rotations of earlier columns to a new one, in place; the lengths of its last two entries."""
        for k, (c, s) in enumerate(self._rotations[:j].transpose(0, 2, 1)):
            above, below = column[:, k].copy(), column[:, k + 1].copy()
            column[:, k], column[:, k + 1] = c * above + s * below, c * below - s * above
        return np.hypot(column[:, j], column[:, j + 1])

    def extend(self, where: np.ndarray, column: np.ndarray, length: np.ndarray, j: int) -> None:
        """Add a column to the problems for which `where` holds."""
        turn = column[where, j : j + 2] / length[where, None]
        self._rotations[j, where] = turn
        self._triangle[where, :j, j], self._triangle[where, j, j] = column[where, :j], length[where]
        rest = self._rest[where, j]
        self._rest[where, j], self._rest[where, j + 1] = turn[:, 0] * rest, -turn[:, 1] * rest
        self.steps[where] = j + 1

    def residuals(self) -> np.ndarray:
        """The norms of what is left, (count,)."""
        return np.abs(self._rest[np.arange(self.steps.size), self.steps])

    def solve(self) -> np.ndarray:
        """The solutions, (count, restart), 0 behind their steps."""
        inside = np.arange(self._triangle.shape[1]) < self.steps[:, None]
        right = np.where(inside, self._rest[:, :-1], 0.0)
        return np.linalg.solve(self._triangle, right[..., None])[..., 0]
