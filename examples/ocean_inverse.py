"""What wind made this sea? Its speed, and the amplitudes of sixteen waves, from what probes recorded.

Two inverse problems through the Fourier transforms of an ocean, by L-BFGS. The first knows a height map and the phases
of the waves, and looks for the wind. The second knows what probes saw at a few times, and looks for waves.
"""

import numpy as np

import warpsim as wp
from warpsim.optim import Problem
from warpsim.plot import Curves, Points, render_charts
from warpsim.render import SimulationParser
from warpsim.solvers.ocean import JONSWAP, Ocean

FETCH, SIZE, CELLS, MODES = 100.0e3, 400.0, 64, 16  # [m], side [m] and cells along it, waves
TIMES = 1.3 * np.arange(6)  # when probes are read [s]
Numbers = wp.array[wp.float64]


@wp.kernel
def rate(height: wp.array2d[wp.float64], at: wp.array[wp.vec2i], seen: Numbers, loss: Numbers):
    miss = height[at[wp.tid()][0], at[wp.tid()][1]] - seen[wp.tid()]
    wp.atomic_add(loss, 0, miss * miss)


@wp.kernel
def set_modes(amplitude: wp.array[wp.vec2d], where: wp.array[wp.vec2i], noise: wp.array3d[wp.vec2d]):
    noise[0, where[wp.tid()][0], where[wp.tid()][1]] = amplitude[wp.tid()]


def explain(ocean, unknowns, start, probes, times, iterations, prepare=lambda: None):
    """Forget an unknown of an ocean, and find it again in what probes see; returns the solution."""

    def heights(t):
        prepare()
        ocean.update()
        return ocean.evaluate(t).height

    seen = [wp.array(heights(t).numpy()[tuple(probes.T)], dtype=wp.float64) for t in times]
    at, loss = wp.array(probes, dtype=wp.vec2i), wp.zeros(1, dtype=wp.float64, requires_grad=True)

    def rollout():
        for t, row in zip(times, seen, strict=True):
            wp.launch(rate, len(probes), [heights(t), at, row, loss])

    [unknown] = unknowns.values()
    unknown.fill_(start)
    return Problem(rollout, unknowns, loss).minimize("lbfgs", iterations)


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--wind", type=float, above=0, default=12.0, help="to be found [m/s]")
    parser.add_argument("--start", type=float, above=0, default=9.0, help="where the search starts [m/s]")
    parser.add_argument("--probes", type=int, least=8, default=24, help="places where heights are measured")
    parser.add_argument("--iterations", type=int, above=0, default=60, help="at most")
    parser.add_argument("--picture", default="ocean_inverse.png")
    args = parser.parse_args(argv)
    speed = wp.array([args.wind], dtype=wp.float64, requires_grad=True)
    ocean = Ocean(JONSWAP(speed, FETCH), SIZE, CELLS, dtype=wp.float64)
    everywhere = np.argwhere(np.ones((CELLS, CELLS)))
    wind = explain(ocean, {"wind": speed}, args.start, everywhere, [0.0], args.iterations)

    ocean = Ocean(JONSWAP(args.wind, FETCH), SIZE, CELLS, dtype=wp.float64)
    strongest = np.argsort(-ocean.variance.numpy()[0, :, 1:, 0].ravel())[:MODES]
    rows, columns = np.unravel_index(strongest, (CELLS, CELLS // 2))
    where = wp.array(np.stack([rows, columns + 1], axis=1), dtype=wp.vec2i)
    right = ocean.noise.numpy()[0, rows, columns + 1].copy()
    ocean.noise.zero_()
    ocean.noise.requires_grad = True
    amplitudes = wp.array(right, dtype=wp.vec2d, requires_grad=True)
    probes = np.random.default_rng(3).integers(0, CELLS, (args.probes, 2))

    def prepare():
        wp.launch(set_modes, MODES, [amplitudes, where, ocean.noise])

    waves = explain(ocean, {"waves": amplitudes}, 0.0, probes, TIMES, args.iterations, prepare)
    losses = Curves({"wind": wind.losses, "waves": waves.losses}, "squared difference from the heights [m²]", log=True)
    points = {"right": right, "found": amplitudes.numpy()}
    plane = Points(points, "amplitudes, in units of their expected size", "real part", "imaginary part")
    render_charts(args.picture, [losses, plane], panel=(550, 440))
    error = np.linalg.norm(amplitudes.numpy() - right) / np.linalg.norm(right)
    print(f"wind {speed.numpy()[0]:.5f} m/s, amplitudes {error:.2e} off; see {args.picture}")
    return wind, waves, error


if __name__ == "__main__":
    main()
