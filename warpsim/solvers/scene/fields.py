"""`Field`: one array of a model, a state or a control, declared once with all that is said of it.

The body of a class is its table of fields: type, of what there is one each, unit, what a fresh one holds. Objects are
made from it, and so are their docstrings; saved scenes are written, read and checked by it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.language import array, float32, float64, int32, transformd, transformf, vec2i, vec3i, vec4i
from ...core.language import clone, matrix_type, vector_type, zeros
from ...core.runtime.arrays.fixed import read_only
from ...core.types.compounds import scalar_of
from ...core.types.scalars import is_float
from ...errors import ModelError
from .world_view import WorldView

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device
    from .model import Model

GROUPS = ("particle", "spring", "edge", "bend", "tri", "tet", "attachment", "pressure", "tether", "body", "joint")
GROUPS += ("shape", "exclusion", "world")
"""What a model has many of: it has `particle_count` of the first, and so on."""
_PLURALS = {"tri": "triangles", "tet": "tetrahedra", "body": "bodies"}
vec6i = vector_type(6, int32)
_INTEGERS = {"int": int32, "int2": vec2i, "int3": vec3i, "int4": vec4i, "int6": vec6i}


class Precision(NamedTuple):
    """The types that a precision has, by the names that fields use."""

    real: Any
    vec2: Any
    vec3: Any
    vec4: Any
    vec6: Any
    mat22: Any
    mat33: Any
    transform: Any


@functools.cache
def precision_of(dtype: type) -> Precision:
    """The types of float32 or float64. Raises `ModelError` for anything else."""
    if not isinstance(dtype, type) or dtype not in (float32, float64):
        raise ModelError(f"dtype is {dtype!r}\nexpected: wp.float32 or wp.float64")
    vectors = [vector_type(n, dtype) for n in (2, 3, 4, 6)]
    matrices = [matrix_type((n, n), dtype) for n in (2, 3)]
    return Precision(dtype, *vectors, *matrices, transformf if dtype is float32 else transformd)


@dataclass
class Field:
    """One array. type: a name of `Precision`, or "int", "int2", ... for int32 and vectors of it.

    per: what it has a row of each, one of `GROUPS`. unit: SI, "-" for pure numbers. about: what it is.
    fresh: what a new one holds. Of models a column of the builder ("particles.mass") or a name of `columns.Columns`; of
    states and controls the name of the model's array, "" for zeros. refers: to what integers are the numbers of, one of
    `GROUPS`; with gaps, -1 is none.
    """

    type: str
    per: str
    unit: str
    about: str
    fresh: str = ""
    refers: str = ""
    gaps: bool = False
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def dtype(self, precision: Precision) -> Any:
        """The type of its elements."""
        return _INTEGERS.get(self.type) or getattr(precision, self.type)

    @property
    def is_integer(self) -> bool:
        """Whether its numbers are fixed, and have no gradient."""
        return self.type in _INTEGERS

    def check(self, rows: np.ndarray, counts: Mapping[str, int]) -> None:
        """Raise `ModelError` for integers that are the numbers of nothing. counts: of every group."""
        if not self.refers or not rows.size:
            return
        least, count = -1 if self.gaps else 0, counts[self.refers]
        if rows.min() < least or rows.max() >= count:
            there = f"{rows.min()} to {rows.max()}"
            raise ModelError(f"{self.name} has numbers from {there}\nexpected: {least} to {count - 1}")

    def __str__(self) -> str:
        """A line of a docstring."""
        rows = f"({_PLURALS.get(self.per, self.per + 's')},)"
        unit = "" if self.unit == "-" else f" [{self.unit}]"
        return f"{self.name}: {self.about}, {self.type} {rows}{unit}."


def field(type: str, per: str, unit: str, about: str, fresh: str = "", **integers: str | bool) -> Any:
    """Declare an array in the body of a class; see `Field`."""
    return Field(type, per, unit, about, fresh, **integers)


class HasFields:
    """A class whose body declares arrays with `field`, and whose docstring ends with a line for each."""

    fields: Mapping[str, Field]

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        cls.fields = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        if cls.__doc__:
            lines = "".join(f"\n    {line}" for line in cls.fields.values())
            cls.__doc__ = f"{cls.__doc__.rstrip()}\n{lines}\n    "

    def world(self, number: int) -> WorldView:
        """One world, whose arrays are views of these. Raises `ModelError` for one that is not there."""
        return WorldView(self, getattr(self, "model", self), number)


def array_of(values: np.ndarray, dtype: type, device: Device, requires_grad: bool) -> array:
    """An array of these numbers; of integers one that nobody can write to. No numbers make one without rows."""
    if is_float(scalar_of(dtype)):
        options: dict[str, Any] = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return array(values, **options) if len(values) else array(shape=(0,), **options)
    if not len(values):
        return array(shape=(0,), dtype=dtype, device=device)
    return read_only(array(values, dtype=dtype, device=device))


def fresh(f: Field, model: Model, requires_grad: bool) -> array:
    """What a field of a new state or control holds: a copy of the model's array, or zeros."""
    if f.fresh:
        return clone(getattr(model, f.fresh), requires_grad=requires_grad)
    rows, dtype = getattr(model, f"{f.per}_count"), f.dtype(precision_of(model.dtype))
    return zeros(rows, dtype, model.device, requires_grad=requires_grad and not f.is_integer)
