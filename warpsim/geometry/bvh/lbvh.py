"""From boxes to a hierarchy by a sort: no thread does more than a short walk, for devices with many threads.

The boxes are sorted along a curve (`morton`), a binary tree is made of common prefixes of their keys
(`radix_tree`), and a node of the hierarchy of every second level of that tree: its children are grandchildren
there. Ranges that fit into a leaf become one; with one box to a leaf, up to four boxes are a node without further ado.
Nodes are numbered by level, so that those of one level, which do not depend on each other, follow each other. Boxes of
nodes are then joined level by level: launches of a device run one after the other, so each sees all that the one
before it has written, and no thread waits for another one.

A path has at most bits / 2 + 1 nodes, where keys and positions together have as many bits: each node of the binary tree
takes one, and of two of these on a path one is no node here, but perhaps at its end. With groups, each of which is one
node, and from which on levels are counted anew, this is no different. So `morton.BITS` keeps paths in MAX_DEPTH.

The host waits for the device once, for the numbers of boxes and of nodes on each level. Results depend neither on the
number of threads nor on their order. Compared with `build`, building takes less time where there are many threads,
and queries take more.
"""

from __future__ import annotations


from ...core.language import Kernel, array, array_type, int32, int64, struct, vec3
from ...core.language import clone, empty, full, func, greater, kernel, launch, lesser, radix_sort_pairs, tid, where
from ...core.language import zeros
from ...core.lib.sampling import lower_bound
from ...core.runtime.arrays import saved_contents
from .extent import Extent
from .morton import GroupedBoxes, morton_order
from .nodes import EMPTY, NO_NODE, BvhNode, BvhTree, leaf_code
from .radix_tree import Branch, radix_tree
from .refit import Built, by_level, fill_nodes, put_box
from .subtree import empty_node

_LEVEL_BITS = 5
_NO_LEVEL = 2**_LEVEL_BITS - 1


@struct
class TreePlan:
    """What becomes of a binary tree."""

    branches: array_type(Branch, 1)
    parents: array_type(int32, 1)
    keys: array_type(int64, 1)
    items: array_type(int32, 1)  # the boxes in the order of their keys
    extent: array_type(Extent, 1)
    group_shift: int32  # bits of a key below the rank of its group
    leaf_size: int32


# ----- which parts of the binary tree become nodes --------------------------------------------------


@func
def parent_of(plan: TreePlan, node: int32) -> int32:
    """The inner node above a node that is not the root."""
    return plan.parents[where(node >= 0, node, plan.branches.shape[0] + ~node)]


@func
def in_group(plan: TreePlan, node: int32) -> bool:
    """Whether all boxes below a node are of one group; without groups they are."""
    if node < 0:
        return True
    first, last = plan.branches[node].first, plan.branches[node].last
    return last <= first or (plan.keys[first] ^ plan.keys[last]) >> int64(plan.group_shift) == int64(0)


@func
def size_of(plan: TreePlan, node: int32) -> int32:
    """How many boxes are below a node."""
    return plan.branches[node].last - plan.branches[node].first + 1 if node >= 0 else 1


@func
def is_last(plan: TreePlan, size: int32) -> bool:
    """Whether so many boxes of a group are not divided: they are a leaf, or a node of leaves of one box."""
    return size <= where(plan.leaf_size == 1, 4, plan.leaf_size)


@func
def level_of(plan: TreePlan, node: int32) -> int32:
    """How many nodes of the hierarchy are above the one that is made of a node, or _NO_LEVEL if none is.

    Nodes are made of whole groups; within groups, of every second level that is not in a leaf, and of ranges that make
    up the last node of a path; above groups, of every second level.
    """
    at, below = node, int32(0)  # steps to the whole group
    within = in_group(plan, node)
    while within and at != 0:
        parent = parent_of(plan, at)
        if in_group(plan, parent):
            at = parent
            below += 1
        else:
            within = False
    top, above = at, int32(0)  # steps from there to the root
    while at != 0:
        at = parent_of(plan, at)
        above += 1
    if not in_group(plan, node):
        return where(above & 1 == 0, above >> 1, _NO_LEVEL)
    level = where(top == 0, 0, ((above - 1) >> 1) + 1)
    if node != top and is_last(plan, size_of(plan, node)):
        last = plan.leaf_size == 1 and node >= 0 and not is_last(plan, size_of(plan, parent_of(plan, node)))
        return where(last, level + ((below + 1) >> 1), _NO_LEVEL)
    return where(below & 1 == 0, level + (below >> 1), _NO_LEVEL)


@kernel
def _find_levels(plan: TreePlan, levels: array(dtype=int32), members: array(dtype=int32)):
    """The level of every inner node, and then, with groups, of every leaf: a group of one box is a node too."""
    t = tid()
    n, count = plan.branches.shape[0], plan.extent[0].count
    node = where(t < n, t, ~(t - n))
    level = int32(_NO_LEVEL)
    if t == 0 or t < count - 1 or (t >= n and t < n + count and count > 1):
        level = level_of(plan, node)
    levels[t] = level
    members[t] = node


@kernel
def _tabulate(levels: array(dtype=int32), size: int32, extent: array(dtype=Extent), table: array(dtype=int32)):
    """How many boxes there are, and where each level but the first begins."""
    t = tid()
    table[t] = extent[0].count if t == 0 else lower_bound(levels, 0, size + 1, t)


# ----- nodes ----------------------------------------------------------------------------------------


@kernel
def _number(members: array(dtype=int32), branches: int32, numbers: array(dtype=int32)):
    """The node that is made of each node of the binary tree; leaves stand behind inner nodes."""
    at = tid()
    node = members[at]
    numbers[where(node >= 0, node, branches + ~node)] = at


@func
def parts_of(plan: TreePlan, node: int32, parts: array_type(int32, 1)) -> int32:
    """What the children are made of, in order; returns how many there are."""
    count = int32(0)
    within = in_group(plan, node)
    if within and is_last(plan, size_of(plan, node)):
        if plan.leaf_size > 1 or node < 0:
            parts[0] = node
            return where(plan.extent[0].count > 0, 1, 0)
        for k in range(size_of(plan, node)):
            parts[k] = ~(plan.branches[node].first + k)
        return size_of(plan, node)
    for side in range(2):
        child = where(side == 0, plan.branches[node].left, plan.branches[node].right)
        whole = child < 0
        if in_group(plan, child):
            whole = whole or not within or is_last(plan, size_of(plan, child))
        if whole:
            parts[count] = child
            count += 1
        else:
            parts[count], parts[count + 1] = plan.branches[child].left, plan.branches[child].right
            count += 2
    return count


@func
def is_leaf(plan: TreePlan, part: int32, within: bool) -> bool:
    """Whether a part becomes a leaf of the node that it is a part of."""
    return within and size_of(plan, part) <= plan.leaf_size


@func
def first_of(plan: TreePlan, node: int32) -> int32:
    """The first position below a node."""
    return plan.branches[node].first if node >= 0 else ~node


@func
def box_of(plan: TreePlan, boxes: GroupedBoxes, first: int32, count: int32) -> tuple[vec3, vec3]:
    """The union of some boxes."""
    lower, upper = boxes.lowers[plan.items[first]], boxes.uppers[plan.items[first]]
    for k in range(first + 1, first + count):
        lower, upper = lesser(lower, boxes.lowers[plan.items[k]]), greater(upper, boxes.uppers[plan.items[k]])
    return lower, upper


@kernel
def _make_nodes(
    plan: TreePlan,
    boxes: GroupedBoxes,
    members: array(dtype=int32),
    levels: array(dtype=int32),
    numbers: array(dtype=int32),
    nodes: array(dtype=BvhNode),
    roots: array(dtype=int32),
):
    """One node, with the boxes of leaves; parents and the boxes of inner children come later."""
    at = tid()
    member = members[at]
    parts = zeros(shape=4, dtype=int32)
    count = parts_of(plan, member, parts)
    within = in_group(plan, member)
    node = empty_node()
    node.parent, node.depth = -1, levels[at]
    node.first, node.count = first_of(plan, member), where(count > 0, size_of(plan, member), 0)
    nodes[at] = node
    for k in range(count):
        part = parts[k]
        if is_leaf(plan, part, within):
            first, size = first_of(plan, part), size_of(plan, part)
            nodes[at].child[k] = leaf_code(first, size)
            lower, upper = box_of(plan, boxes, first, size)
            put_box(nodes, 4 * at + k, lower, upper)
        else:
            nodes[at].child[k] = numbers[where(part >= 0, part, plan.branches.shape[0] + ~part)]
    if within and roots.shape[0] > 0 and count > 0:
        whole = member == 0
        if not whole:
            whole = not in_group(plan, parent_of(plan, member))
        if whole:
            roots[int32(plan.keys[node.first] >> int64(plan.group_shift))] = at


@kernel
def _adopt(nodes: array(dtype=BvhNode), numbers: array(dtype=int32)):
    """Tell the children of a node which one it is. numbers: of all nodes, and the one after them."""
    at = tid()
    numbers[at] = at
    if at < nodes.shape[0]:
        for k in range(4):
            child = nodes[at].child[k]
            if child > EMPTY:
                nodes[child].parent = 4 * at + k


# ----- the build ------------------------------------------------------------------------------------


def build_sorted(
    lowers: array, uppers: array, leaf_size: int = 1, groups: array | None = None, names: array | None = None
) -> tuple[Built, array]:
    """The hierarchy over boxes (n vec3 each), with up to `leaf_size` <= MAX_LEAF boxes to a leaf; and nodes of groups.

    groups: (n,) int32; names: all of them, ascending. The boxes of each make up one node; a group whose boxes are all
    left out has the number NO_NODE.
    """
    device = lowers.device
    none = empty(0, int32, device)
    groups, names = (none, none) if groups is None or names is None else (groups, names)
    boxes = GroupedBoxes(lowers, uppers, groups, names)
    with saved_contents.Paused():  # there is nothing in it that a tape could need
        order = morton_order(boxes)
        tree = radix_tree(order)
        plan = TreePlan(
            branches=tree.branches,
            parents=tree.parents,
            keys=order.keys,
            items=order.items,
            extent=order.extent,
            group_shift=order.bits,
            leaf_size=leaf_size,
        )
        levels, members, (count, *ends) = _sort_by_level(plan, names.size > 0)
        total = ends[-1]
        numbers, counted = empty(members.size, int32, device), empty(total + 1, int32, device)
        nodes = empty(total, BvhNode, device)
        roots = full(names.size, NO_NODE, int32, device)
        _run(_number, total, members, tree.branches.size, numbers)
        _run(_make_nodes, total, plan, boxes, members, levels, numbers, nodes, roots)
        _run(_adopt, total + 1, nodes, counted)
        stages = by_level(counted, [0, *ends])
        for stage in stages:
            _run(fill_nodes, stage.size - 1, nodes, stage)
        return Built(BvhTree(nodes=nodes, items=clone(order.items[:count])), stages), roots


def _sort_by_level(plan: TreePlan, grouped: bool) -> tuple[array, array, list[int]]:
    """Nodes of the binary tree by the level of the node that is made of them, those of which none is made last.

    Returns levels and members, which have room for twice as many; and the number of boxes, and where each level ends.
    """
    device, n = plan.keys.device, plan.branches.size
    size = 2 * n if grouped else n
    levels, members = empty(2 * size, int32, device), empty(2 * size, int32, device)
    table = empty(_NO_LEVEL + 1, int32, device)
    _run(_find_levels, size, plan, levels, members)
    radix_sort_pairs(levels, members, size, 0, _LEVEL_BITS)
    _run(_tabulate, table.size, levels, size, plan.extent, table)
    count, *ends = table.numpy().tolist()
    return levels, members, [count, *sorted(set(ends))]


def _run(code: Kernel, dim: int, *args: object) -> None:
    launch(code, dim, args, device=next(a.device for a in args if isinstance(a, array)), record_tape=False)
