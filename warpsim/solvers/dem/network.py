"""The network of contacts after a step: who touches whom, how hard, which grains are held, and chains of force."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ...arguments import checked
from ...errors import StateError
from ..particles.gauge_rows import gauge_rows
from ..scene.checks import check_own, refuse
from ..scene.control import Control
from .contact_forces import Touches, pair_touches, wall_touches
from .statistics import check_not_recalled

if TYPE_CHECKING:
    from .solver import SolverDEM
    from .statistics import GrainStatistics


class ContactNetwork(NamedTuple):
    """Contacts of grains with each other and with walls.

    grains: numbers of all that are looked at, touching or not, (n,). points: where all particles of the model are
    (particles, 3) [m]; radii (particles,) [m].
    pairs: numbers of two grains that touch, (c, 2), each pair once. branch: from the first to the second (c, 3) [m], by
    the nearest image. force: on the first (c, 3) [N]; pressing: its part along the branch (c,) [N], above 0 where both
    press on each other.
    walls: numbers of all shapes that are looked at, touching or not, (m,).
    wall_grain, wall_shape: numbers of a grain and a shape that touch, (w,). wall_point: where (w, 3) [m]. wall_force:
    on the grain (w, 3) [N]; wall_pressing: its part across the wall (w,) [N], above 0 away from it.
    """

    grains: np.ndarray
    points: np.ndarray
    radii: np.ndarray
    pairs: np.ndarray
    branch: np.ndarray
    force: np.ndarray
    pressing: np.ndarray
    walls: np.ndarray
    wall_grain: np.ndarray
    wall_shape: np.ndarray
    wall_point: np.ndarray
    wall_force: np.ndarray
    wall_pressing: np.ndarray

    def contacts_of_grains(self) -> np.ndarray:
        """How many other grains each particle touches, int (particles,)."""
        return np.bincount(self.pairs.ravel(), minlength=len(self.points))


@checked
def contact_network(
    statistics: GrainStatistics, world: int | None = None, control: Control | None = None
) -> ContactNetwork:
    """All contacts of a state that a step of the solver ended with, and their forces by the solver's own law.

    Forces are those at the end of the step: springs of friction as they were wound, and dashpots. control: that of the
    step, for velocities of walls; None: the model at rest.

    Raises `StateError` before the first step, also of a solver out of a saved scene, for a state that is not that of
    the last step, and for a control of another model; `ModelError` for a world that is none, or is not named where
    there are several.
    """
    solver, state, rows = statistics.solver, statistics.state, gauge_rows(statistics, world)
    _check_last(solver, state.particle_q.numpy(), rows)
    if control is not None:
        check_own(solver.model, "control", control, Control)
    control = solver._riding.place(solver.resting if control is None else control, state)
    groups = range(len(solver.model.shape_groups))
    pairs = _of_grains(pair_touches(solver), rows)
    walls = [_of_grains(wall_touches(solver, group, control), rows) for group in groups]
    empty = [column[:0] for column in pairs]
    wall = Touches(*(np.concatenate(columns) for columns in zip(empty, *walls, strict=True)))
    points, shape_world = state.particle_q.numpy().astype(np.float64), solver.model.shape_world.numpy()
    own = statistics.model.world(world).number if world is not None else 0
    return ContactNetwork(
        rows, points, solver.model.particle_radius.numpy().astype(np.float64),
        np.stack([pairs.grain, pairs.partner], axis=1), -pairs.gap[:, None] * pairs.normal, pairs.force, _across(pairs),
        np.flatnonzero((shape_world == own) | (shape_world < 0)),
        wall.grain, wall.partner, wall.place + np.array(solver.origin, dtype=np.float64), wall.force, _across(wall),
    )  # fmt: skip


def _of_grains(touches: Touches, rows: np.ndarray) -> Touches:
    """Those of some grains."""
    own = np.isin(touches.grain, rows)
    return Touches(*(column[own] for column in touches))


def _across(touches: Touches) -> np.ndarray:
    """Forces along the normals, (n,) [N]."""
    return np.einsum("ij,ij->i", touches.force, touches.normal)


def _check_last(solver: SolverDEM, q: np.ndarray, rows: np.ndarray) -> None:
    """Raise `StateError` for positions that are not those of the solver's last step."""
    check_not_recalled(solver)
    if not solver.steps:
        raise StateError("the solver has made no step, so that it knows no contacts\nhelp: step once, however shortly")
    there = np.empty_like(q)
    there[solver._grains.number.numpy()] = solver._grains.q.numpy()[:, :3] + np.array(solver.origin, dtype=q.dtype)
    away = np.abs(q[rows] - there[rows]).max(initial=0.0)
    if away > 0.1 * float(solver.model.particle_radius.numpy().min(initial=np.inf)):
        raise StateError(
            f"grains are up to {away:.3g} m from where the solver's last step left them\n"
            "expected: the state that this step ended with, as contacts are those of the last step"
        )


@checked
def rattlers(network: ContactNetwork, least: int = 2) -> np.ndarray:
    """Which grains are not held, bool (particles,): those with fewer than `least` contacts, with walls or with other
    grains that are no rattlers either.

    least: 2 for rough grains, of which one contact holds none (C. Thornton 2000, Geotechnique 50, 43); 4 for smooth
    balls in space (C. O'Hern et al. 2003, Phys. Rev. E 68, 011306).

    Raises `ModelError` for a number below 0.
    """
    refuse(((least < 0, f"least is {least}", "0 or more contacts"),))
    size = len(network.points)
    at_walls = np.bincount(network.wall_grain, minlength=size)
    loose = np.ones(size, dtype=bool)
    loose[network.grains] = False
    while True:
        firm = ~loose[network.pairs].any(axis=1)
        contacts = at_walls + np.bincount(network.pairs[firm].ravel(), minlength=size)
        more = ~loose & (contacts < least)
        if not more.any():
            break
        loose |= more
    own = np.zeros(size, dtype=bool)
    own[network.grains] = True
    return loose & own


@checked
def coordination_number(network: ContactNetwork, least: int = 0) -> float:
    """Contacts with other grains per grain [-]; NaN without any.

    least: 0 counts all grains; above, `rattlers` with this many and their contacts are left out: the mechanical
    coordination number.

    Raises `ModelError` for a number below 0.
    """
    held = np.zeros(len(network.points), dtype=bool)
    held[network.grains] = True
    held &= ~rattlers(network, least)
    count = np.count_nonzero(held)
    return 2.0 * np.count_nonzero(held[network.pairs].all(axis=1)) / count if count else float("nan")


@checked
def grain_stress(network: ContactNetwork) -> np.ndarray:
    """The mean stress in each grain, (particles, 3, 3) [Pa], pressure above 0.

    Forces on the grain times the way from its centre to where they act, over its volume; symmetric part
    (J. Christoffersen, M. Mehrabadi, S. Nemat-Nasser 1981, J. Appl. Mech. 48, 339). Contacts lie where the radii divide
    the way from centre to centre.
    """
    first, second = network.pairs.T
    part = (network.radii[first] / (network.radii[first] + network.radii[second]))[:, None]
    arms = np.concatenate([part * network.branch, (part - 1.0) * network.branch])
    arms = np.concatenate([arms, network.wall_point - network.points[network.wall_grain]])
    forces = np.concatenate([network.force, -network.force, network.wall_force])
    moments = np.zeros((len(network.points), 3, 3))
    np.add.at(moments, np.concatenate([first, second, network.wall_grain]), -arms[:, :, None] * forces[:, None, :])
    stress = 0.5 * (moments + np.swapaxes(moments, 1, 2))
    return np.asarray(stress / (4.0 / 3.0 * np.pi * network.radii**3)[:, None, None])


@checked
def force_chains(network: ContactNetwork, angle: float = 45.0, least: int = 3) -> list[np.ndarray]:
    """Chains of grains that carry more than the others: the numbers of the grains of each, the longest first.

    Links are contacts between two grains of which the largest principal stress is above the mean of all, and lies
    within `angle` [deg] of the contact in both; chains are at least `least` grains so linked (J. Peters, M. Muthuswamy,
    J. Wibowo, A. Tordesillas 2005, Phys. Rev. E 72, 041307). Where chains meet, they are one.

    Raises `ModelError` for an angle that is not above 0, up to 90, and for chains of fewer than 2.
    """
    refuse(
        (
            (not 0.0 < angle <= 90.0, f"angle is {angle}", "above 0, up to 90 [deg]"),
            (least < 2, f"least is {least}", "2 or more grains"),
        )
    )
    stress, axes = np.linalg.eigh(grain_stress(network))
    largest, toward = stress[:, 2], axes[:, :, 2]
    strong = largest > (largest[network.grains].mean() if len(network.grains) else 0.0)
    way = network.branch / np.linalg.norm(network.branch, axis=1, keepdims=True)
    aligned = np.abs(np.einsum("ckj,cj->ck", toward[network.pairs], way)) >= np.cos(np.radians(angle))
    links = network.pairs[(strong[network.pairs] & aligned).all(axis=1)]
    graph = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=2 * (len(network.points),))
    of = connected_components(graph, directed=False)[1]
    order = np.argsort(of, kind="stable")
    chains = np.split(order, np.flatnonzero(np.diff(of[order])) + 1)
    return sorted((chain for chain in chains if len(chain) >= least), key=lambda chain: -len(chain))
