"""Maps of stretch and tension: principal values of each triangle, and the force in each spring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arguments import checked
from ..scene.checks import check_own
from ..scene.control import Control

if TYPE_CHECKING:
    from .statistics import XPBDStatistics


@checked
def principal_stretches(statistics: XPBDStatistics) -> np.ndarray:
    """Lengths per length at rest along the two principal directions of each triangle, (triangles, 2) [-], lower first.

    Singular values of the deformation gradient, of all worlds and also of triangles without stiffness. NaN where a
    corner is not finite.
    """
    f, finite = _gradients(statistics)
    f[finite, 0, :] = np.linalg.svd(f[finite], compute_uv=False)[:, ::-1]
    return f[:, 0, :]


@checked
def membrane_tension(statistics: XPBDStatistics) -> np.ndarray:
    """Principal tensions of each triangle, (triangles, 2) [N/m], lower first, below 0 where it is pressed together.

    Forces per present width, F S F^T / J, with S from Green's strain by the material's stiffness and Poisson's ratio
    (the Saint Venant-Kirchhoff membrane that the solver strains); 0 for triangles without stiffness. They are what
    strains ask for: membranes that the solver's iterations have not brought to rest read more than is borne. NaN
    where a corner is not finite.
    """
    f, finite = _gradients(statistics)
    tension = np.full((len(f), 2), np.nan)
    tension[finite] = _tensions(f[finite], statistics.model.tri_stiffness.numpy()[finite].astype(np.float64))
    return tension


def _tensions(f: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
    """Principal tensions (n, 2) [N/m] of deformation gradients (n, 3, 2), see `membrane_tension`."""
    warp, weft, shear, nu = stiffness.T
    strain = 0.5 * (np.swapaxes(f, 1, 2) @ f - np.eye(2))
    firm = (stiffness[:, :3] > 0.0).all(axis=1)
    scale = np.where(firm, 1.0 / (1.0 - nu * nu), 0.0)
    coupled = scale * nu * np.sqrt(warp * weft)
    along = scale * warp * strain[:, 0, 0] + coupled * strain[:, 1, 1]
    across = scale * weft * strain[:, 1, 1] + coupled * strain[:, 0, 0]
    aslant = np.where(firm, 2.0 * shear * strain[:, 0, 1], 0.0)
    stress = np.stack([along, aslant, aslant, across], axis=1).reshape(-1, 2, 2)
    flat = np.linalg.qr(f, mode="r")  # the same gradient, in the triangle's own plane
    area = np.abs(np.linalg.det(flat))[:, None, None]
    return np.asarray(np.linalg.eigvalsh(flat @ stress @ np.swapaxes(flat, 1, 2) / np.where(area > 0.0, area, 1.0)))


@checked
def spring_tension(statistics: XPBDStatistics, control: Control | None = None) -> np.ndarray:
    """The force with which each spring pulls at its ends, (springs,) [N], below 0 where it pushes.

    Elongation by compliance, without damping; NaN for springs without compliance, whose elongation tells nothing.
    control: whose activations shorten springs; None: the model at rest. Raises `StateError` for a control of another
    model.
    """
    model = statistics.model
    if control is not None:
        check_own(model, "control", control, Control)
    q, ends = statistics.state.particle_q.numpy().astype(np.float64), model.spring_indices.numpy()
    activation = (model.control() if control is None else control).spring_activation.numpy()
    rest = model.spring_rest_length.numpy() * (1.0 + activation.astype(np.float64))
    with np.errstate(invalid="ignore", over="ignore"):
        longer = np.linalg.norm(q[ends[:, 0]] - q[ends[:, 1]], axis=1) - rest
    compliance = model.spring_compliance.numpy().astype(np.float64)
    return np.divide(longer, compliance, out=np.full(len(longer), np.nan), where=compliance > 0.0)


def _gradients(statistics: XPBDStatistics) -> tuple[np.ndarray, np.ndarray]:
    """Of the present shapes of triangles by those at rest, (triangles, 3, 2), and which of them are finite; the others
    are NaN."""
    model = statistics.model
    q, corners = statistics.state.particle_q.numpy().astype(np.float64), model.tri_indices.numpy()
    with np.errstate(invalid="ignore", over="ignore"):  # whether NumPy warns of infinities depends on the processor
        sides = np.stack([q[corners[:, 1]] - q[corners[:, 0]], q[corners[:, 2]] - q[corners[:, 0]]], axis=2)
        f = np.asarray(sides @ model.tri_pose.numpy().astype(np.float64))
    finite = np.isfinite(f).all(axis=(1, 2))
    f[~finite] = np.nan
    return f, finite
