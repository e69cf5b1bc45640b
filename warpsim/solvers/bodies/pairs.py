"""Broad phase: which pairs of shapes may touch in a step, found as it begins, in an order that no threads decide.

Boxes around shapes over their free motion are looked up in a tree; planes and other forms without bounds, and obstacles
of all worlds, are tried one by one. Shapes of one body, two obstacles, bodies that a joint connects, shapes of
different worlds, and those that are to ignore each other are no pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Array, Float, Kernel, Vec, abs, array, array2d, atomic_add, dot, float32, func
from ...core.language import generic_struct, int32, int64, kernel, launch, length, max, min, radix_sort_pairs, tid
from ...core.language import uint64, vec2i, vec3, zeros
from ...core.lib.quaternions import quat_rotate, quat_to_matrix
from ...core.lib.spatial import spatial_bottom, spatial_top
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from ...core.runtime.arrays.fixed import Fixed
from ...geometry.bvh.bvh import Bvh
from ...geometry.bvh.query import bvh_get_group_root, bvh_query_aabb
from ..scene.shapes import ShapeType, to_world

if TYPE_CHECKING:
    from ..scene.model import Model
    from .kinds import Kinds
    from .workspace import Workspace

BOUNDED = (ShapeType.SPHERE, ShapeType.BOX, ShapeType.CAPSULE, ShapeType.CYLINDER, ShapeType.CONE, ShapeType.MESH)
PAD = 2**62
"""The key of no pair, after all others."""
_PARTS = 8
"""As how many contacts a pair is kept at most."""
_STILL = 1.0e-4
"""Of the smaller shape: up to this gap or depth points count as touching, and nothing moves them."""
_HUGE = 1.0e30
_SLACK = 0.05
"""Of its size: how much farther than by its free motion a shape is looked for, as contact moves it, too."""


@generic_struct
class Bounds:
    """Of shapes: world and body (-1: none), middle and half extents of the mesh of one, how far a step moves it [m],
    how far it is from its middle [m], and a box around all of that."""

    type: array(dtype=int32)
    world: array(dtype=int32)
    body: array(dtype=int32)
    middle: Array[Vec[3, Float]]
    half: Array[Vec[3, Float]]
    travel: array(dtype=float32)
    size: array(dtype=float32)
    lower: array(dtype=vec3)
    upper: array(dtype=vec3)


@generic_struct
class Filter:
    """What pairs there are. kinds: (classes, classes) by classes of shapes, -1 for none; group, collides: bits of
    shapes; joined: keys of pairs of bodies that a joint connects, ascending; ignored: of pairs of shapes; keys: of what
    is near, in any order; number: how many; bodies: of the model; parts: as how many contacts a pair of each kind is
    kept."""

    kinds: array2d(dtype=int32)
    shape_class: array(dtype=int32)
    group: array(dtype=int32)
    collides: array(dtype=int32)
    joined: array(dtype=int64)
    ignored: array(dtype=int64)
    keys: array(dtype=int64)
    number: array(dtype=int32)
    bodies: int32
    parts: array(dtype=int32)


class Pairs(Fixed):
    """Pairs of a model's shapes. capacity: how many at most.

    keys: int64 (2 capacity,), ascending, then `PAD`; count: int32 (1,); number: int32 (1,), also those beyond capacity.
    ranges: int32 (kinds + 1,), where pairs of each kind begin.
    """

    def __init__(self, model: Model, kinds: Kinds, capacity: int):
        self.model, self.capacity, device = model, capacity, model.device
        self.keys, self._order = zeros(2 * capacity, int64, device), zeros(2 * capacity, int32, device)
        self.count, self.number = zeros(1, int32, device), zeros(1, int32, device)
        self.ranges = zeros(len(kinds.table) + 1, int32, device)
        n = model.shape_count
        body, world = model.shape_body.numpy(), model.shape_world.numpy().copy()
        world[body >= 0] = model.body_world.numpy()[body[body >= 0]]
        ints = {"dtype": int32, "device": device}
        middle, half = _extents(model)
        vectors = [array(value, dtype=model.vec3, device=device) for value in (middle, half)]
        self.lower, self.upper = zeros(n, vec3, device), zeros(n, vec3, device)
        self.travel, self.size = zeros(n, float32, device), zeros(n, float32, device)
        types = array(np.array([int(kind) for kind in model.shape_type], np.int32), **ints)
        boxes = [self.travel, self.size, self.lower, self.upper]
        self._bounds = Bounds[model.dtype](types, array(world, **ints), model.shape_body, *vectors, *boxes)
        bounded = np.isin(types.numpy(), BOUNDED)
        treed = bounded & ((world >= 0) | (model.world_count == 1))
        self._movers = array(np.flatnonzero(body >= 0).astype(np.int32), **ints)
        self._singles = array(_singles(treed, world, body), dtype=vec2i, device=device)
        joined, ignored = (array(pairs, dtype=int64, device=device) for pairs in (_joined(model), _ignored(model)))
        lists = [array(kinds.by_class, **ints), array(kinds.shape_class, **ints)]
        lists += [model.shape_group, model.shape_collides, joined, ignored, self.keys, self.number]
        lists += [int32(model.body_count), array(np.array(kinds.parts, np.int32), **ints)]
        self._filter = Filter[model.dtype](*lists)
        low = np.where(treed[:, None], 0.0, np.nan) + np.zeros((n, 3))
        self.lower.assign(low.astype(np.float32))
        self.upper.assign(low.astype(np.float32))
        groups = array(np.maximum(world, 0).astype(np.int32), **ints) if model.world_count > 1 else None
        self._treed = array(treed.astype(np.int32), **ints)
        self.tree = Bvh(self.lower, self.upper, groups=groups)

    @property
    def scratch(self) -> list[Any]:
        """What every step fills before it reads it."""
        lists = [self.keys, self._order, self.count, self.number, self.ranges, self.travel, self.size]
        lists += [self.lower, self.upper]
        return [*lists, self.tree]

    def find(self, workspace: Workspace, forms: Any, manifolds: Any, dt: float) -> None:
        """All pairs of the next `dt` [s]. Nothing of it has a derivative."""
        w, n = workspace, self.model.shape_count
        motion = [self.model.dtype(dt), w.moving, w.pull]
        self._run(bound_forms, n, forms, self._bounds, self._treed, *motion)
        self.tree.refit()
        self.number.zero_()
        self.keys.fill_(PAD)
        of = [self._bounds, self._filter, w.inv_mass]
        self._run(find_in_tree, len(self._movers), self.tree.id, self._movers, *of, forms.row)
        if len(self._singles):
            self._run(find_singles, len(self._singles), self._singles, forms, *of)
        radix_sort_pairs(self.keys, self._order, self.capacity, 0, 63)
        self._run(mark_ranges, len(self.ranges), n, self.keys, self.number, self.count, self.ranges)
        self._run(unpack_pairs, self.capacity, n, self.keys, self.count, self._bounds, forms.row, manifolds)

    def _run(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device, record_tape=False)


# ----- on the host --------------------------------------------------------------------------------


def _extents(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Middle and half extents of the meshes of shapes, before they are scaled; zeros of others."""
    middle, half = np.zeros((model.shape_count, 3)), np.zeros((model.shape_count, 3))
    for s, kind in enumerate(model.shape_type):
        if kind is ShapeType.MESH:
            points = np.asarray(model.shape_object[s].points.numpy(), np.float64)
            middle[s], half[s] = 0.5 * (points.min(0) + points.max(0)), 0.5 * np.ptp(points, axis=0)
    return middle, half


def _singles(treed: np.ndarray, world: np.ndarray, body: np.ndarray) -> np.ndarray:
    """Pairs (n, 2) that are tried one by one: an obstacle that is in no tree, and each shape of a body of its world."""
    movers = np.flatnonzero(body >= 0)
    rows = [np.zeros((0, 2), np.int32)]
    for s in np.flatnonzero(~treed & (body < 0)):
        met = movers[(world[movers] == world[s]) | (world[s] < 0)]
        rows.append(np.stack([np.full(len(met), s), met], axis=1).astype(np.int32))
    return np.concatenate(rows)


def _joined(model: Model) -> np.ndarray:
    """Keys of pairs of bodies that joints connect, ascending, int64."""
    parent, child = model.joint_parent.numpy().astype(np.int64), model.joint_child.numpy().astype(np.int64)
    both = parent >= 0
    low, high = np.minimum(parent, child)[both], np.maximum(parent, child)[both]
    return np.unique(low * model.body_count + high)


def _ignored(model: Model) -> np.ndarray:
    """Keys of pairs of shapes that ignore each other, ascending, int64."""
    pairs = np.sort(model.exclusion_shapes.numpy().reshape(-1, 2).astype(np.int64), axis=1)
    return np.unique(pairs[:, 0] * model.shape_count + pairs[:, 1])


def possible_pairs(model: Model) -> int:
    """How many pairs of shapes of different bodies there are at most, of a body and an obstacle included."""
    body, world = model.shape_body.numpy(), model.shape_world.numpy().copy()
    world[body >= 0] = model.body_world.numpy()[body[body >= 0]]
    total = 0
    for w in range(model.world_count):
        movers = int(((body >= 0) & (world == w)).sum())
        obstacles = int(((body < 0) & ((world == w) | (world < 0))).sum())
        total += movers * (movers - 1) // 2 + movers * obstacles
    own = np.unique(body[body >= 0], return_counts=True)[1]
    return total - int((own * (own - 1) // 2).sum())


# ----- boxes --------------------------------------------------------------------------------------


@func
def half_extents(type: int32, scale: Vec[3, Float], mesh: Vec[3, Float]) -> Vec[3, Float]:
    """Of a box around a form, along the axes of its frame."""
    half = scale
    if type == ShapeType.SPHERE:
        half = vec(scale, scale[0], scale[0], scale[0])
    if type == ShapeType.CAPSULE:
        half = vec(scale, scale[0], scale[0], scale[0] + scale[1])
    if type == ShapeType.CYLINDER or type == ShapeType.CONE:
        half = vec(scale, scale[0], scale[0], scale[1])
    if type == ShapeType.MESH:
        half = vec(scale, scale[0] * mesh[0], scale[1] * mesh[1], scale[2] * mesh[2])
    return half


@func
def single(p: Any) -> vec3:
    """A point in float32, as trees have them."""
    return vec3(float32(p[0]), float32(p[1]), float32(p[2]))


@func
def vec(like: Any, x: Any, y: Any, z: Any) -> Any:
    """A vector of the type of another."""
    return type(like)(x, y, z)


@kernel(enable_backward=False)
def bound_forms(forms: Any, bounds: Any, treed: array(dtype=int32), dt: Any, moving: Any, pull: array(dtype=Any)):
    """Boxes around forms and their motion in a step."""
    s = tid()
    row, scale = forms.row[s], forms.scale[s]
    half = half_extents(bounds.type[s], scale, bounds.half[s])
    local = vec(scale, bounds.middle[s][0] * scale[0], bounds.middle[s][1] * scale[1], bounds.middle[s][2] * scale[2])
    pose, twist = forms.pose[s], moving.twist[row]
    middle = to_world(pose, local)
    size = length(half)
    arm = middle - transform_get_translation(moving.pose[row])
    way = dt * spatial_bottom(twist)
    turn = dt * length(spatial_top(twist)) * (length(arm) + size)
    far = size * _SLACK + turn + forms.margin[s]
    if row < pull.shape[0]:
        fall = dt * dt * pull[row]
        way = way + 0.5 * fall
        far += length(fall)
    bounds.travel[s] = float32(far + length(way))
    bounds.size[s] = float32(_HUGE)
    if treed[s] > 0 or bounds.body[s] >= 0:
        bounds.size[s] = float32(size)
        m = quat_to_matrix(transform_get_rotation(pose))
        wide = half
        for i in range(3):
            wide[i] = far + abs(m[i, 0]) * half[0] + abs(m[i, 1]) * half[1] + abs(m[i, 2]) * half[2]
        low, high = single(min(middle, middle + way) - wide), single(max(middle, middle + way) + wide)
        for i in range(3):
            more = 1.0e-6 * max(abs(low[i]), abs(high[i]))
            low[i], high[i] = low[i] - more, high[i] + more
        bounds.lower[s], bounds.upper[s] = low, high


# ----- pairs --------------------------------------------------------------------------------------


@func
def enter_pair(f: Any, bounds: Any, i: int32, j: int32):
    """Note a pair, unless both are of one body or joined, ignore each other, or are no kind of contact."""
    one, two = bounds.body[i], bounds.body[j]
    apart = one != two and (f.group[i] & f.collides[j]) != 0 and (f.group[j] & f.collides[i]) != 0
    if apart and f.ignored.shape[0] > 0:
        apart = not is_listed(f.ignored, int64(min(i, j)) * int64(f.shape_class.shape[0]) + int64(max(i, j)))
    if apart and one >= 0 and two >= 0 and f.joined.shape[0] > 0:
        apart = not is_listed(f.joined, int64(min(one, two)) * int64(f.bodies) + int64(max(one, two)))
    if apart:
        a, b = i, j
        kind = f.kinds[f.shape_class[a], f.shape_class[b]]
        if kind < 0:
            a, b = j, i
            kind = f.kinds[f.shape_class[a], f.shape_class[b]]
        if kind >= 0:
            n = int64(f.shape_class.shape[0])
            parts = f.parts[kind]
            at = atomic_add(f.number, 0, parts)
            for k in range(parts):
                if at + k < f.keys.shape[0] // 2:
                    f.keys[at + k] = ((int64(kind) * n + int64(a)) * n + int64(b)) * _PARTS + int64(k)


@func
def is_listed(keys: array(dtype=int64), key: int64) -> bool:
    """Whether a key is among ascending ones."""
    low, high = int32(0), keys.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return keys[low] == key


@kernel(enable_backward=False)
def find_in_tree(
    tree: uint64, movers: array(dtype=int32), bounds: Any, f: Any, inv_mass: array(dtype=Any), row: array(dtype=int32)
):
    """Pairs of a body's shape and what its box meets; of two bodies once."""
    i = movers[tid()]
    free = inv_mass[row[i]] > 0.0
    for j in bvh_query_aabb(tree, bounds.lower[i], bounds.upper[i], bvh_get_group_root(tree, bounds.world[i])):
        if bounds.body[j] < 0:
            if free:
                enter_pair(f, bounds, i, j)
        elif j > i and (free or inv_mass[row[j]] > 0.0):
            enter_pair(f, bounds, i, j)


@kernel(enable_backward=False)
def find_singles(pairs: array(dtype=vec2i), forms: Any, bounds: Any, f: Any, inv_mass: array(dtype=Any)):
    """Pairs of an obstacle that is in no tree."""
    s, i = pairs[tid()][0], pairs[tid()][1]
    if inv_mass[forms.row[i]] > 0.0:
        near = True
        if bounds.type[s] == ShapeType.PLANE:
            up = single(quat_rotate(transform_get_rotation(forms.pose[s]), type(forms.scale[s])(0.0, 0.0, 1.0)))
            half = 0.5 * (bounds.upper[i] - bounds.lower[i])
            middle = bounds.lower[i] + half - single(transform_get_translation(forms.pose[s]))
            wide = abs(up[0]) * half[0] + abs(up[1]) * half[1] + abs(up[2]) * half[2]
            near = dot(up, middle) - wide <= bounds.travel[s]
        if near:
            enter_pair(f, bounds, i, s)


@kernel(enable_backward=False)
def mark_ranges(
    n: int32,
    keys: array(dtype=int64),
    number: array(dtype=int32),
    count: array(dtype=int32),
    ranges: array(dtype=int32),
):
    """Where pairs of each kind begin; the last one is how many there are."""
    kind = tid()
    most = min(number[0], keys.shape[0] // 2)
    key = int64(kind) * int64(n) * int64(n) * _PARTS
    low, high = int32(0), most
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    ranges[kind] = low
    if kind == 0:
        count[0] = most


@kernel(enable_backward=False)
def unpack_pairs(
    n: int32, keys: array(dtype=int64), count: array(dtype=int32), bounds: Any, row: array(dtype=int32), m: Any,
):  # fmt: skip
    """Shapes, rows and reach of pairs."""
    c = tid()
    if c < count[0]:
        pair = keys[c] // _PARTS
        m.near[c] = 1
        m.part[c] = int32(keys[c] % _PARTS)
        rest = pair % (int64(n) * int64(n))
        a, b = int32(rest // int64(n)), int32(rest % int64(n))
        m.shapes[c], m.rows[c] = vec2i(a, b), vec2i(row[a], row[b])
        m.reach[c] = type(m.reach[c])(bounds.travel[a] + bounds.travel[b])
        m.still[c] = type(m.reach[c])(_STILL * min(bounds.size[a], bounds.size[b]))
