"""Files appear whole or not at all: after errors, on full disks, in folders that cannot be written, after signals."""

import errno
import os
import signal
import stat
import subprocess
import sys

import pytest

from warpsim.atomic_file import AtomicFile

posix = pytest.mark.skipif(os.name != "posix", reason="signals, limits and links of POSIX")


def test_a_file_appears_when_it_is_whole(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with AtomicFile(target) as path:
        path.write_text("new")
        assert path.suffix == ".txt" and path.parent == tmp_path and target.read_text() == "old"
    assert target.read_text() == "new" and list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_older_file(tmp_path, error):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(error), AtomicFile(target) as path:
        path.write_text("ne")
        raise error
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


def test_folders_are_no_files(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; choose a file name"):
        AtomicFile(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def calls(monkeypatch):
    """What is written through and what gets a name, in this order."""
    noted, write_through, replace = [], os.fsync, os.replace

    def noted_fsync(handle):
        noted.append(os.fstat(handle).st_ino)
        write_through(handle)

    def noted_replace(source, target):
        noted.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    return noted


@posix
def test_a_file_is_on_the_disk_before_it_has_its_name_and_then_its_folder(tmp_path, calls):
    with AtomicFile(tmp_path / "a.txt") as path:
        path.write_text("new")
    assert calls == [(tmp_path / "a.txt").stat().st_ino, "replace", tmp_path.stat().st_ino]


@posix
def test_files_that_need_not_be_durable_do_not_wait_for_the_disk(tmp_path, calls):
    with AtomicFile(tmp_path / "a.txt", durable=False) as path:
        path.write_text("new")
    assert calls == ["replace"] and (tmp_path / "a.txt").read_text() == "new"


@posix
def test_a_disk_that_fails_leaves_the_older_file(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("old")

    def failing(handle):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="Input/output"), AtomicFile(tmp_path / "a.txt") as path:
        path.write_text("new")
    assert (tmp_path / "a.txt").read_text() == "old" and list(tmp_path.iterdir()) == [tmp_path / "a.txt"]


@posix
def test_a_folder_that_cannot_be_written_through_keeps_the_file(tmp_path, monkeypatch):
    write_through = os.fsync

    def only_files(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        write_through(handle)

    monkeypatch.setattr(os, "fsync", only_files)
    with AtomicFile(tmp_path / "a.txt") as path:
        path.write_text("new")
    assert (tmp_path / "a.txt").read_text() == "new"


@posix
def test_links_and_devices_stay_what_they_are(tmp_path):
    (tmp_path / "real.dat").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.dat")
    with AtomicFile(tmp_path / "link.txt") as path:
        path.write_text("new")
    assert (tmp_path / "link.txt").is_symlink() and (tmp_path / "real.dat").read_text() == "new"
    (tmp_path / "null").symlink_to("/dev/null")
    with AtomicFile(tmp_path / "null") as path:
        path.write_text("nothing")
    assert os.path.samefile(tmp_path / "null", "/dev/null")


def test_names_of_any_length_have_room(tmp_path):
    target = tmp_path / ("n" * 250 + ".txt")
    with AtomicFile(target) as path:
        path.write_text("x")
    assert target.read_text() == "x"


CHILD = """
import os, signal, sys, time
for number, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    if hasattr(signal, number):  # a program in the background may have been started with these ignored
        signal.signal(getattr(signal, number), handler)
from warpsim.atomic_file import AtomicFile
{setup}
made = [AtomicFile(name) for name in ("a.txt", "b.txt")]
for file in made:
    file.path.write_text("x")
made[1].commit()
print(len(os.listdir()), flush=True)
{end}
"""


def child(folder, setup="", end="time.sleep(60)"):
    code = CHILD.format(setup=setup, end=end)
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE, text=True)


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_end_the_program_and_what_it_has_not_finished(tmp_path, number):
    with child(tmp_path) as running:
        assert running.stdout.readline() == "2\n"
        running.send_signal(number)
        assert running.wait(30) == -number
    assert os.listdir(tmp_path) == ["b.txt"]


@posix
def test_a_program_that_handles_signals_itself_still_does(tmp_path):
    own = "signal.signal(signal.SIGTERM, lambda *_: (print('mine', flush=True), sys.exit(3)))"
    with child(tmp_path, own) as running:
        running.stdout.readline()
        running.send_signal(signal.SIGTERM)
        assert running.stdout.readline() == "mine\n" and running.wait(30) == 3
    assert os.listdir(tmp_path) == ["b.txt"]


@posix
def test_handlers_go_with_the_last_file(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    with AtomicFile(tmp_path / "a") as path, AtomicFile(tmp_path / "b") as other:
        path.touch()
        other.touch()
        assert (signal.getsignal(signal.SIGTERM) == before) == (before is not signal.SIG_DFL)
    assert signal.getsignal(signal.SIGTERM) == before


@posix
def test_forks_leave_the_files_of_their_parent(tmp_path):
    end = "pid = os.fork()\nif not pid: sys.exit()\nos.waitpid(pid, 0)\nprint(len(os.listdir()), flush=True)"
    with child(tmp_path, end=end) as running:
        assert running.stdout.read() == "2\n2\n"
    assert os.listdir(tmp_path) == ["b.txt"]


# ----- every writer of files --------------------------------------------------------------------

WRITERS = {
    "usdc": "film('out.usdc')",
    "usda": "film('out.usda')",
    "page": "film('a.usdc'); full(); write_page(Animation('a.usdc'), 'out.html')",
    "film": "film('a.usdc'); full(); write_film(Animation('a.usdc'), 'out.png', fps=10, size=(160, 120))",
    "picture": "full(); render_meshes('out.png', [[box((0, 0, 0), (1, 1, 1))]])",
    "volume": "made = wp.Volume.load_from_numpy(data); full(); made.save_to_nvdb('out.nvdb')",
}

FULL = """
import os, resource, sys
import numpy as np
import warpsim as wp
from warpsim.plot import box, render_meshes
from warpsim.usd import UsdWriter
from warpsim.viewer import Animation, write_film, write_page

os.chdir(sys.argv[1])
data = np.random.default_rng(0).random((20, 800, 3)).astype(np.float32)


def full():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))


def film(name):
    if name.startswith("out"):
        full()
    with UsdWriter(name) as usd:
        for frame in data:
            usd.frame()
            usd.points("p", frame, 0.1)


try:
    {write}
except OSError as error:
    print(error.errno, error)
"""
@posix
@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_is_full_is_called_so_and_nothing_is_left(tmp_path, name):
    """The limit on the size of a file stands for a disk that is full: the system refuses either in the same places."""
    code = FULL.replace("{write}", WRITERS[name])
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "File too large" in done.stdout, done.stdout
    assert set(os.listdir(tmp_path)) <= {"a.usdc"}
