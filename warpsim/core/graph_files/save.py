"""The description of a graph: its steps, with every address as a place in memory that the file brings along.

What a file holds is machine code, not the programs: it is what the cache on disk holds already, a loading process
needs neither compiler nor front end for it, and the text of programs is for people and cannot be read back. The price
is that the code runs on the kind of processor that it was made for; the description says which.

The description is an object with

    device, machine     the kind of device, and what its code asks of another one (`Device.requirements`)
    modules             files of machine code: name, sha256, kernel
    regions             memory: bytes, phase (see `regions.PHASE`), host, and `at`, where its contents begin; without
                        `at` it holds zeros
    patches             addresses in memory: pairs of places, of the address and of what it leads to
    structures          what kernels reach by ids: digest, record (hexadecimal), points
    steps               in order, by "do" (see `steps.kinds`), each as its class writes and reads it
    params              named arrays: name, view, element, rank (dimensions that are not of an element)

A place is [region, offset, bytes], a view {place, shape, strides, dtype}, with `tables` where index tables pick its
elements. `points` and `ids` are pairs: where an address, or an id, stands in bytes, and the place or the structure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import numpy as np

from ...errors import CompilerError, GraphFileError
from ..emit.layout import WORD, argument_offsets
from ..passes.simplify.handle_params import resolving_calls, with_handle_params
from ..runtime.arrays.array import array
from ..runtime.arrays.host_memory import TypedMemory, record_of
from ..runtime.arrays.indexed import indexedarray
from ..runtime.commands.graph import Graph
from ..runtime.devices.device import Device, device_of
from ..runtime.devices.memory_range import span_of
from ..runtime.launches.guards import arrays_in
from ..runtime.launches.handles import Handle
from ..runtime.launches.launcher import LaunchCall
from ..runtime.launches.ways import InCopies, InGrid, InOrder, Way
from ..runtime.steps.refusals import unsavable
from ..runtime.steps.step import Json
from ..types import structs
from ..types.handles import LIVE, digest, structure_name
from ..types.scalars import is_bfloat16
from ..types.structs import full_name
from .layout import pack
from .pointers import Pointer, elements, pointers, pointers_of_arguments
from .regions import PHASE, Place, Regions, bytes_at, space_of


class Saved:
    """A graph as the bytes of its file, and its machine code by the names of files."""

    def __init__(self, graph: Graph, named: dict[str, array]):
        self.device: Device = graph.device
        self.regions = Regions(self.device)
        self.modules: dict[str, bytes] = {}
        self._listed: dict[bytes, int] = {}  # modules by digest
        self._code: dict[int, tuple[Any, int]] = {}  # launchers, which are held here, and their modules
        self._entries: list[Json] = []
        self._structures: dict[int, int] = {}
        self._records: list[Json] = []
        self._nested: set[tuple[Any, ...]] = set()
        self._patches: list[list[Place]] = []
        self._viewed: list[Any] = []  # constants of steps may be nobody else's, and must be there until they are read
        steps = self.steps(graph)
        params = [self._param(name, a) for name, a in named.items()]
        self.regions.merge()
        regions, contents = self._regions()
        description = {
            "device": self.device.kind,
            "machine": self.device.requirements(),
            "modules": self._entries,
            "regions": regions,
            "patches": self._patches,
            "structures": self._records,
            "steps": steps,
            "params": params,
        }
        text = json.dumps(description, default=self._at, separators=(",", ":"))
        self.file = pack(text.encode(), contents)

    def _at(self, place: Place) -> list[int]:
        return self.regions.locate(place)

    def _regions(self) -> tuple[list[Json], bytes]:
        parts: list[bytes] = []
        entries, end = [], 0
        for region in self.regions.merged:
            content = self.regions.contents(region)
            entry = {"bytes": len(content), "phase": region.low % PHASE, "host": region.on_host}
            if content.strip(b"\0"):
                entry["at"] = end
                parts.append(content)
                end += len(content)
            entries.append(entry)
        return entries, b"".join(parts)

    # ----- what steps ask ---------------------------------------------------------------------

    def steps(self, graph: Graph | None) -> list[Json]:
        """The steps of a graph; those of no graph are none."""
        if graph is not None and graph.contents is not None:
            raise unsavable("a graph out of a file, as a branch or the body of a loop")
        return [part for piece in (graph.pieces() if graph else ()) for part in piece.step.save(self)]

    def launch(self, call: LaunchCall) -> Json:
        """Machine code and arguments of a launch, and the way in which it runs."""
        launcher = call.launcher
        if launcher.code is None:
            what = f"a launch of kernel {launcher.kernel.key!r} on {launcher.device}, which has no machine code"
            raise unsavable(what, 'capture it on "cpu" or "cuda"')
        if launcher.device is not self.device:
            what = f"a launch of kernel {launcher.kernel.key!r} on {launcher.device} in a graph of {self.device}"
            raise unsavable(what, f"capture it with device={str(launcher.device)!r}")
        self._check_reach(call)
        return {
            "module": self._module(launcher),
            "kernel": launcher.kernel.key,
            "total": call.total,
            "dim": list(call.dim) if isinstance(call.dim, tuple) else [call.dim],
            "block": call.block.hex(),
            "points": self._points(pointers_of_arguments(list(launcher.types), call.block)),
            "ids": self._ids(call),
            "checked": launcher.reports,
            **self._way(launcher.way_of(call)),
        }

    def publication(self, record: Handle, content: structs.Struct) -> Json:
        """A structure, and what kernels are to see of it."""
        return {"structure": self._structure(record), **self._record(content)}

    # ----- launches ---------------------------------------------------------------------------

    def _check_reach(self, call: LaunchCall) -> None:
        """Raise for memory that cannot be brought along."""
        launcher = call.launcher
        name, fn = launcher.kernel.key, launcher.program.fn
        if any(map(_is_in_pieces, launcher.types)):
            raise unsavable(f"kernel {name!r}, whose arrays lie in pieces")
        for a in arrays_in(call.args):
            if a.device.memory_space != self.device.memory_space:
                space_of(a.device, self.device, f"an argument of kernel {name!r}")
                raise unsavable(f"kernel {name!r}, which uses memory of {a.device} on {self.device}")
        hidden = resolving_calls(with_handle_params(fn, launcher.program.handle_params))
        if hidden:
            what = structure_name(hidden[0].results[0].type)
            raise unsavable(
                f"kernel {name!r}, which takes the id of a {what} out of memory",
                "pass the id to the kernel, or in a field of a struct that is passed",
            )

    def _way(self, way: Way) -> Json:
        """How a launch runs."""
        if isinstance(way, InCopies):
            copies = [{"word": word, "view": self.view(target)} for word, target in way.targets]
            return {"way": "copies", "copies": copies, "size": way.chunk, "flags": way.flags, "waves": way.waves}
        if isinstance(way, InGrid):
            return {"way": "grid", "block_dim": way.block_dim, "max_blocks": way.max_blocks}
        return {"way": "order"} if isinstance(way, InOrder) else {"way": "chunks", "size": way.size, "flags": way.flags}

    def _module(self, launcher: Any) -> int:
        """The number of the machine code of a launcher."""
        if id(launcher) not in self._code:
            try:
                payload = launcher.serialize_code()
            except CompilerError as error:
                raise unsavable(str(error)) from error
            self._code[id(launcher)] = launcher, self._file(launcher.kernel.key, payload)
        return self._code[id(launcher)][1]

    def _file(self, kernel: str, payload: bytes) -> int:
        key = sha256(payload).digest()
        if key not in self._listed:
            self._listed[key] = len(self._entries)
            name = f"{_ascii(kernel)}_{key.hex()[:16]}.wscode"
            self._entries.append({"file": name, "sha256": key.hex(), "kernel": kernel})
            self.modules[name] = payload
        return self._listed[key]

    # ----- addresses --------------------------------------------------------------------------

    def _points(self, pointers: Iterable[Pointer]) -> list[list[Any]]:
        """Addresses in bytes: where they stand there, and what they lead to."""
        return [[p.at, self._reach(p)] for p in pointers]

    def _reach(self, pointer: Pointer) -> Place:
        place = Place(pointer.address, pointer.size, False)
        self.regions.add(place)
        if pointer.element is not None and place.size:
            self._follow(pointer)
        return place

    def _follow(self, pointer: Pointer) -> None:
        """The arrays that elements in memory refer to are reached, too."""
        key = pointer[1:]
        if key in self._nested:
            return
        self._nested.add(key)
        size = structs.numpy_dtype(pointer.element).itemsize
        for address in elements(pointer):
            content = bytes_at(address, size, self.device)
            for inner in pointers(pointer.element, content, 0):
                self._patches.append([Place(address + inner.at, WORD, False), self._reach(inner)])

    def view(self, memory: np.ndarray | TypedMemory) -> Json:
        """Memory as NumPy sees it, or elements of it that index tables pick."""
        if isinstance(memory, indexedarray):
            tables = [None if t is None else self.view(t._data) for t in memory.indices]
            return {**self.view(memory.data._data), "tables": tables}
        if isinstance(memory, TypedMemory):
            self._follow_elements(memory._array)
            return self.view(memory._array._data)
        on_host = space_of(device_of(memory), self.device, "memory that a step copies")
        place = Place(memory.ctypes.data, span_of(memory.shape, memory.strides, memory.itemsize), on_host)
        self.regions.add(place)
        self._viewed.append(memory)
        kind = _dtype_text(memory.dtype)
        return {"place": place, "shape": list(memory.shape), "strides": list(memory.strides), "dtype": kind}

    def _follow_elements(self, a: array) -> None:
        if structs.holds_arrays(a.dtype) and a.size:
            size = span_of(a.shape, a.strides, structs.numpy_dtype(a.dtype).itemsize)
            self._follow(Pointer(0, int(a._data.ctypes.data), size, a.dtype, a.shape, a.strides))

    # ----- structures -------------------------------------------------------------------------

    def _ids(self, call: LaunchCall) -> list[list[int]]:
        """The ids in a block: where they stand, and the structures that they stand for."""
        launcher = call.launcher
        starts, _ = argument_offsets(list(launcher.types))
        ids = []
        for r in launcher.program.handle_params:
            at, t = starts[r.position], launcher.types[r.position]
            for name in r.path:
                at, t = at + structs.offsets(t)[name], t.fields[name]
            number = int.from_bytes(call.block[at : at + WORD], "little")
            if number:
                handle = LIVE.get(number)
                if handle is None:
                    what = f"a {structure_name(r.type)} that is closed"
                    raise unsavable(f"a launch of kernel {launcher.kernel.key!r} with {what}")
                ids.append([at, self._structure(handle)])
        return ids

    def _structure(self, handle: Handle) -> int:
        """The number of a structure."""
        if handle.id not in self._structures:
            space_of(handle.device, self.device, f"a {structure_name(handle.type)}")
            self._structures[handle.id] = len(self._records)
            self._records.append({"digest": digest(handle.type)})
            self._records[self._structures[handle.id]].update(self._record(handle.data))
        return self._structures[handle.id]

    def _record(self, data: structs.Struct) -> Json:
        """What kernels see of a structure."""
        content = record_of(data, {}).tobytes()
        return {"record": content.hex(), "points": self._points(pointers(type(data), content, 0))}

    # ----- names ------------------------------------------------------------------------------

    def _param(self, name: str, a: array) -> Json:
        size = span_of(a._data.shape, a._data.strides, a._data.itemsize)
        place = Place(int(a._data.ctypes.data), size, space_of(a.device, self.device, f"array {name!r}"))
        if a.size and not self.regions.holds(place):
            raise GraphFileError(
                f"array {name!r} is none that the graph reaches\nexpected: an array of its launches and copies, or a "
                "view of one\nhelp: name the very array that was passed in the capture, not a copy of it"
            )
        if structs.holds_arrays(a.dtype):
            raise GraphFileError(f"array {name!r} refers to other arrays\nhelp: name these, which are stored as well")
        view = self.view(a._data)
        return {"name": name, "view": view, "element": full_name(a.dtype), "rank": a.ndim}


# ----- what is told of arrays and steps -----------------------------------------------------------


def _is_in_pieces(t: Any) -> bool:
    return structs.is_struct(t) and (structs.is_in_pieces(t) or any(map(_is_in_pieces, t.fields.values())))


def _dtype_text(kind: np.dtype[Any]) -> str:
    """A dtype by name: of records how many bytes they have, which are copied as they are."""
    if is_bfloat16(kind.type):
        return "bfloat16"
    if kind.kind in "biuf":
        return str(kind.str)
    if kind.kind == "V":
        return f"|V{kind.itemsize}"
    raise unsavable(f"a copy of elements of type {kind}")


def _ascii(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)[:64] or "kernel"
