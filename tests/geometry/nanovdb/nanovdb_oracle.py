"""A second reader of NanoVDB grids, one node at a time with the byte offsets of the format written out.

It shares nothing with the package, which derives its offsets and follows trees in other ways.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from functools import cache

import numpy as np

# By grid type: root size, background at, tile size, tile value at, upper table at, upper size, lower table at,
# lower size, leaf values at, leaf size, stride of tables, dtype, components.
OFFSETS = {
    1: (64, 28, 32, 20, 8256, 270400, 1088, 33856, 96, 2144, 8, "<f4", 1),
    2: (96, 32, 32, 24, 8256, 270400, 1088, 33856, 128, 4224, 8, "<f8", 1),
    4: (64, 28, 32, 20, 8256, 270400, 1088, 33856, 96, 2144, 8, "<i4", 1),
    5: (96, 32, 32, 24, 8256, 270400, 1088, 33856, 128, 4224, 8, "<i8", 1),
    6: (96, 28, 32, 20, 8256, 532544, 1088, 66624, 128, 6272, 16, "<f4", 3),
    7: (128, 32, 64, 24, 8288, 794720, 1120, 99424, 160, 12448, 24, "<f8", 3),
    10: (64, 28, 32, 20, 8256, 270400, 1088, 33856, 96, 2144, 8, "<u4", 1),
    17: (96, 28, 64, 20, 8288, 532576, 1120, 66656, 128, 8320, 16, "<f4", 4),
    18: (160, 32, 64, 24, 8320, 1056896, 1152, 132224, 160, 16544, 32, "<f8", 4),
    19: (96, 32, 32, 24, 8256, 270400, 1088, 33856, 80, 96, 8, "<u8", 1),
    20: (96, 32, 32, 24, 8256, 270400, 1088, 33856, 80, 96, 8, "<u8", 1),
}


@dataclass
class Contents:
    """What a grid holds: the voxels of leaves, and the values that whole cubes share."""

    grid_type: int
    background: np.ndarray
    matrix: np.ndarray
    translation: np.ndarray
    voxels: list[np.ndarray] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)
    active: list[np.ndarray] = field(default_factory=list)
    tiles: list[tuple[np.ndarray, int, np.ndarray]] = field(default_factory=list)

    def joined(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates (n, 3), values and masks of all voxels in leaves."""
        return tuple(map(np.concatenate, (self.voxels, self.values, self.active)))


@cache
def bodies(path) -> list[bytes]:
    """The grids of a file with ZIP compression."""
    data = path.read_bytes()
    count, at, sizes = int.from_bytes(data[12:14], "little"), 16, []
    for _ in range(count):
        sizes.append(int.from_bytes(data[at + 8 : at + 16], "little"))
        at += 176 + int.from_bytes(data[at + 136 : at + 140], "little")
    found = []
    for size in sizes:
        found.append(zlib.decompress(data[at + 8 : at + size]))
        at += size
    return found


@cache
def contents(body: bytes) -> Contents:
    """Everything in a grid."""
    return _Reader(body).run()


class _Reader:
    def __init__(self, body: bytes):
        self.body = body
        kind = self.number(636, "<u4")
        (
            self.root_size, background, self.tile_size, self.tile_value, self.upper_table, self.upper_size,
            self.lower_table, self.lower_size, self.leaf_values, self.leaf_size, self.stride, self.dtype, self.count,
        ) = OFFSETS[kind]  # fmt: skip
        self.root = 672 + self.number(672 + 24, "<i8")
        self.found = Contents(
            kind,
            self.value(self.root + background),
            self.numbers(296 + 88, "<f8", 9).reshape(3, 3),
            self.numbers(296 + 232, "<f8", 3),
        )

    def numbers(self, at: int, dtype: str, count: int) -> np.ndarray:
        return np.frombuffer(self.body, dtype, count, at)

    def number(self, at: int, dtype: str) -> int:
        return int(self.numbers(at, dtype, 1)[0])

    def value(self, at: int) -> np.ndarray:
        found = self.numbers(at, self.dtype, self.count)
        return found if self.count > 1 else found[0]

    def bits(self, at: int, count: int) -> np.ndarray:
        return np.unpackbits(self.numbers(at, "u1", count // 8), bitorder="little").astype(bool)

    def run(self) -> Contents:
        for k in range(self.number(self.root + 24, "<u4")):
            tile = self.root + self.root_size + k * self.tile_size
            key, child = self.number(tile, "<u8"), self.number(tile + 8, "<i8")
            parts = np.array([key >> 42, key >> 21 & 0xFFFFF, key & 0xFFFFF], np.int64)
            origin = ((parts + 2**19) % 2**20 - 2**19) * 4096
            if child:
                self.inner(self.root + child, origin, 32, 128, self.upper_table, 32 + 4096, self.lower)
            else:
                self.found.tiles.append((origin, 4096, self.value(tile + self.tile_value)))
        return self.found

    def lower(self, at: int, origin: np.ndarray) -> None:
        self.inner(at, origin, 16, 8, self.lower_table, 32 + 512, self.leaf)

    def inner(self, at: int, origin: np.ndarray, side: int, span: int, table: int, mask: int, child) -> None:
        inside = self.bits(at + mask, side**3)
        size = np.dtype(self.dtype).itemsize
        values = np.ndarray((side**3, self.count), self.dtype, self.body, at + table, (self.stride, size))
        n = np.arange(side**3)
        corners = origin + span * np.stack([n // side**2, n // side % side, n % side], axis=1)
        for k in np.flatnonzero(inside):
            child(at + self.number(at + table + k * self.stride, "<i8"), corners[k])
        for k in np.flatnonzero(~inside & (values != self.found.background).any(axis=1)):
            self.found.tiles.append((corners[k], span, self.value(at + table + k * self.stride)))

    def leaf(self, at: int, origin: np.ndarray) -> None:
        n = np.arange(512)
        active = self.bits(at + 16, 512)
        self.found.voxels.append(origin + np.stack([n // 64, n // 8 % 8, n % 8], axis=1))
        self.found.active.append(active)
        if self.found.grid_type == 20:
            before = np.cumsum(active) - active
            self.found.values.append(np.where(active, self.number(at + 80, "<u8") + before, 0))
        elif self.found.grid_type == 19:
            self.found.values.append(self.number(at + 80, "<u8") + n)
        else:
            values = self.numbers(at + self.leaf_values, self.dtype, 512 * self.count)
            self.found.values.append(values.reshape(512, self.count) if self.count > 1 else values)
