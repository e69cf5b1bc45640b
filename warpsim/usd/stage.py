"""Write an animation to one USD file that any DCC tool opens.

Guarantees of a finished file: metres, an up axis, time codes that count frames from 0, start and
end at the first and last frame, every moving prim sampled at every frame, a default prim of kind
component with a material that shows the colors, beside it lights and a camera that sees everything.
The file appears under its own name only when the writer closes without an error: until
then samples go to `.NAME.XXXX.partial.EXT` beside it, so a failed run neither leaves a half file
nor harms an older one.  Samples are flushed as they come: memory does not grow with the length of a
`.usdc` run.
"""

import os
import shutil
from pathlib import Path
from typing import Any

from pxr import Kind, Sdf, Tf, Usd, UsdGeom

from warpsim.arguments import checked
from warpsim.atomic_file import AtomicFile
from warpsim.usd import checks
from warpsim.usd.checks import UsdError, pxr_errors, reason
from warpsim.usd.instances import Copies, InstancesPrim
from warpsim.usd.look import MATERIALS, author_camera, author_lights, author_material
from warpsim.usd.prims import MeshPrim, PointsPrim, SpherePrim
from warpsim.usd.saving import save

_EXTENSIONS = (".usdc", ".usda", ".usd")
FLUSH_BYTES = 32 << 20
_ROOT = "/World"
_GREY = (0.45, 0.45, 0.45)


class UsdWriter:
    """A stage under construction; use it in a `with` block.

    What is written before the first `frame()` stands still; what is written in a frame is sampled
    there::

        with UsdWriter("drop.usdc", fps=60) as usd:
            usd.ground(size=8.0)
            for points in simulation:
                usd.frame()
                usd.mesh("cloth", points, triangles)

    `path` ends in .usdc (binary), .usda (text) or .usd (binary); its folder must exist.  `fps`
    [1/s], 1e-6 to 1e6, is both the rate of time codes and of playback.  `up_axis` is "Y" or "Z"; lengths are
    metres.  Both are attributes.  `metadata` (str to str, bool, int or float) goes to the layer's customLayerData:
    solver, seed, version.

    Raises UsdError for a wrong argument, FileNotFoundError for a missing folder, OSError for one
    not writable.
    """

    @checked
    def __init__(
        self,
        path: str | os.PathLike[str],
        fps: float = 60.0,
        up_axis: str = "Y",
        metadata: dict[str, Any] | None = None,
    ):
        self._path = layer_target(path, "UsdWriter")
        self.fps, self.up_axis = checks.rate(fps, "UsdWriter fps"), up_axis
        if up_axis not in ("Y", "Z"):
            raise UsdError(f"UsdWriter: up_axis is {up_axis!r}, expected 'Y' or 'Z'")
        check_metadata(metadata or {}, "UsdWriter")
        self._file = AtomicFile(self._path)
        # Held from its creation on: handles that a stage gives of its layer are never freed by pxr.
        self._layer = self._create()
        self._stage = Usd.Stage.Open(self._layer)
        self._prims: dict[str, InstancesPrim | MeshPrim | PointsPrim | SpherePrim] = {}
        self._static: set[str] = set()
        self._grounds: set[str] = set()
        self._written: set[str] = set()
        self._frame = -1
        self._unsaved = 0
        try:
            with pxr_errors(f"UsdWriter: {str(self._path)!r}", "cannot be written"):
                self._author_root(up_axis, metadata or {})
        except Exception:
            self.abort()
            raise

    def __enter__(self) -> "UsdWriter":
        return self

    def __exit__(self, kind, error, trace) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def frame(self) -> int:
        """Start the next frame and return its number, which is its time code: 0, 1, 2, ..."""
        self._check_open()
        self._check_complete()
        self._frame += 1
        self._written.clear()
        if self._unsaved > FLUSH_BYTES and self._path.suffix != ".usda":
            self._save()
        return self._frame

    def mesh(
        self,
        name: str,
        points,
        faces=None,
        counts=None,
        *,
        color=None,
        velocities=None,
        primvars: dict | None = None,
        double_sided: bool = True,
        varying: bool = False,
    ) -> None:
        """Sample polygons: points (n, 3) [m], faces (f, k) or flat with `counts` (f,) corners.

        Faces are needed the first time and must not change after it, unless `varying`: then points and faces may be
        others, or none, in every frame, as of the surface of a fluid.  `color` is linear RGB (3,),
        or (n, 3) per point; `velocities` (n, 3) are in m/s; `primvars` are numbers (n,) by name,
        the same names every time.  Smooth normals and the extent are computed here.
        """
        if name not in self._prims and faces is None:
            raise UsdError(f"{_ROOT}/{name}: has no faces yet; pass faces with the first sample")

        def make(path: str) -> MeshPrim:
            first = checks.vectors(points, f"{path} points")
            return MeshPrim(self._stage, path, first, faces, counts, double_sided, varying)

        self._write(name, MeshPrim, make, points, faces, counts, color, velocities, primvars)

    def points(self, name: str, positions, radii, *, color=None, velocities=None, ids=None) -> None:
        """Sample balls: positions (n, 3) [m], radii (n,) or one number [m]; USD stores diameters.

        `color` and `velocities` as for `mesh`.  `ids` (n,) are integers that stay with their
        particle; they are needed when n changes from frame to frame.
        """

        def make(path: str) -> PointsPrim:
            return PointsPrim(self._stage, path)

        self._write(name, PointsPrim, make, positions, radii, color, velocities, ids)

    def instances(
        self, name: str, shapes, positions, rotations, sizes: Any = 1.0, *, kinds=None, velocities=None, spins=None,
        ids=None,
    ) -> None:  # fmt: skip
        """Sample copies of shapes, each turned and scaled: grains, stones, drops.

        shapes: one or more (points (k, 3) [m], triangles (m, 3), color (3,) or (k, 3)), which never change; `kinds`
        (n,) says which shape each copy has, None: the first.  positions (n, 3) [m]; rotations (n, 4), quaternions
        x, y, z, w; sizes (n,) or one number, by which shapes are scaled; velocities (n, 3) [m/s] and spins (n, 3),
        angular velocities [rad/s].  n and `kinds` may change from frame to frame; `ids` (n,) are integers that stay
        with their copy then.
        """

        def make(path: str) -> InstancesPrim:
            return InstancesPrim(self._stage, path, shapes)

        copies = Copies(positions, rotations, sizes, kinds, velocities, spins, ids)
        self._write(name, InstancesPrim, make, copies)

    def sphere(self, name: str, center, radius: float, *, color=_GREY) -> None:
        """Sample a ball: its centre (3,) [m] may move, its radius [m] and color (3,) may not."""

        def make(path: str) -> SpherePrim:
            return SpherePrim(self._stage, path, radius, color)

        self._write(name, SpherePrim, make, center, radius)

    def ground(self, size: float = 10.0, height: float = 0.0, *, color=_GREY, name: str = "ground") -> None:
        """Write a still square of side `size` [m], `height` [m] above the origin."""
        half = 0.5 * checks.positive(size, f"{_ROOT}/{name} size")
        corners = [(-half, -half), (half, -half), (half, half), (-half, half)]
        if UsdGeom.GetStageUpAxis(self._stage) == UsdGeom.Tokens.z:
            points = [(x, y, height) for x, y in corners]
        else:
            points = [(x, height, -y) for x, y in corners]
        if self._frame >= 0:
            raise UsdError(f"{_ROOT}/{name}: the ground does not move; write it before the first frame")
        self.mesh(name, points, [[0, 1, 2, 3]], color=color)
        self._grounds.add(f"{_ROOT}/{name}")

    def publish(self) -> None:
        """Give a copy of the file its name as it is after this frame, without a camera yet; the writer goes on.

        The frame must be complete. Raises OSError where there is no room: the copy before stays, and the writer is
        closed.
        """
        self._check_open()
        self._check_complete()
        self._stage.SetStartTimeCode(0)
        self._stage.SetEndTimeCode(max(self._frame, 0))
        self._save()
        with AtomicFile(self._path, durable=False) as copy:
            shutil.copyfile(self._file.path, copy)

    def close(self) -> None:
        """Finish the file and give it its name.  A writer closed once stays closed."""
        if self._stage is None:
            return
        try:
            self._check_complete()
            if not self._prims:
                raise UsdError(f"UsdWriter: nothing was written to {self._path}; write a prim before closing")
            if self._frame >= 0:
                self._stage.SetStartTimeCode(0)
                self._stage.SetEndTimeCode(self._frame)
            author_camera(self._stage, self._frame + 1, self._grounds)
            self._save()
            self._release()  # some systems refuse to rename a file that is mapped
            self._file.commit()
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Drop everything written; a file of an earlier run under the same name stays as it was."""
        self._release()
        self._file.discard()

    def _release(self) -> None:
        self._stage = self._layer = None
        self._prims.clear()

    def _author_root(self, up_axis: str, metadata: dict) -> None:
        UsdGeom.SetStageMetersPerUnit(self._stage, 1.0)
        UsdGeom.SetStageUpAxis(self._stage, up_axis)
        self._stage.SetTimeCodesPerSecond(self.fps)
        self._stage.SetFramesPerSecond(self.fps)
        root = UsdGeom.Xform.Define(self._stage, _ROOT).GetPrim()
        self._stage.SetDefaultPrim(root)
        Usd.ModelAPI(root).SetKind(Kind.Tokens.component)
        author_material(self._stage, root)
        author_lights(self._stage)
        self._layer.documentation = "Simulation written by warpsim"
        self._layer.customLayerData = {"creator": "warpsim", **metadata}

    def _write(self, name: str, kind: type, make, *values) -> None:
        """Author one sample of the prim `name`, which `make(path)` makes the first time."""
        self._check_open()
        path = f"{_ROOT}/{checks.identifier(name)}"
        refusal = self._refusal(name, kind)
        if refusal:
            raise UsdError(f"{path}: {refusal}")
        with pxr_errors(path, "cannot be written"):
            if name not in self._prims:
                self._prims[name] = make(path)
                if self._frame < 0:
                    self._static.add(name)
            moment = Usd.TimeCode.Default() if self._frame < 0 else Usd.TimeCode(self._frame)
            self._unsaved += self._prims[name].write(moment, *values)
        self._written.add(name)

    def _refusal(self, name: str, kind: type) -> str | None:
        """Why `name` cannot be written now as a prim of this kind, or None."""
        prim = self._prims.get(name)
        if name == MATERIALS:
            return "is where the material is; use another name"
        if prim is None:
            late = f"first written in frame {self._frame}; write it in frame 0, or before any frame"
            return late if self._frame > 0 else None
        if not isinstance(prim, kind):
            return f"is already a {type(prim).__name__}; use another name"
        if name in self._written:
            return "written twice without a frame() between; call it before each sample"
        if name in self._static:
            return "stands still, as it was written before the first frame; write it in frames only"
        return None

    def _check_open(self) -> None:
        if self._stage is None:
            raise UsdError(f"UsdWriter: {self._path} is closed; open a new writer")

    def _check_complete(self) -> None:
        missing = sorted(set(self._prims) - self._static - self._written)
        if missing:
            raise UsdError(
                f"UsdWriter: frame {self._frame} has no sample of {', '.join(missing)}; every "
                f"moving "
                "prim needs one in every frame, write what stands still before the first"
            )

    def _create(self) -> Sdf.Layer:
        try:
            return Sdf.Layer.CreateNew(str(self._file.path))
        except Tf.ErrorException as error:
            self._file.discard()
            raise OSError(f"UsdWriter: cannot write in {str(self._path.parent)!r}: {reason(error)}") from None

    def _save(self) -> None:
        try:
            save(self._layer, self._path, self._unsaved)
        except OSError:
            self.abort()  # pxr reads samples back out of a file that is half written now, and dies
            raise
        self._unsaved = 0


def layer_target(path: str | os.PathLike[str], who: str) -> Path:
    """The path of a layer that can be written. Raises UsdError, FileNotFoundError or IsADirectoryError."""
    target = Path(os.fspath(path))
    if target.suffix not in _EXTENSIONS:
        raise UsdError(
            f"{who}: {target.name!r} has the extension {target.suffix!r}, expected one of {', '.join(_EXTENSIONS)}"
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{who}: folder {str(target.parent)!r} does not exist; make it first")
    if target.is_dir():
        raise IsADirectoryError(f"{who}: {str(target)!r} is a folder; choose a file name")
    return target


def check_metadata(metadata: dict, who: str) -> None:
    """Raise UsdError for what customLayerData cannot hold."""
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str | bool | int | float):
            raise UsdError(
                f"{who} metadata: found {key!r}: {value!r}, expected a str key with a str, bool, int or float"
            )
