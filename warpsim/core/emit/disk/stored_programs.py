"""Programs on disk, under digests of what they are made of: the direct mode of compiler caches.

The object code of a program lies under a key of the final program, so that to find it the front end and all passes
have to run. A program itself lies under a key of their inputs: a process that has these need not translate.

A program is written by `pickle`, with types and rows of the op table by their names, and structs by their places
among those that its inputs name. It is read by an unpickler that makes objects of this package and of NumPy alone.
What cannot be written so is not kept. Entries are trusted like those of object code, see `cache`.
"""

from __future__ import annotations

import copyreg
import gc
import hashlib
import io
import pickle
import platform
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ....config import config
from ...ops.registry import TABLE, Row
from ...types import scalars
from ...types.generic_structs import GenericStruct
from ...types.structs import StructType
from ...types.values import BufferedType, Compound, CompoundType, compound_type
from .cache import object_cache
from .fingerprint import PACKAGE, fingerprint_of

COMPOUND_TYPES = (CompoundType, BufferedType)


class Entry(NamedTuple):
    """A `Program`, and for each of the user's functions among its inputs the names that its translation settled."""

    program: Any
    settled: tuple[tuple[str, ...] | None, ...]


def key_of(inputs: Iterable[str]) -> str:
    """The key of the program that the front end and the passes make of these texts."""
    digest = hashlib.sha256(_makers().encode())
    for text in inputs:
        digest.update(text.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return f"program-{digest.hexdigest()}"


@cache
def _makers() -> str:
    """What makes programs of inputs: the files of the package, Python's grammar, NumPy's arithmetic.

    With the folder of the package, which is in the places that programs carry for their messages.
    """
    return f"{fingerprint_of(PACKAGE)} {PACKAGE} {platform.python_version()} {np.__version__}"


def load(key: str, structs: Sequence[StructType]) -> Entry | None:
    """The program under a key, or None. structs: those that the inputs name, in their order."""
    store = object_cache()
    payload = None if store is None or config.dump else store.load(key)
    if payload is None:
        return None
    collecting = gc.isenabled()
    gc.disable()  # a program is thousands of small objects, and none of them garbage
    try:
        return Entry(*_Reader(io.BytesIO(payload), structs).load())
    except (pickle.UnpicklingError, AttributeError, LookupError, TypeError, ValueError):
        return None
    finally:
        if collecting:
            gc.enable()


def save(key: str, entry: Entry, structs: Sequence[StructType]) -> None:
    """Keep a program under a key, if it can be written."""
    store = object_cache()
    if store is None:
        return
    memory = io.BytesIO()
    try:
        _Writer(memory, structs).dump(tuple(entry))
    except (pickle.PicklingError, RecursionError, AttributeError, TypeError):
        return
    store.store(key, memory.getvalue(), f"program of {entry.program.fn.name}")


class _Writer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, structs: Sequence[StructType]):
        super().__init__(file, protocol=5)
        self.places = {id(t): place for place, t in enumerate(structs)}
        # By the classes of rows and types. A method that is asked of every object would take five times as long.
        self.dispatch_table = {**copyreg.dispatch_table, Row: _reduced_row, StructType: self._reduced_struct}
        self.dispatch_table.update(dict.fromkeys(COMPOUND_TYPES, _reduced_compound))

    def _reduced_struct(self, t: StructType) -> Any:
        if id(t) in self.places:
            return struct_at, (self.places[id(t)],)
        family, _, dtype = t.__qualname__.partition("[")
        name = (t.__module__, family, dtype.removesuffix("]"))
        if t.__module__.partition(".")[0] != "warpsim" or struct_named(*name) is not t:
            raise pickle.PicklingError(f"struct {t.key} is not among the inputs")
        return struct_named, name


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, structs: Sequence[StructType]):
        super().__init__(file)
        self.structs = structs

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (__name__, struct_at.__name__):
            return self.structs.__getitem__
        if module.partition(".")[0] in ("warpsim", "numpy"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"a program holds {module}.{name}")


def _reduced_row(row: Row) -> Any:
    return row_at, (row.name, TABLE[row.name].rows.index(row))


def _reduced_compound(t: type[Compound]) -> Any:
    return compound_type, (t.kind, t.shape, t.dtype)


def row_at(name: str, place: int) -> Row:
    """A row of the op table."""
    return TABLE[name].rows[place]


def struct_named(module: str, name: str, dtype: str) -> Any:
    """A struct of the package by its name, of a family of structs (`generic_structs`) that for a scalar type."""
    struct = getattr(sys.modules[module], name, None)
    return struct[getattr(scalars, dtype)] if isinstance(struct, GenericStruct) else struct


def struct_at(place: int) -> StructType:
    """Stands in what is written for the struct of the inputs at that place, which the reader knows."""
    raise pickle.UnpicklingError("structs are those of the inputs")
