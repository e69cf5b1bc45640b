"""How many substeps strains and speeds of a state ask for: what `substeps` chooses from.

Strain: within one substep of h a constraint is as stiff as its material and the masses at its ends in series. It is
strained by F (alpha + h^2 w) where its material would be by F alpha, with the force F, the compliance alpha and the sum
w of inverse masses, each times its squared gradient. Of a strain that is there, too few substeps have made the part
h^2 w / (alpha + h^2 w), which falls with h^2.

Speed: how far things move relative to what they may touch in the step, in lengths that a substep is to stay below.

Nothing here has derivatives or is recorded: numbers of substeps are whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Array, Float, Vec, abs, array, array2d, determinant, dot, func, generic_struct, int32
from ...core.language import kernel, launch, length, matrix_from_cols, max, min, sqrt, tid, transpose, uint64, vec2i
from ...core.language import vec3i, vec4i, zeros
from ...geometry.bvh.query import bvh_get_group_root, bvh_query_aabb
from ..contact.gaps import face_gap
from ..contact.surface_trees import reach_of, single
from ..scene.cloth import edges as edges_of
from ..scene.shapes import for_shape, surface_velocity, to_shape

if TYPE_CHECKING:
    from ...core.frontend.functions.functions import Func
    from ..contact.contacts import Contacts
    from ..contact.surface_contacts import SurfaceContacts
    from ..scene.control import Control
    from ..scene.model import Model
    from ..scene.state import State

_QUARTER = 0.25  # of an edge: what others may move along it in a substep and still be seen to cross


def shortest_edges(model: Model) -> np.ndarray:
    """The shortest edge at rest at each particle, of springs, triangles and tetrahedra, (particles,) [m].

    Infinity where there is none.
    """
    q, sizes = model.particle_q.numpy().astype(np.float64), np.full(model.particle_count, np.inf)
    pairs = [model.spring_indices.numpy(), edges_of(model.tri_indices.numpy())]
    pairs += [model.tet_indices.numpy()[:, corners] for corners in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))]
    lengths = [np.linalg.norm(q[p[:, 0]] - q[p[:, 1]], axis=1) for p in pairs]
    lengths[0] = model.spring_rest_length.numpy().astype(np.float64)
    for ends, far in zip(pairs, lengths, strict=True):
        for side in (0, 1):
            np.minimum.at(sizes, ends[far > 0.0, side], far[far > 0.0])
    return sizes


# ----- strain -------------------------------------------------------------------------------------


def unsolved_strains(model: Model, state: State, control: Control, square: float) -> dict[str, tuple[np.ndarray, Any]]:
    """By what it is: the strain that too few substeps have left of each [-], and the particles of each.

    square: of the time of a substep, per iteration [s^2].
    """
    m, q, real = model, state.particle_q, model.dtype(square)
    rows: dict[str, tuple[Any, list[Any]]] = {
        "spring": (left_in_springs, [m.spring_indices, m.spring_rest_length, m.spring_compliance,
                                     control.spring_activation]),
        "triangle": (left_in_triangles, [m.tri_indices, m.tri_pose, m.tri_stiffness, m.tri_area]),
        "tetrahedron": (left_in_tetrahedra, [m.tet_indices, m.tet_pose, m.tet_volume, m.tet_mu, m.tet_lambda]),
    }  # fmt: skip
    strains = {}
    for what, (measure, table) in rows.items():
        left = zeros(len(table[0]), m.dtype, m.device)
        if left.size:
            launch(measure, left.size, [*table, m.particle_mass, q, real, left], device=m.device, record_tape=False)
            strains[what] = (_finite(left), table[0])
    return strains


@func
def lightness(mass: Any) -> Any:
    """One by the mass; 0 of what is held."""
    inverse = mass * 0.0
    if mass > 0.0:
        inverse = 1.0 / mass
    return inverse


@kernel(enable_backward=False)
def left_in_springs(
    pairs: array(dtype=vec2i), rest: array(dtype=Any), compliance: array(dtype=Any), activation: array(dtype=Any),
    mass: array(dtype=Any), q: array(dtype=Any), square: Any, left: array(dtype=Any),
):  # fmt: skip
    c = tid()
    i, j = pairs[c][0], pairs[c][1]
    relaxed = rest[c] * (1.0 + activation[c])
    apparent = square * (lightness(mass[i]) + lightness(mass[j]))
    if relaxed > 0.0 and apparent > 0.0:
        left[c] = abs(length(q[i] - q[j]) / relaxed - 1.0) * apparent / (compliance[c] + apparent)


@kernel(enable_backward=False)
def left_in_triangles(
    corners: array(dtype=vec3i), pose: array(dtype=Any), stiffness: array(dtype=Any), area: array(dtype=Any),
    mass: array(dtype=Any), q: array(dtype=Any), square: Any, left: array(dtype=Any),
):  # fmt: skip
    """Of the principal stretch that differs most from 1."""
    c = tid()
    i, j, k = corners[c][0], corners[c][1], corners[c][2]
    p, e = pose[c], stiffness[c]
    stiff = max(e[0], e[1])
    if min(e[0], e[1]) > 0.0:
        a, b = q[j] - q[i], q[k] - q[i]
        u, v = a * p[0, 0] + b * p[1, 0], a * p[0, 1] + b * p[1, 1]
        middle, half = 0.5 * (dot(u, u) + dot(v, v)), 0.5 * (dot(u, u) - dot(v, v))
        turn = sqrt(half * half + dot(u, v) * dot(u, v))
        strain = max(sqrt(middle + turn) - 1.0, 1.0 - sqrt(max(middle - turn, 0.0 * turn)))
        one, two = p[0, 0] * p[0, 0] + p[0, 1] * p[0, 1], p[1, 0] * p[1, 0] + p[1, 1] * p[1, 1]
        both = one + two + 2.0 * (p[0, 0] * p[1, 0] + p[0, 1] * p[1, 1])
        weight = lightness(mass[i]) * both + lightness(mass[j]) * one + lightness(mass[k]) * two
        apparent = square * weight * stiff * area[c]
        left[c] = strain * apparent / (1.0 + apparent)


@kernel(enable_backward=False)
def left_in_tetrahedra(
    corners: array(dtype=vec4i), pose: array(dtype=Any), volume: array(dtype=Any), mu: array(dtype=Any),
    lam: array(dtype=Any), mass: array(dtype=Any), q: array(dtype=Any), square: Any, left: array(dtype=Any),
):  # fmt: skip
    """Of a stretch with the size of Green's strain; with its volume inverted, of all of it."""
    c = tid()
    k, p = corners[c], pose[c]
    f = matrix_from_cols(q[k[1]] - q[k[0]], q[k[2]] - q[k[0]], q[k[3]] - q[k[0]]) @ p
    green = 0.5 * (transpose(f) @ f)
    total, weight = square * 0.0, square * 0.0
    first = p[0] + p[1] + p[2]
    for row in range(3):
        green[row, row] = green[row, row] - 0.5
        total = total + dot(green[row], green[row])
        weight = weight + lightness(mass[k[row + 1]]) * dot(p[row], p[row])
    weight = weight + lightness(mass[k[0]]) * dot(first, first)
    strain = sqrt(1.0 + 2.0 * sqrt(total)) - 1.0
    if determinant(f) < 0.0:
        strain = max(strain, square * 0.0 + 1.0)
    apparent = square * weight * (2.0 * mu[c] + lam[c]) * volume[c]
    left[c] = strain * apparent / (1.0 + apparent)


# ----- speed --------------------------------------------------------------------------------------


def shape_motions(
    model: Model, state: State, control: Control, sizes: array, fall: float, dt: float
) -> list[np.ndarray]:
    """Of each group of shapes: how many half edges each particle that may reach that of its world in the step moves
    along it, (particles,)."""
    motions, real = [], model.dtype
    particles = [model.particle_mass, model.particle_radius, sizes, state.particle_q, state.particle_qd]
    moving = Moving[real](*particles, real(fall), real(dt))
    for group in model.shape_groups:
        moved, s = zeros(model.particle_count, model.dtype, model.device), group.shape
        surface = [control.shape_transform, control.shape_velocity, model.shape_margin, model.shape_scale]
        shape = [group.numbers, model.particle_world, *surface]
        arguments = [*shape, model.shape_source[s], model.shape_heights[s], moving, moved]
        launch(_motion_kernel(model.shape_type[s]), model.particle_count, arguments, device=model.device,
               record_tape=False)  # fmt: skip
        motions.append(_finite(moved))
    return motions


@generic_struct
class Moving:
    """Particles that move for a time dt [s], and faster by `fall` [m/s] than now; sizes as in `shortest_edges` [m]."""

    mass: Array[Float]
    radius: Array[Float]
    sizes: Array[Float]
    q: Array[Vec[3, Float]]
    qd: Array[Vec[3, Float]]
    fall: Float
    dt: Float


@for_shape
def _motion_kernel(distance: Func) -> Any:
    @kernel(enable_backward=False)
    def move_along(
        numbers: array(dtype=int32), world: array(dtype=int32), pose: array(dtype=Any), twist: array(dtype=Any),
        margin: array(dtype=Any), scale: array(dtype=Any), source: uint64, heights: array(dtype=Any, ndim=2), p: Any,
        moved: array(dtype=Any),
    ):  # fmt: skip
        i = tid()
        s = numbers[world[i]]
        if s >= 0 and p.mass[i] > 0.0 and p.sizes[i] > 0.0:
            way = p.dt * (length(p.qd[i] - surface_velocity(pose[s], twist[s], p.q[i])) + p.fall)
            reach = way + p.radius[i] + margin[s]
            away, _ = distance(to_shape(pose[s], p.q[i]), scale[s], source, heights, reach)
            if away < reach:
                moved[i] = 2.0 * way / p.sizes[i]

    return move_along


def surface_motions(contacts: SurfaceContacts, state: State, mean: object, sizes: array, dt: float) -> np.ndarray:
    """How far each edge moves along triangles that it may reach in the step, (edges,).

    In quarters of the shorter edges of both, or halves of their thickness where that is less. mean: velocity without
    which everything moves less [m/s].
    """
    m, device = contacts.model, contacts.model.device
    rest, radius, real = m.particle_q, m.particle_radius, m.dtype
    relative, moved = zeros(m.particle_count, m.vec3, device), zeros(len(contacts.edges), m.dtype, device)
    launch(subtract, m.particle_count, [state.particle_qd, mean, relative], device=device, record_tape=False)
    contacts.trees.move(state.particle_q, relative, dt)
    tree = [contacts.trees.of_faces.id, m.tri_indices, contacts.edges]
    places = [m.particle_world, state.particle_q, relative, rest, radius]
    arguments = [*tree, *places, contacts.margin, sizes, real(dt), moved]
    launch(move_over, moved.size, arguments, device=device, record_tape=False)
    return _finite(moved)


@kernel(enable_backward=False)
def subtract(qd: array(dtype=Any), mean: Any, relative: array(dtype=Any)):
    i = tid()
    relative[i] = qd[i] - mean


@kernel(enable_backward=False)
def move_over(
    tree: uint64, faces: array(dtype=vec3i), ends: array(dtype=vec2i), world: array(dtype=int32), q: array(dtype=Any),
    qd: array(dtype=Any), rest: array(dtype=Any), radius: array(dtype=Any), margin: Any, sizes: array(dtype=Any),
    dt: Any, moved: array(dtype=Any),
):  # fmt: skip
    """The largest over triangles without a corner in common whose boxes meet, and which were apart at rest."""
    e = tid()
    i, j = ends[e][0], ends[e][1]
    low, high = min(single(q[i]), single(q[j])), max(single(q[i]), single(q[j]))
    then, there = single(q[i] + dt * qd[i]), single(q[j] + dt * qd[j])
    low, high = min(low, min(then, there)), max(high, max(then, there))
    more = reach_of(low, high, max(radius[i], radius[j]) + margin)
    most = dt * 0.0
    for t in bvh_query_aabb(tree, low - more, high + more, bvh_get_group_root(tree, world[i])):
        a, b, c = faces[t][0], faces[t][1], faces[t][2]
        if world[i] == world[a] and i != a and i != b and i != c and j != a and j != b and j != c:
            one = max(length(qd[i] - qd[a]), max(length(qd[i] - qd[b]), length(qd[i] - qd[c])))
            two = max(length(qd[j] - qd[a]), max(length(qd[j] - qd[b]), length(qd[j] - qd[c])))
            touch = max(radius[i], radius[j]) + max(radius[a], max(radius[b], radius[c]))
            size = min(min(sizes[i], sizes[j]), min(sizes[a], min(sizes[b], sizes[c])))
            apart = face_gap(rest[i], rest[a], rest[b], rest[c])
            if dot(apart, apart) > touch * touch:
                most = max(most, dt * max(one, two) / min(0.5 * touch, _QUARTER * size))
    moved[e] = most


def ball_motions(contacts: Contacts, state: State, dt: float) -> np.ndarray:
    """How many of its radii each particle moves relative to those near it, (particles,)."""
    m = contacts.model
    contacts.begin_step(state.particle_q, state.particle_qd, dt)
    moved = zeros(m.particle_count, m.dtype, m.device)
    near = [contacts.neighbors, contacts.counts, m.particle_radius]
    launch(move_by, m.particle_count, [*near, state.particle_qd, m.dtype(dt), moved], device=m.device,
           record_tape=False)  # fmt: skip
    return _finite(moved)


@kernel(enable_backward=False)
def move_by(
    near: array2d(dtype=int32), counts: array(dtype=int32), radius: array(dtype=Any), qd: array(dtype=Any), dt: Any,
    moved: array(dtype=Any),
):  # fmt: skip
    i = tid()
    for n in range(min(counts[i], near.shape[1])):
        j = near[i, n]
        touch = radius[i] + radius[j]
        if touch > 0.0:
            moved[i] = max(moved[i], 2.0 * dt * length(qd[i] - qd[j]) / touch)


def _finite(demand: array) -> np.ndarray:
    """On the host; what is not finite asks for nothing: no number of substeps helps it."""
    listed = demand.numpy().astype(np.float64)
    return np.where(np.isfinite(listed), listed, 0.0)
