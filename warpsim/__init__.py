"""warpsim: differentiable physics simulation in Python.

    import warpsim as wp

    @wp.kernel
    def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
        i = wp.tid()
        y[i] = a * x[i] + y[i]

    wp.launch(saxpy, dim=len(x), inputs=[x, y, 2.0])

This file only gathers public names; `names` says which module defines each, and loads it when it is asked for.
"""

import os as _os
from math import e, inf, nan, pi, tau

from . import names
from .config import DeterministicMode, config
from .warp import switches

__version__ = "0.1.0"

# Warp's other spellings of the constants
E, INF, NAN, PI, TAU = e, inf, nan, pi, tau
half_pi = HALF_PI = pi / 2.0
ln2, ln10, phi = 0.6931471805599453, 2.302585092994046, 1.618033988749895
log2e, log10e = 1.0 / ln2, 1.0 / ln10
LN2, LN10, LOG2E, LOG10E, PHI = ln2, ln10, log2e, log10e, phi

_INNER = ("errors", "names", "switches", "warp")
__all__ = [*(name for name in globals() if not name.startswith("_") and name not in _INNER), *names.PUBLIC]
__dir__ = [*__all__, *names.OPTIONAL].copy
__getattr__ = names.loader(globals())

if _os.environ.get("WARPSIM_PROFILE", "0") not in ("", "0"):
    from .profiling import process as _process

    _process.begin()
