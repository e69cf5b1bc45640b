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
from ..runtime.commands.graph import Graph
from ..runtime.commands.parameters import Contents, Parameter
from ..runtime.devices.device import Device, DeviceLike, get_device
from ..runtime.launches.handles import Record
from ..runtime.launches.launcher import LaunchCall
from ..runtime.launches.stored import StoredLauncher
from ..runtime.launches.ways import InChunks, InCopies, InGrid, InOrder, Way
from ..runtime.steps.fields import Fields
from ..runtime.steps.kinds import KINDS
from ..runtime.steps.move import Picked
from ..runtime.steps.refusals import damage_error
from ..runtime.steps.step import Step
from ..types.extents import MAX_EXTENT
from .layout import unpack
from .memory import Memory, put_word

_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")
_MOST_FLAGS = (1 << 64) - 1
_MOST_NESTED = 64  # branches in branches

Module = Callable[[str], bytes | memoryview]
"""The contents of a file of machine code, by its name."""


def load_graph(data: bytes | memoryview, module: Module, device: DeviceLike, where: str) -> Graph:
    """The graph in the bytes of a file. Raises `GraphFileError`, `DeviceError` for a device of another kind."""
    value, contents = unpack(data, where)
    try:
        return Loader(Fields(value), contents, module, get_device(device), where).whole
    except (GraphFileError, DeviceError, MemoryError):
        raise
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise damage_error(where, f"not what wp.capture_save writes: {error}") from error


class Loader:
    """Makes the graph of a description."""

    def __init__(self, description: Fields, contents: memoryview, module: Module, device: Device, where: str):
        self.device, self.where, self.file = device, where, module
        self._check_device(description)
        self.contents = Contents()
        self.modules = [self._module(part) for part in description.parts("modules")]
        self.memory = Memory(description, contents, device)
        self.records = [self._record(part) for part in description.parts("structures")]
        self.depth = 0
        steps = self._steps(description, "steps")
        self.contents.named = {part.text("name"): self._param(part) for part in description.parts("params")}
        self.contents.memory = self.memory, self.records
        self.whole = Graph(device, steps, self.contents)

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

    def _module(self, part: Fields) -> Any:
        """Machine code of a kernel."""
        name = part.text("file")
        if not _FILE.fullmatch(name):
            raise damage_error(part.place, f"machine code in {name!r}, and no name of a file")
        payload = bytes(self.file(name))
        if sha256(payload).digest() != part.content("sha256"):
            raise GraphFileError(
                f"machine code {name!r} of {self.where} has a wrong checksum\n"
                "expected: the file that was saved with it\nhelp: it was altered: copy both again"
            )
        try:
            return self.device.deserialize(payload)
        except (CompilerError, DeviceError) as error:
            raise GraphFileError(f"machine code {name!r} of {self.where} does not run here: {error}") from error

    def _record(self, part: Fields) -> Record:
        content = self.memory.block(part.content("record"), part)
        record = Record(len(content), part.integer("digest"), self.device)
        record.take(bytes(content))
        return record

    def _structure(self, part: Fields, number: int) -> Record:
        if number >= len(self.records):
            raise damage_error(part.place, f"about structure {number} of {len(self.records)}")
        return self.records[number]

    def _param(self, part: Fields) -> Parameter:
        memory = self.memory.view(part.part("view"))
        shape = memory.shape[: part.integer("rank", high=memory.ndim)]
        return Parameter(part.text("name"), memory, part.text("element"), shape)

    # ----- steps ------------------------------------------------------------------------------

    def _steps(self, part: Fields, name: str) -> list[Step]:
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise damage_error(part.place, f"nested more than {_MOST_NESTED} times")
        steps = [self._step(step) for step in part.parts(name)]
        self.depth -= 1
        return steps

    def _step(self, part: Fields) -> Step:
        kind = part.text("do")
        if kind not in KINDS:
            raise damage_error(part.place, f"a step of the kind {kind!r}")
        return KINDS[kind](part, self)

    # ----- what steps ask ---------------------------------------------------------------------

    def graph(self, part: Fields, name: str) -> Graph:
        """A graph of steps in a step."""
        return Graph(self.device, self._steps(part, name), self.contents)

    def launch(self, part: Fields) -> LaunchCall:
        """A launch of machine code that the file brought along."""
        block = self.memory.block(part.content("block"), part)
        if len(block) < HEADER_WORDS * WORD:
            raise damage_error(part.place, f"a launch with {len(block)} bytes of arguments")
        for at, number in part.pairs("ids"):
            put_word(block, at, self._structure(part, number).id, part)
        code = self.modules[part.integer("module", high=len(self.modules) - 1)]
        way, checked = self._way(part, len(block)), part.flag("checked")
        launcher = StoredLauncher(part.text("kernel"), code, self.device, way, checked)
        dim, total = tuple(part.integers("dim")), part.integer("total", high=MAX_EXTENT**4)
        return LaunchCall(launcher, dim[0] if len(dim) == 1 else dim, total, bytes(block), ())

    def publication(self, part: Fields) -> tuple[Record, bytes]:
        """A structure, and what kernels are to see of it."""
        record = self._structure(part, part.integer("structure"))
        content = self.memory.block(part.content("record"), part)
        if len(content) != record.content.size:
            raise damage_error(part.place, f"{len(content)} bytes for a structure of {record.content.size}")
        return record, bytes(content)

    def elements(self, part: Fields) -> Any:
        """Memory, or elements of it that index tables pick."""
        memory = self.memory.view(part)
        if "tables" not in part:
            return memory
        tables = [None if p is None else self.memory.view(p) for p in part.optional_parts("tables")]
        if len(tables) > memory.ndim:
            raise damage_error(part.place, f"{len(tables)} index tables for {counted(memory.ndim, 'dimension')}")
        return Picked(memory, tables)

    # ----- launches ---------------------------------------------------------------------------

    def _way(self, part: Fields, size: int) -> Way:
        kind = part.text("way")
        if self.device.has_stream != (kind == "grid"):
            raise damage_error(part.place, f"a launch on {self.device} in the way {kind!r}")
        if kind == "grid":
            return InGrid(part.integer("block_dim", low=1), part.integer("max_blocks"))
        if kind == "order":
            return InOrder()
        chunk, flags = part.integer("size", low=1), part.integer("flags", high=_MOST_FLAGS)
        if kind == "chunks":
            return InChunks(chunk, flags)
        if kind == "copies":
            return InCopies(self._copies(part, size), chunk, flags, part.integer("waves", low=1, high=2))
        raise damage_error(part.place, f"a launch in the way {kind!r}")

    def _copies(self, part: Fields, size: int) -> list[tuple[int, Any]]:
        """The arrays that chunks have copies of, and the words of the argument block that point at them."""
        most = size // WORD - 1
        return [(p.integer("word", high=most), self.memory.view(p.part("view"))) for p in part.parts("copies")]
