"""What a state remembers of contact from step to step: pairs, features and impulses; and forces that it reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.language import Array, Float, Vec, array, func, generic_struct, int32, int64, kernel, tid, vec2i, vec4i
from ...core.lib.sampling import lower_bound
from .manifold import POINTS
from .pairs import PAD

if TYPE_CHECKING:
    from ..scene.model import Model
    from ..scene.state import State

_FIELDS = ("contact_key", "contact_feature", "contact_first", "contact_second", "contact_rub", "contact_later")
_FIELDS += ("contact_roll", "contact_roll_later")


@generic_struct
class Memory:
    """Impulses of a state, see `Impulses`. key: of each pair, ascending."""

    key: array(dtype=int64)
    feature: array(dtype=vec4i)
    first: Array[Float]
    second: Array[Float]
    rub: Array[Vec[4, Float]]
    later: Array[Vec[4, Float]]
    roll: Array[Vec[3, Float]]
    roll_later: Array[Vec[3, Float]]


def add_contact_fields(model: Model, n: int) -> None:
    """Ask for what states of a model hand on, for n pairs."""
    add = model.add_state_field
    add("contact_key", int64, n, PAD, about="pairs of shapes that were near, in order")
    add("contact_feature", vec4i, n, -1, about="corners, edges and faces that touched")
    add("contact_first", model.dtype, POINTS * n, 0, "N s", "impulses on positions, along normals")
    add("contact_second", model.dtype, POINTS * n, 0, "N s", "impulses on velocities, along normals")
    add("contact_rub", model.vec4, n, 0, "N s, N m s", "impulses on positions, across normals and about them")
    add("contact_later", model.vec4, n, 0, "N s, N m s", "impulses on velocities, across normals and about them")
    add("contact_roll", model.vec3, n, 0, "N m s", "angular impulses on positions, across normals")
    add("contact_roll_later", model.vec3, n, 0, "N m s", "angular impulses on velocities, across normals")
    add("contact_shapes", vec2i, n, -1, about="pairs of shapes that were near")
    add("contact_point", model.vec3, n, 0, "m", "where they pressed")
    add("contact_normal", model.vec3, n, 0, about="from the first shape to the second")
    add("contact_force", model.vec3, n, 0, "N", "on the second, mean of a step")


def memory_of(model: Model, state: State) -> Any:
    """The `Memory` of a state."""
    return Memory[model.dtype](*(getattr(state, name) for name in _FIELDS))


@func
def row_of(keys: array(dtype=int64), key: int64) -> int32:
    """The row of a key among ascending ones, -1 for none."""
    at = lower_bound(keys, key)
    if keys[at] != key:
        at = -1
    return at


@kernel(enable_backward=False)
def recall_features(count: array(dtype=int32), keys: array(dtype=int64), memory: Any, p: Any):
    """Features of pairs that a state knows."""
    c = tid()
    if c < count[0]:
        at = row_of(memory.key, keys[c])
        feature = vec4i(-1, -1, -1, -1)
        if at >= 0:
            feature = memory.feature[at]
        p.feature[c] = feature


@kernel
def recall_impulses(count: array(dtype=int32), keys: array(dtype=int64), memory: Any, p: Any):
    """Their impulses."""
    c = tid()
    if c < count[0]:
        at = row_of(memory.key, keys[c])
        for k in range(4):
            first, second = memory.first[0] * 0.0, memory.second[0] * 0.0
            if at >= 0:
                first, second = memory.first[4 * at + k], memory.second[4 * at + k]
            p.first[4 * c + k] = first
            p.second[4 * c + k] = second
            p.approach[4 * c + k] = first * 0.0
        rub, later = memory.rub[0] * 0.0, memory.later[0] * 0.0
        if at >= 0:
            rub, later = memory.rub[at], memory.later[at]
        p.rub[c], p.later[c] = rub, later
        roll, roll_later = memory.roll[0] * 0.0, memory.roll[0] * 0.0
        if at >= 0:
            roll, roll_later = memory.roll[at], memory.roll_later[at]
        p.roll[c], p.roll_later[c] = roll, roll_later


@kernel(enable_backward=False)
def keep_features(
    count: array(dtype=int32), keys: array(dtype=int64), p: Any, shapes: array(dtype=vec2i), memory: Any,
    named: array(dtype=vec2i),
):  # fmt: skip
    """Pairs and features, for the next step."""
    c = tid()
    key, feature, pair = int64(PAD), vec4i(-1, -1, -1, -1), vec2i(-1, -1)
    if c < count[0]:
        key, feature, pair = keys[c], p.feature[c], shapes[c]
    memory.key[c] = key
    memory.feature[c] = feature
    named[c] = pair


@kernel
def keep_impulses(count: array(dtype=int32), m: Any, p: Any, memory: Any):
    """Impulses for the next step; none of what bounced."""
    c = tid()
    there = c < count[0]
    for k in range(4):
        if there and p.feature[c][k] >= 0 and p.approach[4 * c + k] > 0.0 and m.surface[c][2] > 0.0:
            there = False
    for k in range(4):
        slot = 4 * c + k
        first, second = p.first[slot] * 0.0, p.second[slot] * 0.0
        if there and p.feature[c][k] >= 0:
            first, second = p.first[slot], p.second[slot]
        memory.first[slot] = first
        memory.second[slot] = second
    rub, later = p.rub[c] * 0.0, p.later[c] * 0.0
    if there:
        rub, later = p.rub[c], p.later[c]
    memory.rub[c], memory.later[c] = rub, later
    roll, roll_later = p.roll[c] * 0.0, p.roll[c] * 0.0
    if there:
        roll, roll_later = p.roll[c], p.roll_later[c]
    memory.roll[c], memory.roll_later[c] = roll, roll_later


@kernel
def report_forces(
    count: array(dtype=int32), m: Any, felt: Any, point: array(dtype=Any), normal: array(dtype=Any),
    force: array(dtype=Any),
):  # fmt: skip
    """Force of each pair, where it acts, and its normal."""
    c = tid()
    at, n, f = felt.middle[c] * 0.0, felt.middle[c] * 0.0, felt.middle[c] * 0.0
    if c < count[0]:
        f = felt.force[c]
        if felt.pressing[c] > 0.0:
            at = felt.middle[c] / felt.pressing[c]
            n = m.normal[4 * c]
    point[c], normal[c], force[c] = at, n, f
