"""What tests of the CUDA runtime share: `cuda.compute` present or absent, and a look at what is copied to the host."""

import compute_stand_in
import pytest

from warpsim.core.runtime.cuda import compute, memory, sums


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


@pytest.fixture
def downloads(monkeypatch):
    """The sizes [bytes] of all copies from the device to the host."""
    sizes, host = [], memory.DeviceMemory.host

    def counted(self):
        sizes.append(self.nbytes)
        return host(self)

    monkeypatch.setattr(memory.DeviceMemory, "host", counted)
    return sizes
