"""`Model`: what does not change while a scene runs: masses, topology, rest shapes, materials, obstacles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked
from ...core.language import (
    array, float32, float64, int32, matrix_type, transformd, transformf, vec2i, vec3d, vec3f, vec3i, vec4i, vector_type,
)  # fmt: skip
from ...core.runtime.arrays.fixed import Fixed, read_only
from ...core.runtime.devices.device import get_device
from ...core.types.compounds import scalar_of
from ...core.types.scalars import is_float
from ...errors import ModelError
from ...geometry.mesh.mesh import Mesh
from ...geometry.volume.volume import Volume
from . import bends, closed, cloth
from .control import Control
from .shapes import ShapeType
from .state import State

if TYPE_CHECKING:
    from .builder import ModelBuilder

_SOURCES = {ShapeType.MESH: Mesh, ShapeType.HOLLOW_MESH: Mesh, ShapeType.SDF: Volume}
vec6i = vector_type(6, int32)
_PRECISIONS = {float32: (vec3f, transformf), float64: (vec3d, transformd)}


class Model(Fixed):
    """Made by `ModelBuilder.finalize`. Its arrays stay in the order in which things were added.

    Float arrays may be written between steps (materials, rest lengths), or replaced by others of the same layout, and
    have gradients with `requires_grad`; arrays of integers are fixed, on the host read-only.

    particle_q, particle_qd: where states start, vec3 (particles,) [m], [m/s]. particle_mass [kg], 0 for what is
        held; particle_radius [m]: (particles,).
    spring_indices: vec2i (springs,). spring_rest_length [m], spring_compliance [m/N], spring_damping [N s/m].
    edge_indices: vec4i (edges,): two beside the edge, then its ends. edge_rest_angle [rad]. edge_weights: vec4, with
        which the corners of a slightly bent edge sum up to its angle times its normal [1/m]. edge_compliance [1/(N m)],
        edge_damping [N m s]: of the sheet, per width.
    bend_indices: (bends, 6), corners of triangles that bend, and those beyond the edges across from each. bend_edges,
        bend_turns: vec3i, these edges and how each is turned. bend_flexibility: (bends, 6) [-]. See `bends.Bends`.
    tri_indices: vec3i (triangles,). tri_pose: mat22, inverse of the rest edges [1/m]. tri_area [m^2].
        tri_stiffness: vec4: Young's modulus times thickness along warp and weft, shear [N/m], Poisson's ratio.
        tri_damping [s], tri_drag, tri_lift [-].
    tet_indices: vec4i (tetrahedra,). tet_pose: mat33, inverse of the rest edges [1/m]. tet_volume [m^3]. tet_mu,
        tet_lambda: Lame's parameters [Pa]. tet_damping [s].
    attachment_particle, attachment_shape: int32 (attachments,); shape -1 is the world. attachment_target [m],
        attachment_compliance [m/N], attachment_damping [N s/m].
    pressure_faces: tuple of triangles (n, 3), on the host. pressure_target [m^3], pressure_compliance [m^3/Pa]:
        (pressures,).
    tether_indices: vec2i (tethers,): a particle and what it hangs on. tether_length [m].
    shape_type: tuple of `ShapeType`, on the host. shape_transform, shape_scale, shape_margin [m], shape_mu,
        shape_mu_static, shape_restitution [-], shape_source: ids of meshes and volumes: (shapes,).
    shape_object: tuple of those meshes and volumes, and of tables of heights; None for other shapes.
    gravity: one vec3 [m/s^2].
    """

    unfit = ModelError

    @checked
    def __init__(self, builder: ModelBuilder, device: Any, requires_grad: bool, dtype: Any):
        if not isinstance(dtype, type) or dtype not in _PRECISIONS:
            raise ModelError(f"dtype is {dtype!r}\nexpected: wp.float32 or wp.float64")
        self.device, self.requires_grad, self.dtype = get_device(device), requires_grad, dtype
        self.vec3, self.transform = _PRECISIONS[dtype]
        self.spatial_vector, self.vec4 = vector_type(6, dtype), vector_type(4, dtype)
        self.up_axis = builder.up_axis
        self.state_fields: dict[str, tuple[Any, int, Any]] = {}
        self._add_particles(builder)
        self._add_constraints(builder)
        self._add_surfaces(builder)
        self._add_tetrahedra(builder)
        self._add_attachments(builder)
        self._add_shapes(builder)
        self.gravity = self._floats([builder.gravity * builder.up], self.vec3)

    def _may_replace(self, name: str, present: Any) -> bool:
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
    def add_state_field(self, name: str, dtype: Any, count: int, value: Any = 0) -> None:
        """Give states made from now on one more array, filled with `value`: what a solver carries from step to step."""
        self.state_fields[name] = (dtype, count, value)

    # ----- arrays ---------------------------------------------------------------------------------

    def _floats(self, values: Any, dtype: Any = None) -> Any:
        dtype = dtype or self.dtype
        shape = np.asarray(values).shape
        if 0 in shape:
            return array(shape=shape[:1], dtype=dtype, device=self.device, requires_grad=self.requires_grad)
        return array(values, dtype=dtype, device=self.device, requires_grad=self.requires_grad)

    def _integers(self, values: Any, dtype: Any = int32) -> Any:
        if not len(values):
            return array(shape=(0,), dtype=dtype, device=self.device)
        return read_only(array(values, dtype=dtype, device=self.device))

    def _add_particles(self, builder: ModelBuilder) -> None:
        table = builder.particles
        self.particle_count = table.count
        self.particle_q, self.particle_qd = (self._floats(table[name], self.vec3) for name in ("q", "qd"))
        self.particle_mass, self.particle_radius = self._floats(table["mass"]), self._floats(table["radius"])

    def _add_constraints(self, builder: ModelBuilder) -> None:
        """Springs, and bending over edges."""
        springs, edges = builder.springs, builder.edges
        self.spring_count, self.edge_count = springs.count, edges.count
        self.spring_indices = self._integers(springs["indices"], vec2i)
        self.spring_rest_length = self._floats(springs["rest_length"])
        self.edge_indices = self._integers(edges["indices"], vec4i)
        self.edge_rest_angle = self._floats(edges["rest_angle"])
        self.edge_weights = self._floats(cloth.cotangent_weights(edges["shape"]), self.vec4)
        bent = bends.elements(edges["indices"], edges["shape"], builder.particles["mass"] == 0.0)
        self.bend_count = len(bent.indices)
        self.bend_indices = self._integers(bent.indices, vec6i)
        self.bend_edges, self.bend_turns = self._integers(bent.edges, vec3i), self._integers(bent.turns, vec3i)
        self.bend_flexibility = self._floats(bent.flexibility, self.spatial_vector)
        for prefix, table in (("spring", springs), ("edge", edges)):
            for name in ("compliance", "damping"):
                setattr(self, f"{prefix}_{name}", self._floats(table[name]))

    def _add_surfaces(self, builder: ModelBuilder) -> None:
        """Triangles."""
        table = builder.triangles
        rest = table["rest"].reshape(-1, 3, 2)
        frames = np.stack([rest[:, 1] - rest[:, 0], rest[:, 2] - rest[:, 0]], axis=2)
        area = 0.5 * np.linalg.det(frames)
        frames[~(area > 0.0)] = np.eye(2)  # without stiffness a triangle may have any shape
        self.tri_count = table.count
        self.tri_indices = self._integers(table["indices"], vec3i)
        self.tri_pose = self._floats(np.linalg.inv(frames), matrix_type((2, 2), self.dtype))
        self.tri_area = self._floats(area)
        self.tri_stiffness = self._floats(np.column_stack([table["ke"], table["shear"], table["nu"]]), self.vec4)
        self.tri_damping, self.tri_drag, self.tri_lift = (self._floats(table[n]) for n in ("damping", "drag", "lift"))

    def _add_tetrahedra(self, builder: ModelBuilder) -> None:
        table = builder.tetrahedra
        rest = table["rest"].reshape(-1, 4, 3)
        frames = np.swapaxes(rest[:, 1:] - rest[:, :1], 1, 2)
        self.tet_count = table.count
        self.tet_indices = self._integers(table["indices"], vec4i)
        self.tet_pose = self._floats(np.linalg.inv(frames), matrix_type((3, 3), self.dtype))
        self.tet_volume = self._floats(np.linalg.det(frames) / 6.0)
        self.tet_mu, self.tet_lambda, self.tet_damping = (self._floats(table[n]) for n in ("mu", "lam", "damping"))

    def _add_attachments(self, builder: ModelBuilder) -> None:
        table = builder.attachments
        self.attachment_count = table.count
        self.attachment_particle, self.attachment_shape = (self._integers(table[n]) for n in ("particle", "shape"))
        self.attachment_target = self._floats(table["target"], self.vec3)
        for name in ("compliance", "damping"):
            setattr(self, f"attachment_{name}", self._floats(table[name]))

        self.pressure_count, self.pressure_faces = builder.pressures.count, tuple(builder.pressure_faces)
        self.pressure_target = self._floats(builder.pressures["target"])
        self.pressure_compliance = self._floats(builder.pressures["compliance"])
        self.tether_count = builder.tethers.count
        self.tether_indices = self._integers(builder.tethers["indices"], vec2i)
        self.tether_length = self._floats(builder.tethers["length"])

    def _add_shapes(self, builder: ModelBuilder) -> None:
        table = builder.shapes
        self.shape_count = table.count
        self.shape_type = tuple(ShapeType(t) for t in table["type"].tolist())
        self.shape_transform = self._floats(table["transform"], self.transform)
        self.shape_scale = self._floats(table["scale"], self.vec3)
        for name in ("mu", "mu_static", "restitution", "margin"):
            setattr(self, f"shape_{name}", self._floats(table[name]))
        self.shape_object = tuple(builder.sources[k] if k >= 0 else None for k in table["source"].tolist())
        self.shape_source = tuple(self._source_id(k) for k in range(table.count))
        self.shape_heights = tuple(self._height_table(k) for k in range(table.count))

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
