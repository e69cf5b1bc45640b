"""Kernels that use volumes become PTX and machine code for CUDA, on a machine with neither GPU nor driver."""

import pytest

import warpsim as wp
from warpsim.core.emit.cuda import cuda, tools
from warpsim.core.emit.program import PRIMAL, Form, FormKind
from warpsim.core.emit.target import Options
from warpsim.geometry.nanovdb.read import VolumeData
from warpsim.geometry.volume.directory import fill_directory
from warpsim.geometry.volume.sample import value_at

pytestmark = pytest.mark.skipif(bool(tools.missing()), reason=f"without {', '.join(tools.missing())}")

Floats = wp.array(dtype=float)
Points = wp.array(dtype=wp.vec3)


@wp.kernel
def sample(volume: wp.uint64, points: Points, out: Floats):
    n = wp.tid()
    out[n] = wp.volume_sample_f(volume, wp.volume_world_to_index(volume, points[n]), wp.Volume.LINEAR)


@wp.kernel
def slope(volume: wp.uint64, points: Points, out: Points):
    n = wp.tid()
    grad = wp.mat33()
    out[n] = grad * wp.volume_sample_grad(volume, points[n], wp.Volume.LINEAR, grad, wp.vec3)


@wp.kernel
def index(volume: wp.uint64, points: Points, data: Floats, out: Floats):
    n = wp.tid()
    out[n] = wp.volume_sample_index(volume, points[n], wp.Volume.LINEAR, data, 0.0)


@wp.kernel
def store(volume: wp.uint64, out: wp.array(dtype=int)):
    i, j, k = wp.tid()
    wp.volume_store(volume, i, j, k, wp.vec4d())
    out[i] = wp.volume_lookup_index(volume, i, j, k) + wp.volume_voxel_count(volume)


@wp.kernel
def sample_data(data: VolumeData, points: Points, out: Floats):
    n = wp.tid()
    out[n] = value_at(data, points[n], wp.Volume.LINEAR, float(0.0))


def ptx_of(kernel, form=PRIMAL):
    made = kernel.program(tuple(kernel.patterns.values()), form=form)
    artefact = cuda.emit(made.fn, made.ndim, Options(), made.plan)
    assert cuda.assemble(artefact.ptx, artefact.arch).startswith(b"\x7fELF")
    return artefact.ptx


@pytest.mark.parametrize("kernel", [sample, slope, index, store, fill_directory], ids=lambda k: k.key)
def test_kernels_compile_and_assemble(kernel):
    ptx = ptx_of(kernel)
    assert ".target sm_90" in ptx and ("ld.global" in ptx or "ld.const" in ptx)


def test_the_adjoint_compiles_and_adds_to_gradients_of_values():
    names = frozenset({"data", "points", "out"})
    ptx = ptx_of(sample_data, Form(FormKind.ADJOINT, names))
    assert ".global.add.f32" in ptx
