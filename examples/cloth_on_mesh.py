"""A square of cloth falls over a triangle mesh from any USD file and drapes.

Extended position-based dynamics with small steps (Macklin et al. 2016, 2019) on a grid of vertices: distances along the
grid, across its cells, and over two cells against bending. A launch solves every second constraint of one direction, so
no two threads ever write one vertex and the result does not depend on how many threads there are. Each vertex asks the
mesh for its closest point and side, and is pushed out along the line between them, with friction.

The mesh is scaled to 0.6 m in height and stands on the floor. Cloth does not collide with itself.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

import warpsim as wp
from warpsim.plot import Surface, render_meshes
from warpsim.usd import UsdWriter

MESH = Path(__file__).resolve().parent.parent / "assets" / "ring.usda"
HEIGHT, SIDE = 0.6, 1.0  # mesh, cloth [m]
GRAVITY, DRAG, FRICTION = -9.81, 0.5, 0.5  # [m/s^2], [1/s], Coulomb coefficient [-]
MASS = 0.2  # [kg/m^2]
COMPLIANCE = {(1, 0): 1e-7, (0, 1): 1e-7, (1, 1): 1e-4, (1, -1): 1e-4, (2, 0): 1e-1, (0, 2): 1e-1}  # [m/N]
THICKNESS = 0.006  # kept between cloth and obstacles [m]
REACH = 0.05  # how deep inside the mesh, or how far, its surface is looked for [m]
BLUE, GREY = (0.06, 0.16, 0.42), (0.40, 0.38, 0.34)  # linear RGB

Grid = wp.array2d(dtype=wp.vec3)


@wp.kernel
def predict(x: Grid, v: Grid, start: Grid, gravity: float, drag: float, h: float):
    """Move freely for h seconds; `start` keeps where the substep began."""
    i, j = wp.tid()
    start[i, j] = x[i, j]
    v[i, j] = v[i, j] * (1.0 - drag * h) + wp.vec3(0.0, gravity * h, 0.0)
    x[i, j] = x[i, j] + v[i, j] * h


@wp.kernel
def project(x: Grid, di: int, dj: int, odd: int, rest: float, soft: float, w: float):
    """Constraints between (i, j) and (i + di, j + dj), those whose first vertex lies in an odd or an even stripe.

    Equation 18 of XPBD for C = |a - b| - rest, multiplier starting at zero; soft: compliance / h^2, w: inverse mass.
    """
    m, n = wp.tid()
    i = m
    j = n + wp.max(-dj, 0)
    if di > 0:
        i = (m // di * 2 + odd) * di + m % di
    else:
        j = (n // dj * 2 + odd) * dj + n % dj
    if i + di < x.shape[0] and j < x.shape[1] and j + dj < x.shape[1]:
        offset = x[i, j] - x[i + di, j + dj]
        length = wp.length(offset)
        if length > 0.0:
            shift = offset * (-w * (length - rest) / ((2.0 * w + soft) * length))
            x[i, j] = x[i, j] + shift
            x[i + di, j + dj] = x[i + di, j + dj] - shift


@wp.func
def slide(p: wp.vec3, start: wp.vec3, normal: wp.vec3, depth: float, friction: float):
    """Leave an obstacle by `depth`; friction takes back the sliding, at most friction * depth."""
    outside = p + normal * depth
    motion = outside - start
    along = motion - normal * wp.dot(motion, normal)
    return outside - along * wp.min(1.0, friction * depth / wp.max(wp.length(along), 1.0e-9))


@wp.kernel
def collide(mesh: wp.uint64, start: Grid, reach: float, thickness: float, friction: float, x: Grid):
    """Push vertices out of the mesh and out of the floor y = 0."""
    i, j = wp.tid()
    p = x[i, j]
    query = wp.mesh_query_point_sign_normal(mesh, p, reach)
    if query.result:
        away = p - wp.mesh_eval_position(mesh, query.face, query.u, query.v)
        distance = wp.length(away) * query.sign
        if distance < thickness and distance != 0.0:
            p = slide(p, start[i, j], away / distance, thickness - distance, friction)
    if p[1] < thickness:
        p = slide(p, start[i, j], wp.vec3(0.0, 1.0, 0.0), thickness - p[1], friction)
    x[i, j] = p


@wp.kernel
def update_velocity(x: Grid, start: Grid, h: float, v: Grid):
    i, j = wp.tid()
    v[i, j] = (x[i, j] - start[i, j]) / h


class Cloth:
    """A sheet of n x n vertices, `height` [m] above the floor, over one mesh."""

    def __init__(self, n, height, mesh, device):
        along = SIDE * (np.arange(n) / (n - 1) - 0.5)
        z, x = np.meshgrid(along, along, indexing="ij")
        self.x = wp.array(np.stack([x, 0.0 * x + height, z], axis=-1), dtype=wp.vec3, device=device)
        self.v, self.start = wp.zeros_like(self.x), wp.zeros_like(self.x)
        self.mesh, self.cell, self.w = mesh, SIDE / (n - 1), n * n / (MASS * SIDE * SIDE)

    def substep(self, h):
        """Advance by h seconds."""
        shape, device, x = self.x.shape, self.x.device, self.x
        wp.launch(predict, shape, [x, self.v, self.start, GRAVITY, DRAG, h], device=device)
        for (di, dj), compliance in COMPLIANCE.items():
            rest = self.cell * np.hypot(di, dj)
            for odd in (0, 1):
                wp.launch(project, shape, [x, di, dj, odd, rest, compliance / h**2, self.w], device=device)
        wp.launch(collide, shape, [self.mesh.id, self.start, REACH, THICKNESS, FRICTION, x], device=device)
        wp.launch(update_velocity, shape, [x, self.start, h, self.v], device=device)


def load(path, prim, device):
    """The mesh, `HEIGHT` high on the floor, with its points (n, 3) [m] and triangles (m, 3)."""
    points, indices = wp.load_mesh(path, prim)
    low, high = points.min(axis=0), points.max(axis=0)
    points = (points - [0.5, 0.0, 0.5] * (low + high) - [0.0, low[1], 0.0]) * (HEIGHT / (high[1] - low[1]))
    arrays = wp.array(points, dtype=wp.vec3, device=device), wp.array(indices, dtype=int, device=device)
    return wp.Mesh(*arrays), points, indices.reshape(-1, 3)


@dataclass
class Result:
    """The end: points (n, n, 3) [m], speeds (n, n) [m/s], strain of the sides of cells; the mesh, for questions."""

    points: np.ndarray
    speed: np.ndarray
    strain: np.ndarray
    mesh: object


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    mesh, obstacle, faces = load(args.mesh, args.prim, args.device)
    cloth = Cloth(args.vertices, HEIGHT + 0.1, mesh, args.device)
    a = np.arange(args.vertices**2).reshape(args.vertices, -1)
    quads = np.stack([a[:-1, :-1], a[1:, :-1], a[1:, 1:], a[:-1, 1:]], axis=-1).reshape(-1, 4)
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    frames = max(1, round(args.seconds * args.fps))
    with wp.ScopedCapture(device=args.device) as steps:  # one frame
        for _ in range(args.substeps):
            cloth.substep(1.0 / (args.fps * args.substeps))
    shown, views = {round(part * frames) for part in (0.0, 0.15, 0.3, 1.0)}, {}
    begin, about = time.perf_counter(), {"solver": "XPBD", "version": wp.__version__}
    with UsdWriter(args.output, fps=args.fps, metadata=about) as usd:
        usd.ground(size=6.0)
        usd.mesh("obstacle", obstacle, faces, color=GREY)
        for frame in tqdm(range(frames + 1), unit="frame", disable=None):
            if frame:
                wp.capture_launch(steps.graph)
            x, v = (array.numpy().reshape(-1, 3).copy() for array in (cloth.x, cloth.v))
            usd.frame()
            usd.mesh("cloth", x, quads, color=BLUE, velocities=v)
            if frame in shown:
                views[f"t = {frame / args.fps:.2f} s"] = [Surface(x, triangles, BLUE), Surface(obstacle, faces, GREY)]
    rate = frames * args.substeps / (time.perf_counter() - begin)
    render_meshes(args.picture, list(views.values()), captions=list(views))
    print(f"{args.output}: {frames + 1} frames, {len(faces)} faces, {len(x)} vertices, {rate:.0f} substeps/s")
    x = cloth.x.numpy().copy()
    sides = np.concatenate([np.linalg.norm(np.diff(x, axis=k), axis=2).ravel() for k in (0, 1)])
    return Result(x, np.linalg.norm(v, axis=1), sides / cloth.cell - 1.0, mesh)


def check(result):
    """Raise AssertionError unless the cloth behaved like one."""
    assert np.isfinite(result.points).all() and np.isfinite(result.speed).all(), "not finite"
    assert result.points[..., 1].min() > 0.9 * THICKNESS, "below the floor"
    assert np.abs(result.strain).mean() < 0.05, f"the mean strain reached {np.abs(result.strain).mean():.1%}"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mesh", type=Path, default=MESH, help="any file that wp.load_mesh reads")
    parser.add_argument("--prim", help="which mesh of a USD file, if it has several")
    parser.add_argument("--vertices", type=int, default=80, help="along each side of the cloth")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--fps", type=int, default=60)
    parser.add_argument("--substeps", type=int, default=20, help="per frame")
    parser.add_argument("--output", type=Path, default=Path("cloth_on_mesh.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("cloth_on_mesh.png"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    if min(args.seconds, args.fps, args.substeps, args.vertices - 1) <= 0:
        parser.error("--seconds, --fps and --substeps must be above zero, --vertices above one")
    return run(args)


if __name__ == "__main__":
    main()
