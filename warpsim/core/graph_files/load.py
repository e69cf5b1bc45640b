"""A graph out of the description in a file: every value is checked before it is used.

What is checked keeps damaged files from being run, and says what is wrong. Machine code is taken as it is: it can do
whatever it likes, so a file must come from somebody whom one would trust with a library.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from ...errors import CompilerError, DeviceError, GraphFileError, counted
from ..emit.layout import HEADER_WORDS, WORD
from ..runtime.devices.device import Device, get_device
from ..runtime.launches.handles import Record
from ..runtime.launches.ways import InChunks, InCopies, InGrid, InOrder, Way
from ..types.extents import MAX_EXTENT
from . import operations
from .fields import Fields
from .layout import unpack
from .loaded import LoadedGraph, Parameter
from .memory import Memory, put_word
from .refusals import damaged
from .steps import (
    Batches,
    LoadedBranch,
    LoadedKernel,
    LoadedLaunch,
    LoadedLoop,
    LoadedMove,
    LoadedOperation,
    LoadedPublication,
    LoadedRepeat,
    Named,
    Picked,
)

_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")
_MOST_FLAGS = (1 << 64) - 1
_MOST_NESTED = 64  # branches in branches

Module = Callable[[str], bytes | memoryview]
"""The contents of a file of machine code, by its name."""


def load_graph(data: bytes | memoryview, module: Module, device: Any, where: str) -> LoadedGraph:
    """The graph in the bytes of a file. Raises `GraphFileError`, `DeviceError` for a device of another kind."""
    value, contents = unpack(data, where)
    try:
        return Loader(Fields(value), contents, module, get_device(device), where).graph
    except (GraphFileError, DeviceError, MemoryError):
        raise
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise damaged(where, f"not what wp.capture_save writes: {error}") from error


class Loader:
    """Makes the graph of a description."""

    def __init__(self, description: Fields, contents: memoryview, module: Module, device: Device, where: str):
        self.device, self.where, self.module = device, where, module
        self._check_device(description)
        self.kernels = [self._kernel(part) for part in description.parts("modules")]
        self.memory = Memory(description, contents, device)
        self.records = [self._record(part) for part in description.parts("structures")]
        self.depth = 0
        steps = self._steps(description, "steps")
        params = {part.text("name"): self._param(part) for part in description.parts("params")}
        self.graph = LoadedGraph(device, steps, params, (self.memory, self.records))

    def _check_device(self, description: Fields) -> None:
        kind = description.text("device")
        if kind != self.device.kind:
            raise DeviceError(
                f"{self.where} is a graph for {kind!r}, and it is loaded on {str(self.device)!r}\n"
                f"help: wp.capture_load(path, device={kind!r})"
            )
        reason = self.device.unmet(description.part("machine").value)
        if reason:
            raise GraphFileError(
                f"{self.where} holds machine code of another kind of machine: {reason}\n"
                "help: capture and save it on a machine like this one"
            )

    def _kernel(self, part: Fields) -> LoadedKernel:
        name, key = part.text("file"), part.text("kernel")
        if not _FILE.fullmatch(name):
            raise damaged(part.place, f"machine code in {name!r}, and no name of a file")
        payload = bytes(self.module(name))
        if sha256(payload).digest() != part.content("sha256"):
            raise GraphFileError(
                f"machine code {name!r} of {self.where} has a wrong checksum\n"
                "expected: the file that was saved with it\nhelp: it was altered: copy both again"
            )
        try:
            return LoadedKernel(Named(key), self.device.deserialize(payload), self.device)
        except (CompilerError, DeviceError) as error:
            raise GraphFileError(f"machine code {name!r} of {self.where} does not run here: {error}") from error

    def _record(self, part: Fields) -> Record:
        content = self.memory.block(part.content("record"), part)
        record = Record(len(content), part.integer("digest"), self.device)
        LoadedPublication(record, bytes(content))()
        return record

    def _structure(self, part: Fields, number: int) -> Record:
        if number >= len(self.records):
            raise damaged(part.place, f"about structure {number} of {len(self.records)}")
        return self.records[number]

    def _param(self, part: Fields) -> Parameter:
        memory = self.memory.view(part.part("view"))
        shape = memory.shape[: part.integer("rank", high=memory.ndim)]
        return Parameter(part.text("name"), memory, part.text("element"), shape)

    # ----- steps ------------------------------------------------------------------------------

    def _steps(self, part: Fields, name: str) -> Batches:
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise damaged(part.place, f"nested more than {_MOST_NESTED} times")
        steps = [self._step(step) for step in part.parts(name)]
        self.depth -= 1
        return Batches(steps)

    def _step(self, part: Fields) -> Any:
        kind = part.text("do")
        if kind not in _MAKERS:
            raise damaged(part.place, f"a step of the kind {kind!r}")
        return _MAKERS[kind](self, part)

    def _make_launch(self, part: Fields) -> LoadedLaunch:
        block = self.memory.block(part.content("block"), part)
        if len(block) < HEADER_WORDS * WORD:
            raise damaged(part.place, f"a launch with {len(block)} bytes of arguments")
        for at, number in part.pairs("ids"):
            put_word(block, at, self._structure(part, number).id, part)
        number = part.integer("module", high=len(self.kernels) - 1)
        kernel = self.kernels[number]._replace(kernel=Named(part.text("kernel")))
        dim, total = tuple(part.integers("dim")), part.integer("total", high=MAX_EXTENT**4)
        return LoadedLaunch(kernel, self._way(part, len(block)), bytes(block), total, dim, part.flag("checked"))

    def _way(self, part: Fields, size: int) -> Way:
        kind = part.text("way")
        if self.device.has_stream != (kind == "grid"):
            raise damaged(part.place, f"a launch on {self.device} in the way {kind!r}")
        if kind == "grid":
            return InGrid(part.integer("block_dim", low=1), part.integer("max_blocks"))
        if kind == "order":
            return InOrder()
        chunk, flags = part.integer("size", low=1), part.integer("flags", high=_MOST_FLAGS)
        if kind == "chunks":
            return InChunks(chunk, flags)
        if kind == "copies":
            return InCopies(self._copies(part, size), chunk, flags, part.integer("waves", low=1, high=2))
        raise damaged(part.place, f"a launch in the way {kind!r}")

    def _copies(self, part: Fields, size: int) -> list[tuple[int, Any]]:
        """The arrays that chunks have copies of, and the words of the argument block that point at them."""
        most = size // WORD - 1
        return [(p.integer("word", high=most), self.memory.view(p.part("view"))) for p in part.parts("copies")]

    def _make_loop(self, part: Fields) -> LoadedLoop:
        launches = [self._make_launch(p) for p in part.parts("launches")]
        if not launches or self.device.has_stream or any(a.total != launches[0].total for a in launches):
            raise damaged(part.place, "a loop over launches that have not the same threads")
        return LoadedLoop(launches, part.integer("strip", low=1), part.integer("size", low=1))

    def _make_move(self, part: Fields) -> LoadedMove:
        return LoadedMove(self._elements(part.part("to")), self._elements(part.part("from")), part.flag("adds"))

    def _elements(self, part: Fields) -> Any:
        memory = self.memory.view(part)
        if "tables" not in part:
            return memory
        tables = [None if p is None else self.memory.view(p) for p in part.optional_parts("tables")]
        if len(tables) > memory.ndim:
            raise damaged(part.place, f"{len(tables)} index tables for {counted(memory.ndim, 'dimension')}")
        return Picked(memory, tables)

    def _make_operation(self, part: Fields) -> LoadedOperation:
        return LoadedOperation(operations.read_operation(part, self.memory, self.device))

    def _make_transpose(self, part: Fields) -> LoadedOperation:
        return LoadedOperation(operations.read_transpose(part, self.memory, self.device))

    def _make_publish(self, part: Fields) -> LoadedPublication:
        record = self._structure(part, part.integer("structure"))
        content = self.memory.block(part.content("record"), part)
        if len(content) != record.content.size:
            raise damaged(part.place, f"{len(content)} bytes for a structure of {record.content.size}")
        return LoadedPublication(record, bytes(content))

    def _make_branch(self, part: Fields) -> LoadedBranch:
        return LoadedBranch(self._condition(part, "if"), self._steps(part, "then"), self._steps(part, "else"))

    def _make_repeat(self, part: Fields) -> LoadedRepeat:
        return LoadedRepeat(self._condition(part, "while"), self._steps(part, "steps"))

    def _condition(self, part: Fields, name: str) -> Any:
        memory = self.memory.view(part.part(name))
        if not memory.size:
            raise damaged(part.place, "a condition without a number")
        return memory


_MAKERS: dict[str, Callable[[Loader, Fields], Any]] = {
    "launch": Loader._make_launch,
    "loop": Loader._make_loop,
    "move": Loader._make_move,
    "operation": Loader._make_operation,
    "transpose": Loader._make_transpose,
    "publish": Loader._make_publish,
    "branch": Loader._make_branch,
    "repeat": Loader._make_repeat,
}
"""What makes a step, by the word for it in the description."""
