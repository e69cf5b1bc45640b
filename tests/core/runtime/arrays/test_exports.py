"""What NumPy writes to exported memory while a tape records is seen, whatever it writes and wherever."""

import itertools

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.arrays.exports import _BLOCK, fingerprint
from warpsim.errors import TapeOverwriteError

DTYPES = [wp.bool, wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float16]
DTYPES += [wp.bfloat16, wp.float32, wp.float64]
SMALL = [(1 << 14) - 8, 1 << 14, (1 << 14) + 8, (1 << 14) + 2 * 8 + 6]
LARGE = [(1 << 20) - 6, 1 << 20, (1 << 20) + 8]
CONTENTS = ("random", "whole", "sequence", "ones", "zeros")


def contents(kind, dtype, count, rng):
    """Numbers of all signs, small whole ones, a sequence, or one number everywhere."""
    numbers = {
        "random": rng.standard_normal(count) * 40.0,
        "whole": rng.integers(-3, 4, count),
        "sequence": np.arange(count) % 97,
        "ones": np.ones(count),
        "zeros": np.zeros(count),
    }[kind]
    return numbers.astype(np.int64).astype(dtype) if dtype.kind in "iu" else numbers.astype(dtype)


# ----- writes: of an array, with a generator of random numbers ----------------------------------------------


def negated(v):
    return ~v if v.dtype.kind == "b" else -v


def raised(v):
    return ~v if v.dtype.kind == "b" else v + v.dtype.type(1)


def lowered(v):
    return ~v if v.dtype.kind == "b" else v - v.dtype.type(1)


def places(v, rng, count=2):
    return rng.choice(v.size, count, replace=False)


def negate(v, rng):
    v[...] = negated(v)


def negate_some(v, rng):
    where = rng.random(v.size) < 0.5
    v[where] = negated(v[where])


def negate_two(v, rng):
    k = places(v, rng)
    v[k] = negated(v[k])


def negate_neighbours(v, rng):
    """In words of several numbers, whose sign bits a shift could put over one another."""
    k = rng.integers(v.size - 16)
    v[k : k + 16] = negated(v[k : k + 16])


def swap(v, rng):
    k = places(v, rng)
    v[k] = v[k[::-1]]


def swap_blocks(v, rng):
    """Swap places as far apart as words with the same factor are, where the array has such."""
    step = min(8 * _BLOCK // v.itemsize, v.size // 2)
    k = rng.integers(v.size - step)
    v[[k, k + step]] = v[[k + step, k]]


def swap_corners(v, rng):
    """Put one number on a diagonal of a rectangle in a table, and another on the other one: they swap."""
    rows, columns = places(v[: v.size // 256], rng)[:, None] * 256, rng.choice(256, 2, replace=False)
    corners = rows + columns
    v[corners] = np.roll(v[corners], 1, axis=0)


def reverse(v, rng):
    v[...] = v[::-1].copy()


def rotate(v, rng):
    v[...] = np.roll(v, int(rng.integers(1, v.size)))


def permute(v, rng):
    rng.shuffle(v)


def sort(v, rng):
    v.sort()


def double(v, rng):
    v[...] = v + v


def scale(v, rng):
    v[...] = v * np.array(3, v.dtype)


def transfer(v, rng):
    """Add to two numbers with opposite signs."""
    a, b = places(v, rng)
    v[a : a + 1], v[b : b + 1] = raised(v[a : a + 1]), lowered(v[b : b + 1])


def bend(v, rng):
    """Add 1, -2 and 1 to neighbours, which factors in a sequence would cancel."""
    k = rng.integers(v.size - 2)
    v[k : k + 3 : 2], v[k + 1 : k + 2] = raised(v[k : k + 3 : 2]), lowered(lowered(v[k + 1 : k + 2]))


def raise_one(v, rng):
    k = rng.integers(v.size)
    v[k : k + 1] = raised(v[k : k + 1])


def fill(v, rng):
    v[...] = 0


def flip_a_bit_of_each_word(v, rng):
    words = v.view(np.uint8)[: v.nbytes - v.nbytes % 8].view(np.uint64)
    words ^= np.uint64(1) << np.uint64(rng.integers(64))


WRITES = (negate, negate_some, negate_two, negate_neighbours, swap, swap_blocks, swap_corners, reverse, rotate, permute)
WRITES += (sort, double, scale, transfer, bend, raise_one, fill, flip_a_bit_of_each_word)


def is_seen(write, kind, dtype, size, rng) -> bool:
    """Write to an array of so many bytes; whether that changed a bit. It is an assertion that the checksum says so."""
    before = contents(kind, dtype, size // dtype.itemsize, rng)
    after = before.copy()
    with np.errstate(all="ignore"):
        write(after, rng)
    differs = before.tobytes() != after.tobytes()
    assert (fingerprint(before) != fingerprint(after)) == differs, (write.__name__, kind, size)
    return differs


@pytest.mark.cpu(reason="writes through NumPy")
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)
def test_every_write_changes_the_checksum(dtype):
    of_numpy = wp.zeros(1, dtype=dtype, device="cpu").numpy().dtype
    rng = np.random.default_rng(of_numpy.num)
    seen = [
        is_seen(write, kind, of_numpy, size, rng) for write, kind, size in itertools.product(WRITES, CONTENTS, SMALL)
    ]
    seen += [is_seen(write, str(rng.choice(CONTENTS)), of_numpy, int(rng.choice(LARGE)), rng) for write in WRITES]
    assert sum(seen) > len(seen) // 2


@wp.kernel
def double_each(x: wp.array[wp.float64], y: wp.array[wp.float64]):
    i = wp.tid()
    y[i] = wp.float64(2.0) * x[i]


@wp.kernel
def sum_of_squares(y: wp.array[wp.float64], loss: wp.array[wp.float64]):
    i = wp.tid()
    wp.atomic_add(loss, 0, y[i] * y[i])


@pytest.mark.cpu(reason="writes through NumPy")
@pytest.mark.parametrize("write", [negate, reverse, permute, scale])
@pytest.mark.parametrize("count", [1000, 1 << 16])
def test_no_gradient_passes_through_a_write_of_numpy(count, write):
    rng = np.random.default_rng(count)
    x = wp.array(rng.random(count), dtype=wp.float64, requires_grad=True)
    y, loss = wp.zeros_like(x), wp.zeros(1, dtype=wp.float64, requires_grad=True)
    view = y.numpy()
    with wp.Tape() as tape:
        wp.launch(double_each, count, [x, y])
        write(view, rng)
        wp.launch(sum_of_squares, count, [y, loss])
    with pytest.raises(TapeOverwriteError, match="a NumPy view of its memory"):
        tape.backward(loss)


@pytest.mark.cpu(reason="writes through NumPy")
@pytest.mark.parametrize("write", [negate, swap_corners])
def test_what_a_gradient_needs_is_watched_until_backward(write):
    rng = np.random.default_rng(0)
    x = wp.array(rng.random(1 << 16), dtype=wp.float64, requires_grad=True)
    loss, view = wp.zeros(1, dtype=wp.float64, requires_grad=True), x.numpy()
    with wp.Tape() as tape:
        wp.launch(sum_of_squares, 1 << 16, [x, loss])
    write(view, rng)
    with pytest.raises(TapeOverwriteError, match="was changed after it was recorded"):
        tape.backward(loss)
