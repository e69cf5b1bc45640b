"""`SolverOcean`: what the sea does to bodies and sheets that float on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...arguments import checked, numbers
from ...core.language import Kernel, array, int32, launch, matrix_type, vec3i, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.arrays.saved_contents import active
from ...errors import ModelError, instance, shown
from ..scene.checks import check_step, model_problem, positive, refuse
from ..scene.control import Control
from ..scene.inertia import polyhedron
from ..scene.memory import Memory
from ..scene.model import Model
from ..scene.state import State
from . import buoyancy
from .buoyancy import Afloat, Forms, Hulls, Resistance
from .hulls import added_inertia_of, added_mass_of, hull_of, matrix_on_body
from .ocean import Ocean

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .field import Field


def moment(value: object, name: str) -> float:
    """A time [s]. Raises `ModelError` for what is no finite number."""
    if not (isinstance(value, Real) and math.isfinite(value)):
        raise ModelError(f"{name} is {shown(value)}\nexpected: a finite number of seconds")
    return float(value)


class SolverOcean(Fixed):
    """Tells what the sea does to shapes on bodies and to sheets of cloth, and moves none of them.

    model: z is up; calm water is at z = 0. Shapes on bodies are spheres, boxes, capsules, cylinders or closed meshes.
    In a `Coupling` this is matter like fluids, also of a model whose particles another solver moves.

    drag (C_d), friction (C_f) [-] and linear_drag [N s/m^3] of the wetted surface, see `buoyancy`; a ball has
    C_d / 2 of its cross-section, a plate across the flow C_d. added_mass (C_a): mass of water that moves with a shape,
    per mass that it displaces; None: that of the ellipsoid with the half extents of the shape, mean over directions.
    The added inertia is that of this ellipsoid, and of the added mass about the body's centre of mass. All four may be
    one number, or one for each shape; they are arrays (shapes,), with gradients where the model has some.
    density of water [kg/m^3]. sheet: thickness [m] of the model's cloth and its linear drag [N s/m^3], where it floats.

    A step evaluates the sea at its middle, `time` + dt / 2, where shapes are then with the twists that they have now:
    bodies that bob keep their energy. Drag is that of the twist at its beginning: stable for steps below two times what
    drag needs to stop the body and its added mass. `time` [s] goes on with each step, and may be set.

    `shape_force`: torque about the origin of each shape [N m] and force on it [N]. `body_added_mass` [kg],
    `body_added_inertia` [kg m^2]: of each body, along its axes. `particle_force` [N]: on the sheet. Of what overlaps
    within a body each displaces its own water. Raises `ModelError` for models of another up axis, shapes on bodies
    without volume, and coefficients that are negative.
    """

    settings: ClassVar[dict[str, Any]] = {"time": moment}
    replaceable = ("drag", "friction", "linear_drag", "added_mass")
    unfit = ModelError
    moves_particles: ClassVar[bool] = False

    @checked
    def __init__(
        self, model: Model, ocean: Ocean, drag: Any = 1.0, friction: Any = 0.01, linear_drag: Any = 0.0,
        added_mass: Any = None, density: float = 1025.0, sheet: Sequence[float] | None = None,
    ):  # fmt: skip
        refuse((model_problem(model),))
        instance(ocean, Ocean, "ocean")
        if model.up_axis != "Z" or ocean.device != model.device:
            there = f"the model has the up axis {model.up_axis} and is on {model.device}"
            raise ModelError(f"{there}\nexpected: Z, on {ocean.device} as the ocean\nhelp: ModelBuilder(up_axis='Z')")
        self.model, self.ocean, self.time = model, ocean, 0.0
        self.density = positive(density, "density")
        self.sheet = None if sheet is None else tuple(positive(x, "sheet") for x in numbers(sheet, "sheet", (2,)))
        self._field: Field | None = None
        self._rest = model.control()
        self._place_hulls()
        self.drag, self.friction = self._per_shape(drag, "drag"), self._per_shape(friction, "friction")
        self.linear_drag = self._per_shape(linear_drag, "linear_drag")
        self.added_mass = self._per_shape(self._by_shape if added_mass is None else added_mass, "added_mass")
        self._make_room()

    def _place_hulls(self) -> None:
        """Hulls of all shapes on bodies, in one table."""
        model, options = self.model, {"device": self.model.device}
        points, owners, faces, sides, first = [np.zeros((0, 3))], [], [np.zeros((0, 3), int)], [], 0
        rows = model.shape_count
        volume, center, spin, self._by_shape = np.ones(rows), np.zeros((rows, 3)), np.zeros((rows, 3, 3)), np.ones(rows)
        for s in np.flatnonzero(model.shape_body.numpy() >= 0):
            hull = hull_of(model, int(s))
            solid = polyhedron(hull.points, hull.triangles)
            volume[s], center[s], self._by_shape[s] = solid.volume, solid.center, added_mass_of(hull.half)
            pose = model.shape_transform.numpy()[s].astype(np.float64)
            spin[s] = matrix_on_body(added_inertia_of(hull.half, solid.volume), pose)
            points.append(hull.points)
            faces.append(hull.triangles + first)
            first += len(hull.points)
            owners += [s] * len(hull.points)
            sides += [s] * len(hull.triangles)
        table = [array(np.concatenate(points), dtype=model.vec3, **options), array(owners, dtype=int32, **options)]
        table += [array(np.concatenate(faces), dtype=vec3i, **options), array(sides, dtype=int32, **options)]
        self._hulls, self._sizes = Hulls[model.dtype](*table), (len(owners), len(sides))
        matrix = matrix_type((3, 3), model.dtype)
        columns = [(volume, model.dtype), (center, model.vec3), (spin, matrix)]
        self._forms = Forms[model.dtype](*(array(a, dtype=dtype, **options) for a, dtype in columns))

    def _per_shape(self, value: ArrayLike | array, name: str) -> array:
        """A coefficient of each shape, as an array. Raises `ModelError` for what is none."""
        model = self.model
        if isinstance(value, array):
            if value.dtype is not model.dtype or value.shape != (model.shape_count,) or value.device != model.device:
                raise ModelError(
                    f"{name} is an array of {value.shape} {value.dtype.__name__} on {value.device}\n"
                    f"expected: {model.shape_count} of {model.dtype.__name__} on {model.device}, one for each shape"
                )
            return value
        each = numbers(value, name)
        if each.shape not in ((), (model.shape_count,)) or not (np.isfinite(each) & (each >= 0.0)).all():
            raise ModelError(f"{name} is {shown(value)}\nexpected: 0 or more, one number or one for each shape")
        options: dict[str, Any] = {"device": model.device, "requires_grad": model.requires_grad}
        return array(np.broadcast_to(each, model.shape_count).copy(), dtype=model.dtype, **options)

    def _make_room(self) -> None:
        """Arrays that every step fills."""
        model = self.model
        many: dict[str, Any] = {"device": model.device, "requires_grad": True}
        shapes, bodies, points = model.shape_count, model.body_count, self._sizes[0]
        self.shape_force = zeros(shapes, model.spatial_vector, **many)
        self.body_added_mass = zeros(bodies, model.dtype, **many)
        self.body_added_inertia = zeros(bodies, matrix_type((3, 3), model.dtype), **many)
        self._depth, self._flow = zeros(points, model.dtype, **many), zeros(points, model.vec3, **many)
        self._pose = zeros(shapes, model.transform, **many)
        self._displaced = zeros(shapes, model.dtype, **many)
        twist, water = (zeros(shapes, dtype, **many) for dtype in (model.spatial_vector, model.vec3))
        self._moved = [self._pose, twist, water, self._displaced]
        self._shapes = Afloat[model.dtype](*self._moved, self.shape_force)
        self.particle_force = zeros(model.particle_count, model.vec3, **many)
        area = np.zeros(model.particle_count)
        np.add.at(area, model.tri_indices.numpy().ravel(), np.repeat(model.tri_area.numpy() / 3.0, 3))
        self._area = array(area, dtype=model.dtype, device=model.device)

    # ----- one step -------------------------------------------------------------------------------

    def step(
        self,
        state_in: State,
        state_out: State,
        control: Control | None = None,
        contacts: None = None,
        dt: float | None = None,
    ) -> None:
        """Measure what the sea does during `dt` [s] to what is there at its beginning; both states stay as they are.

        Raises `StateError` for states of another model and for time steps that are not above zero.
        """
        model = self.model
        check_step(self, "body_q", (state_in, state_out), self._rest if control is None else control, contacts, dt)
        assert dt is not None
        # on a tape each step has a field of its own: gradients go through all of them
        field = self.ocean.evaluate(self.time + 0.5 * dt, velocity=True, out=None if active() else self._field)
        self._put(_field=None if active() else field, time=self.time + dt)
        if self._sizes[0]:
            self._press(state_in, field.surface, model.dtype(0.5 * dt))
        if self.sheet is not None:
            numbers = [model.dtype(x) for x in (self.sheet[0], self.density, self.sheet[1])]
            moving = [state_in.particle_q, state_in.particle_qd, self.particle_force]
            self._run(buoyancy.carry, model.particle_count, field.surface, self._area, *numbers, *moving)

    def _press(self, state: State, surface: Any, half: Any) -> None:
        """Forces on shapes, and added mass of bodies, after `half` of the step [s]."""
        model, body, (points, sides) = self.model, self.model.shape_body, self._sizes
        for total in (self.shape_force, self._displaced, self.body_added_mass, self.body_added_inertia):
            total.zero_()
        bodies = [body, state.body_q, state.body_qd, model.body_com, model.shape_transform]
        self._run(buoyancy.place, model.shape_count, *bodies, half, self._shapes)
        self._run(buoyancy.wet, points, surface, self._hulls, self._pose, self._depth, self._flow)
        self._run(buoyancy.accelerate, model.shape_count, surface, body, self._forms.center, self._shapes)
        coefficients = [self.drag, self.friction, self.linear_drag, self.added_mass, model.dtype(self.density)]
        resistance = Resistance[model.dtype](*coefficients)
        self._run(buoyancy.press, sides, self._hulls, self._depth, self._flow, resistance, self._shapes)
        about = [body, model.shape_transform, model.body_com, self._forms, resistance, self._shapes]
        added = [self.body_added_mass, self.body_added_inertia]
        self._run(buoyancy.drag_along, model.shape_count, *about, *added)

    def _run(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device)

    @property
    def scratch(self) -> list[Any]:
        """Arrays that every step fills before it reads them, for `wp.checkpoint(..., scratch=solver.scratch)`."""
        own = [self.shape_force, self.body_added_mass, self.body_added_inertia, self.particle_force]
        return [*own, self._depth, self._flow, *self._moved]

    # ----- saved scenes ---------------------------------------------------------------------------

    def arguments(self) -> dict[str, Any]:
        """See `Savable`."""
        same = ("model", "ocean", "drag", "friction", "linear_drag", "added_mass", "density", "sheet")
        return {name: getattr(self, name) for name in same}

    def memory(self) -> Memory:
        """See `Savable`."""
        return {"time": self.time}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """See `Savable`."""
        self.time = memory["time"]
