"""Meshes of all kinds for tests of queries, made of a seed, and brute force in float64 as their oracle."""

import numpy as np
from bvh_boxes import DEFAULTS
from hypothesis import strategies as st

import warpsim as wp

CUBE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], np.float32)
CUBE_FACES = np.fromstring(
    "0 3 2  0 2 1  4 5 6  4 6 7  0 1 5  0 5 4  2 3 7  2 7 6  0 4 7  0 7 3  1 2 6  1 6 5", np.int32, sep=" "
).reshape(-1, 3)


def sphere(n, bumps=0.2):
    """A closed bumpy sphere of about 4 n^2 triangles; each pole is one vertex."""
    polar, around = np.meshgrid(np.linspace(0, np.pi, n + 1)[1:-1], np.arange(2 * n) * np.pi / n, indexing="ij")
    radius = 1 + bumps * np.sin(3 * polar) * np.cos(4 * around)
    ring = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], -1)
    points = np.concatenate([(radius[..., None] * ring).reshape(-1, 3), [[0, 0, 1], [0, 0, -1]]])
    i, j = np.meshgrid(np.arange(n - 2), np.arange(2 * n), indexing="ij")
    a, b = (i * 2 * n + j).ravel(), (i * 2 * n + (j + 1) % (2 * n)).ravel()
    j, k = np.arange(2 * n), (np.arange(2 * n) + 1) % (2 * n)
    top, last = (n - 1) * 2 * n, (n - 2) * 2 * n
    quads = [np.stack([a, a + 2 * n, b + 2 * n], 1), np.stack([a, b + 2 * n, b], 1)]
    caps = [np.stack([np.full(2 * n, top), j, k], 1), np.stack([np.full(2 * n, top + 1), last + k, last + j], 1)]
    return points.astype(np.float32), np.concatenate([*quads, *caps]).astype(np.int32)


def soup(rng, n):
    """Triangles anywhere, of all sizes."""
    size = 10.0 ** rng.uniform(-3, 0, (n, 1, 1))
    return (rng.uniform(-1, 1, (n, 1, 3)) + size * rng.normal(size=(n, 3, 3))).reshape(-1, 3), np.arange(3 * n)


def lattice(rng, n):
    """Corners on few places: triangles share corners and edges, lie in one plane, are segments and points."""
    return rng.integers(-2, 3, (12, 3)).astype(float), rng.integers(0, 12, 3 * n)


def clusters(rng, n):
    """Tiny triangles far from each other."""
    center = rng.integers(-2, 3, (n, 1, 3)) * 3.0
    return (center + 0.01 * rng.normal(size=(n, 3, 3))).reshape(-1, 3), np.arange(3 * n)


def slivers(rng, n):
    """Triangles much longer than wide, some without any area."""
    a, d = rng.uniform(-1, 1, (n, 3)), rng.normal(size=(n, 3))
    width = rng.choice([0.0, 1e-7, 1e-4, 1e-2], (n, 1))
    return np.stack([a, a + d, a + rng.random((n, 1)) * d + width * rng.normal(size=(n, 3))], 1).reshape(-1, 3), (
        np.arange(3 * n)
    )


KINDS = {"soup": soup, "lattice": lattice, "clusters": clusters, "slivers": slivers}
SCALES = (1e-4, 1.0, 1e8)


def case(kind, seed, n, scale):
    """Points (float32), faces, and query points about the mesh: anywhere, at corners, at middles of faces."""
    rng = np.random.default_rng(seed)
    points, faces = KINDS[kind](rng, n)
    faces = faces.reshape(-1, 3).astype(np.int32)
    corners = points[faces]
    some = rng.integers(0, n, 6)
    on = [corners[some, 0], corners.mean(axis=1)[some]]
    queries = np.concatenate([rng.uniform(-2, 2, (8, 3)), rng.uniform(-9, 9, (2, 3)), *on])
    return (points * scale).astype(np.float32), faces, (queries * scale).astype(np.float32)


cases = st.builds(
    case, st.sampled_from(sorted(KINDS)), st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from(SCALES)
)


def mesh_of(points, faces, device=None, grad=False, **options):
    """A `Mesh` of NumPy arrays."""
    options.setdefault("bvh_constructor", DEFAULTS.get("constructor"))
    made = wp.array(np.asarray(points, np.float32), dtype=wp.vec3, device=device, requires_grad=grad)
    return wp.Mesh(made, wp.array(np.asarray(faces, np.int32).ravel(), dtype=int, device=device), **options)


def vectors(a, device=None):
    return wp.array(np.asarray(a, np.float32), dtype=wp.vec3, device=device)


def segment_distances(p, a, b):
    """Squared distances of points (n, 1, 3) and segments (m, 3)."""
    ab = b - a
    squared = np.einsum("ij,ij->i", ab, ab)
    t = np.clip(np.einsum("nmj,mj->nm", p - a, ab) / np.where(squared > 0, squared, 1), 0, 1)
    return np.sum((a + t[..., None] * ab - p) ** 2, axis=-1)


def distances(queries, points, faces):
    """Distances (n, m) of points and triangles in float64: to the border, or to the plane where the foot is inside."""
    p, t = np.asarray(queries, float)[:, None], np.asarray(points, float)[faces]
    best = np.min([segment_distances(p, t[:, k], t[:, (k + 1) % 3]) for k in range(3)], axis=0)
    n = np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0])
    inside = np.einsum("ij,ij->i", n, n) > 0
    for k in range(3):
        side = np.cross(t[:, (k + 1) % 3] - t[:, k], p - t[:, k])
        inside = inside & (np.einsum("nmj,mj->nm", side, n) >= 0)
    area = np.einsum("ij,ij->i", n, n)
    height = np.einsum("nmj,mj->nm", p - t[:, 0], n) ** 2 / np.where(area > 0, area, 1)
    return np.sqrt(np.where(inside, np.minimum(best, height), best))


def position(points, face, u, v):
    """u a + v b + (1 - u - v) c of faces, in float64."""
    t, u, v = np.asarray(points, float)[face], np.asarray(u, float)[:, None], np.asarray(v, float)[:, None]
    return u * t[:, 0] + v * t[:, 1] + (1 - u - v) * t[:, 2]


def size_of(*arrays):
    """The largest coordinate: what rounding is relative to."""
    return max(float(np.abs(a).max()) for a in arrays)
