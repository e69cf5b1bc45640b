"""What kernels do with arrays that structs in memory refer to."""

import pytest

import warpsim as wp
from warpsim.core.passes.analysis.descriptors import descriptors


@wp.struct
class Cell:
    first: wp.array(dtype=float)
    second: wp.array(dtype=float)


@wp.kernel
def looks(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    x[0] = float(c[0].first.shape[0])


@wp.kernel
def reads(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    x[0] = c[0].first[0]


@wp.kernel
def writes(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    c[0].second[0] = c[0].first[0]


@wp.kernel
def adds(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    whole = c[0]
    wp.atomic_add(whole.second, 0, 1.0)


@wp.kernel
def chooses(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    a = c[0].first
    if x[0] > 0.0:
        a = c[0].second
    a[0] = 1.0


@wp.kernel
def stores(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    c[0] = c[1]


@wp.kernel
def stores_field(c: wp.array(dtype=Cell), x: wp.array(dtype=float)):
    c[0].second = x


@pytest.mark.parametrize(
    ("kernel", "followed", "written", "stored"),
    [
        (looks, False, set(), False), (reads, True, set(), False), (writes, True, {"second"}, False),
        (adds, True, {"second"}, False), (chooses, True, {None}, False), (stores, False, set(), True),
        (stores_field, False, set(), True),
    ],
)  # fmt: skip
def test_descriptors(kernel, followed, written, stored):
    found = descriptors(kernel.program(tuple(kernel.patterns.values())).fn)
    assert (found.followed, found.written, found.stored) == (followed, written, stored)
