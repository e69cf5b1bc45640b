"""Linear algebra of small matrices in kernels, under the names of `warp.fem`: `from warpsim.fem import linalg`.

Finite elements themselves are not here yet.
"""

from __future__ import annotations

from typing import Any

from .. import errors
from . import linalg

__all__ = ["linalg"]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{errors.reason(f'fem.{name}')}")
