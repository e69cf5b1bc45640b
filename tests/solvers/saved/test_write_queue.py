"""Saves that nobody waits for: moments, order, errors that are told, ends of programs, kills, forks, signals."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from warpsim.solvers import Scene
from warpsim.solvers.saved import write_queue

posix = pytest.mark.skipif(os.name != "posix", reason="signals, limits and forks of POSIX")
HERE = Path(__file__).resolve().parent


@pytest.fixture
def gate(monkeypatch):
    """The thread writes when the gate is open."""
    event, write = threading.Event(), write_queue.OpenFile.write
    monkeypatch.setattr(write_queue.OpenFile, "write", lambda file, data: event.wait(60) and write(file, data))
    yield event
    event.set()
    Scene.finish_save()


@pytest.fixture
def broken(monkeypatch):
    """Files whose name has `broken` in it cannot be written to the disk."""
    commit = write_queue.AtomicFile.commit

    def failing(file):
        if "broken" in file.target.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        commit(file)

    monkeypatch.setattr(write_queue.AtomicFile, "commit", failing)


def test_the_program_goes_on_before_the_file_is_there_and_the_file_is_of_the_moment(gate, tmp_path):
    path, numbers = tmp_path / "run.scene", np.zeros(3)
    scene = Scene(numbers=numbers, frame=0)
    scene.save(path, wait=False)
    numbers[:], scene.frame = 1.0, 1
    assert not path.exists()
    gate.set()
    loaded = Scene.load(path)
    assert loaded.frame == 0 and not loaded.numbers.any()
    assert os.listdir(tmp_path) == ["run.scene"]


def test_the_next_save_of_a_scene_waits_for_the_last_one(gate, tmp_path):
    path, scene = tmp_path / "run.scene", Scene(numbers=np.zeros(3))
    scene.save(path, wait=False)
    scene.numbers[:] = 1.0
    threading.Timer(0.2, gate.set).start()
    scene.save(tmp_path / "other.scene", wait=False)
    assert gate.is_set() and not Scene.load(path).numbers.any() and Scene.load(tmp_path / "other.scene").numbers.all()


def test_restoring_waits_too(gate, tmp_path):
    scene = Scene(numbers=np.ones(3))
    scene.save(tmp_path / "run.scene", wait=False)
    scene.numbers[:] = 5.0
    threading.Timer(0.2, gate.set).start()
    scene.restore(tmp_path / "run.scene")
    assert (scene.numbers == 1.0).all()


def test_files_of_many_scenes_appear_in_the_order_of_saves(tmp_path):
    path = tmp_path / "run.scene"
    for k in range(40):
        Scene(k=k, numbers=np.full(100 * (k % 3), k)).save(path if k % 2 else tmp_path / f"{k}.scene", wait=False)
    Scene.finish_save()
    assert Scene.load(path).k == 39
    assert all(Scene.load(tmp_path / f"{k}.scene").k == k for k in range(0, 40, 2))


def test_a_save_that_waits_comes_after_those_that_did_not(tmp_path):
    path = tmp_path / "run.scene"
    Scene(k=0, numbers=np.zeros(1 << 20)).save(path, wait=False)
    Scene(k=1).save(path)
    assert Scene.load(path).k == 1 and path.stat().st_size < 1 << 20


# ----- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["save", "other", "load", "restore", "finish"])
def test_an_error_is_raised_by_the_next_call_and_by_none_after_it(call, broken, tmp_path):
    path, scene, other = tmp_path / "broken.scene", Scene(x=1), Scene(y=2)
    other.save(tmp_path / "other.scene")
    path.write_bytes(old := (tmp_path / "other.scene").read_bytes())
    calls = {
        "save": lambda: scene.save(path, wait=False),
        "other": lambda: other.save(tmp_path / "other.scene"),
        "load": lambda: Scene.load(path),
        "restore": lambda: other.restore(tmp_path / "other.scene"),
        "finish": Scene.finish_save,
    }
    scene.save(path, wait=False)
    with pytest.raises(OSError, match="No space left on device") as caught:
        calls[call]()
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(path)
    assert "an earlier save had not been waited for, and failed" in str(caught.value)
    Scene.finish_save()
    assert path.read_bytes() == old and sorted(os.listdir(tmp_path)) == ["broken.scene", "other.scene"]
    assert Scene.load(path).y == 2


def test_what_comes_after_a_file_that_could_not_be_written_is_not_written(gate, broken, tmp_path):
    Scene(x=1).save(tmp_path / "broken.part", wait=False)
    Scene(x=2).save(tmp_path / "run.scene", wait=False)
    gate.set()
    with pytest.raises(OSError, match=r"broken\.part"):
        Scene.finish_save()
    assert os.listdir(tmp_path) == []
    Scene(x=3).save(tmp_path / "run.scene", wait=False)
    assert Scene.load(tmp_path / "run.scene").x == 3


@pytest.mark.parametrize("wait", [True, False])
def test_what_is_known_at_once_is_raised_at_once(wait, tmp_path):
    for path, error in ((tmp_path / "missing" / "run.scene", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(error):
            Scene(x=1).save(path, wait=wait)
    Scene.finish_save()
    assert os.listdir(tmp_path) == []


def test_an_error_that_is_none_of_the_system_is_told_as_well(monkeypatch, tmp_path):
    monkeypatch.setattr(write_queue.OpenFile, "write", lambda file, data: 1 // 0)
    Scene(x=1).save(tmp_path / "run.scene", wait=False)
    with pytest.raises(OSError, match=r"run\.scene': integer division"):
        Scene.finish_save()


# ----- ways to write --------------------------------------------------------------------------------


def no_direct(monkeypatch):
    monkeypatch.setattr(write_queue, "_PAST_CACHE", 0)


def refused(monkeypatch):
    """A system that takes the flag, and then refuses what is written."""
    write, calls = os.write, []

    def once(handle, data):
        if not calls:
            calls.append(1)
            raise OSError(errno.EINVAL, "Invalid argument")
        return write(handle, data)

    monkeypatch.setattr(write_queue.os, "write", once)


def short(monkeypatch):
    write = os.write
    monkeypatch.setattr(write_queue.os, "write", lambda handle, data: write(handle, data[:4096]))


@pytest.mark.parametrize("way", [no_direct, refused, short])
@pytest.mark.parametrize("size", [1, 3000, 100_000])
def test_every_way_of_writing_writes_the_same(way, size, tmp_path, monkeypatch):
    scene = Scene(numbers=np.random.default_rng(0).random(size))
    scene.save(tmp_path / "one")
    way(monkeypatch)
    scene.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@posix
def test_a_pipe_takes_the_whole_file(tmp_path):
    Scene(numbers=np.arange(2000.0)).save(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE) as cat:
        Scene(numbers=np.arange(2000.0)).save(tmp_path / "pipe")
        assert cat.stdout.read() == (tmp_path / "file").read_bytes()


def test_threads_save_side_by_side(tmp_path):
    def save(name):
        scene = Scene(k=0)
        for scene.k in range(20):
            scene.save(tmp_path / name, wait=False)

    threads = [threading.Thread(target=save, args=[str(n)]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [Scene.load(tmp_path / str(n)).k for n in range(4)] == [19] * 4


# ----- programs -------------------------------------------------------------------------------------

PROGRAM = """
import atexit, os, signal, sys, time
sys.path.insert(0, {here!r})
import numpy as np
from warpsim.solvers import Scene
scene = Scene(k=0, numbers=np.zeros(200_000))
scene.save("run.scene")
scene.k = 1
{rest}
"""


def program(rest, folder, **options):
    code = PROGRAM.format(here=str(HERE), rest=rest)
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False, **options
    )


@pytest.mark.parametrize(
    "end, status",
    [
        ("scene.save('run.scene', wait=False)", 0),
        ("scene.save('run.scene', wait=False); sys.exit(3)", 3),
        ("scene.save('run.scene', wait=False); 1 // 0", 1),
        ("atexit.register(scene.save, 'run.scene', wait=False)", 0),
    ],
)
def test_the_end_of_a_program_waits(end, status, tmp_path):
    assert program(end, tmp_path).returncode == status
    assert Scene.load(tmp_path / "run.scene").k == 1 and os.listdir(tmp_path) == ["run.scene"]


FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))\n"


@posix
def test_a_full_disk_is_told_at_the_end_where_nothing_was_saved_since(tmp_path):
    """The limit on the size of a file stands for a disk that is full."""
    done = program(FULL + "scene.save('run.scene', wait=False)", tmp_path)
    assert "warpsim: the last save failed" in done.stderr and "File too large" in done.stderr
    assert Scene.load(tmp_path / "run.scene").k == 0 and os.listdir(tmp_path) == ["run.scene"]


@posix
@pytest.mark.parametrize("wait", [True, False])
def test_a_full_disk_is_told_by_the_save_and_leaves_the_older_file(wait, tmp_path):
    done = program(FULL + f"scene.save('run.scene', wait={wait}); scene.save('run.scene')", tmp_path)
    assert done.returncode == 1 and "OSError: [Errno 27] File too large" in done.stderr
    assert ("had not been waited for" in done.stderr) == (not wait)
    assert Scene.load(tmp_path / "run.scene").k == 0 and os.listdir(tmp_path) == ["run.scene"]


@posix
def test_a_program_that_is_told_to_end_removes_what_it_has_not_finished(tmp_path):
    rest = """
from warpsim.atomic_file import AtomicFile
AtomicFile.commit = lambda file: time.sleep(60)
scene.save("run.scene", wait=False)
while len(os.listdir()) < 2: time.sleep(0.01)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)
"""
    assert program(rest, tmp_path, timeout=50).returncode == -signal.SIGTERM
    assert Scene.load(tmp_path / "run.scene").k == 0 and os.listdir(tmp_path) == ["run.scene"]


@posix
def test_signals_get_their_meaning_back(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    Scene(x=1).save(tmp_path / "run.scene", wait=False)
    Scene.finish_save()
    assert signal.getsignal(signal.SIGTERM) == before


@posix
def test_forks_save_files_of_their_own(tmp_path):
    rest = """
from warpsim.solvers.saved import write_queue
scene.save("run.scene", wait=False)
pid = os.fork()
if not pid:
    scene.k, scene.numbers[:] = 2, 1.0
    scene.save("child.scene", wait=False)
    Scene.finish_save()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
scene.k = 3
scene.save("parent.scene", wait=False)
"""
    done = program(rest, tmp_path, timeout=50)
    assert done.returncode == 0, done.stderr
    loaded = {name: Scene.load(tmp_path / name) for name in os.listdir(tmp_path)}
    ks = {name: scene.k for name, scene in loaded.items()}
    assert ks == {"run.scene": 1, "child.scene": 2, "parent.scene": 3}
    assert not loaded["parent.scene"].numbers.any() and loaded["child.scene"].numbers.all()


@posix
@pytest.mark.parametrize("trial", range(6))
def test_a_kill_at_any_moment_leaves_a_whole_file(trial, tmp_path):
    """SIGKILL of a program that saves all the time: some save of it is there, whole."""
    rest = """
while True:
    scene.k += 1
    scene.numbers[:] = scene.k
    scene.save("run.scene", wait=False)
"""
    code = PROGRAM.format(here=str(HERE), rest=rest)
    path = tmp_path / "run.scene"
    child = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    try:
        deadline = time.monotonic() + 60.0
        while not path.exists():
            assert child.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(np.random.default_rng().uniform(0.0, 0.3))
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    scene = Scene.load(path)
    assert (scene.numbers == (scene.k if scene.k > 1 else 0)).all()
