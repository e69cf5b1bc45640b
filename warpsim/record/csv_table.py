"""`CsvTable`: a time series as text, a line for each frame, which is on its way to the disk when the frame ends."""

from __future__ import annotations

import csv
import io
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .body import Frame
from .errors import RecordError
from .series import check_follows
from .table_row import check_columns


class CsvTable:
    """statistics.csv, or another file, of the columns frame, time [s] and the numbers of the recorder.

    path: in the folder of the recording unless it says otherwise; a pipe or a device, such as "/dev/stdout", is written
    as it is. Floats have as many digits as they need to be read back exactly. A missing number is an empty field. A
    last line without an end is not whole: the program was killed while it wrote.
    """

    def __init__(self, path: str | os.PathLike[str] = "statistics.csv"):
        self.path = path

    def begin(self, folder: Path, first_frame: int) -> None:
        """See `Format`. Raises `RecordError` for a table that ends before `first_frame`."""
        self._target = folder / self.path
        self._columns: list[str] | None = None
        self._size = 0
        there = self._target.exists()
        self._is_file = not there or stat.S_ISREG(self._target.stat().st_mode)
        if first_frame and self._is_file:
            self._keep(self._target.read_bytes() if there else b"", first_frame)
        # without a buffer: a line that could not be written is not tried again when the file is closed
        self._file = open(self._target, "r+b" if self._size else "wb", buffering=0)
        if self._size:
            self._file.truncate(self._size)
            self._file.seek(self._size)

    def write(self, frame: Frame) -> None:
        """See `Format`."""
        first = self._columns is None
        if self._columns is None:
            self._columns = list(frame.row)
        check_columns(frame.row, self._columns, frame.number)
        rows = [["frame", "time", *self._columns]] if first else []
        numbers = [frame.number, frame.time, *(frame.row[name] for name in self._columns)]
        self._append(_text([*rows, [_shortest(x) for x in numbers]]))

    def close(self) -> None:
        """See `Format`."""
        self._file.close()

    def _append(self, data: bytes) -> None:
        """Write all of it, or leave the file as it was."""
        left = memoryview(data)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            if self._is_file:
                with suppress(OSError):
                    self._file.truncate(self._size)
            raise
        self._size += len(data)

    def _keep(self, data: bytes, first_frame: int) -> None:
        """Find the columns, and how many bytes the frames before `first_frame` take."""
        lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
        head = next(csv.reader([lines[0].decode()])) if lines else []
        if lines and head[:2] != ["frame", "time"]:
            raise RecordError(f"{str(self._target)!r} begins with {lines[0].decode()!r}\nexpected: frame,time,...")
        rows = [line for line in lines[1:] if int(line.split(b",", 1)[0]) < first_frame]
        there = int(rows[-1].split(b",", 1)[0]) + 1 if rows else 0
        check_follows(there, first_frame, f"the table {str(self._target)!r}")
        self._columns, self._size = head[2:], len(lines[0]) + sum(map(len, rows))


def _text(rows: Sequence[Sequence[str]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def _shortest(x: Any) -> str:
    return "" if x is None else repr(x)
