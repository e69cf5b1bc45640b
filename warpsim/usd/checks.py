"""Checks of what enters or leaves a USD stage: finite arrays of the right shape, valid indices.

Every function takes the name of what it looks at, so that an error says which prim and which
argument was wrong, what was found, what was expected and what to do.  Arrays come back contiguous
in the type that USD stores (float32, int32, int64); the caller's array is never changed.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from pxr import Tf

from warpsim.errors import WarpsimError

SLOWEST, FASTEST = 1.0e-6, 1.0e6  # time codes a second
INT32_MAX = np.iinfo(np.int32).max
_REASON = 400  # characters of what pxr says, which may quote an array


class UsdError(WarpsimError, ValueError):
    """A stage, a prim or an array cannot be written to or read from USD as it is."""


@contextmanager
def pxr_errors(what: str, trouble: str = "is damaged or no USD file; export it again") -> Iterator[None]:
    """Let what pxr raises leave as UsdError. Its texts come as bytes that need not be UTF-8."""
    try:
        yield
    except Tf.ErrorException as error:
        raise UsdError(f"{what} {trouble} ({reason(error)})") from None
    except (UnicodeError, OverflowError) as error:
        raise UsdError(f"{what} {trouble} ({error})") from None


def reason(error: Tf.ErrorException) -> str:
    """What pxr says went wrong first, without where in its own text."""
    try:
        first = str(error).strip().partition("\n\tError in ")[0]
        text = first.partition(" : ")[2].strip().strip("'").strip()
        return text if len(text) <= _REASON else f"{text[:_REASON]} ..."
    except UnicodeDecodeError:
        return "text that is not UTF-8"


def identifier(name: str) -> str:
    """Return `name` if it may name a prim: letters, digits and `_`, not starting with a digit."""
    if not isinstance(name, str) or not Tf.IsValidIdentifier(name):
        raise UsdError(
            f"usd: {name!r} cannot name a prim: expected letters, digits and '_', no digit first; "
            f"use {Tf.MakeValidIdentifier(str(name))!r}"
        )
    return name


def vectors(values, what: str, count: int | None = None) -> np.ndarray:
    """Return `values` as finite float32 of shape (n, 3), with n = `count` where one is given."""
    array = _floats(values)
    if array.ndim != 2 or array.shape[1] != 3:
        raise UsdError(f"{what}: found shape {array.shape}, expected (n, 3); pass one x, y, z row per point")
    if count is not None and len(array) != count:
        raise UsdError(f"{what}: found {len(array)} rows, expected {count}, one per point; pass arrays of equal length")
    return finite(array, what, "the simulation has diverged, take a smaller time step")


def finite(array: np.ndarray, what: str, cure: str = "mend or remove them") -> np.ndarray:
    """Return `array` if it has neither NaN nor infinity; the error names the first bad row."""
    good = np.isfinite(array)
    if not good.all():
        bad = np.argwhere(~good)[0]
        row = int(bad[0]) if array.ndim else 0
        raise UsdError(
            f"{what}: found {array[tuple(bad)]} in row {row} ({int((~good).sum())} such values), "
            f"expected finite numbers; {cure}"
        )
    return array


def color(value, what: str, count: int) -> np.ndarray:
    """Return linear RGB in [0, 1] as float32: (3,) for the whole prim or (`count`, 3)."""
    array = _floats(value)
    if array.shape not in {(3,), (count, 3)}:
        raise UsdError(f"{what}: found shape {array.shape}, expected (3,), or ({count}, 3), one per point")
    finite(array, what)
    if array.size and (array.min() < 0.0 or array.max() > 1.0):
        raise UsdError(
            f"{what}: found values from {array.min():g} to {array.max():g}, "
            "expected linear RGB in [0, 1]; divide 8-bit colors by 255"
        )
    return array


def positive(value, what: str) -> float:
    """Return `value` as a float if it is a finite number above zero."""
    number = float(value)
    if not (np.isfinite(number) and number > 0.0):
        raise UsdError(f"{what}: found {number:g}, expected a finite number above zero")
    return number


def rate(value, what: str) -> float:
    """Return `value` as a float if it is a rate [1/s] that a viewer can play."""
    number = float(value)
    if not SLOWEST <= number <= FASTEST:
        raise UsdError(f"{what}: found {number:g}, expected {SLOWEST:g} to {FASTEST:g}")
    return number


def radii(value, what: str, count: int) -> np.ndarray:
    """Return `count` radii above zero as float32; one number stands for all."""
    array = finite(_floats(value), what)
    if array.shape not in {(), (count,)}:
        raise UsdError(f"{what}: found shape {array.shape}, expected one number or ({count},), one per point")
    if array.size and array.min() <= 0.0:
        raise UsdError(f"{what}: found {array.min():g}, expected lengths above zero")
    return np.ascontiguousarray(np.broadcast_to(array, (count,)))


def ids(values, what: str, count: int) -> np.ndarray:
    """Return `count` int64 identities, each of its own."""
    array = np.asarray(values)
    if array.shape != (count,) or (count and array.dtype.kind not in "iu"):
        raise UsdError(f"{what}: found {array.dtype} of shape {array.shape}, expected integers ({count},)")
    if len(np.unique(array)) != count:
        raise UsdError(f"{what}: found repeated values, expected one of its own for every point")
    return np.ascontiguousarray(array, dtype=np.int64)


def topology(faces, counts, points: int, what: str, empty: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return int32 (counts (f,), indices (sum of counts,)) of polygons over `points` points.

    `faces` is (f, k) with all faces of k corners, or flat with the corners of each face given by
    `counts`.  Without any faces that is refused, unless `empty` says that there may be none.
    """
    faces = _integers(faces, f"{what} faces")
    if counts is None:
        if faces.ndim != 2:
            raise UsdError(
                f"{what} faces: found shape {faces.shape}, expected (faces, corners); pass counts with a flat list"
            )
        counts = np.full(faces.shape[0], faces.shape[1], dtype=np.int64)
    else:
        counts = _integers(counts, f"{what} counts").ravel()
    indices = faces.ravel()
    if not (empty and len(counts) == len(indices) == 0):
        check_topology(counts, indices, points, what)
    return counts.astype(np.int32), indices.astype(np.int32)


def check_topology(counts: np.ndarray, indices: np.ndarray, points: int, what: str) -> None:
    """Raise unless every face has three corners or more and every corner names a point."""
    if len(counts) == 0:
        raise UsdError(f"{what}: found no faces, expected at least one")
    if counts.min() < 3:
        face = int(np.argmax(counts < 3))
        raise UsdError(f"{what}: face {face} has {counts[face]} corners, expected three or more; remove it")
    corners = int(counts.sum(dtype=np.int64))
    if corners != len(indices):
        raise UsdError(f"{what}: face counts add up to {corners}, but there are {len(indices)} face indices")
    if indices.min() < 0 or indices.max() >= points:
        at = int(np.argmax((indices < 0) | (indices >= points)))
        face = int(np.searchsorted(np.cumsum(counts), at, side="right"))
        raise UsdError(f"{what}: index {indices[at]} of face {face} names no point, expected 0 to {points - 1}")


def _floats(values) -> np.ndarray:
    with np.errstate(over="ignore"):  # a float64 beyond float32 becomes infinite and is refused
        return np.asarray(values, dtype=np.float32, order="C")


def _integers(values, what: str) -> np.ndarray:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise UsdError(f"{what}: found {array.dtype} values, expected integers")
    if array.size and int(array.max()) > INT32_MAX:
        raise UsdError(f"{what}: found {array.max()}, expected integers below 2**31")
    return array.astype(np.int64)
