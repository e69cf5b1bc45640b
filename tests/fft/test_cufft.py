"""Transforms on CUDA: results and gradients are those of the host, plans are kept, a missing package is named."""

import sys

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import DeviceError
from warpsim.fft.cufft import _plans as plans

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]


NAMES = ("fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "rfft2", "irfft2")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_results_and_gradients_are_those_of_the_host(name, dtype):
    rng = np.random.default_rng(4)
    values = rng.standard_normal((3, 6, 5, *(() if name.startswith("r") else (2,)))).astype(dtype)
    element = None if name.startswith("r") else {np.float32: wp.vec2f, np.float64: wp.vec2d}[dtype]
    axes = {"axes": (2, 1)} if name.endswith("2") else {"axis": 1}
    results = []
    for device in ("cpu", "cuda:0"):
        options = {"dtype": element} if element else {}
        x = wp.array(values, device=device, requires_grad=True, **options)
        with wp.Tape() as tape:
            y = getattr(wp.fft, name)(x, norm="ortho", **axes)
        weights = np.random.default_rng(5).standard_normal(y.numpy().shape)
        tape.backward(grads={y: wp.array(weights, dtype=y.dtype, device=device)})
        assert y.device == wp.get_device(device)
        results.append((y.numpy(), x.grad.numpy()))
    for here, there in zip(*results, strict=True):
        np.testing.assert_allclose(there, here, atol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.skipif("not config.getoption('--simulated-cuda')", reason="asks the stand-in")
def test_plans_are_kept_and_streams_followed():
    cufft = sys.modules["nvmath.bindings.cufft"]
    plans.__dict__.clear()
    x = wp.fft.from_complex(np.ones(8, np.complex64), device="cuda:0")
    with wp.ScopedStream(wp.Stream("cuda:0")) as stream:
        wp.fft.fft(x, out=x)
        wp.fft.fft(x, out=x)
        assert cufft.streams[max(cufft.streams)] == int(stream.cuda_stream)
    np.testing.assert_allclose(wp.fft.to_complex(x), 8.0 * np.ones(8))
    for n in range(1, 40):
        wp.fft.fft(wp.zeros(n, dtype=wp.vec2, device="cuda:0"))
    assert len(cufft.plans) == 16


def test_a_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "nvmath.bindings.cufft", None)
    with pytest.raises(DeviceError, match=r"need cuFFT.*\nexpected: the package nvmath-python.*\nhelp: pip install"):
        wp.fft.fft(wp.zeros(4, dtype=wp.vec2, device="cuda:0"))
