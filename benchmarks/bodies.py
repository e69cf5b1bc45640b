"""Boxes that fall into a pile: `SolverBodies` beside MuJoCo, Bullet and Newton, in processes of their own, in turns.

    python -m benchmarks.bodies [boxes [seconds]]    # default: 1000 boxes, 3 s; some minutes
    python -m benchmarks.bodies --peers PYTHON ...   # an interpreter that has mujoco, pybullet and newton

Printed are milliseconds for a step of 1/60 s, mean of the last third of the time, by the clock and of all threads, the
largest overlap of that part per edge, and how high the pile is. A peer that is not installed is left out by name.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

HALF, DENSITY, MU, FRAME = 0.1, 500.0, 0.5, 1.0 / 60.0  # of a box [m], [kg/m^3], [-], [s]


class Pile(NamedTuple):
    """A scene of an engine. step: a frame; overlap: of the deepest contact now [m]; heights: of all boxes [m]."""

    step: Callable[[], None]
    overlap: Callable[[], float]
    heights: Callable[[], np.ndarray]


def places(boxes: int) -> np.ndarray:
    """A loose lattice over the floor, a little disturbed, (boxes, 3) [m]; y is up."""
    side = round(boxes ** (1.0 / 3.0)) or 1
    k = np.arange(boxes)
    cells = np.stack([k % side, k // side**2, k // side % side], axis=1)
    jitter = np.random.default_rng(0).uniform(-0.025, 0.025, (boxes, 3))
    shifted: np.ndarray = (cells - [0.5 * (side - 1), -0.6, 0.5 * (side - 1)]) * 2.6 * HALF + jitter
    return shifted


def warpsim_pile(points: np.ndarray) -> Pile:
    """Ten substeps, two iterations, float32."""
    from warpsim.solvers import ModelBuilder, ShapeConfig, SolverBodies  # noqa: PLC0415 - peers do without it

    builder, wood = ModelBuilder(), ShapeConfig(mu=MU, density=DENSITY)
    builder.add_ground_plane(cfg=wood)
    for p in points:
        body = builder.add_body((*p, 0.0, 0.0, 0.0, 1.0))
        builder.add_shape_box(None, HALF, HALF, HALF, wood, body=body)
    model = builder.finalize("cpu")
    solver, state = SolverBodies(model), model.state()

    def overlap() -> float:
        touching = solver._touching
        count = int(touching.pairs.count.numpy()[0])
        touched = touching.features[0].numpy()[:count] >= 0
        return max(0.0, -float(touching.gap.numpy().reshape(-1, 4)[:count][touched].min(initial=0.0)))

    return Pile(lambda: solver.step(state, state, dt=FRAME), overlap, lambda: state.body_q.numpy()[:, 1])


def mujoco_pile(points: np.ndarray) -> Pile:
    """Steps of 4 ms, its usual ones, with its default solver; one thread."""
    import mujoco  # noqa: PLC0415 - optional

    boxes = "".join(
        f'<body pos="{p[0]} {-p[2]} {p[1]}"><freejoint/><geom type="box" size="{HALF} {HALF} {HALF}" '
        f'density="{DENSITY}" friction="{MU}"/></body>'
        for p in points
    )
    options = f'<option timestep="{FRAME / 4.0}"/><size memory="2G"/>'
    floor = f'<geom type="plane" size="50 50 1" friction="{MU}"/>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{options}<worldbody>{floor}{boxes}</worldbody></mujoco>")
    data = mujoco.MjData(model)

    def overlap() -> float:
        return max(0.0, -float(data.contact.dist.min())) if data.ncon else 0.0

    return Pile(lambda: mujoco.mj_step(model, data, 4), overlap, lambda: data.xpos[1:, 2])


def bullet_pile(points: np.ndarray) -> Pile:
    """Four steps a frame, ten iterations; one thread."""
    import pybullet as bullet  # noqa: PLC0415 - optional

    bullet.connect(bullet.DIRECT)
    bullet.setGravity(0.0, -9.81, 0.0)
    bullet.setPhysicsEngineParameter(fixedTimeStep=FRAME, numSubSteps=4, numSolverIterations=10)
    floor = bullet.createCollisionShape(bullet.GEOM_PLANE, planeNormal=[0.0, 1.0, 0.0])
    box = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[HALF, HALF, HALF])
    bodies = [bullet.createMultiBody(0.0, floor)]
    bodies += [bullet.createMultiBody(DENSITY * (2.0 * HALF) ** 3, box, -1, p.tolist()) for p in points]
    for body in bodies:
        bullet.changeDynamics(body, -1, lateralFriction=MU)

    def overlap() -> float:
        return max([0.0, *(-contact[8] for contact in bullet.getContactPoints())])

    def heights() -> np.ndarray:
        return np.array([bullet.getBasePositionAndOrientation(body)[0][1] for body in bodies[1:]])

    return Pile(bullet.stepSimulation, overlap, heights)


def newton_pile(points: np.ndarray) -> Pile:
    """Newton's SolverXPBD under Warp: ten substeps, two iterations. Its overlap is that with the floor alone."""
    import newton  # noqa: PLC0415 - optional
    import warp  # noqa: PLC0415 - optional

    warp.config.quiet = True
    builder = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, -9.81, 0.0))
    wood = newton.ModelBuilder.ShapeConfig(density=DENSITY, mu=MU)
    for p in points:
        body = builder.add_body(xform=warp.transform(warp.vec3(*map(float, p)), warp.quat_identity()))
        builder.add_shape_box(body, hx=HALF, hy=HALF, hz=HALF, cfg=wood)
    builder.add_ground_plane(cfg=wood)
    model = builder.finalize(device="cpu")
    solver, control = newton.solvers.SolverXPBD(model, iterations=2), model.control()
    states = [model.state(), model.state()]

    def step() -> None:
        for _ in range(10):
            states[0].clear_forces()
            solver.step(states[0], states[1], control, model.collide(states[0]), FRAME / 10.0)
            states.reverse()

    def heights() -> np.ndarray:
        return states[0].body_q.numpy()[:, 1]

    return Pile(step, lambda: max(0.0, HALF - float(heights().min())), heights)


ENGINES = {"warpsim": warpsim_pile, "mujoco": mujoco_pile, "bullet": bullet_pile, "newton": newton_pile}


def measure(engine: str, boxes: int, seconds: float) -> dict[str, Any]:
    """One run of one engine."""
    pile, frames = ENGINES[engine](places(boxes)), round(seconds / FRAME)
    late, deepest, clock, work = frames - frames // 3, 0.0, 0.0, 0.0
    for frame in range(frames):
        begin = time.perf_counter(), time.process_time()
        pile.step()
        if frame >= late:
            clock, work = clock + time.perf_counter() - begin[0], work + time.process_time() - begin[1]
            deepest = max(deepest, pile.overlap())
    counted = max(1, frames - late)
    numbers = {"ms": 1e3 * clock / counted, "all threads": 1e3 * work / counted}
    return {"engine": engine, **numbers, "overlap": deepest / (2.0 * HALF), "highest": float(pile.heights().max())}


def run_in_turns(boxes: int, seconds: float, peers: str, rounds: int) -> dict[str, list[dict[str, Any]]]:
    """All engines, round by round, each in a process of its own; by engine."""
    results: dict[str, list[dict[str, Any]]] = {engine: [] for engine in ENGINES}
    for _ in range(rounds):
        for engine, rows in results.items():
            python = sys.executable if engine == "warpsim" else peers
            command = [python, "-m", "benchmarks.bodies", "--only", engine, str(boxes), str(seconds)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{engine} is left out: {done.stderr.strip().splitlines()[-1]}")
            else:
                rows.append(json.loads(done.stdout.splitlines()[-1]))
    return results


def main(words: list[str]) -> None:
    peers = sys.executable
    if words[:1] == ["--peers"]:
        peers, words = words[1], words[2:]
    engine = words[1] if words[:1] == ["--only"] else None
    numbers = words[2:] if engine else words
    boxes, seconds = int(numbers[0]) if numbers else 1000, float(numbers[1]) if len(numbers) > 1 else 3.0
    if engine:
        print(json.dumps(measure(engine, boxes, seconds)))
        return
    for name, rows in run_in_turns(boxes, seconds, peers, 3).items():
        if rows:
            middle = {key: float(np.median([row[key] for row in rows])) for key in rows[0] if key != "engine"}
            print(
                f"{name:8} {middle['ms']:8.2f} ms a frame, all threads {middle['all threads']:8.2f} ms, "
                f"overlap {middle['overlap']:.2%}, highest {middle['highest']:.2f} m"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
