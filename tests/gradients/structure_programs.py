"""Random programs over structures: textures, volumes, hash grids, arrays in pieces, dense systems, on one state.

`program(seed)` is a list of stages, how often they run, and how: one by one, as a captured graph, from checkpoints.
Every stage overwrites what others read. `Real` runs them by warpsim, `Twin` the formulas by PyTorch in float64.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import torch

import warpsim as wp
from warpsim.geometry.nanovdb import build

Points, Numbers, Ints = wp.array(dtype=wp.vec3d), wp.array(dtype=wp.float64), wp.array(dtype=int)
RADIUS, TEXELS, VOXELS, CELL, LOW = 0.6, (5, 7), 6, 0.5, -1.5
STAGES = ("texture", "volume", "smooth", "repel", "pieces", "held", "solve", "products", "move", "square")
WAYS = ("plain", "graph", "checkpoint")


@dataclass
class Program:
    seed: int
    n: int
    stages: list[str]
    times: int
    way: str
    wraps: bool
    counts: list[int]
    """Elements of each piece of the array in pieces."""


def program(seed: int) -> Program:
    rng = random.Random(seed)
    n = rng.choice((3, 6, 9, 33))
    cuts = sorted(rng.randrange(n + 1) for _ in range(rng.randrange(4)))
    counts = [b - a for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
    stages = [rng.choice(STAGES) for _ in range(rng.randrange(2, 7))]
    return Program(seed, n, stages, rng.randrange(1, 4), rng.choice(WAYS), rng.random() < 0.5, counts)


def start(p: Program) -> dict[str, np.ndarray]:
    """First contents: positions, numbers, texels, values of voxels, all with gradients."""
    rng = np.random.default_rng(p.seed)
    shapes = {"x": (p.n, 3), "u": (p.n,), "texels": TEXELS, "voxels": (VOXELS,) * 3}
    first = {name: rng.uniform(-1.0, 1.0, shape) for name, shape in shapes.items()}
    return first | {"texels": first["texels"].astype(np.float32)}


# ----- warpsim --------------------------------------------------------------------------------------


@wp.kernel
def texture_kernel(t: wp.Texture2D, x: Points, u: Numbers):
    i = wp.tid()
    at = wp.vec2(float(x[i][0]), float(x[i][1]))
    u[i] = wp.float64(0.5) * u[i] + wp.float64(wp.texture_sample(t, at, dtype=float))


@wp.kernel
def volume_kernel(v: wp.uint64, x: Points, u: Numbers):
    i = wp.tid()
    at = wp.volume_world_to_index(v, x[i])
    u[i] = u[i] * wp.volume_sample(v, at, wp.Volume.LINEAR, wp.float64) + wp.float64(0.25)


@wp.func
def bump(d: wp.vec3d):
    s = wp.max(wp.float64(1.0) - wp.dot(d, d) / wp.float64(wp.static(RADIUS * RADIUS)), wp.float64(0.0))
    return s * s * s


@wp.kernel
def smooth_kernel(grid: wp.uint64, x: Points, u: Numbers, sums: Numbers):
    i = wp.tid()
    total = wp.float64(0.0)
    for j in wp.hash_grid_query(grid, x[i], wp.float64(wp.static(RADIUS))):
        total += bump(x[i] - x[j]) * u[j]
    sums[i] = total


@wp.kernel
def take_kernel(sums: Numbers, u: Numbers):
    i = wp.tid()
    u[i] = wp.sin(sums[i]) + wp.float64(0.1) * u[i]


@wp.kernel
def repel_kernel(grid: wp.uint64, x: Points, force: Points):
    i = wp.tid()
    total = wp.vec3d()
    for j in wp.hash_grid_neighbors(grid, x[i], wp.float64(wp.static(RADIUS))):
        total += bump(x[i] - x[j]) * (x[i] - x[j])
    force[i] = total


@wp.kernel
def push_kernel(force: Points, x: Points):
    i = wp.tid()
    x[i] += wp.float64(0.1) * force[i]


@wp.kernel
def pieces_kernel(f: wp.fabricarray(dtype=wp.float64), u: Numbers):
    i = wp.tid()
    moved = wp.sin(f[i] * u[i]) + wp.cos(u[i])
    f[i] = moved
    u[i] = moved * wp.float64(0.5)


@wp.struct
class Holder:
    values: Numbers
    factor: wp.float64


@wp.kernel
def held_kernel(holders: wp.array(dtype=Holder), u: Numbers):
    i = wp.tid()
    moved = wp.cos(holders[1].values[i] * u[i]) * holders[1].factor + wp.sin(u[i])
    holders[1].values[i] = moved
    u[i] = u[i] - wp.float64(0.2) * moved


@wp.kernel
def solve_kernel(u: Numbers, A: Numbers, L: Numbers, b: Numbers):
    k = wp.tid()
    for i in range(3):
        for j in range(3):
            A[9 * k + 3 * i + j] = u[3 * k + i] * u[3 * k + j] + wp.where(i == j, wp.float64(2.0), wp.float64(0.0))
        b[3 * k + i] = wp.sin(u[3 * k + i]) + wp.float64(i)


@wp.kernel
def factor_kernel(start: Ints, dim: Ints, A: Numbers, L: Numbers):
    wp.dense_chol_batched(start, dim, A, wp.float64(0.0), L)


@wp.kernel
def substitute_kernel(at: Ints, start: Ints, dim: Ints, A: Numbers, L: Numbers, b: Numbers, u: Numbers):
    wp.dense_solve_batched(at, start, dim, A, L, b, u)


@wp.kernel
def outer_kernel(u: Numbers, A: Numbers):
    i = wp.tid()
    A[i] = wp.sin(u[i % 3] + wp.float64(i))


@wp.kernel
def products_kernel(A: Numbers, b: Numbers, u: Numbers):
    wp.dense_gemm(3, 1, 3, 0, 0, A, b, u)


@wp.kernel
def move_kernel(u: Numbers, x: Points):
    i = wp.tid()
    x[i] = x[i] + wp.float64(0.05) * wp.sin(u[i]) * wp.vec3d(wp.float64(1.0), u[i], wp.float64(-0.5))


@wp.kernel
def square_kernel(u: Numbers):
    i = wp.tid()
    u[i] = u[i] * u[i] / (wp.float64(1.0) + u[i] * u[i])


@wp.kernel
def weigh_kernel(x: Points, u: Numbers, f: Numbers, loss: Numbers):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.dot(x[i], x[i]) * wp.float64(i % 3 + 1) + wp.sin(u[i] + wp.float64(i)) + u[i] * f[i])


def values_of(voxels: np.ndarray, background: float = 0.5) -> wp.Volume:
    grid = build.from_dense(
        voxels, (0, 0, 0), background=np.full((), background), transform=np.eye(3) * CELL, translation=(LOW,) * 3
    )
    return wp.Volume(grid.buffer)


class Real:
    def __init__(self, p: Program, first: dict[str, np.ndarray], device: str):
        self.p, self.device = p, device
        options = {"requires_grad": True, "device": device}
        self.x = wp.array(first["x"], dtype=wp.vec3d, **options)
        self.u = wp.array(first["u"], dtype=wp.float64, **options)
        self.f = wp.array(0.5 * first["u"], dtype=wp.float64, **options)
        self.texels = wp.array(first["texels"], dtype=float, **options)
        self.sums, self.force = wp.zeros_like(self.u), wp.zeros_like(self.x)
        self.loss = wp.zeros(1, dtype=wp.float64, **options)
        blocks = p.n // 3
        self.A, self.L = (wp.zeros(9 * blocks, dtype=wp.float64, **options) for _ in range(2))
        self.b = wp.zeros(3 * blocks, dtype=wp.float64, **options)
        tables = np.arange(blocks)
        made = (9 * tables, 0 * tables + 3, 3 * tables)
        self.starts, self.dims, self.at = (wp.array(t, dtype=int, device=device) for t in made)
        self.grid = wp.HashGrid(8, 8, 8, dtype=wp.float64, device=device)
        self.grid.reserve(p.n)
        self.volume = values_of(first["voxels"])
        self.volume.requires_grad = True
        self.moved = [self.x, self.u, self.f, self.L]
        self.scratch = [self.sums, self.force, self.A, self.b, self.grid]

    def begin(self) -> None:
        """What a tape must see before the steps."""
        mode = wp.TextureAddressMode.WRAP if self.p.wraps else wp.TextureAddressMode.CLAMP
        self.texture = wp.Texture2D(self.texels, address_mode=mode)
        self.pieces = wp.fabricarray(self.interface(), "f")
        holders = [Holder(values=a, factor=0.7) for a in (None, self.f)]
        self.holders = wp.array(holders, dtype=Holder, device=self.device)

    def interface(self) -> dict:
        places = np.cumsum([0, *self.p.counts])[:-1]
        about = {
            "type": (True, "f8", 1, 0, ""),
            "access": 2,
            "counts": list(self.p.counts),
            "pointers": [self.f.ptr + 8 * int(k) for k in places],
        }
        return {"version": 1, "device": str(self.f.device), "attribs": {"f": about}, "owner": self.f}

    def launch(self, kernel, n, *args) -> None:
        wp.launch(kernel, n, inputs=args, device=self.device)

    def texture_stage(self):
        self.launch(texture_kernel, self.p.n, self.texture, self.x, self.u)

    def volume_stage(self):
        self.launch(volume_kernel, self.p.n, self.volume.id, self.x, self.u)

    def smooth_stage(self):
        self.grid.build(self.x, RADIUS)
        self.launch(smooth_kernel, self.p.n, self.grid.id, self.x, self.u, self.sums)
        self.launch(take_kernel, self.p.n, self.sums, self.u)

    def repel_stage(self):
        self.grid.build(self.x, RADIUS)
        self.launch(repel_kernel, self.p.n, self.grid.id, self.x, self.force)
        self.launch(push_kernel, self.p.n, self.force, self.x)

    def pieces_stage(self):
        self.launch(pieces_kernel, self.p.n, self.pieces, self.u)

    def held_stage(self):
        self.launch(held_kernel, self.p.n, self.holders, self.u)

    def solve_stage(self):
        self.launch(solve_kernel, self.p.n // 3, self.u, self.A, self.L, self.b)
        self.launch(factor_kernel, self.p.n // 3, self.starts, self.dims, self.A, self.L)
        self.launch(substitute_kernel, self.p.n // 3, self.at, self.starts, self.dims, self.A, self.L, self.b, self.u)

    def products_stage(self):
        self.launch(outer_kernel, 9, self.u, self.A)
        wp.copy(self.b, self.u, count=3)
        self.launch(products_kernel, 1, self.A, self.b, self.u)

    def move_stage(self):
        self.launch(move_kernel, self.p.n, self.u, self.x)

    def square_stage(self):
        self.launch(square_kernel, self.p.n, self.u)

    def step(self, k: int) -> None:
        for name in self.p.stages:
            getattr(self, f"{name}_stage")()

    def run(self) -> wp.Tape:
        """All steps on a tape, and back."""
        with wp.Tape() as tape:
            self.begin()
            if self.p.way == "checkpoint":
                wp.checkpoint(self.step, self.moved, self.p.times, scratch=self.scratch)
            elif self.p.way == "graph":
                with wp.ScopedCapture(self.device) as capture:
                    self.step(0)
                for _ in range(self.p.times):
                    wp.capture_launch(capture.graph)
            else:
                for _ in range(self.p.times):
                    self.step(0)
            self.launch(weigh_kernel, self.p.n, self.x, self.u, self.f, self.loss)
        tape.backward(self.loss)
        return tape


# ----- the twin -------------------------------------------------------------------------------------


class Twin:
    def __init__(self, p: Program, first: dict[str, np.ndarray]):
        self.p = p
        self.leaves = {name: torch.tensor(a, dtype=torch.float64, requires_grad=True) for name, a in first.items()}
        self.f0 = torch.tensor(0.5 * first["u"], requires_grad=True)
        self.leaves["f"] = self.f0
        self.x, self.u, self.f = self.leaves["x"], self.leaves["u"], self.f0

    def texture_stage(self):
        h, w = TEXELS
        place = [self.x[:, 0] * w - 0.5, self.x[:, 1] * h - 0.5]
        low = [torch.floor(a).detach() for a in place]
        total = 0.0
        for di, dj in np.ndindex(2, 2):
            i, j = (low[0] + di).long(), (low[1] + dj).long()
            i, j = (i % w, j % h) if self.p.wraps else (i.clamp(0, w - 1), j.clamp(0, h - 1))
            part = [(a - b) if d else (1.0 - (a - b)) for a, b, d in zip(place, low, (di, dj), strict=True)]
            total = total + part[0] * part[1] * self.leaves["texels"][j, i]
        self.u = 0.5 * self.u + total

    def volume_stage(self):
        place = (self.x - LOW) / CELL
        low, total = torch.floor(place).detach(), 0.0
        for corner in np.ndindex(2, 2, 2):
            at = low.long() + torch.tensor(corner)
            inside = ((at >= 0) & (at < VOXELS)).all(dim=1)
            at = at.clamp(0, VOXELS - 1)
            value = torch.where(inside, self.leaves["voxels"][at[:, 0], at[:, 1], at[:, 2]], 0.5)
            frac = place - low
            part = torch.where(torch.tensor(corner, dtype=torch.bool), frac, 1.0 - frac)
            total = total + part.prod(dim=1) * value
        self.u = self.u * total + 0.25

    def bumps(self):
        d = self.x[:, None] - self.x[None]
        return d, torch.clamp(1.0 - (d * d).sum(-1) / RADIUS**2, min=0.0) ** 3

    def smooth_stage(self):
        self.u = torch.sin(self.bumps()[1] @ self.u) + 0.1 * self.u

    def repel_stage(self):
        d, w = self.bumps()
        self.x = self.x + 0.1 * (w[..., None] * d).sum(1)

    def pieces_stage(self):
        self.f = torch.sin(self.f * self.u) + torch.cos(self.u)
        self.u = 0.5 * self.f

    def held_stage(self):
        self.f = 0.7 * torch.cos(self.f * self.u) + torch.sin(self.u)
        self.u = self.u - 0.2 * self.f

    def solve_stage(self):
        v = self.u.reshape(-1, 3)
        A = v[:, :, None] * v[:, None] + 2.0 * torch.eye(3, dtype=torch.float64)
        b = torch.sin(v) + torch.arange(3.0, dtype=torch.float64)
        self.u = torch.linalg.solve(A, b[..., None]).reshape(-1)

    def products_stage(self):
        A = torch.sin(self.u[:3].repeat(3) + torch.arange(9.0, dtype=torch.float64)).reshape(3, 3)
        self.u = torch.cat([A @ self.u[:3], self.u[3:]])

    def move_stage(self):
        s = 0.05 * torch.sin(self.u)
        self.x = self.x + torch.stack([s, s * self.u, -0.5 * s], dim=1)

    def square_stage(self):
        self.u = self.u**2 / (1.0 + self.u**2)

    def run(self) -> dict[str, np.ndarray]:
        """The gradients of all leaves; `loss` is kept."""
        for _ in range(self.p.times):
            for name in self.p.stages:
                getattr(self, f"{name}_stage")()
        k = torch.arange(self.p.n, dtype=torch.float64)
        weighted = (self.x**2).sum(1) * (k % 3 + 1) + torch.sin(self.u + k) + self.u * self.f
        self.loss = weighted.sum()
        found = torch.autograd.grad(self.loss, list(self.leaves.values()), allow_unused=True, materialize_grads=True)
        return {name: g.numpy() for name, g in zip(self.leaves, found, strict=True)}
