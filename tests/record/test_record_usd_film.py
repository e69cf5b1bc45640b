"""USD files and films that grow with a recording: all frames, in time, whole after each; films are looked into."""

import numpy as np
import pytest
from PIL import Image
from pxr import Usd, UsdGeom
from recordings import everything, numbered_body

from warpsim.plot import Balls, mesh_images
from warpsim.record import Body, FilmFile, Recorder, RecordError, UsdFile
from warpsim.record.webp import WebpFile
from warpsim.solvers import ModelBuilder
from warpsim.solvers.scene.soft import surface
from warpsim.viewer import Animation


def images(path):
    with Image.open(path) as film:
        for k in range(film.n_frames):
            film.seek(k)
            film.load()
            yield film.info["duration"], np.asarray(film.convert("RGB"), int)


def ball(height, radius=0.2):
    return Body("ball", [[0.0, height, 0.0]], None, np.array([radius]), color=(0.8, 0.0, 0.0))


def test_usd_has_what_a_state_has(tmp_path):
    model = everything()
    state, control = model.state(), model.control()
    moved = []
    with Recorder(tmp_path, [UsdFile(50.0)]) as record:
        for frame in range(3):
            state.particle_q.assign(state.particle_q.numpy() + 0.01)
            control.set_shape(0, position=(0.1 * frame, 0.3, 0.3))
            record.frame(state, frame / 50.0, control=control)
            moved.append(state.particle_q.numpy().copy())
            assert (tmp_path / "recording.usdc").exists(), "the file appears with the first frame"
    stage = Usd.Stage.Open(str(tmp_path / "recording.usdc"))
    assert stage.GetTimeCodesPerSecond() == 50.0 and stage.GetEndTimeCode() == 2
    names = {prim.GetName() for prim in stage.GetPrimAtPath("/World").GetChildren()}
    assert names == {"particles", "cloth", "soft", "shapes", "ground", "Looks"}
    faces = surface(model.tet_indices.numpy())
    soft = UsdGeom.Mesh(stage.GetPrimAtPath("/World/soft"))
    corners = np.reshape(soft.GetFaceVertexIndicesAttr().Get(), (-1, 3))
    assert (np.array(soft.GetPointsAttr().Get(2))[corners] == moved[2][faces]).all()
    center = np.mean(np.array(UsdGeom.Mesh(stage.GetPrimAtPath("/World/shapes")).GetPointsAttr().Get(2)), axis=0)
    np.testing.assert_allclose(center, (0.2, 0.3, 0.3), atol=1e-5)
    assert len(Animation(tmp_path / "recording.usdc")) == 3


def test_a_recording_that_goes_on_begins_another_usd_file(tmp_path):
    for first, last in ((0, 4), (2, 5), (4, 6)):
        with Recorder(tmp_path, [UsdFile(25.0)], first_frame=first) as record:
            for frame in range(first, last):
                record.frame(None, frame / 25.0, bodies=[numbered_body(frame, 5)])
    assert sorted(p.name for p in tmp_path.glob("*.usdc")) == [
        "recording.usdc",
        "recording_000002.usdc",
        "recording_000004.usdc",
    ]
    with Recorder(tmp_path, [UsdFile(25.0)]) as record:
        record.frame(None, 0.0, bodies=[numbered_body(0, 5)])
    assert [p.name for p in tmp_path.glob("*.usdc")] == ["recording.usdc"]


def test_a_film_shows_every_moment_for_its_time(tmp_path):
    """Frames come 100 times a second, images 25 times: a ball rises by the same part of the picture in each."""
    with Recorder(tmp_path, [FilmFile(25.0, (96, 72), elevation=0.0, box=((-1, 0, -1), (1, 2, 1)))]) as record:
        for frame in range(53):
            record.frame(None, 3.0 + frame / 100.0, bodies=[ball(0.3 + 0.02 * frame)])
    shown = list(images(tmp_path / "recording.webp"))
    assert [duration for duration, _ in shown] == [40] * 14
    heights = []
    for _, pixels in shown:
        rows, _ = np.nonzero(pixels[..., 0] - pixels[..., 2] > 60)
        heights.append(rows.mean())
    steps = -np.diff(heights)
    assert steps.min() > 0.3 and steps.max() < 2.0 * steps.min(), steps


def test_a_film_is_what_pictures_are(tmp_path):
    box = np.array([[-1.0, 0.0, -1.0], [1.0, 2.0, 1.0]])
    with Recorder(tmp_path, [FilmFile(25.0, (160, 120), box=box, quality=100)]) as record:
        record.frame(None, 0.0, bodies=[ball(1.0)])
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (0, 2) for z in (-1, 1)])
    dots = Balls(corners, 0.0)
    thing = Balls(np.array([[0.0, 1.0, 0.0]]), 0.2, (0.8, 0.0, 0.0))
    expected = 255.0 * mesh_images([[thing], [dots]], panel=(160, 120))[0]
    ((_, pixels),) = images(tmp_path / "recording.webp")
    assert np.abs(pixels - expected).mean() < 1.5, "WebP rounds, and that is all"


def test_one_looks_into_vessels(tmp_path):
    builder = ModelBuilder()
    builder.add_particle((0.0, 0.0, 0.0), radius=0.3)
    builder.add_shape_sphere(None, 1.0, hollow=True)
    model = builder.finalize()
    with Recorder(tmp_path, [FilmFile(25.0, (160, 120))]) as record:
        record.frame(model.state(), 0.0)
    ((_, pixels),) = images(tmp_path / "recording.webp")
    assert (pixels[..., 0] - pixels[..., 2] > 60).mean() > 0.01, "the grain is hidden"


@pytest.mark.parametrize("rate", [3.0, 25.0, 30.0, 60.0])
def test_slow_frames_keep_their_time(tmp_path, rate):
    with Recorder(tmp_path, [FilmFile(rate, (32, 24))]) as record:
        for frame in range(8):
            record.frame(None, frame / 10.0, bodies=[ball(0.1 * frame)])
    total = sum(duration for duration, _ in images(tmp_path / "recording.webp"))
    assert total == pytest.approx(1000.0 * (np.floor(0.7 * rate + 1e-6) + 1) / rate, abs=1.0)


@pytest.mark.parametrize("first", [1, 5, 9])
def test_a_film_goes_on_where_it_was(tmp_path, first):
    def frames(folder, begin, end):
        with Recorder(folder, [FilmFile(25.0, (32, 24))], first_frame=begin) as record:
            for frame in range(begin, end):
                record.frame(None, frame / 60.0, bodies=[ball(0.1 * frame)])

    frames(tmp_path / "whole", 0, 20)
    frames(tmp_path / "parts", 0, 12)
    frames(tmp_path / "parts", first, 20)
    a, b = ((tmp_path / name / "recording.webp").read_bytes() for name in ("whole", "parts"))
    assert a == b
    (tmp_path / "parts" / "recording.webp").write_bytes(b"RIFF")
    with pytest.raises(RecordError, match="is no film to go on with"):
        Recorder(tmp_path / "parts", [FilmFile(25.0, (32, 24))], first_frame=3)


def test_what_stands_behind_a_film_is_ignored(tmp_path):
    """So it is while an image is being written."""
    film = WebpFile(tmp_path / "a.webp", 80)
    rng = np.random.default_rng(0)
    for k in range(3):
        film.add(rng.integers(0, 255, (20, 31, 3), np.uint8), 10 + k)
        whole = (tmp_path / "a.webp").read_bytes()
        for more in (b"A", b"ANMF", b"ANMF\x00\x10\x00\x00abcdef", rng.bytes(500)):
            (tmp_path / "b.webp").write_bytes(whole + more)
            assert [duration for duration, _ in images(tmp_path / "b.webp")] == [10, 11, 12][: k + 1]
            again = WebpFile(tmp_path / "b.webp", 80)
            again.read()
            again.cut(k + 1)
            assert (tmp_path / "b.webp").read_bytes() == whole


def test_options_that_no_film_has(tmp_path):
    with pytest.raises(RecordError, match="fps is 0"):
        FilmFile(0)
