"""`IsoSurfaceBase`: what every way to find the surface of a field at grid nodes has in common."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked
from ...core.language import array, get_device
from ...arguments import refuse_keywords
from ...errors import ArgumentTypeError, ArrayError, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class IsoSurfaceBase(abc.ABC):
    """Surfaces of fields of nx x ny x nz nodes.

    lower, upper: where node (0, 0, 0) and node (nx - 1, ny - 1, nz - 1) lie; without them, a node lies at its indices.
    `domain_bounds_lower_corner` and `domain_bounds_upper_corner` are their older names. device: where fields are to be;
    None for anywhere.

    After `surface`, `verts` (vec3) are the vertices and `indices` (int32) the triangles, three entries each; None
    before. Raises `ArrayError` for an axis of fewer than two nodes, `ArgumentTypeError` for a corner under both names.
    """

    @checked
    def __init__(
        self, nx: int, ny: int, nz: int, lower: Any = None, upper: Any = None, *, device: Any = None,
        domain_bounds_lower_corner: Any = None, domain_bounds_upper_corner: Any = None, **older: object,
    ):  # fmt: skip
        refuse_keywords(type(self).__name__, older, _OLDER)
        self.lower = _either("lower", lower, domain_bounds_lower_corner)
        self.upper = _either("upper", upper, domain_bounds_upper_corner)
        self.device = None if device is None else get_device(device)
        self.verts: array | None = None
        self.indices: array | None = None
        self.resize(nx, ny, nz)

    @checked
    def resize(self, nx: int, ny: int, nz: int, *room: object, **older: object) -> None:
        """Expect fields of another size from now on."""
        refuse_keywords("resize", ("max_verts",) * len(room) or older, _OLDER)
        check_shape((nx, ny, nz))
        self.nx, self.ny, self.nz = nx, ny, nz

    @abc.abstractmethod
    def surface(self, field: array, threshold: float = 0.0) -> None:
        """Find the surface field = threshold and keep it in `verts` and `indices`."""

    @property
    def domain_bounds_lower_corner(self) -> Any:
        """The older name of `lower`."""
        return self.lower

    @domain_bounds_lower_corner.setter
    def domain_bounds_lower_corner(self, corner: Iterable[float] | None) -> None:
        self.lower = corner

    @property
    def domain_bounds_upper_corner(self) -> Any:
        """The older name of `upper`."""
        return self.upper

    @domain_bounds_upper_corner.setter
    def domain_bounds_upper_corner(self, corner: Iterable[float] | None) -> None:
        self.upper = corner


_OLDER = dict.fromkeys(("max_verts", "max_tris"), "leave it out: surfaces get the room that they need")


def _either(name: str, corner: ArrayLike | None, older: ArrayLike | None) -> Any:
    """A corner under its name, or under the older one."""
    if corner is not None and older is not None:
        raise ArgumentTypeError(
            f"`{name}` and `domain_bounds_{name}_corner` are both there\nexpected: one, they are the same corner"
        )
    corner = older if corner is None else corner
    if corner is not None and np.shape(corner) != (3,):
        cure = "\nhelp: max_verts and max_tris of older versions of Warp are left out" if np.ndim(corner) == 0 else ""
        raise ArgumentTypeError(f"{name} is {shown(corner)}\nexpected: three coordinates{cure}")
    return corner


def check_shape(shape: tuple[int, ...]) -> None:
    """Raise `ArrayError` for fields without cells."""
    if min(shape) < 2:
        raise ArrayError(
            f"a field of {' x '.join(map(str, shape))} nodes has no cells\nexpected: two nodes or more an axis"
        )
