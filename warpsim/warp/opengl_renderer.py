"""`OpenGLRenderer`: the methods of Warp's window on pictures that are drawn without a display.

Nothing here needs OpenGL. A picture is drawn when `get_pixels` asks for it, by the rays of `warpsim.plot`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked
from ..core.language import array, float32, uint8
from ..core.types.arrays import type_name
from ..errors import ArgumentTypeError, DeviceError, LaunchError
from ..plot.camera import Camera
from ..plot.panel import BACKDROP, OVERSAMPLE, Stage, draw
from ..plot.scene import Balls, Surface, Thing
from ..plot.shade import encode
from ..plot.shapes import box, tube
from ..plot.trace import Scene, first_hits
from ..plot.turned import arrow_outline, capsule_outline, cone_outline, cylinder_outline, revolve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_ORIGIN, _UPRIGHT, _WHOLE = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0)
_COLOR = (0.55, 0.60, 0.68)
_SUN = np.array([0.45, 0.80, 0.40]) / np.linalg.norm([0.45, 0.80, 0.40])
_UP = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True)
class Instance:
    """A thing in its own coordinates, and where it stands: scaled, turned, shifted, then moved with its body."""

    number: int
    thing: Thing
    pos: np.ndarray
    rot: np.ndarray
    scale: np.ndarray
    body: str | None
    visible: bool


class OpenGLRenderer:
    """A scene that is drawn anew for every picture; lengths are multiplied by `scaling`.

        renderer = wp.render.OpenGLRenderer(screen_width=320, screen_height=240, camera_pos=(0.0, 1.0, 5.0))
        renderer.begin_frame(time)
        renderer.render_sphere("ball", (0.0, 1.0, 0.0), wp.quat_identity(), 0.5)
        renderer.end_frame()
        renderer.get_pixels(pixels, split_up_tiles=False)

    up_axis: "X", "Y" or "Z" of what is drawn; the camera sees it turned so that this is Y. camera_fov: the height of
    the picture [degrees]. far_plane: the depth where nothing is. Colors are linear RGB; drawing a name again moves it,
    what is not drawn again stays. The methods that draw return the number of the instance. There is no window: `title`,
    `fps`, and what says how a window looks or is used, are accepted and have no effect; `headless=False` is refused.

    Raises `ArgumentTypeError` for arguments that are no arrays of the shape.
    """

    @checked
    def __init__(
        self, title: str = "", scaling: float = 1.0, fps: int = 60, up_axis: str = "Y", screen_width: int = 1024,
        screen_height: int = 768, near_plane: float = 1.0, far_plane: float = 100.0, camera_fov: float = 45.0,
        camera_pos: ArrayLike = (0.0, 2.0, 10.0), camera_front: ArrayLike = (0.0, 0.0, -1.0),
        camera_up: ArrayLike = (0.0, 1.0, 0.0), *looks: object, headless: bool | None = None, **window: object,
    ):  # fmt: skip
        if headless is False:
            raise DeviceError("OpenGLRenderer has no window\nexpected: headless=True\nhelp: `warpsim view` shows files")
        if str(up_axis).upper() not in tuple("XYZ"):
            raise ArgumentTypeError(f"up_axis is {up_axis!r}\nexpected: 'X', 'Y' or 'Z'")
        self.title, self.scaling, self.fps, self.up_axis = title, scaling, fps, str(up_axis).upper()
        self.screen_width, self.screen_height = int(screen_width), int(screen_height)
        self.camera_fov, self.far_plane = camera_fov, far_plane
        self.camera_pos, self.camera_front, self.camera_up = camera_pos, camera_front, camera_up
        self.time, self.paused, self.has_exit, self.bodies = 0.0, False, False, list[str]()
        self._moved: dict[str, np.ndarray] = {}
        self._instances: dict[str, Instance] = {}
        self._templates: dict[Any, Thing] = {}
        self._ground: float | None = None

    # ----- frames and camera --------------------------------------------------------------------

    def begin_frame(self, t: float | None = None) -> None:
        """What is drawn from now on is at a time [s]."""
        self.time = self.time + 1.0 / self.fps if t is None else float(t)

    def end_frame(self) -> None:
        """The frame is complete."""

    def clear(self) -> None:
        """Forget everything that was drawn."""
        self._instances, self._templates, self._ground = {}, {}, None

    def save(self) -> None:
        """Nothing: pictures are those that `get_pixels` gave."""

    def is_running(self) -> bool:
        """Whether `close` was not called."""
        return not self.has_exit

    def close(self) -> None:
        """End loops over `is_running`."""
        self.has_exit = True

    def update_view_matrix(
        self, cam_pos: ArrayLike | None = None, cam_front: ArrayLike | None = None, cam_up: ArrayLike | None = None,
        stiffness: float = 1.0,
    ) -> None:  # fmt: skip
        """Move the camera; stiffness: the part of the way, 1 for all of it."""
        for name, there in (("camera_pos", cam_pos), ("camera_front", cam_front), ("camera_up", cam_up)):
            if there is not None:
                here = _numbers(getattr(self, name), 3, name)[0]
                setattr(self, name, here + stiffness * (_numbers(there, 3, name)[0] - here))

    # ----- bodies and instances -------------------------------------------------------------------

    def register_body(self, name: str) -> int:
        """The number of a body, by which `update_body_transforms` moves what has it as `parent_body`."""
        if name not in self.bodies:
            self.bodies.append(name)
        return self.bodies.index(name)

    def update_body_transforms(self, body_tf: ArrayLike) -> None:
        """Move all bodies: transforms (n, 7), in the order in which they were registered."""
        for name, row in zip(self.bodies, _numbers(body_tf, 7, "body_tf"), strict=False):
            self._moved[name] = row

    def update_shape_instance(
        self, name: str, pos: ArrayLike | None = None, rot: ArrayLike | None = None, color1: ArrayLike | None = None,
        color2: ArrayLike | None = None, scale: ArrayLike | None = None, visible: bool | None = None,
    ) -> bool:  # fmt: skip
        """Move, color or hide what was drawn under a name; whether there is such a thing."""
        instance = self._instances.get(name)
        if instance is None:
            return False
        thing = instance.thing if color1 is None else replace(instance.thing, color=_color(color1))
        placed = {"pos": (pos, 3), "rot": (rot, 4), "scale": (scale, 3)}
        changes = {key: _numbers(value, n, key)[0] for key, (value, n) in placed.items() if value is not None}
        shown = instance.visible if visible is None else visible
        self._instances[name] = replace(instance, thing=thing, visible=shown, **changes)
        return True

    def remove_shape_instance(self, name: str) -> None:
        """Forget what was drawn under a name."""
        self._instances.pop(name, None)

    # ----- shapes ---------------------------------------------------------------------------------

    def render_ground(self, size: float = 1000.0, plane: ArrayLike | None = None) -> None:
        """Draw a floor across the up axis, or along a plane (a, b, c, d): a x + b y + c z + d = 0, across that axis.

        It reaches as far as the picture and fades there, whatever `size` says. Raises `ArgumentTypeError` for planes
        that are tilted.
        """
        if plane is None:
            self._ground = 0.0
            return
        *normal, d = _numbers(plane, 4, "plane")[0].tolist()
        up = np.eye(3)["XYZ".index(self.up_axis)]
        if abs(normal @ up) < 0.999999 * np.linalg.norm(normal):
            raise ArgumentTypeError(f"the plane {tuple(plane)} is tilted\nexpected: one across the axis {self.up_axis}")
        self._ground = -self.scaling * d / float(np.array(normal) @ up)

    def render_plane(
        self, name: str, pos: ArrayLike, rot: ArrayLike, width: float, length: float, color: ArrayLike | None = None,
        color2: ArrayLike | None = None, parent_body: str | None = None, is_template: bool = False,
        u_scaling: float = 1.0, v_scaling: float = 1.0, visible: bool = True,
    ) -> int:  # fmt: skip
        """Draw a rectangle across y: `width` along x, `length` along z; 0 is 100."""
        x, z = (width or 100.0) / 2.0, (length or 100.0) / 2.0
        corners = np.array([(-x, 0.0, -z), (-x, 0.0, z), (x, 0.0, z), (x, 0.0, -z)])
        thing = Surface(corners, np.array([(0, 1, 2), (0, 2, 3)]), _color(color))
        return self._add(name, thing, (pos, rot), parent_body, is_template, visible)

    def render_sphere(
        self, name: str, pos: ArrayLike, rot: ArrayLike, radius: float, parent_body: str | None = None,
        is_template: bool = False, color: ArrayLike | None = None, visible: bool = True,
    ) -> int:  # fmt: skip
        """Draw a ball. pos: its centre; rot: a quaternion x, y, z, w."""
        thing = Balls(np.zeros((1, 3)), radius, _color(color))
        return self._add(name, thing, (pos, rot), parent_body, is_template, visible)

    def render_box(
        self, name: str, pos: ArrayLike, rot: ArrayLike, extents: ArrayLike, parent_body: str | None = None,
        is_template: bool = False, color: ArrayLike | None = None, visible: bool = True,
    ) -> int:  # fmt: skip
        """Draw a box. extents: half of each side."""
        half = _numbers(extents, 3, "extents")[0]
        return self._add(name, box(-half, half, _color(color)), (pos, rot), parent_body, is_template, visible)

    def render_capsule(
        self, name: str, pos: ArrayLike, rot: ArrayLike, radius: float, half_height: float,
        parent_body: str | None = None, is_template: bool = False, up_axis: int = 1, color: ArrayLike | None = None,
        visible: bool = True,
    ) -> int:  # fmt: skip
        """Draw a capsule along an axis (0, 1, 2); `half_height` without its ends."""
        thing = revolve(capsule_outline(radius, half_height), up_axis, _color(color))
        return self._add(name, thing, (pos, rot), parent_body, is_template, visible)

    def render_cylinder(
        self, name: str, pos: ArrayLike, rot: ArrayLike, radius: float, half_height: float,
        parent_body: str | None = None, is_template: bool = False, up_axis: int = 1, color: ArrayLike | None = None,
        visible: bool = True,
    ) -> int:  # fmt: skip
        """Draw a cylinder, as `render_capsule`."""
        thing = revolve(cylinder_outline(radius, half_height), up_axis, _color(color))
        return self._add(name, thing, (pos, rot), parent_body, is_template, visible)

    def render_cone(
        self, name: str, pos: ArrayLike, rot: ArrayLike, radius: float, half_height: float,
        parent_body: str | None = None, is_template: bool = False, up_axis: int = 1, color: ArrayLike | None = None,
        visible: bool = True,
    ) -> int:  # fmt: skip
        """Draw a cone with its tip up, as `render_capsule`."""
        thing = revolve(cone_outline(radius, half_height), up_axis, _color(color))
        return self._add(name, thing, (pos, rot), parent_body, is_template, visible)

    def render_arrow(
        self, name: str, pos: ArrayLike, rot: ArrayLike, base_radius: float, base_height: float,
        cap_radius: float | None = None, cap_height: float | None = None, parent_body: str | None = None,
        is_template: bool = False, up_axis: int = 1, color: ArrayLike | None = None, visible: bool = True,
    ) -> int:  # fmt: skip
        """Draw an arrow: a shaft from the origin along its axis, and a cone on it."""
        tip = base_height / 2.0 if cap_height is None else cap_height
        outline = arrow_outline(base_radius, base_height, cap_radius or 1.5 * base_radius, tip)
        thing = revolve(outline, up_axis, _color(color))
        return self._add(name, thing, (pos, rot), parent_body, is_template, visible)

    # ----- arrays ---------------------------------------------------------------------------------

    def render_mesh(
        self, name: str, points: ArrayLike, indices: ArrayLike, colors: ArrayLike | None = None,
        pos: ArrayLike = _ORIGIN, rot: ArrayLike = _UPRIGHT, scale: ArrayLike = _WHOLE, update_topology: bool = False,
        parent_body: str | None = None, is_template: bool = False, smooth_shading: bool = True, visible: bool = True,
    ) -> int:  # fmt: skip
        """Draw triangles. points: (n, 3); indices: three per face, read the first time and with `update_topology`;
        colors: one, or one per point. Faces that meet at an angle have an edge, whatever `smooth_shading` says."""
        before = self._instances.get(name)
        if before is None or update_topology or not isinstance(before.thing, Surface):
            faces = _host(indices).reshape(-1, 3).astype(np.int64)
            thing = Surface(_numbers(points, 3, "points"), faces, _color(colors))
        else:
            painted = before.thing.color if colors is None else _color(colors)
            thing = Surface(_numbers(points, 3, "points"), before.thing.triangles, painted)
        return self._add(name, thing, (pos, rot, scale), parent_body, is_template, visible)

    def render_points(
        self, name: str, points: ArrayLike, radius: ArrayLike, colors: ArrayLike | None = None,
        as_spheres: bool = True, visible: bool = True,
    ) -> int:  # fmt: skip
        """Draw balls at points (n, 3), with one radius or n, one color or n. `as_spheres` makes no difference."""
        radii = _host(radius).astype(np.float64)
        thing = Balls(
            _numbers(points, 3, "points"), radii.ravel() if radii.size > 1 else radii.reshape(()), _color(colors)
        )
        return self._add(name, thing, visible=visible)

    def render_line_list(
        self,
        name: str,
        vertices: ArrayLike,
        indices: ArrayLike,
        color: ArrayLike | None = None,
        radius: float = 0.01,
        visible: bool = True,
    ) -> int:
        """Draw lines between pairs of vertices (n, 3). indices: two per line."""
        ends = _numbers(vertices, 3, "vertices")[_host(indices).reshape(-1, 2).astype(np.int64)]
        return self._add(name, _join([tube(line, radius, _color(color)) for line in ends]), visible=visible)

    def render_line_strip(
        self, name: str, vertices: ArrayLike, color: ArrayLike | None = None, radius: float = 0.01, visible: bool = True
    ) -> int:
        """Draw a line through vertices (n, 3), in order."""
        thing = tube(_numbers(vertices, 3, "vertices"), radius, _color(color))
        return self._add(name, thing, visible=visible)

    def render_ref(
        self,
        name: str,
        path: str | int,
        pos: ArrayLike,
        rot: ArrayLike,
        scale: ArrayLike,
        color: ArrayLike | None = None,
    ) -> int:
        """Draw a copy of a template, which was drawn under the name `path`, or has that number."""
        if path not in self._templates:
            raise ArgumentTypeError(f"{path!r} was not drawn with is_template=True\nexpected: one of those names")
        thing = self._templates[path]
        thing = thing if color is None else replace(thing, color=_color(color))
        return self._add(name, thing, (pos, rot, scale), visible=True)

    def _add(
        self,
        name: str,
        thing: Thing,
        place: Sequence[ArrayLike] = (_ORIGIN, _UPRIGHT),
        body: str | None = None,
        is_template: bool = False,
        visible: bool = True,
    ) -> int:
        """Draw a thing from now on. place: position, orientation and, if not one, scale."""
        if is_template:
            number = len(self._templates) // 2
            self._templates[name] = self._templates[number] = thing
            return number
        number = self._instances[name].number if name in self._instances else len(self._instances)
        if body is not None:
            self.register_body(body)
        parts = zip((*place, _WHOLE), (("pos", 3), ("rot", 4), ("scale", 3)), strict=False)
        pos, rot, scale = (_numbers(part, count, what)[0] for part, (what, count) in parts)
        self._instances[name] = Instance(number, thing, pos, rot, scale, body, visible)
        return number

    # ----- pictures -------------------------------------------------------------------------------

    def get_pixels(
        self, target_image: array, split_up_tiles: bool = True, mode: str = "rgb", use_uint8: bool = False
    ) -> bool:
        """Draw what the camera sees now into an array, from the top row on.

        target_image: (screen_height, screen_width, 3) for "rgb", of float32 in [0, 1], or of uint8 with `use_uint8`;
        (screen_height, screen_width, 1) for "depth": distances along the view, `far_plane` where nothing is; a floor
        has no depth. Raises `ArgumentTypeError` for other arrays, `LaunchError` for `split_up_tiles`: there are none.
        """
        if split_up_tiles:
            raise LaunchError("get_pixels splits no tiles up\nexpected: split_up_tiles=False, one camera for a picture")
        if mode not in ("rgb", "depth"):
            raise ArgumentTypeError(f"mode is {mode!r}\nexpected: 'rgb' or 'depth'")
        dtype = uint8 if use_uint8 and mode == "rgb" else float32
        shape = (self.screen_height, self.screen_width, 3 if mode == "rgb" else 1)
        if not isinstance(target_image, array) or target_image.dtype is not dtype or target_image.shape != shape:
            raise ArgumentTypeError(
                f"target_image is {_describe(target_image)}\nexpected: an array of {type_name(dtype)}, shape {shape}"
            )
        image = self._picture() if mode == "rgb" else self._depth()
        target_image.assign(np.round(255.0 * image).astype(np.uint8) if dtype is uint8 else image.astype(np.float32))
        return True

    def _picture(self) -> np.ndarray:
        """What the camera sees, as sRGB (h, w, 3) in [0, 1]."""
        things = [self._place(instance) for instance in self._instances.values() if instance.visible]
        if not things and self._ground is None:
            return np.broadcast_to(encode(BACKDROP), (self.screen_height, self.screen_width, 3))
        center, radius = _ball_around(things)
        height = None if self._ground is None else (self._ground - center[1]) / radius
        stage = Stage(self._camera(OVERSAMPLE, center, radius), _UP, _SUN, height)
        return draw([thing.scaled(center, radius) for thing in things], stage)

    def _depth(self) -> np.ndarray:
        """How far things are along the view (h, w, 1)."""
        things = [self._place(instance) for instance in self._instances.values() if instance.visible]
        center, radius = _ball_around(things)
        surfaces, balls = _merge([thing.scaled(center, radius) for thing in things])
        camera = self._camera(1, center, radius)
        scene = Scene(surfaces.points, surfaces.triangles, balls.centers, balls.radii)
        distance = radius * first_hits(scene, camera.eye, camera.rays().reshape(-1, 3)).distance
        return np.minimum(distance, self.far_plane).reshape(self.screen_height, self.screen_width, 1)

    def _camera(self, fine: int, center: np.ndarray, radius: float) -> Camera:
        """The camera, `fine` times as many pixels a side, in lengths of `radius` from `center`."""
        eye, front, up = (_numbers(getattr(self, f"camera_{name}"), 3, name)[0] for name in ("pos", "front", "up"))
        forward = front / np.linalg.norm(front)
        right = np.cross(forward, up)
        right /= np.linalg.norm(right)
        axes = np.stack([right, np.cross(forward, right), forward])
        width, height = fine * self.screen_width, fine * self.screen_height
        scale = 0.5 * height / np.tan(0.5 * np.radians(self.camera_fov))
        return Camera((eye - center) / radius, axes, float(scale), (0.5 * width, 0.5 * height), (width, height))

    def _place(self, instance: Instance) -> Thing:
        """An instance in the coordinates of the camera."""
        body = None if instance.body is None else self._moved.get(instance.body)

        def move(points: np.ndarray) -> np.ndarray:
            there = _turn(points * instance.scale, instance.rot) + instance.pos
            there = there if body is None else _turn(there, body[3:]) + body[:3]
            return np.roll(self.scaling * there, 1 - "XYZ".index(self.up_axis), axis=1)

        thing = instance.thing
        if isinstance(thing, Surface):
            return Surface(move(thing.points), thing.triangles, thing.color)
        return Balls(move(thing.centers), self.scaling * float(instance.scale.max()) * thing.radii, thing.color)


def _ball_around(things: Sequence[Thing]) -> tuple[np.ndarray, float]:
    """A centre (3,) and a radius that hold all things."""
    points = np.concatenate([np.zeros((0, 3)), *(thing.outline for thing in things)])
    if not len(points):
        return np.zeros(3), 1.0
    center = 0.5 * (points.min(0) + points.max(0))
    return center, max(float(np.linalg.norm(points - center, axis=1).max()), 1e-6)


def _merge(things: Sequence[Thing]) -> tuple[Surface, Balls]:
    """All surfaces as one, and all balls; a point without triangles where there is no surface."""
    balls = [thing for thing in things if isinstance(thing, Balls)]
    none = Surface(np.zeros((1, 3)), np.zeros((0, 3), np.int64))
    return _join([none, *(thing for thing in things if isinstance(thing, Surface))]), Balls(
        np.concatenate([np.zeros((0, 3)), *(b.centers for b in balls)]),
        np.concatenate([np.zeros(0), *(b.radii for b in balls)]),
    )


def _join(surfaces: Sequence[Surface]) -> Surface:
    """Several surfaces as one."""
    first = np.cumsum([0] + [len(surface.points) for surface in surfaces])
    return Surface(
        np.concatenate([surface.points for surface in surfaces]),
        np.concatenate([surface.triangles + n for surface, n in zip(surfaces, first, strict=False)]),
        np.concatenate([surface.color for surface in surfaces]),
    )


def _turn(points: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Points (n, 3) turned by a quaternion x, y, z, w."""
    axis, real = rotation[None, :3], rotation[3]
    return points + 2.0 * np.cross(axis, np.cross(axis, points) + real * points)


def _host(values: ArrayLike) -> np.ndarray:
    """Numbers of arrays, of their elements, or of anything that NumPy takes."""
    return np.asarray(values.numpy() if isinstance(values, array) else values)


def _numbers(values: ArrayLike, width: int, name: str) -> np.ndarray:
    """Rows of numbers. Raises `ArgumentTypeError` for other widths."""
    rows = _host(values)
    if rows.dtype.kind not in "iuf" or not rows.size or rows.shape[-1] != width:
        raise ArgumentTypeError(f"{name} has shape {rows.shape}\nexpected: rows of {width} numbers")
    return rows.astype(np.float64).reshape(-1, width)


def _color(color: ArrayLike) -> Any:
    """One color (3,) or one per point (n, 3)."""
    if color is None:
        return _COLOR
    rows = np.clip(_numbers(color, 3, "color"), 0.0, 1.0)
    return rows[0] if len(rows) == 1 else rows


def _describe(value: object) -> str:
    """What an argument is instead of an array for pixels."""
    return f"of {type_name(value.dtype)}, shape {value.shape}" if isinstance(value, array) else type(value).__name__
