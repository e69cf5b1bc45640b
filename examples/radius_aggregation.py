"""Features of a point cloud, averaged within a radius of other points: forward, backward, and beside PyTorch.

Every query point takes the mean of the features of all reference points within `radius`, weighted by
exp(-distance / sigma): a layer of networks on point clouds. Written with tensors it forms all pairs of points; with a
hash grid a loop over the neighbours is the whole kernel, and its derivative with respect to features and both sets
of positions follows by itself. Where PyTorch is installed, a plain version with tensors checks values and
gradients on a part of the queries, and both are timed.
"""

import argparse
import importlib.util
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import warpsim as wp
from warpsim.usd import UsdWriter

CHANNELS = 8  # features of a point
FEW = 1000  # queries that are compared with all pairs
NOISE = 0.3  # in the features of the cloud

Feature = wp.types.vector(length=CHANNELS, dtype=float)
Vec3s = wp.array[wp.vec3]
Features = wp.array[Feature]


@wp.kernel
def aggregate(
    grid: wp.uint64, queries: Vec3s, references: Vec3s, features: Features, radius: float, sigma: float, out: Features
):
    """Weighted means of the features near each query; 0 where nothing is near."""
    i = wp.tid()
    p = queries[i]
    total = Feature()
    weight = float(0.0)
    for j in wp.hash_grid_neighbors(grid, p, radius):
        w = wp.exp(-wp.length(p - references[j]) / sigma)
        weight += w
        total += features[j] * w
    out[i] = total / (weight + 1.0e-8)


@wp.kernel
def rate(out: Features, target: Features, loss: wp.array[float]):
    """Mean squared difference."""
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.length_sq(out[i] - target[i]) / float(out.shape[0] * CHANNELS))


def field(points):
    """Features (n, CHANNELS) that vary smoothly in space: plane waves of several directions."""
    waves = np.random.default_rng(7).normal(size=(3, CHANNELS)) * 2.0
    return np.sin(points @ waves)


def data(points, side):
    """Queries on a lattice of side^3 points, a cloud with noisy features, and the features without noise."""
    rng = np.random.default_rng(0)
    ticks = np.linspace(-1.0, 1.0, side)
    queries = np.stack(np.meshgrid(ticks, ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 3)
    cloud = rng.uniform(-1.1, 1.1, (points, 3))
    noisy = field(cloud) + NOISE * rng.normal(size=(points, CHANNELS))
    return [a.astype(np.float32) for a in (queries, cloud, noisy, field(queries))]


def on_grid(queries, cloud, features, target, radius, sigma, device):
    """Results, loss and gradients of (queries, cloud, features) by the kernel; times of build, forward, backward."""

    def array(values, dtype):
        return wp.array(values, dtype=dtype, device=device, requires_grad=True)

    q, c, f = array(queries, wp.vec3), array(cloud, wp.vec3), array(features, Feature)
    wanted = wp.array(target, dtype=Feature, device=device)
    grid, out = wp.HashGrid(128, 128, 128, device=device), wp.zeros_like(wanted, requires_grad=True)
    loss = wp.zeros(1, dtype=float, device=device, requires_grad=True)
    times = []
    for _ in range(2):  # the first round compiles
        marks = [time.perf_counter()]
        grid.build(c, radius)
        marks.append(time.perf_counter())
        loss.zero_()
        with wp.Tape() as tape:
            wp.launch(aggregate, len(q), [grid.id, q, c, f, radius, sigma], [out], device=device)
            wp.launch(rate, len(q), [out, wanted], [loss], device=device)
        marks.append(time.perf_counter())
        tape.backward(loss)
        times = np.diff([*marks, time.perf_counter()])
        slopes = [a.grad.numpy().copy() for a in (q, c, f)]
        tape.zero()
    return out.numpy().copy(), float(loss.numpy()[0]), slopes, times


def on_pairs(queries, cloud, features, target, radius, sigma):
    """The same with PyTorch tensors over all pairs: results, gradients, times of forward and backward."""
    import torch  # noqa: PLC0415  # optional

    q, c, f = (torch.tensor(a, requires_grad=True) for a in (queries, cloud, features))
    begin = time.perf_counter()
    distance = torch.linalg.vector_norm(q[:, None, :] - c[None, :, :], dim=-1)
    weight = torch.where(distance <= radius, torch.exp(-distance / sigma), 0.0)
    out = (weight @ f) / (weight.sum(dim=1, keepdim=True) + 1.0e-8)
    loss = ((out - torch.tensor(target)) ** 2).mean()
    middle = time.perf_counter()
    loss.backward()
    times = (middle - begin, time.perf_counter() - middle)
    return out.detach().numpy(), [a.grad.numpy() for a in (q, c, f)], times


def draw(path, side, noisy, cloud, out, target):
    """The first feature in the middle layer: of the cloud near it, averaged, and without noise."""
    figure = Figure(figsize=(11.0, 3.8), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    cuts = [a.reshape(side, side, side, CHANNELS)[:, :, side // 2, 0].T for a in (out, target)]
    near = np.abs(cloud[:, 2]) < 1.5 / side
    left, *others = figure.subplots(1, 3)
    image = left.scatter(cloud[near, 0], cloud[near, 1], c=noisy[near, 0], s=6.0, vmin=-1.2, vmax=1.2, cmap="RdBu_r")
    left.set(aspect="equal", title="the cloud, with noise", xlim=(-1.0, 1.0), ylim=(-1.0, 1.0))
    for axes, cut, title in zip(others, cuts, ("averaged within the radius", "without noise"), strict=True):
        axes.imshow(cut, origin="lower", extent=(-1.0, 1.0, -1.0, 1.0), vmin=-1.2, vmax=1.2, cmap="RdBu_r")
        axes.set(title=title)
    figure.colorbar(image, ax=figure.axes, label="first feature", shrink=0.8)
    figure.savefig(path)


@dataclass
class Result:
    """Root of mean squares of noise, of the error that is left, and differences from PyTorch (None without it)."""

    noise: float
    error: float
    differences: dict[str, float] | None


def differences(inputs, radius, sigma, device):
    """Largest differences from PyTorch relative to the largest value, on a part of the queries."""
    queries, cloud, features, target = inputs
    part = np.random.default_rng(1).permutation(len(queries))[:FEW]
    few = (queries[part], cloud, features, target[part])
    out, _, slopes, times = on_grid(*few, radius, sigma, device)
    expected, expected_slopes, torch_times = on_pairs(*few, radius, sigma)
    for name, forward, backward in (("PyTorch", *torch_times), ("the grid", times[:2].sum(), times[2])):
        print(f"{len(part)} queries with {name}: forward {1e3 * forward:.1f} ms, backward {1e3 * backward:.1f} ms")
    names = ("values", "slopes of queries", "slopes of the cloud", "slopes of features")
    pairs = zip(names, (out, *slopes), (expected, *expected_slopes), strict=True)
    return {name: float(np.abs(a - b).max() / np.abs(b).max()) for name, a, b in pairs}


def run(args):
    """Aggregate, write the picture and the points, compare with PyTorch; returns a Result."""
    inputs = data(args.points, args.side)
    queries, cloud, features, target = inputs
    out, loss, _, times = on_grid(*inputs, args.radius, args.sigma, args.device)
    build, forward, backward = 1e3 * times
    print(f"{len(queries)} queries, {len(cloud)} points, loss {loss:.4f}")
    print(f"build {build:.2f} ms, forward {forward:.1f} ms, backward {backward:.1f} ms")
    noise = np.sqrt(((features - field(cloud.astype(float))) ** 2).mean())
    error = np.sqrt(((out - target) ** 2).mean())
    found = differences(inputs, args.radius, args.sigma, args.device) if importlib.util.find_spec("torch") else None
    draw(args.picture, args.side, features, cloud, out, target)
    with UsdWriter(args.output, fps=1.0, metadata={"version": wp.__version__}) as usd:
        usd.frame()
        usd.points("queries", queries, 0.3 / args.side, color=np.clip(0.5 + 0.4 * out[:, :3], 0.0, 1.0))
    return Result(float(noise), float(error), found)


def check(result):
    """Raise AssertionError unless averaging took most of the noise away and PyTorch agrees, where it is."""
    assert result.error < 0.5 * result.noise, f"an error of {result.error:.3f} is left of {result.noise:.3f}"
    for name, found in (result.differences or {}).items():
        assert found < 1.0e-4, f"{name} differ from PyTorch's by {found:.1e}"


def main(argv=None):
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--points", type=int, default=25_000, help="of the cloud")
    parser.add_argument("--side", type=int, default=30, help="queries along each axis")
    parser.add_argument("--radius", type=float, default=0.2)
    parser.add_argument("--sigma", type=float, default=0.1)
    parser.add_argument("--output", type=Path, default=Path("radius_aggregation.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("radius_aggregation.png"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    if min(args.points, args.side, args.radius, args.sigma) <= 0:
        parser.error("--points, --side, --radius and --sigma must be above zero")
    return run(args)


if __name__ == "__main__":
    main()
