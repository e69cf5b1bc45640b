"""`SurfaceTrees`: hierarchies of boxes around triangles and edges as they move, in float32, rounded outwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.language import Kernel, array, float32, float64, int32, vec3, vec3d
from ...core.language import abs, empty, func, kernel, launch, max, min, tid
from ...core.runtime.arrays.fixed import Fixed
from ...geometry.bvh.bvh import Bvh

if TYPE_CHECKING:
    from ..scene.model import Model


class SurfaceTrees(Fixed):
    """Of the triangles of a model, and of edges: vec2i (edges,)."""

    def __init__(self, model: Model, edges: array):
        self.model, self.edges, self._tables = model, edges, (model.tri_indices, edges)
        self._boxes = [[empty(count, vec3, model.device) for _ in range(2)] for count in (model.tri_count, len(edges))]
        self._run(bound_motions, model.particle_q, model.particle_qd, model.particle_radius, model.dtype(0.0))
        self.of_faces, self.of_edges = (
            Bvh(*boxes, groups=worlds_of(model, table)) for boxes, table in zip(self._boxes, self._tables, strict=True)
        )

    @property
    def scratch(self) -> list[Any]:
        """What is filled before it is read, for `wp.checkpoint`."""
        return [*(box for pair in self._boxes for box in pair), self.of_faces, self.of_edges]

    def move(self, q: array, qd: array, dt: float) -> None:
        """Around all that is within a radius for `dt` [s] from positions [m] at velocities [m/s]."""
        self._run(bound_motions, q, qd, self.model.particle_radius, self.model.dtype(dt))
        self._refit()

    def sweep(self, start: array, x: array) -> None:
        """Around straight ways from `start` [m] to where packed particles are."""
        self._run(bound_ways, start, x)
        self._refit()

    def _refit(self) -> None:
        self.of_faces.refit()
        self.of_edges.refit()

    def _run(self, kernel: Kernel, *motion: object) -> None:
        for elements, boxes in zip(self._tables, self._boxes, strict=True):
            arguments = [elements, *motion, *boxes]
            launch(kernel, len(elements), arguments, device=self.model.device, record_tape=False)


def worlds_of(model: Model, elements: array) -> array | None:
    """The world of each face or edge, as groups of a hierarchy; None in models of one."""
    if model.world_count == 1:
        return None
    firsts = elements.numpy()[:, 0]
    return array(model.particle_world.numpy()[firsts], dtype=int32, device=model.device)


@func
def single(p: Any) -> vec3:
    """A point in float32."""
    return vec3(float32(p[0]), float32(p[1]), float32(p[2]))


@func
def exact(p: Any) -> vec3d:
    """A point in float64."""
    return vec3d(float64(p[0]), float64(p[1]), float64(p[2]))


@func
def reach_of(low: vec3, high: vec3, by: Any) -> vec3:
    """How far to widen a box: `by`, and what rounding to float32 may take off it."""
    far = float32(0.0)
    for axis in range(3):
        far = max(far, max(abs(low[axis]), abs(high[axis])))
    wide = float32(by) + 1.0e-6 * far
    return vec3(wide, wide, wide)


@kernel
def bound_motions(
    elements: array(dtype=Any), q: array(dtype=Any), qd: array(dtype=Any), radius: array(dtype=Any), dt: Any,
    lower: array(dtype=vec3), upper: array(dtype=vec3),
):  # fmt: skip
    """Boxes of faces (vec3i) or edges (vec2i) over a time step, with what lies within reach of them."""
    e = tid()
    low, high = single(q[elements[e][0]]), single(q[elements[e][0]])
    wide = radius[elements[e][0]]
    for k in range(len(elements[e])):
        i = elements[e][k]
        now, then = single(q[i]), single(q[i] + dt * qd[i])
        low, high, wide = min(low, min(now, then)), max(high, max(now, then)), max(wide, radius[i])
    more = reach_of(low, high, wide)
    lower[e], upper[e] = low - more, high + more


@kernel
def bound_ways(
    elements: array(dtype=Any), start: array(dtype=Any), x: array(dtype=Any), lower: array(dtype=vec3),
    upper: array(dtype=vec3),
):  # fmt: skip
    """Boxes around the ways of faces (vec3i) or edges (vec2i)."""
    e = tid()
    low, high = single(start[elements[e][0]]), single(start[elements[e][0]])
    for k in range(len(elements[e])):
        now, then = single(start[elements[e][k]]), single(x[elements[e][k]])
        low, high = min(low, min(now, then)), max(high, max(now, then))
    more = reach_of(low, high, 0.0)
    lower[e], upper[e] = low - more, high + more
