"""Compilers that are found, named wrongly, missing, or broken."""

import os
import shutil

import pytest

import warpsim as wp
from warpsim.core.emit.native import snippets, toolchain
from warpsim.core.emit.native.cpp import cpp_source
from warpsim.core.ops.native import Unit
from warpsim.errors import NoCompilerError


def unit(text):
    return Unit("f", "snippet", text, (("x", wp.float32),), wp.float32)


@pytest.fixture
def no_compilers(monkeypatch, tmp_path):
    """An environment in which no compiler is to be found."""
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain.sysconfig, "get_config_var", lambda name: None)
    monkeypatch.setattr(toolchain, "_ziglang", lambda: None)
    return tmp_path


def executable(folder, name, text="exit 0"):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_no_compiler_at_all_is_said_with_the_cure(no_compilers):
    with pytest.raises(NoCompilerError) as caught:
        snippets.library(unit("return x;"))
    text = str(caught.value)
    assert text.startswith("native functions need a C++ compiler, and none is found")
    assert "expected: one of c++, g++, clang++, cc, gcc, clang on the path" in text
    assert "help: pip install warpsim[native] brings one" in text
    assert not snippets.compiles(unit("return 2.0f * x;"))


def test_the_environment_decides_and_a_wrong_name_there_is_an_error(no_compilers, monkeypatch):
    ours = executable(no_compilers, "ours")
    executable(no_compilers, "g++")
    assert toolchain.find().command == (str(no_compilers / "g++"),)
    monkeypatch.setenv("CC", "ours -pipe")
    assert toolchain.find().command == (str(ours), "-pipe")
    monkeypatch.setenv("CXX", "missing-compiler --fast")
    with pytest.raises(NoCompilerError, match=r"CXX names the C\+\+ compiler 'missing-compiler --fast', which is not"):
        toolchain.find()


def test_what_python_was_built_with_comes_before_other_names(no_compilers, monkeypatch):
    executable(no_compilers, "c++")
    first = executable(no_compilers, "built-with-this")
    monkeypatch.setattr(toolchain.sysconfig, "get_config_var", {"CXX": f"{first} -pthread"}.get)
    assert toolchain.find().command == (str(first), "-pthread")


def test_another_compiler_under_the_same_name_is_another_identity(no_compilers):
    path = executable(no_compilers, "g++")
    before = toolchain.find().identity
    executable(no_compilers, "g++", "exit 1")
    os.utime(path, (1, 1))
    assert toolchain.find().identity != before


def test_a_compiler_that_does_not_run_is_reported(no_compilers):
    path = executable(no_compilers, "g++")
    path.write_bytes(b"\x7fELF no program")
    with pytest.raises(NoCompilerError, match=r"the C\+\+ compiler .*g\+\+' does not run"):
        snippets.library(unit("return 3.0f * x;"))


@pytest.mark.skipif(shutil.which("zig") is None and toolchain._ziglang() is None, reason="ziglang is not installed")
def test_the_packaged_compiler_compiles_a_text(monkeypatch):
    found = toolchain._ziglang()
    code, said = found.build(cpp_source(unit("return x * x;")), {})
    assert code is not None, said
