"""Runs with frames that are saved and gone on from: files, refusals, and the command line."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from pxr import Sdf

import warpsim as wp
from warpsim.errors import SceneFileError
from warpsim.plot import Surface
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import Scene
from warpsim.solvers.saved import archive

TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


class Stop(Exception):
    pass


def parse(folder, *words, name="drop"):
    parser = SimulationParser("A drop falls.")
    add_film_options(parser, name, seconds=1.0, fps=10)
    parser.add_argument("--pull", type=float, default=1.0)
    parser.add_argument("--also", type=Path, nargs="*", default=())
    add_save_options(parser, name)
    files = ["--output", f"{folder}/d.usda", "--picture", f"{folder}/d.png"]
    return parser.parse_args([*(() if "--resume" in words else files), *map(str, words)])


def fall(args, stop=None, **more):
    """A triangle that falls by numbers of a random stream; some wait until they come."""
    scene = Scene(x=wp.array(TRIANGLE, dtype=wp.vec3), rng=np.random.default_rng(0), heights=[], last=None, **more)
    film = Film(args.output, args.picture, seconds=args.seconds, fps=args.fps, ground=None)
    with film:
        film.stand("still", Surface(TRIANGLE, [[0, 1, 2]]))
        for t in film.frames(Saves(args, scene)):
            if t:
                scene.x += wp.vec3(0.0, -args.pull * float(scene.rng.random()), 0.0)
            x = scene.x.numpy()
            film.show("falling", Surface(x.copy(), [[0, 1, 2]]))
            count = 1 + round(5 * t)
            kinds = np.arange(count) % 2 if t > 0.25 else np.zeros(count, int)
            shape = (TRIANGLE, [[0, 1, 2]], (1.0, 0.0, 0.0))
            film.usd.instances(
                "copies", [shape, shape], x[[0] * count], [(0, 0, 0, 1)] * count, kinds=kinds, ids=np.arange(count)
            )
            film.usd.sphere("ball", x[0], 0.1)
            scene.heights.append(float(x[0, 1]))
            scene.last = x  # a view of what the next frame overwrites
            if stop is not None and t > stop:
                raise Stop
    return scene


def text_of(args):
    return Sdf.Layer.FindOrOpen(str(args.output)).ExportToString()


@pytest.fixture
def saved(tmp_path):
    """The file of a run that stopped in its eighth frame, after the saves of two."""
    with pytest.raises(Stop):
        fall(parse(tmp_path, "--save-every", 3, "--pull", 2.0), stop=0.65)
    return tmp_path / "d.scene"


def test_a_run_that_goes_on_is_the_run_that_never_stopped(saved, tmp_path):
    (tmp_path / "whole").mkdir()
    whole = parse(tmp_path / "whole", "--pull", 2.0)
    expected = fall(whole)
    args = parse(tmp_path, "--resume", saved)
    assert (args.pull, args.save_every, args.output) == (2.0, 3, tmp_path / "d.usda")
    scene = fall(args)
    assert scene.heights == expected.heights and len(scene.heights) == 11
    assert text_of(args) == text_of(whole)
    assert args.picture.read_bytes() == whole.picture.read_bytes()


def test_a_run_can_stop_again_and_its_parts_go_elsewhere(saved, tmp_path):
    """The output of the rest is another one, so that its saves are."""
    (tmp_path / "other").mkdir()
    elsewhere = tmp_path / "other" / "e.usda"
    with pytest.raises(Stop):
        fall(parse(tmp_path, "--resume", saved, "--output", elsewhere, "--save-every", 1), stop=0.85)
    shutil.rmtree(tmp_path / "d.scene.parts")
    args = parse(tmp_path, "--resume", elsewhere.with_suffix(".scene"))
    assert args.output == elsewhere
    fall(args)
    whole = parse(tmp_path, "--pull", 2.0)
    fall(whole)
    assert text_of(args) == text_of(whole)


def test_parts_of_older_runs_go_once_a_new_one_is_saved(saved, tmp_path):
    parts = tmp_path / "d.scene.parts"
    before = {part.name for part in parts.iterdir()}
    (parts / "mine.part").touch()
    with pytest.raises(Stop):
        fall(parse(tmp_path, "--save-every", 5), stop=0.55)
    now = {part.name for part in parts.iterdir()} - {"mine.part"}
    assert len(before) == 2 and len(now) == 1 and not before & now


def test_a_crash_before_the_first_save_of_a_new_run_leaves_the_old_one(saved, tmp_path):
    with pytest.raises(Stop):
        fall(parse(tmp_path, "--save-every", 5), stop=0.15)
    args = parse(tmp_path, "--resume", saved)
    assert len(fall(args).heights) == 11


def test_nothing_is_saved_unless_asked_for(tmp_path):
    fall(parse(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"d.usda", "d.png"}


def test_a_run_that_goes_on_without_saves_writes_none(saved, tmp_path):
    time = saved.stat().st_mtime_ns
    args = parse(tmp_path, "--resume", saved)
    args.save_every = None
    fall(args)
    assert saved.stat().st_mtime_ns == time and args.output.exists()


# ----- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, told",
    [
        (("--pull", 1.0), "argument --pull: the saved run has 2.0"),
        (("--fps", 20), "argument --fps: the saved run has 10"),
        (("--seconds", 2.0), "argument --seconds: the saved run has 1.0"),
    ],
)
def test_options_that_make_another_run_are_refused(saved, tmp_path, capsys, words, told):
    with pytest.raises(SystemExit):
        parse(tmp_path, "--resume", saved, *words)
    assert told in capsys.readouterr().err


def test_the_same_options_are_welcome_and_paths_stay_paths(tmp_path):
    with pytest.raises(Stop):
        fall(parse(tmp_path, "--save-every", 3, "--also", "a.txt", "b.txt"), stop=0.5)
    args = parse(tmp_path, "--resume", tmp_path / "d.scene", "--pull", 1.0, "--also", "a.txt", "b.txt")
    assert args.also == [Path("a.txt"), Path("b.txt")] == parse(tmp_path, "--resume", tmp_path / "d.scene").also


def refused(capsys, folder, *words, **options):
    with pytest.raises(SystemExit) as error:
        parse(folder, *words, **options)
    assert error.value.code == 2
    return capsys.readouterr().err


def test_files_that_cannot_be_gone_on_from(saved, tmp_path, capsys):
    assert "argument --resume: [Errno 2] No such file" in refused(capsys, tmp_path, "--resume", tmp_path / "none")
    (tmp_path / "text").write_text("hello")
    assert "it is no whole zip file" in refused(capsys, tmp_path, "--resume", tmp_path / "text")
    Scene(x=1).save(tmp_path / "x.scene")
    assert "was not saved by `warpsim run`" in refused(capsys, tmp_path, "--resume", tmp_path / "x.scene")
    assert "was saved by drop, not flag" in refused(capsys, tmp_path, "--resume", saved, name="flag")


def test_a_file_of_another_version_of_the_format(saved, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(archive, "VERSION", archive.VERSION + 1)
    said = refused(capsys, tmp_path, "--resume", saved)
    assert f"it has version {archive.VERSION - 1} of the format; this warpsim reads version {archive.VERSION}" in said


def test_a_file_of_another_version_of_the_example(saved, tmp_path):
    with pytest.raises(SceneFileError, match="was saved by another version of drop"):
        fall(parse(tmp_path, "--resume", saved), more=1.0)


def test_parts_that_are_gone(saved, tmp_path):
    args = parse(tmp_path, "--resume", saved)
    next((tmp_path / "d.scene.parts").iterdir()).unlink()
    with pytest.raises(SceneFileError, match=r"is not there\nhelp: keep the folder 'd.scene.parts' by the file"):
        fall(args)


@pytest.mark.parametrize("parts", [["../../etc/passwd"], ["x"], [1]])
def test_parts_of_hostile_files(saved, tmp_path, capsys, parts):
    scene = Scene.load(saved)
    scene.run["parts"] = parts
    scene.save(saved)
    assert "names parts that no run writes" in refused(capsys, tmp_path, "--resume", saved)


def test_a_name_that_runs_need(tmp_path):
    with pytest.raises(SceneFileError, match="named 'run'"):
        fall(parse(tmp_path), run=1)


@pytest.mark.parametrize("words", [["--save-every", "3"], ["--resume", "x"]])
def test_who_has_no_frames_says_so(words, capsys):
    with pytest.raises(SystemExit):
        SimulationParser("A search.").parse_args(words)
    assert "has no frames that could be saved and gone on from" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        SimulationParser("A search.").parse_args(["--other"])
    assert "no frames" not in capsys.readouterr().err


@pytest.mark.parametrize("every", ["0", "-1", "x"])
def test_saves_are_some_frames_apart(every, tmp_path, capsys):
    assert "argument --save-every" in refused(capsys, tmp_path, "--save-every", every)
