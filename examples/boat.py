"""A boat sails before the wind: cloth of `SolverXPBD`, a hull of `SolverBodies` and `SolverOcean` in a `Coupling`.

Yard and sheets pull the boat along, the keel holds it upright, the sea carries, brakes and rocks it. `check` holds it
upright and under way, and its sail full.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import warpsim as wp
from warpsim.plot import Surface, loft, tube
from warpsim.plot.sea import render_sea
from warpsim.render import Saves, SimulationParser, add_save_options
from warpsim.solvers import Coupling, ModelBuilder, Scene, ShapeConfig, SolverBodies, SolverXPBD
from warpsim.solvers.ocean import Ocean, Sea, SeaState, SolverOcean
from warpsim.solvers.scene.rotations import rotate
from warpsim.usd import UsdWriter

SIZE, COURSE, CELLS = 80.0, 0.7, 20  # of the tile [m], where the wind goes to [rad], of the sail along each side
COS, SIN, WAY = np.cos(0.5 * COURSE), np.sin(0.5 * COURSE), np.array([np.cos(COURSE), np.sin(COURSE), 0.0])
START, SEA = np.array([40.0, 36.0, 0.05, 0.0, 0.0, SIN, COS]), Sea(SeaState(0.45, 3.6), direction=COURSE)
WIDTH, HEIGHT, YARD, REST = 3.0, 2.5, 3.7, (0.0, 0.0, 0.0, 1.0)  # of the sail, where it hangs [m]
BLUE, WOOD, SPAR = (0.05, 0.20, 0.26), (0.30, 0.12, 0.04), (0.55, 0.36, 0.16)  # linear RGB
STRIPES, CLOTH = ((0.60, 0.05, 0.03), (0.85, 0.82, 0.75)), {"spring_ke": 3e4, "edge_ke": 2e-2, "tri_drag": 1.2}
SHEETS = {CELLS: np.array([-1.3, 0.75, 0.45]), 0: np.array([-1.3, -0.75, 0.45])}  # corners, and where they are fast


def hull():
    """Frames from the stern to the bow, closed by a deck."""
    s, ring = np.linspace(0.0, 1.0, 11)[:, None], np.array([[1, 1], [0.85, 0.4], [0, 0], [-0.85, 0.4], [-1, 1]])
    wide, low = 0.85 * np.sqrt(1.0 - 0.6 * (1.0 - s) ** 4 - 0.999 * s**3), -0.5 + 0.55 * s**4
    tall = 0.42 + 0.3 * (2.0 * s - 1.0) ** 4 - low
    return loft(np.stack([4.8 * s - 2.3 + 0.0 * ring[:, 0], wide * ring[:, 0], low + tall * ring[:, 1]], axis=-1), WOOD)


def build(ocean):
    """The coupling, and the triangles of the sail; the particles of the sheets' ends come last."""
    builder, form = ModelBuilder(up_axis="Z"), hull()
    builder.default_particle_radius = 0.0
    mesh = wp.Mesh(wp.array(form.points, dtype=wp.vec3), wp.array(form.triangles.ravel(), dtype=int))
    own = builder.add_shape_mesh(mesh=mesh, cfg=ShapeConfig(density=200.0), body=builder.add_body(START))
    builder.add_shape_box((-0.5, 0.0, -0.65, *REST), 0.9, 0.05, 0.2, ShapeConfig(density=7000.0), body=0)  # the keel
    corner, size, mass = np.array([0.3, -0.5 * WIDTH, YARD - HEIGHT]), (WIDTH / CELLS, HEIGHT / CELLS), 3.0 / CELLS**2
    across = 0.5 * np.array([COS - SIN, COS + SIN, COS + SIN, COS - SIN])  # the grid's x across the boat, its y upwards
    place = rotate(START[3:], corner[None])[0] + START[:3]
    sail = builder.add_cloth_grid(place, across, 0.0, CELLS, CELLS, *size, mass, **CLOTH)
    for k, number in enumerate(sail[-CELLS - 1 :]):  # bent to the yard
        builder.add_attachment(number, np.add(corner, (0.0, k * size[0], HEIGHT)), ke=2e4, kd=5.0, shape=own)
    for number, fast in SHEETS.items():
        end = builder.add_particle(rotate(START[3:], fast[None])[0] + START[:3], 0.0, 0.05)
        builder.add_attachment(end, fast, ke=2e4, kd=5.0, shape=own)
        builder.add_spring(end, number, ke=2e4, kd=5.0)
    model = builder.finalize()
    matter = [SolverXPBD(model, substeps=12, damping=0.05), SolverOcean(model, ocean)]
    return Coupling(SolverBodies(model, substeps=1), matter), builder.triangles["indices"]


def surfaces(faces, q, pose):
    """Everything that is to be seen, by name."""
    rigid, row = {"hull": hull()}, np.arange(len(faces)) // 2 % CELLS * 5 // CELLS % 2
    rigid["mast"] = tube(np.array([[0.2, 0.0, -0.2], [0.2, 0.0, YARD + 0.3]]), 0.06, SPAR)
    rigid["yard"] = tube(np.array([[0.27, side * (0.5 * WIDTH + 0.1), YARD] for side in (-1.0, 1.0)]), 0.045, SPAR)
    things = {n: Surface(rotate(pose[3:], s.points) + pose[:3], s.triangles, s.color) for n, s in rigid.items()}
    things |= {f"sail_{k}": Surface(q, faces[row == k], color) for k, color in enumerate(STRIPES)}
    ends = zip(SHEETS, (-2, -1), strict=True)
    return things | {f"sheet_{-end}": tube(q[[n, end]], 0.015, SPAR, sides=5) for n, end in ends}


@dataclass
class Result:
    """Per frame: way made good [m], tilt of the mast [deg], how far the sail is before it [m]."""

    way: np.ndarray
    tilt: np.ndarray
    full: np.ndarray


def run(args):
    """Sail, write the animation and the picture; returns a Result."""
    ocean = Ocean(SEA, SIZE, 64, seed=4, shortest=2.5)
    coupling, faces = build(ocean)
    (state, *_), controls, frames = coupling.states(), coupling.controls(), round(args.seconds * args.fps)
    controls[0].wind.assign([args.wind * WAY])
    scene = Scene(coupling=coupling, state=state, rows=[])
    saves, dt = Saves(args, scene), 0.125 / args.fps
    with saves.watch(UsdWriter(args.output, fps=args.fps, up_axis="Z", metadata={"solver": "bodies, XPBD"})) as usd:
        for frame in saves.frames(range(frames)):
            for _ in range(8):
                coupling.step([state] * 3, [state] * 3, controls, dt=dt)
            field, q = ocean.evaluate((frame + 1) / args.fps), state.particle_q.numpy().astype(float)
            pose = state.body_q.numpy()[0].astype(float)
            things = surfaces(faces, q, pose)
            usd.frame()
            usd.mesh("sea", field.points().numpy().reshape(-1, 3), field.quads(), color=BLUE)
            for name, thing in things.items():
                usd.mesh(name, thing.points, thing.triangles, color=thing.color[0])
            up, ahead = rotate(pose[3:], np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
            full, tilt = ((q[:-2] - pose[:3]) @ ahead).max() - 0.3, np.degrees(np.arccos(min(up[2], 1.0)))
            scene.rows.append(((pose[:3] - START[:3]) @ WAY, tilt, full))
    fine = Ocean(SEA, SIZE, 256, seed=4, shortest=2.5).evaluate(field.time)
    ripples = SIZE / 8, Ocean(SEA, SIZE / 8, 256, longest=2.5).evaluate(field.time).normals.numpy()
    layers = [a.numpy() for a in (fine.displacement, fine.height, fine.normals)]
    look = {"bodies": list(things.values()), "viewer": (pose[0] - 12.0, pose[1] - 0.5, 3.0)}
    render_sea(args.picture, SIZE, *layers, ripples=ripples, **look)
    print(f"{args.output}: {frames} frames, {scene.rows[-1][0]:.1f} m sailed")
    return Result(*(np.array(column) for column in zip(*scene.rows, strict=True)))


def check(result):
    """Raise AssertionError unless the boat sails upright before a full sail."""
    assert result.tilt.max() < 30.0, f"the mast tilts by {result.tilt.max():.0f} degrees"
    assert result.way[-1] > 0.015 * len(result.way), f"the boat has made {result.way[-1]:.2f} m"
    assert result.full[len(result.full) // 3 :].min() > 0.2, "the sail is not full"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--wind", type=float, above=0, default=8.0, help="[m/s]")
    parser.add_argument("--seconds", type=float, above=0, default=8.0)
    parser.add_argument("--fps", type=int, above=0, default=12)
    parser.add_argument("--output", type=Path, default=Path("boat.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("boat.png"))
    add_save_options(parser, "boat")
    return run(parser.parse_args(argv))


if __name__ == "__main__":
    main()
