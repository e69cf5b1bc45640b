"""What the parameters of a derived kernel behind the kernel's own are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExtraParam:
    """A parameter behind the kernel's own; position: of the parameter that it belongs to, if no other is said."""

    position: int


class Before(ExtraParam):
    """What the parameter, an array or a struct with some, held before the launch."""


class Returned(ExtraParam):
    """What the `position`-th atomic with a used result returned, by thread."""


class GradientSum(ExtraParam):
    """An array of one element that takes the gradient of a parameter that is no array."""


class Extent(ExtraParam):
    """Of the launch along axis `position`."""


class GradientArray(ExtraParam):
    """The gradient of the parameter, or of an array in it, in a program that takes it as an array of its own."""


class TangentOf(ExtraParam):
    """The tangent of the parameter, or of an array or float in it."""


Extras = tuple[ExtraParam, ...]
