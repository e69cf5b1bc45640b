"""The key of the disk cache has all that decides the code: program, compiler, libraries, processor and options."""

import dataclasses
import os

import pytest

import warpsim as wp
from warpsim.core.emit import program as programs
from warpsim.core.emit.native import native
from warpsim.core.emit.program import cache_key
from warpsim.core.emit.target import Options


@wp.kernel
def double(x: wp.array[float]):
    i = wp.tid()
    x[i] = 2.0 * x[i]


@wp.kernel
def triple(x: wp.array[float]):
    i = wp.tid()
    x[i] = 3.0 * x[i]


def program_of(kernel):
    """The program of a kernel that has been launched on the CPU."""
    wp.launch(kernel, 4, [wp.ones(4, dtype=float, device="cpu")], device="cpu")
    [launcher] = kernel.launchers.values()
    return launcher.program


@pytest.fixture(scope="module")
def program():
    return program_of(double)


OPTIONS = {
    "layouts": ("A",),
    "fast_math": True,
    "verify": True,
    "aliased": True,
    "lineinfo": True,
    "bounds": (64, 2),
    "lanes": "always",
}


def test_every_option_is_tried():
    assert set(OPTIONS) == {field.name for field in dataclasses.fields(Options)}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_in_the_key(program, name):
    assert OPTIONS[name] != getattr(Options(), name)
    assert cache_key(program, Options(**{name: OPTIONS[name]}), "p") != cache_key(program, Options(), "p")


def test_the_program_its_rank_the_processor_and_the_compiler_are_in_the_key(program, monkeypatch):
    keys = [cache_key(program, Options(), "p"), cache_key(program, Options(), "q")]
    keys += [cache_key(p, Options(), "p") for p in (program_of(triple), dataclasses.replace(program, ndim=2))]
    monkeypatch.setattr(programs, "fingerprint", lambda: "another compiler")
    keys.append(cache_key(program, Options(), "p"))
    assert len(set(keys)) == len(keys)
    monkeypatch.undo()
    assert cache_key(program, Options(), "p") == keys[0]


VECTORS = native.vector_math_library()
CHANGES = {
    "triple": lambda m: m.setattr(native, "process_triple", lambda: "aarch64-unknown-linux-gnu"),
    "processor": lambda m: m.setattr(native, "_cpu_name", lambda: "another"),
    "features": lambda m: m.setattr(native, "_host_features", lambda: "+sse2,-avx2"),
    "llvmlite": lambda m: m.setattr(native.llvmlite, "__version__", "0.0.1"),
    "glibc": lambda m: m.setattr(os, "confstr", lambda name: "glibc 2.17"),
    "libmvec": lambda m: m.setattr(native, "vector_math_library", lambda: not VECTORS),
    "code model": lambda m: m.setattr(native, "_CODE_MODEL", "another"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_the_code_runs_on_is_in_the_signature(what, monkeypatch):
    if what == "glibc" and not VECTORS:
        pytest.skip("libmvec is not here, and no code calls it")
    before = native.host_signature.__wrapped__()
    CHANGES[what](monkeypatch)
    assert native.host_signature.__wrapped__() != before


def test_the_order_of_features_is_not(monkeypatch):
    before, features = native.host_signature.__wrapped__(), native._host_features().split(",")
    monkeypatch.setattr(native, "_host_features", lambda: ",".join(reversed(features)))
    assert native.host_signature.__wrapped__() == before
