"""Kinds of contact that a model has: kernels of the narrow phase by the forms of both shapes.

Each kind is two kernels. One chooses which corners, edges and faces meet, in integers; the other measures what these
are apart, and is differentiable. A scene of balls compiles nothing of boxes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import ModelError
from ..scene.shapes import ShapeType
from .box_choice import choose_boxes
from .convex_choice import choose_convex
from .hulls import HullTables, hull_tables
from .pair_choice import choice_of
from .touch_boxes import measure_boxes
from .touch_capsules import choose_beside_box, choose_capsules, measure_beside_boxes, measure_capsule_pairs
from .touch_convex import measure_convex_pairs
from .touch_points import FORM_POINTS, parts_of, points_against

if TYPE_CHECKING:
    from ..scene.model import Model


_PAIRS = {
    (ShapeType.BOX, ShapeType.BOX): (choice_of(choose_boxes), measure_boxes),
    (ShapeType.CAPSULE, ShapeType.CAPSULE): (choice_of(choose_capsules), measure_capsule_pairs),
    (ShapeType.CAPSULE, ShapeType.BOX): (choice_of(choose_beside_box), measure_beside_boxes),
}
_CONVEX_PAIRS = (choice_of(choose_convex, max_unroll=1), measure_convex_pairs)  # loops as they are: it compiles faster
CONVEX = (ShapeType.SPHERE, ShapeType.CAPSULE, ShapeType.BOX, ShapeType.CYLINDER, ShapeType.CONE)
"""Forms of bodies that are convex; so are meshes that have a hull."""


class Kind(NamedTuple):
    """Kernels of a kind of pair; heights: the shape whose table of heights they take."""

    choose: Any
    measure: Any
    heights: int


class Kinds:
    """Of a model. table: a `Kind` each. shape_class: of each shape, those of a class are of the same kinds; by_class:
    the number of a kind, int32 (classes, classes), -1 where the first shape of a pair is to be the other one; parts: as
    how many contacts pairs of each kind are kept. hulls: of meshes that are convex."""

    def __init__(self, model: Model):
        self.hulls: HullTables = hull_tables(model)
        table, hull = ShapeType.HEIGHTFIELD, self.hulls.start >= 0
        forms = [(kind, bool(hull[s]), s if kind is table else -1) for s, kind in enumerate(model.shape_type)]
        classes = list(dict.fromkeys(forms))
        self.shape_class = np.array([classes.index(form) for form in forms], np.int32)
        body = model.shape_body.numpy()
        self.table: list[Kind] = []
        self.parts: list[int] = []
        self.by_class = np.full((len(classes), len(classes)), -1, np.int32)
        for i, (one, solid, _) in enumerate(classes):
            for j, (other, other_solid, heights) in enumerate(classes):
                contact = kernels_of(one, other, solid, other_solid)
                if (
                    contact
                    and _meet(body, self.shape_class, i, j)
                    and max(self.by_class[i, j], self.by_class[j, i]) < 0
                ):
                    kernels, parts = contact
                    self.by_class[i, j] = self._enter(Kind(*kernels, max(heights, 0)), parts)
        self._check(model, [form for form, _, _ in classes], body)

    def _enter(self, kind: Kind, parts: int) -> int:
        """The number of a kind; one that is there already, if it is the same."""
        if kind not in self.table:
            self.table.append(kind)
            self.parts.append(parts)
        return self.table.index(kind)

    def _check(self, model: Model, forms: list[ShapeType], body: np.ndarray) -> None:
        """Raise `ModelError` for a shape of a body that nothing knows how to touch, and that may have to."""
        for s in np.flatnonzero(body >= 0):
            form = model.shape_type[s]
            for j, other in enumerate(forms):
                mine = self.shape_class[s]
                if max(self.by_class[mine, j], self.by_class[j, mine]) < 0 and _touches(
                    model, s, self.shape_class == j
                ):
                    raise ModelError(
                        f"shape {s} of body {body[s]} is a {_name(form)}, and meets a {_name(other)}\n"
                        "expected: spheres, capsules, boxes, cylinders, cones and convex meshes on bodies\n"
                        "help: builder.ignore_contact(...), or the form as several of these with body= the same number"
                    )


def _name(form: ShapeType) -> str:
    return form.name.lower().replace("_", " ")


def _meet(body: np.ndarray, shape_class: np.ndarray, i: int, j: int) -> bool:
    """Whether there are shapes of two classes of different bodies, or of a body and of none."""
    one, other = body[shape_class == i], body[shape_class == j]
    if not len(one) or not len(other):
        return False
    together = np.concatenate([one, other])
    return bool(together.max() >= 0 and together.min() != together.max())


def _touches(model: Model, shape: int, others: np.ndarray) -> bool:
    """Whether a shape of a body may touch one of others, which are a mask."""
    group, collides, body = (a.numpy() for a in (model.shape_group, model.shape_collides, model.shape_body))
    met = others & (body != body[shape]) & (group & collides[shape] != 0) & (collides & group[shape] != 0)
    pairs = model.exclusion_shapes.numpy().reshape(-1, 2)
    met[pairs[(pairs == shape).any(axis=1)]] = False
    return bool(met.any())


def kernels_of(one: ShapeType, other: ShapeType, solid: bool, other_solid: bool) -> tuple[Any, int] | None:
    """Kernels for the first shape of a form against another, and as how many contacts they are kept; None where the
    pair is the other way round, or none is. solid: whether a mesh is a convex one."""
    if one is ShapeType.SPHERE and not other_solid:
        return points_against(one, other), parts_of(one, other)
    if (other is ShapeType.SPHERE and one is not ShapeType.MESH) or ((other, one) in _PAIRS and one is not other):
        return None
    if (one, other) in _PAIRS:
        return _PAIRS[one, other], 1
    convex = one in CONVEX or solid
    if convex and (other in CONVEX or other_solid or (other is ShapeType.PLANE and one not in FORM_POINTS)):
        return _CONVEX_PAIRS, 1
    if convex and other not in CONVEX:
        return points_against(one, other), parts_of(one, other)
    return None
