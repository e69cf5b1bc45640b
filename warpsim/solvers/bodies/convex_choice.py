"""What of two convex shapes meets: the features whose normal keeps them farthest apart; see `touch_convex`.

`farthest_direction` says which direction that is and which places meet there. These places and lines between them are
tried, each with its exact normal; what a normal is worth is the distance of the supporting planes, so that none can
tell more than the true distance. A face with that normal is preferred, as it has more points.
"""

from __future__ import annotations

from typing import Any

from ...core.language import abs, dot, float32, float64, func, int32, length, min, vec4i, zeros
from ..scene.shapes import ShapeType
from .convex_points import spanning_points
from .convex_search import ROUNDING, farthest_direction, separation
from .convex_shapes import face_of, face_towards, line_between, line_of, middle_of, polygon_towards, radius_of, size_of
from .convex_shapes import support
from .pair_choice import no_points
from .touch_convex import FACE, FACE_OF_SECOND, LINE_AND_PLACE, LINES, PARALLEL, PLACE_AND_LINE, PLACES
from .touch_convex import feature_of, point_between, point_of_parallels, settle

_NEWTON = 10
"""Steps of Newton's method for a normal."""
_FIRM = 2.0e-5
"""Of the smaller shape: how much farther apart lines and places have to be than faces, and faces of the second shape
than those of the first."""
_ALONG, _AS_FAR = 1.5e-6, 5.0e-5
"""Faces are taken, too, whose normal is as near to the best one as this (one minus the cosine, of 0.1 degrees), if
their points tell the distance as well as this (of the smaller shape)."""
_WORSE, _TURNS = 30.0, 8
"""By how much less good features may do, again and again, where there are no points; how often that is tried."""
_SETTLED, _NEARLY = {float32: 1.0e-12, float64: 1.0e-20}, 1.0e-4
"""By how much less than this a last step turns a normal, squared: of one that is exact, and of one that counts."""
_LINE = 4096
"""More than a hull has corners or edges."""
_PARALLEL = 1.0e-6
"""Squared sine below which two lines are parallel."""
_FAR = 1.0e30


@func
def no_code() -> vec4i:
    """The code of no features."""
    return vec4i(0, 0, 0, 0)


# ----- lines and places ----------------------------------------------------------------------------


@func
def fill_features(numbers: Any, forms: Any, s: int32, places: vec4i) -> int32:
    """Numbers of different places, and of the lines between them, to which `_LINE` is added. How many there are."""
    count = int32(0)
    for k in range(16):
        i, j = k % 4, k // 4
        number = places[i]
        if i != j:
            number = line_between(forms, s, places[i], places[j])
            if number >= 0:
                number += _LINE
        new = number >= 0 and i <= j
        for h in range(count):
            if numbers[h] == number:
                new = False
        if new:
            numbers[count] = number
            count += 1
    return count


@func
def kind_of(one: int32, two: int32) -> int32:
    """What meets, of a place or line of each shape, as `fill_features` numbers them."""
    kind = int32(PLACES)
    if one >= _LINE and two >= _LINE:
        kind = LINES
    elif one >= _LINE:
        kind = LINE_AND_PLACE
    elif two >= _LINE:
        kind = PLACE_AND_LINE
    return kind


@func
def best_features(
    forms: Any, a: int32, b: int32, start: Any, places: vec4i, others: vec4i
) -> tuple[vec4i, Any, Any]:  # fmt: skip
    """The lines and places that tell best how far both are apart: code, normal, and a distance that is no more than
    that of the supporting planes, and less by what theirs is another."""
    mine, far = zeros(shape=10, dtype=int32), zeros(shape=10, dtype=int32)
    many, count = fill_features(mine, forms, a, places), fill_features(far, forms, b, others)
    code, aim, best = no_code(), start, start[0] * 0.0 - _FAR
    for i in range(many * count):
        one, two = mine[i // count], far[i % count]
        trial = vec4i(kind_of(one, two), one % _LINE, two % _LINE, 0)
        p, d, s, radius, _half = line_of(forms, a, trial[1])
        q, e, t, wide, _half = line_of(forms, b, trial[2])
        there = True
        if trial[0] == LINES and 1.0 - dot(d, e) * dot(d, e) < _PARALLEL:
            trial[0], there = PARALLEL, radius + wide > 0.0 and s == 0.0 and t == 0.0
        w, turn, steps, settled = start, start[0] * 0.0, int32(0), False
        while there and steps < _NEWTON:
            v, settled = settle(w, trial, p, d, s, q, e, t, forms, a, b)
            turn = dot(w - v, w - v)
            w = v
            steps += 1
            if trial[0] == LINES or trial[0] == PARALLEL:
                turn, steps = turn * 0.0, _NEWTON
            elif turn < _SETTLED[type(turn)]:
                steps = _NEWTON
        if settled and turn < _NEARLY:
            gap, _way, _place, _other = separation(forms, a, b, w)
            if trial[0] != PARALLEL:
                _x, told = point_between(trial, w, p, d, s, radius, q, e, t, wide, forms, a, b)
                gap = gap - abs(told - gap)
            if gap > best:
                best, aim, code = gap, w, trial
    return code, aim, best


@func
def parallel_points(code: vec4i, reach: Any, forms: Any, a: int32, b: int32) -> vec4i:
    """Ends of parallel lines that are beside the other one."""
    chosen, place = no_points(), int32(0)
    p, d, _s, one, half = line_of(forms, a, code[1])
    q, e, _t, two, wide = line_of(forms, b, code[2])
    for k in range(4):
        _x, _n, gap, there = point_of_parallels(k, p, d, one, half, q, e, two, wide)
        if there and gap <= reach:
            chosen[place] = k
            place += 1
    return chosen


# ----- the choice ----------------------------------------------------------------------------------


@func
def face_points(
    second: bool, aim: Any, least: Any, reach: Any, size: Any, forms: Any, a: int32, b: int32
) -> tuple[vec4i, Any, vec4i, Any]:  # fmt: skip
    """A face of one shape that has the normal `aim`, or nearly: its code, its normal from a to b, its points, and the
    height of the lowest; code 0 for none. second: it is one of b. least: how far apart it has to keep both to count
    although its normal is another [m]."""
    mine, other, n = a, b, aim
    if second:
        mine, other, n = b, a, -aim
    face, code, chosen, low = face_towards(forms, mine, n, size * 0.0), no_code(), no_points(), size * 0.0
    if face >= 0 and forms.kind[other] != ShapeType.PLANE:
        origin, up = face_of(forms, mine, face)
        there, _place = support(forms, other, -up)
        if dot(there - origin, up) - radius_of(forms, other) >= least or dot(up, n) > 1.0 - _ALONG:
            lying = polygon_towards(forms, other, -up)
            chosen, low = spanning_points(face, lying, reach, size, forms, mine, other)
            code, n = vec4i(FACE, face, lying, 0), up
            if second:
                code = vec4i(FACE_OF_SECOND, lying, face, 0)
    if second:
        n = -n
    return code, n, chosen, low


@func
def choose_points(
    more: vec4i, way: Any, told: Any, aim: Any, best: Any, reach: Any, size: Any, slack: Any, forms: Any, a: int32,
    b: int32,
) -> tuple[vec4i, Any, vec4i]:  # fmt: skip
    """Code, normal and points: of a face of the first or second shape if that is as good, else of lines and places,
    else of what is next best. more, way, told: code, normal and distance of lines and places; aim, best: the best
    normal and the distance. slack: what rounding does to it [m]."""
    code, n, chosen, turn, worse = no_code(), aim, no_points(), int32(0), _FIRM * size + slack
    while turn < 3 * _TURNS and chosen[0] < 0:
        if turn % 3 == 2:
            if more[0] > 0 and told >= best - worse:
                code, n, chosen[0] = more, way, 0
                if more[0] == PARALLEL:
                    chosen = parallel_points(more, reach, forms, a, b)
            worse = worse * _WORSE
        else:
            code, n, chosen, low = face_points(turn % 3 == 1, aim, best - worse, reach, size, forms, a, b)
            if turn < 2 and abs(low - best) > _AS_FAR * size + 2.0 * slack:
                chosen = no_points()
        turn += 1
    return code, n, chosen


@func
def choose_convex(forms: Any, heights: Any, m: Any, c: int32, reach: Any) -> vec4i:
    """Features of a pair of convex shapes, or of one and a plane."""
    a, b = m.shapes[c][0], m.shapes[c][1]
    size, slack, chosen = size_of(forms, a), reach * 0.0, no_points()
    aim, best, way, told, more = forms.scale[a], reach, forms.scale[a], reach, no_code()
    if forms.kind[b] == ShapeType.PLANE:
        origin, n = face_of(forms, b, 0)
        there, _place = support(forms, a, -n)
        aim, best = -n, dot(there - origin, n) - radius_of(forms, a)
    else:
        size = min(size, size_of(forms, b))
        slack = ROUNDING[type(size)] * (size + length(middle_of(forms, a)) + length(middle_of(forms, b)))
        aim, best, places, others = farthest_direction(forms, a, b, size, slack)
        more, way, told = best_features(forms, a, b, aim, places, others)
        if told > best:
            aim, best = way, told
    if best > reach:
        m.near[c] = 0
    else:
        code, n, chosen = choose_points(more, way, told, aim, best, reach, size, slack, forms, a, b)
        m.code[c], m.aim[c] = code, n
        for k in range(4):
            if chosen[k] >= 0:
                chosen[k] = feature_of(code, chosen[k])
    return chosen
