"""Bending of sheets by triangles: how flexible they are against the angles over their edges, whatever the mesh.

A triangle bends by one curvature tensor, made of the angles t over its edges e with unit normals n in its plane,

    kappa = sum |e| f t (n n) / A        f = A / (A + A'), the triangle's share of the angle

which is what E. Onate and F. Zarate 2000 call the basic plate triangle. Its energy is B A |kappa|^2 / 2 for the bending
rigidity B per width, without Poisson's effect; free edges pass no moment, and what that leaves of kappa counts.

Every second triangle is enough, as all edges belong to one of those between: they carry the energy of its area. That
halves the work, and lets corners between folds give way where all triangles together would lock: where diagonals of
squares alternate, twist is 1.1 times as stiff as it should be instead of twice. On lattices whose corners are all alike
both are exact for any shape of their cells. A triangle that is held is a clamp: what is beside it has the whole angle.
Where a triangle has one edge only, it bends as a cylinder around it. A hinge that shares its two triangles with no
other is no sheet, and has no width: its rigidity is the moment per angle, B t^2 / 2 its energy.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np

_PAIRS = ([0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2])


class Bends(NamedTuple):
    """Triangles (n) with their corners and those beyond their edges (n, 6), edges (n, 3), -1 for none.

    Only those that carry energy. Corner k lies across from edge k; where that is none, corner 3 + k is an end of it.
    turns: 1 for edges that name the triangle second, plus 2 for those that turn the other way. flexibility (n, 6) [-]:
    angles per moment and compliance of the sheet, as the elements 00, 11, 22, 01, 02, 12 of a symmetric matrix.
    """

    indices: np.ndarray
    edges: np.ndarray
    turns: np.ndarray
    flexibility: np.ndarray


def elements(quads: np.ndarray, shapes: np.ndarray, held: np.ndarray) -> Bends:
    """Triangles beside hinges that bend: quads (n, 4) as in `cloth.hinges`, shapes (n, 5) as `cloth.unfold` has them,
    held: (particles,), what has no mass."""
    n = len(quads)
    i, j, k, l = quads.reshape(-1, 4).T  # noqa: E741
    length, u, high, v, low = shapes.reshape(-1, 5).T
    edge, side = np.tile(np.arange(n), 2), np.repeat([0, 1], n)
    rows = np.column_stack([np.r_[i, j], np.r_[k, l], np.r_[l, k], np.r_[j, i]])  # corner, ends of the edge, beyond it
    flat = np.column_stack(
        [np.r_[length, length], np.r_[u, 1 - v], np.r_[high, low], np.r_[v, 1 - u], np.r_[low, high]]
    )  # as `shapes`, with the triangle's own corner first
    hinges_of, _ = _groups(np.sort(rows[:, :3], axis=1))
    alone = (np.bincount(hinges_of)[hinges_of] == 1).reshape(2, n).all(axis=0)
    still = held[rows]
    bent = (flat[:, 0] * flat[:, 2] > 0.0) & ~still[:, :3].all(axis=1)
    rows, flat, edge, side = rows[bent], flat[bent], edge[bent], side[bent]
    clamped = still[bent, 1:].all(axis=1)
    place, corner, first = _assign_elements(rows, edge)
    turned = rows[:, 1] != rows[first[place], :3][np.arange(len(rows)), (corner + 1) % 3]
    flat[turned, 1], flat[turned, 3] = 1.0 - flat[turned, 1], 1.0 - flat[turned, 3]

    indices = np.hstack([rows[first, :3], np.roll(rows[first, :3], -1, axis=1)])
    edges, turns = np.full((len(first), 3), -1), np.zeros((len(first), 3), dtype=int)
    indices[place, 3 + corner], edges[place, corner], turns[place, corner] = rows[:, 3], edge, side + 2 * turned
    share = np.zeros((len(first), 3))
    share[place, corner] = np.where(clamped, 1.0, flat[:, 2] / (flat[:, 2] + flat[:, 4]))
    area, flexibility = _flexibility(flat[first, :3], share, edges >= 0)
    carried, carrying = _share_area(edges, area)
    flexibility *= (area / carried)[:, None, None]
    flexibility[alone[edges.max(axis=1)]] = np.eye(3)
    return Bends(*(a[carrying] for a in (indices, edges, turns, flexibility[:, _PAIRS[0], _PAIRS[1]])))


def elements_by_world(
    quads: np.ndarray, shapes: np.ndarray, held: np.ndarray, firsts: np.ndarray, edges: np.ndarray
) -> Bends:
    """The same of hinges world by world; equal worlds are looked at once.

    firsts, edges: where particles and hinges of each world begin, and those of the last end, (worlds + 1,).
    """
    known: dict[Any, Bends] = {}
    parts = []
    for p, end, e, last in zip(firsts[:-1], firsts[1:], edges[:-1], edges[1:], strict=True):
        own = (quads[e:last] - p, shapes[e:last], held[p:end])
        key = tuple(a.tobytes() for a in own)
        if key not in known:
            known[key] = elements(*own)
        one = known[key]
        parts.append((one.indices + p, np.where(one.edges < 0, -1, one.edges + e), one.turns, one.flexibility))
    return Bends(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _assign_elements(rows: np.ndarray, edge: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """To which element each row belongs, at which of its corners, and the first row of every element.

    Rows of one triangle are one element. A second hinge over the same edge makes another one, and a corner that lies
    beyond two edges of a triangle makes one for each of its hinges, since none names a particle twice.
    """
    triangle, _ = _groups(np.sort(rows[:, :3], axis=1))
    nth = _rank(_groups(np.column_stack([triangle, rows[:, 0]]))[0])
    shared, _ = _groups(np.column_stack([triangle, nth, rows[:, 3]]))
    double = np.zeros(len(rows), dtype=bool)
    double[triangle[np.bincount(shared)[shared] > 1]] = True
    place, first = _groups(np.column_stack([triangle, nth, np.where(double[triangle], 1 + edge, 0)]))
    corner = (rows[first[place], :3] == rows[:, :1]).argmax(axis=1)
    return place, corner, first


def _groups(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of rows: the number of each among those that differ, in order, and where each such row is first."""
    order = np.lexsort(keys.T[::-1])
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    group = np.empty(len(keys), dtype=int)
    group[order] = np.cumsum(new) - 1
    return group, order[new]


def _rank(group: np.ndarray) -> np.ndarray:
    """How many members of its group are before each, (n,)."""
    order = np.argsort(group, kind="stable")
    rank = np.empty(len(group), dtype=int)
    rank[order] = np.arange(len(group)) - np.searchsorted(group[order], group[order])
    return rank


def _share_area(edges: np.ndarray, area: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The area [m^2] whose energy each triangle carries, and which of them carry any.

    From the first triangle on, breadth first, so that in meshes where every second one can be left out, each is.
    """
    triangle, corner = np.nonzero(edges >= 0)
    order = np.argsort(edges[triangle, corner], kind="stable")
    twice = np.flatnonzero(np.diff(edges[triangle, corner][order]) == 0)
    one, other = triangle[order[twice]], triangle[order[twice + 1]]
    around: list[list[int]] = [[] for _ in edges]
    for a, b in zip(one.tolist(), other.tolist(), strict=True):
        around[a].append(b)
        around[b].append(a)
    needed, carried = (edges >= 0).sum(axis=1).tolist(), area.copy()
    left_out, seen = [False] * len(edges), [False] * len(edges)
    for start in range(len(edges)):
        queue = deque([start] * (not seen[start]))
        seen[start] = True
        while queue:
            triangle = queue.popleft()
            near = around[triangle]
            if len(near) == needed[triangle] and not any(left_out[other] for other in near):
                left_out[triangle] = True
                carried[near] += area[triangle] / len(near)
            for other in near:
                if not seen[other]:
                    seen[other] = True
                    queue.append(other)
    return carried, ~np.array(left_out, dtype=bool)


def _flexibility(shape: np.ndarray, share: np.ndarray, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Areas (n,) [m^2], and angles per moment (n, 3, 3) [-] over the edges of triangles; where none is, the unit.

    shape: (n, 3), the length of the first edge, where along it the corner across from it stands, and how far away.
    """
    length, foot, height = shape.T
    zero = np.zeros_like(length)
    corners = np.stack([foot * length, height, zero, zero, length, zero], axis=1).reshape(-1, 3, 2)
    sides = np.roll(corners, -2, axis=1) - np.roll(corners, -1, axis=1)
    lengths = np.linalg.norm(sides, axis=2)
    x, y = sides[..., 1] / lengths, -sides[..., 0] / lengths
    # Tensors as vectors whose products are those of tensors; each of `single` passes a moment over one edge only.
    single = np.linalg.inv(np.stack([x * x, y * y, np.sqrt(2.0) * x * y], axis=2))
    area, reach = 0.5 * length * height, lengths * np.where(present, share, 1.0)
    flexibility = area[:, None, None] * np.einsum("nki,nkj->nij", single, single)
    alone = present.sum(axis=1) == 1
    flexibility[alone] = area[alone, None, None]
    flexibility /= reach[:, :, None] * reach[:, None, :]
    return area, np.where(present[:, :, None] & present[:, None, :], flexibility, np.eye(3))
