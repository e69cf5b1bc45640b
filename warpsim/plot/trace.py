"""Ray casting: what each pixel sees, and how much of the sky and of the sun reaches a point.

Rays walk the trees of a `Mesh` and of a `Bvh` of balls on every core. The light of the sky is a mean over directions
(ambient occlusion, Zhukov, Iones and Kronin 1998), drawn by the cosine law from points that fill the square evenly
(Roberts 2018); the sun is a disc, so that shadows have a penumbra. The same input gives the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.language import (
    array,
    cos,
    dot,
    float32,
    floor,
    func,
    int32,
    kernel,
    launch,
    max,
    sin,
    sqrt,
    struct,
    tid,
    uint64,
    vec2,
    vec3,
    where,
    zeros,
)
from ..geometry.bvh.bvh import Bvh
from ..geometry.bvh.query import bvh_query_next, bvh_query_ray
from ..geometry.mesh.mesh import Mesh
from ..geometry.mesh.ray import mesh_query_ray, mesh_query_ray_anyhit

FAR = 1.0e30
BOUNCED = 0.16  # light from a direction in which something stands, as a share of that of the horizon
_STEPS = (0.7548776662466927, 0.5698402909980532)  # 1/p and 1/p^2 of the real root p of p^3 = p + 1
_TURN = 2.0 * np.pi


@struct
class Solids:
    """What rays may meet: the ids of a mesh and of a tree of balls, with the balls."""

    mesh: uint64
    tree: uint64
    centers: array(dtype=vec3)
    radii: array(dtype=float32)


@struct
class Light:
    """Where light comes from: unit vectors to the zenith and to the sun, whose radius is `disc` [rad].

    reach: how far what stands in the way of the sky is looked for. samples: directions per point.
    """

    up: vec3
    sun: vec3
    disc: float32
    reach: float32
    samples: int32


class Scene:
    """Triangles (m, 3) over points (n, 3), and balls (k, 3) with radii (k,), for rays.

    In float32, so all should be near the origin, and of a size about 1.
    """

    def __init__(self, points: np.ndarray, triangles: np.ndarray, centers: np.ndarray, radii: np.ndarray):
        corners = np.ascontiguousarray(triangles, np.int32).ravel()
        self.mesh = Mesh(_vectors(points), array(corners, dtype=int32, device="cpu"))
        self.centers, self.radii = _vectors(centers), _array(radii, float32)
        sides = np.asarray(radii)[:, None] * np.ones(3)
        self.tree = Bvh(_vectors(centers - sides), _vectors(centers + sides))

    def solids(self) -> Solids:
        """What kernels take."""
        return Solids(mesh=self.mesh.id, tree=self.tree.id, centers=self.centers, radii=self.radii)


@dataclass(frozen=True)
class Hits:
    """What n rays meet first.

    distance: (n,) in lengths of the ray, infinite where there is nothing; triangle, ball: (n,), -1 where it is none;
    weights: (n, 3), barycentric coordinates in that triangle.
    """

    distance: np.ndarray
    triangle: np.ndarray
    weights: np.ndarray
    ball: np.ndarray


def first_hits(scene: Scene, eye, rays: np.ndarray) -> Hits:
    """What rays (n, 3) from the eye (3,) meet first."""
    distance, corner = zeros(len(rays), float, device="cpu"), zeros(len(rays), vec2, device="cpu")
    triangle, ball = (zeros(len(rays), int, device="cpu") for _ in range(2))
    _run(see, len(rays), [scene.solids(), _vec(eye), _vectors(rays), distance, triangle, corner, ball])
    length = distance.numpy().astype(np.float64)
    first = corner.numpy().astype(np.float64)
    weights = np.column_stack([first, 1.0 - first.sum(1)])
    return Hits(np.where(length < FAR, length, np.inf), triangle.numpy(), weights, ball.numpy())


def visibility(
    scene: Scene, points: np.ndarray, normals: np.ndarray, shifts: np.ndarray, light: Light
) -> tuple[np.ndarray, np.ndarray]:
    """The light of the sky (k,), 1 straight from above, and the share of the sun's disc seen (k,), from points (k, 3).

    normals: (k, 3) of length 1. shifts: (k, 2) in [0, 1), where in the sequence of directions a point begins.
    """
    sky, share = (zeros(len(points), float, device="cpu") for _ in range(2))
    places = [_vectors(points), _vectors(normals), _array(shifts, vec2)]
    _run(gather_light, len(points), [scene.solids(), *places, light, sky, share])
    return sky.numpy(), share.numpy()


def light_from(up: np.ndarray, sun: np.ndarray, disc: float, reach: float, samples: int = 4) -> Light:
    """The light of a sky and a sun, see `Light`; up, sun: (3,)."""
    return Light(up=_vec(up), sun=_vec(sun), disc=disc, reach=reach, samples=samples)


def spread(number: np.ndarray) -> np.ndarray:
    """Points (k, 2) of the sequence that fills the unit square evenly, by their numbers (k,) (Roberts 2018)."""
    return np.mod(0.5 + np.asarray(number, np.float64)[:, None] * np.array(_STEPS), 1.0)


def _vectors(rows: np.ndarray) -> array:
    return _array(rows, vec3)


def _array(numbers: np.ndarray, dtype) -> array:
    return array(np.ascontiguousarray(numbers, np.float32), dtype=dtype, device="cpu")


def _vec(numbers) -> vec3:
    return vec3(*map(float, numbers))


def _run(job, count: int, inputs: list) -> None:
    """Launch on the CPU: pictures are no part of what a user's tape records."""
    launch(job, count, inputs=inputs, device="cpu", record_tape=False)


# ----- kernels ----------------------------------------------------------------------------------------


@func
def meet_ball(center: vec3, radius: float32, start: vec3, ray: vec3) -> float32:
    """How far along a ray a ball is entered, in lengths of the ray; FAR where it is not."""
    away, square = start - center, dot(ray, ray)
    middle = -dot(away, ray) / square
    aside = away + middle * ray  # the way from the centre to the ray: no difference of squares of long ways
    room = (radius * radius - dot(aside, aside)) / square
    near = middle - sqrt(max(room, 0.0))
    return where(room > 0.0 and near > 0.0, near, FAR)


@kernel(enable_backward=False)
def see(
    solids: Solids,
    eye: vec3,
    rays: array(dtype=vec3),
    distance: array(dtype=float32),
    triangle: array(dtype=int32),
    corner: array(dtype=vec2),
    ball: array(dtype=int32),
):
    i = tid()
    ray = rays[i]
    hit = mesh_query_ray(solids.mesh, eye, ray, FAR)
    nearest, face, owner = where(hit.result, hit.t, FAR), where(hit.result, hit.face, -1), int32(-1)
    if solids.radii.shape[0] > 0:
        near = bvh_query_ray(solids.tree, eye, ray)
        k = int32(0)
        while bvh_query_next(near, k, nearest):
            t = meet_ball(solids.centers[k], solids.radii[k], eye, ray)
            if t < nearest:
                nearest, face, owner = t, -1, k
    distance[i], triangle[i], ball[i], corner[i] = nearest, face, owner, vec2(hit.u, hit.v)


@func
def is_blocked(solids: Solids, start: vec3, ray: vec3, reach: float32) -> bool:
    """Whether a ray meets anything."""
    if mesh_query_ray_anyhit(solids.mesh, start, ray, reach):
        return True
    if solids.radii.shape[0] > 0:
        near = bvh_query_ray(solids.tree, start, ray)
        k = int32(0)
        while bvh_query_next(near, k, reach):
            if meet_ball(solids.centers[k], solids.radii[k], start, ray) < reach:
                return True
    return False


@kernel(enable_backward=False)
def gather_light(
    solids: Solids,
    points: array(dtype=vec3),
    normals: array(dtype=vec3),
    shifts: array(dtype=vec2),
    light: Light,
    sky: array(dtype=float32),
    share: array(dtype=float32),
):
    i = tid()
    p, n, shift = points[i], normals[i], shifts[i]
    total = float32(0.0)
    for k in range(light.samples):
        a, b = part(shift[0] + _STEPS[0] * float32(k)), part(shift[1] + _STEPS[1] * float32(k))
        d = around(n, sqrt(a), _TURN * b, sqrt(1.0 - a))
        total += where(is_blocked(solids, p, d, light.reach), BOUNCED, 0.65 + 0.35 * dot(d, light.up))
    sky[i] = total / float32(max(light.samples, 1))
    if dot(n, light.sun) > 0.0:
        ray = around(light.sun, light.disc * sqrt(shift[1]), _TURN * shift[0], 1.0)
        share[i] = where(is_blocked(solids, p, ray, FAR), 0.0, 1.0)


@func
def part(x: float32) -> float32:
    """What is behind the point."""
    return x - floor(x)


@func
def around(axis: vec3, radius: float32, angle: float32, height: float32) -> vec3:
    """Cylindrical coordinates around a unit vector (Duff et al. 2017)."""
    s = where(axis[2] >= 0.0, 1.0, -1.0)
    a = -1.0 / (s + axis[2])
    b = axis[0] * axis[1] * a
    one = vec3(1.0 + s * axis[0] * axis[0] * a, s * b, -s * axis[0])
    two = vec3(b, s + axis[1] * axis[1] * a, -axis[1])
    return radius * cos(angle) * one + radius * sin(angle) * two + height * axis
