"""ELF objects of x86-64, as LLVM emits them, placed at an address: sections in order, references filled in.

An object is divided into what is only read and run (code, constants, addresses of callees) and what is written
(variables), which begins at a page of its own. Callees further away than 2 GB are reached through stubs.
Tables for unwinding and debugging are left out: no exception passes through a kernel.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ....errors import CompilerError

_HEADER = struct.Struct("<40xQ10xHHH")  # e_shoff, e_shentsize, e_shnum, e_shstrndx
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_SYMTAB, _RELA, _NOBITS, _UNWIND = 2, 4, 8, 0x70000001
_WRITE, _ALLOC, _THREAD_LOCAL = 1, 2, 0x400
_UNDEFINED, _ABSOLUTE = 0, 0xFFF1

# Kinds of references, by the names of the System V ABI for AMD64. S: address of the symbol, A: addend, P: address
# of the reference, G: address of the symbol's entry in the table of addresses (GOT), GOT: address of that table.
_64, _PC32, _PLT32, _GOTPCREL, _PC64, _GOTOFF64, _GOT64, _GOTPC64 = 1, 2, 4, 9, 24, 25, 27, 29
_GOTPCRELX, _REX_GOTPCRELX = 41, 42
_WITH_ENTRY = (_PLT32, _GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX, _GOT64)
_NARROW = (_PC32, _PLT32, _GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX)
_STUB = b"\xff\x25"  # jmp [rip + displacement]
_STUB_BYTES, _ENTRY_BYTES = 8, 8
_TABLE = "_GLOBAL_OFFSET_TABLE_"


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_bytes: int


class _Symbol(NamedTuple):
    name: str
    binding: int
    section: int
    value: int


class Image:
    """An object laid out: `size` bytes, of which those from `writable_from` on are variables.

    resolve: the address of a name that the object does not define, or None. Raises `CompilerError`.
    """

    def __init__(self, code: bytes, resolve: Callable[[str], int | None]):
        self._code, self._resolve = code, resolve
        try:
            self._read()
            self._lay_out()
        except (struct.error, IndexError, ValueError) as error:
            raise CompilerError(f"object code does not link: it is damaged: {error}") from error

    def _read(self) -> None:
        start, entry_bytes, count, names = _HEADER.unpack_from(self._code)
        if entry_bytes != _SECTION.size or start + count * entry_bytes > len(self._code):
            raise ValueError("its sections lie outside of it")
        table = self._code[start : start + count * entry_bytes]
        self._sections = [_Section(*fields) for fields in _SECTION.iter_unpack(table)]
        self._names = self._content(self._sections[names])
        self._symbols = [s for section in self._sections if section.type == _SYMTAB for s in self._symbols_of(section)]

    def _symbols_of(self, section: _Section) -> Iterator[_Symbol]:
        names = self._content(self._sections[section.link])
        for name, info, _, place, value, _ in _SYMBOL.iter_unpack(self._content(section)):
            yield _Symbol(names[name : names.index(0, name)].decode(), info >> 4, place, value)

    def _content(self, section: _Section) -> bytes:
        content = self._code[section.offset : section.offset + section.size]
        if len(content) != section.size:
            raise ValueError("a section lies outside of it")
        return content

    def _lay_out(self) -> None:
        placed = [k for k, s in enumerate(self._sections) if s.flags & _ALLOC and not self._is_unwinding(s)]
        self._offsets: dict[int, int] = {}
        end = self._place((k for k in placed if not self._sections[k].flags & _WRITE), 0)
        self._find_references(placed)
        self._table = _align_up(end, _ENTRY_BYTES)
        self._stubs = self._table + _ENTRY_BYTES * len(self._entries)
        self.writable_from = self.size = self._stubs + _STUB_BYTES * len(self._entries)
        variables = [k for k in placed if self._sections[k].flags & _WRITE]
        if variables:
            self.writable_from = _align_up(self.size, mmap.PAGESIZE)
            self.size = self._place(variables, self.writable_from)

    def _is_unwinding(self, section: _Section) -> bool:
        """Whether a section holds tables for unwinding, which have a type of their own or an ordinary one."""
        return section.type == _UNWIND or self._names.startswith(b".eh_frame\0", section.name)

    def _place(self, sections: Iterator[int] | list[int], end: int) -> int:
        for k in sections:
            section = self._sections[k]
            if section.flags & _THREAD_LOCAL or section.alignment > mmap.PAGESIZE:
                raise CompilerError("object code does not link: it has variables of a thread, or aligned beyond a page")
            self._offsets[k] = _align_up(end, section.alignment or 1)
            end = self._offsets[k] + section.size
        return end

    def _find_references(self, placed: list[int]) -> None:
        """All places to fill in, and the symbols that need an entry in the table of addresses."""
        self._references: list[tuple[int, int, int, int, int]] = []
        self._entries: dict[int, int] = {}
        for section in self._sections:
            if section.type != _RELA or section.info not in placed:
                continue
            for offset, info, addend in _RELOCATION.iter_unpack(self._content(section)):
                kind, symbol = info & 0xFFFFFFFF, info >> 32
                self._references.append((section.info, offset, kind, symbol, addend))
                if kind in _WITH_ENTRY:
                    self._entries.setdefault(symbol, len(self._entries))

    def placed_at(self, base: int) -> bytes:
        """The bytes to put at the address `base`. Raises `CompilerError`."""
        image = bytearray(self.size)
        try:
            for k, start in self._offsets.items():
                if self._sections[k].type != _NOBITS:
                    image[start : start + self._sections[k].size] = self._content(self._sections[k])
            self._fill_table(image, base)
            for k, offset, *reference in self._references:
                self._fill(image, base, self._offsets[k] + offset, *reference)
        except (struct.error, IndexError, ValueError) as error:
            raise CompilerError(f"object code does not link: it is damaged: {error}") from error
        return bytes(image)

    def _fill_table(self, image: bytearray, base: int) -> None:
        for symbol, k in self._entries.items():
            entry, stub = self._table + _ENTRY_BYTES * k, self._stubs + _STUB_BYTES * k
            struct.pack_into("<Q", image, entry, self._address(symbol, base))
            struct.pack_into("<2si", image, stub, _STUB, entry - stub - 6)

    def _fill(self, image: bytearray, base: int, offset: int, kind: int, symbol: int, addend: int) -> None:
        table = base + self._table
        place = base + offset
        if kind == _GOTPC64:
            value = table - place
        elif kind in (_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX):
            value = table + _ENTRY_BYTES * self._entries[symbol] - place
        elif kind == _GOT64:
            value = _ENTRY_BYTES * self._entries[symbol]
        elif kind == _PLT32 and self._symbols[symbol].section == _UNDEFINED:
            value = base + self._stubs + _STUB_BYTES * self._entries[symbol] - place
        elif kind in (_64, _PC32, _PLT32, _PC64, _GOTOFF64):
            origin = {_64: 0, _GOTOFF64: table}.get(kind, place)
            value = self._address(symbol, base) - origin
        else:
            raise CompilerError(f"object code does not link: a reference of the unknown kind {kind}")
        struct.pack_into("<i" if kind in _NARROW else "<q", image, offset, _sign(value + addend))

    def _address(self, number: int, base: int) -> int:
        symbol = self._symbols[number]
        if symbol.name == _TABLE:
            return base + self._table
        if symbol.section in self._offsets:
            return base + self._offsets[symbol.section] + symbol.value
        if symbol.section == _ABSOLUTE:
            return symbol.value
        address = self._resolve(symbol.name) if symbol.section == _UNDEFINED else None
        if address is None:
            raise CompilerError(
                f"object code does not link: {symbol.name!r} is not in this process\n"
                "help: pass the address of a missing callee in symbols="
            )
        return address

    def addresses(self, base: int) -> dict[str, int]:
        """The functions and variables that the object shows, by name."""
        shown = (s for s in self._symbols if s.binding and s.section in self._offsets)
        return {s.name: base + self._offsets[s.section] + s.value for s in shown}


def _align_up(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _sign(value: int) -> int:
    """A sum of addresses as a 64-bit number with a sign."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
