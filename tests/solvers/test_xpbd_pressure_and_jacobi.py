"""Pressure in closed surfaces, and Jacobi: exactness, momentum, threads, the interpreter, gradients, refusals."""

import numpy as np
import pytest
from test_xpbd_gradients import Run, check
from xpbd_scenes import SCENES

import warpsim as wp
from warpsim.errors import ModelError
from warpsim.solvers import ModelBuilder, SolverXPBD
from warpsim.solvers.cases.xpbd_drape import ball
from warpsim.solvers.cases.xpbd_springs import hanging_chain

DT, REST = 1.0 / 60.0, (0.0, 0.0, 0.0, 1.0)


def balloons(bulk_modulus=500.0, divisions=1):
    """Two balls of springs under pressure, one of them moving."""
    builder = ModelBuilder(gravity=0.0)
    points, faces = ball(divisions)
    for k, target in enumerate((1.3, 0.8)):
        builder.add_cloth_mesh((2.0 * k, 1, 0), REST, 0.5, (0.1, 0.2 * k, 0), points, faces, 0.3, spring_ke=200.0)
        builder.add_pressure(range(k * len(faces), (k + 1) * len(faces)), target, bulk_modulus)
    return builder


def after(builder, steps=1, device="cpu", **options):
    model = builder.finalize(device=device, dtype=wp.float64)
    solver, state = SolverXPBD(model, **{"substeps": 4, **options}), model.state()
    for _ in range(steps):
        solver.step(state, state, None, None, DT)
    return solver.statistics(state)


# ----- pressure -----------------------------------------------------------------------------------


def test_incompressible_filling_takes_its_volume_at_once():
    builder = balloons(np.inf)
    before = after(builder, 0).enclosed_volume
    np.testing.assert_allclose(after(builder, iterations=8).enclosed_volume / before, [1.3, 0.8], rtol=1e-3)
    np.testing.assert_allclose(after(builder, 30).enclosed_volume / before, [1.3, 0.8], rtol=1e-3)


def test_pressure_changes_no_momentum():
    before, found = after(balloons(), 0), after(balloons(), 20)
    np.testing.assert_allclose(found.momentum, before.momentum, atol=1e-13)
    np.testing.assert_allclose(found.angular_momentum, before.angular_momentum, atol=2e-2)


@pytest.mark.parametrize("iterations", [1, 3])
def test_pressure_is_the_same_on_the_interpreter(iterations):
    options = {"substeps": 1, "iterations": iterations}
    expected = after(balloons(divisions=0), device="interp", **options).state.particle_q.numpy()
    found = after(balloons(divisions=0), **options).state.particle_q.numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("iterations", [1, 2])
def test_gradients_reach_pressure(iterations):
    moved = check(Run(balloons(divisions=0), iterations=iterations))
    assert {"particle_q", "particle_qd", "particle_mass", "pressure_target", "pressure_compliance"} <= moved


def surface(faces_of=lambda faces: faces, **options):
    builder = ModelBuilder()
    points, faces = ball(0)
    builder.add_particles(points)
    builder.add_triangles(faces_of(faces))
    builder.add_pressure(range(builder.triangles.count), **options)
    return builder


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: surface(lambda f: f[1:]), r"the surface of pressure 0 is open: 3 edges.*help: fill the holes"),
        (lambda: surface(lambda f: f[:, ::-1]), r"encloses -1\.33.* m\^3.*help: swap two corners"),
        (lambda: surface(target=0.0), r"pressure 0 has target 0 and bulk modulus inf Pa.*expected: above 0"),
        (lambda: surface(bulk_modulus=-1.0), r"bulk modulus -1 Pa.*expected: above 0"),
        (lambda: surface().add_pressure(range(8)), r"pressure 1 shares particle 0 with another one"),
        (lambda: surface().add_pressure([8]), r"pressure 1 names 1 triangles.*some of 8 so far"),
        (lambda: surface().add_pressure([]), r"pressure 1 names 0 triangles"),
    ],
)
def test_surfaces_that_hold_nothing_are_refused(make, message):
    with pytest.raises(ModelError, match=f"(?s){message}"):
        make()


# ----- Jacobi -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pair", "error"), [((20, 1), 0.026), ((20, 4), 1e-5), ((50, 1), 0.0045), ((1, 100), 1e-3)])
def test_jacobi_is_as_exact_as_its_page_says(pair, error):
    exact = 0.1 * 9.81 * 10 * 11 / 2 / 1000.0
    assert abs(hanging_chain(*pair, order="jacobi") / exact - 1.0) < error


@pytest.mark.parametrize("scene", [*SCENES, "balloons"])
def test_jacobi_and_colors_converge_to_nearly_the_same_step(scene):
    make = balloons if scene == "balloons" else SCENES[scene]
    options = {"substeps": 2, "iterations": 300}
    colored, jacobi = (
        after(make(), order=order, **options).state.particle_q.numpy() for order in ("colored", "jacobi")
    )
    single = after(make(), order="jacobi", substeps=2).state.particle_q.numpy()
    moved = np.abs(colored - make().particles["q"]).max()
    assert np.abs(jacobi - colored).max() < 0.05 * moved, "more than normals of different iterates can explain"
    assert np.abs(single - colored).max() > 1e-6, "one iteration was enough, so this shows nothing"


def test_jacobi_conserves_momentum():
    builder = SCENES["springs"]()
    builder.particles["mass"][:] = 0.01
    builder.gravity = 0.0
    before = after(builder, 0).momentum
    np.testing.assert_allclose(after(builder, 10, order="jacobi", relaxation=0.7).momentum, before, atol=1e-14)


@pytest.mark.parametrize("scene", SCENES)
def test_jacobi_is_the_same_on_the_interpreter(scene):
    options = {"substeps": 1, "iterations": 2, "order": "jacobi", "relaxation": 0.8}
    expected = after(SCENES[scene](0.05), device="interp", **options).state.particle_q.numpy()
    found = after(SCENES[scene](0.05), **options).state.particle_q.numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("scene", ["springs", "tetrahedra", "membrane"])
def test_gradients_go_through_jacobi(scene):
    assert {"particle_q", "particle_qd"} <= check(Run(SCENES[scene](0.05), iterations=2, order="jacobi"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relaxation": 0.0}, "relaxation is 0.0\nexpected: above 0, up to 1"),
        ({"relaxation": 1.5}, "relaxation is 1.5\nexpected: above 0, up to 1"),
        ({"order": "random"}, "order is 'random'\nexpected: 'colored' or 'jacobi'"),
    ],
)
def test_orders_without_meaning_are_refused(options, message):
    with pytest.raises(ModelError, match=message):
        SolverXPBD(SCENES["springs"]().finalize(device="cpu"), **options)
