"""Adjoints compile and assemble for CUDA, on a machine with neither GPU nor driver.

The adjoint of every kernel of the corpus, and of kernels for each way to reverse a loop.
"""

import pytest
from cuda_corpus import CORPUS

import warpsim as wp
from warpsim.core.emit.cuda import cuda, tools
from warpsim.core.emit.program import Form, FormKind
from warpsim.core.emit.target import Options
from warpsim.core.types.arrays import ArrayType
from warpsim.errors import NotDifferentiableError

pytestmark = pytest.mark.skipif(bool(tools.missing()), reason=f"without {', '.join(tools.missing())}")

Floats = wp.array(dtype=float)

REFUSED = ("atomics_float16", "atomics_float32", "atomics_float64")  # they swap floats by atomic_cas


@wp.kernel
def kept_states(x: Floats, y: Floats, n: int):
    i = wp.tid()
    p = x[i]
    for k in range(n):
        q = p
        while q < 3.0:
            q = q * 1.5 + x[k]
        p = wp.sin(p * q)
    y[i] = p


@wp.kernel
def sums(x: wp.array(dtype=wp.vec3), at: wp.array(dtype=int), y: Floats, n: int):
    i = wp.tid()
    s = float(0.0)
    for k in range(n):
        s += wp.length(x[i] - x[at[k]])
    wp.atomic_add(y, 0, s * s)


@wp.kernel
def in_place(x: Floats, y: Floats, n: int):
    i = wp.tid()
    ring = wp.zeros(shape=4, dtype=float)
    for k in range(n):
        x[i] = x[i] * x[i] + y[k]
        ring[k % 4] += x[i]
    y[i] = ring[0] * ring[1]


def form_of(kernel):
    names = [name for name, t in kernel.patterns.items() if isinstance(t, ArrayType)]
    return Form(FormKind.ADJOINT, frozenset(names))


def assembled(kernel):
    made = kernel.program(tuple(kernel.patterns.values()), form=form_of(kernel))
    artefact = cuda.emit(made.fn, made.ndim, Options(), made.plan)
    assert ".target sm_90" in artefact.ptx
    assert cuda.assemble(artefact.ptx, artefact.arch).startswith(b"\x7fELF")
    return artefact.ptx


@pytest.mark.parametrize("kernel", [kept_states, sums, in_place], ids=lambda k: k.key)
def test_every_way_to_reverse_a_loop(kernel):
    assert "red.global.add.f32" in assembled(kernel) or "atom.global.add.f32" in assembled(kernel)


@pytest.mark.parametrize("name", CORPUS)
def test_the_adjoint_of_the_corpus(name):
    if name not in REFUSED:
        assembled(CORPUS[name].kernel)
        return
    with pytest.raises(NotDifferentiableError, match="atomic_cas has no derivative"):
        assembled(CORPUS[name].kernel)
