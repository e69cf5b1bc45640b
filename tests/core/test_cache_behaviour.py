"""The disk cache as programs meet it: many processes, killed compiles, damage, folders that cannot be written."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp
from warpsim.config import config
from warpsim.core.emit import build as builder
from warpsim.core.emit.disk.cache import ObjectCache
from warpsim.errors import KernelAssertionError, OutOfBoundsError

pytestmark = pytest.mark.cpu(reason="about the cache of the CPU's machine code")

ROOT = Path(builder.__file__).parents[3]
PATIENCE = 120.0  # [s]

PROGRAM = """
import sys
import numpy as np
import warpsim as wp

@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]

@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])

def main():
    n = 20_000
    x, y, out = np.ones(n, np.float32), np.ones(n, np.float32), np.zeros(1, np.float32)
    wp.launch(saxpy, n, [x, y, 2.0])
    wp.launch(total, n, [y, out])
    assert out[0] == 3 * n, out
    print("right")
"""
LABELS = {"saxpy", "total", "program of saxpy", "program of total", "warpsim launcher"}

# A process that has nothing to compile must not be able to.
WARM = """
from warpsim.core.emit.native import native
import warpsim.core.runtime.launches.pool as pool
def refuse(*args, **options):
    raise AssertionError("compiled")
from warpsim.core.runtime.launches import programs
native.assemble = pool.assemble = programs.translate = refuse
main()
loaded = {"numba", "warpsim.core.emit.cpu.cpu"} & sys.modules.keys()
assert not loaded, loaded
"""


@pytest.fixture
def program(tmp_path):
    """Start `python program.py` with more code, on a cache folder of the test's own."""
    (tmp_path / "program.py").write_text(PROGRAM)

    def start(code="main()", cache=tmp_path / "cache", **variables):
        script = tmp_path / f"run{abs(hash(code))}.py"
        if not script.exists():  # other processes may be reading it
            script.write_text(f"import sys\nfrom program import *\n{code}\n")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "WARPSIM_"))}
        environment |= {"PYTHONPATH": str(ROOT), "WARPSIM_CACHE_PATH": str(cache), "WARPSIM_NUM_THREADS": "2"}
        environment |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"} | variables
        environment = {k: v for k, v in environment.items() if v is not None}
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", str(script)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def finish(process):
    """Wait; asserts success and returns what was printed."""
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    return out


def stored(folder):
    return ObjectCache(folder, 1 << 30)


# ----- processes ------------------------------------------------------------------------------


def test_sixteen_processes_on_one_empty_cache(program, tmp_path):
    processes = [program() for _ in range(16)]
    assert [finish(p) for p in processes] == ["right\n"] * 16
    assert {e.label for e in stored(tmp_path / "cache").entries()} == LABELS
    assert len(list((tmp_path / "cache").iterdir())) == len(LABELS)  # nothing is left over
    assert finish(program(WARM)) == "right\n"


def test_a_second_process_loads_without_compiling(program, tmp_path):
    verbose = "import logging; logging.basicConfig(level='INFO', stream=sys.stdout); wp.config.verbose = True; main()"
    cold = program(verbose)
    assert finish(cold).splitlines() == [
        "INFO:warpsim:kernel saxpy compiled",
        "INFO:warpsim:kernel total compiled",
        "right",
    ]
    assert finish(program(WARM)) == "right\n"
    failed = program(WARM, cache=tmp_path / "other")
    assert "AssertionError: compiled" in failed.communicate(timeout=PATIENCE)[1]


@pytest.mark.parametrize(
    "moment",
    [
        "cache.ObjectCache.store = lambda *given: die()",
        "cache.os.replace = lambda *given: die()",
        "builder.compile_native = lambda *given: die()",
        "write = cache._write; cache._write = lambda p, b: (write(p, b[: len(b) // 2]), die())",
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_compile_leaves_a_usable_cache(program, tmp_path, moment):
    code = (
        "import os, signal\nfrom warpsim.core.emit import build as builder\nfrom warpsim.core.emit.disk import cache\n"
        f"def die(): os.kill(os.getpid(), signal.SIGKILL)\n{moment}\nmain()"
    )
    killed = program(code)
    assert killed.communicate(timeout=PATIENCE)[0] == ""
    assert killed.returncode == -signal.SIGKILL
    assert finish(program()) == "right\n"
    assert {e.label for e in stored(tmp_path / "cache").entries()} == LABELS
    assert finish(program(WARM)) == "right\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_processes_killed_at_any_moment(program):
    """Twenty processes that fill the cache are killed some time after their start."""
    for k in range(20):
        process = program()
        time.sleep(0.02 * k)
        process.kill()
        process.communicate(timeout=PATIENCE)
    assert finish(program()) == "right\n"
    assert finish(program(WARM)) == "right\n"


@pytest.mark.parametrize("damage", ["truncated", "emptied", "one bit", "exchanged", "a folder"])
def test_damaged_entries_are_compiled_again(program, tmp_path, damage):
    finish(program())
    paths = sorted((tmp_path / "cache").iterdir())
    contents = [p.read_bytes() for p in paths]
    for k, (path, content) in enumerate(zip(paths, contents, strict=True)):
        middle = len(content) // 2
        if damage == "a folder":
            path.unlink()
            path.mkdir()
            continue
        path.write_bytes(
            {
                "truncated": content[: -1 - k],
                "emptied": b"",
                "exchanged": contents[k - 1],
                "one bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
            }[damage]
        )
    assert finish(program()) == "right\n"
    if damage != "a folder":
        assert [p.read_bytes()[:8] for p in paths] == [b"warpsim\n"] * len(LABELS)
        assert finish(program(WARM)) == "right\n"


# ----- folders --------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_costs_only_time(program, tmp_path):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    read_only = tmp_path / "read-only"
    read_only.mkdir()
    read_only.chmod(0o500)  # root may write all the same
    for cache in (blocked, blocked / "below", read_only, Path("/proc/nowhere"), Path("/dev/null")):
        assert finish(program(cache=cache)) == "right\n"
    read_only.chmod(0o700)


def test_a_missing_home_costs_only_time(program, tmp_path):
    nowhere = {"WARPSIM_CACHE_PATH": None, "XDG_CACHE_HOME": None, "HOME": "/proc/nowhere"}
    assert finish(program(**nowhere)) == "right\n"
    homeless = (
        "import pathlib\ndef home(): raise RuntimeError('no home')\npathlib.Path.home = staticmethod(home)\nmain()"
    )
    assert finish(program(homeless, **nowhere, TMPDIR=str(tmp_path))) == "right\n"
    if hasattr(os, "getuid"):
        assert {e.label for e in stored(tmp_path / f"warpsim-{os.getuid()}").entries()} == LABELS


def test_the_folder_is_chosen_by_config_then_environment(program, tmp_path):
    chosen = tmp_path / "chosen"
    assert finish(program(f"wp.config.kernel_cache_dir = {str(chosen)!r}\nmain()")) == "right\n"
    assert {e.label for e in stored(chosen).entries()} == LABELS
    assert not (tmp_path / "cache").exists()
    default = {"WARPSIM_CACHE_PATH": None, "XDG_CACHE_HOME": str(tmp_path / "xdg"), "HOME": str(tmp_path)}
    assert finish(program(**default)) == "right\n"
    if sys.platform.startswith("linux"):
        assert {e.label for e in stored(tmp_path / "xdg" / "warpsim").entries()} == LABELS


def test_the_cache_can_be_off(program, tmp_path):
    assert finish(program("wp.config.cache_kernels = False\nmain()\nassert wp.clear_kernel_cache() == 0")) == "right\n"
    assert not (tmp_path / "cache").exists()


def test_the_cache_is_bounded_and_cleared(program, tmp_path):
    assert finish(program("wp.config.max_cache_bytes = 8000\nmain()")) == "right\n"
    assert stored(tmp_path / "cache").size() <= 8000
    code = "main(); print(wp.clear_kernel_cache()); assert wp.clear_kernel_cache() == 0; main()"
    assert finish(program(code)).split() == ["right", str(len(LABELS)), "right"]


# ----- keys -----------------------------------------------------------------------------------

SOURCE = """
import warpsim as wp

@wp.struct
class Pair:
    a: float
    b: float

@wp.kernel
def difference(p: Pair, x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    for k in range(3):
        total = total + x[i]
    out[i] = (p.a - p.b) * 2.0 + total * 0.0
"""


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """Launch the kernel of a source text once; whether that compiled it, and the result."""
    monkeypatch.setattr(config, "kernel_cache_dir", str(tmp_path / "keys"))
    compilations = []
    compile_native = builder.compile_native

    def counted(program, options):
        compilations.append(program)
        return compile_native(program, options)

    monkeypatch.setattr(builder, "compile_native", counted)
    numbers = iter(range(1000))

    def launch(source=SOURCE, x=None, dim=2):
        path = tmp_path / f"source{next(numbers)}.py"
        path.write_text(source)
        scope = {"__name__": path.stem, "__file__": str(path)}
        exec(compile(source, str(path), "exec"), scope)
        pair, out = scope["Pair"](a=5.0, b=3.0), wp.zeros(8, dtype=float)
        compilations.clear()
        builder._present.clear()  # as in another process
        wp.launch(scope["difference"], dim, [pair, np.ones(8, np.float32) if x is None else x, out])
        return len(compilations), float(out.numpy()[0])

    return launch


def test_equal_programs_share_an_entry(compiled):
    assert compiled() == (1, 4.0)
    assert compiled() == (0, 4.0)
    renamed = SOURCE.replace("total", "s").replace("x: wp", "values: wp").replace("x[i]", "values[i]")
    assert compiled("# a comment, and other lines\n\n" + renamed) == (0, 4.0)
    assert compiled(SOURCE, dim=7) == (0, 4.0)


@pytest.mark.parametrize(
    ("change", "result"),
    [
        (("* 2.0", "* 3.0"), 6.0),
        (("p.a - p.b", "p.b - p.a"), -4.0),
        (("a: float\n    b: float", "b: float\n    a: float"), 4.0),  # the text of the program is the same
        (("a: float\n", "a: float\n    between: wp.float64\n"), 4.0),
        (("b: float\n", "b: float\n    c: wp.vec3\n"), 4.0),
        (("range(3)", "range(30)"), 4.0),
        (("def difference", "def other"), 4.0),
    ],
)
def test_a_change_of_the_source_is_another_program(compiled, change, result):
    assert compiled() == (1, 4.0)
    assert change[0] in SOURCE
    changed = SOURCE.replace(*change).replace("def other", "other = 1\n\n@wp.kernel\ndef difference")
    if "def other" in change[1]:
        changed = SOURCE.replace("difference", "other") + "\ndifference = other\n"
    assert compiled(changed) == (1, result)
    assert compiled(changed) == (0, result)
    assert compiled() == (0, 4.0)


def test_layouts_and_options_are_other_programs(compiled, monkeypatch):
    assert compiled() == (1, 4.0)
    assert compiled(x=np.ones(16, np.float32)[::2]) == (1, 4.0)
    for name, value in (("fast_math", True), ("verify", True), ("max_unroll", 1)):
        with monkeypatch.context() as change:
            change.setattr(config, name, value)
            assert compiled()[0] == 1, name
            if name != "verify":  # its code reports the file, which is another one here
                assert compiled()[0] == 0, name
        assert compiled() == (0, 4.0)
    monkeypatch.setattr(builder, "host_signature", lambda: "another processor")
    assert compiled() == (1, 4.0)
    assert compiled() == (0, 4.0)


def test_places_of_failed_checks_are_those_of_this_source(compiled, monkeypatch):
    """A cached kernel must not report the line, the file or the names of an equal one."""
    checked = SOURCE.replace("    i = wp.tid()\n", "    i = wp.tid()\n    assert p.a < 0.0, 'negative'\n")
    for lines in range(3):
        with pytest.raises(KernelAssertionError) as caught:
            compiled("\n" * lines + checked)
        assert f"source{lines}.py:{12 + lines}:" in str(caught.value)
        assert "assert p.a < 0.0, 'negative'" in str(caught.value)
    monkeypatch.setattr(config, "verify", True)
    for k, name in enumerate(("x", "values")):
        with pytest.raises(OutOfBoundsError) as caught:
            compiled(SOURCE.replace("x: wp", f"{name}: wp").replace("x[i]", f"{name}[i]"), np.ones(1, np.float32))
        assert f"outside axis 0 of {name} of length 1" in str(caught.value)
        assert f"source{3 + k}.py:14:" in str(caught.value)


def test_dumping_llvm_compiles_again(compiled, monkeypatch, capsys):
    assert compiled()[0] == 1
    monkeypatch.setattr(config, "dump", "llvm")
    assert compiled()[0] == 1
    assert "define void @" in capsys.readouterr().out
    monkeypatch.setattr(config, "dump", "dce")
    assert compiled()[0] == 0
    assert "after dce" in capsys.readouterr().out


def test_hits_and_compilations_are_logged_when_verbose(compiled, caplog):
    caplog.set_level(logging.INFO, "warpsim")
    compiled()
    assert not caplog.messages
    config.verbose = True
    compiled()
    compiled(SOURCE.replace("2.0", "9.0"))
    assert caplog.messages == ["kernel difference loaded from the cache", "kernel difference compiled"]


def test_entries_hold_places_and_code():
    sites = [["assert", "text", ["file.py", 3, 4, 9, "kernel"]], ["bounds", "axis 0 of x", None]]
    header, code = builder.unpack(builder.pack(sites, b"\x7fELF code"))
    assert (header, code) == (json.loads(json.dumps(sites)), b"\x7fELF code")
    assert [builder.site_words(builder.site_of(words)) for words in header] == sites
