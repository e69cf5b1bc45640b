"""Cloth: sheets as particles, springs, triangles and bending edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked, numbers
from ...errors import ModelError, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .builder import ModelBuilder

_NOTHING = 1.0e-300  # a length to divide by where there is none


@checked
def add_grid(
    builder: ModelBuilder, pos: ArrayLike, rot: ArrayLike, vel: ArrayLike, dim_x: int, dim_y: int, cell_x: float,
    cell_y: float, mass: float, fix_left: bool = False, fix_right: bool = False, fix_top: bool = False,
    fix_bottom: bool = False, spring_ke: ArrayLike | None = None, spring_kd: float = 0.0,
    edge_ke: ArrayLike | None = None, edge_kd: float = 0.0, particle_radius: float | None = None,
    **triangles: Any,
) -> range:  # fmt: skip
    """A sheet of dim_x x dim_y cells of cell_x x cell_y [m], in the plane z = 0 of its frame, from the origin on.

    pos [m], rot: quaternion of the frame. vel [m/s]. mass: of a particle [kg]; sides that are fixed get mass 0.
    spring_ke [N/m]: of springs along both sides and both diagonals of every cell; None: none. edge_ke [N m]: bending
    rigidity per width, over every edge between triangles; None: none. The other options are those of
    `ModelBuilder.add_triangles`: tri_ke=(warp, weft) has the warp along x. Particle (i, j) has the number
    first + j * (dim_x + 1) + i.
    """
    if min(dim_x, dim_y) < 1 or min(cell_x, cell_y) <= 0.0:
        raise ModelError(f"{dim_x} x {dim_y} cells of {cell_x} x {cell_y} m\nexpected: one or more, of a size above 0")
    j, i = np.mgrid[0 : dim_y + 1, 0 : dim_x + 1]
    points = np.stack([i * cell_x, j * cell_y, 0.0 * i], axis=-1).reshape(-1, 3)
    held = np.zeros((dim_y + 1, dim_x + 1), dtype=bool)
    held[:, 0] |= fix_left
    held[:, -1] |= fix_right
    held[0] |= fix_bottom
    held[-1] |= fix_top
    masses = np.where(held.ravel(), 0.0, mass)
    added = builder.add_particles(builder.place(points, pos, rot), vel, masses, particle_radius)
    numbers = added.start + np.arange(len(points)).reshape(dim_y + 1, dim_x + 1)
    faces = grid_triangles(numbers)
    if spring_ke is not None:
        builder.add_springs(grid_springs(numbers), spring_ke, spring_kd)
    material = np.broadcast_to(points[faces - added.start][..., :2], (len(faces), 3, 2))
    builder.add_triangles(faces, material=material, **triangles)
    if edge_ke is not None:
        builder.add_edges(hinges(faces), edge_ke, edge_kd)
    return added


@checked
def add_mesh(
    builder: ModelBuilder, pos: ArrayLike, rot: ArrayLike, scale: float, vel: ArrayLike, vertices: ArrayLike,
    indices: ArrayLike, density: float, spring_ke: ArrayLike | None = None, spring_kd: float = 0.0,
    edge_ke: ArrayLike | None = None, edge_kd: float = 0.0, particle_radius: float | None = None,
    **triangles: Any,
) -> range:  # fmt: skip
    """A sheet of any triangles: vertices (n, 3), indices (faces, 3) or flat; density [kg/m^2].

    A particle has a third of the mass of the triangles around it. spring_ke [N/m]: of springs along all edges; None:
    none. Other options as for `add_grid`; a pair tri_ke=(warp, weft) needs `material`, which says where the warp is.
    """
    corners = np.asarray(indices, dtype=np.int64).reshape(-1, 3)
    placed = builder.place(vertices, pos, rot, scale)
    mass = density / 3.0 * np.bincount(corners.ravel(), np.repeat(areas(placed, corners), 3), len(placed))
    added = builder.add_particles(placed, vel, mass, particle_radius)
    faces = added.start + corners
    if spring_ke is not None:
        builder.add_springs(edges(faces), spring_ke, spring_kd)
    _require_warp(**triangles)
    builder.add_triangles(faces, **triangles)
    if edge_ke is not None:
        builder.add_edges(hinges(faces), edge_ke, edge_kd)
    return added


def _require_warp(tri_ke: ArrayLike = 0.0, material: ArrayLike | None = None, **others: object) -> None:
    """Raise `ModelError` for triangles of any mesh that are stiffer one way, which nobody has said."""
    stiffness = numbers(tri_ke, "tri_ke")
    pair = stiffness.shape == (2,) or (stiffness.ndim == 2 and stiffness.shape[1] == 2)
    if pair and material is None and not (stiffness[..., 0] == stiffness[..., 1]).all():
        raise ModelError(
            f"tri_ke is {shown(tri_ke)}, and no triangle knows where its warp is\n"
            "expected: material, the coordinates (triangles, 3, 2) [m] of corners on the unwoven sheet, warp first; "
            "or one number"
        )


# ----- topology -----------------------------------------------------------------------------------


def grid_triangles(numbers: np.ndarray) -> np.ndarray:
    """Two triangles for each cell of a table of particles, with diagonals that alternate like a chess board, (n, 3)."""
    a, b, c, d = (t.ravel() for t in (numbers[:-1, :-1], numbers[:-1, 1:], numbers[1:, 1:], numbers[1:, :-1]))
    j, i = np.indices((numbers.shape[0] - 1, numbers.shape[1] - 1))
    even = ((i + j) % 2 == 0).reshape(-1, 1, 1)
    one = np.stack([np.stack([a, b, c], 1), np.stack([a, c, d], 1)], axis=1)
    other = np.stack([np.stack([a, b, d], 1), np.stack([b, c, d], 1)], axis=1)
    return np.where(even, one, other).reshape(-1, 3)


def grid_springs(numbers: np.ndarray) -> np.ndarray:
    """Pairs along both sides and both diagonals of every cell, (n, 2)."""
    pairs = (
        (numbers[:, :-1], numbers[:, 1:]),
        (numbers[:-1], numbers[1:]),
        (numbers[:-1, :-1], numbers[1:, 1:]),
        (numbers[:-1, 1:], numbers[1:, :-1]),
    )
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])


def edges(faces: np.ndarray) -> np.ndarray:
    """Every edge of triangles once, (n, 2), its smaller number first."""
    return np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)


def hinges(faces: np.ndarray) -> np.ndarray:
    """(n, 4): the corners off each edge between two triangles, then the edge's ends as the first triangle turns.

    Of edges with more than two triangles the first two count.
    """
    ends = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    opposite = faces[:, [2, 0, 1]].ravel()
    low, high = ends.min(axis=1), ends.max(axis=1)
    order = np.lexsort((high, low))
    same = (low[order[1:]] == low[order[:-1]]) & (high[order[1:]] == high[order[:-1]])
    same[1:] &= ~same[:-1]
    first, second = order[:-1][same], order[1:][same]
    quads = np.column_stack([opposite[first], opposite[second], ends[first]])
    return quads[quads[:, 0] != quads[:, 1]]


# ----- rest shapes --------------------------------------------------------------------------------


def areas(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Of triangles, (n,) [m^2]."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def flatten(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Corners (n, 3, 2) [m] of each triangle in its plane: the first at the origin, the second on the x axis."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    length = np.linalg.norm(b - a, axis=1, keepdims=True)
    along = (b - a) / np.where(length > 0.0, length, 1.0)
    x = np.einsum("ij,ij->i", c - a, along)
    y = np.linalg.norm(c - a - x[:, None] * along, axis=1)
    zero = np.zeros(len(faces))
    return np.stack([zero, zero, length[:, 0], zero, x, y], axis=1).reshape(-1, 3, 2)


def dihedral_angles(points: np.ndarray, quads: np.ndarray) -> np.ndarray:
    """The angle [rad] between the triangles (i, k, l) and (j, l, k) of each row: 0 flat, positive towards their
    normals' side, in (-pi, pi)."""
    i, j, k, l = (points[quads[:, n]] for n in range(4))  # noqa: E741
    first, second, edge = np.cross(k - i, l - i), np.cross(l - j, k - j), l - k
    sine = np.einsum("ij,ij->i", np.cross(first, second), edge) / np.maximum(np.linalg.norm(edge, axis=1), _NOTHING)
    return np.arctan2(sine, np.einsum("ij,ij->i", first, second))


def unfold(points: np.ndarray, quads: np.ndarray) -> np.ndarray:
    """Shapes (n, 5) of both triangles (i, k, l) and (j, l, k) of each row, in one plane: the length of the edge (k, l)
    [m], where along it i stands [-] and how far from it [m], the same of j."""
    i, j, k, l = (points[quads[:, n]] for n in range(4))  # noqa: E741
    length = np.linalg.norm(l - k, axis=1)
    along = (l - k) / np.maximum(length, _NOTHING)[:, None]
    columns = [length]
    for p in (i, j):
        foot = np.einsum("ij,ij->i", p - k, along)
        columns += [foot / np.maximum(length, _NOTHING), np.linalg.norm(p - k - foot[:, None] * along, axis=1)]
    return np.column_stack(columns)


def cotangent_weights(shapes: np.ndarray) -> np.ndarray:
    """Weights (n, 4) [1/m] of the corners (i, j, k, l) of hinges in the form that `unfold` returns.

    Their weighted sum is zero for a plane; for a slight fold it is the normal times the angle. From the cotangents at
    the ends of the edge (Bergou et al. 2006), divided by its length.
    """
    _, u, high, v, low = shapes.T
    high, low = np.maximum(high, _NOTHING), np.maximum(low, _NOTHING)
    return np.column_stack([-1.0 / high, -1.0 / low, (1.0 - u) / high + (1.0 - v) / low, u / high + v / low])
