"""A file is read as it is on disk, by a process that ends alone and within limits of memory and time."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from pxr import Sdf

from warpsim.usd import UsdError, UsdWriter, read_mesh, read_scene, reader
from warpsim.usd.reader import Reader
from warpsim.usd.scene import Scene
from warpsim.usd.stage_file import open_stage
from warpsim.viewer import Animation

TRIANGLE = """def Mesh "mesh" {
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
}
"""
HEAD = '#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Y"\n)\n'
forks = pytest.mark.skipif(not reader._FORKS, reason="processes cannot fork here")
linux = pytest.mark.skipif(sys.platform != "linux", reason="of Linux: /proc, and the limit of memory")


@pytest.fixture
def stage(tmp_path):
    """Write a text stage and return its path."""

    def write(body=TRIANGLE, name="stage.usda", head=HEAD):
        path = tmp_path / name
        path.write_text(head + body)
        return path

    return write


@pytest.fixture(params=[pytest.param(True, marks=forks), False], ids=["forked", "started"])
def way(request, monkeypatch):
    """Both ways to a process."""
    monkeypatch.setattr(reader, "_FORKS", request.param)


def nested(levels):
    return 'def Xform "a" {\n' * levels + TRIANGLE + "}\n" * levels


def copies(levels, each, arc="references = </L{0}>"):
    """Prims that refer to prims that refer to ...: `each` ** `levels` triangles."""
    text = [TRIANGLE.replace('"mesh"', '"L0"')]
    for k in range(levels):
        prims = "\n".join(f'def "c{i}" ({arc.format(k)}) {{ }}' for i in range(each))
        text.append(f'def Xform "L{k + 1}" {{\n{prims}\n}}\n')
    return "".join(text)


BOMB = copies(8, 10, "instanceable = true\nreferences = </L{0}>")


# ----- what is on disk --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["usda", "usdc"])
def test_a_file_written_anew_is_read_anew_while_the_old_one_is_open(tmp_path, kind):
    path = tmp_path / f"a.{kind}"

    def write(frames):
        with UsdWriter(path) as usd:
            for _ in range(frames):
                usd.frame()
                usd.mesh("mesh", np.eye(3, dtype=np.float32) * frames, [[0, 1, 2]])

    write(2)
    old = Animation(path)
    write(5)
    assert len(Animation(path)) == 5 and read_mesh(path).points.max() == 5.0
    assert len(old) == 2 and old.moment(old.bodies[0], 1).points.max() == 2.0


def test_a_layer_written_anew_is_read_anew(stage):
    outer = stage('def "outer" (references = @./inner.usda@</mesh>) { }\n')
    for far in (3, 4):
        stage(TRIANGLE.replace("(1, 0, 0)", f"({far}, 0, 0)"), "inner.usda")
        assert read_mesh(outer).points.max() == far


def test_paths_are_relative_to_where_the_program_is_now(stage, tmp_path, monkeypatch):
    stage()
    read_mesh(tmp_path / "stage.usda")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert len(read_mesh("../stage.usda").points) == 3


# ----- limits -----------------------------------------------------------------------------------


def test_nesting_that_ends_the_reader_is_an_error(stage, way):
    """More than any stack holds; the next file is read by another process."""
    deep = stage(nested(300_000), "deep.usda")
    with pytest.raises(UsdError, match=r"deep.usda' ends the process that reads it \(SIG\w+\): .* nests too"):
        read_mesh(deep)
    assert len(read_mesh(stage()).points) == 3


@pytest.mark.parametrize("read", [read_mesh, Animation, read_scene])
def test_a_thousand_levels_of_prims_are_read_and_no_more(stage, read):
    read(stage(nested(999)))
    with pytest.raises(UsdError, match="nests prims more than 1000 levels deep"):
        read(stage(nested(1000)))


@pytest.mark.parametrize("arc", ["references", "payload", "inherits", "specializes"])
@pytest.mark.parametrize("read", [read_mesh, Animation, read_scene])
def test_arcs_that_multiply_are_refused_before_they_are_followed(stage, read, arc):
    began = time.monotonic()
    with pytest.raises(UsdError, match="references, payloads, inherits and variants compose more than 1000000 prims"):
        read(stage(copies(10, 10, f"{arc} = </L{{0}}>")))
    assert time.monotonic() - began < 30.0


@pytest.mark.parametrize("arc", ["references", "payload", "inherits", "specializes"])
def test_arcs_of_binary_files_and_packages_multiply_too(stage, tmp_path, arc):
    binary, package = str(tmp_path / "bomb.usdc"), str(tmp_path / "bomb.usdz")
    Sdf.Layer.FindOrOpen(str(stage(copies(10, 10, f"{arc} = </L{{0}}>")))).Export(binary)
    with zipfile.ZipFile(package, "w", zipfile.ZIP_STORED) as made:
        info = zipfile.ZipInfo("bomb.usdc")
        info.extra = b"\x86\x19\x15\0" + bytes(21)  # so that the layer begins at a multiple of 64 bytes
        made.writestr(info, Path(binary).read_bytes())
    for name in (binary, package):
        with pytest.raises(UsdError, match="compose more than 1000000 prims"):
            read_mesh(name)


def test_layers_and_variants_count_too(stage, tmp_path):
    stage(copies(3, 10), "small.usda")
    for k in range(1, 4):  # each refers ten times to the one before
        inner = "small" if k == 1 else f"layer{k - 1}"
        stage(copies(1, 10, f"references = @./{inner}.usda@</L{1 if k > 1 else 3}>"), f"layer{k}.usda")
    with pytest.raises(UsdError, match="compose more than"):
        read_mesh(tmp_path / "layer3.usda")
    options = "\n".join(f'"o{k}" {{\ndef "x" (references = </L4>) {{ }}\n}}' for k in range(200))
    chosen = 'def "v" (\nvariants = {\nstring s = "o1"\n}\nadd variantSets = "s"\n) {\n'
    one = f'{copies(4, 9)}{chosen}variantSet "s" = {{\n{options}\n}}\n}}\n'
    with pytest.raises(UsdError, match=r"found \d+ meshes"):  # the largest variant counts, not all
        read_mesh(stage(one))


def test_cycles_of_arcs_end(stage, tmp_path):
    stage('def "c" (references = @./stage.usda@</a>) { }\n', "other.usda")
    body = 'def "a" (references = </b>) { }\ndef "b" (references = @./other.usda@</c>) { }\n'
    with pytest.raises(UsdError, match="found no Mesh"):
        read_mesh(stage(body, head="#usda 1.0\n(\n    subLayers = [@./stage.usda@, @./other.usda@]\n)\n"))


def test_ordinary_arcs_are_read(stage):
    stage(TRIANGLE, "part.usda")
    kind = 'class "kind" (references = @./part.usda@</mesh>) { }\n'
    body = kind + 'def "mine" (inherits = </kind>\ninstanceable = true) { }\n'
    assert len(read_mesh(stage(body), "/mine").points) == 3


@pytest.mark.parametrize("what", ["fifo", "folder", "/dev/zero"])
def test_references_to_what_is_no_file_are_refused(stage, tmp_path, what):
    target = what
    if what == "fifo":
        os.mkfifo(tmp_path / "fifo.usda")
        target = "./fifo.usda"
    elif what == "folder":
        (tmp_path / "folder.usda").mkdir()
        target = "./folder.usda"
    with pytest.raises(UsdError, match="is no regular file; remove the reference"):
        read_mesh(stage(TRIANGLE + f'def "a" (references = @{target}@) {{ }}\n'))


def test_assets_are_not_opened(stage, tmp_path):
    os.mkfifo(tmp_path / "fifo.png")
    looks = 'def Shader "s" {\nasset inputs:file = @./fifo.png@\nasset other = @/dev/zero@\n}\n'
    assert len(read_mesh(stage(TRIANGLE + looks), max_seconds=20.0).points) == 3


def test_layers_outside_of_the_folder_are_read_within_the_limits(stage, tmp_path):
    (tmp_path / "inside").mkdir()
    stage(copies(10, 10), "outside.usda")
    (tmp_path / "inside" / "link.usda").symlink_to("../outside.usda")
    for far, near in (("../outside.usda", "L0"), ("./link.usda", "L0"), (f"{tmp_path}/outside.usda", "L0")):
        inner = stage(f'def "a" (references = @{far}@</{near}>) {{ }}\n', "inside/stage.usda")
        assert len(read_mesh(inner).points) == 3
    with pytest.raises(UsdError, match="compose more than 1000000 prims"):
        read_mesh(stage('def "a" (references = @../outside.usda@</L10>) { }\n', "inside/stage.usda"))


def test_times_are_limited(stage, monkeypatch):
    monkeypatch.setattr("warpsim.usd.scene.MOST_FRAMES", 3)
    samples = ", ".join(f"{k}: [(0, 0, 0), (1, 0, 0), (0, 1, 0)]" for k in range(4))
    points = "points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]"
    name = str(stage(TRIANGLE.replace(points, f"points.timeSamples = {{ {samples} }}")))
    with pytest.raises(UsdError, match="has samples at 4 times, expected at most 3"):  # in this process
        Scene(open_stage(name, 1 << 20), name)


def test_nothing_is_asked_of_a_network(stage):
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/a.usda"
        for arc in (f'def "a" (references = @{url}@) {{ }}\n', f'def "a" {{\nasset file = @{url}@\n}}\n'):
            assert len(read_mesh(stage(TRIANGLE + arc)).points) == 3
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()


def test_time_is_limited(stage, way):
    bomb = stage(BOMB, "bomb.usda")
    with pytest.raises(UsdError, match=r"reading takes more than 0\.5 s.*pass a larger max_seconds"):
        read_mesh(bomb, max_seconds=0.5)
    assert len(read_mesh(stage()).points) == 3


@linux
def test_memory_is_limited(stage, monkeypatch):
    many = stage("def Mesh " + '"m" { point3f[] points = [' + ", ".join(["(0, 0, 0)"] * 100_000) + "] }\n")
    monkeypatch.setattr(reader, "_memory", lambda max_bytes: 1 << 24)
    with pytest.raises(UsdError, match=r"ends the process|takes more memory than 0\.0 GiB; pass a larger max_bytes"):
        read_mesh(many)


@linux
def test_a_reader_writes_no_file_and_is_the_first_to_go(tmp_path):
    code = """
from warpsim.usd.reader_process import _limit
import numpy
_limit(1 << 28)
assert open("/proc/self/oom_score_adj").read().strip() == "1000"
for wrong, error in ((lambda: numpy.ones(1 << 30), MemoryError), (lambda: write(), OSError)):
    try:
        wrong()
    except error:
        continue
    raise SystemExit(f"no {error}")
"""
    write = f"def write():\n    with open({str(tmp_path / 'x')!r}, 'wb') as file: file.write(b'x')\n"
    done = subprocess.run([sys.executable, "-c", write + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("limits", [{"max_seconds": 0}, {"max_seconds": float("nan")}, {"max_bytes": -1}])
def test_limits_that_are_none(stage, limits):
    with pytest.raises(UsdError, match=f"{next(iter(limits))}: found .*, expected a finite number above zero"):
        read_mesh(stage(), **limits)


# ----- processes --------------------------------------------------------------------------------


def test_files_are_read_either_way(stage, way):
    path = stage()
    animation = Animation(path)
    assert animation.moment(animation.bodies[0], 0).points.shape == (3, 3)
    with pytest.raises(UsdError, match="has no prim '/none'; its meshes are: /mesh"):
        read_mesh(path, "/none")


@forks
@linux
def test_a_process_that_is_ended_says_so_again_and_again(stage):
    animation = Animation(stage())
    os.kill(animation._reader._process._pid, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(UsdError, match=r"ends the process that reads it \(SIGKILL\)"):
            animation.moment(animation.bodies[0], 0)


@forks
def test_a_server_that_is_gone_is_replaced(stage):
    path = stage()
    read_mesh(path)
    [server] = reader._running
    server._process.kill()
    server._process.wait()
    assert len(read_mesh(path).points) == 3 and reader._running[0] is not server


def test_an_interrupted_question_is_the_last(stage, monkeypatch):
    with Reader(str(stage())) as asked:
        with monkeypatch.context() as patch:
            patch.setattr(reader, "receive", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                asked.ask("scene")
        with pytest.raises(UsdError, match="reading was interrupted; open it again"):
            asked.ask("scene")
    assert len(read_mesh(stage()).points) == 3


@forks
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # that it has threads
def test_forks_of_the_program_read_by_servers_of_their_own(stage):
    path = stage()
    animation = Animation(path)
    pid = os.fork()
    if not pid:
        try:
            refused = False
            try:
                animation.moment(animation.bodies[0], 0)
            except UsdError:
                refused = True
            good = refused and len(read_mesh(path).points) == 3
            while reader._running:
                reader._running.pop().close()
        finally:
            os._exit(0 if good else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert animation.moment(animation.bodies[0], 0).points.shape == (3, 3)


def test_threads_share_an_animation(stage):
    animation, failed = Animation(stage()), []

    def look():
        for _ in range(20):
            if animation.moment(animation.bodies[0], 0).points.max() != 1.0:
                failed.append(True)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@forks
@linux
def test_no_process_file_or_socket_is_left(stage):
    path = stage()
    read_mesh(path)
    [server] = reader._running
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        read_mesh(path)
        Animation(path)
    for _ in range(50):  # they end by themselves
        children = Path(f"/proc/{server._process.pid}/task/{server._process.pid}/children").read_text().split()
        states = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in children]
        if "R" not in states and "S" not in states:
            break
        time.sleep(0.1)
    assert set(states) <= {"Z"} and len(os.listdir("/proc/self/fd")) == before
    read_mesh(path)
    assert len(Path(f"/proc/{server._process.pid}/task/{server._process.pid}/children").read_text().split()) <= 1


def test_a_program_that_read_ends_at_once_and_alone(stage):
    code = f"""
import os, warpsim.usd as usd
from warpsim.usd import reader
usd.read_mesh({str(stage())!r})
print(reader._running[0]._process.pid if reader._FORKS else 0)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "" and not Path(f"/proc/{done.stdout.strip()}").exists()
