"""Fixtures of the gradient tests: the devices that every program runs on."""

import pytest

import warpsim as wp
from warpsim.core.runtime.launches import pool


@pytest.fixture(params=["cpu", "interp"])
def device(request):
    """The compiled device and its oracle; programs of the test run on it."""
    with wp.ScopedDevice(request.param):
        yield request.param


@pytest.fixture
def threads():
    """Sets the number of threads; afterwards it is as it was."""
    before = pool.get_pool().threads
    yield wp.set_num_threads
    wp.set_num_threads(before)
