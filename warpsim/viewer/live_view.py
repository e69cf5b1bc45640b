"""`live`: a simulation in the browser while it runs, with its controls: pause, step, reset, sliders, dragging."""

from __future__ import annotations

import atexit
import html
import math
import os
import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from ..arguments import checked
from ..errors import WarpsimError
from ..solvers.saved.scene import Scene
from ..solvers.scene.state import State
from .drag import Spring
from .exchange import Exchange
from .live_server import LiveServer
from .live_stage import LiveStage
from .page import ViewError, page_text
from .shot import Particles
from .slider import Slider

_SHARE = 0.02  # of the time of a simulation that goes into copies and answers, at most
_STRETCH = 0.1  # of the extent of a scene: how far a spring is stretched at most
_TURN = 0.5  # seconds after which a wait looks around, so that Ctrl-C is heard on any system
_RATES = 0.1  # weight of the newest frame in the rate that is told

Task = Literal["slide", "show", "reset", "go"]


class LiveView(LiveStage):
    """A running simulation in the browser; made by `live`, used as a `UsdWriter`:

        view = live(scene, fps=60.0, sliders=[Slider("wind [m/s]", 0.0, 0.0, 10.0, blow)])
        for k in view.frames():
            if k:
                solver.step(state, state, control, contacts, 1.0 / 60.0)
            view.frame()
            view.mesh("cloth", state.particle_q, triangles)

    Between two frames `frames` does what browsers ask for. It copies what was drawn when one asks for it, and goes on:
    browsers that are slow miss frames. url: where it is shown, to be kept secret: it is all that controls it.
    """

    def __init__(
        self, scene: Scene | None = None, name: str = "live", fps: float = 60.0, up_axis: str = "Y",
        sliders: Sequence[Slider] = (), speed: float | None = 1.0, port: int = 0,
    ):  # fmt: skip
        super().__init__(up_axis, fps)
        labels = [slider.label for slider in sliders]
        if len(set(labels)) < len(labels):
            raise ViewError(f"sliders are labelled {labels}\nexpected: labels of their own")
        if speed is not None and not (math.isfinite(speed) and speed > 0.0):
            raise ViewError(f"speed is {speed}\nexpected: a number above 0, or None for as fast as it goes")
        self._scene, self._sliders = scene, list(sliders)
        self._exchange = Exchange(self._sliders, speed)
        self._spring = Spring(self.fps)
        self._chosen: dict[int, float] = {}
        self._is_drawn = self._is_new = False  # the frame; what was drawn last, to browsers
        self._cost = self._ready = 0.0  # of the last copy; when the next one may be made
        self._began = self._due = time.monotonic()  # the frame; when it may end, by the speed
        header = {
            "live": True, "name": name, "up": up_axis, "fps": self.fps, "resets": scene is not None,
            "drags": self._state() is not None,
            "sliders": [{"label": s.label, "low": s.low, "high": s.high, "value": s.value} for s in self._sliders],
        }  # fmt: skip
        self._server = LiveServer(self._exchange, page_text(name, header, ""), port)
        self.url = self._server.url

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """The simulation as a notebook shows it: its page, and where it is."""
        url = html.escape(self.url)
        return (
            f'<iframe src="{url}" style="width: 100%; height: 520px; border: 0"></iframe>'
            f'<p><a href="{url}" target="_blank">{url}</a></p>'
        )

    def close(self) -> None:
        """Show nothing more. A view closed once stays closed."""
        if not self._exchange.closed:
            self._exchange.close()
            self._server.close()

    def frame(self) -> None:
        """Begin the next frame."""
        super().frame()
        self._is_drawn = self._is_new = True

    @checked
    def frames(self, numbers: range | None = None, stay: bool = True) -> Iterator[int]:
        """Numbers of frames in turn, from 0 on without end, or those of a range; after a reset from the first one.

        stay: after the last one, wait for a reset, until the program is interrupted. Raises SceneFileError for a scene
        that cannot be saved, and so not be reset.
        """
        with tempfile.TemporaryDirectory(prefix="warpsim-") as folder:
            start = Path(folder) / "start.scene"
            if self._scene is not None:
                self._scene.save(start)
            yield from self._loop(numbers, stay, start)

    def _loop(self, numbers: range | None, stay: bool, start: Path) -> Iterator[int]:
        k = 0
        while numbers is None or k < len(numbers):
            number = k if numbers is None else numbers[k]
            self._is_drawn = self._is_new = False
            with self._spring.pulling(self._state(), self._exchange.held()):
                yield number
            is_last = stay and numbers is not None and k + 1 == len(numbers)
            self._tell(number, is_last)
            if self._settle(is_last) == "reset":
                self._begin_anew(start)
                k = 0
            else:
                k += 1

    def _tell(self, number: int, is_last: bool) -> None:
        """Note where the simulation stands; browsers hear of it with the next shot."""
        now = time.monotonic()
        status, took = self._exchange.status, max(now - self._began, 1.0e-9)
        rate = status["rate"] + _RATES * (1.0 / took - status["rate"]) if status["rate"] else 1.0 / took
        with self._exchange.changed:
            status.update(frame=number, time=number / self.fps, rate=rate, ended=is_last)

    def _settle(self, is_last: bool) -> Literal["reset", "go"]:
        """Do what browsers ask for until the next frame may begin; is_last: there is none without a reset."""
        speed = self._exchange.status["speed"]
        now = time.monotonic()
        self._due = now if speed is None else max(now, self._due + 1.0 / (self.fps * speed))
        while True:
            task = self._next_task(is_last)
            if task == "slide":
                self._slide()
            elif task == "show":
                self._show()
            else:
                self._began = time.monotonic()
                return task

    def _next_task(self, is_last: bool) -> Task:
        """What is to be done now; waits while nothing is."""
        exchange = self._exchange
        with exchange.changed:
            while True:
                now = time.monotonic()
                is_held = is_last or (self._is_drawn and exchange.paused and not exchange.step)
                if exchange.slides:
                    return "slide"
                if exchange.reset and self._scene is not None:
                    return "reset"
                is_asked = exchange.asked and self._may_show(now)
                if self._is_new and (is_held or is_asked or not self._shots):
                    return "show"
                if not is_held and (now >= self._due or exchange.step or not self._is_drawn):
                    exchange.step = False
                    return "go"
                exchange.changed.wait(_TURN if is_held else min(_TURN, self._due - now))

    def _may_show(self, now: float) -> bool:
        """Whether a copy and its answers take no time that the simulation needs, or little of it."""
        return now >= self._ready or self._due - now > 2.0 * self._cost

    def _show(self) -> None:
        """Copy what was drawn for browsers."""
        begin = time.perf_counter()
        self._is_new = False
        try:
            shot = self.shot(self._particles())
        except WarpsimError as error:
            self._exchange.paused = True
            self._exchange.publish(message=str(error))
            return
        if not self._spring.reach:
            low, high = shot.bounds()
            self._spring.reach = _STRETCH * math.dist(low, high)
        self._exchange.publish(shot, message="")
        self._cost = time.perf_counter() - begin
        spent, self._exchange.spent = self._exchange.spent, 0.0
        self._ready = time.monotonic() + (self._cost + spent) / _SHARE

    def _slide(self) -> None:
        """Set the numbers that browsers have chosen since."""
        with self._exchange.changed:
            slides, self._exchange.slides = self._exchange.slides, {}
        for number, value in slides.items():
            self._sliders[number].set(value)
        self._chosen |= slides

    def _begin_anew(self, start: Path) -> None:
        """Give the scene what it began with; sliders stay where they are."""
        assert self._scene is not None
        self._scene.restore(start)
        for number, value in self._chosen.items():
            self._sliders[number].set(value)
        with self._exchange.changed:
            self._exchange.reset = False
            self._exchange.grip = None
        self._due = time.monotonic()

    def _state(self) -> State | None:
        """What can be dragged: the first state of the scene."""
        things = [] if self._scene is None else vars(self._scene).values()
        return next((thing for thing in things if isinstance(thing, State)), None)

    def _particles(self) -> Particles | None:
        state = self._state()
        if state is None:
            return None
        return Particles(state.particle_q.numpy().copy(), state.model.particle_mass.numpy().copy())


@checked
def live(
    scene: Scene | None = None, *, name: str = "live", fps: float = 60.0, up_axis: str = "Y",
    sliders: Sequence[Slider] = (), speed: float | None = 1.0, port: int = 0, browser: bool = True,
) -> LiveView:  # fmt: skip
    """Show a simulation in the browser of this machine while it runs; the program loops over the view's `frames`.

    scene: all that a frame hands on to the next one, as for `Saves`: what a reset brings back, and with it its first
    state, whose particles can be dragged; without one there is neither. name: for the title. fps: frames per second of
    simulated time [1/s]. up_axis: "Y" or "Z". sliders: numbers that may be changed meanwhile. speed: how much faster
    than real time it may run at first, None for as fast as it goes. port: of the server, 0 for one that is free.
    browser: open it; in a notebook the page appears below the cell instead.

    Raises ViewError for numbers out of bounds, OSError for a port that is taken.
    """
    shown = LiveView(scene, name, fps, up_axis, sliders, speed, port)
    if browser and not _display(shown):
        _open(shown.url)
    return shown


def _open(url: str) -> None:
    """Open an address in the browser by a file that this user alone can read: all users can read command lines."""
    number, name = tempfile.mkstemp(".html", "warpsim-")
    with os.fdopen(number, "w", encoding="utf-8") as file:
        file.write(f'<meta http-equiv="refresh" content="0; url={url}">')
    atexit.register(Path(name).unlink, missing_ok=True)
    webbrowser.open(Path(name).as_uri())


def _display(shown: LiveView) -> bool:
    """Show a view below the cell of a notebook; whether there is one."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return False
    sys.modules["IPython.display"].display(shown)
    return True
