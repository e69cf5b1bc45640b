"""Walls of a mesh across a way that goes along another part of it: where the middle of a particle goes through a face.

Distances are to what is nearest, and along a floor that is the floor: a wall shows only from nearer than that. Rays go
through faces, however thin what they bound is.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Array, Float, Vec, dot, float32, func, length, max, normalize, uint64, vec3
from ...geometry.mesh.eval import mesh_eval_face_normal, mesh_eval_position
from ...geometry.mesh.ray import mesh_query_ray
from ..scene.shapes import ShapeType, mesh_distance

NEVER = 2.0
_ABOVE = 1.0e-2  # of its way: how far a ray goes above what a particle goes along


@func
def reduced(p: Vec[3, Float], scale: Vec[3, Float]) -> vec3:
    """A point of a shape's frame in that of its mesh."""
    return vec3(float32(p[0] / scale[0]), float32(p[1] / scale[1]), float32(p[2] / scale[2]))


def wall_ahead_with(shape_type: ShapeType) -> Any:
    """For one type of shape: what is no mesh has none."""
    is_mesh, side = shape_type in (ShapeType.MESH, ShapeType.HOLLOW_MESH), 1.0
    if shape_type is ShapeType.HOLLOW_MESH:
        side = -1.0

    @func
    def wall_ahead(
        a: Vec[3, Float], b: Vec[3, Float], keep: Float, scale: Vec[3, Float], source: uint64, heights: Array[Float, 2]
    ) -> tuple[Float, Vec[3, Float]]:
        """From a to b in the obstacle's frame: the part of the way until a particle touches the plane of the first face
        that its middle goes through from the free side, or would on a way that is longer by `keep`; below zero where it
        begins nearer. And the normal of that. `NEVER` for none."""
        way = b - a
        far = length(way)
        when, wall = 0.0 * far + NEVER, 0.0 * way
        if is_mesh and far > 0.0:
            _, floor = mesh_distance(a, scale, source, heights, keep + far)
            start = a + max(_ABOVE * far - keep, 0.0 * far) * (side * floor)
            hit = mesh_query_ray(source, reduced(start, scale), reduced(way, scale), float32(1.0 + keep / far))
            if hit.result:
                face = mesh_eval_face_normal(source, hit.face)
                n = type(a)(far.dtype(face[0]) / scale[0], far.dtype(face[1]) / scale[1], far.dtype(face[2]) / scale[2])
                n = side * normalize(n)
                closing = -dot(n, way)
                if closing > _ABOVE * far:
                    q = mesh_eval_position(source, hit.face, hit.u, hit.v)
                    on = type(a)(far.dtype(q[0]) * scale[0], far.dtype(q[1]) * scale[1], far.dtype(q[2]) * scale[2])
                    when, wall = (dot(start - on, n) - keep) / closing, n
        return when, wall

    return wall_ahead
