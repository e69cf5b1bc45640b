"""Builds, refits and queries of hierarchies become PTX, on a machine with neither GPU nor driver."""

import pytest

import warpsim as wp
from warpsim.core.emit.cuda import cuda, tools
from warpsim.core.emit.target import Options
from warpsim.geometry.bvh import assemble as bvh_assemble
from warpsim.geometry.bvh import build as bvh_build
from warpsim.geometry.bvh import groups as bvh_groups
from warpsim.geometry.bvh import refit as bvh_refit
from warpsim.geometry.bvh import top as bvh_top
from warpsim.geometry.bvh.query import (
    bvh_get_group_root,
    bvh_query_aabb,
    bvh_query_capsule,
    bvh_query_next,
    bvh_query_ray,
    bvh_query_sphere,
)

pytestmark = pytest.mark.skipif(bool(tools.missing()), reason=f"without {', '.join(tools.missing())}")


@wp.kernel
def every_query(bvh: wp.uint64, low: wp.vec3, high: wp.vec3, found: wp.array(dtype=int)):
    root = bvh_get_group_root(bvh, 1)
    for i in bvh_query_aabb(bvh, low, high, root):
        found[i] += 1
    for i in bvh_query_sphere(bvh, low, 2.0, root):
        found[i] += 1
    ray = bvh_query_ray(bvh, low, high)
    i = int(0)
    while bvh_query_next(ray, i, 3.0):
        found[i] += 1
    capsule = bvh_query_capsule(bvh, low, high, 1.0)
    while bvh_query_next(capsule, i, 1.0):
        found[i] += 1


MODULES = (bvh_build, bvh_top, bvh_assemble, bvh_groups, bvh_refit)
BUILDERS = [x for module in MODULES for x in vars(module).values() if isinstance(x, wp.Kernel)]


@pytest.mark.parametrize("kernel", [every_query, *BUILDERS], ids=lambda k: k.key.rpartition(".")[2])
def test_kernels_become_ptx(kernel):
    made = kernel.program(tuple(kernel.patterns.values()))
    assert ".entry" in cuda.emit(made.fn, made.ndim, Options(), made.plan).ptx
