"""What checks of kernels on CUDA devices say, and sums that do not depend on the order of threads."""

import contextlib
import threading

import numpy as np
import pytest

import warpsim as wp
from warpsim.config import config
from warpsim.errors import KernelAssertionError, OutOfBoundsError

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]


@wp.kernel
def scatter(x: wp.array(dtype=float), at: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, at[i], x[i])


@wp.kernel
def asserting(x: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] < 2.0, "x is large"


@wp.kernel
def neighbour(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i + 1]


def zeros(shape, dtype=float):
    return wp.zeros(shape, dtype=dtype, device="cuda:0")


def message(kernel, dim, args, device, kind):
    with pytest.raises(kind) as caught:
        wp.launch(kernel, dim, args, device=device)
        wp.synchronize_device(device)
    return str(caught.value)


def test_assertions_say_what_they_say_on_the_cpu():
    texts = []
    for device in ("cpu", "cuda:0"):
        x = wp.array([0.0, 1.0, 5.0, 1.0], dtype=float, device=device)
        texts.append(message(asserting, 4, [x], device, KernelAssertionError))
    assert texts[0] == texts[1]
    assert "x is large" in texts[1]
    assert "thread 2" in texts[1]


def test_assertions_are_told_by_the_next_call_that_waits():
    """A launch that nobody verifies does not wait; the first failure in the order of launches is raised, once."""
    x, good = (wp.array(v, dtype=float, device="cuda:0") for v in ([0.0, 5.0], [0.0, 1.0]))
    for args in ([good], [x], [good], [x]):
        wp.launch(asserting, 2, args, device="cuda:0")
    with pytest.raises(KernelAssertionError, match="thread 1"):
        good.numpy()
    assert x.list() == [0.0, 5.0]
    for _ in range(3000):  # more than can be unread at once
        wp.launch(asserting, 2, [good], device="cuda:0")
    wp.launch(asserting, 2, [x], device="cuda:0")
    with pytest.raises(KernelAssertionError):
        wp.synchronize_stream(wp.get_stream("cuda:0"))
    wp.synchronize()


def test_failures_of_many_threads_keep_their_kernels():
    """Each waits and reads while others launch: what a launch reports is never taken for another's."""

    @wp.kernel
    def never(x: wp.array(dtype=float)):
        i = wp.tid()
        assert x[i] >= 0.0, "negative"

    x = wp.array([0.0, 5.0], dtype=float, device="cuda:0")
    texts, failures = [], []

    def work(kernel):
        for _ in range(40):
            try:
                wp.launch(kernel, 2, [x], device="cuda:0")
                x.numpy()
            except KernelAssertionError as error:
                texts.append(str(error))
            except Exception as error:
                failures.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in (asserting, never, never)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    with contextlib.suppress(KernelAssertionError):
        wp.synchronize()
    assert not failures
    assert texts
    assert all("x is large" in text and "asserting" in text for text in texts)


def test_verified_launches_say_what_they_say_on_the_cpu():
    config.verify = True
    texts = []
    for device in ("cpu", "cuda:0"):
        x, y = (wp.zeros(4, dtype=float, device=device) for _ in range(2))
        texts.append(message(neighbour, 4, [x, y], device, OutOfBoundsError))
    assert texts[0] == texts[1]
    assert "index 4 is outside" in texts[1]


def test_deterministic_sums_are_those_of_one_thread():
    rng = np.random.default_rng(3)
    x, at = rng.normal(size=5000).astype(np.float32), rng.integers(0, 7, 5000).astype(np.int32)
    a, b = wp.array(x, device="cuda:0"), wp.array(at, device="cuda:0")
    expected = np.zeros(7, np.float32)
    for value, k in zip(x, at, strict=True):
        expected[k] += value
    for _ in range(2):
        out = zeros(7)
        wp.launch(scatter, 5000, [a, b, out], device="cuda:0", deterministic=True)
        assert np.array_equal(out.numpy(), expected)
    out = zeros(7)
    wp.launch(scatter, 5000, [a, b, out], device="cuda:0")
    assert np.allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)
