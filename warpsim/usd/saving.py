"""Layers saved, with the reason that the system gives where they cannot be."""

import errno
import os
from pathlib import Path

from pxr import Sdf, Tf

from warpsim.usd.checks import reason

_PIECE = 1 << 20
_TEXT = 3  # bytes of text that a byte of an array takes, at least


def save(layer: Sdf.Layer, path: Path, size: int = 0) -> None:
    """Save a layer that is to be `path`, of at least `size` bytes. Raises OSError.

    pxr reads what it has written, and calls a layer corrupt for which there was no room.
    """
    try:
        layer.Save()
    except Tf.ErrorException as error:
        if layer.realPath:
            _try_room(Path(layer.realPath), path, size)
        raise OSError(f"cannot write {str(path)!r}: {reason(error)}") from None


def _try_room(beside: Path, path: Path, size: int) -> None:
    """Write and remove as much as a layer takes; OSError says why that cannot be."""
    room = beside.with_name(f"{beside.name}.room")
    try:
        with open(room, "wb") as file:
            for _ in range(1 + _TEXT * size // _PIECE):
                file.write(bytes(_PIECE))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        number = error.errno or errno.EIO
        raise OSError(number, f"cannot write: {os.strerror(number)}", str(path)) from None
    finally:
        room.unlink(missing_ok=True)
