"""What can be said of a state of cloth and soft bodies: strain, volume, and what the common statistics have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...forks import cached_property
from ...core.language import array, float64, vec2i, vec4i
from ...core.language import determinant, kernel, launch, length, matrix_from_cols, tid, zeros
from ..contact.crossings import deepest_edge, deepest_inside, first_crossing
from ..particles.statistics import ParticleStatistics
from ..scene.pressure import volume_inside
from ..scene.riding import Riding
from ..scene.world_rows import of_world
from .substeps import SubstepChoice

if TYPE_CHECKING:
    from ..scene.control import Control
    from ..scene.model import Model
    from ..scene.state import State


OVERSTRAINED = 0.5
"""Strain of springs and membranes above which they are named."""
_TORN = 10.0  # strain of a spring
_SWOLLEN, _CRUSHED = 30.0, 0.1  # volumes per rest volume
_CURE = "help: more substeps, less stiffness, or look for particles that start inside of each other"


class XPBDStatistics(ParticleStatistics):
    """Adds strains of springs and volume ratios of tetrahedra; every number is computed when it is first read.

    substeps: those of the step that made the state, where they were chosen; see `SubstepChoice`.
    """

    def __init__(self, model: Model, state: State, substeps: SubstepChoice | None = None):
        super().__init__(model, state)
        self.substeps = substeps

    @cached_property
    def spring_strain(self) -> np.ndarray:
        """Relative elongation of each spring, (springs,) [-]; 0 for rest lengths of 0."""
        m = self.model
        strain = zeros(m.spring_count, float64, m.device)
        args = [m.spring_indices, m.spring_rest_length, self.state.particle_q, strain]
        launch(measure_strain, m.spring_count, args, device=m.device, record_tape=False)
        return strain.numpy().copy()

    @property
    def max_strain(self) -> float:
        """The largest magnitude of a strain [-]; 0 without springs."""
        return float(np.abs(self.spring_strain).max(initial=0.0))

    @property
    def mean_strain(self) -> float:
        """The mean magnitude of strains [-]; 0 without springs."""
        return float(np.abs(self.spring_strain).mean()) if self.model.spring_count else 0.0

    @cached_property
    def membrane_strain(self) -> np.ndarray:
        """The principal strain of the largest magnitude of each triangle, (triangles,) [-]; 0 of those without
        stiffness. Strains are relative elongations: principal stretches, less one."""
        m = self.model
        q, corners = self.state.particle_q.numpy().astype(np.float64), m.tri_indices.numpy()
        sides = np.stack([q[corners[:, 1]] - q[corners[:, 0]], q[corners[:, 2]] - q[corners[:, 0]]], axis=2)
        f = sides @ m.tri_pose.numpy()
        c = np.swapaxes(f, 1, 2) @ f
        middle, half = 0.5 * (c[:, 0, 0] + c[:, 1, 1]), np.hypot(0.5 * (c[:, 0, 0] - c[:, 1, 1]), c[:, 0, 1])
        stretches = np.sqrt(np.maximum(np.stack([middle - half, middle + half], axis=1), 0.0))
        strain = np.take_along_axis(stretches, np.abs(stretches - 1.0).argmax(axis=1)[:, None], axis=1)[:, 0] - 1.0
        return np.where((m.tri_stiffness.numpy()[:, :3] > 0.0).all(axis=1), strain, 0.0)

    def overstrained(self, most: float = OVERSTRAINED) -> str | None:
        """The spring or membrane that is strained most, and what helps, if by more than `most` [-]; else None."""
        m, worst = self.model, []
        for what, strain, corners in (
            ("spring", self.spring_strain, m.spring_indices), ("triangle", self.membrane_strain, m.tri_indices),
        ):  # fmt: skip
            if strain.size:
                row = int(np.abs(strain).argmax())
                particles = corners.numpy()[row]
                name = f"{what} {row}{of_world(m, particles[0])}, of particles {particles.tolist()},"
                worst.append((abs(strain[row]), f"{name} has a strain of {strain[row]:.3g}"))
        size, problem = max(worst, default=(0.0, ""))
        return f"{problem}\nexpected: at most {most:g}\n{_CURE}" if size > most else None

    def crossed(self, control: Control | None = None) -> str | None:
        """What has passed through something, and what helps; else None.

        That is the first edge of triangles that goes through another triangle, or the particle that is deepest in a
        shape: all of it, and neither held nor attached; or the edge that is. control: says where shapes are; None:
        where the model has them.
        """
        m = self.model
        placed = Riding(m).place(m.control() if control is None else control, self.state)
        q, poses = self.state.particle_q, placed.shape_transform
        return first_crossing(m, q) or deepest_inside(m, q, poses) or deepest_edge(m, q, poses)

    @cached_property
    def volume_ratio(self) -> np.ndarray:
        """Volume per rest volume of each tetrahedron, (tetrahedra,) [-]; negative where one is inverted."""
        m = self.model
        ratio = zeros(m.tet_count, float64, m.device)
        args = [m.tet_indices, m.tet_pose, self.state.particle_q, ratio]
        launch(measure_volume, m.tet_count, args, device=m.device, record_tape=False)
        return ratio.numpy().copy()

    @cached_property
    def enclosed_volume(self) -> np.ndarray:
        """Volume inside of each surface with pressure, (pressures,) [m^3]."""
        q = self.state.particle_q.numpy().astype(np.float64)
        return np.array([volume_inside(q, faces) for faces in self.model.pressure_faces])

    @property
    def diverged(self) -> bool:
        """Whether a number is NaN or infinite, a spring is torn to more than eleven times its length, or a body has
        swollen or shrunk as no body does; `divergence` says where."""
        return self.divergence is not None

    @cached_property
    def divergence(self) -> str | None:
        """What has diverged and what helps, or None."""
        if self.first_not_finite is not None:
            first = self.first_not_finite
            return f"particle {first}{of_world(self.model, first)} has numbers that are not finite\n{_CURE}"
        if self.max_strain > _TORN:
            spring = int(np.abs(self.spring_strain).argmax())
            name = f"spring {spring}{of_world(self.model, self.model.spring_indices.numpy()[spring, 0])}"
            return f"{name} has a strain of {self.spring_strain[spring]:.3g}\n{_CURE}"
        if self.model.tet_count:
            tet = int(self.volume_ratio.argmax())
            if self.volume_ratio[tet] > _SWOLLEN:
                name = f"tetrahedron {tet}{of_world(self.model, self.model.tet_indices.numpy()[tet, 0])}"
                return f"{name} has {self.volume_ratio[tet]:.3g} times its volume\n{_CURE}"
            if self.total_volume_ratio < _CRUSHED:
                tet = int(self.volume_ratio.argmin())
                return f"all tetrahedra have {self.total_volume_ratio:.3g} of their volume, least number {tet}\n{_CURE}"
        return None

    @property
    def total_volume_ratio(self) -> float:
        """Volume of all tetrahedra per that at rest [-]; NaN without any."""
        rest = self.model.tet_volume.numpy().astype(np.float64)
        return float(self.volume_ratio @ rest / rest.sum()) if len(rest) else float("nan")


@kernel
def measure_strain(
    pairs: array(dtype=vec2i), rest: array(dtype=Any), q: array(dtype=Any), strain: array(dtype=float64)
):  # fmt: skip
    c = tid()
    if rest[c] > 0.0:
        strain[c] = float64(length(q[pairs[c][0]] - q[pairs[c][1]]) / rest[c]) - 1.0


@kernel
def measure_volume(
    corners: array(dtype=vec4i), pose: array(dtype=Any), q: array(dtype=Any), ratio: array(dtype=float64)
):  # fmt: skip
    c = tid()
    k = corners[c]
    o = q[k[0]]
    ratio[c] = float64(determinant(matrix_from_cols(q[k[1]] - o, q[k[2]] - o, q[k[3]] - o) @ pose[c]))
