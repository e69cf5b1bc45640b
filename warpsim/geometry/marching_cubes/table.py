"""The case table of marching cubes: triangles of each of the 256 patterns of corners, from rules.

Corner c of a cube stands at (c & 1, c >> 1 & 1, c >> 2); bit c of a case is set where the corner is inside. An edge is
named 4 * corner + axis by its corner with the smaller coordinates and the axis it runs along; it is cut where one of
its ends is inside. Guarantees, by construction and by the tests:

- On each face of the cube the surface leaves one segment around every run of inside corners. The segments follow from
  the four corners of the face alone, so the two cubes that share a face agree: no holes. Where two inside corners face
  each other diagonally they are cut off one by one (a fixed answer to the ambiguity that Nielson and Hamann 1991, "The
  asymptotic decider", describe; they decide by the values instead, which depends on more than signs).
- The segments join to closed loops, and each loop is filled with triangles that have no side within a face except the
  segments themselves. So every side of a triangle belongs to exactly two triangles, in the cube or across a face.
- Triangles turn counter-clockwise seen from outside (the right-hand normal points away from the inside corners).

Among the admissible fillings the one with the shortest diagonals is taken, measured between the middles of edges.
The cases themselves are those of Lorensen and Cline 1987, "Marching Cubes".
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator

import numpy as np

Triangle = tuple[int, int, int]  # three cut edges

EDGES = tuple(4 * corner + axis for corner in range(8) for axis in range(3) if not corner >> axis & 1)
"""The names of the twelve edges."""


class Pattern:
    """A tuple on a class, made when it is first read: working out all cases takes a moment."""

    def __init__(self, entries: Callable[[], Iterable[int]]):
        self.entries = functools.cache(lambda: tuple(entries()))

    def __get__(self, instance: object, owner: type | None = None) -> tuple[int, ...]:
        return self.entries()


@functools.cache
def case_table() -> tuple[np.ndarray, np.ndarray]:
    """first (257,) and edges, int32: case c has the triangle corners first[c] to first[c + 1] - 1 of `edges`."""
    corners = [[edge for triangle in triangles_of(case) for edge in triangle] for case in range(256)]
    first = np.cumsum([0, *map(len, corners)], dtype=np.int32)
    return first, np.array([edge for case in corners for edge in case], dtype=np.int32)


def triangles_of(case: int) -> list[Triangle]:
    """The triangles of one case, as triples of cut edges."""
    return [triangle for loop in loops_of(case) for triangle in min(fillings(loop), key=_total_length)[0]]


# ----- loops ------------------------------------------------------------------------------------


def loops_of(case: int) -> list[list[int]]:
    """Closed chains of cut edges, each from its smallest edge on, the inside to the left seen from outside."""
    following = dict(segment for face in _faces() for segment in segments_of(case, face))
    loops = []
    while following:
        start = edge = min(following)
        loop = []
        while edge != start or not loop:
            loop.append(edge)
            edge = following.pop(edge)
        loops.append(loop)
    return loops


def segments_of(case: int, face: list[int]) -> list[tuple[int, int]]:
    """For every run of inside corners around a face: the cut edge before it and the cut edge behind it.

    The run and its segment bound the inside part of the face counter-clockwise; the surface goes along the segment the
    other way round, from the edge before the run to the edge behind it.
    """
    inside = [bool(case >> corner & 1) for corner in face]
    entries = [k for k in range(4) if inside[k] and not inside[k - 1]]
    exits = [k for k in range(4) if not inside[k] and inside[k - 1]]
    segments = []
    for k in entries:
        behind = min(exits, key=lambda n: (n - k) % 4)
        segments.append((_edge(face[k - 1], face[k]), _edge(face[behind - 1], face[behind])))
    return segments


def _faces() -> list[list[int]]:
    """The corners of the six faces, counter-clockwise seen from outside."""
    faces = []
    for axis in range(3):
        u, v = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3
        around = [0, u, u | v, v]  # counter-clockwise seen from the positive end of the axis
        faces.append([corner | 1 << axis for corner in around])
        faces.append(around[::-1])
    return faces


def _edge(p: int, q: int) -> int:
    return 4 * (p & q) + (p ^ q).bit_length() - 1


# ----- fillings ---------------------------------------------------------------------------------


def fillings(loop: list[int]) -> Iterator[tuple[list[Triangle], list[tuple[int, int]]]]:
    """All ways to fill a loop with triangles without a diagonal in a face, each with its diagonals."""
    if len(loop) < 3:
        yield [], []
        return
    for k in range(1, len(loop) - 1):
        diagonals = [(loop[0], loop[k])] * (k > 1) + [(loop[k], loop[-1])] * (k < len(loop) - 2)
        if any(_on_one_face(p, q) for p, q in diagonals):
            continue
        for left, left_diagonals in fillings(loop[: k + 1]):
            for right, right_diagonals in fillings(loop[k:]):
                triangle = (loop[0], loop[k], loop[-1])
                yield [triangle, *left, *right], [*diagonals, *left_diagonals, *right_diagonals]


def _on_one_face(p: int, q: int) -> bool:
    """Whether two edges lie on one face: along an axis of neither, both on the same side."""
    return any(axis not in (p & 3, q & 3) and (p ^ q) >> 2 + axis & 1 == 0 for axis in range(3))


def _total_length(filling: tuple[list[Triangle], list[tuple[int, int]]]) -> tuple[int, list[Triangle]]:
    """Squared lengths of the diagonals in half cube sides, added up: integers, so that ties are ties everywhere."""
    triangles, diagonals = filling
    return sum((a - b) ** 2 for p, q in diagonals for a, b in zip(_middle(p), _middle(q), strict=True)), triangles


def _middle(edge: int) -> list[int]:
    """The middle of an edge in half sides of the cube."""
    corner, axis = divmod(edge, 4)
    return [2 * (corner >> k & 1) + (k == axis) for k in range(3)]
