"""Recordings: what a loop computes, written frame by frame into files that other programs open.

    with Recorder("out/hopper", [VtkSeries(), CsvTable()]) as record:
        for frame in range(600):
            solver.step(state, state, control, dt=dt)
            record.frame(state, frame * dt, control=control, numbers=solver.statistics(state))

A format is an object: `VtkSeries` for ParaView, `PlySequence`, `CsvTable`, `Hdf5Table`, `UsdFile`, `FilmFile`. Frames
go to the disk as they come; a program that is killed leaves files that open, and a recording can be gone on with.
"""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = {
    "Body": "body",
    "CsvTable": "csv_table",
    "FilmFile": "film",
    "Hdf5Table": "hdf5_table",
    "PlySequence": "ply",
    "RecordError": "errors",
    "RecordFileError": "errors",
    "Recorder": "recorder",
    "UsdFile": "usd",
    "VtkSeries": "vtk",
}
"""The module of each name: a recording in one format loads no package that another one needs."""

__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    return value
