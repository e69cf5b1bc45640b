"""What is easily given wrongly to fluids, and states that no step can follow: each is told, or comes out right."""

import math
import re
import warnings

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import DivergenceError, ModelError, StateError
from warpsim.solvers import Fluid, FluidStream, ModelBuilder, SolverDFSPH, SolverSPH
from warpsim.solvers.sph.filling import add_fluid_box
from warpsim.solvers.sph.start import StartWarning
from warpsim.solvers.sph.timestep import TimeStepError, TimeStepWarning


def block(**options):
    builder = ModelBuilder()
    add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 0.0), 0.1)
    options = {"dim": 2, **options}
    return SolverSPH(builder.finalize(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": ((1, 1, 1), (0, 0, 0))}, r"bounds is \(\(1, 1, 1\), .*\nexpected: two corners of three"),
        ({"bounds": (0, 1)}, r"bounds is \(0, 1\)\nexpected: two corners of three coordinates \[m\], the low"),
        ({"bounds": ((0, 0, 0), (0.01, 0.6, 0))}, r"smoothing length is 0.15 m, bounds are \[0.01, 0.6\] m wide"),
        ({"spacing": 5.0, "bounds": ((0, 0, 0), (1, 1, 0))}, r"smoothing length is 7.5 m, .*\nexpected: a box wider"),
        ({"dim": 4}, r"dim is 4\nexpected: 2 or 3"),
        ({"kernel": "poly6"}, r"kernel is 'poly6'\nexpected: one of cubic, wendland2, wendland4, quintic"),
        ({"density": "sum"}, r"density is 'sum'\nexpected: 'continuity' or 'summation'"),
        ({"substeps": 0}, r"substeps is 0\nexpected: an integer, 1 to 1000000, or None"),
        ({"smoothing": 0.0}, r"smoothing is 0.0 spacings\nexpected: 0.8 to 4"),
        ({"smoothing": math.nan}, r"smoothing is nan spacings\nexpected: 0.8 to 4"),
        ({"smoothing": "long"}, r"smoothing is 'long'\nexpected: a number"),
        ({"spacing": "wide"}, r"spacing is 'wide'\nexpected: a number"),
        ({"overlaps": "no"}, r"overlaps is 'no'\nexpected: 'warn', 'error', 'ignore'"),
        ({"fluid": "water"}, r"fluid is 'water'\nexpected: a Fluid"),
        ({"streams": None}, r"streams is None\nexpected: a list of FluidStream"),
        ({"streams": FluidStream(range(3), (0, 0, 0), (0, 1, 0), 0.1)}, r"streams is FluidStream.*\nexpected: a list"),
        ({"spacing": 0.0}, r"spacing is 0.0\nexpected: above 0 \[m\]"),
        (
            {"fluid": Fluid(tension=1.0e4)},
            r"a tension of 10000 N/m presses .* Pa\nexpected: a speed of sound of at least .*, it is 20; help: larger",
        ),
        (
            {"fluid": Fluid(shifting=0.5)},
            r"shifting of a fluid is 0.5, but it has free surfaces, as suction is False\nexpected: suction=True for",
        ),
        ({"fluid": Fluid(shifting=2.0), "suction": True}, r"shifting of a fluid is 2.0\nexpected: 0 to 1; 0.2 to 0.5"),
        ({"period": (1.0, 0.3, 0.0)}, r"period is \(1.0, 0.3, 0.0\) m\nexpected: at least twice the reach"),
        ({"period": (1.0, 1.0)}, r"period is \(1.0, 1.0\)\nexpected: three lengths \[m\], 0 for none"),
        ({"period": None}, r"period is None\nexpected: three lengths \[m\], 0 for none"),
    ],
)
def test_a_solver_of_no_fluid_is_refused(options, message):
    with pytest.raises(ModelError, match=message):
        block(**options)


def test_particles_that_start_in_each_other_or_in_walls_warn():
    builder = ModelBuilder()
    add_fluid_box(builder, (0.0, -0.2, 0.0), (1.0, 1.0, 0.0), 0.1)
    builder.add_particles([[0.06, 0.55, 0.0]], 0.0, 10.0)
    builder.add_ground_plane()
    model = builder.finalize()
    with pytest.warns(StartWarning) as found:
        SolverSPH(model, dim=2, bounds=((0.0, 0.0, 0.0), (1.0, 1.0, 0.0)))
    texts = [str(w.message) for w in found]
    close, sunk = r"particles \d+ and \d+ start 0.01 m apart; 2 are", r"particle \d+ and the filling of shape 0"
    assert re.match(close, texts[0]) and re.match(sunk + " start .* m apart; 20 are less than .* from a wall", texts[1])
    bounds = ((0.0, 0.0, 0.0), (1.0, 1.0, 0.0))
    with pytest.raises(ModelError, match=close):
        SolverSPH(model, dim=2, bounds=bounds, overlaps="error")
    with pytest.raises(ModelError, match=close):
        SolverDFSPH(model, dim=2, bounds=bounds, overlaps="error")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SolverSPH(model, dim=2, bounds=bounds, overlaps="ignore")
        block()


def test_images_of_a_periodic_box_may_start_too_close():
    builder = ModelBuilder()
    add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 0.0), 0.1)
    builder.add_particles([(-0.94, 0.05, 0.0)], 0.0, 10.0)
    model = builder.finalize()
    block_and_one = {"dim": 2, "overlaps": "error"}
    SolverSPH(model, **block_and_one)
    with pytest.raises(ModelError, match=r"particles (\d+ and 100|100 and \d+) start 0.01 m apart"):
        SolverSPH(model, **block_and_one, period=(1.0, 0.0, 0.0))
    with pytest.raises(ModelError, match=r"particles 0 and 1 start 0 m apart"):
        twice = ModelBuilder()
        twice.add_particles(np.zeros((2, 3)), 0.0, 1.0)
        SolverSPH(twice.finalize(), overlaps="error")


@pytest.mark.parametrize("solver", [SolverSPH, SolverDFSPH])
@pytest.mark.parametrize(
    ("points", "velocity", "up", "text"),
    [
        ([(0.0, 0.0, 0.0), (0.0, 0.0, 0.1)], 0.0, "Y", r"particles and nozzles of a sheet lie up to 0.1 m apart"),
        ([(0.0, 0.0, 0.3)], (0.0, 0.0, 0.1), "Y", r"particles of a sheet move along z\nexpected: no velocity along z"),
        ([(0.0, 0.0, 0.3)], 0.0, "Z", r"gravity of a sheet is -9.81 m/s\^2 along z\nexpected: none: .*, or dim=3"),
    ],
)
def test_sheets_stay_in_their_plane(solver, points, velocity, up, text):
    builder = ModelBuilder(up_axis=up)
    builder.add_particles(points, velocity, 10.0)
    with pytest.raises(ModelError, match=text):
        solver(builder.finalize(), dim=2)


def test_what_is_no_model_is_refused():
    with pytest.raises(ModelError, match=r"model is None\nexpected: a Model, as ModelBuilder.finalize"):
        SolverSPH(None)


def test_numbers_of_no_fluid_are_refused():
    with pytest.raises(ModelError, match=r"sound of a fluid is 0.0\nexpected: above 0"):
        Fluid(sound=0.0)
    with pytest.raises(ModelError, match=r"viscosity of a fluid is -1.0\nexpected: 0 or more"):
        Fluid(viscosity=-1.0)
    with pytest.raises(ModelError, match=r"density of a fluid is water\nexpected: above 0"):
        Fluid(density="water")


def test_particles_without_mass_are_refused():
    builder = ModelBuilder()
    builder.add_particles(np.eye(3), mass=[1.0, 0.0, 1.0])
    with pytest.raises(ModelError, match=r"particle 1 of a fluid has no mass\nexpected: above 0 \[kg\]"):
        SolverSPH(builder.finalize())


def test_endless_shapes_need_bounds():
    builder = ModelBuilder()
    builder.add_ground_plane()
    with pytest.raises(ModelError, match=r"shape 0 is a plane, which has no end\nhelp: SolverSPH\(..., bounds="):
        SolverSPH(builder.finalize())
    add_fluid_box(builder, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1), 0.01)
    with pytest.raises(ModelError, match=r"shape 0 needs a lattice of \[.*\] particles\nhelp: narrower bounds"):
        SolverSPH(builder.finalize(), bounds=((-100.0, 0.0, -100.0), (100.0, 1.0, 100.0)))


def test_boxes_that_hold_nothing_are_refused():
    for arguments, message in (
        (((0, 0, 0), (1, 1, 0.01), 0.1), "holds no particle with a spacing of 0.1 m"),
        (((0, 0, 0), (1, 1, 1), 0.0), r"spacing is 0.0\nexpected: above 0"),
        (((0, 0), (1, 1), 0.1), r"corners of shape \(2,\) and \(2,\)\nexpected: three coordinates each"),
    ):
        with pytest.raises(ModelError, match=message):
            add_fluid_box(ModelBuilder(), *arguments)


def test_substeps_that_no_fluid_survives_are_refused():
    solver = block(substeps=1)
    state = solver.model.state()
    with pytest.raises(TimeStepError, match=r"0.1 s is longer than sound allows, 0.00188 s\nhelp: 54 times"):
        solver.step(state, state, dt=0.1)
    with pytest.raises(StateError, match=r"dt is None\nexpected: a time step above 0"):
        solver.step(state, state)


def test_substeps_beyond_what_is_stable_are_told_with_the_cure():
    solver = block(substeps=1)
    state = solver.model.state()
    with pytest.warns(TimeStepWarning, match=r"0.0045 s is longer than sound allows, 0.00188 s\nhelp: 3 times as many"):
        solver.step(state, state, dt=4.5e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solver.step(state, state, dt=3.2e-3)
    solver.fluid_numbers.assign(Fluid(sound=200.0).numbers)
    with pytest.raises(TimeStepError, match=r"0.00186 s is longer than sound allows, 0.000188 s\nhelp: 10 times"):
        solver.step(state, state, dt=1.86e-3)


@pytest.mark.parametrize("options", [{}, {"substeps": 2}])
def test_particles_that_leave_are_counted_wherever_they_go(options):
    solver = block(**options)
    state = solver.model.state()
    position = state.particle_q.numpy()
    position[[3, 5, 8]] = [(1.0e30, 0.0, 0.0), (-1.0e9, 1.0e9, 0.0), (0.0, -3.0e7, 0.0)]
    state.particle_q.assign(position)
    for _ in range(3):
        solver.step(state, state, dt=1.0e-3)
    assert solver.statistics(state).outside((-0.1, -0.1, -0.1), (1.1, 1.1, 0.1)) == 3
    assert np.isfinite(state.particle_q.numpy()).all()


def test_states_from_elsewhere_are_refused():
    solver = block()
    other = block().model.state()
    with pytest.raises(StateError, match=r"state_in belongs to another model"):
        solver.step(other, other, dt=1.0e-3)
    with pytest.raises(StateError, match=r"state_out is None\nexpected: a State of the solver's model"):
        solver.step(solver.model.state(), None, dt=1.0e-3)
    with pytest.raises(StateError, match=r"contacts is .all.\nexpected: None, this solver finds its own neighbours"):
        solver.step(solver.model.state(), solver.model.state(), contacts="all", dt=1.0e-3)
    builder = ModelBuilder()
    add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 0.0), 0.1)
    model = builder.finalize()
    early, solver = model.state(), SolverSPH(model, dim=2)
    with pytest.raises(StateError, match=r"state_in was made before the solver\nhelp: call model.state\(\) after"):
        solver.step(early, early, dt=1.0e-3)


def test_a_capture_needs_a_number_of_substeps():
    solver = block()
    state = solver.model.state()
    with pytest.raises(StateError, match=r"the host chooses its substeps\nhelp: SolverSPH\(..., substeps="):
        with wp.ScopedCapture():
            solver.step(state, state, dt=1.0e-3)


def test_numbers_that_are_not_finite_stop_on_request():
    solver = block(check=True, substeps=1)
    state = solver.model.state()
    v = state.particle_qd.numpy().copy()
    v[7, 0] = np.nan
    state.particle_qd.assign(v)
    with pytest.raises(DivergenceError, match=r"particle \d+ is not finite after step 1\nhelp: a shorter time step"):
        solver.step(state, state, dt=1.0e-9)
    with pytest.raises(DivergenceError, match=r"particle 7 moves at nan m/s after step 0: no time step is short"):
        other = block()
        start = other.model.state()
        start.particle_qd.assign(v)
        other.step(start, start, dt=1.0e-3)


@pytest.mark.parametrize(("kind", "speed"), [(SolverSPH, 1.0e6), (SolverDFSPH, np.inf)])
def test_what_bursts_stops_instead_of_taking_substeps_without_end(kind, speed):
    builder = ModelBuilder()
    add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 0.0), 0.1)
    solver = kind(builder.finalize(), dim=2)
    state = solver.model.state()
    velocity = state.particle_qd.numpy()
    velocity[7, 1] = speed
    state.particle_qd.assign(velocity)
    text = re.escape(f"particle 7 moves at {speed:.3g} m/s after step 0: no time step is short enough\nhelp: particles")
    with pytest.raises(DivergenceError, match=text):
        solver.step(state, state, dt=1.0e-3)


def test_a_model_without_particles_steps():
    solver = SolverSPH(ModelBuilder().finalize())
    state = solver.model.state()
    solver.step(state, state, dt=0.1)
    now = solver.statistics(state)
    assert solver.wall_count == 0 and now.mass == 0.0 and math.isnan(now.front())
