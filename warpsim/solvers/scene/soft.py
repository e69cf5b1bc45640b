"""Soft bodies: blocks and meshes of tetrahedra, with masses from density and stiffness from Young's modulus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked
from ...errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .builder import ModelBuilder

# Five tetrahedra of a cube whose corners have the numbers 4 z + 2 y + x, for cells of even and of odd parity: so that
# diagonals of neighbouring cells meet.
_EVEN = ((0, 1, 2, 4), (3, 2, 1, 7), (5, 4, 7, 1), (6, 7, 4, 2), (1, 2, 4, 7))
_ODD = ((1, 3, 0, 5), (2, 0, 3, 6), (5, 4, 6, 0), (6, 7, 5, 3), (3, 0, 5, 6))
_LIGHTEST = 0.1
"""Densities below this one [kg/m^3] are of no gas on earth, and likely in another unit."""


@checked
def lame(youngs_modulus: float, poissons_ratio: float) -> tuple[float, float]:
    """Lame's parameters (mu, lambda) [Pa] of Young's modulus [Pa] and Poisson's ratio, which is below 1/2."""
    if not youngs_modulus > 0.0 or not -1.0 < poissons_ratio < 0.5:
        raise ModelError(
            f"Young's modulus {youngs_modulus} and Poisson's ratio {poissons_ratio}\n"
            "expected: above 0, and between -1 and 0.5 (rubber: 0.49)"
        )
    mu = youngs_modulus / (2.0 * (1.0 + poissons_ratio))
    return mu, 2.0 * mu * poissons_ratio / (1.0 - 2.0 * poissons_ratio)


def elastic_constants(mu: Any, lam: Any) -> tuple[Any, Any]:
    """Young's modulus [Pa] and Poisson's ratio of Lame's parameters [Pa], numbers or arrays: the inverse of `lame`."""
    return mu * (3.0 * lam + 2.0 * mu) / (lam + mu), lam / (2.0 * (lam + mu))


@checked
def add_grid(
    builder: ModelBuilder,
    pos: ArrayLike,
    rot: ArrayLike,
    vel: ArrayLike,
    dims: tuple[int, int, int],
    cells: tuple[float, float, float],
    density: float,
    fix: Any = None,
    **options: Any,
) -> range:
    """A block of dims cells of size cells [m], from the origin of its frame on, five tetrahedra each.

    density [kg/m^3]. fix: a function of rest points (n, 3) in the frame that says which particles get mass 0.
    youngs_modulus [Pa], poissons_ratio, k_damp [s], particle_radius [m]. Particle (i, j, k) has the number
    first + (k * (dim_y + 1) + j) * (dim_x + 1) + i.
    """
    if min(dims) < 1 or min(cells) <= 0.0:
        raise ModelError(f"{dims} cells of {cells} m\nexpected: one or more, of a size above 0")
    points, tets = block(dims, cells)
    return add_mesh(builder, pos, rot, 1.0, vel, points, tets, density, fix=fix, **options)


@checked
def add_mesh(
    builder: ModelBuilder, pos: ArrayLike, rot: ArrayLike, scale: float, vel: ArrayLike, vertices: ArrayLike,
    indices: ArrayLike, density: float, youngs_modulus: float = 1.0e5, poissons_ratio: float = 0.3,
    k_damp: float = 0.0, particle_radius: float | None = None, fix: Any = None,
) -> range:  # fmt: skip
    """A body of any tetrahedra: vertices (n, 3), indices (tets, 4) or flat; see `add_grid`.

    A particle has a quarter of the mass of the tetrahedra around it. The surface becomes triangles, for contact and
    pictures. Raises `ModelError` for densities below that of any gas.
    """
    if not density >= _LIGHTEST:
        raise ModelError(
            f"the density is {density:g} kg/m^3\nexpected: {_LIGHTEST} or more; water has 1000\n"
            "help: 1 g/cm^3 is 1000 kg/m^3"
        )
    tets = np.asarray(indices, dtype=np.int64).reshape(-1, 4)
    rest = np.asarray(vertices, dtype=np.float64)
    placed = builder.place(rest, pos, rot, scale)
    mass = density / 4.0 * np.bincount(tets.ravel(), np.repeat(volumes(placed, tets), 4), len(placed))
    if fix is not None:
        mass = np.where(fix(rest), 0.0, mass)
    added = builder.add_particles(placed, vel, mass, particle_radius)
    mu, lam = lame(youngs_modulus, poissons_ratio)
    builder.add_tetrahedra(added.start + tets, mu, lam, k_damp)
    builder.add_triangles(added.start + surface(tets))
    return added


def block(dims: tuple[int, int, int], cells: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) [m] and tetrahedra (t, 4) of a block of cells."""
    nx, ny, nz = dims
    k, j, i = np.mgrid[0 : nz + 1, 0 : ny + 1, 0 : nx + 1]
    points = np.stack([i, j, k], axis=-1).reshape(-1, 3) * np.asarray(cells, float)
    return points, cell_tetrahedra(np.argwhere(np.ones((nx, ny, nz), bool)), (nx + 1, ny + 1))


def cell_tetrahedra(cells: np.ndarray, points: tuple[int, int]) -> np.ndarray:
    """Five tetrahedra for each cell (i, j, k) of a grid with so many points along x and y, (5 n, 4)."""
    i, j, k = cells.T
    corner = np.stack(
        [((k + z) * points[1] + j + y) * points[0] + i + x for z in (0, 1) for y in (0, 1) for x in (0, 1)], axis=1
    )
    even = ((i + j + k) % 2 == 0)[:, None, None]
    return np.where(even, corner[:, np.array(_EVEN)], corner[:, np.array(_ODD)]).reshape(-1, 4)


def volumes(points: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Of tetrahedra, (n,) [m^3]; negative where the fourth corner is below the others."""
    a, b, c, d = (points[tets[:, k]] for k in range(4))
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0


def surface(tets: np.ndarray) -> np.ndarray:
    """Faces (n, 3) of tetrahedra that have no neighbour behind them, counter-clockwise seen from outside."""
    faces = tets[:, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]].reshape(-1, 3)
    _, first, counts = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return faces[np.sort(first[counts == 1])]
