"""What wind made this sea? Its speed, and the amplitudes of sixteen waves, from what probes recorded.

Two inverse problems through the Fourier transforms of an ocean, by L-BFGS on gradients of tapes. The first knows a
height map and the phases of the waves, and looks for the wind speed from a wrong one. The second knows the heights that
24 probes saw at a few times, and looks for sixteen complex amplitudes.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import warpsim as wp
from warpsim.optim import LBFGS
from warpsim.render import SimulationParser
from warpsim.solvers.ocean import JONSWAP, Ocean

FETCH, SIZE, CELLS = 100.0e3, 400.0, 64  # [m], [m], along each side
TIMES = np.arange(6) * 1.3  # when probes are read [s]
MODES = 16
Heights = wp.array2d[wp.float64]
Numbers = wp.array[wp.float64]


@wp.kernel
def misfit(height: Heights, at: wp.array[wp.vec2i], seen: Numbers, loss: Numbers):
    """Squared difference from what probes saw."""
    i = wp.tid()
    miss = height[at[i][0], at[i][1]] - seen[i]
    wp.atomic_add(loss, 0, miss * miss)


@wp.kernel
def set_modes(amplitude: wp.array[wp.vec2d], where: wp.array[wp.vec2i], noise: wp.array3d[wp.vec2d]):
    i = wp.tid()
    noise[0, where[i][0], where[i][1]] = amplitude[i]


def fit(parameters, prepare, ocean, probes, seen, times, iterations):
    """Minimise the misfit over arrays of parameters; returns the losses."""
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    at = wp.array(probes, dtype=wp.vec2i)
    rows = [wp.array(row, dtype=wp.float64) for row in seen]

    def closure():
        loss.zero_()
        with wp.Tape() as tape:
            prepare()
            ocean.update()
            for t, row in zip(times, rows, strict=True):
                wp.launch(misfit, len(probes), [ocean.evaluate(t).height, at, row, loss])
        tape.backward(loss)
        return loss

    return np.array(LBFGS(parameters).minimize(closure, iterations).losses)


def find_wind(right, start, iterations):
    """The wind speed [m/s] that made a height map, and the losses on the way to it."""
    cells = np.stack(np.meshgrid(np.arange(CELLS), np.arange(CELLS), indexing="ij"), axis=-1).reshape(-1, 2)
    target = Ocean(JONSWAP(right, FETCH), SIZE, CELLS, dtype=wp.float64).evaluate(0.0).height.numpy()
    speed = wp.array([start], dtype=wp.float64, requires_grad=True)
    ocean = Ocean(JONSWAP(speed, FETCH), SIZE, CELLS, dtype=wp.float64)
    losses = fit([speed], lambda: None, ocean, cells, [target.ravel()], [0.0], iterations)
    return float(speed.numpy()[0]), losses


def find_amplitudes(wind, probes, iterations):
    """Sixteen amplitudes of the strongest waves: right, found, and the losses."""
    ocean = Ocean(JONSWAP(wind, FETCH), SIZE, CELLS, dtype=wp.float64)
    strongest = np.argsort(-ocean.variance.numpy()[0, :, 1:, 0].ravel())[:MODES]
    rows, columns = np.unravel_index(strongest, (CELLS, CELLS // 2))
    where = wp.array(np.stack([rows, columns + 1], axis=1), dtype=wp.vec2i)
    right = ocean.noise.numpy()[0, rows, columns + 1].copy()
    ocean.noise.zero_()
    ocean.noise.requires_grad = True
    found = wp.array(right, dtype=wp.vec2d, requires_grad=True)

    def prepare():
        wp.launch(set_modes, MODES, [found, where, ocean.noise])

    prepare()
    ocean.update()
    seen = [ocean.evaluate(t).height.numpy()[tuple(probes.T)] for t in TIMES]
    found.zero_()
    losses = fit([found], prepare, ocean, probes, seen, TIMES, iterations)
    return right, found.numpy(), losses


@dataclass
class Result:
    """Wind speeds [m/s] and complex amplitudes (16, 2), right and found, with the losses of both searches."""

    wind: float
    found_wind: float
    amplitudes: np.ndarray
    found_amplitudes: np.ndarray
    wind_losses: np.ndarray
    amplitude_losses: np.ndarray

    @property
    def error(self):
        """Of all amplitudes, as a part of their size."""
        return np.linalg.norm(self.found_amplitudes - self.amplitudes) / np.linalg.norm(self.amplitudes)


def draw(result, path):
    """Losses of both searches, and the amplitudes."""
    figure = Figure((11.0, 4.4), dpi=100, facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2)
    left.semilogy(result.wind_losses + 1e-30, label=f"wind: {result.found_wind:.5f} m/s")
    left.semilogy(result.amplitude_losses + 1e-30, label=f"{MODES} amplitudes: {result.error:.1e} off")
    left.set(title="squared difference from the heights [m²]", xlabel="iteration of L-BFGS")
    right.plot(*result.amplitudes.T, "o", ms=10, mfc="none", color="0.4", label="right")
    right.plot(*result.found_amplitudes.T, "x", color="C3", label="found")
    right.set(title="amplitudes, in units of their expected size", xlabel="real part", ylabel="imaginary part")
    for axes in (left, right):
        axes.legend()
    figure.savefig(path, metadata={"Software": None})


def check(result):
    """Raise AssertionError unless both are found to a thousandth."""
    assert abs(result.found_wind / result.wind - 1.0) < 1e-3, (
        f"the wind is {result.found_wind:g} m/s, not {result.wind:g}"
    )
    assert result.error < 1e-3, f"the amplitudes are {result.error:.1%} off"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--wind", type=float, above=0, default=12.0, help="to be found [m/s]")
    parser.add_argument("--start", type=float, above=0, default=9.0, help="where the search starts [m/s]")
    parser.add_argument("--probes", type=int, least=8, default=24, help="places where heights are measured")
    parser.add_argument("--iterations", type=int, above=0, default=60, help="at most")
    parser.add_argument("--picture", type=Path, default=Path("ocean_inverse.png"))
    args = parser.parse_args(argv)
    probes = np.random.default_rng(3).integers(0, CELLS, (args.probes, 2))
    found, wind_losses = find_wind(args.wind, args.start, args.iterations)
    right, amplitudes, losses = find_amplitudes(args.wind, probes, args.iterations)
    result = Result(args.wind, found, right, amplitudes, wind_losses, losses)
    draw(result, args.picture)
    print(f"wind {found:.5f} m/s, amplitudes {result.error:.2e} off; see {args.picture}")
    return result


if __name__ == "__main__":
    main()
