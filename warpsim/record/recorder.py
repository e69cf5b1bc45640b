"""`Recorder`: takes the frames of a loop and hands them to formats, each of which writes them as they come."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import checked
from ..arguments import numbers as numbers_of
from ..atomic_file import AtomicFile
from ..errors import instance
from ..solvers.scene.control import Control
from ..solvers.scene.state import State
from .body import Body, Format, Frame, Setting
from .errors import RecordError, RecordFileError
from .state_bodies import StateBodies
from .table_row import row_of

_SETTING = "recording.json"
_KIND, _VERSION = "warpsim recording", 1


class Recorder:
    """A recording in a folder; use it in a `with` block:

        with Recorder("out/drop", [VtkSeries(), CsvTable()], arrays=["particle_f"]) as record:
            for frame in range(600):
                solver.step(state, state, control, dt=dt)
                record.frame(state, frame * dt, control=control, numbers=solver.statistics(state))

    folder: made where it is missing; a recording that is in it is replaced. formats: objects such as `VtkSeries()`.
    arrays: names of fields of the model, the state, the control or the solver to write besides positions, velocities
    and radii: one row for each particle, triangle, tetrahedron or shape. present: which particles of a state there are,
    bool (particles,), such as `solver.present` of solvers with streams. first_frame: the number of the first frame; not
    0, it goes on with the recording in the folder, of which the frames before it stay, as does a loop that goes on from
    a saved `Scene`.

    The frames before an error, a full disk or a kill are there: files of frames, and what lists them, are whole at any
    time. After a loss of power the last seconds may be damaged, since frames do not wait for the disk.

    Raises `RecordError` for what cannot be recorded or gone on with, `RecordFileError` where nothing can be written.
    """

    @checked
    def __init__(
        self,
        folder: str | os.PathLike[str],
        formats: Sequence[Any],
        *,
        arrays: Sequence[str] = (),
        present: Callable[[State], np.ndarray] | None = None,
        first_frame: int = 0,
    ):
        if first_frame < 0:
            raise RecordError(f"first_frame is {first_frame}\nexpected: 0 or more")
        for each in formats:
            if isinstance(each, type) or not all(hasattr(each, name) for name in ("begin", "write", "close")):
                raise RecordError(f"formats has {each!r}\nexpected: objects of formats, such as VtkSeries()")
        self.folder, self.formats = Path(folder), list[Format](formats)
        self.next_frame, self._first = int(first_frame), int(first_frame)
        self._arrays, self._present = arrays, present
        self._parts: StateBodies | None = None
        self._setting: Setting | None = None
        self._time: float | None = None
        self._stopped = ""
        with self._errors("cannot be begun"):
            self.folder.mkdir(parents=True, exist_ok=True)
            if first_frame:
                self._setting = self._read_setting()
            self._begin()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()
        else:
            with suppress(Exception):  # the error of the block says more
                self.close()

    def frame(
        self,
        state: State | None,
        time: float,
        *,
        control: Control | None = None,
        arrays: Mapping[str, Any] | None = None,
        numbers: Any = None,
        bodies: Sequence[Body] = (),
    ) -> int:
        """Write the next frame, and return its number.

        state: None where all there is are `bodies`. time [s]: later than that of the frame before. control: where
        shapes are; None: where the model has them. arrays: more numbers of particles, (particles, ...) by name.
        numbers: a row of the tables, a dictionary of numbers or an object such as `solver.statistics(state)`. bodies:
        more to record, such as the surface of a fluid.

        Raises `RecordError` for what cannot be recorded, `RecordFileError` where it cannot be written; the recording
        ends with the frame before then.
        """
        if self._stopped:
            raise RecordError(f"the recording in {str(self.folder)!r} {self._stopped}\nhelp: open a new Recorder")
        frame = self._frame(state, float(numbers_of(time, "time", ())), control, arrays or {}, row_of(numbers), bodies)
        self._stopped = f"has stopped at frame {frame.number}"
        with self._errors(f"cannot take frame {frame.number}"):
            for each in self.formats:
                each.write(frame)
        self._stopped, self._time = "", frame.time
        self.next_frame += 1
        return frame.number

    def close(self) -> None:
        """Finish all files. A recorder that is closed stays closed."""
        formats, self.formats, self._stopped = self.formats, [], self._stopped or "is closed"
        errors: list[Exception] = []
        for each in formats:
            try:
                with self._errors("cannot be finished"):
                    each.close()
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _begin(self) -> None:
        """Begin all formats, or none."""
        begun: list[Format] = []
        try:
            for each in self.formats:
                each.begin(self.folder, self._first)
                begun.append(each)
        except BaseException:
            for each in begun:
                each.close()
            raise

    def _frame(
        self,
        state: State | None,
        time: float,
        control: Control | None,
        arrays: Mapping[str, Any],
        row: dict[str, Any],
        bodies: Sequence[Body],
    ) -> Frame:
        """All that a moment has, as arrays."""
        self._check_time(time)
        everything = [instance(body, Body, "a body of bodies") for body in bodies]
        up_axis, planes = "Y", []
        if state is not None:
            parts = self._parts_of(state)
            everything = parts.bodies(state, control, arrays) + everything
            up_axis = parts.model.up_axis
        names = [body.name for body in everything]
        if len(set(names)) < len(names):
            raise RecordError(f"bodies are named {', '.join(names)}\nexpected: names of their own")
        if self._setting is None:
            self._setting = Setting(time, box_around(everything))
            self._write_setting(self._setting)
        if state is not None:
            planes = parts.planes(state, control, self._setting.box)
        return Frame(self.next_frame, time, everything + planes, row, up_axis, self._setting)

    def _parts_of(self, state: State) -> StateBodies:
        instance(state, State, "state")
        if self._parts is None or self._parts.model is not state.model:
            self._parts = StateBodies(state.model, self._arrays, self._present)
        return self._parts

    def _check_time(self, time: float) -> None:
        if not np.isfinite(time) or (self._time is not None and time <= self._time):
            before = "" if self._time is None else f", later than {self._time} s"
            raise RecordError(f"the time of frame {self.next_frame} is {time} s\nexpected: a finite number{before}")

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Let errors of the system leave as ours, with how to go on."""
        try:
            yield
        except OSError as error:
            if isinstance(error, RecordError):
                raise
            there = f"frames up to {self.next_frame - 1} are there" if self.next_frame else "no frame was written"
            cure = f" and go on with first_frame={self.next_frame}" if self.next_frame else ""
            told = RecordFileError(
                f"the recording in {str(self.folder)!r} {what}: {error}\n{there}\n"
                f"help: make room, or choose a folder that can be written{cure}"
            )
            told.errno = error.errno
            raise told from error

    def _write_setting(self, setting: Setting) -> None:
        content = {"format": _KIND, "version": _VERSION, "start": setting.start, "box": setting.box.tolist()}
        with self._errors("cannot be begun"), AtomicFile(self.folder / _SETTING) as path:
            path.write_text(json.dumps(content), encoding="ascii")

    def _read_setting(self) -> Setting:
        try:
            content = json.loads((self.folder / _SETTING).read_text(encoding="ascii"))
            if content["format"] != _KIND or content["version"] != _VERSION:
                raise ValueError(f"{content['format']!r} of version {content['version']!r}")
            return Setting(float(content["start"]), np.array(content["box"], float).reshape(2, 3))
        except FileNotFoundError:
            reason = f"it has no {_SETTING}"
        except (ValueError, KeyError, TypeError) as error:
            reason = f"its {_SETTING} is none of a recording: {error}"
        raise RecordError(
            f"{str(self.folder)!r} holds no recording to go on with, for first_frame={self._first}\nreason: {reason}"
        )


def box_around(bodies: Sequence[Body]) -> np.ndarray:
    """The lowest and highest corner (2, 3) [m] of what is finite; of nothing, a box of 2 m around the origin."""
    boxes = []
    for body in bodies:
        points = body.points[np.isfinite(body.points).all(axis=1)].astype(float)
        if len(points):
            reach = float(np.nanmax(body.radii)) if body.radii is not None else 0.0
            boxes.append((points.min(axis=0) - reach, points.max(axis=0) + reach))
    if not boxes:
        return np.array([[-1.0] * 3, [1.0] * 3])
    return np.array([np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)])
