"""Maps of a field as files for other programs: NumPy arrays, OpenEXR images, 16-bit PNG images."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from ...arguments import checked
from ...atomic_file import AtomicFile
from ...errors import WarpsimError
from .field import Field

if TYPE_CHECKING:
    from ...core.runtime.arrays.array import array

_SUFFIXES = (".npy", ".exr", ".png")


@checked
def write_maps(path: str | os.PathLike[str], field: Field, foam: array | None = None) -> Path:
    """Write displacement, height and foam of a field; the suffix of `path` says how.

    .npy: float32 (cells, cells, 3 or 4), x and y displacement and height [m], and foam. .exr: the same as channels R,
    G, B and A of 32-bit floats. .png: the height alone as 16-bit grey, from its lowest to its highest, which the file's
    text chunk `range` tells [m]. The first axis is x in files too: rows of an image have one x. OpenEXR needs the
    package `OpenEXR` (`pip install "warpsim[exr]"`). Raises `WarpsimError` for another suffix and a missing package.
    """
    target = Path(path)
    if target.suffix not in _SUFFIXES:
        raise WarpsimError(f"{target.name!r} ends in {target.suffix!r}\nexpected: one of {', '.join(_SUFFIXES)}")
    layers = [field.displacement.numpy(), field.height.numpy()[..., None]]
    if foam is not None:
        layers.append(foam.numpy()[..., None])
    values = np.concatenate(layers, axis=-1).astype(np.float32)
    with AtomicFile(target) as path:
        {".npy": _write_numpy, ".exr": _write_exr, ".png": _write_png}[target.suffix](path, values)
    return target


def _write_numpy(path: Path, values: np.ndarray) -> None:
    np.save(path, values)


def _write_exr(path: Path, values: np.ndarray) -> None:
    try:
        exr = importlib.import_module("OpenEXR")
    except ImportError as error:
        raise WarpsimError(f"{path.name} needs OpenEXR: {error}\nhelp: pip install 'warpsim[exr]'") from error
    names = "RGBA"[: values.shape[-1]]
    channels = {names: np.ascontiguousarray(values)}
    header = {"compression": exr.ZIP_COMPRESSION, "type": exr.scanlineimage}
    with exr.File(header, channels) as image:
        image.write(str(path))


def _write_png(path: Path, values: np.ndarray) -> None:
    notes = PngInfo()
    height = values[..., 2].astype(np.float64)
    low, high = float(height.min()), float(height.max())
    grey = np.round((height - low) / max(high - low, 1e-30) * 65535.0).astype(np.uint16)
    notes.add_text("range", f"{low!r} {high!r}")
    Image.fromarray(grey).save(path, pnginfo=notes)
