"""`Saves`: a run with frames that is saved every so many of them, and gone on from after a crash."""

from __future__ import annotations

import argparse
import re
import secrets
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import SceneFileError
from ..progress import progress
from ..solvers.saved.scene import Scene
from ..usd import UsdWriter
from ..viewer.live_view import LiveView, live
from ..viewer.slider import Slider
from .call_log import CallLog

NOTE = "run"
"""What a saved scene calls what a run notes of itself."""

FREE = ("output", "picture", "device", "save_every", "resume")
"""Options in which a run that goes on may differ from the one that was saved."""

_PART = re.compile(r"[0-9a-f]{8}-[0-9]{6}\.part")


class Saves:
    """Files of a run, or its live view, as `--save-every`, `--resume` and `--live` of its command line ask for them.

        scene = Scene(solver=solver, state=state, heights=[])
        saves = Saves(args, scene)
        with saves.watch(UsdWriter(args.output, fps=args.fps)) as usd:
            for frame in saves.frames(range(args.frames)):
                if frame:
                    solver.step(state, state, dt=1.0 / args.fps)
                usd.frame()
                usd.points("grains", state.particle_q, 0.01)
                scene.heights.append(state.particle_q.numpy()[:, 1].mean())

    args: what a parser with `add_save_options` returns. scene: all that a frame hands on to the next one; where the
    loop begins, it gets back what the file holds, in place. `Film.frames` takes a `Saves`, and does the rest.

    The file is `--output` with the ending .scene. What the animation was given lies beside it in parts, in the folder
    .scene.parts: so the animation of a run that goes on is that of the run that never stopped.

    A live run (`is_live`) shows its frames in the browser, see `live`, with a reset to where it began, and writes no
    files: what is drawn goes to the page instead. sliders: numbers that may be changed there.
    """

    def __init__(self, args: argparse.Namespace, scene: Scene, sliders: Sequence[Slider] = ()):
        if NOTE in vars(scene):
            raise SceneFileError(f"a thing of a scene is named {NOTE!r}, as the notes of a run\nhelp: rename it")
        self.scene = scene
        self._resume: Path | None = args.resume
        self._port: int | None = args.live
        self.is_live, self._sliders = args.live is not None, sliders
        self._every = 0 if self.is_live else args.save_every or 0
        self._file = Path(args.output).with_suffix(".scene")
        self._note = {"example": args.example, "options": _plain_options(args), "things": sorted(vars(scene))}
        self._token, self._parts = secrets.token_hex(4), list[str]()
        self._whole = Scene()  # the same one for all saves, as it knows what has changed
        self._has_saved = False
        self._log: CallLog | None = None
        self._view: LiveView | None = None
        self._views: dict[str, Any] = {}

    def watch(self, usd: UsdWriter, views: dict[str, Any] | None = None) -> Any:
        """The writer of the animation, which remembers what it is given in frames. views: saved with it, in place."""
        if self.is_live:
            usd.abort()  # what is tried out, and begun anew, is no film
            self._view = self._show(usd)
            return self._view
        self._log = CallLog(usd, self._keep, self._end) if self._every else CallLog(usd, None)
        self._views = {} if views is None else views
        return self._log

    def frames(self, numbers: range) -> Iterator[int]:
        """The numbers of frames in turn, from where the saved run stands, while stderr tells how far it is."""
        first = numbers.start if self._resume is None else self._restore(self._resume, numbers)
        if self._view is not None:
            yield from self._view.frames(numbers[first - numbers.start :])
            return
        for number in progress(range(first, numbers.stop), before=first - numbers.start):
            yield number
            done = number + 1 - numbers.start
            if self._every and done % self._every == 0 and number + 1 in numbers:
                self._save(number + 1)

    def _show(self, usd: UsdWriter) -> LiveView:
        """Show the run in the browser, which is opened unless somebody chose a port."""
        name, port = self._note["example"], self._port or 0
        view = live(
            self.scene, name=name, fps=usd.fps, up_axis=usd.up_axis, sliders=self._sliders, port=port, browser=not port
        )
        print(f"{name} is shown at {view.url}; Ctrl-C ends it", flush=True)
        return view

    def _save(self, frame: int) -> None:
        """Save all while the run goes on: parts first, so that no file names one that is not there."""
        self._finish()
        if self._log is not None:
            self._log.flush()
        note = {**self._note, "frame": frame, "parts": list(self._parts), "views": self._views}
        things = vars(self._whole)
        things.clear()
        things.update(vars(self.scene), **{NOTE: note})
        self._whole.save(self._file, wait=False)
        self._has_saved = True

    def _finish(self) -> None:
        """Wait for the last save, and remove parts that it does not name. Raises OSError if it failed."""
        Scene.finish_save()
        for part in _folder(self._file).glob("*.part") if self._has_saved else ():
            if part.name not in self._parts and _PART.fullmatch(part.name):
                part.unlink(missing_ok=True)  # of an older run, or behind its last save

    def _end(self, error: BaseException | None) -> None:
        """Wait for the last save at the end of the run, of which an error says more than one of the save."""
        try:
            self._finish()
        except OSError as failed:
            if error is None:
                raise
            print(failed, file=sys.stderr)

    def _keep(self, calls: list[Any]) -> None:
        """Write calls of the animation as the next part."""
        _folder(self._file).mkdir(exist_ok=True)
        name = f"{self._token}-{len(self._parts):06}.part"
        Scene(calls=calls).save(_folder(self._file) / name, wait=False)
        self._parts.append(name)

    def _restore(self, file: Path, numbers: range) -> int:
        """Give scene and animation what a file holds; returns the number of the next frame."""
        note = read_note(file)
        if note["things"] != self._note["things"]:
            raise SceneFileError(f"{str(file)!r} was saved by another version of {note['example']}\nhelp: begin anew")
        if note["frame"] not in numbers:
            raise SceneFileError(f"{str(file)!r} is at frame {note['frame']}, of a longer run\nhelp: begin anew")
        saved = Scene(**vars(self.scene))
        saved.restore(file)
        vars(self.scene).update({name: getattr(saved, name) for name in note["things"]})
        self._views.update(note["views"])
        for name in progress(note["parts"], "part", note=lambda: "the animation up to there"):
            self._replay(file, name)
        return int(note["frame"])

    def _replay(self, file: Path, name: str) -> None:
        """Give the animation what a part holds, which is a part of this run, too."""
        source, target = _folder(file) / name, _folder(self._file) / name
        if not source.is_file():
            folder = source.parent.name
            raise SceneFileError(f"{str(source)!r} is not there\nhelp: keep the folder {folder!r} by the file")
        if self._log is not None:
            self._log.replay(Scene.load(source).calls)
        if self._every:
            self._parts.append(name)
            if target.parent.resolve() != source.parent.resolve():
                target.parent.mkdir(exist_ok=True)
                shutil.copyfile(source, target)


def read_note(file: Path) -> dict[str, Any]:
    """What a run noted of itself. Raises `SceneFileError` for other files, OSError where there is none."""
    note = vars(Scene.load(file, names=[NOTE])).get(NOTE)
    types = {"example": str, "options": dict, "things": list, "frame": int, "parts": list, "views": dict}
    if not isinstance(note, dict) or not all(isinstance(note.get(name), kind) for name, kind in types.items()):
        raise SceneFileError(f"{str(file)!r} was not saved by `warpsim run`\nexpected: a file that --save-every wrote")
    if not all(isinstance(name, str) and _PART.fullmatch(name) for name in note["parts"]):
        raise SceneFileError(f"{str(file)!r} names parts that no run writes")
    return note


def _plain_options(args: argparse.Namespace) -> dict[str, Any]:
    """Options as what a file can hold; paths as texts."""

    def plain(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        return str(value) if isinstance(value, Path) else value

    return {name: plain(value) for name, value in vars(args).items() if name not in ("resume", "example", "live")}


def _folder(file: Path) -> Path:
    """Where the parts of a file lie."""
    return file.with_name(f"{file.name}.parts")
