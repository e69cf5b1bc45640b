"""Fourier transforms beside FFTW, which measures the machine before it plans."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from importlib.metadata import version

import numpy as np

import warpsim as wp
from benchmarks.champions.duel import Duel, Side

FIELDS = 4
"""Transforms at once, as a sea of eight real fields needs them."""


def duels() -> Iterator[Duel]:
    """Complex arrays of two dimensions in float32."""
    peer = f"FFTW (pyFFTW {version('pyFFTW')})"
    for n in (512, 1024):
        rng = np.random.default_rng(n)
        x = rng.standard_normal((FIELDS, n, n, 2)).astype(np.float32)
        yield Duel(f"{FIELDS} transforms of {n} x {n} complex numbers", peer, own(x), theirs(x), 1.0e-2)


def own(x: np.ndarray) -> Side:
    """One call over all fields."""
    source = wp.array(x, dtype=wp.vec2)
    target = wp.empty_like(source)
    return Side(lambda: wp.fft.fft2(source, target), target.numpy)


def theirs(x: np.ndarray) -> Side:
    """A plan that was measured, with as many threads as there are processors to run on."""
    pyfftw, threads = importlib.import_module("pyfftw"), len(os.sched_getaffinity(0))
    source, target = (pyfftw.empty_aligned(x.shape[:3], dtype="complex64") for _ in range(2))
    plan = pyfftw.FFTW(source, target, axes=(1, 2), threads=threads, flags=("FFTW_MEASURE",))
    source[:] = x.view(np.complex64)[..., 0]
    return Side(plan, lambda: target.view(np.float32))
