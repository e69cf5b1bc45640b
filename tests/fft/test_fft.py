"""Transforms of arrays against `numpy.fft`, over random shapes, axes, dtypes and factors; what they refuse; graphs."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.errors import ArgumentTypeError, ArrayError, OutOfBoundsError

ONE = ("fft", "ifft", "rfft", "irfft")
TWO = ("fft2", "ifft2", "rfft2", "irfft2")
SHAPES = [(1,), (2,), (7,), (64,), (3, 8), (5, 1), (2, 9, 6), (1, 2, 3, 10), (0, 4), (37, 128)]
TOLERANCE = {np.float32: 2e-6, np.float64: 1e-14}


def numbers(name, shape, dtype, seed=0):
    """What a transform takes: real numbers, or complex ones."""
    rng = np.random.default_rng([seed, *shape])
    real = rng.standard_normal(shape)
    if name.startswith("r"):
        return real.astype(dtype)
    return (real + 1j * rng.standard_normal(shape)).astype(np.result_type(dtype, np.complex64))


def as_array(values, **options):
    return wp.fft.from_complex(values, **options) if np.iscomplexobj(values) else wp.array(values, **options)


def as_numpy(a):
    return wp.fft.to_complex(a) if a.dtype in (wp.vec2f, wp.vec2d) else a.numpy()


def expected(name, values, axes, norm, length=None):
    """The same by NumPy, in float64."""
    wide = values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)
    if not values.size:
        shape = list(values.shape)
        shape[axes[-1]] = shape[axes[-1]] // 2 + 1 if name.startswith("r") else length or shape[axes[-1]]
        return np.zeros(shape)
    function = getattr(np.fft, name.rstrip("2") + "n")
    if length is None:
        return function(wide, axes=axes, norm=norm)
    return function(wide, s=(*(wide.shape[a] for a in axes[:-1]), length), axes=axes, norm=norm)


def cases():
    rng = np.random.default_rng(5)
    for name in (*ONE, *TWO):
        for shape in SHAPES:
            rank = 2 if name.endswith("2") else 1
            if len(shape) < rank:
                continue
            axes = rng.permutation(len(shape))[:rank]
            if any(shape[axis] == 0 for axis in axes):
                continue
            signed = tuple(int(axis) - len(shape) * int(rng.integers(2)) for axis in axes)
            yield name, shape, signed, str(rng.choice(["backward", "forward", "ortho"])), rng.choice([4, 8])


def options(name, values, axes, norm, length):
    given = {"norm": norm, **({"axes": axes} if name.endswith("2") else {"axis": axes[0]})}
    return given | ({"n": length} if name.startswith("irfft") else {})


@pytest.mark.parametrize(("name", "shape", "axes", "norm", "width"), list(cases()))
def test_transforms_are_those_of_numpy(name, shape, axes, norm, width):
    dtype = np.float32 if width == 4 else np.float64
    values = numbers(name, shape, dtype)
    length = None
    if name.startswith("irfft"):
        length = max(1, 2 * shape[axes[-1]] - 2 + sum(shape) % 2)
    result = getattr(wp.fft, name)(as_array(values), **options(name, values, axes, norm, length))
    wanted = expected(name, values, axes, norm, length)
    assert result.shape == wanted.shape
    assert result.dtype is {4: (wp.float32, wp.vec2f), 8: (wp.float64, wp.vec2d)}[width]["irfft" not in name]
    scale = np.abs(wanted).max(initial=1e-30) * np.log2(2 + values.size)
    np.testing.assert_allclose(as_numpy(result), wanted, atol=TOLERANCE[dtype] * scale)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 15, 1024, 997])
def test_inverses_lead_back(n):
    signal = numbers("rfft", (3, n), np.float64)
    x = wp.array(signal)
    np.testing.assert_allclose(wp.fft.irfft(wp.fft.rfft(x), n=n).numpy(), signal, atol=1e-14)
    np.testing.assert_allclose(wp.fft.irfft2(wp.fft.rfft2(x), n=n).numpy(), signal, atol=1e-14)
    z = as_array(numbers("fft", (3, n), np.float64))
    np.testing.assert_allclose(wp.fft.ifft(wp.fft.fft(z)).numpy(), z.numpy(), atol=1e-14)


# ----- gradients ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "shape", "axes", "norm", "width"), [c for c in cases() if c[1] != (0, 4)])
def test_the_adjoint_is_the_transpose(name, shape, axes, norm, width):
    """<F x, y> = <x, F* y> to 1e-10, in float64."""
    values = numbers(name, shape, np.float64)
    length = max(1, 2 * shape[axes[-1]] - 1) if name.startswith("irfft") else None
    x = as_array(values, requires_grad=True)
    with wp.Tape() as tape:
        result = getattr(wp.fft, name)(x, **options(name, values, axes, norm, length))
    assert result.requires_grad
    y = np.random.default_rng(1).standard_normal(result.numpy().shape)
    tape.backward(grads={result: wp.array(y, dtype=result.dtype)})
    left, right = np.sum(result.numpy() * y), np.sum(x.numpy() * x.grad.numpy())
    size = np.linalg.norm(result.numpy()) * np.linalg.norm(y)
    assert abs(left - right) <= 1e-10 * size


@pytest.mark.parametrize(("name", "shape", "axes", "norm", "width"), [c for c in cases() if c[1] != (0, 4)])
def test_the_tangent_is_the_transform(name, shape, axes, norm, width):
    values, along = (numbers(name, shape, np.float64, seed) for seed in (0, 1))
    given = options(name, values, axes, norm, max(1, 2 * shape[axes[-1]] - 1) if name.startswith("irfft") else None)
    x, u = as_array(values, requires_grad=True), as_array(along)
    with wp.Tape() as tape:
        result = getattr(wp.fft, name)(x, **given)
    tangent = wp.autograd.jvp(tape, tangents={x: u})[result]
    np.testing.assert_array_equal(tangent.numpy(), getattr(wp.fft, name)(u, **given).numpy())


def test_gradients_of_every_subset_of_arrays():
    """Operand and result with and without a gradient; the gradient of what was overwritten is spent."""
    values = numbers("fft", (6,), np.float64)
    for wanted in (True, False):
        for target in (None, wp.zeros(6, dtype=wp.vec2d, requires_grad=True), wp.zeros(6, dtype=wp.vec2d)):
            x = as_array(values, requires_grad=wanted)
            with wp.Tape() as tape:
                y = wp.fft.fft(x, out=target)
            if y.requires_grad:
                tape.backward(grads={y: wp.array(np.ones((6, 2)), dtype=wp.vec2d)})
            grad = x.grad.numpy() if wanted else None
            reached = wanted and y.requires_grad
            assert grad is None or grad.any() == reached


def test_a_transform_in_place():
    values = numbers("fft", (4, 5), np.float64)
    x = as_array(values, requires_grad=True)
    with wp.Tape() as tape:
        assert wp.fft.fft2(x, out=x) is x
    np.testing.assert_allclose(wp.fft.to_complex(x), np.fft.fft2(values))
    tape.backward(grads={x: wp.array(np.stack([np.ones((4, 5)), np.zeros((4, 5))], -1), dtype=wp.vec2d)})
    # The sum of the real parts is n times the real part of x[0, 0]: all other gradients vanish.
    grad = wp.fft.to_complex(x.grad)
    assert grad[0, 0] == pytest.approx(20.0) and np.abs(grad).sum() == pytest.approx(20.0)


def test_views_and_selected_elements():
    values = numbers("fft", (6, 8), np.float64)
    whole = as_array(values, requires_grad=True)
    out = wp.zeros((8, 6), dtype=wp.vec2d)
    part = wp.fft.fft(whole[1:, ::2], axis=0)
    np.testing.assert_allclose(wp.fft.to_complex(part), np.fft.fft(values[1:, ::2], axis=0), atol=1e-12)
    wp.fft.fft(whole, out=out.transpose())
    np.testing.assert_allclose(wp.fft.to_complex(out).T, np.fft.fft(values), atol=1e-12)
    rows = wp.array([4, 0, 4], dtype=int)
    picked = wp.indexedarray(whole, [rows])
    with wp.Tape() as tape:
        result = wp.fft.fft(picked)
    np.testing.assert_allclose(wp.fft.to_complex(result), np.fft.fft(values[[4, 0, 4]]), atol=1e-12)
    y = np.random.default_rng(3).standard_normal((3, 8, 2))
    tape.backward(grads={result: wp.array(y, dtype=wp.vec2d)})
    assert np.sum(result.numpy() * y) == pytest.approx(np.sum(whole.numpy() * whole.grad.numpy()), rel=1e-12)


# ----- where and when -----------------------------------------------------------------------------


@wp.kernel
def double_even_frequencies(z: wp.array(dtype=wp.vec2d)):
    i = wp.tid()
    if wp.fft.fft_index(i, z.shape[0]) % 2 == 0:
        z[i] = z[i] + z[i]


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_transforms_between_launches_on_both_devices(device):
    values = numbers("fft", (10,), np.float64)
    z = as_array(values, device=device)
    spectrum = wp.fft.fft(z)
    wp.launch(double_even_frequencies, 10, inputs=[spectrum], device=device)
    assert spectrum.device is wp.get_device(device)
    wanted = np.fft.fft(values) * np.where(np.arange(10) % 2 == 0, 2.0, 1.0)
    np.testing.assert_allclose(wp.fft.to_complex(spectrum), wanted, atol=1e-12)


def test_a_graph_replays_a_transform():
    x, y = wp.zeros(8, dtype=float), wp.zeros(5, dtype=wp.vec2)
    with wp.ScopedCapture() as capture:
        wp.fft.rfft(x, out=y)
    assert not y.numpy().any()
    for seed in range(2):
        values = numbers("rfft", (8,), np.float32, seed)
        x.assign(values)
        wp.capture_launch(capture.graph)
        np.testing.assert_allclose(wp.fft.to_complex(y), np.fft.rfft(values), atol=1e-5)


@pytest.mark.parametrize("shape", [(256, 256), (250, 243), (3, 101, 128)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_do_not_depend_on_threads(shape, dtype):
    before = get_pool().threads
    z, x = numbers("fft", shape, dtype), numbers("rfft", shape, dtype)
    results = []
    try:
        for threads in (1, 2, 3, 5):
            wp.set_num_threads(threads)
            spectrum = wp.fft.rfft2(as_array(x))
            made = [wp.fft.fft2(as_array(z)), spectrum, wp.fft.irfft2(spectrum, n=shape[-1])]
            results.append([a.numpy().tobytes() for a in made])
    finally:
        wp.set_num_threads(before)
    assert all(made == results[0] for made in results)


def test_frequencies():
    for n in (1, 2, 5, 8):
        np.testing.assert_allclose(wp.fft.fftfreq(n, 0.5, dtype=wp.float64).numpy(), np.fft.fftfreq(n, 0.5))
        np.testing.assert_allclose(wp.fft.rfftfreq(n, 0.5).numpy(), np.fft.rfftfreq(n, 0.5).astype(np.float32))
    with pytest.raises(ArrayError, match="at least one sample"):
        wp.fft.fftfreq(0)


# ----- refusals -----------------------------------------------------------------------------------


def pairs(*shape):
    return wp.zeros(shape, dtype=wp.vec2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: wp.fft.fft(wp.zeros(4)), ArgumentTypeError, "x has dtype float32\nexpected: vec2f or vec2d.*rfft"),
        (lambda: wp.fft.rfft(pairs(4)), ArgumentTypeError, "expected: float32 or float64\nhelp: wp.fft.fft"),
        (lambda: wp.fft.rfft(wp.zeros(4, dtype=wp.float16)), ArgumentTypeError, "expected: float32 or float64"),
        (lambda: wp.fft.fft(np.zeros(4)), ArgumentTypeError, "x is ndarray\nexpected: an array"),
        (lambda: wp.fft.fft(pairs(4), axis=1), OutOfBoundsError, "axis 1 of an array of rank 1"),
        (lambda: wp.fft.fft2(pairs(4)), OutOfBoundsError, "axis -2 of an array of rank 1"),
        (lambda: wp.fft.fft2(pairs(4, 4), axes=(0, -2)), ArrayError, "twice the same"),
        (lambda: wp.fft.fft2(pairs(4, 4), axes=1), ArgumentTypeError, "expected: two integers"),
        (lambda: wp.fft.fft(pairs(4), axis=None), ArgumentTypeError, "axis is None\nexpected: an integer"),
        (lambda: wp.fft.irfft(pairs(4), n=6.0), ArgumentTypeError, "n is 6.0\nexpected: an integer"),
        (lambda: wp.fft.fft(pairs(4), norm="none"), ArrayError, "norm is 'none'\nexpected: one of 'backward'"),
        (lambda: wp.fft.fft(pairs(0)), ArrayError, "expected: at least one element along axis"),
        (lambda: wp.fft.fft(pairs(4), out=pairs(5)), ArrayError, r"out has shape \(5,\)\nexpected: \(4,\)"),
        (lambda: wp.fft.fft(pairs(4), out=wp.zeros(4)), ArgumentTypeError, "out has dtype float32"),
        (lambda: wp.fft.irfft(pairs(4), n=9), ArrayError, "n is 9.*\nexpected: n = 6 or 7"),
        (lambda: wp.fft.irfft(pairs(1)), ArrayError, "n is 0.*\nexpected: n = 1 or 1"),
        (lambda: wp.fft.from_complex([1.0, 2.0]), ArgumentTypeError, "expected: complex64 or complex128"),
        (lambda: wp.fft.to_complex(wp.zeros(3)), ArgumentTypeError, "a has dtype float32"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        call()
