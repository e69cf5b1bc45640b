"""Gradient noise at random points: integer hashing, a random stream per thread, branchy arithmetic.

Warp and warpsim promise equal streams for equal seeds, so their values are compared directly.
"""

from typing import Any

from benchmarks.case import Case, single

SKIPPED = {
    "taichi": "Taichi has no noise function",
    "numba": "Numba has no noise function",
}
SEED = 42


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch: three random coordinates and one 3-D noise value per thread."""
    @wp.kernel
    def turbulence(
        seed: int, extent: float, draws: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)
    ):
        i = wp.tid()
        state = wp.rand_init(seed, i)
        x = wp.randf(state)
        y = wp.randf(state)
        z = wp.randf(state)
        p = wp.vec3(x, y, z)
        draws[i] = p
        out[i] = wp.noise(wp.rand_init(seed), p * extent)

    n = size["n"]
    draws, out = wp.zeros(n, dtype=wp.vec3), wp.zeros(n, dtype=float)
    return single(lambda: wp.launch(turbulence, dim=n, inputs=[SEED, 16.0, draws, out]),
                  lambda: {"draws": draws.numpy(), "noise": out.numpy()})
