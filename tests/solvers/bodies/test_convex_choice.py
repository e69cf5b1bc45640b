"""Signed distances and normals of convex bodies against supporting planes in NumPy, for all forms that meet."""

import itertools
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from convex_oracle import Form, separation, signed_distance, spiral
from scipy.spatial.transform import Rotation
from touching_scenes import CONVEX, Points

import warpsim as wp
from warpsim.solvers import ModelBuilder, SolverBodies
from warpsim.solvers.scene.hull import hull_mesh

PAIRS = [pair for pair in itertools.combinations_with_replacement(CONVEX, 2) if set(pair) & set(CONVEX[3:])]
EXACT = {wp.float64: 1e-6, wp.float32: 1e-4}  # of the smaller form
ROUNDED = {wp.float64: 0.0, wp.float32: 2e-6}  # by coordinates of some metres [m]
UNIQUE = 3e-4  # by how much of it the next best normal is worse
TURNS = [
    Rotation.from_euler("xyz", turns, degrees=True).as_quat() for turns in itertools.product((0, 45, 90), repeat=3)
]


class Case(NamedTuple):
    """Two forms, their signed distance, and the normal from the first to the second, None where others are as good."""

    first: Form
    second: Form
    distance: float
    normal: np.ndarray | None


def random_form(rng, kind, size, aspect):
    """A form in the origin that is turned at random; size: the largest of its sizes."""
    scale = size / np.array([1.0, *np.exp(rng.uniform(0.0, np.log(aspect), 2))])
    rng.shuffle(scale)
    turn = Rotation.random(random_state=rng).as_quat()
    if kind != "hull":
        count = {"sphere": 1, "box": 3}.get(kind, 2)
        return Form(kind, tuple(scale[:count]), np.zeros(3), turn)
    points = rng.normal(size=(rng.integers(4, 61), 3))
    points *= scale / np.linalg.norm(points, axis=1, keepdims=True)
    return Form(kind, (), np.zeros(3), turn, points.astype(np.float32).astype(float))


def apart(rng, first, second, distance):
    """The second form, moved away in a random direction to a signed distance of about this."""
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    low, high, n = 0.0, 3.0 * (first.radius + second.radius), spiral(600)
    for _ in range(40):
        middle = 0.5 * (low + high)
        less = separation(first, second._replace(place=middle * way), n).max() < distance
        low, high = (middle, high) if less else (low, middle)
    return second._replace(place=high * way)


def cases_of(first, second):
    """Forms that touch, overlap a little or by 30 %, or are apart, alike or very different; then aligned ones."""
    rng, made = np.random.default_rng(CONVEX.index(first) * 10 + CONVEX.index(second)), []
    for aspect, depth in itertools.product((1.5, 20.0), (0.01, -1e-3, -0.02, -0.3)):
        sizes = 0.15 * np.exp(rng.uniform(-1.0, 1.0, 2) * np.log(aspect))
        a, b = (random_form(rng, kind, size, aspect) for kind, size in zip((first, second), sizes, strict=True))
        made.append((a, apart(rng, a, b, depth * min(*(a.sizes or (a.radius,)), *(b.sizes or (b.radius,))))))
    for centred in (False, True, True):
        a, b = (random_form(rng, kind, 0.15, 3.0)._replace(turn=TURNS[rng.integers(27)]) for kind in (first, second))
        axis = np.eye(3)[rng.integers(3)]
        place = 0.0 if centred else -0.01 - separation(a, b, axis[None])[0]
        made.append((a, b._replace(place=place * axis)))
    made.append((made[-1][0], made[-1][1]._replace(turn=made[-1][0].turn)))
    return [case_of(a, b) for a, b in made]


def case_of(a, b):
    distance, normals, values = signed_distance(a, b)
    size = min(a.radius, b.radius)
    others = values[normals @ normals[0] < np.cos(np.radians(0.1))]
    unique = not len(others) or others.max() < distance - UNIQUE * size
    return Case(a, b, distance, normals[0] if unique else None)


def add(builder, form, away):
    body = builder.add_body((*(form.place + away), *form.turn), mass=1.0, inertia=np.eye(3))
    if form.kind != "hull":
        getattr(builder, f"add_shape_{form.kind}")(None, *form.sizes, body=body)
        return
    points = wp.array(form.points, dtype=wp.vec3, device="cpu")
    loose = wp.Mesh(points, wp.array([0, 1, 2], dtype=wp.int32, device="cpu"))
    builder.add_shape_mesh(None, hull_mesh(loose), body=body)


@pytest.mark.parametrize("dtype", [wp.float64, wp.float32])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_gap_is_the_distance_of_supporting_planes(first, second, dtype):
    cases, builder = cases_of(first, second), ModelBuilder(gravity=0.0)
    for i, case in enumerate(cases):
        away = np.array([10.0 * i if dtype is wp.float64 else 2.0 * (i % 3), 2.0 * (i // 3), 0])
        add(builder, case.first, away)
        add(builder, case.second, away)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver = SolverBodies(builder.finalize("cpu", dtype=dtype))
    seen = 0
    for shapes, normals, gaps, _places in Points(solver).pairs:
        case, turned = cases[shapes.min() // 2], shapes[0] > shapes[1]
        if shapes.min() // 2 != shapes.max() // 2 or not len(gaps):
            continue
        size, k = min(case.first.radius, case.second.radius), int(np.argmin(gaps))
        n = -normals[k] if turned else normals[k]
        proven = separation(case.first, case.second, n[None].astype(float))[0]  # the samples may have missed it
        assert gaps[k] == pytest.approx(max(case.distance, proven), abs=EXACT[dtype] * size + ROUNDED[dtype])
        if case.normal is not None and proven < case.distance - 1e-7 * size:
            assert n @ case.normal > np.cos(np.radians(0.1))
        seen += 1
    assert seen >= 10
