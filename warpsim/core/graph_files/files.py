"""`capture_save`, `capture_load`: a graph as a file, and a folder with its machine code beside it.

`NAME.wrp` holds steps and memory, `NAME_modules` a file for each kernel. Files of machine code are named by their
contents and written first; then the graph takes its place at once. So whoever reads finds one graph or the other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ...atomic_file import AtomicFile
from ...errors import ArgumentTypeError, GraphFileError, MissingGraphFileError, instance
from ..runtime.arrays.array import array
from ..runtime.commands.graph import Graph
from ..runtime.devices.device import DeviceLike
from .load import load_graph
from .save import Saved

_SUFFIX = ".wrp"


def capture_save(
    graph: Graph,
    path: str | os.PathLike[str],
    inputs: dict[str, Any] | None = None,
    outputs: dict[str, Any] | None = None,
    source_fallback: bool = False,
) -> None:
    """Write a captured graph into a file, from which `capture_load` makes a graph in any process.

    path: of the file; `.wrp` is appended where it is missing. Machine code goes to the folder `NAME_modules` beside
    it; folders are made. inputs, outputs: arrays of the graph by the names under which `set_param` and `get_param` of
    the loaded graph reach them; both mean the same, and a name in both must be one array. All memory that the graph
    reaches is stored with what it holds now. source_fallback has no effect: no source is stored.

    Graphs may hold launches (adjoints too), copies, fills, `capture_if` and `capture_while`, whatever a tape does in
    a capture, and launches with meshes, grids and volumes by their ids. Raises `GraphFileError` for a graph with other
    work of the host or code of this process alone, for a name of an array that the graph does not reach, and where
    the files cannot be written; `ArgumentTypeError` for what is no graph or no array.
    """
    instance(graph, Graph, "graph")
    if graph.contents is not None:
        raise GraphFileError("a graph out of a file cannot be saved\nhelp: copy its file and the folder beside it")
    file, folder = _places(path)
    saved = Saved(graph, _arrays_by_name(inputs, outputs))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if saved.modules:
            folder.mkdir(exist_ok=True)
        for name, payload in saved.modules.items():
            _write(folder / name, payload)
        _write(file, saved.file)
    except OSError as error:
        raise GraphFileError(f"the graph cannot be written to {file}: {error}") from error


def capture_load(path: str | os.PathLike[str], device: DeviceLike = None) -> Graph:
    """The graph that `capture_save` wrote into a file: a copy of its own, with its own memory.

    device: of the kind that it was captured on, by default the current one. Launch it with `capture_launch`. The file
    holds machine code: load only what you would trust as a library. Raises `MissingGraphFileError` (a
    `FileNotFoundError`) where the file, or one of machine code, is missing, `GraphFileError` for a file that is
    damaged, of another version or for another kind of processor, `DeviceError` for another kind of device.
    """
    file, folder = _places(path)
    cure = f"copy the folder {folder.name} together with the file"
    return load_graph(_read(file, "graph"), lambda name: _read(folder / name, "machine code", cure), device, str(file))


def capture_load_from_bytes(data: Any, modules: Mapping[str, Any] | None = None, device: DeviceLike = None) -> Graph:
    """The same from memory. data: the bytes of the file; modules: those of the files in the folder, by name.

    Raises as `capture_load` does, `TypeError` for what holds no bytes, `ValueError` for a buffer that is not
    contiguous.
    """
    content = _bytes(data, "data")
    if modules is not None and not isinstance(modules, Mapping):
        raise ArgumentTypeError(f"modules is {type(modules).__name__}\nexpected: a mapping from names to bytes")
    files: dict[str, memoryview] = {}
    for name, module in (modules or {}).items():
        if not isinstance(name, str):
            raise ArgumentTypeError(f"a name of modules is {type(name).__name__}\nexpected: a str, the name of a file")
        files[name] = _bytes(module, f"modules[{name!r}]")
    return load_graph(content, partial(_module, files), device, "data")


def _places(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """The file of a graph, and the folder of its machine code."""
    text = os.fspath(instance(path, (str, os.PathLike), "path"))
    stem = text.removesuffix(_SUFFIX)
    if not os.path.basename(stem):
        raise GraphFileError(f"path {text!r} names no file\nexpected: that of a graph, with or without {_SUFFIX}")
    return Path(stem + _SUFFIX), Path(stem + "_modules")


def _arrays_by_name(inputs: dict[str, Any] | None, outputs: dict[str, Any] | None) -> dict[str, array]:
    """The arrays by their names, checked."""
    named: dict[str, array] = {}
    for group, label in ((inputs, "inputs"), (outputs, "outputs")):
        for name, a in instance(group if group is not None else {}, Mapping, label).items():
            instance(name, str, f"a name of {label}")
            if not isinstance(a, array):
                raise ArgumentTypeError(f"{label}[{name!r}] is {type(a).__name__}\nexpected: an array")
            if named.setdefault(name, a) is not a and named[name]._words != a._words:
                raise GraphFileError(f"{name!r} names one array in inputs and another one in outputs")
    return named


def _module(files: dict[str, memoryview], name: str) -> memoryview:
    if name not in files:
        raise MissingGraphFileError(
            f"machine code {name!r} of the graph is missing\n"
            "expected: all files of the folder beside that of the graph in modules, by name"
        )
    return files[name]


def _bytes(value: Any, name: str) -> memoryview:
    """Something that holds bytes as such."""
    try:
        view = memoryview(value)
    except TypeError as error:
        raise ArgumentTypeError(f"{name} is {type(value).__name__}\nexpected: bytes, or a buffer") from error
    if not view.c_contiguous:
        raise ValueError(f"{name} is a buffer with gaps\nexpected: one that is contiguous")
    return view.cast("B") if view.nbytes else memoryview(b"")


def _read(path: Path, what: str, cure: str = "") -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise MissingGraphFileError(f"there is no {what} {path}" + (cure and f"\nhelp: {cure}")) from error
    except OSError as error:
        raise GraphFileError(f"{what} {path} cannot be read: {error}") from error


def _write(path: Path, content: bytes) -> None:
    with AtomicFile(path) as unfinished:
        unfinished.write_bytes(content)
