"""Tests run once for each way in which trees, or grids, are built: those that ask for `every_...`."""

import pytest
from bvh_boxes import DEFAULTS

from warpsim.geometry.hash_grid import hash_grid
from warpsim.geometry.hash_grid.buckets import BucketBuild
from warpsim.geometry.hash_grid.sort import SortBuild


@pytest.fixture(scope="module", params=["sah", "lbvh"])
def every_constructor(request):
    DEFAULTS["constructor"] = request.param
    yield
    DEFAULTS.clear()


@pytest.fixture(scope="module", params=[BucketBuild, SortBuild])
def every_sort(request):
    before, hash_grid.builder_for = hash_grid.builder_for, lambda device: request.param
    yield
    hash_grid.builder_for = before
