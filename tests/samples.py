"""Samples: of many things one in n, chosen by their names, so that every run of a tree takes the same ones.

CI runs a sample where all of it would say little more and take long: `pytest --one-in 3` one test in three, and
cuda_assembly assembles one in three of the kernels that only tests have and of adjoints. Of random programs the first
parts run by day. `bash .ci/run --all` takes everything.
"""

from __future__ import annotations

import zlib
from typing import Any

import pytest


def belongs(name: str, one_in: int) -> bool:
    """Whether what has this name is in the sample of one in `one_in`; a sample of one in 1 is everything."""
    return zlib.crc32(name.encode()) % one_in == 0


def parts(count: int, by_day: int) -> list[Any]:
    """Numbers of parts as parameters of a test; all but the first `by_day` are for the night."""
    return [pytest.param(k, marks=[pytest.mark.nightly] if k >= by_day else []) for k in range(count)]
