"""A triangle mesh from any USD file becomes cloth and falls on a ball and a floor.

Extended position-based dynamics (XPBD: Macklin, Mueller and Chentanez 2016) with small steps
(Macklin et al. 2019): one distance constraint along every edge, one across every pair of
neighbouring triangles against bending. Constraints are colored so that those of one color share no
vertex. Each color is a launch, and colors follow each other as in Gauss-Seidel: no two threads ever
write the same vertex, so the result does not depend on how many there are.

The mesh is scaled to 1 m across and hung over the ball. Cloth does not collide with itself.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

import warpsim as wp
from warpsim.plot import Surface, render_meshes, sphere
from warpsim.usd import UsdWriter, read_mesh

MESH = Path(__file__).resolve().parent.parent / "assets" / "cloth_sheet.usda"
GRAVITY, DRAG = -9.81, 0.5  # [m/s^2], [1/s]
DENSITY = 0.2  # [kg/m^2]
STRETCH, BENDING = 1.0e-7, 0.1  # compliance of edges and of bending pairs [m/N]
FRICTION = 0.4  # Coulomb coefficient [-]
THICKNESS = 0.005  # kept between cloth and obstacles [m]
BALL, RADIUS = (0.0, 0.25, 0.0), 0.25  # [m]
RED, GREY = (0.55, 0.12, 0.07), (0.30, 0.33, 0.38)  # linear RGB

Vec3s, Floats = wp.array(dtype=wp.vec3), wp.array(dtype=float)
Pairs = wp.array(dtype=wp.vec2i)


@wp.kernel
def predict(x: Vec3s, v: Vec3s, start: Vec3s, gravity: float, drag: float, h: float):
    """Move freely for h seconds; `start` keeps where the substep began."""
    i = wp.tid()
    start[i] = x[i]
    v[i] = v[i] * (1.0 - drag * h) + wp.vec3(0.0, gravity * h, 0.0)
    x[i] = x[i] + v[i] * h


@wp.kernel
def forget(lam: Floats):
    lam[wp.tid()] = 0.0


@wp.kernel
def project(
    first: int,
    pairs: Pairs,
    rest: Floats,
    alpha: Floats,
    lam: Floats,
    w: Floats,
    h: float,
    x: Vec3s,
):
    """Equation 18 of XPBD for C = |x_i - x_j| - rest: compliance alpha, inverse masses w."""
    c = first + wp.tid()
    pair = pairs[c]
    i = pair[0]
    j = pair[1]
    offset = x[i] - x[j]
    length = wp.length(offset)
    if length > 0.0:
        soft = alpha[c] / (h * h)
        change = -(length - rest[c] + soft * lam[c]) / (w[i] + w[j] + soft)
        lam[c] = lam[c] + change
        x[i] = x[i] + offset * (w[i] * change / length)
        x[j] = x[j] - offset * (w[j] * change / length)


@wp.func
def slide(p: wp.vec3, start: wp.vec3, normal: wp.vec3, depth: float, friction: float):
    """Leave an obstacle by `depth`; friction takes back the sliding, at most friction * depth."""
    outside = p + normal * depth
    motion = outside - start
    along = motion - normal * wp.dot(motion, normal)
    return outside - along * wp.min(1.0, friction * depth / wp.max(wp.length(along), 1.0e-9))


@wp.kernel
def collide(
    start: Vec3s, ball: wp.vec3, radius: float, thickness: float, friction: float, x: Vec3s
):
    """Push vertices out of the floor y = 0 and out of the ball."""
    i = wp.tid()
    p = x[i]
    if p[1] < thickness:
        p = slide(p, start[i], wp.vec3(0.0, 1.0, 0.0), thickness - p[1], friction)
    distance = wp.length(p - ball)
    if distance < radius + thickness:
        normal = (p - ball) / wp.max(distance, 1.0e-9)
        p = slide(p, start[i], normal, radius + thickness - distance, friction)
    x[i] = p


@wp.kernel
def update_velocity(x: Vec3s, start: Vec3s, h: float, v: Vec3s):
    i = wp.tid()
    v[i] = (x[i] - start[i]) / h


def edges_and_hinges(triangles):
    """Distinct edges (e, 2), and the two corners (k, 2) off each edge between two triangles."""
    ends = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    opposite = triangles[:, [2, 0, 1]].reshape(-1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    ends, opposite = ends[order], opposite[order]
    new = np.append(True, (ends[1:] != ends[:-1]).any(axis=1))
    second = 1 + np.flatnonzero(new[:-1] & ~new[1:])  # where an edge comes the second time
    hinges = np.stack([opposite[second - 1], opposite[second]], axis=1)
    return [pairs[pairs[:, 0] != pairs[:, 1]] for pairs in (ends[new], hinges)]


def color(pairs, vertices):
    """Greedy coloring (k,): each pair gets the smallest color that neither of its vertices has."""
    taken = [0] * vertices  # bit c is set when a constraint of color c holds the vertex
    colors = np.empty(len(pairs), dtype=np.int64)
    for k, (i, j) in enumerate(pairs.tolist()):
        free = ~(taken[i] | taken[j])
        bit = free & -free
        taken[i] |= bit
        taken[j] |= bit
        colors[k] = bit.bit_length() - 1
    seats = (colors[:, None] * vertices + pairs).ravel()
    assert len(np.unique(seats)) == len(seats), "two constraints of one color share a vertex"
    return colors


def lengths(points, pairs):
    return np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)


def masses(points, triangles):
    """Mass of every vertex [kg]: a third of its triangles; none below a tenth of the mean."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    third = DENSITY / 6.0 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    mass = np.bincount(triangles.ravel(), np.repeat(third, 3), len(points))
    return np.maximum(mass, 0.1 * mass.mean())


class Cloth:
    """The arrays of one cloth on one device: n vertices, k constraints sorted by color."""

    def __init__(self, points, triangles, device):
        def array(values, dtype=float):
            return wp.array(values.astype(np.float32), dtype=dtype, device=device)

        self.edges, hinges = edges_and_hinges(triangles)
        pairs = np.concatenate([self.edges, hinges])
        colors = color(pairs, len(points))
        order = np.argsort(colors, kind="stable")
        alpha = np.repeat([STRETCH, BENDING], [len(self.edges), len(hinges)])
        self.counts = np.bincount(colors).tolist()
        self.pairs = wp.array(pairs[order].astype(np.int32), dtype=wp.vec2i, device=device)
        self.rest, self.alpha = array(lengths(points, pairs)[order]), array(alpha[order])
        self.lam, self.w = array(np.zeros(len(pairs))), array(1.0 / masses(points, triangles))
        self.x, self.start = array(points, wp.vec3), array(points, wp.vec3)
        self.v = array(np.zeros_like(points), wp.vec3)

    def substep(self, h, iterations):
        """Advance by h seconds."""

        def launch(kernel, dim, *inputs):
            wp.launch(kernel, dim=dim, inputs=inputs, device=self.x.device)

        n, k = len(self.x), len(self.lam)
        launch(predict, n, self.x, self.v, self.start, GRAVITY, DRAG, h)
        launch(forget, k, self.lam)  # not per iteration: stiffness would depend on their number
        for _ in range(iterations):
            first = 0
            for count in self.counts:
                bonds = (self.pairs, self.rest, self.alpha, self.lam, self.w)
                launch(project, count, first, *bonds, h, self.x)
                first += count
        launch(collide, n, self.start, wp.vec3(*BALL), RADIUS, THICKNESS, FRICTION, self.x)
        launch(update_velocity, n, self.x, self.start, h, self.v)


def load(path, prim):
    """Read the mesh, scale it to 1 m across, and hang it 0.15 m over the ball."""
    mesh = read_mesh(path, prim)
    points = mesh.points.astype(np.float64)
    low, high = points.min(axis=0), points.max(axis=0)
    points = (points - 0.5 * (low + high)) / (high - low).max()
    points[:, 1] += BALL[1] + RADIUS + 0.15 - points[:, 1].min()
    return points, mesh.triangles


def simulate(cloth, frames, fps, substeps, iterations):
    """Yield positions [m] and velocities [m/s], (n, 3) each, at frame 0, 1, ..., `frames`."""
    with wp.ScopedCapture(device=cloth.x.device) as frame:
        for _ in range(substeps):
            cloth.substep(1.0 / (fps * substeps), iterations)
    for _ in range(frames):
        yield cloth.x.numpy().copy(), cloth.v.numpy().copy()
        wp.capture_launch(frame.graph)
    yield cloth.x.numpy().copy(), cloth.v.numpy().copy()


@dataclass
class Result:
    """The end: points [m] and velocities [m/s], (n, 3); per frame: largest and mean strain."""

    points: np.ndarray
    velocities: np.ndarray
    strain: np.ndarray


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    points, triangles = load(args.mesh, args.prim)
    cloth = Cloth(points, triangles, args.device)
    rest = lengths(points, cloth.edges)
    frames = max(1, round(args.seconds * args.fps))
    shown = {round(part * frames) for part in (0.0, 0.13, 0.2, 1.0)}  # most happens early
    print(f"{len(points)} vertices, {len(cloth.lam)} springs in {len(cloth.counts)} colors")
    strain, moments, begin = [], {}, time.perf_counter()
    about = {"solver": "XPBD", "version": wp.__version__, "substeps": args.substeps}
    states = simulate(cloth, frames, args.fps, args.substeps, args.iterations)
    with UsdWriter(args.output, fps=args.fps, metadata=about) as usd:
        usd.ground(size=6.0)
        usd.sphere("ball", BALL, RADIUS, color=GREY)
        for x, v in tqdm(states, total=frames + 1, unit="frame", disable=None):
            error = np.abs(lengths(x, cloth.edges) - rest) / np.maximum(rest, 1.0e-3)
            strain.append((error.max(), error.mean()))
            if usd.frame() in shown:
                moments[len(strain) - 1] = x
            usd.mesh("cloth", x, triangles, color=RED, velocities=v)
    rate = frames * args.substeps / (time.perf_counter() - begin)
    ball = sphere(BALL, RADIUS, GREY)
    views = [[Surface(x, triangles, RED), ball] for x in moments.values()]
    render_meshes(args.picture, views, captions=[f"t = {k / args.fps:.2f} s" for k in moments])
    print(f"{args.output}: {frames + 1} frames, {rate:.0f} substeps/s with writing")
    print(f"edge strain at the end: largest {strain[-1][0]:.1%}, mean {strain[-1][1]:.2%}")
    return Result(x, v, np.array(strain))


def check(result):
    """Raise AssertionError unless the cloth behaved like one."""
    x, strain = result.points, result.strain
    assert np.isfinite(x).all() and np.isfinite(result.velocities).all(), "not finite"
    assert x[:, 1].min() >= 0.0, f"{-x[:, 1].min():g} m below the floor"
    gap = np.linalg.norm(x - BALL, axis=1).min() - RADIUS
    assert gap >= 0.0, f"{-gap:g} m inside the ball"
    assert strain[:, 0].max() < 1.0, f"an edge was strained by {strain[:, 0].max():.0%}"
    assert strain[:, 1].max() < 0.03, f"the mean strain reached {strain[:, 1].max():.1%}"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mesh", type=Path, default=MESH, help="any USD file with a mesh")
    parser.add_argument("--prim", help="which mesh of the file, if it has several")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--fps", type=int, default=60)
    parser.add_argument("--substeps", type=int, default=40, help="per frame")
    parser.add_argument("--iterations", type=int, default=1, help="per substep")
    parser.add_argument("--output", type=Path, default=Path("cloth_drop.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("cloth_drop.png"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--deterministic", action="store_true", help="as a compiler option, too")
    args = parser.parse_args(argv)
    if args.deterministic:
        wp.set_module_options({"deterministic": True})
    if min(args.seconds, args.fps, args.substeps, args.iterations) <= 0:
        parser.error("--seconds, --fps, --substeps and --iterations must be above zero")
    return run(args)


if __name__ == "__main__":
    main()
