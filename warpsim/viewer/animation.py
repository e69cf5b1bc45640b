"""An animation as a viewer takes it: bodies with points in metres of the world, frame by frame, from a USD stage."""

from __future__ import annotations

import os

from ..arguments import checked
from ..usd.reader import MAX_BYTES, MAX_SECONDS, Reader
from .bodies import Body, Frames, Moment
from .page import embed, inline_frame


class Animation(Frames):
    """Bodies and frames of a USD file (.usd, .usda, .usdc, .usdz); `moment(body, frame)` reads what is drawn.

    Lengths are metres; `up` is "Y" or "Z". Frames stand where anything has a sample, `fps` time codes a second. Meshes,
    points, point instancers and the simple solids are read; what is invisible or a guide is left out. The file need not
    be trusted: another process reads it, and `max_bytes` and `max_seconds` bound it as those of `read_mesh`, for each
    frame anew. Raises FileNotFoundError for a missing file, UsdError for one that is damaged or holds nothing to draw.
    """

    @checked
    def __init__(
        self, path: str | os.PathLike[str], max_bytes: int = MAX_BYTES, max_seconds: float = MAX_SECONDS
    ):  # fmt: skip
        self.name = os.fsdecode(path)
        self._colored: dict[str, bool] = {}
        if not os.path.isfile(self.name):
            raise FileNotFoundError(f"{self.name!r} does not exist or is not a file")
        self._reader = Reader(self.name, max_bytes, max_seconds)
        scene = self._reader.ask("scene")
        self.up: str = scene["up"]
        self.fps: float = scene["fps"]
        self.codes: list[float] = scene["codes"]
        self.bodies = [Body(number=number, **body) for number, body in enumerate(scene["bodies"])]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def seconds(self) -> float:
        """How long it plays [s]."""
        return len(self) / self.fps

    def moment(self, body: Body, frame: int) -> Moment:
        """A body in a frame, 0 to `len(self) - 1`. Raises UsdError for arrays that contradict each other."""
        return Moment(**self._reader.ask("moment", body=body.number, frame=range(len(self))[frame]))

    def colored(self, body: Body) -> bool:
        """Whether each point of a body has its own color in the first frame, and so in all that are shown."""
        if body.name not in self._colored:
            self._colored[body.name] = super().colored(body)
        return self._colored[body.name]

    def _repr_html_(self) -> str:
        """The animation as a notebook shows it: the page of the viewer."""
        return inline_frame(embed(self))
