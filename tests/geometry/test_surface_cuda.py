"""Marching cubes and mesh to volume become PTX, on a machine with neither GPU nor driver."""

import pytest

import warpsim as wp
from warpsim.core.emit.cuda import cuda, tools
from warpsim.core.emit.target import Options
from warpsim.geometry.marching_cubes import marching_cubes
from warpsim.geometry.volume import from_mesh as mesh_to_volume

pytestmark = pytest.mark.skipif(bool(tools.missing()), reason=f"without {', '.join(tools.missing())}")

KERNELS = [x for module in (marching_cubes, mesh_to_volume) for x in vars(module).values() if isinstance(x, wp.Kernel)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.key.rpartition(".")[2])
def test_kernels_become_ptx(kernel):
    made = kernel.program(tuple(kernel.patterns.values()))
    assert ".entry" in cuda.emit(made.fn, made.ndim, Options(), made.plan).ptx
