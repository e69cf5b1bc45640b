"""CUDA machine code from the disk or newly made: what decides it, what damage does, what comes back."""

import importlib
import logging

import pytest

import warpsim as wp
from warpsim.config import config
from warpsim.core.emit import build as builder
from warpsim.core.emit.cuda import tools as cuda_tools
from warpsim.core.emit.disk.cache import object_cache
from warpsim.core.emit.target import Options
from warpsim.errors import DeviceError

pytestmark = pytest.mark.skipif(bool(cuda_tools.missing()), reason=f"without {', '.join(cuda_tools.missing())}")


@wp.kernel
def half(x: wp.array(dtype=float), scale: float):
    i = wp.tid()
    assert scale > 0.0, "a positive scale"
    x[i] = x[i] * scale


@pytest.fixture
def built(tmp_path, monkeypatch, request):
    """Build `half`; how often that compiled, and the code."""
    if request.config.getoption("--simulated-cuda"):
        pytest.skip("the simulated driver has machine code of its own")
    monkeypatch.setattr(config, "kernel_cache_dir", str(tmp_path))
    compile_cuda, compilations = builder.compile_cuda, []

    def counted(*args):
        compilations.append(args)
        return compile_cuda(*args)

    monkeypatch.setattr(builder, "compile_cuda", counted)

    def build(options=None, arch=(9, 0), kernel=half):
        compilations.clear()
        program = kernel.program(tuple(kernel.patterns.values()))
        code = builder.build_cuda(program, options or Options(), arch)
        return len(compilations), code

    return build


def test_a_second_build_comes_from_the_disk_and_is_the_same(built):
    (first, made), (second, found) = built(), built()
    assert (first, second) == (1, 0)
    assert found == made
    assert found.code.startswith(b"\x7fELF")
    assert [(s.kind, s.text, s.location.line) for s in found.sites] == [("assert", "a positive scale", half_line() + 3)]
    assert found.block_bytes == 48 + 32 + 8


def half_line():
    return half.function.__code__.co_firstlineno


def test_generations_options_and_tools_are_other_code(built, monkeypatch):
    assert built()[0] == 1
    for other in ({"arch": (12, 0)}, {"options": Options(lineinfo=True)}, {"options": Options(fast_math=True)}):
        assert [built(**other)[0] for _ in range(2)] == [1, 0], other
    assert built()[0] == 0
    monkeypatch.setattr(cuda_tools, "versions", lambda: "tools of tomorrow")
    assert built()[0] == 1


def test_what_native_text_sees_is_part_of_the_key(built, monkeypatch):
    @wp.func_native("return x * 2.0f;")
    def double(x: float) -> float: ...

    @wp.kernel
    def doubled(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = double(x[i])

    assert [built(kernel=doubled)[0] for _ in range(2)] == [1, 0]
    before = builder.cpp_source
    monkeypatch.setattr(builder, "cpp_source", lambda unit: before(unit) + "// newer\n")
    assert built(kernel=doubled)[0] == 1
    assert [built()[0] for _ in range(2)] == [1, 0]


def test_only_code_with_line_tables_relates_to_lines(built):
    assert b".debug_line" in built(Options(lineinfo=True))[1].code
    assert b".debug_line" not in built()[1].code


def test_a_damaged_entry_is_compiled_again(built, tmp_path):
    _, made = built()
    [path] = tmp_path.glob("*.wscode")
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    assert built() == (1, made)
    assert built() == (0, made)


def test_a_refusal_leaves_nothing_behind(built):
    with pytest.raises(DeviceError, match=r"no code for compute capability 5\.0"):
        built(arch=(5, 0))
    assert not object_cache().entries()


def test_llvm_text_is_shown_on_request(built, monkeypatch, capsys):
    built()
    monkeypatch.setattr(config, "dump", "llvm")
    assert built()[0] == 1
    assert "define void @" in capsys.readouterr().out


def test_hits_and_compilations_are_logged_when_verbose(built, caplog):
    caplog.set_level(logging.INFO, "warpsim")
    config.verbose = True
    built()
    built()
    assert caplog.messages == ["kernel half compiled for compute capability 9.0", "kernel half loaded from the cache"]


def test_a_warm_start_loads_no_compiler(built, monkeypatch):
    built()
    loaded = []
    load = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", lambda name: loaded.append(name) or load(name))
    built()
    assert not [name for name in loaded if name.startswith(("cuda", "warpsim.core.emit.cuda"))]
