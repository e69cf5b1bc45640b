"""A sea evaluated at one time: warpsim beside the same formulas in NumPy and in SciPy, in one run.

    python -m benchmarks.ocean [cells ...]

Every side makes height, displacement, normals and Jacobian from the amplitudes of one sea: NumPy and SciPy in float64
as one would write it, and SciPy once more in float32 with threads. Sides take turns; minima are reported, and the time
of warpsim's gradient to all amplitudes as a multiple of its forward time.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import scipy.fft

import warpsim as wp
from warpsim.solvers.ocean import JONSWAP, Ocean

ROUNDS = 9


class Plain:
    """The formulas with whole arrays."""

    def __init__(self, ocean: Ocean, real, transform):
        n, self.real, self.transform = ocean.cells, real, transform
        m = np.fft.fftfreq(n, 1.0 / n) * 2.0 * np.pi / ocean.size
        self.kx, self.ky = (a.astype(real) for a in np.meshgrid(m, m[: n // 2 + 1], indexing="ij"))
        k = np.hypot(self.kx, self.ky)
        k[0, 0] = 1.0
        self.k, self.omega = k, 2.0 * np.pi * ocean.frequency.numpy()[0]
        h = ocean.amplitude.numpy()[0].astype(real)
        self.forth, self.back = h[..., 0] + 1j * h[..., 1], h[..., 2] - 1j * h[..., 3]

    def evaluate(self, t: float):
        wave = np.exp(-1j * (self.omega * t)).astype(np.result_type(self.real, np.complex64))
        h = self.forth * wave + self.back * np.conj(wave)
        ih, hk = 1j * h, h / self.k
        spectra = [h, ih * self.kx / self.k, ih * self.ky / self.k, ih * self.kx, ih * self.ky]
        spectra += [-self.kx**2 * hk, -self.ky**2 * hk, -self.kx * self.ky * hk]
        height, dx, dy, sx, sy, exx, eyy, exy = self.transform(np.stack(spectra))
        fxx, fyy = 1.0 + exx, 1.0 + eyy
        normals = np.stack([exy * sy - sx * fyy, exy * sx - sy * fxx, fxx * fyy - exy * exy], axis=-1)
        normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
        return height, np.stack([dx, dy], axis=-1), normals, fxx * fyy - exy * exy


def sides(cells: int):
    """Functions by name, and the field of warpsim for the comparison."""
    ocean = Ocean(JONSWAP(10.0, 1e5), 1000.0, cells)
    field = ocean.evaluate(0.0)
    threads = 2
    plain = {
        "NumPy": Plain(ocean, np.float64, lambda s: np.fft.irfft2(s, norm="forward")),
        "SciPy": Plain(ocean, np.float64, lambda s: scipy.fft.irfft2(s, norm="forward")),
        "SciPy, float32, threads": Plain(
            ocean, np.float32, lambda s: scipy.fft.irfft2(s, norm="forward", workers=threads)
        ),
    }
    height = plain["NumPy"].evaluate(0.7)[0]
    ocean.evaluate(0.7, out=field)
    assert np.abs(field.height.numpy() - height).max() < 1e-4, "the sides do not agree"
    functions = {"warpsim": lambda: ocean.evaluate(0.7, out=field)}
    return functions | {name: lambda p=p: p.evaluate(0.7) for name, p in plain.items()}


def gradient_cost(cells: int) -> float:
    """Time of the gradient of a field to all amplitudes, over the time of the field."""
    ocean = Ocean(JONSWAP(10.0, 1e5), 1000.0, cells)
    ocean.amplitude.requires_grad = True
    best = [np.inf, np.inf]
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        with wp.Tape() as tape:
            field = ocean.evaluate(0.7)
        middle = time.perf_counter()
        tape.backward(grads={field.height: wp.ones_like(field.height), field.normals: wp.ones_like(field.normals)})
        best = [min(best[0], middle - begin), min(best[1], time.perf_counter() - middle)]
    return best[1] / best[0]


def main(sizes: list[int]) -> None:
    print("| cells | side | ms | times warpsim |\n|---|---|---:|---:|")
    for cells in sizes:
        functions = sides(cells)
        best = dict.fromkeys(functions, np.inf)
        for _ in range(ROUNDS):
            for name, function in functions.items():
                begin = time.perf_counter()
                function()
                best[name] = min(best[name], time.perf_counter() - begin)
        for name, seconds in best.items():
            print(f"| {cells} | {name} | {1e3 * seconds:.1f} | {seconds / best['warpsim']:.1f} |")
        print(f"| {cells} | warpsim, backward | | {gradient_cost(cells):.1f} |")


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [512, 1024])
