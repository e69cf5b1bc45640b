"""Data of a hash grid: the structs that its builder fills and its queries read.

Cells are bricks of a table of four axes: x, y, z and the group layer; x comes fastest, so that neighbouring
cells along x are neighbours in memory, and so are the points in them. Along an axis cells are counted from an origin
and repeat after `around` of them, the dimension of the grid or its period. Points have cells 0 to `extent - 1` of that
circle: those between the outermost of them where that is less than all the circle, which then has a gap behind them.
A table that would have too many places is *folded*: cells that are a whole number of its `cells` apart share one.
Points are kept twice: in the user's array, and here, sorted by cell, where a query reads `LANES` of them at once.
"""

from __future__ import annotations

from ...core.language import array, float32, float64, int32, vec3d, vec3f, vec3i
from ...core.language import clamp, floor, func, struct, vector_type

LANES = 16  # candidates that are tested together: two AVX2 or one AVX-512 instruction for float32
lanes_f = vector_type(LANES, float32)
lanes_d = vector_type(LANES, float64)

FARTHEST_CELL = 2.0**48
"""Where cells end: points farther away share the last cell. Up to it, `place_of` is exact."""


@struct
class HashGridPlan:
    """How positions become cells. Made on the device by each build."""

    width: float64  # of a cell as the user asked for it, which has `finer` cells of the table along x
    finer: int32
    dims: vec3i  # such cells along each axis at most
    period: vec3d  # length after which space repeats, 0 where it does not
    scale: vec3d  # cells per unit of length
    origin: vec3d  # the first cell of an axis that does not wrap, else 0
    around: vec3d
    extent: vec3d
    lowest: vec3d  # cells beyond these have no points: 0 and extent - 1 for an axis that does not wrap
    highest: vec3d
    cells: vec3i
    padding: vec3d  # from the extent to the next multiple of `cells`
    per_cells: vec3d  # 1 / cells for an axis that wraps or is folded, else 0
    per_around: vec3d  # 1 / around where that matters for the place: on an axis that wraps, with padding; else 0
    mixed: int32  # 1 if there is such an axis
    first_group: int32
    layers: int32  # of groups; 1 for a grid without groups
    shift: int32  # bits of a cell below those of its bucket
    grouped: int32  # 1 if the points have groups


@struct
class HashGridData:
    """What an id of a grid stands for. Coordinates are in `x, y, z` or, of float64 points, in `xd, yd, zd`.

    `x[k]` are those of sorted points k to k + LANES - 1: windows that overlap.
    """

    x: array(dtype=lanes_f)
    y: array(dtype=lanes_f)
    z: array(dtype=lanes_f)
    xd: array(dtype=lanes_d)
    yd: array(dtype=lanes_d)
    zd: array(dtype=lanes_d)
    point: array(dtype=int32)  # the user's index of each sorted point
    group: array(dtype=int32)  # of each sorted point; empty without groups
    starts: array(dtype=int32)  # first sorted point of each cell, and where the last cell ends
    plan: array(dtype=HashGridPlan)  # one


@struct
class DealtF:
    """A point on its way to its bucket."""

    cell: int32
    index: int32
    position: vec3f


@struct
class DealtD:
    """A float64 point on its way to its bucket."""

    cell: int32
    index: int32
    position: vec3d


@func
def cell_number(u: float64) -> float64:
    """The cell that holds coordinate `u`, which is measured in cells; never decreases where `u` grows."""
    return clamp(floor(u), -FARTHEST_CELL, FARTHEST_CELL)


@func
def place_of(cell: float64, cells: int32, per_cells: float64) -> int32:
    """The place in a table of `cells` that repeats: `cell` modulo `cells`; for `per_cells` 0, `cell` itself."""
    return int32(remainder(cell, float64(cells), per_cells))


@func
def remainder(cell: float64, count: float64, per_count: float64) -> float64:
    """`cell` modulo `count`, from 0 up, for `per_count` = 1 / count; for 0, `cell` itself.

    Half a cell away from where the quotient is whole, its rounding cannot matter.
    """
    return cell - count * floor((cell + 0.5) * per_count)


@func
def image_in_period(x: float64, period: float64) -> float64:
    """The image of a coordinate in [0, period]; the coordinate itself where the period is 0."""
    if period > 0.0:
        return x - period * floor(x / period)
    return x
