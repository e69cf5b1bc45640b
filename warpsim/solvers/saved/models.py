"""Models in saved scenes: their arrays by the names of their fields, as they are when a scene is saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.language import array
from ..scene.memory import Memory, refill, require
from ..scene.model import Model, Shapes
from .kinds import Kind


def arguments(model: Model) -> dict[str, Any]:
    """What makes the model again."""
    columns = {name: getattr(model, name) for name in model.fields}
    shapes = {"shape_kinds": [int(kind) for kind in model.shape_type], "shape_objects": list(model.shape_object)}
    rest = {"up_axis": model.up_axis, "requires_grad": model.requires_grad, "dtype": model.dtype}
    return {"columns": columns, **shapes, "pressure_faces": list(model.pressure_faces), **rest}


def make(words: Mapping[str, Any], device: Any) -> Model:
    """The model; arrays of numbers are those of the scene, which others may share."""
    columns = {name: words["columns"][name] for name in Model.fields}
    require(all(isinstance(a, array) for a in columns.values()), "an array of a model", "an array")
    rows = {name: a.numpy() for name, a in columns.items()}
    shapes = Shapes(words["shape_kinds"], words["shape_objects"])
    faces = [np.asarray(f, np.int64).reshape(-1, 3) for f in words["pressure_faces"]]
    model = Model(rows, shapes, faces, words["up_axis"], device, words["requires_grad"], words["dtype"])
    for name, f in Model.fields.items():
        if not f.is_integer:
            setattr(model, name, columns[name])
    model.check_replaced("model")
    return model


def memory(model: Model) -> Memory:
    """What states have been given besides, and heights as they are now."""
    fields = {name: tuple(more) for name, more in model.state_fields.items()}
    return {"state_fields": fields, "shape_heights": model.shape_heights}


def recall(model: Model, memory: Mapping[str, Any]) -> None:
    """Take that over."""
    for name, more in memory["state_fields"].items():
        model.add_state_field(name, *more)
    for heights, source in zip(model.shape_heights, memory["shape_heights"], strict=True):
        refill("heights of a shape", heights, source)


KINDS = {"Model": Kind(Model, arguments, make, memory, recall)}
