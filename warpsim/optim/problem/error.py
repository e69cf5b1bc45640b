"""`ProblemError`: what is wrong with an optimisation problem."""

from __future__ import annotations

from ...errors import WarpsimError


class ProblemError(WarpsimError, ValueError):
    """An optimisation problem that says too little, contradicts itself, or whose loss cannot be sought."""
