"""Films show every body, at the speed of the animation, in the formats that are promised."""

import sys

import numpy as np
import pytest
from PIL import Image
from usd_scenes import everything

from warpsim.errors import MissingPackageError
from warpsim.usd import UsdWriter
from warpsim.viewer import Animation, ViewError, write_film


@pytest.fixture
def scene(tmp_path):
    return Animation(everything(tmp_path / "all.usda"))


@pytest.mark.parametrize("ending", ["webp", "gif", "png"])
def test_frames_and_their_times(scene, tmp_path, ending):
    path = write_film(scene, tmp_path / f"all.{ending}", fps=12.5, size=(320, 240))
    with Image.open(path) as film:
        assert film.size == (320, 240) and film.n_frames == 2  # 5 frames at 25 a second
        pictures = []
        for k in range(film.n_frames):
            film.seek(k)
            pictures.append(np.asarray(film.convert("RGB"), np.int32))
            assert film.info["duration"] == 80
    assert np.abs(pictures[1] - pictures[0]).max() > 30, "nothing moves"
    red = pictures[0][..., 0] - pictures[0][..., 2]
    assert red.max() > np.median(red) + 8, "the red corner of the sheet is missing"


def test_films_that_cannot_be_made(scene, tmp_path, monkeypatch):
    with pytest.raises(ViewError, match=r"expected: \.webp, \.gif"):
        write_film(scene, tmp_path / "all.txt")
    with pytest.raises(FileNotFoundError, match="make it first"):
        write_film(scene, tmp_path / "none" / "all.gif")
    monkeypatch.setitem(sys.modules, "imageio.v3", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'imageio\[ffmpeg\]'"):
        write_film(scene, tmp_path / "all.mp4")
    monkeypatch.setattr("warpsim.viewer.film._TRIANGLES", 10)
    with pytest.raises(ViewError, match=r"has \d+ copies of \d+ triangles, films have room for 10 in all\nhelp:"):
        write_film(scene, tmp_path / "many.gif")


def test_a_film_of_more_balls_than_pixels(tmp_path):
    with UsdWriter(tmp_path / "many.usdc") as usd:
        usd.frame()
        places = np.random.default_rng(0).random((30000, 3)).astype(np.float32)
        usd.points("grains", places, 0.02, color=(0.8, 0.0, 0.0))
    with Image.open(write_film(Animation(tmp_path / "many.usdc"), tmp_path / "many.png", size=(80, 60))) as film:
        pixels = np.asarray(film.convert("RGB"), np.int32)
    assert (pixels[..., 0] - pixels[..., 2] > 60).mean() > 0.2


def test_a_floor_of_the_animation_is_drawn_without_edges(tmp_path):
    with UsdWriter(tmp_path / "drop.usdc") as usd:
        usd.ground(size=200.0)
        for k in range(2):
            usd.frame()
            usd.sphere("ball", (0.0, 1.0 - 0.1 * k, 0.0), 0.5, color=(0.8, 0.0, 0.0))
    animation = Animation(tmp_path / "drop.usdc")
    assert [body.name for body in animation.grounds()] == ["/World/ground"]
    path = write_film(animation, tmp_path / "drop.png", size=(160, 120))
    with Image.open(path) as film:
        pixels = np.asarray(film.convert("RGB"), np.int32)
    assert (pixels[..., 0] - pixels[..., 2] > 60).mean() > 0.05, "the ball is too small: the floor counts for the view"


def test_a_film_of_a_stream_begins_before_it(tmp_path):
    """A frame without anything but the floor, then balls and copies of which there are more and more."""
    with UsdWriter(tmp_path / "pour.usdc", fps=25) as usd:
        usd.ground(size=4.0)
        shape = ([[-0.2, 0, 0], [0.2, 0, 0], [0, 0, 0.3], [0, 0.4, 0]], [[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]])
        for n in range(3):
            usd.frame()
            places = np.stack([0.5 * np.arange(n), 0.0 * np.arange(n), 0.0 * np.arange(n)], axis=1)
            usd.instances("stones", [(*shape, (0.8, 0.0, 0.0))], places, np.tile([0.0, 0.0, 0.0, 1.0], (n, 1)))
            usd.points("drops", places + np.array([0.0, 0.0, 0.6]), 0.1, color=(0.8, 0.0, 0.0), ids=range(n))
    with Image.open(write_film(Animation(tmp_path / "pour.usdc"), tmp_path / "pour.png", size=(160, 120))) as film:
        red = []
        for k in range(film.n_frames):
            film.seek(k)
            pixels = np.asarray(film.convert("RGB"), np.int32)
            red.append((pixels[..., 0] - pixels[..., 2] > 60).mean())
    assert red[0] == 0.0
    assert 0.0 < red[1] < red[2]
