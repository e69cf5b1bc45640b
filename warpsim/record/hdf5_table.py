"""`Hdf5Table`: a time series as one dataset in an HDF5 file, which is replaced whole in each frame.

HDF5 rather than Parquet: h5py is 5 MB to download, pyarrow 55, and both formats need their last bytes to be readable.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_file import AtomicFile
from ..errors import MissingPackageError
from .body import Frame
from .errors import RecordError
from .series import check_follows
from .table_row import check_columns

_DATASET = "statistics"


class Hdf5Table:
    """statistics.h5, with a dataset "statistics" of the columns frame, time [s] and the numbers of the recorder.

    All numbers are float64, but for that of the frame; a missing one is NaN. The file is written anew with every frame,
    so that it is whole at any moment: for hundreds of thousands of frames, `CsvTable` is faster.

    Raises `MissingPackageError` without the package h5py.
    """

    def __init__(self) -> None:
        try:
            import h5py  # noqa: PLC0415 - optional
        except ImportError as error:
            raise MissingPackageError(
                "tables in HDF5 need the package h5py, which is not installed\n"
                "help: pip install 'warpsim[hdf5]', or use CsvTable"
            ) from error
        self._h5py: Any = h5py

    def begin(self, folder: Path, first_frame: int) -> None:
        """See `Format`. Raises `RecordError` for a table that ends before `first_frame`."""
        self._target = folder / "statistics.h5"
        self._rows: np.ndarray | None = None
        self._count = 0
        if first_frame:
            self._rows = self._read()
            self._count = int(np.searchsorted(self._rows["frame"], first_frame))
            there = int(self._rows["frame"][self._count - 1]) + 1 if self._count else 0
            check_follows(there, first_frame, f"the table {str(self._target)!r}")

    def write(self, frame: Frame) -> None:
        """See `Format`."""
        row: Mapping[str, Any] = {"frame": frame.number, "time": frame.time, **frame.row}
        if self._rows is None:
            self._rows = np.empty(16, [(name, "<i8" if name == "frame" else "<f8") for name in row])
        check_columns(frame.row, self._rows.dtype.names[2:], frame.number)  # type: ignore[index]
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        for name, value in row.items():
            self._rows[name][self._count] = np.nan if value is None else value
        content = io.BytesIO()  # what HDF5 says of a full disk does not name it
        with self._h5py.File(content, "w") as file:
            file.create_dataset(_DATASET, data=self._rows[: self._count + 1])
        with AtomicFile(self._target, durable=False) as path:
            path.write_bytes(content.getbuffer())
        self._count += 1

    def close(self) -> None:
        """See `Format`."""

    def _read(self) -> np.ndarray:
        try:
            with self._h5py.File(io.BytesIO(self._target.read_bytes()), "r") as file:
                return np.asarray(file[_DATASET][:])
        except (FileNotFoundError, KeyError, OSError) as error:
            raise RecordError(f"{str(self._target)!r} holds no table to go on with\nreason: {error}") from None
