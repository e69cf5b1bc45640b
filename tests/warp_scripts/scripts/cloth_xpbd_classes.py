"""Position-based cloth written with classes, kernels as attributes, colouring by hand, type hints by wp.array[...]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import warp as wp


@wp.kernel
def predict(
    x: wp.array[wp.vec3],
    v: wp.array[wp.vec3],
    inv_mass: wp.array[wp.float32],
    g: wp.vec3,
    dt: wp.float32,
    p: wp.array[wp.vec3],
):
    i = wp.tid()
    if inv_mass[i] == 0.0:
        p[i] = x[i]
        return
    v[i] += g * dt
    p[i] = x[i] + v[i] * dt


@wp.kernel
def solve_distance(
    p: wp.array[wp.vec3],
    inv_mass: wp.array[float],
    edges: wp.array[wp.vec2i],
    rest: wp.array[float],
    lambdas: wp.array[float],
    alpha: float,
    offset: int,
):
    e = offset + wp.tid()
    i, j = edges[e][0], edges[e][1]
    wi, wj = inv_mass[i], inv_mass[j]
    w = wi + wj
    if w == 0.0:
        return
    d = p[i] - p[j]
    l = wp.length(d)
    if l < 1e-9:
        return
    c = l - rest[e]
    dl = (-c - alpha * lambdas[e]) / (w + alpha)
    lambdas[e] += dl
    corr = d / l * dl
    p[i] = p[i] + wi * corr
    p[j] = p[j] - wj * corr


@wp.kernel
def update(x: wp.array[wp.vec3], p: wp.array[wp.vec3], v: wp.array[wp.vec3], dt: float):
    i = wp.tid()
    v[i] = (p[i] - x[i]) / dt
    x[i] = p[i]


@wp.kernel
def collide(p: wp.array[wp.vec3], centre: wp.vec3, radius: float, hits: wp.array[wp.int32]):
    i = wp.tid()
    d = p[i] - centre
    depth = radius - wp.length(d)
    if depth > 0.0:
        p[i] += wp.normalize(d) * depth
        wp.atomic_add(hits, 0, 1)


@dataclass
class Options:
    n: int = 10
    spacing: float = 0.1
    compliance: float = 1e-6
    substeps: int = 4
    dt: float = 1.0 / 60.0


def greedy_colours(edges: np.ndarray) -> list[np.ndarray]:
    colours: list[list[int]] = []
    used: list[set[int]] = []
    for k, (i, j) in enumerate(edges):
        for c, points in enumerate(used):
            if i not in points and j not in points:
                colours[c].append(k)
                points |= {i, j}
                break
        else:
            colours.append([k])
            used.append({i, j})
    return [np.array(c) for c in colours]


class Cloth:
    predict = predict
    update = update

    def __init__(self, options: Options):
        o = self.options = options
        gx, gy = np.meshgrid(np.arange(o.n), np.arange(o.n), indexing="ij")
        pos = np.stack([gx, np.zeros_like(gx), gy], -1).reshape(-1, 3) * o.spacing
        ids = np.arange(o.n * o.n).reshape(o.n, o.n)
        pairs = [(ids[:-1], ids[1:]), (ids[:, :-1], ids[:, 1:]), (ids[:-1, :-1], ids[1:, 1:]), (ids[:-2], ids[2:])]
        edges = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs])
        self.colours = greedy_colours(edges)
        edges = edges[np.concatenate(self.colours)]
        mass = np.ones(len(pos))
        mass[[0, o.n - 1]] = 0.0
        self.x = wp.array(pos, dtype=wp.vec3)
        self.p = wp.clone(self.x)
        self.v = wp.zeros_like(self.x)
        self.w = wp.array(mass, dtype=wp.float32)
        self.edges = wp.array(edges, dtype=wp.vec2i)
        self.rest = wp.array(np.linalg.norm(pos[edges[:, 0]] - pos[edges[:, 1]], axis=1), dtype=float)
        self.lambdas = wp.zeros(len(edges), dtype=float)
        self.hits = wp.zeros(1, dtype=int)

    def step(self):
        o = self.options
        h = o.dt / o.substeps
        for _ in range(o.substeps):
            wp.launch(
                self.predict, len(self.x), inputs=[self.x, self.v, self.w, wp.vec3(0, -9.8, 0), h], outputs=[self.p]
            )
            self.lambdas.zero_()
            offset = 0
            for colour in self.colours:
                args = [self.p, self.w, self.edges, self.rest, self.lambdas, o.compliance / (h * h), offset]
                wp.launch(solve_distance, dim=len(colour), inputs=args)
                offset += len(colour)
            wp.launch(collide, dim=self.x.shape, inputs=[self.p, wp.vec3(0.45, -0.5, 0.3), 0.3, self.hits])
            wp.launch(self.update, self.x.size, inputs=[self.x, self.p, self.v, h])


cloth = Cloth(Options())
print("colours", len(cloth.colours), "edges", cloth.edges.shape[0])
for frame in range(20):
    cloth.step()
    if frame % 5 == 4:
        x = cloth.x.numpy()
        print(frame, "lowest %.3f" % x[:, 1].min(), "mean", x.mean(axis=0).round(3))
stretch = np.linalg.norm(x[cloth.edges.numpy()[:, 0]] - x[cloth.edges.numpy()[:, 1]], axis=1) / cloth.rest.numpy()
print("stretch %.3f" % stretch.max(), "touched", cloth.hits.numpy()[0] > 0, "pinned", x[0], x[9])
