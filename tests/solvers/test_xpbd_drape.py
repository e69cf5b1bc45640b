"""Drape coefficients and shadows: flat sheets, skirts, cones, folded cloth, worlds; what is refused."""

import numpy as np
import pytest

from warpsim.errors import ModelError
from warpsim.solvers import ModelBuilder, SolverXPBD
from warpsim.solvers.xpbd.gauges import drape_coefficient, shadow_area

RINGS, SIDES = 20, 96
DISC, CLOTH = 0.09, 0.15


def round_cloth():
    """Points (n, 3) and triangles of a flat round cloth, y up; the edge of the disc is a ring of it."""
    radii = np.append(np.linspace(0.0, DISC, RINGS // 2 + 1)[1:], np.linspace(DISC, CLOTH, RINGS // 2 + 1)[1:])
    angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
    x, z = radii[:, None] * np.cos(angle), radii[:, None] * np.sin(angle)
    rings = np.stack([x, 0.0 * x, z], axis=-1)
    i, j = np.divmod(np.arange((RINGS - 1) * SIDES), SIDES)
    a, b = 1 + i * SIDES + j, 1 + i * SIDES + (j + 1) % SIDES
    side = np.arange(SIDES)
    center = np.stack([0 * side, 1 + side, 1 + (side + 1) % SIDES], axis=1)
    around = np.concatenate([np.stack([a, a + SIDES, b], 1), np.stack([b, a + SIDES, b + SIDES], 1)])
    return np.concatenate([np.zeros((1, 3)), rings.reshape(-1, 3)]), np.concatenate([center, around])


def statistics_of(*shapes):
    """Of a round cloth that is put into a shape by a function of points, one world for each."""
    points, triangles = round_cloth()
    builder = ModelBuilder()
    for _ in shapes:
        one = ModelBuilder()
        one.add_cloth_mesh((0, 0, 0), (0, 0, 0, 1), 1.0, 0, vertices=points, indices=triangles.ravel(), density=0.2)
        builder.add_world(one)
    solver = SolverXPBD(builder.finalize())
    state = solver.model.state()
    state.particle_q.assign(np.concatenate([shape(points) for shape in shapes]))
    return solver.statistics(state)


def cone(angle):
    """What overhangs the disc falls off at an angle [deg], without regard to its width."""

    def shape(points):
        radius = np.hypot(points[:, 0], points[:, 2])
        over = np.maximum(radius - DISC, 0.0)
        shrunk = 1.0 - over * (1.0 - np.cos(np.radians(angle))) / np.maximum(radius, 1e-9)
        return points * shrunk[:, None] - np.outer(over * np.sin(np.radians(angle)), [0.0, 1.0, 0.0])

    return shape


def of_polygon(radius):
    """The disc of the same area as the polygon that the cloth's rings are."""
    return radius * np.sqrt(0.5 * SIDES * np.sin(2.0 * np.pi / SIDES) / np.pi)


@pytest.mark.parametrize("angle", [0.0, 30.0, 60.0, 90.0])
def test_a_flat_sheet_a_cone_and_a_skirt_have_the_coefficients_of_their_shadows(angle):
    edge = DISC + (CLOTH - DISC) * np.cos(np.radians(angle))
    expected = (edge**2 - DISC**2) / (CLOTH**2 - DISC**2)
    assert drape_coefficient(statistics_of(cone(angle)), of_polygon(DISC)) == pytest.approx(expected, abs=1e-4)


def test_each_world_has_its_own_cloth():
    statistics = statistics_of(cone(0.0), cone(90.0))
    assert drape_coefficient(statistics, of_polygon(DISC), world=0) == pytest.approx(1.0, abs=1e-4)
    assert drape_coefficient(statistics, of_polygon(DISC), world=1) == pytest.approx(0.0, abs=1e-4)
    with pytest.raises(ModelError, match="2 worlds\nexpected: world=0 to 1"):
        drape_coefficient(statistics, DISC)


@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_discs_that_are_none_or_larger_than_the_cloth_are_refused(radius):
    with pytest.raises(ModelError, match="a smaller disc"):
        drape_coefficient(statistics_of(cone(0.0)), radius)


def test_shadows_of_folded_and_of_tilted_sheets():
    square = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    triangles = np.array([[0, 1, 2], [0, 2, 3]])
    down = (0.0, -3.0, 0.0)
    assert shadow_area(square, triangles, down) == pytest.approx(2.0, rel=1e-6)
    assert shadow_area(square, triangles, (0.0, 1.0, 1.0)) == pytest.approx(2.0 * np.sqrt(0.5), rel=1e-6)
    assert shadow_area(square, triangles, (1.0, 0.0, 0.0)) == 0.0
    twice = np.concatenate([square, square + np.array([0.5, 1.0, 0.0])])
    assert shadow_area(twice, np.concatenate([triangles, triangles + 4]), down) == pytest.approx(2.5, rel=1e-3)
    apart = np.concatenate([square, square + np.array([3.0, 1.0, 0.0])])
    assert shadow_area(apart, np.concatenate([triangles, triangles + 4]), down) == pytest.approx(4.0, rel=1e-3)
    assert shadow_area(square, np.empty((0, 3), dtype=int), down) == 0.0
    with pytest.raises(ModelError, match="a direction"):
        shadow_area(square, triangles, (0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("triangles", "message"),
    [([[0, 1, 4]], "corner 4\nexpected: 0 to 3"), ([[0, 1, -1]], "corner -1"), ([0, 1, 2, 3], r"shape \(4,\)")],
)
def test_triangles_that_are_none_are_refused(triangles, message):
    with pytest.raises(ModelError, match=message):
        shadow_area(np.eye(4, 3), triangles, (0.0, 1.0, 0.0))


def test_cloth_that_is_not_finite_has_no_shadow():
    statistics = statistics_of(cone(30.0))
    q = statistics.state.particle_q.numpy()
    q[5] = np.nan
    statistics.state.particle_q.assign(q)
    assert np.isnan(drape_coefficient(statistics, DISC))
