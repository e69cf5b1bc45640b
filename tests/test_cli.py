"""The command `warpsim`, in this process and as one of its own: output, exit status, no tracebacks."""

import itertools
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp
from warpsim import cli, gallery, machine
from warpsim.config import config
from warpsim.usd import UsdWriter

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def warpsim(capsys):
    """Run a command line: (exit status, stdout, stderr)."""

    def run(*arguments):
        try:
            status = cli.main(list(arguments))
        except SystemExit as exit:  # argparse ends with it, and so does a console script
            status = exit.code
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with two examples, which the command takes for its own."""
    package = tmp_path / "warpsim"
    (tmp_path / "examples" / "more").mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "examples" / "hello.py").write_text(
        '"""Says hello."""\n'
        "import argparse, sys\n"
        "from _neighbour import greeting\n"
        "def main(argv=None):\n"
        "    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--status')\n"
        "    options = parser.parse_args(argv)\n"
        "    print(greeting, argv)\n"
        "    if options.status == 'file':\n"
        "        open('/nowhere/at/all')\n"
        "    if options.status == 'bug':\n"
        "        raise ZeroDivisionError\n"
        "    if options.status == 'interrupt':\n"
        "        raise KeyboardInterrupt\n"
        "    return int(options.status) if options.status else object()\n"
    )
    (tmp_path / "examples" / "_neighbour.py").write_text("greeting = 'hello'\n")
    (tmp_path / "examples" / "more" / "wave.py").write_text("def main(argv=None): print('no docstring')\n")
    monkeypatch.setattr(gallery, "PACKAGE", package)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("_neighbour", "warpsim_example_hello", "warpsim_example_wave"):
        sys.modules.pop(name, None)


# ----- the command line ---------------------------------------------------------------------------


def test_help_version_and_nothing(warpsim):
    assert warpsim("--version") == (0, f"warpsim {wp.__version__}\n", "")
    for arguments in ((), ("--help",)):
        status, out, _ = warpsim(*arguments)
        assert status == 0
        assert all(name in out for name in ("info", "run", "cache", "bench"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["walk"], "invalid choice: 'walk'"),
        (["cache", "eat"], r"invalid choice: 'eat' \(choose from '?list'?, '?size'?, '?clear'?\)"),
        (["info", "--loud"], "unrecognized arguments: --loud"),
        (["run", "--all"], "unrecognized arguments: --all"),
    ],
)
def test_wrong_command_lines(warpsim, arguments, message):
    status, out, err = warpsim(*arguments)
    assert (status, out) == (2, "")
    assert re.search(message, err)


# ----- info ---------------------------------------------------------------------------------------


def test_info_says_what_is_here(warpsim):
    status, out, err = warpsim("info")
    assert (status, err) == (0, "")
    rows = dict(re.findall(r"^(\S+(?: \S+)*) {2,}(.+)$", out, re.MULTILINE))
    assert rows["warpsim"].startswith(wp.__version__)
    assert rows["Python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert rows["numpy"] == np.__version__
    assert int(rows["threads"]) >= 1
    assert re.search(r"\d+ entr(y|ies), [\d.]+ MB of at most 536.9 MB in ", rows["kernel cache"])
    assert re.search(r"\d+ of \d+ cores usable", rows["CPU"])
    asked = {"llvmlite", "CUDA driver", "CUDA compiles", "CUDA runs", *machine.CUDA_PACKAGES, *machine.OPTIONAL}
    assert asked <= rows.keys()


def test_info_tells_how_to_get_what_is_missing(warpsim, monkeypatch):
    monkeypatch.setitem(machine.OPTIONAL, "no-such-package", "pip install no-such-package")
    monkeypatch.setitem(machine.CUDA_PACKAGES, "no-such-tool", "tea")
    _, out, _ = warpsim("info")
    assert re.search(r"^no-such-package +not installed: pip install no-such-package$", out, re.MULTILINE)
    assert re.search(r"^no-such-tool +not installed \(tea\): pip install 'warpsim\[cuda\]'$", out, re.MULTILINE)


def test_info_survives_a_wrong_environment():
    found = subprocess.run(
        [sys.executable, "-m", "warpsim", "info"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "WARPSIM_NUM_THREADS": "many"},
    )
    assert found.returncode == 0, found.stderr
    message = r"^threads +WARPSIM_NUM_THREADS: 'many' is no number of threads; expected"
    assert re.search(message, found.stdout, re.MULTILINE)


# ----- cache --------------------------------------------------------------------------------------


_numbers = itertools.count(1)


@pytest.fixture
def cached(tmp_path):
    """A cache folder with the code of one kernel, one that the process does not have yet."""
    config.kernel_cache_dir = str(tmp_path / "kernels")
    value = float(next(_numbers))

    @wp.kernel
    def kept_on_disk(x: wp.array(dtype=float)):
        x[wp.tid()] = value

    wp.launch(kept_on_disk, dim=1, inputs=[wp.zeros(1, dtype=float, device="cpu")], device="cpu")
    return tmp_path / "kernels"


def test_cache_lists_measures_and_clears(warpsim, cached):
    size = sum(p.stat().st_size for p in cached.iterdir())
    status, out, _ = warpsim("cache")
    assert (status, out) == warpsim("cache", "list")[:2]
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d +[\d.]+ kB  kept_on_disk$", out, re.MULTILINE)
    assert out.splitlines()[-1] == f"2 entries, {size / 1e6:.1f} MB of at most 536.9 MB in {cached}"
    assert warpsim("cache", "size")[:2] == (0, out.splitlines()[-1] + "\n")
    assert warpsim("cache", "clear")[:2] == (0, f"removed 2 entries, {size / 1e6:.1f} MB from {cached}\n")
    assert list(cached.iterdir()) == []
    assert warpsim("cache", "clear")[1].startswith("removed 0 entries")


def test_an_absent_cache_is_empty(warpsim, tmp_path):
    config.kernel_cache_dir = str(tmp_path / "never made")
    for action in ("list", "size", "clear"):
        assert warpsim("cache", action)[0] == 0
    assert not (tmp_path / "never made").exists()


def test_entries_that_stay_are_reported(warpsim, cached, monkeypatch):
    monkeypatch.setattr(machine.ObjectCache, "clear", lambda self: 0)
    status, _, err = warpsim("cache", "clear")
    assert (status, err) == (1, f"warpsim: error: 2 entries could not be removed from {cached}\n")


# ----- examples -----------------------------------------------------------------------------------


def test_examples_are_listed(warpsim, checkout):
    assert warpsim("run") == (0, "hello  Says hello.\nwave\n", "")


def test_examples_are_listed_by_topic(warpsim, checkout):
    (checkout / "examples" / "_topics.py").write_text('TOPICS = {"Waves": ("wave", "absent")}\n')
    assert warpsim("run") == (0, "Waves:\n  wave\nhello  Says hello.\n", "")
    sys.modules.pop("warpsim_example__topics")


def test_examples_are_listed_with_times_for_this_machine(warpsim, checkout, monkeypatch):
    (checkout / "examples" / "_times.py").write_text('PROBE = 1.0\nSECONDS = {"hello": (20.0, 10.0)}\n')
    monkeypatch.setattr(gallery, "probe", lambda: 0.1)
    monkeypatch.setattr(gallery.pool, "get_pool", lambda: types.SimpleNamespace(threads=1))
    lines = warpsim("run")[1].splitlines()
    assert lines[:2] == ["hello    3 s  Says hello.", "wave"]
    assert lines[2].startswith("Times are estimates for this machine with 1 threads")
    sys.modules.pop("warpsim_example__times")


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "1 s"), (3.4, "3 s"), (13.0, "15 s"), (58.0, "60 s")])
def test_estimates_are_round(seconds, text):
    assert cli.round_time(seconds) == text


def test_every_example_of_the_repository_is_listed_once():
    found = gallery.topics(gallery.examples())
    assert "cloth_drop" in found["Cloth and soft bodies"]
    assert sorted(name for names in found.values() for name in names) == sorted(gallery.examples())
    sys.modules.pop("warpsim_example__topics")


def test_examples_are_copied_out_but_never_over_something(warpsim, checkout, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert warpsim("run", "hello", "--copy") == (0, "wrote hello.py; python hello.py runs it\n", "")
    assert Path("hello.py").read_text() == (checkout / "examples" / "hello.py").read_text()
    status, _, err = warpsim("run", "hello", "--copy")
    assert (status, err.splitlines()[0]) == (1, "warpsim: error: hello.py is here already")


def test_examples_run_with_their_arguments(warpsim, checkout):
    before = sys.argv[0]
    assert warpsim("run", "hello") == (0, "hello []\n", "")
    assert warpsim("run", "hello.py", "--status", "3") == (3, "hello ['--status', '3']\n", "")
    assert warpsim("run", "wave")[:2] == (0, "no docstring\n")
    status, out, _ = warpsim("run", "hello", "--help")
    assert (status, out.splitlines()[0]) == (0, "usage: warpsim run hello [-h] [--status STATUS]")
    assert all(re.search(rf"^  {option}\b", out, re.MULTILINE) for option in ("--view", "--profile", "--copy"))
    status, _, err = warpsim("run", "hello", "--bogus")
    assert (status, err.splitlines()[-1]) == (2, "warpsim run hello: error: unrecognized arguments: --bogus")
    assert sys.argv[0] == before


def test_examples_are_profiled_on_request(warpsim, checkout, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.chdir(checkout)
    status, out, err = warpsim("run", "hello", "--profile=p.svg", "--profile", "--profile=p.json", "--status", "3")
    assert (status, err) == (3, "") and "hello ['--status', '3']" in out
    assert re.search(r"^hello: .*, 0 launches$", out, re.MULTILINE) and out.endswith("wrote p.svg\nwrote p.json\n")
    assert '"traceEvents"' in Path("p.json").read_text() and Path("p.svg").read_text().startswith("<?xml")


def test_a_profile_is_written_in_kinds_that_are_known(warpsim, checkout):
    status, out, err = warpsim("run", "hello", "--profile=p.txt")
    assert (status, out) == (2, "") and "expected: one of .json, .png, .svg, .pdf, .webp" in err


def test_an_example_hides_no_module_of_python(warpsim, checkout):
    warpsim("run", "wave")
    assert "wave" not in sys.modules or "examples" not in str(sys.modules["wave"].__file__)


def test_unknown_examples(warpsim, checkout):
    status, out, err = warpsim("run", "helo")
    assert (status, out) == (2, "")
    assert err == (
        "warpsim: error: no example is named 'helo'\nexpected: one of hello, wave\nhelp: did you mean 'hello'?\n"
    )
    assert "`warpsim run` lists them" in warpsim("run", "zzz")[2]


def test_what_goes_wrong_in_an_example(warpsim, checkout, monkeypatch):
    status, _, err = warpsim("run", "hello", "--status", "file")
    assert (status, err) == (1, "warpsim: error: [Errno 2] No such file or directory: '/nowhere/at/all'\n")
    assert warpsim("run", "hello", "--status", "interrupt")[0] == 130
    with pytest.raises(ZeroDivisionError):  # a bug shows where it is
        cli.main(["run", "hello", "--status", "bug"])
    monkeypatch.setenv("WARPSIM_TRACEBACK", "1")
    with pytest.raises(FileNotFoundError):
        cli.main(["run", "hello", "--status", "file"])


def test_installed_packages_bring_their_examples(warpsim, checkout):
    (checkout / "pyproject.toml").unlink()  # `examples` beside an installed package is someone else's
    status, _, err = warpsim("run")
    assert (status, err.splitlines()[0]) == (1, "warpsim: error: this installation has no examples")
    packed = checkout / "warpsim" / "_examples"
    packed.mkdir(parents=True)
    (packed / "packed.py").write_text('"""Comes along."""\ndef main(argv=None): print("packed", argv)\n')
    assert warpsim("run") == (0, "packed  Comes along.\n", "")
    assert warpsim("run", "packed", "x") == (0, "packed ['x']\n", "")
    sys.modules.pop("warpsim_example_packed")


def test_the_examples_of_the_repository_are_found():
    assert {"cloth_drop", "wave"} <= gallery.examples().keys()
    assert all(gallery.first_line(path) for path in gallery.examples().values())


# ----- benchmarks -----------------------------------------------------------------------------------


def test_benchmarks_get_their_arguments(capfd):
    assert cli.main(["bench", "--list"]) == 0
    assert "saxpy" in capfd.readouterr().out
    assert cli.main(["bench", "--bogus"]) == 2
    assert cli.main(["bench", "--help"]) == 0
    assert capfd.readouterr().out.startswith("usage: warpsim bench [-h]")


def test_benchmarks_need_their_files(warpsim, checkout):
    status, _, err = warpsim("bench", "--quick")
    assert status == 1
    assert re.match(r"warpsim: error: the benchmarks are neither beside .+ nor in it\nhelp: install", err)


# ----- as a process -----------------------------------------------------------------------------------


def test_the_module_is_the_command():
    found = subprocess.run(
        [sys.executable, "-m", "warpsim", "run", "nothing"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert found.returncode == 2
    assert found.stderr.startswith("warpsim: error: no example is named 'nothing'\n")
    assert "Traceback" not in found.stderr


@pytest.mark.skipif(os.name == "nt", reason="pipes break otherwise there")
@pytest.mark.parametrize("unbuffered", [[], ["-u"]])
def test_a_reader_that_leaves_is_no_error(unbuffered):
    """As in `warpsim info | head -0`."""
    command = subprocess.Popen(
        [sys.executable, *unbuffered, "-m", "warpsim", "info"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    command.stdout.close()
    err = command.stderr.read()
    command.stderr.close()
    assert command.wait() == 1
    assert err == b""


def test_view_writes_what_is_asked_for(warpsim, tmp_path):
    with UsdWriter(tmp_path / "drop.usdc") as usd:
        for k in range(3):
            usd.frame()
            usd.points("drop", [[0.0, -0.1 * k, 0.0]], 0.1)
    page, film = tmp_path / "drop.html", tmp_path / "drop.gif"
    code, out, _ = warpsim("view", str(tmp_path / "drop.usdc"), "--html", str(page), "--film", str(film))
    assert code == 0 and "drop.html: 0." in out and page.stat().st_size > 100_000 and film.stat().st_size > 1000
    code, _, err = warpsim("view", str(tmp_path / "none.usdc"))
    assert code == 1 and "does not exist" in err


def test_an_example_is_watched_by_what_it_wrote(monkeypatch):
    watched, arguments = [], []
    example = types.SimpleNamespace(main=lambda given: arguments.append(given))
    monkeypatch.setattr(gallery, "load_example", lambda path: example)
    monkeypatch.setattr(cli, "_viewer", lambda: types.SimpleNamespace(watch=watched.append))
    cli.run_example("flag", ["--view", "--seconds", "1"])
    cli.run_example("flag", ["--output", "there.usda", "--view"])
    cli.run_example("flag", [])
    assert watched == [Path("flag.usdc"), Path("there.usda")]
    assert arguments == [["--seconds", "1"], ["--output", "there.usda"], []]
