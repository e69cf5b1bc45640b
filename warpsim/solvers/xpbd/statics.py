"""How held bodies of tetrahedra bear their weight: the stresses at rest, for a uniform acceleration along each axis.

Linear elasticity on the rest shape, K psi = M a, solved once on the host. A body is what particles share through
tetrahedra; what holds it has mass 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csgraph, diags_array
from scipy.sparse.linalg import cg, splu

if TYPE_CHECKING:
    from ..scene.model import Model

_INERT = 1.0e-10  # of the highest eigenvalue: hinges have a solution too, that of what swings freely
_DIRECT = 10_000  # unknowns; factors of larger blocks take minutes and gigabytes
_TURNS = 2_000  # of conjugate gradients: patterns need not be exact, as bodies go along them by their present strains
_FAINT = 1.0e-6  # share of a body's mass below which nothing bears it
_PLACES = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))  # of the components of a symmetric matrix


class Patterns(NamedTuple):
    """Of all held bodies. tets, particles: the body of each, -1 for none. stress: volume times stress per acceleration
    along each axis, (tets, 3, 6) [kg m], in the order xx, yy, zz, yz, xz, xy."""

    tets: np.ndarray
    particles: np.ndarray
    stress: np.ndarray


class Elastic(NamedTuple):
    """Tetrahedra (tets, 4), masses of particles [kg], and of each tetrahedron: the inverse of its rest edges [1/m], its
    volume [m^3], Lame's parameters [Pa]."""

    tets: np.ndarray
    mass: np.ndarray
    pose: np.ndarray
    volume: np.ndarray
    mu: np.ndarray
    lam: np.ndarray


def patterns(model: Model) -> Patterns | None:
    """Of a model; None where no body is held. Equal worlds are solved once."""
    tets, mass = model.tet_indices.numpy().reshape(-1, 4), model.particle_mass.numpy()
    laws = (a.numpy() for a in (model.tet_pose, model.tet_volume, model.tet_mu, model.tet_lambda))
    whole = Elastic(tets, mass, *laws)
    if model.world_count == 1:
        return _patterns(whole)
    known: dict[Any, Patterns | None] = {}
    parts, bodies, rows = [], 0, model.world_rows
    for (p, end), (t, last) in zip(rows["particle"].tolist(), rows["tet"].tolist(), strict=True):
        own = Elastic(whole.tets[t:last] - p, whole.mass[p:end], *(a[t:last] for a in whole[2:]))
        key = tuple(a.tobytes() for a in own)
        if key not in known:
            known[key] = _patterns(own) if last > t else None
        one = known[key] or Patterns(np.full(last - t, -1), np.full(end - p, -1), np.zeros((last - t, 3, 6)))
        numbers = (np.where(body < 0, -1, body + bodies) for body in one[:2])
        parts.append(Patterns(*numbers, one.stress))
        bodies += int(one.particles.max(initial=-1)) + 1
    return Patterns(*(np.concatenate(column) for column in zip(*parts, strict=True))) if bodies else None


def _patterns(one: Elastic) -> Patterns | None:
    tets, mass = one.tets, one.mass.astype(np.float64)
    label = held_bodies(tets, mass, one.mu > 0.0)
    rows = np.flatnonzero(label[tets[:, 0]] >= 0)
    if not len(rows):
        return None
    strain, stiff = _laws(one, rows)
    places = (3 * tets[rows, :, None] + np.arange(3)).reshape(-1, 12)
    ways, borne = _ways(np.swapaxes(strain, 1, 2) @ stiff, places, np.repeat(label, 3), np.repeat(mass, 3))
    number = np.append(np.where(borne, np.cumsum(borne) - 1, -1), -1)
    stress = np.zeros((len(tets), 3, 6))
    stress[rows] = np.swapaxes(stiff @ ways[places], 1, 2)
    body = number[label]
    return Patterns(body[tets[:, 0]], body, stress) if borne.any() else None


def held_bodies(tets: np.ndarray, mass: np.ndarray, elastic: np.ndarray) -> np.ndarray:
    """The body of each particle, from 0 on; -1 where nothing is held, or nothing moves."""
    n, corners = len(mass), tets[elastic]
    edges = corners[:, [[0, 1], [0, 2], [0, 3]]].reshape(-1, 2)
    label = csgraph.connected_components(coo_array((np.ones(len(edges)), edges.T), shape=(n, n)), directed=False)[1]
    used = np.isin(np.arange(n), corners)
    held, free = (np.isin(label, label[used & which]) for which in (mass == 0.0, mass > 0.0))
    label = np.where(used & held & free, label, -1)
    return np.unique(np.append(label, -1), return_inverse=True)[1][:-1].reshape(-1) - 1


def _laws(one: Elastic, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Strains, and volume times stresses, by displacements of the corners: (rows, 6, 12) each; shears count twice."""
    pose, volume, mu, lam = (
        a[rows].astype(np.float64) for a in (one.pose, one.volume, one.mu, one.lam)
    )
    slopes = np.concatenate([-pose.sum(axis=1, keepdims=True), pose], axis=1)
    strain = np.zeros((len(rows), 6, 4, 3))
    for k, (i, j) in enumerate(_PLACES):
        strain[:, k, :, i] = slopes[:, :, j]
        strain[:, k, :, j] = slopes[:, :, i]
    law = mu[:, None, None] * np.diag([2.0, 2.0, 2.0, 1.0, 1.0, 1.0])
    law[:, :3, :3] += lam[:, None, None]
    strain = strain.reshape(-1, 6, 12)
    return strain, (volume[:, None, None] * law) @ strain


def _ways(blocks: np.ndarray, places: np.ndarray, body: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """psi of all particles (3 n, 3), 0 for what is held; whether bodies bear anything."""
    n = len(mass)
    used = np.flatnonzero((body >= 0) & (mass > 0.0))
    rows, columns = np.repeat(places, 12, axis=1).ravel(), np.tile(places, (1, 12)).ravel()
    stiffness = coo_array((blocks.ravel(), (rows, columns)), shape=(n, n)).tocsr()[used][:, used]
    highest, m = np.zeros(body.max() + 1), mass[used]
    np.maximum.at(highest, body[used], stiffness.diagonal() / m)
    inert = _INERT * highest[body[used]] * m
    load = m[:, None] * (used[:, None] % 3 == np.arange(3))
    ways = np.zeros((n, 3))
    ways[used] = _solve((stiffness + diags_array(inert)).tocsc(), load)
    carried = ((load - inert[:, None] * ways[used]) ** 2).sum(axis=1) / m
    return ways, np.bincount(body[used], carried) > _FAINT * np.bincount(body[used], m)


def _solve(matrix: Any, load: np.ndarray) -> np.ndarray:
    """Of a symmetric positive definite matrix, for three columns."""
    if len(load) <= _DIRECT:
        return splu(matrix, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve(load)
    about = diags_array(1.0 / matrix.diagonal())
    return np.stack([cg(matrix, b, rtol=1e-6, maxiter=_TURNS, M=about)[0] for b in load.T], axis=1)
