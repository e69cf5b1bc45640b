"""Numbered files, one a frame: their names, and what an earlier recording has left of them."""

from __future__ import annotations

import re
from pathlib import Path

from .errors import RecordError

_NUMBERED = re.compile(r"(?P<name>\w+)_(?P<frame>\d{6,})\.\w+", re.ASCII)


def file_name(name: str, frame: int, ending: str) -> str:
    """Of a body in a frame."""
    return f"{name}_{frame:06}{ending}"


def clear_from(folder: Path, first_frame: int, endings: tuple[str, ...]) -> None:
    """Make the folder of a series, and remove files of frames from `first_frame` on, and those that a crash left."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.suffix in endings and (path.name.startswith(".") or frame_of(path.name) >= first_frame):
            path.unlink()


def frame_of(name: str) -> int:
    """The number of a frame in the name of its file; -1 for other files."""
    match = _NUMBERED.fullmatch(name)
    return int(match["frame"]) if match else -1


def check_follows(there: int, first_frame: int, what: str) -> None:
    """Raise `RecordError` if files end before the frame that comes next. there: how many frames they have."""
    if there < first_frame:
        raise RecordError(
            f"{what} ends before frame {there}, and first_frame is {first_frame}\nexpected: no gap\n"
            f"help: go on from frame {there} or an earlier one, or record into another folder"
        )
