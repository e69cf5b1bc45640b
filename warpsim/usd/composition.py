"""Prim counts of composed layers, known before pxr composes them: references to references multiply.

The count is a bound from above: prims that several arcs bring count for each, of variants the largest counts. What it
takes is in proportion to what is written in the layers, not to what that composes to.
"""

import os
from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from typing import Any

from pxr import Ar, Sdf

from warpsim.usd.checks import UsdError
from warpsim.usd.crate import tokens

_ARCS = (b"references", b"payload", b"inherit", b"specializes", b"subLayers")  # as files of every kind name them


def check_composition(name: str, most: int) -> None:
    """Raise UsdError if the stage of a file has more than `most` prims, as far as its layers tell."""
    with open(name, "rb") as file:
        data = mmap(file.fileno(), 0, access=ACCESS_READ)
    words = tokens(data)
    if any((data if words is None else words).find(arc) >= 0 for arc in _ARCS):
        count = _Composition(name, most).count(Sdf.Layer.FindOrOpen(name), Sdf.Path.absoluteRootPath)
        if count > most:
            raise _too_many(name, most)


def _too_many(name: str, most: int) -> UsdError:
    return UsdError(
        f"{name!r}: its references, payloads, inherits and variants compose more than {most} prims; export it as one "
        "layer, or with instances"
    )


class _Composition:
    """Counts of prims by layer and path."""

    def __init__(self, name: str, most: int):
        self._name, self._most = name, most
        self._counts: dict[tuple[str, Sdf.Path], int] = {}
        self._instanced: set[tuple[str, Sdf.Path]] = set()

    def count(self, layer: Sdf.Layer | None, path: Sdf.Path) -> int:
        """Prims at and below a path of a layer and of its sublayers, and those that their arcs bring."""
        if layer is None:
            return 0
        key = (layer.identifier, path)
        if key not in self._counts:
            self._counts[key] = 0  # where arcs lead back here, pxr goes no further
            self._counts[key] = self._below(layer, path)
        return self._counts[key]

    def _below(self, layer: Sdf.Layer, path: Sdf.Path) -> int:
        spec = layer.GetPrimAtPath(path)
        total = sum(self.count(self._open(layer, below), path) for below in layer.subLayerPaths)
        if spec is None and path.pathElementCount > 1:  # an arc of a prim above brings it
            return total + self.count(layer, path.GetParentPath())
        return total if spec is None else total + self._of(layer, spec)

    def _of(self, layer: Sdf.Layer, spec: Sdf.PrimSpec) -> int:
        total = 1 + sum(self._of_arc(layer, arc, spec) for arc in _arcs(spec))
        total += sum(self.count(layer, child.path) for child in spec.nameChildren)
        for variants in spec.variantSets:
            total += max((self.count(layer, v.primSpec.path) for v in variants.variants), default=0)
        if total > self._most:
            raise _too_many(self._name, self._most)
        return total

    def _of_arc(self, layer: Sdf.Layer, arc: Any, spec: Sdf.PrimSpec) -> int:
        asset, path = ("", arc) if isinstance(arc, Sdf.Path) else (arc.assetPath, arc.primPath)
        target = self._open(layer, asset) if asset else layer
        if target is not None and path.isEmpty:
            path = Sdf.Path.absoluteRootPath.AppendChild(target.defaultPrim) if target.defaultPrim else path
        if target is None or path.isEmpty:
            return 0
        key = (target.identifier, path)
        if spec.instanceable and key in self._instanced:  # whose prims are shared
            return 0
        self._instanced.add(key)
        return self.count(target, path)

    def _open(self, layer: Sdf.Layer, asset: str) -> Sdf.Layer | None:
        """The layer that an asset path of another one leads to, None where it leads nowhere."""
        place = Sdf.ComputeAssetPathRelativeToLayer(layer, asset)
        outer = Ar.SplitPackageRelativePathOuter(place)[0]
        if os.path.exists(outer) and not os.path.isfile(outer):
            raise UsdError(f"{self._name!r}: refers to {asset!r}, which is no regular file; remove the reference")
        try:
            return Sdf.Layer.FindOrOpen(place)
        except Exception:
            return None


def _arcs(spec: Sdf.PrimSpec) -> Iterator[Any]:
    for arcs in (spec.referenceList, spec.payloadList, spec.inheritPathList, spec.specializesList):
        yield from arcs.GetAppliedItems()
