"""Kernels, their adjoints and the pool as objects of platforms that are not this one."""

import sys

import pytest
from cuda_corpus import CORPUS
from object_formats import PLATFORMS, platform, refusal

from warpsim.core.emit.native import native
from warpsim.core.emit.program import PRIMAL, Form, FormKind
from warpsim.core.emit.target import Options
from warpsim.core.runtime.launches import pool_code
from warpsim.core.types.arrays import ArrayType
from warpsim.errors import NotDifferentiableError

pytestmark = pytest.mark.cpu(reason="objects for processors")


def forms(kernel):
    arrays = [name for name, t in kernel.patterns.items() if isinstance(t, ArrayType)]
    return PRIMAL, Form(FormKind.ADJOINT, frozenset(arrays))


def options_of(program):
    types = [p.type for p in program.fn.params]
    layouts = tuple("C" if isinstance(t, ArrayType) and not t.indexed else "" for t in types)
    return Options(layouts, lanes="always" if program.ndim else "off")


def cases():
    """Every second kernel for one platform, the same in every run; at night every one for all."""
    for number, name in enumerate(CORPUS):
        for k, triple in enumerate(PLATFORMS):
            night = [] if 2 * k == number % (2 * len(PLATFORMS)) else [pytest.mark.nightly]
            yield pytest.param(name, triple, marks=night)


@pytest.mark.parametrize(("name", "triple"), list(cases()))
def test_kernel_and_adjoint_have_objects(name, triple):
    kernel = CORPUS[name].kernel
    for form in forms(kernel):
        try:
            program = kernel.program(tuple(kernel.patterns.values()), form=form)
        except NotDifferentiableError:
            continue
        assert not refusal(program, options_of(program), triple)


SYSTEMS = {"linux": "linux", "darwin": "darwin", "windows": "win32"}


@pytest.mark.parametrize("triple", PLATFORMS)
def test_the_pool_has_an_object(triple, monkeypatch):
    processor, _, system = triple.split("-")[:3]
    monkeypatch.setattr(sys, "platform", SYSTEMS[system])
    monkeypatch.setattr(pool_code.platform, "machine", lambda: processor)
    monkeypatch.setattr(pool_code, "HAS_THREADS", system != "windows")
    with platform(triple):
        code = native.assemble(pool_code.source())
    assert code.startswith(PLATFORMS[triple][1])


def test_objects_are_those_of_the_processor():
    """ELF says of which machine an object is: 183 is 64-bit ARM."""
    with platform("aarch64-unknown-linux-gnu"):
        code = native.assemble("define i32 @f() {\n  ret i32 1\n}")
    assert int.from_bytes(code[18:20], "little") == 183
