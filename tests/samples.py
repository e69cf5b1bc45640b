"""Samples: of many things one in n, chosen by their names, so that every run of a tree takes the same ones.

A sample runs where all would say little more and take long. Of tests that compile kernels or simulate, and have many
cases, some cases run by day: a few of each test, and one in eight of the others (`resting_by_day`). Of random programs
the first parts run by day. `pytest --one-in 3` runs one test in three, and cuda_assembly assembles one
in some of the kernels that only tests have and of adjoints. `pytest --nightly` and `bash .ci/run --all` take all.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from typing import Any

import pytest

SLOW = ("autograd", "core/emit", "core/frontend", "core/graph_files", "core/lib", "core/ops", "core/passes")
SLOW += ("core/runtime", "examples", "fft", "geometry", "gradients", "interop", "optim", "solvers", "sparse", "usd")
SLOW += ("viewer", "warp_scripts")
"""Folders of tests whose cases compile kernels or simulate."""
ALL, FIRST, ONE_IN = 3, 2, 8
"""By day a test runs all cases if it has at most so many; else so many, and of the others one in so many."""


def belongs(name: str, one_in: int) -> bool:
    """Whether what has this name is in the sample of one in `one_in`; a sample of one in 1 is everything."""
    return zlib.crc32(name.encode()) % one_in == 0


def resting_by_day(items: list[pytest.Item]) -> list[pytest.Item]:
    """The cases of slow tests that wait for the night. Those of tests with the mark `every_case` do not."""
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        test = item.nodeid.partition("[")[0]
        slow = test.removeprefix("tests/").startswith(tuple(f"{folder}/" for folder in SLOW))
        if slow and not item.get_closest_marker("every_case"):
            cases[test].append(item)
    return [item for several in cases.values() for item in rest_of(several)]


def rest_of(cases: list[pytest.Item]) -> list[pytest.Item]:
    """Which cases of one test rest."""
    if len(cases) <= ALL:
        return []
    in_order = sorted(cases, key=lambda item: zlib.crc32(item.nodeid.encode()))
    return in_order[FIRST + (len(cases) - FIRST) // ONE_IN :]


def parts(count: int, by_day: int) -> list[Any]:
    """Numbers of parts as parameters of a test; all but the first `by_day` are for the night."""
    return [pytest.param(k, marks=[pytest.mark.nightly] if k >= by_day else []) for k in range(count)]
