"""Films of animations, drawn by warpsim's own rays: WebP and GIF, and video where imageio is installed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from ..arguments import checked
from ..atomic_file import AtomicFile
from ..errors import MissingPackageError
from ..plot import Balls, Surface, mesh_images
from ..plot.scene import Thing
from .animation import Animation
from .bodies import Body, Moment
from .page import ViewError

_TRIANGLES = 20_000_000  # of copies of shapes: more do not fit into memory
_PIXELS = 4_000_000_000  # of all images together, 12 GB
_RATES = (1.0e-3, 1.0e3)  # the slowest and the fastest, in images a second
_IMAGES = (".webp", ".gif", ".png")
_VIDEO = (".mp4", ".mov", ".mkv", ".webm")


@checked
def write_film(
    animation: Animation, path: str | os.PathLike[str], *, fps: float = 25.0, size: tuple[int, int] = (640, 480),
    azimuth: float = 35.0, elevation: float = 22.0, ground: bool = True, quality: int = 70,
) -> Path:  # fmt: skip
    """Draw an animation into a film, .webp, .gif or animated .png, or .mp4, .mov, .mkv, .webm through imageio.

    fps: frames a second of the film [1/s]; the animation keeps its speed. size: pixels. azimuth, elevation [deg] turn
    the viewer. ground: draw a floor, where the animation has one, else at the lowest point. quality: of .webp, 1 to
    100. Raises ViewError for another extension or too many copies to draw, MissingPackageError without imageio,
    FileNotFoundError without the folder.
    """
    target = Path(os.fspath(path))
    count = _image_count(animation, fps, size)
    writer = _writer(target, fps, quality)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"folder {str(target.parent)!r} does not exist; make it first")
    numbers = [min(len(animation) - 1, round(k * animation.fps / fps)) for k in range(count)]
    grounds = animation.grounds()  # the floor stands for them, and has no edge
    bodies = [body for body in animation.bodies if body not in grounds] or animation.bodies
    frames = [_things(animation, bodies, number) for number in numbers]
    floor = _height_of_floor(animation, grounds) if ground else None
    view = {"ground": floor, "up_axis": animation.up, "azimuth": azimuth, "elevation": elevation, "panel": size}
    images = mesh_images(frames, **view)
    with AtomicFile(target) as partial:
        writer(partial, [np.uint8(np.rint(255.0 * np.clip(image, 0.0, 1.0))) for image in images])
    return target


def _image_count(animation: Animation, fps: float, size: tuple[int, int]) -> int:
    """How many images a film has, all of which are in memory before it is written."""
    if not _RATES[0] <= fps <= _RATES[1]:
        raise ViewError(f"fps is {fps}\nexpected: {_RATES[0]:g} to {_RATES[1]:g}")
    count, (width, height) = max(1, round(animation.seconds * fps)), size
    if count * width * height > _PIXELS:
        raise ViewError(
            f"the film has {count} images of {width} x {height}, expected at most {_PIXELS // (width * height)}\n"
            f"help: fewer a second (fps={fps / 2:g}), smaller ones, or watch it by `warpsim view`"
        )
    return count


def _height_of_floor(animation: Animation, grounds: list[Body]) -> float:
    """Where the floor is [m]: where the animation has one, else at the lowest point."""
    up = "XYZ".index(animation.up)
    heights = [float(animation.moment(body, 0).points[0, up]) for body in grounds]
    return min(heights, default=float(animation.bounds()[0][up]))


def _things(animation: Animation, bodies: list[Body], frame: int) -> list[Thing]:
    """What there is in a frame; a stream may not have begun."""
    moments = [(body, animation.moment(body, frame)) for body in bodies]
    there = [m.points if m.triangles is None else m.triangles for _, m in moments]
    return [_thing(body, moment) for (body, moment), rows in zip(moments, there, strict=True) if len(rows)]


def _thing(body: Body, moment: Moment) -> Thing:
    """A body as triangles or balls."""
    if body.kind == "mesh":
        return Surface(moment.points, moment.triangles if body.varying else body.triangles, moment.color)
    count = len(moment.points)
    color = np.broadcast_to(moment.color, (count, 3))
    if body.kind == "points":
        return Balls(moment.points, moment.radii, color)
    if count * len(body.triangles) > _TRIANGLES:
        raise ViewError(
            f"{body.name} has {count} copies of {len(body.triangles)} triangles, films have room for {_TRIANGLES} in "
            "all\nhelp: watch them by `warpsim view`"
        )
    placed = moment.points[:, None] + _rotate(moment.sizes[:, None] * body.shape, moment.turns)
    shift = len(body.shape) * np.arange(count)[:, None, None]
    triangles = (body.triangles + shift).reshape(-1, 3)
    return Surface(placed.reshape(-1, 3), triangles, np.repeat(color, len(body.shape), axis=0))


def _rotate(vectors: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Vectors (n, k, 3) turned by quaternions (n, 4): v + 2 w (u x v) + 2 u x (u x v)."""
    axis, w = turns[:, None, :3], turns[:, None, 3:]
    once = np.cross(axis, vectors)
    return vectors + 2.0 * (w * once + np.cross(axis, once))


def _writer(target: Path, fps: float, quality: int) -> Callable[[Path, list[np.ndarray]], None]:
    """What writes images into a file of this extension, found before anything is drawn."""
    ending = target.suffix.lower()
    if ending in _IMAGES:
        return lambda path, images: _write_images(path, images, fps, quality)
    if ending not in _VIDEO:
        raise ViewError(f"{target.name!r} has the extension {target.suffix!r}\nexpected: {', '.join(_IMAGES + _VIDEO)}")
    try:
        import imageio.v3 as imageio  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingPackageError(
            f"{ending} needs the package imageio with ffmpeg, which is not installed\n"
            "help: pip install 'imageio[ffmpeg]', or write .webp or .gif"
        ) from error
    return lambda path, images: imageio.imwrite(path, np.stack(images), fps=fps)


def _write_images(target: Path, images: list[np.ndarray], fps: float, quality: int) -> None:
    first, *rest = [Image.fromarray(image) for image in images]
    more: dict[str, Any] = {"quality": quality, "method": 6} if target.suffix.lower() == ".webp" else {}
    first.save(target, save_all=True, append_images=rest, duration=round(1000.0 / fps), loop=0, **more)
