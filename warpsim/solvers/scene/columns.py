"""`Columns`: what the arrays of a model begin with, computed from the tables of a builder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...forks import cached_property
from . import bends, cloth, inertia, worlds

if TYPE_CHECKING:
    from .builder import ModelBuilder


class Columns:
    """Rows for each `Field` of a model: `columns["particles.mass"]` is a column of the builder's table of particles,
    `columns["tri_pose"]` what this class computes under that name."""

    def __init__(self, builder: ModelBuilder):
        self.builder = builder

    def __getitem__(self, path: str) -> np.ndarray:
        table, _, column = path.partition(".")
        rows: np.ndarray = getattr(self.builder, table)[column] if column else getattr(self, table)
        return rows

    @property
    def gravity(self) -> np.ndarray:
        own = np.array([self.builder.gravity * self.builder.up])
        return self.builder.worlds["gravity"] if self.builder.worlds.count else own

    @property
    def particle_world(self) -> np.ndarray:
        return worlds.of_each(self.builder, "particles")

    @property
    def shape_world(self) -> np.ndarray:
        return worlds.of_shapes(self.builder)

    # ----- bodies ---------------------------------------------------------------------------------

    @cached_property
    def _masses(self) -> inertia.Masses:
        """Masses, centres and inertias of bodies."""
        return inertia.of_bodies(self.builder)

    @property
    def body_mass(self) -> np.ndarray:
        return self._masses.mass

    @property
    def body_com(self) -> np.ndarray:
        return self._masses.com

    @property
    def body_inertia(self) -> np.ndarray:
        return self._masses.inertia

    @property
    def body_world(self) -> np.ndarray:
        return worlds.of_each(self.builder, "bodies")

    # ----- bending --------------------------------------------------------------------------------

    @property
    def edge_weights(self) -> np.ndarray:
        return cloth.cotangent_weights(self.builder.edges["shape"])

    @cached_property
    def bends(self) -> bends.Bends:
        """Triangles that bend."""
        table, held, world = self.builder.edges, self.builder.particles["mass"] == 0.0, self.particle_world
        quads, shapes, numbers = table["indices"], table["shape"], np.arange(self.builder.worlds.count + 1)
        of = world[quads]
        if len(numbers) < 3 or (of != of[:, :1]).any() or (np.diff(of[:, 0]) < 0).any():  # which models refuse
            return bends.elements(quads, shapes, held)
        firsts, edges = np.searchsorted(world, numbers), np.searchsorted(of[:, 0], numbers)
        return bends.elements_by_world(quads, shapes, held, firsts, edges)

    @property
    def bend_indices(self) -> np.ndarray:
        return self.bends.indices

    @property
    def bend_edges(self) -> np.ndarray:
        return self.bends.edges

    @property
    def bend_turns(self) -> np.ndarray:
        return self.bends.turns

    @property
    def bend_flexibility(self) -> np.ndarray:
        return self.bends.flexibility

    # ----- triangles and tetrahedra ---------------------------------------------------------------

    @cached_property
    def _tri_frames(self) -> np.ndarray:
        """Edges of triangles at rest, as columns, (triangles, 2, 2) [m]."""
        rest = self.builder.triangles["rest"].reshape(-1, 3, 2)
        return np.stack([rest[:, 1] - rest[:, 0], rest[:, 2] - rest[:, 0]], axis=2)

    @property
    def tri_area(self) -> np.ndarray:
        return 0.5 * np.linalg.det(self._tri_frames)

    @property
    def tri_pose(self) -> np.ndarray:
        frames = self._tri_frames.copy()
        frames[~(self.tri_area > 0.0)] = np.eye(2)  # without stiffness a triangle may have any shape
        return np.linalg.inv(frames)

    @property
    def tri_stiffness(self) -> np.ndarray:
        table = self.builder.triangles
        return np.column_stack([table["ke"], table["shear"], table["nu"]])

    @cached_property
    def _tet_frames(self) -> np.ndarray:
        """Edges of tetrahedra at rest, as columns, (tetrahedra, 3, 3) [m]."""
        rest = self.builder.tetrahedra["rest"].reshape(-1, 4, 3)
        return np.swapaxes(rest[:, 1:] - rest[:, :1], 1, 2)

    @property
    def tet_pose(self) -> np.ndarray:
        return np.linalg.inv(self._tet_frames)

    @property
    def tet_volume(self) -> np.ndarray:
        return np.linalg.det(self._tet_frames) / 6.0
