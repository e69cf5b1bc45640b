"""warpsim: differentiable physics simulation in Python.

    import warpsim as wp

    @wp.kernel
    def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
        i = wp.tid()
        y[i] = a * x[i] + y[i]

    wp.launch(saxpy, dim=len(x), inputs=[x, y, 2.0])

This file only gathers public names.
"""

from . import _names
from ._names import *  # noqa: F403
from .config import config

__version__ = "0.1.0"
__all__ = [*_names.__all__, "__version__", "config"]
