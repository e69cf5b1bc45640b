"""Features of a point cloud, averaged within a radius of other points: forward, backward, and beside PyTorch.

Every query point takes the mean of the features of all reference points within `radius`, weighted by
exp(-distance / sigma): a layer of networks on point clouds. Written with tensors it forms all pairs of points; with a
hash grid a loop over the neighbours is the whole kernel, and its derivative with respect to features and both sets
of positions follows by itself. Where PyTorch is installed, one line makes an operator of it, which is compared with
the plain version on a part of the queries; the ratio of their times is printed.
"""

import importlib.util
import time
from collections import namedtuple
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import warpsim as wp
from warpsim.render import SimulationParser

CHANNELS = 8  # features of a point
FEW = 1000  # queries that are compared with all pairs
NOISE = 0.3  # in the features of the cloud
Result = namedtuple("Result", "noise error differences")  # roots of mean squares; from PyTorch, None without it

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


def near(queries: Vec3s, references: Vec3s, features: Features, radius: float, sigma: float, out: Features):
    """The layer: a grid of cells as wide as the radius, and one launch over it."""
    grid = wp.HashGrid(64, 64, 64, device=queries.device)
    grid.build(references, radius)
    inputs = [grid.id, queries, references, features, radius, sigma]
    wp.launch(aggregate, len(queries), inputs, [out], device=queries.device)


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
    """Results, their mean squared error, and its gradients by (queries, cloud, features), on a tape."""
    types = (wp.vec3, wp.vec3, Feature)
    inputs = [wp.array(a, dtype=t, device=device, requires_grad=True)
              for a, t in zip((queries, cloud, features), types, strict=True)]  # fmt: skip
    out = wp.zeros(len(queries), dtype=Feature, device=device, requires_grad=True)
    with wp.Tape() as tape:
        near(*inputs, radius, sigma, out)
    error = out.numpy() - target
    tape.backward(grads={out: wp.array(2.0 * error / error.size, dtype=Feature, device=device)})
    return out.numpy(), float((error**2).mean()), [a.grad.numpy() for a in inputs]


def on_pairs(queries, cloud, features, radius, sigma):
    """The layer with PyTorch's tensors, over all pairs."""
    import torch  # noqa: PLC0415  # optional

    distance = torch.linalg.vector_norm(queries[:, None] - cloud[None], dim=-1)
    weight = torch.where(distance <= radius, torch.exp(-distance / sigma), 0.0)
    return (weight @ features) / (weight.sum(dim=1, keepdim=True) + 1.0e-8)


def differences(inputs, radius, sigma):
    """Largest differences of the operator from all pairs, relative to the largest value, on a part of the queries."""
    import torch  # noqa: PLC0415  # optional

    queries, cloud, features, target = inputs
    part = np.random.default_rng(1).permutation(len(queries))[:FEW]
    wanted, operator, runs = torch.tensor(target[part]), wp.torch_op(near), []
    for layer in (operator, operator, on_pairs):  # the first run compiles
        leaves = [torch.tensor(a, requires_grad=True) for a in (queries[part], cloud, features)]
        begin = time.perf_counter()
        out = layer(*leaves, radius, sigma)
        ((out - wanted) ** 2).mean().backward()
        runs.append((time.perf_counter() - begin, [out.detach(), *(x.grad for x in leaves)]))
    (ours, found), (theirs, expected) = runs[1:]
    print(f"{len(part)} queries with PyTorch, forward and backward: operator {1e3 * ours:.1f} ms, "
          f"tensors over all pairs {1e3 * theirs:.1f} ms: ratio {theirs / ours:.1f}")  # fmt: skip
    names = ("values", "slopes of queries", "slopes of the cloud", "slopes of features")
    pairs = zip(names, found, expected, strict=True)
    return {name: float((a - b).abs().max() / b.abs().max()) for name, a, b in pairs}


def draw(path, side, noisy, cloud, out, target):
    """The first feature in the middle layer: of the cloud near it, averaged, and without noise."""
    figure = Figure(figsize=(11.0, 3.8), dpi=110, layout="constrained")
    cuts = [a.reshape(side, side, side, CHANNELS)[:, :, side // 2, 0].T for a in (out, target)]
    near = np.abs(cloud[:, 2]) < 1.5 / side
    left, *others = figure.subplots(1, 3)
    image = left.scatter(cloud[near, 0], cloud[near, 1], c=noisy[near, 0], s=6.0, vmin=-1.2, vmax=1.2, cmap="RdBu_r")
    left.set(aspect="equal", title="the cloud, with noise", xlim=(-1.0, 1.0), ylim=(-1.0, 1.0), xlabel="x", ylabel="y")
    for axes, cut, title in zip(others, cuts, ("averaged within the radius", "without noise"), strict=True):
        axes.imshow(cut, origin="lower", extent=(-1.0, 1.0, -1.0, 1.0), vmin=-1.2, vmax=1.2, cmap="RdBu_r")
        axes.set(title=title, xlabel="x")
    figure.colorbar(image, ax=figure.axes, label="first feature", shrink=0.8)
    figure.savefig(path)


def run(args):
    """Aggregate, draw the picture, compare with PyTorch; returns a Result."""
    inputs = data(args.points, args.side)
    queries, cloud, features, target = inputs
    out, loss, _ = on_grid(*inputs, args.radius, args.sigma, args.device)
    print(f"{len(queries)} queries, {len(cloud)} points, loss {loss:.4f}")
    noise = np.sqrt(((features - field(cloud.astype(float))) ** 2).mean())
    error = np.sqrt(((out - target) ** 2).mean())
    found = differences(inputs, args.radius, args.sigma) if importlib.util.find_spec("torch") else None
    draw(args.picture, args.side, features, cloud, out, target)
    return Result(float(noise), float(error), found)


def check(result):
    """Raise AssertionError unless averaging took most of the noise away and PyTorch agrees, where it is."""
    assert result.error < 0.5 * result.noise, f"an error of {result.error:.3f} is left of {result.noise:.3f}"
    for name, found in (result.differences or {}).items():
        assert found < 1.0e-4, f"{name} differ from PyTorch's by {found:.1e}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--points", type=int, above=0, default=25_000, help="of the cloud")
    parser.add_argument("--side", type=int, above=0, default=30, help="queries along each axis")
    parser.add_argument("--radius", type=float, above=0, default=0.2, help="of a query [m]")
    parser.add_argument("--sigma", type=float, above=0, default=0.1, help="width of the weights [m]")
    parser.add_argument("--picture", type=Path, default=Path("radius_aggregation.png"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
