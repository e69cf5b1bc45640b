"""The surface between cells and floats on it: inversion, folding, forces, and gradients of motions."""

import itertools

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArrayError, ModelError
from warpsim.solvers.cases.ocean import calm_surface, cylinder, slab
from warpsim.solvers.ocean import JONSWAP, Floats, Ocean, ocean_surface, query_heights
from warpsim.solvers.ocean.buoyancy import solid


def make(cells=64, **options):
    options = {"shortest": 25.0, "dtype": wp.float64, **options}
    return Ocean(JONSWAP(wind_speed=10.0, fetch=1e5), 300.0, cells, **options)


@wp.kernel
def ask(s: wp.solvers.ocean.query.SurfaceD, at: wp.array(dtype=wp.vec2d), answers: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    z, slope, velocity, up, found = ocean_surface(s, at[i][0], at[i][1])
    answers[i, 0] = z
    answers[i, 1] = slope[0]
    answers[i, 2] = slope[1]
    for k in range(3):
        answers[i, 3 + k] = velocity[k]
    answers[i, 6] = wp.float64(1.0) if found else wp.float64(0.0)
    answers[i, 7] = up


def asked(field, points):
    answers = wp.zeros((len(points), 8), dtype=wp.float64)
    wp.launch(ask, len(points), [field.surface, wp.array(points, dtype=wp.vec2d), answers])
    return answers.numpy()


@pytest.mark.parametrize("options", [{}, {"size": 1}, {"choppiness": 0.0}])
def test_water_is_found_where_it_stands(options):
    """Over every displaced cell stands the water of this cell, tiles further too."""
    ocean = make() if "size" in options else make(**options)
    field = ocean.evaluate(1.5, velocity=True)
    points = field.points().numpy().reshape(-1, 3)[::7]
    away = 300.0 * np.array([2.0, -3.0])
    answers = asked(field, points[:, :2] + away)
    assert answers[:, 6].all()
    np.testing.assert_allclose(answers[:, 0], points[:, 2], atol=1e-6)
    np.testing.assert_allclose(answers[:, 3:6], field.velocity.numpy().reshape(-1, 3)[::7], atol=1e-6)
    normals = field.normals.numpy().reshape(-1, 3)[::7]
    np.testing.assert_allclose(answers[:, 1:3], -normals[:, :2] / normals[:, 2:], atol=1e-6)


def test_heights_between_cells_are_those_of_a_finer_grid():
    coarse, fine = make(64).evaluate(0.0), make(256).evaluate(0.0)
    points = fine.points().numpy().reshape(-1, 3)[::37]
    heights = query_heights(coarse, points[:, 0], points[:, 1])
    assert np.abs(heights - points[:, 2]).max() < 3e-2 * points[:, 2].std()


def test_tiles_are_summed_at_a_point():
    ocean = Ocean(JONSWAP(10.0, 1e5), (400.0, 100.0), 64, dtype=wp.float64, trough_damping=0.8, choppiness=0.6)
    field = ocean.evaluate(0.0, velocity=True)
    points = field.points().numpy().reshape(-1, 3)[::11]
    answers = asked(field, points[:, :2])
    assert answers[:, 6].all()
    np.testing.assert_allclose(answers[:, 0], points[:, 2], atol=1e-5)
    normals = field.normals.numpy().reshape(-1, 3)[::11]
    np.testing.assert_allclose(answers[:, 1:3], -normals[:, :2] / normals[:, 2:], atol=1e-5)
    ends = [ocean.evaluate(h, velocity=True).velocity.numpy().reshape(-1, 3)[::11, 2] for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(answers[:, 7], (ends[0] - ends[1]) / 2e-5, atol=1e-4)


def test_folds_are_told_apart():
    """Much too choppy: some points have no water of their own, and the answer says so instead of looking for ever."""
    field = make(choppiness=25.0, shortest=10.0).evaluate(0.0)
    assert field.folded() > 0.01
    x, y = np.random.default_rng(0).uniform(0.0, 300.0, (2, 2000))
    heights = query_heights(field, x, y)
    assert 0.0 < np.isnan(heights).mean() < 0.9 and np.nanmax(np.abs(heights)) < 3.0


def test_gradients_of_a_height_to_the_noise():
    ocean = make(16)
    ocean.noise.requires_grad = True
    point = wp.array([[31.0, 77.0]], dtype=wp.vec2d, requires_grad=True)

    def height(grads=False):
        answers = wp.zeros((1, 8), dtype=wp.float64, requires_grad=True)
        with wp.Tape() as tape:
            ocean.update()
            wp.launch(ask, 1, [ocean.evaluate(1.0, velocity=True).surface, point, answers])
        if grads:
            seed = np.zeros((1, 8))
            seed[0, 0] = 1.0
            tape.backward(grads={answers: wp.array(seed)})
        return answers.numpy()[0]

    height(True)
    along, noise = ocean.noise.grad.numpy(), ocean.noise.numpy().copy()
    of_point = point.grad.numpy()[0].copy()
    for axis in (0, 1):
        ends = []
        for sign in (1e-5, -1e-5):
            point.assign(np.array([[31.0, 77.0]]) + sign * np.eye(2)[axis])
            ends.append(height()[0])
        assert of_point[axis] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
    point.assign([[31.0, 77.0]])
    direction = np.random.default_rng(1).standard_normal(noise.shape)
    ends = []
    for sign in (1e-6, -1e-6):
        ocean.noise.assign(noise + sign * direction)
        ends.append(height()[0])
    assert (along * direction).sum() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)


def test_points_that_do_not_pair_up_are_refused():
    field = make(16).evaluate(0.0)
    with pytest.raises(ArrayError, match=r"x has shape \(2,\), y \(1,\)\nexpected: one shape"):
        query_heights(field, [1.0, 2.0], [1.0])
    assert query_heights(field, [], []).shape == (0,) and query_heights(field, 1.0, 2.0).shape == ()
    assert np.isnan(query_heights(field, [np.nan], [0.0])[0])


# ----- floats ---------------------------------------------------------------------------------------


def test_solids_have_their_mass_properties():
    points, triangles = slab(2.0, 0.5)
    volume, center, inertia = solid(points[triangles] + [1.0, 2.0, 3.0])
    assert volume == pytest.approx(2.0) and center == pytest.approx([1.0, 2.0, 3.0])
    np.testing.assert_allclose(inertia, np.diag([4.0 + 0.25, 4.0 + 0.25, 8.0]) * 2.0 / 12.0, atol=1e-12)
    assert solid(np.array(cylinder(0.5, 2.0)[0])[cylinder(0.5, 2.0)[1]])[0] == pytest.approx(0.5 * np.pi, rel=1e-12)


@pytest.mark.parametrize("height", [-2.0, -0.1, 0.0, 0.2, 2.0])
def test_a_body_is_pushed_up_by_the_water_it_displaces(height):
    """One short step from rest: the acceleration is Archimedes' less gravity, whatever way the body is turned."""
    floats = Floats(*cylinder(0.5, 1.0), density=600.0, added_mass=0.0, drag=0.0)
    quarter = [[np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]]
    for turned in (None, quarter):
        state = floats.state([[3.0, 4.0, height]], turned)
        floats.step(state, state, calm_surface(), 1e-6)
        if turned is None:
            part = np.clip(0.5 - height, 0.0, 1.0)
        else:
            depth = np.clip(-height / 0.5, -1.0, 1.0)
            part = (np.arcsin(depth) + depth * np.sqrt(1.0 - depth**2)) / np.pi + 0.5
        expected = 9.81 * (part * 1025.0 / 600.0 - 1.0)
        assert state.velocity.numpy()[0, 2] / 1e-6 == pytest.approx(expected, rel=5e-3, abs=1e-2)
        assert np.abs(state.spin.numpy()).max() < 1e-9


def test_a_tilted_slab_rights_itself_and_drag_stops_it():
    floats = Floats(*slab(2.0, 0.4), density=512.5, drag=2.0, friction=0.5)
    state = floats.state([[0.0, 0.0, 0.0]], [[np.sin(0.15), 0.0, 0.0, np.cos(0.15)]])
    state.velocity.assign([[1.0, 0.0, 0.0]])
    surface = calm_surface()
    for _ in range(400):
        floats.step(state, state, surface, 0.02)
    orientation = state.orientation.numpy()[0]
    assert abs(orientation[0]) < 0.05 and np.linalg.norm(orientation) == pytest.approx(1.0)
    assert 0.0 < state.velocity.numpy()[0, 0] < 0.3 and abs(state.position.numpy()[0, 2]) < 0.02


def test_gradients_of_a_motion_to_mass_and_drag():
    surface = make(16).evaluate(0.0, velocity=True).surface

    def rest(mass, drag, grads=None):
        arrays = [wp.array([v], dtype=wp.float64, requires_grad=True) for v in (mass, drag)]
        floats = Floats(*slab(2.0, 0.5), mass=arrays[0], drag=arrays[1])
        states = [floats.state([[20.0, 30.0, 0.4]], requires_grad=True) for _ in range(9)]
        with wp.Tape() as tape:
            for before, after in itertools.pairwise(states):
                floats.step(before, after, surface, 0.05)
        if grads is not None:
            seed = np.array([[0.3, -0.2, 1.0]])
            tape.backward(grads={states[-1].position: wp.array(seed, dtype=wp.vec3d)})
            grads += [a.grad.numpy()[0] for a in arrays]
        return states[-1].position.numpy()[0] @ [0.3, -0.2, 1.0]

    grads = []
    rest(1000.0, 1.2, grads)
    of_mass = (rest(1000.01, 1.2) - rest(999.99, 1.2)) / 0.02
    of_drag = (rest(1000.0, 1.2001) - rest(1000.0, 1.1999)) / 2e-4
    np.testing.assert_allclose(grads, [of_mass, of_drag], rtol=1e-4)


@pytest.mark.parametrize("name", ["mass", "drag", "friction", "added_mass"])
def test_a_parameter_of_floats_that_alone_wants_a_gradient_gets_it(name):
    """The state before the step wants none."""
    surface = make(16).evaluate(0.0, velocity=True).surface
    values = {"mass": 1000.0, "drag": 1.2, "friction": 0.1, "added_mass": 0.5}

    def moved(value, grads=None):
        number = wp.array([value], dtype=wp.float64, requires_grad=True)
        floats = Floats(*slab(2.0, 0.5), **(values | {name: number}))
        before, after = (floats.state([[20.0, 30.0, 0.1]], requires_grad=g) for g in (False, True))
        before.velocity.assign([[0.5, 0.2, -0.4]])
        with wp.Tape() as tape:
            floats.step(before, after, surface, 0.05)
        if grads is not None:
            tape.backward(grads={after.velocity: wp.array([[0.3, -0.2, 1.0]], dtype=wp.vec3d)})
            grads.append(number.grad.numpy()[0])
        return after.velocity.numpy()[0] @ [0.3, -0.2, 1.0]

    grads, h = [], 1e-4 * values[name]
    moved(values[name], grads)
    assert grads[0] == pytest.approx((moved(values[name] + h) - moved(values[name] - h)) / (2.0 * h), rel=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "expected: a closed mesh with faces that turn outwards, and either a mass or a density"),
        ({"mass": 1.0, "density": 1.0}, "either a mass or a density"),
        ({"mass": -1.0}, "mass is -1\nexpected: at least 0"),
        ({"density": 500.0, "drag": -1.0}, "drag is -1"),
        ({"density": 500.0, "inertia": np.diag([1.0, 1.0, -1.0])}, "positive definite"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ArrayError, match=message):
        Floats(*slab(1.0, 1.0), **options)
    points, triangles = slab(1.0, 1.0)
    with pytest.raises(ArrayError, match="faces that turn outwards"):
        Floats(points, triangles[:, ::-1], density=500.0)
    with pytest.raises(ModelError, match="the hull is open: 3 edges have no face behind them"):
        Floats(points, triangles[1:], density=500.0)
    with pytest.raises(ArrayError, match=r"triangles name points 0 to 8\nexpected: 0 to 7"):
        Floats(points, [*triangles[1:].tolist(), [0, 1, 8]], density=500.0)
    with pytest.raises(ArrayError, match=r"dt is -1.0\nexpected: a finite time step"):
        body = Floats(points, triangles, density=500.0)
        body.step(body.state([[0.0, 0.0, 0.0]]), body.state([[0.0, 0.0, 0.0]]), calm_surface(), -1.0)
