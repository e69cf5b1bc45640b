"""Arrays that a grid carries beside its tree ("blind data", feature arrays): put there, or taken away.

Guarantees: the tree and its values stay as they are; the new grid passes `check` and has right checksums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import VolumeError
from . import checksum
from .grid import Feature, Grid, aligned_zeros, feature_type, value_dtype
from .layout import ALIGNMENT, BLIND_META, RELATIVE_BLIND_DATA, GridType, layout
from .settings import encode_name

_ATTRIBUTE = 2  # class of blind data: values that belong to voxels


def with_features(grid: Grid, features: Mapping[str, np.ndarray] | Sequence[Feature]) -> Grid:
    """A copy of a grid that carries other arrays beside its tree (blind data) than before.

    features: arrays by name, (n,) or (n, 3 or 4), of any length, or `Feature`s, which also say what they mean.
    Arrays of dtypes that the format has no number for are stored as bytes.
    """
    if isinstance(features, Mapping):
        features = [Feature(name, np.asarray(array), 0, _ATTRIBUTE) for name, array in features.items()]
    if len(features) > 0xFFFF:
        raise VolumeError(f"feature arrays\nfound: {len(features)}\nexpected: at most 65535")
    begin = _tree_end(grid)
    data = [np.frombuffer(np.ascontiguousarray(feature.array).tobytes(), np.uint8) for feature in features]
    starts = begin + len(features) * BLIND_META.size + np.cumsum([0, *(_aligned_size(len(d)) for d in data)])
    out = Grid(aligned_zeros(int(starts[-1])))
    out.buffer[:begin] = grid.buffer[:begin]
    out.header["grid_size"], out.header["blind_offset"] = starts[-1], begin
    out.header["blind_count"] = len(features)
    relative = int(out.header["version"]) >= RELATIVE_BLIND_DATA
    for index, (feature, bytes_, start) in enumerate(zip(features, data, starts[:-1], strict=True)):
        out.buffer[start : start + len(bytes_)] = bytes_
        kind, meta = _type(feature), out.blind_descriptions[index]
        size = 1 if kind == GridType.UNKNOWN else layout(kind).dtype.itemsize
        meta["data_offset"] = start - (begin + index * BLIND_META.size if relative else 0)
        meta["value_count"], meta["value_size"] = len(bytes_) // size, size if relative else 0
        meta["semantic"], meta["data_class"], meta["data_type"] = feature.semantic, feature.data_class, kind
        meta["name"] = encode_name(feature.name)
    checksum.update(out)
    return out


def _type(feature: Feature) -> GridType:
    """The type that the description of an array names: UNKNOWN for bytes."""
    natural = feature_type(feature.array)
    if feature.data_type in (None, natural):
        return natural
    if value_dtype(feature.data_type or 0) is not None:
        named = GridType(feature.data_type).name
        raise VolumeError(f"type of feature {feature.name!r}\nfound: {named}\nexpected: {natural.name}, as its array")
    return GridType.UNKNOWN


def _tree_end(grid: Grid) -> int:
    """First byte after root and nodes."""
    ends = [grid.root_offset + grid.layout.root.size + len(grid.tiles) * grid.layout.tile.size]
    ends += [
        grid.node_offset(level) + nodes.nbytes for level, nodes in enumerate((grid.leaves, grid.lowers, grid.uppers))
    ]
    return max(ends)


def _aligned_size(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
