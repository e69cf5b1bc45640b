"""`Exchange`: what a running simulation and browsers tell each other. The simulation never waits for a browser.

Browsers ask for news and get the newest shot with where the simulation stands; what they wish for is noted, the last
wish of a kind alone, and fulfilled between frames. All of it is behind one lock that nobody holds for long.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .commands import Command
from .pack import header_of
from .page import ViewError
from .shot import Shot
from .slider import Slider

_PATIENCE = 10.0  # seconds after which a browser gets an answer without news
_HOLD = 3.0  # seconds for which a browser that says nothing more holds what it drags


class Grip(NamedTuple):
    """What a browser drags: particles (m,), the nearest first, and where that one is to be (3,) [m]."""

    particles: np.ndarray
    target: np.ndarray


class Exchange:
    """Shots, where the simulation stands, and what browsers wish for.

    changed: the lock; whoever waits for the other side waits for it. Attributes are to be read and written under it.
    """

    def __init__(self, sliders: Sequence[Slider], speed: float | None):
        self.sliders = sliders
        self.changed = threading.Condition()
        self.paused = self.step = self.reset = self.asked = self.closed = False
        self.slides: dict[int, float] = {}
        self.grip: Grip | None = None
        self.spent = 0.0  # seconds that answers took since somebody looked
        self.status: dict[str, Any] = {
            "frame": 0, "time": 0.0, "rate": 0.0, "ended": False, "message": "", "speed": speed,
            "sliders": [slider.value for slider in sliders],
        }  # fmt: skip
        self._shots: list[Shot] = []
        self._headers: tuple[int, dict[str, Any]] = (0, {})
        self._number = 0
        self._until = 0.0

    # ----- of the simulation --------------------------------------------------------------------

    def publish(self, shot: Shot | None = None, **status: Any) -> None:
        """Let browsers know where the simulation stands, and what it looks like."""
        with self.changed:
            if shot is not None:
                self._shots = [*self._shots[-1:], shot]
                self.asked = False
            self.status.update(status)
            self._tell()

    def held(self) -> Grip | None:
        """What is dragged, unless whoever does so has fallen silent."""
        with self.changed:
            if self.grip is not None and time.monotonic() > self._until:
                self.grip = None
            return self.grip

    def close(self) -> None:
        """Let nobody wait any more."""
        with self.changed:
            self.closed = True
            self._tell()

    def _tell(self) -> None:
        self._number += 1
        self.changed.notify_all()

    # ----- of browsers --------------------------------------------------------------------------

    def news(self, seen: int, shot: int, stage: int) -> bytes:
        """What has happened since news number `seen`, with a shot that is newer than number `shot`, if there is one.

        That is the length of a text (uint32), the text, in JSON, and what moves as `pack` has it. Bodies are described
        to who knows another `stage`. Waits for news, but not for long.
        """
        with self.changed:
            self.asked = True
            self.changed.notify_all()
            self.changed.wait_for(lambda: self._number > seen or self.closed, _PATIENCE)
            newest = self._shots[-1] if self._shots else None
            news = {**self.status, "number": self._number, "paused": self.paused, "closed": self.closed}
        picture = b""
        if newest is not None and newest.number > shot:
            picture = newest.packed()
            news |= {"shot": newest.number, "stage": newest.stage}
            if newest.stage != stage:
                news["header"] = self._header(newest)
        text = json.dumps(news, allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        with self.changed:
            self.spent += time.thread_time()  # of a thread that answers this question alone
        return np.array([len(text)], "<u4").tobytes() + text + picture

    def _header(self, shot: Shot) -> dict[str, Any]:
        """What a page must know of a stage; made once."""
        if self._headers[0] != shot.stage:
            self._headers = (shot.stage, header_of(shot, 1, True))
        return self._headers[1]

    def obey(self, command: Command) -> dict[str, Any]:
        """Note a wish; returns what there is to say. Raises ViewError for one that cannot be fulfilled."""
        numbers = command.numbers
        if command.name == "grab":
            return self._grab(command)
        with self.changed:
            if command.name == "slide":
                self._slide(int(numbers["slider"]), numbers["value"])
            elif command.name == "pull" and self.grip is not None:
                self.grip = self.grip._replace(target=np.array([numbers[axis] for axis in "xyz"]))
                self._until = time.monotonic() + _HOLD
            elif command.name == "release":
                self.grip = None
            elif command.name == "speed":
                self.status["speed"] = numbers["factor"] or None
            elif command.name == "reset":
                self.reset, self.grip = True, None
            elif command.name in ("play", "pause", "step"):
                self.paused, self.step = command.name != "play", command.name == "step"
            self._tell()
        return {}

    def _slide(self, number: int, value: float) -> None:
        if not 0 <= number < len(self.sliders):
            raise ViewError(f"there is no slider {number}\nexpected: 0 to {len(self.sliders) - 1}")
        slider = self.sliders[number]
        if not slider.low <= value <= slider.high:
            raise ViewError(f"{slider.label} is {value:g}\nexpected: {slider.low:g} to {slider.high:g}")
        self.slides[number] = value
        self.status["sliders"][number] = value

    def _grab(self, command: Command) -> dict[str, Any]:
        number, body, point = (int(command.numbers[name]) for name in ("shot", "body", "point"))
        with self.changed:
            shots = {shot.number: shot for shot in self._shots}
        if number not in shots:
            raise ViewError(f"shot {number} is gone\nhelp: grab in the newest one, {max(shots, default=0)}")
        shot = shots[number]
        particles = shot.grip(body, point, command.numbers["reach"])
        assert shot.particles is not None
        place = shot.particles.positions[particles[0]].astype(np.float64)
        with self.changed:
            self.grip, self._until = Grip(particles, place), time.monotonic() + _HOLD
            self._tell()
        return {"place": place.tolist(), "particles": len(particles)}
