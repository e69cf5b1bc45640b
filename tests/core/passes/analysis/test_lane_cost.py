"""Estimates of lanes decide as measurements do."""

import pytest
from pass_runs import lowered

import warpsim as wp
from warpsim.core.passes.analysis.divergence import varying
from warpsim.core.passes.analysis.lane_cost import gains_from_lanes
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.passes.simplify.unroll import unroll

Floats, Ints, Vectors = wp.array(dtype=float), wp.array(dtype=int), wp.array(dtype=wp.vec3)
MEASURED = []


def gains(kernel, width=16):
    fn = unroll(inline(lowered(kernel)), 16)
    return gains_from_lanes(fn, width, varying(fn))


def with_speed(speed):
    """Note a kernel, and how many times as fast its threads were measured to be in 16 lanes."""

    def note(function):
        MEASURED.append(pytest.param(wp.kernel(function), speed, id=function.__name__))
        return MEASURED[-1].values[0]

    return note


@with_speed(0.3)
def gathers_and_adds_little(x: Vectors, at: Ints, y: Vectors):
    t = wp.tid()
    a, b = x[at[4 * t]], x[at[4 * t + 1]]
    y[t] = wp.min(a, b) + wp.max(a, b)


@with_speed(1.2)
def gathers_and_turns_six_times(x: Vectors, at: Ints, y: Vectors):
    t = wp.tid()
    a, b = x[at[4 * t]], x[at[4 * t + 1]]
    r = a
    for _ in range(6):
        r = wp.cross(r, b) + a
    y[t] = r


@with_speed(1.1)
def turns_six_times_and_scatters(x: Vectors, at: Ints, y: Vectors):
    t = wp.tid()
    a, b = x[at[4 * t]], x[at[4 * t + 1]]
    r = a
    for _ in range(6):
        r = wp.cross(r, b) + a
    wp.atomic_add(y, at[4 * t], r)
    wp.atomic_sub(y, at[4 * t + 1], r)


@with_speed(0.5)
def normalizes_once(x: Vectors, at: Ints, y: Vectors):
    t = wp.tid()
    y[t] = wp.normalize(x[at[4 * t]] - x[at[4 * t + 1]])


@with_speed(2.0)
def normalizes_three_times(x: Vectors, at: Ints, y: Vectors):
    t = wp.tid()
    a, b = x[at[4 * t]], x[at[4 * t + 1]]
    r = wp.normalize(a - b)
    r = wp.normalize(wp.cross(r, a))
    y[t] = wp.normalize(wp.cross(r, b))


@with_speed(0.5)
def adds_up_pulls(x: Vectors, at: Ints, y: Vectors):
    t = wp.tid()
    r, a = wp.vec3(), x[t]
    for k in range(4):
        d = x[at[4 * t + k]] - a
        r += d / (wp.dot(d, d) + 0.1)
    y[t] = r


@with_speed(3.4)
def adds_up_pulls_of_the_near(x: Vectors, at: Ints, y: Vectors):
    t = wp.tid()
    r, a = wp.vec3(), x[t]
    for k in range(4):
        d = x[at[4 * t + k]] - a
        q = wp.length(d)
        if q < 1.0:
            r += d * ((1.0 - q) * (1.0 - q) / (q + 0.01))
    y[t] = r


@with_speed(7.0)
def adds_up_what_all_read(x: Vectors, at: Ints, y: Vectors):
    t = wp.tid()
    r, a = wp.vec3(), x[t]
    for k in range(64):
        d = x[at[k]] - a
        r += x[at[k]] * wp.max(1.0 - wp.dot(d, d), 0.0)
    y[t] = r


@with_speed(0.8)
def adds_up_some_roots(x: Floats, at: Ints, y: Floats):
    t = wp.tid()
    r = float(0.0)
    for k in range(at[t] % 9):
        r += wp.sqrt(x[(t + k) % x.shape[0]])
    y[t] = r


@with_speed(4.6)
def iterates_until_it_escapes(x: Floats, at: Ints, y: Floats):
    t = wp.tid()
    c, r, k = x[at[4 * t]], float(0.0), int(0)
    while r * r < 4.0 and k < 40:
        r = r * r * 0.9 + c * 0.2 + 0.1
        k += 1
    y[t] = r


@with_speed(0.65)
def divides_integers(x: Floats, at: Ints, y: Floats):
    t = wp.tid()
    n, m = at[t], at[4 * t + 1] + 1
    for k in range(4):
        n = (n * 7 + k) % m
    y[t] = x[n]


@with_speed(0.27)
def bounds_boxes(x: Vectors, at: Ints, y: Vectors):
    t = wp.tid()
    low, high = wp.vec3(1.0e9), wp.vec3(-1.0e9)
    i = t
    while i < x.shape[0]:
        if wp.isfinite(x[i]):
            low, high = wp.min(low, x[i]), wp.max(high, x[i])
        i += y.shape[0]
    y[t] = high - low


@pytest.mark.parametrize("kernel, speed", MEASURED)
def test_lanes_are_chosen_where_they_were_measured_to_be_faster(kernel, speed):
    assert gains(kernel) == (speed > 1)


def test_narrow_vectors_pay_for_less():
    assert gains(normalizes_three_times) and not gains(normalizes_three_times, 4)
    assert gains(iterates_until_it_escapes, 4)


@wp.kernel
def in_doubles(x: wp.array(dtype=wp.vec3d), at: Ints, y: wp.array(dtype=wp.vec3d)):
    t = wp.tid()
    a, b = x[at[4 * t]], x[at[4 * t + 1]]
    r = a
    for _ in range(6):
        r = wp.cross(r, b) + a
    wp.atomic_add(y, at[4 * t], r)
    wp.atomic_sub(y, at[4 * t + 1], r)


def test_doubles_fill_a_vector_with_half_as_many():
    assert gains(turns_six_times_and_scatters) and not gains(in_doubles)
