"""Two jaws grip a soft block and lift it by friction: `SolverBodies` and `SolverXPBD` in a `Coupling`.

A carriage slides up and down, and the jaws slide on it; drives pull all three to targets that `Control` changes. The
block bulges between the jaws, and they feel it: while it hangs, their joints bear its weight.
"""

from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import Surface, box
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import Coupling, ModelBuilder, Scene, ShapeConfig, SolverBodies, SolverXPBD

SIDE, DENSITY, YOUNG = 0.12, 500.0, 4.0e4  # of the block [m], [kg/m^3], [Pa]
JAW, HEAD, STAND = (
    np.array([0.015, 0.07, 0.06]),
    np.array([0.16, 0.02, 0.05]),
    0.095,
)  # half extents, of jaws' middles [m]
OPEN, GRIP, LIFT = 0.10, 0.055, 0.2  # of the jaws' middles from the axis [m], how high [m]
CLOSED, UP, THERE = 0.5, 0.7, 1.3  # when they have closed, when they go up, when they are there [s]
RUBBER, STEEL = ShapeConfig(mu=0.9, margin=0.0), ShapeConfig(mu=0.9, margin=0.0, density=4000.0)
GREEN, GREY, BLACK = (0.10, 0.42, 0.20), (0.40, 0.42, 0.46), (0.10, 0.11, 0.13)  # linear RGB
REST = (0.0, 0.0, 0.0, 1.0)


def build(cells, device):
    """The coupling, and the triangles of the block."""
    builder, size = ModelBuilder(), SIDE / cells
    builder.add_ground_plane(cfg=RUBBER)
    head = builder.add_body((0.0, STAND + JAW[1] + HEAD[1], 0.0, *REST))
    builder.add_shape_box(None, *HEAD, cfg=STEEL, body=head)
    builder.add_joint_prismatic(-1, head, axis=(0.0, 1.0, 0.0), target_ke=4.0e4, target_kd=2.0e3)
    for side in (-1.0, 1.0):
        jaw = builder.add_body((side * OPEN, STAND, 0.0, *REST))
        builder.add_shape_box(None, *JAW, cfg=STEEL, body=jaw)
        builder.add_joint_prismatic(head, jaw, axis=(1.0, 0.0, 0.0), target_ke=6.0e3, target_kd=3.0e2)
    builder.add_soft_grid(
        (-0.5 * SIDE, 0.0, -0.5 * SIDE), REST, (0.0, 0.0, 0.0), cells, cells, cells, size, size, size, density=DENSITY,
        youngs_modulus=YOUNG, poissons_ratio=0.4, k_damp=0.01, particle_radius=0.002,
    )  # fmt: skip
    model = builder.finalize(device)
    coupling = Coupling(SolverBodies(model, substeps=2), [SolverXPBD(model, substeps=5, damping=0.5)], substeps=4)
    return coupling, builder.triangles["indices"]


def targets(t):
    """Ways of the carriage and both jaws along their axes [m], rows of `Control.joint_target`."""
    ways, inward = np.zeros((3, 6)), (OPEN - GRIP) * np.clip(t / CLOSED, 0.0, 1.0)
    part = np.clip((t - UP) / (THERE - UP), 0.0, 1.0)
    ways[:, 5] = LIFT * part * part * (3.0 - 2.0 * part), inward, -inward
    return ways


@dataclass
class Result:
    """height: of the block's lowest particle in each frame [m]; borne: what the joints of both jaws bear up in the end
    [N]; weight: of block and jaws [N]; inside: how deep a particle is in a jaw at most [m]."""

    height: np.ndarray
    borne: float
    weight: float
    inside: float


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    coupling, faces = build(args.cells, args.device)
    model, states, control = coupling.bodies.model, coupling.states(), coupling.controls()
    state, scene = (
        states[0],
        Scene(coupling=coupling, state=states[0], control=control[0], heights=[], depths=[], borne=[]),
    )
    jaw, head = box(-JAW, JAW, GREY), box(-HEAD, HEAD, BLACK)
    about = {"solver": "bodies and XPBD", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "ground": 2.0}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, azimuth=25.0, elevation=12.0, **files) as film:
        for t in film.frames(Saves(args, scene)):
            if t:
                control[0].joint_target.assign(targets(t))
                coupling.step(states, states, control, dt=film.dt)
            q, pose = state.particle_q.numpy().astype(float), state.body_q.numpy().astype(float)
            film.show("block", Surface(q, faces, GREEN), state.particle_qd.numpy().copy())
            film.show_copies("gripper", [head, jaw], pose[:, :3], pose[:, 3:], 1.0, [0, 1, 1])
            depths = [(JAW - np.abs(q - middle)).min(axis=1).max() for middle in pose[1:, :3]]
            scene.depths.append(max(depths))
            scene.heights.append(q[:, 1].min())
            scene.borne.append(state.joint_f.numpy()[1:, 4].sum())
    weight = 9.81 * float(model.particle_mass.numpy().sum() + model.body_mass.numpy()[1:].sum())
    borne, heights = float(np.mean(scene.borne[-10:])), np.array(scene.heights)
    print(f"{args.output}: lifted by {heights[-1]:.3f} m; the joints of the jaws bear {borne:.1f} N of {weight:.1f} N")
    return Result(heights, borne, weight, float(max(scene.depths)))


def check(result):
    """Raise AssertionError unless the block hangs in the jaws, not in them, and they bear its weight."""
    assert result.height[-1] > 0.8 * LIFT, f"the block is lifted by {result.height[-1]:.3f} m"
    assert result.inside < 0.004, f"the block is {result.inside:.4f} m in a jaw"
    assert abs(result.borne / result.weight - 1.0) < 0.05, f"{result.borne:.1f} N borne, {result.weight:.1f} N hang"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "soft_gripper", seconds=1.8, fps=50)
    add_save_options(parser, "soft_gripper")
    parser.add_argument("--cells", type=int, above=0, default=6, help="along each side of the block")
    parser.add_argument("--device", default="cpu")
    return run(parser.parse_args(argv))


if __name__ == "__main__":
    main()
