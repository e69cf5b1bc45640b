"""`Model`: what does not change while a scene runs: masses, topology, rest shapes, materials, obstacles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...arguments import checked
from ...core.language import array
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.devices.device import get_device
from ...core.types.compounds import scalar_of
from ...core.types.scalars import is_float
from ...errors import ModelError
from ...geometry.mesh.mesh import Mesh
from ...geometry.volume.volume import Volume
from . import closed
from .control import Control
from .fields import GROUPS, HasFields, array_of, field, precision_of
from .shape_groups import shape_groups
from .shapes import ShapeType
from .state import State
from .world_rows import world_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...core.runtime.devices.device import DeviceLike

_SOURCES = {ShapeType.MESH: Mesh, ShapeType.HOLLOW_MESH: Mesh, ShapeType.SDF: Volume}


class Shapes(NamedTuple):
    """What shapes are besides numbers: kinds, and the meshes, volumes and tables of heights that they are made of."""

    kinds: Sequence[int]
    objects: Sequence[Any]


class StateField(NamedTuple):
    """An array that states have because a solver asked for it: elements of a type, filled with a value."""

    dtype: type
    count: int
    value: ArrayLike
    unit: str
    about: str


class Model(HasFields, Fixed):
    """Made by `ModelBuilder.finalize`. Its arrays stay in the order in which things were added.

    Float arrays may be written between steps (materials, rest lengths), or replaced by others of the same layout, and
    have gradients with `requires_grad`; arrays of integers are fixed, on the host read-only.

    particle_count, spring_count, ...: how many there are of each of `fields.GROUPS`.
    pressure_faces: tuple of triangles (n, 3), on the host. shape_type: tuple of `ShapeType`, on the host. shape_source:
    ids of meshes and volumes; shape_object: tuple of those, and of tables of heights; None for other shapes.

    A model has one world, or several that `ModelBuilder.add_world` made, which never touch each other; `world(k)` is a
    view of one. world_rows: by group, where the rows of each world begin and end, (worlds, 2), on the host; shapes that
    all worlds have are in none. shape_groups: shapes that solvers take in one launch, see `ShapeGroup`.
    """

    unfit = ModelError

    particle_q = field("vec3", "particle", "m", "where states start", "particles.q")
    particle_qd = field("vec3", "particle", "m/s", "their velocities", "particles.qd")
    particle_mass = field("real", "particle", "kg", "mass, 0 for what is held", "particles.mass")
    particle_radius = field("real", "particle", "m", "how far contact keeps it from others", "particles.radius")
    particle_world = field("int", "particle", "-", "the world it is in", "particle_world", refers="world")

    spring_indices = field("int2", "spring", "-", "particles at its ends", "springs.indices", refers="particle")
    spring_rest_length = field("real", "spring", "m", "length without force", "springs.rest_length")
    spring_compliance = field("real", "spring", "m/N", "1 / stiffness", "springs.compliance")
    spring_damping = field("real", "spring", "N s/m", "damping", "springs.damping")

    edge_indices = field(
        "int4", "edge", "-", "two particles beside it, then its ends", "edges.indices", refers="particle"
    )
    edge_rest_angle = field("real", "edge", "rad", "angle without force", "edges.rest_angle")
    edge_weights = field(
        "vec4", "edge", "1/m", "with which corners of a slight bend sum up to angle times normal", "edge_weights"
    )
    edge_compliance = field("real", "edge", "1/(N m)", "of the sheet, per width", "edges.compliance")
    edge_damping = field("real", "edge", "N m s", "of the sheet, per width", "edges.damping")

    bend_indices = field(
        "int6",
        "bend",
        "-",
        "corners of a triangle that bends, and those beyond the edges across from each",
        "bend_indices",
        refers="particle",
    )
    bend_edges = field("int3", "bend", "-", "these edges, -1 for none", "bend_edges", refers="edge", gaps=True)
    bend_turns = field("int3", "bend", "-", "how each is turned, see `bends.Bends`", "bend_turns")
    bend_flexibility = field("vec6", "bend", "-", "angles per moment, see `bends.Bends`", "bend_flexibility")

    tri_indices = field("int3", "tri", "-", "corners", "triangles.indices", refers="particle")
    tri_pose = field("mat22", "tri", "1/m", "inverse of the rest edges", "tri_pose")
    tri_area = field("real", "tri", "m^2", "at rest", "tri_area")
    tri_stiffness = field(
        "vec4",
        "tri",
        "N/m",
        "Young's modulus times thickness along warp and weft, shear, Poisson's ratio [-]",
        "tri_stiffness",
    )
    tri_damping = field("real", "tri", "s", "damping time of the membrane", "triangles.damping")
    tri_drag = field("real", "tri", "-", "coefficient of drag", "triangles.drag")
    tri_lift = field("real", "tri", "-", "coefficient of lift", "triangles.lift")

    tet_indices = field("int4", "tet", "-", "corners", "tetrahedra.indices", refers="particle")
    tet_pose = field("mat33", "tet", "1/m", "inverse of the rest edges", "tet_pose")
    tet_volume = field("real", "tet", "m^3", "at rest", "tet_volume")
    tet_mu = field("real", "tet", "Pa", "Lame's second parameter", "tetrahedra.mu")
    tet_lambda = field("real", "tet", "Pa", "Lame's first parameter", "tetrahedra.lam")
    tet_damping = field("real", "tet", "s", "damping time", "tetrahedra.damping")

    attachment_particle = field("int", "attachment", "-", "what is held", "attachments.particle", refers="particle")
    attachment_shape = field(
        "int", "attachment", "-", "by which shape, -1 for the world", "attachments.shape", refers="shape", gaps=True
    )
    attachment_target = field("vec3", "attachment", "m", "where, in the shape's frame", "attachments.target")
    attachment_compliance = field("real", "attachment", "m/N", "1 / stiffness", "attachments.compliance")
    attachment_damping = field("real", "attachment", "N s/m", "damping", "attachments.damping")

    pressure_target = field("real", "pressure", "m^3", "volume without pressure", "pressures.target")
    pressure_compliance = field("real", "pressure", "m^3/Pa", "volume over bulk modulus", "pressures.compliance")

    tether_indices = field(
        "int2", "tether", "-", "a particle and what it hangs on", "tethers.indices", refers="particle"
    )
    tether_length = field("real", "tether", "m", "how far it gets from there", "tethers.length")

    body_q = field("transform", "body", "m", "pose of its frame where states start", "bodies.q")
    body_qd = field("vec6", "body", "rad/s, m/s", "twist there: angular, then that of its centre of mass", "bodies.qd")
    body_mass = field("real", "body", "kg", "mass, 0 for what keeps its velocity", "body_mass")
    body_com = field("vec3", "body", "m", "centre of mass in its frame", "body_com")
    body_inertia = field("mat33", "body", "kg m^2", "about its centre of mass, along its axes", "body_inertia")
    body_world = field("int", "body", "-", "the world it is in", "body_world", refers="world")

    joint_parent = field(
        "int", "joint", "-", "the body that it holds another to, -1 for the world", "joints.parent",
        refers="body", gaps=True,
    )  # fmt: skip
    joint_child = field("int", "joint", "-", "the body that it holds", "joints.child", refers="body")
    joint_parent_frame = field("transform", "joint", "m", "its frame, in that of the parent", "joints.parent_frame")
    joint_child_frame = field("transform", "joint", "m", "its frame, in that of the child", "joints.child_frame")
    joint_kind = field("int", "joint", "-", "what it measures, see `JointKind`", "joints.kind")
    joint_lower = field("vec6", "joint", "rad, m", "least angles about x, y, z, then translations", "joints.lower")
    joint_upper = field("vec6", "joint", "rad, m", "largest; equal ones are locked, infinite ones free", "joints.upper")
    joint_ke = field("vec6", "joint", "N m/rad, N/m", "stiffness of drives towards targets", "joints.ke")
    joint_kd = field("vec6", "joint", "N m s/rad, N s/m", "damping of drives towards target velocities", "joints.kd")
    joint_target = field("vec6", "joint", "rad, m", "where drives pull to, of fresh controls", "joints.target")
    joint_target_velocity = field(
        "vec6", "joint", "rad/s, m/s", "the velocities that they damp towards, of fresh controls",
        "joints.target_velocity",
    )  # fmt: skip
    joint_strength = field("vec2", "joint", "N, N m", "force and torque that break it", "joints.strength")

    shape_body = field(
        "int", "shape", "-", "the body it belongs to, -1 for none: a control moves it", "shapes.body",
        refers="body", gaps=True,
    )  # fmt: skip
    shape_density = field("real", "shape", "kg/m^3", "density, for the mass of its body", "shapes.density")
    shape_transform = field("transform", "shape", "m", "pose; on a body in the frame of that", "shapes.transform")
    shape_scale = field("vec3", "shape", "m", "sizes, see `ShapeType`", "shapes.scale")
    shape_mu = field("real", "shape", "-", "coefficient of sliding friction", "shapes.mu")
    shape_mu_static = field("real", "shape", "-", "that of sticking", "shapes.mu_static")
    shape_mu_torsional = field("real", "shape", "m", "friction against turning on the spot", "shapes.mu_torsional")
    shape_mu_rolling = field("real", "shape", "m", "friction against rolling", "shapes.mu_rolling")
    shape_restitution = field("real", "shape", "-", "speed after a bounce per speed before", "shapes.restitution")
    shape_margin = field("real", "shape", "m", "kept around it", "shapes.margin")
    shape_group = field("int", "shape", "-", "bits of the groups that it is in", "shapes.group")
    shape_collides = field("int", "shape", "-", "bits of the groups that it touches", "shapes.collides")
    shape_world = field(
        "int", "shape", "-", "the only world it is in, -1 for all", "shape_world", refers="world", gaps=True
    )

    exclusion_shapes = field(
        "int2", "exclusion", "-", "shapes that do not touch each other", "exclusions.shapes", refers="shape"
    )

    gravity = field("vec3", "world", "m/s^2", "acceleration", "gravity")

    particle_count: int
    spring_count: int
    edge_count: int
    bend_count: int
    tri_count: int
    tet_count: int
    attachment_count: int
    pressure_count: int
    tether_count: int
    body_count: int
    joint_count: int
    shape_count: int
    exclusion_count: int
    world_count: int

    @checked
    def __init__(
        self,
        columns: Mapping[str, np.ndarray],
        shapes: Shapes,
        pressure_faces: Sequence[np.ndarray],
        up_axis: str,
        device: DeviceLike,
        requires_grad: bool,
        dtype: type,
    ):
        """columns: rows of each field, by the name of the field. Raises `ModelError` for indices of nothing."""
        types = precision_of(dtype)
        self.device, self.requires_grad, self.dtype = get_device(device), requires_grad, dtype
        self.vec3, self.vec4, self.spatial_vector, self.transform = types.vec3, types.vec4, types.vec6, types.transform
        self.up_axis = up_axis
        self.state_fields: dict[str, StateField] = {}
        counts = {f.per: len(columns[name]) for name, f in self.fields.items()}
        for group in GROUPS:
            setattr(self, f"{group}_count", counts[group])
        for name, f in self.fields.items():
            f.check(columns[name], counts)
            setattr(self, name, array_of(columns[name], f.dtype(types), self.device, requires_grad))
        self.pressure_faces = tuple(pressure_faces)
        _check_lengths(self, shapes)
        self.world_rows = world_rows(self.fields, columns, self.pressure_faces, counts)
        self.shape_type = tuple(ShapeType(kind) for kind in shapes.kinds)
        self.shape_object = tuple(shapes.objects)
        self.shape_source = self._source_ids()
        self.shape_heights = tuple(self._height_table(k) for k in range(self.shape_count))
        self.shape_groups = shape_groups(self)

    def _may_replace(self, name: str, present: object) -> bool:
        floats = isinstance(present, array) and is_float(scalar_of(present.dtype))
        return floats or name in vars(self).get("_layouts", ())

    def state(self, requires_grad: bool | None = None) -> State:
        """A new state: particles where the builder put them."""
        self.check_replaced("model")
        return State(self, requires_grad)

    def control(self, requires_grad: bool | None = None) -> Control:
        """A new control: shapes and targets where the builder put them, at rest."""
        self.check_replaced("model")
        return Control(self, requires_grad)

    @checked
    def add_state_field(
        self, name: str, dtype: type, count: int, value: ArrayLike = 0, unit: str = "-", about: str = ""
    ) -> None:
        """Give states made from now on one more array, filled with `value`: what a solver carries from step to step."""
        self.state_fields[name] = StateField(dtype, count, value, unit, about)

    # ----- shapes ---------------------------------------------------------------------------------

    def _source_ids(self) -> tuple[int, ...]:
        """Those of all shapes; each source is looked at once for all shapes of a kind."""
        known: dict[Any, int] = {}
        ids = []
        for s, kind in enumerate(self.shape_type):
            key = kind, id(self.shape_object[s])
            known[key] = known[key] if key in known else self._source_id(s)
            ids.append(known[key])
        return tuple(ids)

    def _source_id(self, shape: int) -> int:
        """The id of a shape's mesh or volume; 0 of others."""
        source, kind = self.shape_object[shape], self.shape_type[shape]
        structure = _SOURCES.get(kind)
        if structure is None:
            return 0
        if not isinstance(source, structure):
            raise ModelError(f"shape {shape} is made of {type(source).__name__}\nexpected: a {structure.__name__}")
        if source.device != self.device:
            raise ModelError(f"shape {shape} is on {source.device}, the model on {self.device}\nexpected: one device")
        if structure is Mesh:
            closed.check_closed(
                source.points.numpy(), source.indices.numpy().reshape(-1, 3), f"the mesh of shape {shape}"
            )
        return int(source.id)

    def _height_table(self, shape: int) -> Any:
        """The heights of a heightfield, (columns, rows) [m]; an empty table for other shapes."""
        flat = self.shape_type[shape] is not ShapeType.HEIGHTFIELD
        values = np.zeros((1, 1)) if flat else self.shape_object[shape]
        return array(values, dtype=self.dtype, device=self.device, requires_grad=self.requires_grad and not flat)


def _check_lengths(model: Model, shapes: Shapes) -> None:
    """Raise `ModelError` for lists that do not fit the arrays, and for faces of particles that are not there."""
    for name, count, listed in (
        ("pressure_faces", model.pressure_count, model.pressure_faces),
        ("kinds of shapes", model.shape_count, shapes.kinds),
        ("objects of shapes", model.shape_count, shapes.objects),
    ):
        if len(listed) != count:
            raise ModelError(f"{name} are {len(listed)}\nexpected: {count}")
    if not model.world_count:
        raise ModelError("the model has no world, as it has no row of gravity\nexpected: one or more")
    for faces in model.pressure_faces:
        if faces.size and not (faces.min() >= 0 and faces.max() < model.particle_count):
            raise ModelError(f"pressure_faces name {faces.min()} to {faces.max()}\nexpected: particles of the model")
