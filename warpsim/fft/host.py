"""Transforms by `scipy.fft` (pocketfft) on the CPU: any size, on as many threads as launches may use.

Threads share the lines of a batch; which of them has a line, and which lines lie beside it in the lanes of a vector
register, changes no bit of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from ..core.runtime.arrays.array import array
from ..core.runtime.launches.pool import get_pool
from ..core.runtime.tape import host_gradients
from .complex_arrays import REAL_OF, as_complex

_FEW = 1 << 14  # elements below which threads cost more than they save


def contents(a: Any) -> np.ndarray:
    """The numbers of an operand: complex ones where its elements are pairs."""
    memory = np.asarray(a._contents())
    return as_complex(memory) if a.dtype in REAL_OF else memory


def into(target: array, values: np.ndarray) -> None:
    """Store numbers in an array, unless they are there already."""
    memory = np.asarray(target._data)
    place = as_complex(memory) if target.dtype in REAL_OF else memory
    if place.ctypes.data != values.ctypes.data or place.strides != values.strides:
        place[...] = values


def take_gradient(grad: array) -> np.ndarray:
    """The numbers of a gradient, which is zero from now on."""
    taken = host_gradients.take_gradient(grad)
    return as_complex(taken) if grad.dtype in REAL_OF else taken


def add(grad: Any, contribution: np.ndarray) -> None:
    """Add numbers to a gradient."""
    if np.iscomplexobj(contribution):
        contribution = contribution[..., None].view(contribution.real.dtype)
    host_gradients.add_gradient(grad, contribution)


def c2c(x: np.ndarray, axes: tuple[int, ...], inverse: bool, norm: str, overwrite: bool) -> np.ndarray:
    """Complex to complex; overwrite: in place, which takes half the time."""
    transform = scipy.fft.ifftn if inverse else scipy.fft.fftn
    return transform(x, axes=axes, norm=norm, overwrite_x=overwrite, workers=_workers(x))


def r2c(x: np.ndarray, axes: tuple[int, ...], norm: str) -> np.ndarray:
    """Real to the half of its spectrum along the last of the axes."""
    return scipy.fft.rfftn(x, axes=axes, norm=norm, workers=_workers(x))


def c2r(x: np.ndarray, axes: tuple[int, ...], length: int, norm: str) -> np.ndarray:
    """Half of a spectrum to `length` real numbers along the last of the axes."""
    extents = [x.shape[axis] for axis in axes[:-1]]
    return scipy.fft.irfftn(x, s=(*extents, length), axes=axes, norm=norm, workers=_workers(x))


def scale_pairs(x: np.ndarray, axis: int, length: int, factor: float) -> None:
    """Scale what stands for itself and its conjugate: all elements along an axis but 0 and, for even n, n/2."""
    paired = [slice(None)] * x.ndim
    paired[axis] = slice(1, (length + 1) // 2)
    x[tuple(paired)] *= factor


def _workers(x: np.ndarray) -> int:
    return get_pool().threads if x.size >= _FEW else 1
