"""Boxes of all kinds for tests of hierarchies, made of a seed."""

import numpy as np


def _scattered(rng, n):
    center = rng.uniform(-1, 1, (n, 3))
    half = rng.uniform(0, 0.2, (n, 3))
    return center - half, center + half


def _clustered(rng, n):
    center = rng.integers(0, 3, (n, 1)) * 100.0 + rng.normal(0, 10.0 ** rng.uniform(-5, 0, (n, 1)), (n, 3))
    return center - 0.01, center + 0.01


def _points(rng, n):
    center = rng.uniform(-1, 1, (n, 3))
    return center, center


def _flat(rng, n):
    lower, upper = _scattered(rng, n)
    axis = rng.integers(0, 3, n)
    upper[np.arange(n), axis] = lower[np.arange(n), axis]
    return lower, upper


def _plane(rng, n):
    lower, upper = _scattered(rng, n)
    lower[:, 1] = upper[:, 1] = 0.25
    return lower, upper


def _cells(rng, n):
    lower = rng.integers(-4, 4, (n, 3)).astype(float)
    return lower, lower + 1


def _equal(rng, n):
    return np.full((n, 3), -0.5), np.full((n, 3), 0.5)


def _spiral(rng, n):
    """Centres that get closer by a factor, so that every plane cuts few off."""
    center = 0.5 ** np.arange(n)[:, None] * np.array([1.0, 0.5, 0.25])
    return center, center * 1.01


def _nested(rng, n):
    half = np.linspace(0.01, 1, n)[:, None] * np.ones(3)
    return -half, half


def _inverted(rng, n):
    lower, upper = _scattered(rng, n)
    swap = rng.random((n, 3)) < 0.2
    return np.where(swap, upper, lower), np.where(swap, lower, upper)


KINDS = {"scattered": _scattered, "clustered": _clustered, "points": _points, "flat": _flat, "plane": _plane}
KINDS |= {"cells": _cells, "equal": _equal, "spiral": _spiral, "nested": _nested, "inverted": _inverted}
DEFAULTS = {}
"""How tests build trees where they do not say: `constructor`, see `conftest`."""

SCALES = (1.0, 1e-18, 1e18, 1e-30, 1e30)


def boxes(kind, n, seed, scale=1.0, broken=0.0):
    """Corners of n boxes, float32; a share `broken` of them has a NaN or an infinity."""
    rng = np.random.default_rng(seed)
    lower, upper = (x.astype(np.float32) * np.float32(scale) for x in KINDS[kind](rng, n))
    bad = rng.random(n) < broken
    for corner in (lower, upper):
        hit = bad & (rng.random(n) < 0.7)
        corner[hit, rng.integers(0, 3, hit.sum())] = rng.choice([np.nan, np.inf, -np.inf], hit.sum())
    return lower, upper


def finite(lower, upper):
    """Which boxes a hierarchy holds."""
    return np.isfinite(lower).all(1) & np.isfinite(upper).all(1)
