"""Types, random numbers and checks that the tests of tangents share."""

import pytest

import warpsim as wp

D = wp.float64
Reals, Vectors, Ints = wp.array(dtype=wp.float64), wp.array(dtype=wp.vec3d), wp.array(dtype=int)
DEVICES = ["interp", "cpu"]
N = 5


@wp.struct
class World:
    gain: D
    y: wp.array(dtype=wp.float64)
    n: wp.array(dtype=int)


def reals(rng, *shape):
    return rng.uniform(0.3, 1.7, shape)


def directions(rng, *arrays):
    return [rng.uniform(-1, 1, a.shape) for a in arrays]


def refused(error, call, *parts):
    with pytest.raises(error) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)
