"""`ModelBuilder`: particles, constraints between them, bodies and shapes, put together on the host in any order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree

from ...arguments import checked, integers, numbers
from ...core.language import float32
from ...errors import ModelError
from . import cloth, pressure, soft, worlds
from .body_builder import BodyBuilder, copy_bodies
from .checks import check_materials
from .columns import Columns
from .joint_builder import JointBuilder
from .joint_checks import check_joints
from .model import Model, Shapes
from .rotations import rotate
from .rows import Rows, one_each, warp_and_weft
from .shape_builder import ShapeBuilder

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...core.runtime.devices.device import DeviceLike
    from .from_usd import UsdBodies

RIGID = math.inf
"""The stiffness of what does not give way."""

_UP = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


class ModelBuilder(ShapeBuilder, BodyBuilder, JointBuilder):
    """Collects a scene; `finalize` makes the `Model` of it. SI units throughout.

    up_axis: "X", "Y" or "Z", which way gravity does not point. gravity: acceleration along it [m/s^2].
    `default_particle_radius` [m] is that of particles which name none: half the thickness of cloth.

    Adding returns numbers: an `int` for one thing, a `range` for many. Values are single numbers or one per thing.
    Stiffness `RIGID` (infinity) makes a constraint hard.
    """

    def __init__(self, up_axis: str = "Y", gravity: float = -9.81):
        if not isinstance(up_axis, str) or up_axis not in _UP:
            raise ModelError(f"up_axis is {up_axis!r}\nexpected: 'X', 'Y' or 'Z'")
        self.up_axis, self.gravity = up_axis, gravity
        self.default_particle_radius = 0.005
        self.particles = Rows("particles", q=3, qd=3, mass=0, radius=0)
        self.springs = Rows("springs", ("indices",), indices=2, rest_length=0, compliance=0, damping=0)
        self.edges = Rows("bending edges", ("indices",), indices=4, rest_angle=0, shape=5, compliance=0, damping=0)
        self.triangles = Rows(
            "triangles", ("indices",), indices=3, ke=2, shear=0, nu=0, damping=0, drag=0, lift=0, rest=6
        )
        self.tetrahedra = Rows("tetrahedra", ("indices",), indices=4, mu=0, lam=0, damping=0, rest=12)
        self.attachments = Rows(
            "attachments", ("particle", "shape"), particle=0, shape=0, target=3, compliance=0, damping=0
        )
        self.pressures = Rows("pressures", target=0, compliance=0)
        self.pressure_faces: list[np.ndarray] = []
        self.tethers = Rows("tethers", ("indices",), indices=2, length=0)
        self.begin_shapes()
        self.begin_bodies()
        self.begin_joints()
        numbers_of = {"particles": 0, "bodies": 0, "shapes": 0, "first": 0}
        self.worlds = Rows("worlds", tuple(numbers_of), gravity=3, **numbers_of)

    # ----- particles ------------------------------------------------------------------------------

    @property
    def particle_count(self) -> int:
        return self.particles.count

    @property
    def up(self) -> np.ndarray:
        """The unit vector against gravity, (3,)."""
        return np.array(_UP[self.up_axis])

    def add_particle(self, pos: ArrayLike, vel: ArrayLike = 0.0, mass: float = 1.0, radius: float | None = None) -> int:
        """A particle at `pos` [m] with velocity `vel` [m/s]. One of mass 0 [kg] keeps its velocity, whatever pulls."""
        return self.add_particles([pos], vel, mass, radius)[0]

    def add_particles(
        self, pos: ArrayLike, vel: ArrayLike = 0.0, mass: ArrayLike = 1.0, radius: ArrayLike | None = None
    ) -> range:
        """Particles at `pos` (n, 3) [m]; radius [m]: how far contact keeps them from other things."""
        pos = numbers(pos, "pos")
        if pos.ndim != 2 or pos.shape[1] != 3:
            raise ModelError(f"pos has shape {pos.shape}\nexpected: (particles, 3)")
        radius = self.default_particle_radius if radius is None else radius
        return self.particles.add(len(pos), q=pos, qd=vel, mass=mass, radius=radius)

    # ----- constraints ----------------------------------------------------------------------------

    @checked
    def add_spring(self, i: int, j: int, ke: float = RIGID, kd: float = 0.0, rest_length: float | None = None) -> int:
        """A distance constraint; see `add_springs`."""
        return self.add_springs([(i, j)], ke, kd, rest_length)[0]

    def add_springs(
        self, indices: ArrayLike, ke: ArrayLike = RIGID, kd: ArrayLike = 0.0, rest_length: ArrayLike | None = None
    ) -> range:
        """Distance constraints between pairs of particles (n, 2).

        ke: stiffness [N/m]. kd: damping [N s/m]. rest_length [m]: None is how far apart the particles are now.
        """
        pairs = self._indices(indices, 2, "springs")
        if rest_length is None:
            q = self.particles["q"]
            rest_length = np.linalg.norm(q[pairs[:, 0]] - q[pairs[:, 1]], axis=1)
        ke, kd = (one_each(k, name, len(pairs), "springs") for k, name in ((ke, "ke"), (kd, "kd")))
        compliance, damping = _compliance(ke, kd)
        material = {"compliance": compliance, "damping": damping}
        return self.springs.add(len(pairs), indices=pairs, rest_length=rest_length, **material)

    @checked
    def add_edge(
        self, i: int, j: int, k: int, l: int, edge_ke: float, edge_kd: float = 0.0,  # noqa: E741
        rest: ArrayLike | None = None,
    ) -> int:  # fmt: skip
        """A bending constraint over the edge (k, l) between the triangles (i, k, l) and (j, l, k); see `add_edges`."""
        return self.add_edges([(i, j, k, l)], edge_ke, edge_kd, rest)[0]

    def add_edges(
        self, indices: ArrayLike, edge_ke: ArrayLike, edge_kd: ArrayLike = 0.0, rest: ArrayLike | None = None
    ) -> range:
        """Bending constraints (n, 4): two particles beside an edge, then the edge's ends.

        edge_ke: bending rigidity of the sheet, per width [N m]; edge_kd: the same for damping [N m s]. What that is in
        stiffness against angles follows from the triangles, see `bends`. Of a hinge whose two triangles have no other
        edge here, which is no sheet: the moment per angle [N m/rad], its energy edge_ke (angle - rest)^2 / 2.
        rest: the angle without force [rad], 0 where the triangles are one plane; None is the present one.
        """
        quads = self._indices(indices, 4, "bending edges")
        if rest is None:
            rest = cloth.dihedral_angles(self.particles["q"], quads)
        ke, kd = (one_each(k, n, len(quads), "edges") for k, n in ((edge_ke, "edge_ke"), (edge_kd, "edge_kd")))
        compliance, damping = _compliance(ke, kd)
        shape = {"rest_angle": rest, "shape": cloth.unfold(self.particles["q"], quads)}
        return self.edges.add(len(quads), indices=quads, compliance=compliance, damping=damping, **shape)

    @checked
    def add_triangle(self, i: int, j: int, k: int, **material: Any) -> int:
        """A triangle of cloth; see `add_triangles`."""
        return self.add_triangles([(i, j, k)], **material)[0]

    def add_triangles(
        self, indices: ArrayLike, tri_ke: ArrayLike = 0.0, tri_nu: ArrayLike = 0.0,
        tri_shear: ArrayLike | None = None, tri_kd: ArrayLike = 0.0, tri_drag: ArrayLike = 0.0,
        tri_lift: ArrayLike = 0.0, material: ArrayLike | None = None,
    ) -> range:  # fmt: skip
        """Triangles (n, 3): surfaces for wind, contact and pictures, and membranes where they have stiffness.

        tri_ke: Young's modulus times thickness [N/m], one number or a pair (warp, weft), or (n,) or (n, 2), one of
        either for each triangle; 0: no membrane. Warp and weft have one Poisson's ratio, shear and damping.
        tri_nu: Poisson's ratio. tri_shear: shear modulus times thickness [N/m]; None: that of an isotropic sheet.
        tri_kd: damping time of the membrane [s]. tri_drag, tri_lift: coefficients of the air's force [-].
        material: coordinates (n, 3, 2) [m] of the corners on the unwoven sheet, warp first; None: as they lie now,
        with the warp along the first edge.
        """
        faces = self._indices(indices, 3, "triangles")
        ke, count = warp_and_weft(tri_ke, "tri_ke", len(faces)), len(faces)
        nu, damping = one_each(tri_nu, "tri_nu", count, "triangles"), one_each(tri_kd, "tri_kd", count, "triangles")
        drag, lift = (one_each(a, n, count, "triangles") for a, n in ((tri_drag, "tri_drag"), (tri_lift, "tri_lift")))
        shear = ke.mean(axis=1) / (2.0 * (1.0 + nu))
        if tri_shear is not None:
            shear = one_each(tri_shear, "tri_shear", count, "triangles")
        rest = cloth.flatten(self.particles["q"], faces) if material is None else numbers(material, "material")
        membrane = {"ke": ke, "shear": shear, "nu": nu, "damping": damping, "rest": rest.reshape(count, 6)}
        return self.triangles.add(count, indices=faces, drag=drag, lift=lift, **membrane)

    @checked
    def add_tetrahedron(self, i: int, j: int, k: int, l: int, **material: ArrayLike) -> int:  # noqa: E741
        """An elastic tetrahedron; see `add_tetrahedra`."""
        return self.add_tetrahedra([(i, j, k, l)], **material)[0]

    def add_tetrahedra(
        self, indices: ArrayLike, k_mu: ArrayLike = 1.0e3, k_lambda: ArrayLike = 1.0e3, k_damp: ArrayLike = 0.0
    ) -> range:
        """Elastic tetrahedra (n, 4) at rest as they are now; the fourth corner is above the first three, which turn
        counter-clockwise seen from it.

        k_mu, k_lambda: Lame's parameters [Pa], see `lame`. k_damp: damping time [s].
        """
        tets = self._indices(indices, 4, "tetrahedra")
        rest = self.particles["q"][tets].reshape(len(tets), 12)
        return self.tetrahedra.add(len(tets), indices=tets, mu=k_mu, lam=k_lambda, damping=k_damp, rest=rest)

    @checked
    def add_attachment(
        self, particle: int, target: ArrayLike | None = None, ke: float = RIGID, kd: float = 0.0, shape: int = -1
    ) -> int:
        """A spring of length zero from a particle to a point that `Control` moves, or to a point of a shape.

        target [m]: where, in the world or in the shape's frame; None: where the particle is now (in the world).
        ke [N/m], kd [N s/m].
        """
        if target is None:
            if shape >= 0:
                raise ModelError(f"an attachment to shape {shape} has no target\nexpected: a point in its frame [m]")
            self._indices([(particle,)], 1, "attachments")
            target = self.particles["q"][particle]
        self._indices([(particle,)], 1, "attachments")
        if not -1 <= shape < self.shapes.count:
            raise ModelError(f"shape is {shape}\nexpected: -1 or one of the {self.shapes.count} shapes so far")
        compliance, damping = _compliance(ke, kd)
        added = self.attachments.add(
            1, particle=particle, shape=shape, target=target, compliance=compliance, damping=damping
        )
        return added[0]

    @checked
    def add_tethers(self, particles: ArrayLike, slack: float = 0.01) -> range:
        """Limit how far each of these particles gets from the nearest of them that is held (of mass 0).

        That is their distance now, and `slack` of it more [-]. Raises `ModelError` if none of them is held.
        """
        named = self._indices(particles, 1, "tethers").ravel()
        held = self.particles["mass"][named] == 0.0
        if not held.any():
            raise ModelError(f"none of {len(named)} particles is held\nhelp: give those that hold the others mass 0")
        free, anchors, q = named[~held], named[held], self.particles["q"]
        distance, nearest = cKDTree(q[anchors]).query(q[free])
        pairs = np.column_stack([free, anchors[nearest]])
        return self.tethers.add(len(pairs), indices=pairs, length=(1.0 + slack) * distance)

    @checked
    def add_pressure(self, triangles: ArrayLike, target: float = 1.0, bulk_modulus: float = RIGID) -> int:
        """Fill a closed surface with a gas or liquid; see `pressure.add`."""
        return pressure.add(self, triangles, target, bulk_modulus)

    # ----- cloth and soft bodies ------------------------------------------------------------------

    def add_cloth_grid(
        self, pos: ArrayLike, rot: ArrayLike, vel: ArrayLike, dim_x: int, dim_y: int, cell_x: float, cell_y: float,
        mass: float, **options: Any,
    ) -> range:  # fmt: skip
        """A rectangular sheet: see `cloth.add_grid`."""
        return cloth.add_grid(self, pos, rot, vel, dim_x, dim_y, cell_x, cell_y, mass, **options)

    def add_cloth_mesh(
        self, pos: ArrayLike, rot: ArrayLike, scale: float, vel: ArrayLike, vertices: ArrayLike, indices: ArrayLike,
        density: float, **options: Any,
    ) -> range:  # fmt: skip
        """A sheet of any triangles: see `cloth.add_mesh`."""
        return cloth.add_mesh(self, pos, rot, scale, vel, vertices, indices, density, **options)

    def add_soft_grid(
        self, pos: ArrayLike, rot: ArrayLike, vel: ArrayLike, dim_x: int, dim_y: int, dim_z: int, cell_x: float,
        cell_y: float, cell_z: float, density: float, **options: Any,
    ) -> range:  # fmt: skip
        """An elastic block: see `soft.add_grid`."""
        cells = (cell_x, cell_y, cell_z)
        return soft.add_grid(self, pos, rot, vel, (dim_x, dim_y, dim_z), cells, density, **options)

    def add_soft_mesh(
        self, pos: ArrayLike, rot: ArrayLike, scale: float, vel: ArrayLike, vertices: ArrayLike, indices: ArrayLike,
        density: float, **options: Any,
    ) -> range:  # fmt: skip
        """An elastic body of any tetrahedra: see `soft.add_mesh`."""
        return soft.add_mesh(self, pos, rot, scale, vel, vertices, indices, density, **options)

    # ----- files ----------------------------------------------------------------------------------

    def add_usd(self, stage: object, **options: Any) -> UsdBodies:
        """Prims of a USD stage as cloth, soft bodies, obstacles and particles: see `from_usd.add`."""
        from .from_usd import add  # noqa: PLC0415 - loads pxr

        return add(self, stage, **options)

    @checked
    def add_bodies(self, other: ModelBuilder) -> range:
        """The bodies of another builder, for matter that moves among them: see `body_builder.copy_bodies`."""
        return copy_bodies(self, other)

    # ----- the model ------------------------------------------------------------------------------

    @checked
    def add_world(self, other: ModelBuilder, n: int = 1, xforms: ArrayLike | None = None) -> range:
        """Copies of a scene in worlds of their own, which never touch each other: see `worlds.add`."""
        return worlds.add(self, other, n, xforms)

    def finalize(self, device: DeviceLike = None, requires_grad: bool = False, dtype: type = float32) -> Model:
        """The model of what was added so far, on a device.

        requires_grad: give arrays of materials and rest shapes gradients too. dtype: float32, or float64 for checks.
        Raises `ModelError` for what is no physics: negative masses or compliances, triangles or tetrahedra without
        area or volume, indices out of range, joints whose frames are apart.
        """
        worlds.check_own(self)
        check_materials(self)
        check_joints(self)
        columns = Columns(self)
        rows = {name: columns[f.fresh] for name, f in Model.fields.items()}
        objects = [self.sources[k] if k >= 0 else None for k in self.shapes["source"].tolist()]
        shapes = Shapes(self.shapes["type"].tolist(), objects)
        return Model(rows, shapes, self.pressure_faces, self.up_axis, device, requires_grad, dtype)

    def place(self, vertices: ArrayLike, pos: ArrayLike, rot: ArrayLike, scale: float = 1.0) -> np.ndarray:
        """Vertices (n, 3) scaled, turned by the quaternion `rot` (x, y, z, w), and moved to `pos` [m]."""
        return rotate(rot, scale * numbers(vertices, "vertices", (-1, 3))) + numbers(pos, "pos", (3,))

    def _indices(self, indices: ArrayLike, width: int, what: str) -> np.ndarray:
        """Numbers of existing particles, no particle twice in a row."""
        named = integers(indices, f"indices of {what}")
        if named.size % width:
            raise ModelError(f"indices of {what} are {named.size} numbers\nexpected: {width} for each")
        rows = named.astype(np.int64).reshape(-1, width)
        bad = np.flatnonzero(((rows < 0) | (rows >= self.particle_count)).any(axis=1))
        if len(bad):
            raise ModelError(
                f"{what}: row {bad[0]} names particles {rows[bad[0]].tolist()}\n"
                f"expected: 0 to {self.particle_count - 1}, the particles so far"
            )
        ordered = np.sort(rows, axis=1)
        bad = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if len(bad):
            raise ModelError(f"{what}: row {bad[0]} names a particle twice: {rows[bad[0]].tolist()}")
        return rows


def lame(youngs_modulus: float, poissons_ratio: float) -> tuple[float, float]:
    """Lame's parameters (mu, lambda) [Pa] of Young's modulus [Pa] and Poisson's ratio, which is below 1/2."""
    return soft.lame(youngs_modulus, poissons_ratio)


def _compliance(ke: ArrayLike, kd: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """1 / stiffness, and damping; refuses stiffnesses that are not above zero."""
    stiffness = numbers(ke, "ke")
    if not (stiffness > 0.0).all():
        raise ModelError(f"a stiffness is {stiffness.min():g}\nexpected: above 0; infinity makes a hard constraint")
    return 1.0 / stiffness, numbers(kd, "kd")
