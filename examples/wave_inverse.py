"""Find the water surface that, let go, runs into a given picture: an inverse problem through a rollout of waves.

The wave equation is stepped as in `wave.py`: central differences, leapfrog, reflecting walls. The
unknown is the height of every cell at the start. A tape over all steps gives the gradient of the
squared difference from the picture at the end with respect to all of them at once, and L-BFGS finds
them. The picture, a ring with a star in it, is drawn by `target`.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import warpsim as wp
from warpsim.optim import LBFGS
from warpsim.render import SimulationParser
from warpsim.usd import UsdWriter

SIDE, HEIGHT = 4.0, 0.25  # of the pool, of the picture [m]
SMOOTH = 1.0e-6  # weight of the slopes of the unknown [m^2]: of many surfaces that fit, take a calm one
DEEP, CREST = np.array([0.01, 0.09, 0.20]), np.array([0.60, 0.85, 0.90])  # linear RGB

Heights = wp.array2d[float]
Floats = wp.array[float]


@wp.kernel
def leapfrog(before: Heights, now: Heights, courant: float, after: Heights):
    """The heights of the next step from those of the last two; courant = (c dt / dx)^2."""
    i, j = wp.tid()
    n = now.shape[0] - 1
    here = now[i, j]
    across = now[wp.max(i - 1, 0), j] + now[wp.min(i + 1, n), j]
    along = now[i, wp.max(j - 1, 0)] + now[i, wp.min(j + 1, n)]
    after[i, j] = 2.0 * here - before[i, j] + courant * (across + along - 4.0 * here)


@wp.kernel
def rate(start: Heights, end: Heights, picture: Heights, smooth: float, loss: Floats):
    """Mean squared difference from the picture, and squared slopes of the start, both in units of HEIGHT^2."""
    i, j = wp.tid()
    n = start.shape[0]
    miss = end[i, j] - picture[i, j]
    slope = wp.vec2(start[wp.min(i + 1, n - 1), j] - start[i, j], start[i, wp.min(j + 1, n - 1)] - start[i, j])
    cell = (miss * miss + smooth * wp.length_sq(slope)) / (HEIGHT * HEIGHT)
    wp.atomic_add(loss, 0, cell / float(n * n))


def target(cells):
    """The picture (cells, cells) [m]: a ring with a five-pointed star in it, its edges soft."""
    along = (np.arange(cells) + 0.5) / cells * 2.0 - 1.0
    y, x = np.meshgrid(-along, along, indexing="ij")
    radius, angle = np.hypot(x, y), np.arctan2(x, y)
    sector = np.abs((angle + np.pi / 5.0) % (2.0 * np.pi / 5.0) - np.pi / 5.0)
    # The edge of a star is straight from a tip at radius 0.5 to a corner at 0.2, 36 degrees further.
    tip, corner = np.array([0.0, 0.5]), 0.2 * np.array([np.sin(np.pi / 5.0), np.cos(np.pi / 5.0)])
    normal = np.array([tip[1] - corner[1], corner[0]]) / np.hypot(tip[1] - corner[1], corner[0])
    star = (radius * np.sin(sector)) * normal[0] + (radius * np.cos(sector) - tip[1]) * normal[1]
    ring = np.abs(radius - 0.72) - 0.07
    return HEIGHT / (1.0 + np.exp(np.minimum(star, ring) / 0.02))


class Pool:
    """The water at every time step, and the picture it should become."""

    def __init__(self, cells, steps, cfl, device):
        shape = (cells, cells)
        self.heights = [wp.zeros(shape, dtype=float, device=device, requires_grad=True) for _ in range(steps + 1)]
        self.picture = wp.array(target(cells).astype(np.float32), device=device)
        self.loss = wp.zeros(1, dtype=float, device=device, requires_grad=True)
        self.courant, self.smooth, self.device = cfl * cfl, SMOOTH * (cells / SIDE) ** 2, device

    def run(self):
        """Let the water go at rest, and rate the end."""
        before = now = self.heights[0]
        for after in self.heights[1:]:
            wp.launch(leapfrog, now.shape, [before, now, self.courant], [after], device=self.device)
            before, now = now, after
        self.loss.zero_()
        wp.launch(rate, now.shape, [self.heights[0], now, self.picture, self.smooth], [self.loss], device=self.device)

    def closure(self):
        """The loss, with its gradient in `heights[0].grad`."""
        with wp.Tape() as tape:
            self.run()
        tape.backward(self.loss)
        return self.loss


@dataclass
class Result:
    """Heights (n, n) [m]: found, what they run into, and the picture; the loss per iteration."""

    found: np.ndarray
    reached: np.ndarray
    picture: np.ndarray
    loss: np.ndarray

    @property
    def error(self):
        """Root mean square difference from the picture, as a part of that of the picture."""
        return np.linalg.norm(self.reached - self.picture) / np.linalg.norm(self.picture)


def draw(result, path):
    """What was wanted, what was found, what that becomes, and the loss."""
    figure = Figure((11.0, 10.2), dpi=100, facecolor="white", layout="constrained")
    panels = figure.subplots(2, 2)
    fields = [("the picture to make", result.picture), ("found: the water at the start", result.found)]
    fields += [(f"what it runs into: {result.error:.1%} off", result.reached)]
    for axes, (title, field) in zip(panels.flat, fields, strict=False):
        top = np.abs(field).max()
        half = 0.5 * SIDE
        shown = axes.imshow(field, cmap="RdBu_r", vmin=-top, vmax=top, extent=(-half, half, -half, half))
        axes.set(title=title, xlabel="x [m]", ylabel="y [m]")
        figure.colorbar(shown, ax=axes, label="height [m]", shrink=0.85)
    last = panels[1, 1]
    last.semilogy(result.loss, color="0.25", lw=2.0)
    last.set(title="loss", xlabel="iteration of L-BFGS", xlim=(0, len(result.loss) - 1))
    last.spines[["top", "right"]].set_visible(False)
    last.grid(alpha=0.25)
    figure.savefig(path, metadata={"Software": None})


def write(heights, path, fps):
    """Every second step from the start to the picture, as an animation that rests on the last frame."""
    n = heights[0].shape[0]
    along = (np.arange(n) + 0.5) * SIDE / n - 0.5 * SIDE
    z, x = np.meshgrid(along, along, indexing="ij")
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = np.stack([corner, corner + n, corner + n + 1, corner + 1], axis=1)
    with UsdWriter(path, fps=fps, metadata={"solver": "leapfrog", "version": wp.__version__}) as usd:
        for field in [*heights[::-2][::-1], *[heights[-1]] * fps]:
            y = field.numpy()
            light = np.clip(0.3 + 0.7 * y.reshape(-1, 1) / HEIGHT, 0.0, 1.0)
            usd.frame()
            points = np.stack([x, y, z], axis=-1).reshape(-1, 3)
            usd.mesh("water", points, faces, color=DEEP + light * (CREST - DEEP))


def check(result):
    """Raise AssertionError unless the water becomes the picture."""
    assert np.isfinite(result.found).all(), "not finite"
    assert result.error < 0.05, f"the picture is missed by {result.error:.1%}"
    assert result.loss[-1] < 0.01 * result.loss[0], f"the loss fell only to {result.loss[-1]:g}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--cells", type=int, above=1, default=128, help="along each side")
    parser.add_argument("--steps", type=int, above=0, default=120, help="time steps")
    parser.add_argument("--cfl", type=float, above=0, most=0.5**0.5, default=0.5, help="c dt / dx, at most 0.7 [-]")
    parser.add_argument("--iterations", type=int, above=0, default=80, help="at most")
    parser.add_argument("--fps", type=int, above=0, default=30, help="of the animation, two steps a frame")
    parser.add_argument("--output", type=Path, default=Path("wave_inverse.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("wave_inverse.png"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    pool = Pool(args.cells, args.steps, args.cfl, args.device)
    best = LBFGS([pool.heights[0]]).minimize(pool.closure, args.iterations)
    pool.run()
    fields = [a.numpy().copy() for a in (pool.heights[0], pool.heights[-1], pool.picture)]
    result = Result(*fields, np.array(best.losses))
    write(pool.heights, args.output, args.fps)
    draw(result, args.picture)
    print(f"{best.evaluations} rollouts of {args.steps} steps, stopped by: {best.reason}")
    print(f"{args.output}: the water becomes the picture up to {result.error:.2%}")
    return result


if __name__ == "__main__":
    main()
