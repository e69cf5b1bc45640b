"""Examples that were stopped and go on: their animations, pictures and results are those of runs that never stopped."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from pxr import Sdf

from warpsim import cli, gallery
from warpsim.render import Saves, film

SMALL = {
    "cloth_drop": "--seconds 0.4 --substeps 6",
    "cloth_on_mesh": "--vertices 16 --seconds 0.2 --substeps 6",
    "flag": "--cells 12 --seconds 0.2 --substeps 4",
    "fountain": "--spacing 0.02 --seconds 0.2 --fps 40 --jets 2",
    "garment": "--sides 24 --seconds 0.2 --substeps 4",
    "grain_drum": "--grains 80 --seconds 0.16",
    "hourglass": "--grains 60 --seconds 0.16",
    "soft_squash": "--cells 4 --seconds 0.2 --substeps 4",
    "grain_wheel": "--grains 100 --seconds 0.16",
    "bucket": "--depth 0.03 --seconds 0.16",
    "block_tower": "--layers 2 --seconds 0.2",
    "plank_bridge": "--seconds 0.2 --fps 40",
    "soft_gripper": "--cells 2 --seconds 0.2 --fps 40",
    "soft_stack": "--cells 2 --seconds 0.2 --substeps 6",
    "water_drop": "--cells 5 --seconds 0.01 --fps 800",
    "water_float": "--spacing 0.03 --seconds 0.2 --fps 40",
    "wave": "--seconds 0.3 --cells 32",
    "dam_obstacle": "--spacing 0.05 --seconds 0.16",
    "dem_grains": "--grains 300 --seconds 0.32",
    "sph_dam": "--cells 10 --seconds 0.16",
    "ocean": "--cells 32 --seconds 2 --fps 4",
    "boat": "--seconds 0.8",
    "ocean_cloth": "--cells 6 --waves 32 --seconds 0.8 --steps 2",
    "ocean_float": "--cells 32 --seconds 0.8 --steps 2",
}
TIMES = ("rate",)  # of results, in this machine's time
KILLED = ("cloth_drop", "dem_grains", "sph_dam", "ocean")


class Crash(Exception):
    pass


def options(folder, name, *more):
    """A command line that writes into a folder."""
    return [*SMALL[name].split(), "--output", f"{folder}/a.usdc", "--picture", f"{folder}/a.png", *map(str, more)]


def text_of(folder):
    """All that an animation holds."""
    return Sdf.Layer.FindOrOpen(f"{folder}/a.usdc").ExportToString()


def describe(path, *views, **options):
    """Write what a picture shows, which takes less time than to draw it."""
    Path(path).write_text("\n".join(lines((views, options))))


def lines(value):
    if dataclasses.is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        value = [*value.items()]
    if isinstance(value, list | tuple):
        return [line for item in value for line in lines(item)]
    return [str(np.asarray(value).tolist())]


def assert_same(result, other):
    """Two results of an example agree in all bits, but for times of this machine."""
    for field in dataclasses.fields(result):
        a, b = getattr(result, field.name), getattr(other, field.name)
        if field.name not in TIMES:
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=field.name)


def test_every_example_with_frames_is_among_them():
    """Those that search for something have a film of the end alone, and no frames to go on from."""
    saved = {name for name, path in gallery.examples().items() if "add_save_options(" in path.read_text()}
    assert saved == SMALL.keys()
    searches = {name for name, path in gallery.examples().items() if ".minimize(" in path.read_text()}
    assert not searches & saved


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in KILLED else pytest.mark.slow) for n in SMALL])
def test_a_crashed_run_goes_on(name, tmp_path, monkeypatch):
    example = gallery.load_example(gallery.examples()[name])
    for module in (film, example):
        for draw in ("render_meshes", "render_sea"):
            if hasattr(module, draw):
                monkeypatch.setattr(module, draw, describe)
    whole, part = tmp_path / "whole", tmp_path / "part"
    whole.mkdir()
    part.mkdir()
    expected = example.main(options(whole, name))
    save = Saves._save

    def crash_at_third(saves, frame):
        save(saves, frame)
        if frame >= 6:
            raise Crash

    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr(Saves, "_save", crash_at_third)
        example.main(options(part, name, "--save-every", 3))
    assert not (part / "a.usdc").exists() and (part / "a.scene").is_file()
    result = example.main(["--resume", str(part / "a.scene")])
    assert_same(result, expected)
    assert text_of(part) == text_of(whole)
    assert (part / "a.png").read_bytes() == (whole / "a.png").read_bytes()


def command(folder, name, *more):
    code = "import sys; from warpsim import cli; sys.exit(cli.main(sys.argv[1:]))"
    return [sys.executable, "-c", code, "run", name, *options(folder, name, *more)]


KILLS = [
    pytest.param(name, threads, marks=[] if threads == 1 + k % 2 else [pytest.mark.nightly])
    for k, name in enumerate(KILLED)
    for threads in (1, 2)
]
"""By day each solver once; with both numbers of threads a process that saves is killed in tests/solvers/saved."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "threads"), KILLS)
def test_a_killed_run_goes_on(name, threads, tmp_path):
    """SIGKILL some time after a save, more than once, and then to the end."""
    whole, part = tmp_path / "whole", tmp_path / "part"
    whole.mkdir()
    part.mkdir()
    environment = {**os.environ, "WARPSIM_NUM_THREADS": str(threads), "PYTHONPATH": str(Path(cli.__file__).parents[1])}
    subprocess.run(command(whole, name), env=environment, check=True, capture_output=True)
    rng, more, kills = np.random.default_rng(threads), ["--save-every", "1"], 0
    for _ in range(3):
        with subprocess.Popen(command(part, name, *more), env=environment, stderr=subprocess.DEVNULL) as process:
            before = saved_at(part)
            while process.poll() is None and saved_at(part) == before:
                time.sleep(0.002)
            time.sleep(0.1 * rng.random())
            process.send_signal(signal.SIGKILL)
        kills += process.returncode == -signal.SIGKILL
        more = ["--save-every", "1", "--resume", str(part / "a.scene")]
    assert kills, "it was faster than the signal"
    subprocess.run(command(part, name, "--resume", part / "a.scene"), env=environment, check=True, capture_output=True)
    assert text_of(part) == text_of(whole)
    assert (part / "a.png").read_bytes() == (whole / "a.png").read_bytes()


def saved_at(folder):
    """When a run was saved last."""
    file = folder / "a.scene"
    return file.stat().st_mtime_ns if file.exists() else 0
