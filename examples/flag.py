"""A flag of cloth flies in gusts of wind: XPBD with drag and lift on every triangle.

One side is held by a pole. The wind turns and swells as sums of sines; `Control` takes it as an array, so the step is
captured once and replayed. The picture has four moments, the animation all frames.
"""

import time
from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import Surface, tube
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import ModelBuilder, Scene, SolverXPBD
from warpsim.viewer import Slider

WIDTH, HEIGHT, FOOT = 1.8, 1.2, 1.6  # of the cloth, and of its lower side above the ground [m]
DENSITY, STRETCH, BENDING = 0.12, 2.0e4, 2.0e-5  # [kg/m^2], [N/m], [N m]
DRAG, LIFT, WIND = 1.2, 1.0, 7.0  # [-], [-], mean speed of the wind [m/s]
RED, WHITE, GREY = (0.62, 0.06, 0.05), (0.85, 0.84, 0.80), (0.25, 0.26, 0.28)  # linear RGB


def build(cells):
    """The builder of the model, and the color of each of its particles."""
    builder = ModelBuilder()
    rows = round(cells * HEIGHT / WIDTH)
    mass = DENSITY * WIDTH * HEIGHT / ((cells + 1) * (rows + 1))
    builder.default_particle_radius = 0.0
    cloth = builder.add_cloth_grid(
        (0.0, FOOT, 0.0), (0.0, 0.0, 0.0, 1.0), 0.0, cells, rows, WIDTH / cells, HEIGHT / rows, mass, fix_left=True,
        spring_ke=STRETCH, edge_ke=BENDING, tri_drag=DRAG, tri_lift=LIFT,
    )  # fmt: skip
    builder.add_tethers(cloth)
    row = np.arange(len(cloth)) // (cells + 1)
    return builder, np.where(((row > rows // 3) & (row < rows - rows // 3))[:, None], WHITE, RED)


def wind_at(t, mean):
    """Velocity of the wind [m/s]: gusts along x, and slow turns."""
    gust = 1.0 + 0.25 * np.sin(1.7 * t) + 0.15 * np.sin(4.1 * t + 1.0)
    turn = 0.35 * np.sin(0.9 * t) + 0.15 * np.sin(2.3 * t + 0.5)
    return mean * gust * np.array([np.cos(turn), 0.03, np.sin(turn)])


@dataclass
class Result:
    """The end: points (n, 3) [m], strains of springs [-]; how many substeps and projections ran a second."""

    points: np.ndarray
    strain: np.ndarray
    finite: bool
    rate: float


def pole():
    """What holds the flag."""
    top = FOOT + HEIGHT + 0.1
    return tube(np.array([[0.0, 0.0, 0.0], [0.0, top, 0.0]]), 0.02, GREY)


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    builder, colors = build(args.cells)
    model, faces = builder.finalize(args.device), builder.triangles["indices"]
    solver = SolverXPBD(model, args.substeps, damping=0.05)
    state, control = model.state(), model.control()
    scene = Scene(solver=solver, state=state, control=control, wind=WIND, busy=0.0)
    sliders = [Slider("wind [m/s]", WIND, 0.0, 15.0, lambda mean: setattr(scene, "wind", mean))]
    about = {"solver": "XPBD", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "moments": (0.0, 0.2, 0.6, 1.0), "ground": 8.0}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, azimuth=20.0, elevation=8.0, **files) as film:
        film.stand("pole", pole())
        for t in film.frames(Saves(args, scene, sliders)):
            if t:
                control.wind.assign([wind_at(t, scene.wind)])
                begin = time.perf_counter()
                solver.step(state, state, control, None, film.dt)
                scene.busy += time.perf_counter() - begin
            q, qd = state.particle_q.numpy().copy(), state.particle_qd.numpy().copy()
            film.show("flag", Surface(q, faces, colors), qd)
    statistics = solver.statistics(state)
    rate = film.count * args.substeps * model.spring_count / scene.busy
    print(f"{args.output}: {film.count + 1} frames, {len(q)} particles, {rate / 1e6:.0f} M springs/s with all else")
    return Result(q, statistics.spring_strain, not statistics.diverged, rate)


def check(result):
    """Raise AssertionError unless the cloth flew as cloth does."""
    assert result.finite, "not finite"
    assert np.abs(result.strain).mean() < 0.02, f"mean strain {np.abs(result.strain).mean():.1%}"
    assert np.abs(result.strain).max() < 0.3, f"largest strain {np.abs(result.strain).max():.1%}"
    assert result.points[:, 0].max() > 0.5 * WIDTH, "the wind did not lift it"
    assert np.ptp(result.points[:, 2]) > 0.05, "it hangs flat in the wind"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "flag", seconds=5.0)
    add_save_options(parser, "flag")
    parser.add_argument("--cells", type=int, above=0, default=96, help="along the width")
    parser.add_argument("--substeps", type=int, above=0, default=20, help="per frame")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
