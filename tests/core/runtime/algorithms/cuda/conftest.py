"""What tests of the CUDA runtime share: `cuda.compute` present or absent, and a look at what is copied to the host."""

import compute_stand_in
import pytest

from warpsim.core.runtime.algorithms.cuda import compute, sums


@pytest.fixture
def package(monkeypatch):
    """A package `cuda.compute` that takes arrays of any size."""
    monkeypatch.setattr(sums, "LARGE", 2)
    monkeypatch.setattr(sums, "LARGE_SORT", 2)
    return compute_stand_in.installed(monkeypatch)


@pytest.fixture
def nothing(monkeypatch):
    """No such package."""
    monkeypatch.setattr(compute, "_found", compute._Found(None))


