"""What is no cloth any more is named: strains, edges through triangles, particles in shapes; `check` warns of it."""

import warnings

import numpy as np
import pytest
from xpbd_scenes import closed_box

import warpsim as wp
from warpsim.solvers import CrossingWarning, ModelBuilder, SolverXPBD, StartWarning, StrainWarning, SurfaceContacts
from warpsim.solvers.cases.xpbd_drape import crossings
from warpsim.solvers.contact.crossings import first_crossing

REST = (0.0, 0.0, 0.0, 1.0)
FLAT = (0.7071068, 0.0, 0.0, 0.7071068)


def state_of(builder, dtype=wp.float32, **changes):
    model = builder.finalize(device="cpu", dtype=dtype)
    state = model.state()
    q = state.particle_q.numpy()
    for particle, place in changes.items():
        q[int(particle[1:])] = place
    state.particle_q.assign(q)
    return SolverXPBD(model).statistics(state)


def sheet(**material):
    builder = ModelBuilder()
    builder.add_cloth_grid((0, 0, 0), REST, 0.0, 2, 2, 0.1, 0.1, 0.01, **material)
    return builder


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_strains_of_membranes_are_principal_stretches_less_one(dtype):
    builder, stretch = sheet(tri_ke=10.0), np.array([[1.3, 0.2], [-0.1, 0.8]])
    places = {f"p{k}": (*(stretch @ builder.particles["q"][k, :2]), 0.0) for k in range(9)}
    strain = state_of(builder, dtype, **places).membrane_strain
    principal = np.linalg.svd(stretch, compute_uv=False) - 1.0
    np.testing.assert_allclose(strain, principal[np.abs(principal).argmax()], rtol=1e-5)
    assert not state_of(sheet(), **places).membrane_strain.any()


def test_what_is_strained_most_is_named():
    assert state_of(sheet(spring_ke=1.0, tri_ke=1.0)).overstrained() is None
    told = state_of(sheet(spring_ke=1.0), p1=(0.1, 0.1, 0.08)).overstrained(0.2)
    assert told.startswith("spring ") and "of particles [0, 1], has a strain of 0.625" in told
    assert "expected: at most 0.2\nhelp: more substeps" in told
    assert "triangle " in state_of(sheet(tri_ke=1.0), p8=(0.4, 0.4, 0.0)).overstrained()
    assert state_of(sheet(tri_ke=1.0), p8=(0.21, 0.21, 0.0)).overstrained() is None


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_the_first_edge_through_a_triangle_is_named(dtype):
    builder = sheet()
    builder.add_cloth_grid((0.03, 0.04, 0.01), REST, 0.0, 2, 2, 0.1, 0.1, 0.01)
    assert state_of(builder, dtype).crossed() is None
    told = state_of(builder, dtype, p13=(0.13, 0.14, -0.02)).crossed()
    assert "goes through the triangle of particles" in told
    assert "help: more substeps" in told
    edge, triangle = (list(map(int, part.split("]")[0].split(", "))) for part in told.split("[")[1:3])
    assert 13 in edge + triangle
    assert min(edge) < 9 <= min(triangle) or min(triangle) < 9 <= min(edge)


def test_crossings_of_triangles_at_random_are_those_of_a_search_of_all_pairs():
    """Triangles so small that about half of the scenes have none."""
    rng, seen = np.random.default_rng(3), set()
    for _ in range(40):
        builder = ModelBuilder()
        middles = rng.uniform(-1.0, 1.0, (30, 1, 3))
        builder.add_particles((middles + rng.uniform(-0.23, 0.23, (30, 3, 3))).reshape(-1, 3))
        builder.add_triangles(np.arange(90).reshape(30, 3))
        model = builder.finalize(device="cpu", dtype=wp.float64)
        faces, told = model.tri_indices.numpy(), first_crossing(model, model.particle_q)
        seen.add(told is not None)
        assert (told is not None) == (crossings(model.particle_q.numpy(), faces) > 0)
    assert seen == {True, False}


def test_a_sheet_that_is_folded_does_not_cross_itself():
    builder = sheet()
    folded = {f"p{k}": (0.0, 0.1 * (k // 3), 0.001) for k in (2, 5, 8)}
    assert state_of(builder, **folded).crossed() is None


SHAPES = {
    "sphere": lambda b: b.add_shape_sphere((0.1, 0.1, 0.4, *REST), 0.2),
    "plane": lambda b: b.add_shape_plane((0.0, 0.0, -1.0), (0.0, 0.0, 0.2)),
    "mesh": lambda b: b.add_shape_mesh((0.1, 0.1, 0.4, *REST), closed_box(), (0.4, 0.4, 0.4)),
    "sdf": lambda b: b.add_shape_sdf((0.1, 0.1, 0.7, *REST), wp.mesh_to_volume(closed_box(), 0.05)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_particle_that_is_deepest_in_a_shape_is_named(shape):
    builder = sheet()
    SHAPES[shape](builder)
    assert state_of(builder).crossed() is None
    told = state_of(builder, p4=(0.1, 0.1, 0.32), p5=(0.1, 0.1, 0.23)).crossed()
    assert told.startswith("particle 4 is 0.12 m deep in shape 0\nhelp: more substeps")


def test_what_is_held_or_attached_in_a_shape_has_not_passed_into_it():
    builder = sheet()
    builder.add_shape_sphere((0.0, 0.0, 0.0, *REST), 0.05)
    assert state_of(builder).crossed() is not None
    builder.add_attachment(0, (0.0, 0.0, 0.0), shape=0)
    assert state_of(builder).crossed() is None


def test_crossings_are_looked_for_where_a_control_has_the_shapes():
    builder = sheet()
    builder.add_shape_sphere((0.0, 0.0, 5.0, *REST), 0.05)
    model = builder.finalize(device="cpu")
    control, statistics = model.control(), SolverXPBD(model).statistics(model.state())
    control.set_shape(0, (0.1, 0.1, 0.0))
    assert statistics.crossed() is None
    assert "particle 4 is 0.05 m deep in shape 0" in statistics.crossed(control)


def hanging(substeps, check=True):
    """Half a metre of cloth, soft for its weight and steps."""
    builder = ModelBuilder()
    builder.add_cloth_grid((0, 0, 0), FLAT, 0.0, 20, 20, 0.025, 0.025, 1e-4, fix_left=True, spring_ke=1e4)
    model = builder.finalize(device="cpu")
    return SolverXPBD(model, substeps=substeps, check=check), model.state()


def test_checked_steps_warn_once_of_strain():
    solver, state = hanging(1)
    with pytest.warns(StrainWarning, match=r"step \d+: spring \d+, of particles .* has a strain of") as told:
        for _ in range(12):
            solver.step(state, state, dt=1 / 24)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert solver.statistics(state).diverged is False
    solver, state = hanging(40)
    for _ in range(12):
        solver.step(state, state, dt=1 / 24)  # warnings are errors here


def test_checked_steps_warn_of_what_goes_through():
    """Two sheets that start crossed, of which nobody knows which side was meant."""
    builder = sheet(spring_ke=10.0)
    builder.add_cloth_grid((0.04, 0.03, -0.06), FLAT, 0.0, 2, 2, 0.1, 0.1, 0.01, spring_ke=10.0)
    model = builder.finalize(device="cpu")
    solver, state = SolverXPBD(model, check=True), model.state()
    solver.step(state, state, dt=1e-3)  # without contacts sheets pass through each other
    with pytest.warns(StartWarning, match="inside of each other"):
        contacts = SurfaceContacts(model)
    with pytest.warns(CrossingWarning, match=r"step 1: the edge of particles \[\d+, \d+\] goes through the triangle"):
        solver.step(state, state, None, contacts, 1e-3)


def test_checked_steps_warn_of_what_is_in_a_shape():
    builder = ModelBuilder()
    builder.add_particle((0.0, 0.0, 0.3), 0.0, 1.0, 0.01)
    builder.add_shape_mesh((0.0, 0.0, 0.0, *REST), closed_box())
    model = builder.finalize(device="cpu")
    solver, state = SolverXPBD(model, check=True), model.state()
    with pytest.warns(CrossingWarning, match=r"step 0: particle 0 is 0.2 m deep in shape 0"):
        solver.step(state, state, dt=1e-3)


def test_unchecked_steps_look_at_nothing():
    solver, state = hanging(1, check=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(12):
            solver.step(state, state, dt=1 / 24)
    assert solver.statistics(state).overstrained() is not None
