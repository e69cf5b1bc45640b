"""`Film`: a simulation as an animation in USD and as one picture of a few moments, with a progress bar meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import __version__
from ..arguments import checked
from ..plot import Balls, Image, Stack, Surface, copies, mesh_images, render_charts, render_meshes
from ..plot.charts import Panel
from ..plot.scene import Thing
from ..progress import progress
from ..usd import UsdError, UsdWriter
from .saves import Saves

START_TO_END = (0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0)
"""Moments of a picture, as parts of the whole time."""

View = dict[str, Any]
"""Options of a `Film` by their names, handed over as `**view`."""

_FRAMES = 1_000_000
_CHART = 0.9  # width of charts per height of a panel


class Film:
    """Both files under construction; use it in a `with` block:

        with Film("drop.usdc", "drop.png", seconds=2.0) as film:
            film.stand("ball", sphere((0.0, 0.25, 0.0), 0.25))
            for time in film.frames():
                if time:
                    solver.step(state, state, None, None, film.dt)
                film.show("cloth", Surface(state.particle_q.numpy(), triangles), state.particle_qd.numpy())

    output: the animation, of `seconds` [s] at `fps` [1/s], see `UsdWriter`. picture: a PNG with one panel for each of
    `moments`, parts of the whole time in [0, 1], or None for none. together: one panel has all moments. charts:
    beside the panels, see `render_charts`. standing: what does not move, by name. ground: side of a floor at height
    0 [m], None for none. solver: its name, for the USD file. metadata: more of that; the version is there. view: how
    to look at the picture, options of `render_meshes`.

    Frame k is at k / fps, the first at 0, and there is at least one after it. An error inside of the block leaves
    neither file.
    """

    @checked
    def __init__(
        self, output: str | os.PathLike[str], picture: str | os.PathLike[str] | None, seconds: float, fps: float = 60,
        moments: Sequence[float] = START_TO_END, ground: float | None = 6.0, metadata: dict[str, Any] | None = None,
        together: bool = False, charts: Sequence[Panel] = (), standing: Mapping[str, Surface] | None = None,
        solver: str | None = None, **view: Any,
    ):  # fmt: skip
        self.picture, self.fps, self.together, self.view = picture, fps, together, view
        self.charts = list(charts)
        if not 0.0 <= seconds * fps <= _FRAMES:
            raise UsdError(f"Film: {seconds} s at {fps} frames a second, expected 0 to {_FRAMES} frames")
        self.count = max(1, round(seconds * fps))
        about = {"version": __version__, **({"solver": solver} if solver else {}), **(metadata or {})}
        self.usd: Any = UsdWriter(output, fps=fps, metadata=about)
        self._ground = ground
        self._shown = {round(part * self.count) for part in moments}
        self._standing: dict[str, Surface] = dict(standing or {})
        self._views: dict[str, list[Thing]] = {}
        self._now: list[Thing] | None = None
        self._write_still()

    @property
    def dt(self) -> float:
        """The time between frames [s]."""
        return 1.0 / self.fps

    def __enter__(self) -> Film:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.usd.__exit__(kind, error, trace)
        if kind is not None or self.picture is None:
            return
        views = self._views
        if self.together:
            moving = [thing for view in views.values() for thing in view[len(self._standing) :]]
            views = {"": [*self._standing.values(), *moving]}
        captions = list(views) if len(views) > 1 else [""]
        if self.charts:
            self._draw_with_charts(list(views.values()), captions, self.view)
        else:
            render_meshes(self.picture, list(views.values()), captions=captions, **self.view)

    def stand(self, name: str, surface: Surface) -> None:
        """Show what does not move; to be called before the first frame."""
        self._standing[name] = surface
        self._write(name, surface, None)

    def frames(self, saves: Saves | None = None) -> Iterator[float]:
        """The time [s] of each frame in turn, while stderr tells how far the film is.

        saves: of a run that can be saved and gone on from; its frames begin where the file stands.
        """
        numbers = range(self.count + 1)
        if saves is not None:
            self.usd = saves.watch(self.usd, self._views)
            if saves.is_live:  # its page has seen nothing yet
                self._write_still()
        for frame in progress(numbers) if saves is None else saves.frames(numbers):
            self.usd.frame()
            self._now = list(self._standing.values()) if frame in self._shown else None
            yield frame * self.dt
            if self._now is not None:
                self._views[f"t = {frame * self.dt:.2f} s"] = self._now

    def along(self, path: Any) -> Iterator[Any]:
        """The rows of a path (n, ...) that lasts as long as the film, n > 1: for each frame the nearest in time."""
        for frame, _ in enumerate(self.frames()):
            yield path[round(frame / self.count * (len(path) - 1))]

    def show(self, name: str, surface: Surface, velocities: Any = None) -> None:
        """A moving surface as it is in this frame, once in each; velocities: (n, 3) [m/s] of its points."""
        self._write(name, surface, velocities)
        if self._now is not None:
            self._now.append(surface)

    def show_balls(
        self, name: str, balls: Balls, velocities: Any = None, ids: Any = None, drawn: Callable[[], Thing] | None = None
    ) -> None:
        """Balls as they are in this frame; velocities: (n, 3) [m/s]; ids: (n,) integers, where n changes.

        drawn: makes what the picture shows in their place, as the surface of a fluid; called for its moments alone.
        """
        color = _one_if_alike(balls.color)
        self.usd.points(name, balls.centers, balls.radii, color=color, velocities=velocities, ids=ids)
        if self._now is not None:
            self._now.append(drawn() if drawn else balls)

    def show_copies(
        self, name: str, shapes: Sequence[Surface], positions: Any, rotations: Any, sizes: Any = 1.0,
        kinds: Any = None, **motion: Any,
    ) -> None:  # fmt: skip
        """Copies of shapes as they are in this frame: see `UsdWriter.instances`; motion: velocities, spins, ids."""
        parts = [(s.points, s.triangles, s.color) for s in shapes]
        self.usd.instances(name, parts, positions, rotations, sizes, kinds=kinds, **motion)
        if self._now is not None:
            self._now.extend(copies(shapes, positions, rotations, sizes, kinds))

    def _draw_with_charts(self, views: Sequence[Any], captions: Sequence[str], view: dict[str, Any]) -> None:
        width, height = view.get("panel", (480, 440))
        images = [Image(*pair) for pair in zip(mesh_images(views, **view), captions, strict=True)]
        widths = [*[1.0] * len(images), _CHART * height / width]
        render_charts(self.picture, [*images, Stack(self.charts)], panel=(width, height), widths=widths)

    def _write_still(self) -> None:
        if self._ground is not None:
            self.usd.ground(size=self._ground)
        for name, surface in self._standing.items():
            self._write(name, surface, None)

    def _write(self, name: str, surface: Surface, velocities: Any) -> None:
        color = _one_if_alike(surface.color)
        self.usd.mesh(name, surface.points, surface.triangles, color=color, velocities=velocities)


def _one_if_alike(colors: np.ndarray) -> np.ndarray:
    """One color where all points have the same."""
    return colors[0] if len(colors) and (colors == colors[0]).all() else colors
