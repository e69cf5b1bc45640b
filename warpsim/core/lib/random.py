"""Random numbers: one 32-bit state, hashed at every draw, equal streams for equal seeds everywhere.

The state is a plain `uint32`; a draw replaces it by its PCG hash (Jarzynski & Olano 2020, Hash
Functions for GPU Rendering, JCGT 9(3)) and reads the new state as a number. Integers and uniform
floats are the same bits on every device, and the same as Warp's for the same seed; `randn` and
`poisson` agree with Warp up to the rounding of `log`, `cos` and `exp`.

A kernel writes `x = wp.randf(state)` and its local `state` moves on by itself (`inout`). Functions
in this library pass the state on by hand, so that they run in Python as they stand.
"""

from __future__ import annotations

from ..language import abs, cos, exp, float32, float64, floor, func, int32, log, sqrt, uint32

# The 32-bit linear congruential step and the output multiplier of PCG (O'Neill 2014).
_LCG_MULTIPLIER = uint32(747796405)
_LCG_INCREMENT = uint32(2891336453)
_OUTPUT_MULTIPLIER = uint32(277803737)

_TWO_PI = 6.283185307179586
_HALF_LOG_TWO_PI = 0.9189385332046727


# ----- state ----------------------------------------------------------------------------------


@func
def next_state(state: uint32) -> uint32:
    """The PCG hash of `state`, a permutation of the 32-bit integers: the step of every stream."""
    x = uint32(state) * _LCG_MULTIPLIER + _LCG_INCREMENT
    word = ((x >> ((x >> uint32(28)) + uint32(4))) ^ x) * _OUTPUT_MULTIPLIER
    return (word >> uint32(22)) ^ word


@func
def mixed_state(state: uint32, offset: uint32) -> uint32:
    """The start of stream number `offset` among those of `state`."""
    return next_state(uint32(state) + next_state(offset))


@func
def unit_float(state: uint32) -> float32:
    """The upper 24 bits of a state as a number in [0, 1), exactly."""
    return float32(state >> uint32(8)) * 2.0**-24


@func
def rand_init(seed: int) -> uint32:
    """The random state of a seed."""
    return next_state(uint32(int32(seed)))


@func(overload_of=rand_init)
def rand_init(seed: int, offset: int) -> uint32:
    """The random state of a seed and a stream number, usually the thread: streams are unrelated."""
    return mixed_state(uint32(int32(seed)), uint32(int32(offset)))


# ----- uniform numbers ------------------------------------------------------------------------


@func(inout=("state",))
def randu(state: uint32) -> tuple[uint32, uint32]:
    """Uniform over all unsigned 32-bit integers. Advances `state`."""
    state = next_state(state)
    return state, state


@func(overload_of=randu)
def randu(state: uint32, low: uint32, high: uint32) -> tuple[uint32, uint32]:
    """Uniform in [low, high), by remainder: long ranges favour small values by up to range/2^32."""
    state = next_state(state)
    return state, low + state % (high - low)


@func(inout=("state",))
def randi(state: uint32) -> tuple[uint32, int32]:
    """Uniform over all signed 32-bit integers. Advances `state`."""
    state = next_state(state)
    return state, int32(state)


@func(overload_of=randi)
def randi(state: uint32, low: int, high: int) -> tuple[uint32, int32]:
    """Uniform in [low, high), by remainder: long ranges favour small values by up to range/2^32."""
    state = next_state(state)
    first = uint32(int32(low))  # unsigned, where a range of more than 2^31 does not overflow
    return state, int32(first + state % (uint32(int32(high)) - first))


@func(inout=("state",))
def randf(state: uint32) -> tuple[uint32, float32]:
    """Uniform in [0, 1): a multiple of 2^-24. Advances `state`."""
    state = next_state(state)
    return state, unit_float(state)


@func(overload_of=randf)
def randf(state: uint32, low: float, high: float) -> tuple[uint32, float32]:
    """Uniform in [low, high); rounding may return `high` itself for some bounds."""
    state = next_state(state)
    return state, unit_float(state) * (high - low) + low


# ----- other distributions --------------------------------------------------------------------


@func(inout=("state",))
def randn(state: uint32) -> tuple[uint32, float32]:
    """Normal with mean 0 and variance 1 (Box & Muller 1958). Advances `state` twice; |value| < 5.8."""
    first = next_state(state)
    second = next_state(first)
    radius = sqrt(-2.0 * log(unit_float(first) + 2.0**-24))  # in (0, 1]: never log 0
    return second, radius * cos(_TWO_PI * unit_float(second))


@func(inout=("state",))
def poisson(state: uint32, lam: float) -> tuple[uint32, uint32]:
    """Poisson with mean `lam`. Advances `state` as often as needed, not at all when `lam` is not positive."""
    if lam >= 10.0:
        return _poisson_by_rejection(state, float64(lam))
    if lam > 0.0:
        return _poisson_by_product(state, lam)
    return state, uint32(0)


@func
def _poisson_by_product(state: uint32, lam: float) -> tuple[uint32, uint32]:
    """Uniform factors until their product falls to exp(-lam) (Knuth, TAOCP vol. 2, 3.4.1): lam + 1 draws."""
    limit = exp(-lam)
    state = next_state(state)
    product = unit_float(state)
    count = uint32(0)
    while product > limit:
        state = next_state(state)
        product = product * unit_float(state)
        count = count + uint32(1)
    return state, count


@func
def _poisson_by_rejection(state: uint32, lam: float64) -> tuple[uint32, uint32]:
    """Hörmann 1993, The transformed rejection method for generating Poisson random variables: PTRS.

    About 2.3 draws at any mean. In float64: the test compares numbers as large as lam log lam.
    """
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    inv_alpha = 1.1239 + 1.1328 / (b - 3.4)
    quick = 0.9277 - 3.6224 / (b - 2.0)
    log_lam = log(lam)
    k = float64(0.0)
    accepted = False
    while not accepted:
        state = next_state(state)
        u = float64(unit_float(state)) - 0.5
        state = next_state(state)
        v = float64(unit_float(state))
        edge = 0.5 - abs(u)
        k = -1.0 if edge == 0.0 else floor((2.0 * a / edge + b) * u + lam + 0.43)
        if edge >= 0.07 and v <= quick:
            accepted = True
        elif k >= 0.0 and v > 0.0 and (edge >= 0.013 or v <= edge):
            hat = v * inv_alpha / (a / (edge * edge) + b)
            accepted = log(hat) <= k * log_lam - lam - _log_factorial(k)
    return state, uint32(k)


@func
def _log_factorial(k: float64) -> float64:
    """log k!, k >= 0, by Stirling's series in k + 1: wrong by 6e-4 at k = 0, by 1e-9 from k = 4."""
    z = k + 1.0
    inv = 1.0 / z
    inv2 = inv * inv
    series = inv * (1.0 / 12.0 - inv2 * (1.0 / 360.0 - inv2 * (1.0 / 1260.0 - inv2 * (1.0 / 1680.0))))
    return (z - 0.5) * log(z) - z + _HALF_LOG_TWO_PI + series
