"""What is said where a part of NVIDIA's tools is missing."""

import importlib
import sys

import pytest

from warpsim.core.emit.cuda import nvvm
from warpsim.core.emit.cuda import tools as cuda_tools

complete = pytest.mark.skipif(bool(cuda_tools.missing()), reason=f"without {', '.join(cuda_tools.missing())}")


@pytest.fixture
def fresh():
    """Nothing is remembered of what was found, before and after."""
    kept = (cuda_tools.binding, cuda_tools.device_functions, cuda_tools.versions)
    for function in kept:
        function.cache_clear()
    yield
    for function in kept:
        function.cache_clear()


def without(monkeypatch, *modules):
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)


def test_without_the_bindings_everything_says_so(monkeypatch, fresh):
    without(monkeypatch, "cuda", "cuda.bindings", "cuda.bindings.nvvm", "cuda.pathfinder")
    assert "cuda-bindings" in cuda_tools.missing()
    with pytest.raises(ImportError, match=r"needs the package cuda-bindings(.|\n)*pip install 'warpsim\[cuda\]'"):
        cuda_tools.binding("nvvm")


@complete
@pytest.mark.parametrize(("name", "package"), cuda_tools.PACKAGES.items())
def test_a_library_that_is_not_there_is_named_by_its_package(monkeypatch, fresh, name, package):
    pathfinder = importlib.import_module("cuda.pathfinder")
    load = pathfinder.load_nvidia_dynamic_lib

    def found(wanted):
        if wanted == name:
            raise pathfinder.DynamicLibNotFoundError("no such library")
        return load(wanted)

    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", found)
    assert cuda_tools.missing() == [package]
    with pytest.raises(ImportError, match=rf"needs the package {package}: no such library\nhelp: pip install"):
        cuda_tools.binding(name)


@complete
def test_mathematics_that_is_not_there_is_named(monkeypatch, fresh):
    pathfinder = importlib.import_module("cuda.pathfinder")

    def missing(name):
        raise pathfinder.BitcodeLibNotFoundError(name)

    monkeypatch.setattr(pathfinder, "find_bitcode_lib", missing)
    with pytest.raises(ImportError, match=r"libdevice\.10\.bc of nvidia-nvvm"):
        nvvm.ptx("", "kernel", (9, 0))


@complete
def test_versions_tell_tools_apart(monkeypatch, fresh):
    metadata = importlib.import_module("importlib.metadata")
    before = cuda_tools.versions()
    assert len(before.split(" ")) == len(cuda_tools.PACKAGES)

    def unknown(package):
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", unknown)
    cuda_tools.versions.cache_clear()
    assert cuda_tools.versions().count(".so") == len(cuda_tools.PACKAGES), "the files of a toolkit stand for it"


@complete
def test_known_generations():
    known = nvvm.known_archs()
    assert {(7, 5), (9, 0), (10, 0), (12, 0)} <= set(known)
    assert list(known) == sorted(known)


@complete
def test_a_gpu_newer_than_the_tools_runs_code_of_its_generation():
    assert nvvm.runs_on((9, 0)) == (9, 0)
    assert nvvm.runs_on((9, 7)) == (9, 0)
    assert nvvm.runs_on((12, 99)) == max(a for a in nvvm.known_archs() if a[0] == 12)
    assert nvvm.runs_on((5, 2)) == (5, 2)
