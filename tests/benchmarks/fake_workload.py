"""A workload whose right values are known to the parent and to the fake workers."""

import numpy as np

from benchmarks.case import Case, Timed

SKIPPED = {"numba": "nothing to do here"}
calls: list[str] = []


def expected(size):
    """The numbers 0 .. n - 1."""
    return {"y": np.arange(size["n"], dtype=np.float64)}


def warp_case(wp, size):
    """Counts its runs; with ``broken`` in the size it raises while it is being set up."""
    if size.get("broken"):
        raise ValueError("the kernel\ndoes not compile")
    run = Timed(lambda: calls.append("run"), units=4, before=lambda: calls.append("before"))
    return Case({"time": run, "other": Timed(lambda: calls.append("other"))},
                lambda: expected(size), note="counted")
