"""Mesh queries become PTX for CUDA, on a machine with neither GPU nor driver."""

import re

import pytest

import warpsim as wp
from warpsim.core.emit.cuda import cuda, tools
from warpsim.core.emit.target import Options

pytestmark = pytest.mark.skipif(bool(tools.missing()), reason=f"without {', '.join(tools.missing())}")


@wp.kernel
def distance(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_point(mesh, p[i], 10.0)
    if q.result:
        out[i] = q.sign * wp.length(wp.mesh_eval_position(mesh, q.face, q.u, q.v) - p[i])


@wp.kernel
def ray(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.mesh_query_ray(mesh, p[i], d[i], 10.0).t


@wp.kernel
def neighbours(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    for _ in wp.mesh_query_sphere(mesh, p[i], 0.5):
        out[i] += 1.0


@pytest.mark.parametrize("kernel", [distance, ray, neighbours], ids=lambda k: k.key)
def test_a_query_becomes_ptx(kernel):
    made = kernel.program(tuple(kernel.patterns.values()))
    ptx = cuda.emit(made.fn, made.ndim, Options(), made.plan).ptx
    assert ".target sm_90" in ptx
    assert re.search(r"ld\.(global\.)?(v[24]\.)?[fb]32", ptx) and re.search(r"(st|red|atom)\.global\.", ptx)
    assert "call" not in ptx, "everything is inlined"
