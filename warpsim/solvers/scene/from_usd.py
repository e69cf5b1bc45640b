"""Prims of a USD stage as cloth, soft bodies, obstacles and particles of a model, and what was made of them.

Which prim becomes what is said by patterns, or by the schemas of physics in the file. Obstacles follow the file's
animation: closed meshes and solids that move rigidly are shapes; meshes that deform, and open ones, are triangles
between particles of mass 0, which `SurfaceContacts` feel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked
from ...core.language import array, int32, vec3
from ...errors import ModelError, StateError, counted
from ...geometry.mesh.mesh import Mesh
from ...usd.layer import UsdLayerWriter
from ...usd.movement import DEFORMING, STILL
from ...usd.stage_scene import UsdPrim, UsdScene, read_scene
from .shape_builder import ShapeConfig
from .closed import check_closed
from .cloth import areas
from .solids import add_solid
from .soft import volumes

if TYPE_CHECKING:
    from ...core.runtime.devices.device import DeviceLike
    from .builder import ModelBuilder
    from .control import Control
    from .state import State

Choice = str | Sequence[str] | Mapping[str, Mapping[str, Any]] | None

_WORLD = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 1.0)  # where vertices in metres of the world stand
_ROLES = {"cloth": "cloth", "soft": "soft", "collider": "colliders"}  # of files, and our arguments for them
_SHEET = {"density": 0.2, "spring_ke": 1.0e4, "edge_ke": 1.0e-5}  # cotton: [kg/m^2], [N/m], [N m]
_WATER = 1000.0  # [kg/m^3]
_LISTED = 8


@dataclass(eq=False, repr=False)
class UsdBodies:
    """What `ModelBuilder.add_usd` made of a scene, by the paths of prims.

    scene: as it was read. particles: the particle of each point, -1 for points that no face uses; of simulated prims
    and of obstacles that are surfaces. shapes: numbers of obstacles. simulated: paths of what `write` writes.
    """

    scene: UsdScene
    particles: dict[str, np.ndarray] = field(default_factory=dict)
    shapes: dict[str, int] = field(default_factory=dict)
    simulated: list[str] = field(default_factory=list)
    turns: dict[str, np.ndarray] = field(default_factory=dict)

    def __repr__(self) -> str:
        numbers = [f"{path}: {counted(int((own >= 0).sum()), 'particle')}" for path, own in self.particles.items()]
        numbers += [f"{path}: shape {shape}" for path, shape in self.shapes.items()]
        return f"<UsdBodies {', '.join(numbers)}>"

    @checked
    def move(self, state: State, control: Control | None, seconds: float, dt: float) -> None:
        """Put obstacles where the file has them at a time [s], with the velocities that carry them to where it has
        them `dt` [s] later; to be called before each step of `dt`.

        Shapes get poses and twists of the control, surfaces positions and velocities of their particles in the state.
        Raises `StateError` without a control where shapes move.
        """
        if not dt > 0.0:
            raise StateError(f"dt is {dt}\nexpected: above 0 [s]")
        for path, shape in self.shapes.items():
            if self.scene[path].motion != STILL:
                if control is None:
                    raise StateError(f"{path} moves and there is no control\nexpected: model.control()")
                pose, twist = self.scene.pose(path, seconds), self.scene.twist(path, seconds, dt)
                turn = _product(pose[3:], self.turns[path])
                control.set_shape(shape, pose[:3], turn, twist[3:], twist[:3])
        surfaces = [p for p in self.particles if p not in self.simulated and self.scene[p].motion != STILL]
        if surfaces:
            q, qd = state.particle_q.numpy().copy(), state.particle_qd.numpy().copy()
            for path in surfaces:
                now, then = (self.scene.positions(path, t) for t in (seconds, seconds + dt))
                seats, used = self._seats(path)
                q[seats], qd[seats] = now[used], (then - now)[used] / dt
            state.particle_q.assign(q)
            state.particle_qd.assign(qd)

    def positions(self, path: str, state: State) -> np.ndarray:
        """Points of a prim as a state has them, float64 (n, 3) [m]; what no face uses stays where it was."""
        prim = self.scene[path]
        points = (prim.points if prim.positions is None else prim.positions).copy()
        seats, used = self._seats(path)
        points[used] = state.particle_q.numpy()[seats]
        return points

    def velocities(self, path: str, state: State) -> np.ndarray:
        """Velocities of its points, (n, 3) [m/s]."""
        seats, used = self._seats(path)
        speeds = np.zeros((len(self.particles[path]), 3))
        speeds[used] = state.particle_qd.numpy()[seats]
        return speeds

    def write(self, layer: UsdLayerWriter, state: State) -> None:
        """Sample all simulated prims in a layer's frame."""
        for path in self.simulated:
            layer.points(path, self.positions(path, state), self.velocities(path, state))

    def _seats(self, path: str) -> tuple[np.ndarray, np.ndarray]:
        """Particles of those points of a prim that have one, and which points these are."""
        used = np.flatnonzero(self.particles[path] >= 0)
        return self.particles[path][used], used


def _product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """A quaternion that turns by the second, then by the first."""
    u, a, v, b = first[:3], first[3], second[:3], second[3]
    return np.append(a * v + b * u + np.cross(u, v), a * b - u @ v)


@checked
def add(
    builder: ModelBuilder,
    stage: Any,
    cloth: Any = None,
    soft: Any = None,
    colliders: Any = None,
    particles: Any = None,
    device: DeviceLike = None,
    **reading: Any,
) -> UsdBodies:
    """Prims of a USD stage as cloth, soft bodies, obstacles and particles; what each became is in the answer.

    stage: a file, an open stage of pxr, or a `UsdScene`; reading: options of `read_scene`, but for up_axis, which is
    the builder's. cloth, soft, colliders, particles: a pattern of paths, which names all prims below one as well;
    several; or a dict with options for each pattern. Without any of them the schemas of physics in the file decide.

    Options of cloth are those of `add_cloth_mesh`, of soft bodies (TetMesh) those of `add_soft_mesh`, of colliders mu,
    mu_static, restitution and margin as of `ShapeConfig`, and hollow; of particles (points, curves, copies of an
    instancer) radius, mass or density, and for curves spring_ke and spring_kd along them. subset takes one subset of
    a mesh's faces. What options leave out the file may say: mass, density, stiffness, thickness, friction; else cloth
    is cotton, 0.2 kg/m^2, and other things have the density of water.

    Meshes that are closed, and solids, become shapes, which may move rigidly; `device` is where their meshes are.
    Meshes that deform, and those with the option `surface`, become triangles between particles of mass 0, which
    `SurfaceContacts` feel. Points of cloth at one place, as at seams, become one particle.

    Raises `ModelError` for patterns that name nothing, prims that are not what they should become, and open meshes as
    shapes; UsdError and FileNotFoundError as `read_scene`.
    """
    if isinstance(stage, UsdScene):
        if reading or stage.up_axis != builder.up_axis:
            raise ModelError(
                f"the scene was read with {stage.up_axis!r} up, the builder has {builder.up_axis!r}, and options of "
                f"reading are {sorted(reading)}\nexpected: read_scene(..., up_axis={builder.up_axis!r}), and no options"
            )
        scene = stage
    else:
        scene = read_scene(stage, up_axis=builder.up_axis, **reading)
    choices: dict[str, Choice] = {"cloth": cloth, "soft": soft, "colliders": colliders, "particles": particles}
    bodies, patterned = UsdBodies(scene), any(choice is not None for choice in choices.values())
    for path, (role, options) in (_chosen(scene, choices) if patterned else _by_physics(scene)).items():
        _ADDERS[role](builder, bodies, scene[path], dict(options), device)
    return bodies


# ----- which prim becomes what --------------------------------------------------------------------


def _chosen(scene: UsdScene, choices: Mapping[str, Choice]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Role and options of each prim that a pattern names. Of two patterns of a role, the later one counts."""
    chosen: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for role, choice in choices.items():
        for pattern, options in _patterns(role, choice).items():
            paths = scene.find(pattern)
            if not paths:
                listed = ", ".join(scene.paths[:_LISTED]) + (", ..." if len(scene) > _LISTED else "")
                raise ModelError(f"{role}={pattern!r} names no prim with a shape\nthere are: {listed or 'none'}")
            for path in paths:
                if chosen.get(path, (role,))[0] != role:
                    raise ModelError(f"{path} is {chosen[path][0]} and {role}\nexpected: patterns that part them")
                chosen[path] = (role, options)
    return chosen


def _patterns(role: str, choice: Choice) -> Mapping[str, Mapping[str, Any]]:
    if choice is None:
        return {}
    if isinstance(choice, str):
        return {choice: {}}
    patterns = choice
    if isinstance(choice, list | tuple | set | frozenset):
        patterns = {pattern: {} for pattern in choice}
    if not isinstance(patterns, Mapping) or not all(
        isinstance(p, str) and isinstance(o, Mapping) for p, o in patterns.items()
    ):
        raise ModelError(f"{role} is {choice!r}\nexpected: a pattern, several, or options (a dict) by pattern")
    return patterns


def _by_physics(scene: UsdScene) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """What schemas of physics in the file say."""
    roles = scene.roles
    rigid = [path for path, role in roles.items() if role == "rigid"]
    if rigid:
        raise ModelError(
            f"{rigid[0]} is a rigid body that forces move; add_usd reads none of those ({len(rigid)} such prims)\n"
            "help: make it kinematic in the file, or name what takes part: add_usd(..., colliders=...)"
        )
    chosen: dict[str, tuple[str, Mapping[str, Any]]] = {p: (_ROLES[role], {}) for p, role in roles.items() if role}
    if not chosen:
        raise ModelError(
            "no prim of the stage has a schema of collision or of a deformable body\n"
            "help: say what takes part: add_usd(..., cloth='/World/dress', colliders='/World/body')"
        )
    return chosen


# ----- by role ------------------------------------------------------------------------------------


def _add_cloth(
    builder: ModelBuilder, bodies: UsdBodies, prim: UsdPrim, options: dict[str, Any], device: DeviceLike
) -> None:
    seats, first, faces = _merged(prim.points, _faces(prim, "cloth", options))
    vertices, said = prim.points[first], prim.physics
    thickness = said.get("thickness")
    if "mass" in said:
        options.setdefault("density", said["mass"] / max(areas(vertices, faces).sum(), 1.0e-300))
    elif thickness and "density" in said:
        options.setdefault("density", said["density"] * thickness)
    options.setdefault("density", _SHEET["density"])
    if thickness:
        options.setdefault("particle_radius", 0.5 * thickness)
    if not {"spring_ke", "tri_ke", "edge_ke"} & options.keys():
        options.update(_stiffness(said))
    start = builder.particle_count
    velocity = 0.0 if prim.velocities is None else prim.velocities[first]
    builder.add_cloth_mesh(*_WORLD, velocity, vertices, faces, **options)
    bodies.particles[prim.path] = np.where(seats >= 0, start + seats, -1)
    bodies.simulated.append(prim.path)


def _stiffness(said: Mapping[str, Any]) -> dict[str, float]:
    """Of a sheet whose material and thickness the file has, else of cotton."""
    e, h, nu = said.get("youngs_modulus"), said.get("thickness"), said.get("poissons_ratio", 0.3)
    if e is None or h is None:
        return {name: _SHEET[name] for name in ("spring_ke", "edge_ke")}
    return {"tri_ke": e * h, "tri_nu": nu, "edge_ke": e * h**3 / (12.0 * (1.0 - nu**2))}


def _add_soft(
    builder: ModelBuilder, bodies: UsdBodies, prim: UsdPrim, options: dict[str, Any], device: DeviceLike
) -> None:
    if prim.tetrahedra is None:
        raise ModelError(
            f"{prim.path} is a {prim.kind}, which has no inside of its own\nexpected: a TetMesh\n"
            "help: fill the surface with tetrahedra and write them as a TetMesh; as cloth with add_pressure it is a "
            "skin that holds a gas"
        )
    used, tets = np.unique(prim.tetrahedra, return_inverse=True)
    vertices, tets, said = prim.points[used], tets.reshape(-1, 4), prim.physics
    if "mass" in said:
        options.setdefault("density", said["mass"] / max(volumes(vertices, tets).sum(), 1.0e-300))
    options.setdefault("density", said.get("density", _WATER))
    for name in ("youngs_modulus", "poissons_ratio"):
        if name in said:
            options.setdefault(name, said[name])
    start = builder.particle_count
    velocity = 0.0 if prim.velocities is None else prim.velocities[used]
    builder.add_soft_mesh(*_WORLD, velocity, vertices, tets, **options)
    seats = np.full(len(prim.points), -1)
    seats[used] = start + np.arange(len(used))
    bodies.particles[prim.path] = seats
    bodies.simulated.append(prim.path)


def _add_collider(
    builder: ModelBuilder, bodies: UsdBodies, prim: UsdPrim, options: dict[str, Any], device: DeviceLike
) -> None:
    if prim.motion == DEFORMING or options.pop("surface", False):
        options.pop("surface", None)
        _add_surface(builder, bodies, prim, options)
        return

    said, hollow = prim.physics, options.pop("hollow", False)
    for ours, name in (("mu", "friction"), ("mu_static", "static_friction"), ("restitution", "restitution")):
        if name in said:
            options.setdefault(ours, said[name])
    unknown = options.keys() - {"mu", "mu_static", "restitution", "margin"}
    if unknown:
        raise ModelError(f"{prim.path}: colliders take no {min(unknown)}\nexpected: {_SHAPE_OPTIONS}")
    cfg, path = ShapeConfig(**options), prim.path
    added = add_solid(builder, prim, cfg, hollow) if prim.solid else None
    if added is None:
        origin = prim.placement[3, :3]
        _, first, faces = _merged(prim.points, _faces(prim, "a collider", {}))
        _check_inside(prim.points[first], faces, path)
        corners = array((prim.points[first] - origin).astype(np.float32), dtype=vec3, device=device)
        mesh = Mesh(corners, array(faces.ravel(), dtype=int32, device=device))
        added = (
            builder.add_shape_mesh([*origin, 0.0, 0.0, 0.0, 1.0], mesh, cfg=cfg, hollow=hollow),
            (0.0, 0.0, 0.0, 1.0),
        )
    bodies.shapes[path], bodies.turns[path] = added[0], np.asarray(added[1])


def _check_inside(points: np.ndarray, faces: np.ndarray, path: str) -> None:
    try:
        check_closed(points, faces, path)
    except ModelError as error:
        raise ModelError(
            f"{error}\nor: colliders={{{path!r}: {{'surface': True}}}}, which SurfaceContacts feel from both sides"
        ) from None


def _add_surface(builder: ModelBuilder, bodies: UsdBodies, prim: UsdPrim, options: dict[str, Any]) -> None:
    """Triangles between particles of mass 0."""
    faces = _faces(prim, "a collider", options)
    used, corners = np.unique(faces, return_inverse=True)
    velocity = bodies.scene.velocities(prim.path, 0.0)[used]
    radius = options.pop("particle_radius", None)
    if options:
        raise ModelError(
            f"{prim.path} is a surface of particles and takes no {sorted(options)[0]}\n"
            "expected: subset, particle_radius; friction is that of SurfaceContacts\n"
            "help: give the prim a pattern of its own, beside that of the prims that are shapes"
        )
    added = builder.add_particles(prim.points[used], velocity, 0.0, radius)
    builder.add_triangles(added.start + corners.reshape(-1, 3))
    seats = np.full(len(prim.points), -1)
    seats[used] = np.arange(added.start, added.stop)
    bodies.particles[prim.path] = seats


def _add_particles(
    builder: ModelBuilder, bodies: UsdBodies, prim: UsdPrim, options: dict[str, Any], device: DeviceLike
) -> None:
    """Points, copies of an instancer, or points of curves with springs along them."""
    places = prim.points if prim.positions is None else prim.positions
    default = builder.default_particle_radius if prim.radii is None else prim.radii
    radius = np.broadcast_to(np.asarray(options.pop("radius", default), np.float64), len(places))
    density = options.pop("density", prim.physics.get("density", _WATER))
    mass = options.pop("mass", density * 4.0 / 3.0 * np.pi * radius**3)
    springs = {name: options.pop(name) for name in ("spring_ke", "spring_kd") if name in options}
    if options:
        raise ModelError(f"{prim.path}: particles take no {sorted(options)[0]}\nexpected: {_PARTICLE_OPTIONS}")
    if springs and prim.edges is None:
        raise ModelError(f"{prim.path} is {prim.kind} and has no edges for springs\nexpected: curves")
    added = builder.add_particles(places, 0.0 if prim.velocities is None else prim.velocities, mass, radius)
    if springs and prim.edges is not None:
        builder.add_springs(added.start + prim.edges, *springs.values())
    bodies.particles[prim.path] = np.arange(added.start, added.stop)
    bodies.simulated.append(prim.path)


_SHAPE_OPTIONS = "mu, mu_static, restitution, margin, hollow, surface, and of surfaces subset and particle_radius"
_PARTICLE_OPTIONS = "radius [m], density [kg/m^3] or mass [kg], spring_ke [N/m] and spring_kd [N s/m] of curves"
_ADDERS = {"cloth": _add_cloth, "soft": _add_soft, "colliders": _add_collider, "particles": _add_particles}


def _faces(prim: UsdPrim, what: str, options: dict[str, Any]) -> np.ndarray:
    """Triangles of a prim, or of the subset that options name."""
    if prim.triangles is None:
        raise ModelError(f"{prim.path} is {prim.kind} and has no faces\nexpected: a mesh, to be {what}")
    subset = options.pop("subset", None)
    if subset is None:
        return prim.triangles
    if subset not in prim.subsets:
        raise ModelError(f"{prim.path} has no subset {subset!r}\nits subsets of faces are: {sorted(prim.subsets)}")
    return prim.triangles[prim.subsets[subset]]


def _merged(points: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers (n,) of vertices for points, one for all that lie at one place as at seams, -1 for points that no face
    uses; for each vertex a point; and faces of vertices, without those that have one twice."""
    used = np.unique(faces)
    _, first, inverse = np.unique(points[used], axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    seats = np.full(len(points), -1)
    seats[used] = rank[inverse.reshape(-1)]
    corners = seats[faces]
    a, b, c = corners.T
    return seats, used[first[order]], corners[(a != b) & (b != c) & (c != a)]
