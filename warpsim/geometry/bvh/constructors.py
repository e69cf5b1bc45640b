"""The choice of a BVH builder, by splits of least surface area or by a sort, and of its device.

The first makes queries fast and wants few fast threads, the second many. So GPUs sort unless they are told
otherwise; told so, they get a hierarchy that the CPU has built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.language import CPU, array, empty, int32
from ...core.runtime.arrays import saved_contents
from .build import build, build_grouped
from .groups import names_of
from .lbvh import build_sorted
from .nodes import EMPTY, NO_NODE, BvhNode, BvhTree
from .refit import Built, by_level

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device

CONSTRUCTORS = (None, "sah", "median", "lbvh", "cubql")
"""What `construct` knows; "median" and "cubql", which are known to Warp, mean "sah"."""


def construct(
    constructor: str | None, lowers: array, uppers: array, leaf_size: int = 1, groups: array | None = None
) -> tuple[Built, array, array]:
    """The hierarchy over boxes (n vec3 each) where they are, all groups in ascending order, and their nodes.

    constructor: one of CONSTRUCTORS. Raises `BvhError` for too many groups.
    """
    device = lowers.device
    with saved_contents.Paused():  # there is nothing in it that a tape could need
        if constructor == "lbvh" or (constructor is None and device.runs_many_threads):
            names = empty(0, int32, device) if groups is None else names_of(groups)
            built, roots = build_sorted(lowers, uppers, leaf_size, groups, names)
            return built, names, roots
        far = not device.shares_host_memory
        near = [a.to(CPU) if far and a is not None else a for a in (lowers, uppers, groups)]
        names, roots = np.zeros(0, np.int32), np.zeros(0, np.int32)
        if groups is None:
            built = build(near[0], near[1], leaf_size)
        else:
            built, names, roots = build_grouped(*near)
        if far:
            built, roots = _move_to(built, roots, device)
        return built, *(array(x, dtype=int32, device=device) for x in (names, roots))


def _move_to(built: Built, roots: np.ndarray, device: Device) -> tuple[Built, np.ndarray]:
    """A hierarchy of the CPU on a device, its nodes numbered by level for the many threads there."""
    nodes = built.tree.nodes.numpy()
    order = np.argsort(nodes["depth"], kind="stable")
    number = np.empty(order.size, np.int32)
    number[order] = np.arange(order.size)
    moved = nodes[order]
    child, parent = moved["child"], moved["parent"]
    child[child > EMPTY] = number[child[child > EMPTY]]
    parent[1:] = 4 * number[parent[1:] >> 2] + (parent[1:] & 3)  # all but the root have one
    levels = np.searchsorted(moved["depth"], np.arange(moved["depth"][-1] + 2)).tolist()
    tree = BvhTree(nodes=array(moved, dtype=BvhNode, device=device), items=built.tree.items.to(device))
    counted = array(np.arange(order.size + 1), dtype=int32, device=device)
    there = roots < NO_NODE
    roots[there] = number[roots[there]]
    return Built(tree, by_level(counted, levels)), roots
