"""`Scene`: things that belong together, by name, as one file: saved at any moment of a run, and gone on from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ...arguments import checked
from ...core.runtime.devices.device import get_device
from ...errors import SceneFileError, shown
from .archive import ArchiveReader, Text
from .image import FileImage
from .write_queue import writes
from .records import Reader, Recorder
from .restore import Restorer


class Scene:
    """Whatever a run needs to go on: attributes with names of your own.

        scene = Scene(solver=solver, state=state, control=control, contacts=contacts, frame=0)
        for scene.frame in range(scene.frame, 600):
            scene.solver.step(scene.state, scene.state, scene.control, scene.contacts, dt)
            if scene.frame % 60 == 59:
                scene.save("run.scene")

    and later, in another process,

        scene = Scene.load("run.scene")

    A run that goes on is the run that never stopped, bit for bit and on any number of threads: a solver is saved with
    its settings and with all that it hands on from step to step. What things share stays shared: models, states of one
    solver, arrays that stand in two places.

    A scene holds solvers with their models, states, controls and contacts, oceans and foam; materials, fluids and
    streams; meshes and volumes; arrays of numbers and vectors, NumPy's arrays and random generators; numbers,
    texts, None, and lists, tuples and dictionaries of those. Gradients, tapes and graphs are not part of it, nor are
    views: a view comes back as an array of its own. A mesh gets a new tree, so that where two faces are equally near a
    query may find the other one, if the mesh had been refitted.

    Files are zip archives of .npy arrays and a text. They can be read without trust: nothing in them is run.
    """

    __slots__ = ("__dict__", "__weakref__", "_image", "_text")

    def __init__(self, **things: Any):
        self._image, self._text = FileImage(), Text()
        taken = sorted(things.keys() & vars(type(self)).keys())
        if taken:
            raise SceneFileError(f"a thing of a scene is named {taken[0]!r}, as what every scene has\nhelp: rename it")
        vars(self).update(things)

    @checked
    def save(self, path: str | os.PathLike[str], *, wait: bool = True) -> None:
        """Write a file, in place of an older one; after an error or a crash the older one is still there.

        wait: until the file is on the disk. Without, the scene is saved as it is now while the program goes on: the
        next save of this scene, `load`, `restore`, `finish_save` and the end of the program wait for it. Files appear
        in the order of saves. What went wrong is raised by the first of those calls, or by the next save of another
        scene, and after it by none; what is known at once, such as a missing folder, is raised at once.

        The scene keeps the bytes of the file in memory, as the next save writes what has changed over them.

        Raises `SceneFileError` for what a scene cannot hold, OSError where nothing can be written.
        """
        recorder = Recorder()
        try:
            things = {name: recorder.encode(thing, name) for name, thing in vars(self).items()}
            text = self._text.of(things, recorder.finish())
        except RecursionError:
            raise SceneFileError("a thing of a scene holds itself, or is nested too deep\nhelp: leave it out") from None
        contents = recorder.archive.contents
        writes.write(path, self._image, lambda: self._image.take(contents, text), wait)

    @staticmethod
    def finish_save() -> None:
        """Wait until all that was saved with `wait=False` is on the disk. Raises OSError if a file could not be."""
        writes.finish()

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str], device: Any = None, names: Sequence[str] | None = None) -> Scene:
        """The scene of a file, on a device (default: the current one). names: what to make of it, None for all.

        Raises `SceneFileError` for files that are no scene, or of a version that this warpsim does not read, with the
        reason; OSError where there is none.
        """
        writes.finish()
        archive = ArchiveReader(path)
        things = archive.content.get("things")
        if isinstance(things, dict) and names is not None:
            things = {name: things[name] for name in names if name in things}
        return cls(**Reader(archive, get_device(device)).read(things))

    @checked
    def restore(self, path: str | os.PathLike[str]) -> None:
        """Give this scene what a file holds of it, in place: for a program that has made its scene anew as before.

        Arrays, lists and random generators get contents, solvers get what they remember; settings stay those of the
        program. Numbers and texts become attributes of the scene. Raises `SceneFileError` as `load` does, and for a
        file of another scene; the scene may then be half restored.
        """
        writes.finish()
        archive = ArchiveReader(path)
        restorer = Restorer(archive, get_device(None))
        vars(self).update(restorer.restore(vars(self), archive.content.get("things")))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the scene has no {name!r}\nit has: {', '.join(vars(self)) or 'nothing'}")

    def __repr__(self) -> str:
        return f"Scene({', '.join(f'{name}={shown(thing)}' for name, thing in vars(self).items())})"
