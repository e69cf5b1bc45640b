"""Recordings survive kills at random moments, full disks, folders that cannot be written, and go on bit for bit."""

import csv
import errno
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pxr import Usd, UsdGeom
from recordings import grains, listed, numbered_body, read_vtk

from warpsim.errors import ArgumentTypeError
from warpsim.record import (
    Body,
    CsvTable,
    FilmFile,
    PlySequence,
    Recorder,
    RecordError,
    RecordFileError,
    UsdFile,
    VtkSeries,
)
from warpsim.solvers import GrainStream, Material, ModelBuilder, Scene, SolverDEM

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")

LOOP = """
import importlib.util, sys
sys.path.insert(0, {helpers!r})
from recordings import numbered_body
from warpsim.record import CsvTable, FilmFile, Hdf5Table, PlySequence, Recorder, UsdFile, VtkSeries

folder, first, frames = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
formats = [VtkSeries(), PlySequence(), CsvTable(), UsdFile(25.0), FilmFile(25.0, (32, 24))]
if importlib.util.find_spec("h5py"):
    formats.append(Hdf5Table())
with Recorder(folder, formats, first_frame=first) as record:
    for frame in range(first, frames):
        body = numbered_body(frame)
        record.frame(None, frame / 25.0, numbers={{"mean": body.points.mean(), "n": frame}}, bodies=[body])
        print(frame, flush=True)
"""


def loop(folder, first, frames, **options):
    code = LOOP.format(helpers=str(Path(__file__).parent))
    command = [sys.executable, "-c", code, str(folder), str(first), str(frames)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)


def check_whole(folder, least):
    """Every file of a recording of `numbered_body` opens and has its first frames, `least` of them or more."""
    counts = {}
    entries = listed(folder / "dust.pvd")
    for frame, (moment, path) in enumerate(entries):
        assert moment == frame / 25.0
        if frame % 7 == 0 or frame > len(entries) - 3:
            _, points, _, arrays, _ = read_vtk(path)
            expected = numbered_body(frame)
            assert (points == expected.points).all() and (arrays["heat"] == expected.arrays["heat"]).all()
    counts["vtk"] = len(entries)
    files = sorted((folder / "ply").glob("[!.]*.ply"))
    assert [p.name for p in files] == [f"dust_{k:06}.ply" for k in range(len(files))]
    assert len({p.stat().st_size for p in files}) <= 1
    counts["ply"] = len(files)
    text = (folder / "statistics.csv").read_bytes().decode()
    rows = list(csv.reader(text[: text.rfind("\n") + 1].splitlines()))[1:]
    assert [int(row[0]) for row in rows] == list(range(len(rows)))
    assert all(float(row[2]) == numbered_body(k).points.mean() for k, row in enumerate(rows))
    counts["csv"] = len(rows)
    if (folder / "statistics.h5").exists():
        import h5py  # noqa: PLC0415 - optional

        with h5py.File(folder / "statistics.h5") as file:
            counts["hdf5"] = len(file["statistics"])
    if (folder / "recording.webp").exists():
        with Image.open(folder / "recording.webp") as film:
            for k in range(film.n_frames):
                film.seek(k)
                film.load()
                assert film.info["duration"] == 40
            counts["film"] = film.n_frames
    assert all(count >= least for count in counts.values()), (least, counts)
    return counts


@posix
@pytest.mark.parametrize("seed", range(3))
def test_a_kill_at_a_random_moment_leaves_whole_files_and_the_run_goes_on(tmp_path, seed):
    with loop(tmp_path / "killed", 0, 10**6) as running:
        seen = int(running.stdout.readline())
        time.sleep(random.Random(seed).uniform(0.0, 2.0))
        running.kill()
        seen = int(([str(seen), *running.stdout.read().split()])[-1]) + 1
    counts = check_whole(tmp_path / "killed", seen)
    stage = Usd.Stage.Open(str(tmp_path / "killed" / "recording.usdc"))
    codes = UsdGeom.Points(stage.GetPrimAtPath("/World/dust")).GetPointsAttr().GetTimeSamples()
    assert codes == list(range(len(codes))) and 0 < len(codes) <= seen + 1
    first = random.Random(seed).randint(0, seen)
    frames = max(counts.values()) + 3
    for folder, start in (("killed", first), ("whole", 0)):
        with loop(tmp_path / folder, start, frames) as running:
            running.stdout.read()
        assert running.returncode == 0
    check_same(tmp_path / "killed", tmp_path / "whole")


def check_same(folder, other):
    """Two recordings have the same files with the same bytes, but for USD, which begins a file of its own.

    A kill may leave a hidden file that was being written beside.
    """
    seen = [[p for p in f.rglob("[!.]*") if p.suffix != ".usdc"] for f in (folder, other)]
    names = [sorted(str(p.relative_to(f)) for p in paths) for f, paths in zip((folder, other), seen, strict=True)]
    assert names[0] == names[1]
    for name in names[0]:
        if (folder / name).is_file() and not name.endswith(".h5"):
            assert (folder / name).read_bytes() == (other / name).read_bytes(), name


def test_a_run_that_goes_on_from_a_scene_records_the_same(tmp_path):
    def run(folder, frames, scene):
        formats = [VtkSeries(), PlySequence(), CsvTable(), FilmFile(50.0, (32, 24))]
        with Recorder(folder, formats, first_frame=scene.frame) as record:
            while scene.frame < frames:
                scene.solver.step(scene.state, scene.state, dt=0.01)
                record.frame(scene.state, 0.01 * scene.frame, numbers=scene.solver.statistics(scene.state))
                scene.frame += 1
                if scene.frame == 4:
                    scene.save(tmp_path / "saved.scene")

    solver, state = grains()
    run(tmp_path / "a", 9, Scene(solver=solver, state=state, frame=0))
    solver, state = grains()
    run(tmp_path / "b", 7, Scene(solver=solver, state=state, frame=0))
    run(tmp_path / "b", 9, Scene.load(tmp_path / "saved.scene"))
    check_same(tmp_path / "a", tmp_path / "b")


def test_an_error_in_the_loop_keeps_every_frame(tmp_path):
    formats = [VtkSeries(), CsvTable(), UsdFile(25.0)]
    with pytest.raises(KeyboardInterrupt), Recorder(tmp_path, formats) as record:
        for frame in range(5):
            record.frame(None, frame, bodies=[numbered_body(frame)])
        raise KeyboardInterrupt
    assert len(listed(tmp_path / "dust.pvd")) == 5
    stage = Usd.Stage.Open(str(tmp_path / "recording.usdc"))
    assert len(UsdGeom.Points(stage.GetPrimAtPath("/World/dust")).GetPointsAttr().GetTimeSamples()) == 5
    assert not list(tmp_path.rglob("*.partial.*"))


# ----- no room --------------------------------------------------------------------------------------

FULL = LOOP.replace(
    "with Recorder",
    "import resource as r\nr.setrlimit(r.RLIMIT_FSIZE, (int(sys.argv[4]), r.RLIM_INFINITY))\nwith Recorder",
)


@posix
@pytest.mark.parametrize("size", [500, 15_000, 40_000, 100_000])
def test_a_disk_that_is_full_is_called_so_and_frames_before_stay(tmp_path, size):
    """The limit on the size of a file stands for a full disk; which of the formats meets it first depends on it."""
    code = FULL.format(helpers=str(Path(__file__).parent))
    command = [sys.executable, "-c", code, str(tmp_path / "run"), "0", "1000", str(size)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "RecordFileError" in done.stderr and "File too large" in done.stderr, done.stderr[-2000:]
    seen = len(done.stdout.split())
    assert f"cannot take frame {seen}: " in done.stderr
    assert (f"go on with first_frame={seen}" if seen else "no frame was written") in done.stderr
    if seen:
        check_whole(tmp_path / "run", seen)
        with loop(tmp_path / "run", seen, seen + 2) as running:
            running.stdout.read()
        assert running.returncode == 0
        check_whole(tmp_path / "run", seen + 2)


WRITERS = [VtkSeries, PlySequence, CsvTable, lambda: FilmFile(25.0, (32, 24)), lambda: UsdFile(25.0)]


@pytest.mark.parametrize("make", WRITERS)
def test_any_write_may_fail_in_the_middle(tmp_path, make, monkeypatch):
    """The disk is full for one frame, wherever its bytes go; the frames before are there, and it goes on."""
    record = Recorder(tmp_path, [make(), CsvTable("other.csv")])
    for frame in range(3):
        record.frame(None, frame / 25.0, numbers={"n": frame}, bodies=[numbered_body(frame)])

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and "partial" not in p.name}
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", full)
        patch.setattr("warpsim.record.webp._set_size", full)
        patch.setattr("warpsim.record.csv_table._text", full)
        message = r"No space left[\s\S]*frames up to 2 are there\nhelp: make room"
        with pytest.raises(RecordFileError, match=message) as caught:
            record.frame(None, 3 / 25.0, numbers={"n": 3}, bodies=[numbered_body(3)])
        assert caught.value.errno == errno.ENOSPC
        with pytest.raises(RecordError, match="has stopped at frame 3"):
            record.frame(None, 1.0)
    after = {p: p.read_bytes() for p in before if p.suffix != ".vtp"}
    assert all(before[p] == content for p, content in after.items())
    record.__exit__(RuntimeError, None, None)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path):
    os.chmod(tmp_path, 0o500)
    with pytest.raises(RecordFileError, match=r"cannot be begun: .*Permission denied[\s\S]*no frame was written"):
        Recorder(tmp_path / "run", [VtkSeries()])


@pytest.mark.parametrize("make", [VtkSeries, PlySequence, CsvTable, FilmFile, UsdFile])
def test_a_folder_that_is_a_file(tmp_path, make):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RecordFileError, match=r"cannot be begun: .*\n"):
        Recorder(tmp_path / "file", [make()])
    assert (tmp_path / "file").read_text() == "mine"


# ----- bad input ------------------------------------------------------------------------------------


def test_frames_come_in_order(tmp_path):
    record = Recorder(tmp_path, [CsvTable()])
    record.frame(None, 1.0)
    for moment in (1.0, 0.5, float("nan"), float("inf")):
        with pytest.raises(RecordError, match=r"the time of frame 1 is .* s\nexpected: a finite number, later than 1"):
            record.frame(None, moment)
    with pytest.raises(ArgumentTypeError, match="time is 'soon'"):
        record.frame(None, "soon")
    assert record.frame(None, 1.5) == 1
    record.close()
    record.close()
    with pytest.raises(RecordError, match="is closed"):
        record.frame(None, 2.0)


def test_what_is_no_recording_or_no_format(tmp_path):
    with pytest.raises(RecordError, match=r"holds no recording to go on with, for first_frame=3\nreason: it has no"):
        Recorder(tmp_path, [VtkSeries()], first_frame=3)
    for text in ("{", "[]", '{"format": "x", "version": 1}', '{"format": "warpsim recording", "version": 99}'):
        (tmp_path / "recording.json").write_text(text)
        with pytest.raises(RecordError, match="is none of a recording"):
            Recorder(tmp_path, [VtkSeries()], first_frame=3)
    with pytest.raises(RecordError, match="first_frame is -1"):
        Recorder(tmp_path, [VtkSeries()], first_frame=-1)
    for wrong in (VtkSeries, "vtk", None):
        with pytest.raises(RecordError, match=r"formats has .*\nexpected: objects of formats, such as VtkSeries\(\)"):
            Recorder(tmp_path, [wrong])
    with pytest.raises(ArgumentTypeError, match="formats is"):
        Recorder(tmp_path, VtkSeries())


@pytest.mark.parametrize("make", [VtkSeries, PlySequence, CsvTable])
def test_a_gap_is_refused(tmp_path, make):
    with Recorder(tmp_path, [make()]) as record:
        record.frame(None, 0.0, bodies=[numbered_body(0)])
    with pytest.raises(RecordError, match=r"ends before frame 1, and first_frame is 4\nexpected: no gap"):
        Recorder(tmp_path, [make()], first_frame=4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "a b"}, "a body is named 'a b'"),
        ({"name": "../a"}, r"a body is named '\.\./a'"),
        ({"points": np.zeros((3, 2))}, r"b: points have shape \(3, 2\)\nexpected: \(n, 3\)"),
        ({"points": "text"}, "b: points are 'text'"),
        ({"radii": np.zeros(2)}, r"b: radii have shape \(2,\)\nexpected: \(3,\)"),
        ({"velocities": np.zeros(3)}, r"b: velocities have shape \(3,\)"),
        ({"cells": [[0, 1, 3]]}, "b: cells name points 0 to 3\nexpected: 0 to 2"),
        ({"cells": [[0, 1, -1]]}, "b: cells name points -1 to 1"),
        ({"cells": [[0, 1]]}, r"b: cells are int64 of shape \(1, 2\)"),
        ({"cells": [[0.0, 1.0, 2.0]]}, "b: cells are float64"),
        ({"arrays": {"x": np.zeros(4)}}, r"b: x are float64 of shape \(4,\)\nexpected: numbers \(3, \.\.\.\)"),
        ({"arrays": {"x": np.zeros(3, complex)}}, "b: x are complex128"),
        ({"cells": [[0, 1, 2]], "cell_arrays": {"x": np.zeros(3)}}, r"b: x are .*\nexpected: numbers \(1, "),
    ],
)
def test_bodies_that_do_not_fit(options, message):
    with pytest.raises(RecordError, match=message):
        Body(**{"name": "b", "points": np.zeros((3, 3)), **options})


def test_bodies_have_names_of_their_own(tmp_path):
    record = Recorder(tmp_path, [VtkSeries()])
    with pytest.raises(RecordError, match="bodies are named a, a\nexpected: names of their own"):
        record.frame(None, 0.0, bodies=[Body("a", [[0, 0, 0]])] * 2)


# ----- streams --------------------------------------------------------------------------------------


def test_grains_that_wait_are_not_there(tmp_path):
    builder = ModelBuilder()
    numbers = builder.add_particles(np.zeros((60, 3)), 0.0, 1e-2, 0.01)
    builder.add_ground_plane()
    model = builder.finalize()
    stream = GrainStream(numbers, (0, 0.2, 0), (0, -1, 0), 0.05, 300.0)
    solver, state = SolverDEM(model, Material(1e6), substeps=25, streams=[stream]), model.state()
    there = []
    with Recorder(tmp_path, [VtkSeries(), UsdFile(100.0)], present=solver.present) as record:
        for frame in range(6):
            solver.step(state, state, dt=0.01)
            record.frame(state, frame)
            there.append(np.flatnonzero(solver.present(state)))
    assert len(there[0]) < len(there[-1]) < 60
    stage = Usd.Stage.Open(str(tmp_path / "recording.usdc"))
    ids = UsdGeom.Points(stage.GetPrimAtPath("/World/particles")).GetIdsAttr()
    for frame, (_, path) in enumerate(listed(tmp_path / "particles.pvd")):
        _, points, _, arrays, _ = read_vtk(path)
        assert (arrays["id"] == there[frame]).all() and list(ids.Get(frame)) == there[frame].tolist()
    assert (points == state.particle_q.numpy()[there[-1]]).all()
    with pytest.raises(RecordError, match=r"present gives float64 of shape \(3,\)\nexpected: a truth value for 60"):
        Recorder(tmp_path / "b", [VtkSeries()], present=lambda state: np.zeros(3)).frame(state, 0.0)
