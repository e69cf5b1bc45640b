"""Checksums of NanoVDB grids: made and compared.

Two CRC-32 numbers stand in a grid's header, one of the headers and one of all nodes and what follows; all ones
means that one is absent.  Later than version 32.6.0 the first ends after the tree header and the second is a
CRC of the CRCs of blocks of 4096 bytes.  Up to 32.6.0 the first ends after the root's tiles and the second is
a CRC of the CRCs of the nodes, each stored as `uint_fast32_t`: 8 bytes on Linux, 4 elsewhere.  So both are
accepted, and none is written: files of these versions carry the first alone, which all tools agree on.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np

from .grid import Grid
from .layout import ABSENT_CHECKSUM, BLOCK_CHECKSUMS, CHECKSUM_BEGIN, TREE, TREE_OFFSET

_BLOCK = 4096


def _uses_blocks(grid: Grid) -> bool:
    return int(grid.header["version"]) >= BLOCK_CHECKSUMS


def of_headers(grid: Grid) -> int:
    """The first checksum; it needs a root whose tiles lie inside the buffer."""
    end = TREE_OFFSET + TREE.size
    if not _uses_blocks(grid):
        end = grid.root_offset + grid.layout.root.size + len(grid.tiles) * grid.layout.tile.size
    return zlib.crc32(grid.buffer.data[CHECKSUM_BEGIN:end])


def of_nodes(grid: Grid) -> tuple[int, ...]:
    """The values that the second checksum may have; it needs node arrays that lie inside the buffer."""
    blocks = _uses_blocks(grid)
    words = ("<u4",) if blocks else ("<u8", "<u4")
    single = [zlib.crc32(part) for part in (_blocks(grid) if blocks else _nodes(grid))]
    return tuple(zlib.crc32(np.array(single, word).tobytes()) for word in words)


def _blocks(grid: Grid) -> Iterator[memoryview]:
    data = grid.buffer.data[TREE_OFFSET + TREE.size :]
    count = len(data) // _BLOCK
    for index in range(count):  # the last block takes what is left over
        yield data[index * _BLOCK : len(data) if index == count - 1 else (index + 1) * _BLOCK]


def _nodes(grid: Grid) -> Iterator[memoryview]:
    records, data = (grid.layout.leaf, grid.layout.lower, grid.layout.upper), grid.buffer.data
    for level in (2, 1, 0):
        begin, size = grid.node_offset(level), records[level].size
        for index in range(grid.node_counts[level]):
            yield data[begin + index * size : begin + (index + 1) * size]


def update(grid: Grid) -> None:
    """Write the checksums of the present contents into the header."""
    nodes = of_nodes(grid)[0] if _uses_blocks(grid) else ABSENT_CHECKSUM
    grid.header["checksum"] = of_headers(grid), nodes


def difference(grid: Grid) -> tuple[str, int, int] | None:
    """Which checksum is wrong, the number found and the right one; None where all that are there are right."""
    headers, nodes = (int(word) for word in grid.header["checksum"])
    if headers == nodes == ABSENT_CHECKSUM:
        return None
    if headers != (right := of_headers(grid)):
        return "checksum of the headers", headers, right
    if nodes != ABSENT_CHECKSUM and nodes not in (allowed := of_nodes(grid)):
        return "checksum of the nodes", nodes, allowed[0]
    return None
