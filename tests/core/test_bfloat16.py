"""bfloat16 as a number, a component, a field and an element: arithmetic in float32, rounded once, with gradients."""

import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import warpsim as wp

bf16 = wp.bfloat16
vec3b = wp.types.vector(3, bf16)
mat33b = wp.types.matrix((3, 3), bf16)
DEVICES = ("cpu", "interp")


def numbers(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(ml_dtypes.bfloat16)


def rounded(x: np.ndarray) -> np.ndarray:
    return np.asarray(x, np.float32).astype(ml_dtypes.bfloat16)


@wp.kernel
def _arithmetic(x: wp.array(dtype=bf16), y: wp.array(dtype=bf16), out: wp.array2d(dtype=bf16)):
    i = wp.tid()
    a, b = x[i], y[i]
    out[0, i] = a + b
    out[1, i] = a - b
    out[2, i] = a * b
    out[3, i] = a / b
    out[4, i] = -a
    out[5, i] = wp.sin(a)
    out[6, i] = wp.max(a, b)
    out[7, i] = wp.where(a < b, a, b)
    out[8, i] = wp.sqrt(wp.abs(b))


@pytest.mark.parametrize("device", DEVICES)
def test_every_operation_is_computed_in_single_precision_and_rounded_once(device):
    x, y = numbers(0, 64), numbers(1, 64)
    out = wp.zeros((9, 64), dtype=bf16, device=device)
    wp.launch(_arithmetic, 64, [wp.array(x, device=device), wp.array(y, device=device)], [out], device=device)
    a, b = x.astype(np.float32), y.astype(np.float32)
    expected = [a + b, a - b, a * b, a / b, -a, np.sin(a), np.maximum(a, b), np.where(a < b, a, b), np.sqrt(np.abs(b))]
    assert np.array_equal(out.numpy().view(np.uint16), np.stack([rounded(e) for e in expected]).view(np.uint16))


@wp.kernel
def _from_double(x: wp.array(dtype=wp.float64), out: wp.array(dtype=bf16), whole: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = bf16(x[i])
    whole[i] = int(out[i])


@pytest.mark.parametrize("device", DEVICES)
def test_conversion_from_double_rounds_to_the_nearest_with_ties_to_even(device):
    ties = 1.0 + np.arange(8) * 2.0**-8  # every second one lies between two numbers
    beside = ties + np.where(np.arange(8) % 2, 2.0**-40, 0.0)  # float32 drops what decides
    x = np.concatenate([ties, beside, -ties, [np.inf, -np.inf, 3.39e38, 1e-40, 0.0, -0.0]])
    out = wp.zeros(len(x), dtype=bf16, device=device)
    whole = wp.zeros(len(x), dtype=int, device=device)
    keep = np.isfinite(x) & (np.abs(x) < 1e6) if device == "interp" else np.ones(len(x), bool)
    x = x[keep]
    wp.launch(_from_double, len(x), [wp.array(x, dtype=wp.float64, device=device)], [out, whole], device=device)
    steps = np.array([1.0 + k / 128 for k in range(8)])
    found = out.numpy().astype(np.float64)[: len(x)]
    assert np.array_equal(found[:8], steps[[0, 0, 1, 2, 2, 2, 3, 4]])
    if device == "cpu":
        assert np.array_equal(found[8:16:2], steps[[0, 1, 2, 3]])
        assert np.array_equal(found[9:16:2], steps[[1, 2, 3, 4]])
    assert np.array_equal(found[16:24], -found[:8])
    assert np.array_equal(whole.numpy()[: len(x)][:8], np.ones(8, int))


def test_not_a_number_stays_one():
    x = wp.array(np.array([np.nan, -np.nan, np.inf]), dtype=wp.float64, device="cpu")
    out, whole = wp.zeros(3, dtype=bf16, device="cpu"), wp.zeros(3, dtype=int, device="cpu")
    wp.launch(_from_double, 3, [x], [out, whole], device="cpu")
    assert np.isnan(out.numpy().astype(float)[:2]).all() and out.numpy()[2] == np.inf
    assert np.array_equal(whole.numpy(), [0, 0, 2**31 - 1])


@wp.struct
class Weighted:
    weight: bf16
    offset: vec3b
    points: wp.array(dtype=vec3b)


@wp.kernel
def _weighted(s: Weighted, m: wp.array(dtype=mat33b), t: bf16, out: wp.array(dtype=vec3b)):
    i = wp.tid()
    v = s.points[i] * s.weight + s.offset
    v[1] += t
    for k in range(3):
        v[k] = v[k] + wp.lerp(v[k], v[0], bf16(0.5))
    out[i] = m[i] * v


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_flow_through_structs_vectors_and_matrices(device):
    s = Weighted(weight=1.5, offset=vec3b(1, 2, 3))
    s.points = wp.array(numbers(2, 5, 3), dtype=vec3b, device=device, requires_grad=True)
    m = wp.array(numbers(3, 5, 3, 3), dtype=mat33b, device=device, requires_grad=True)
    out = wp.zeros(5, dtype=vec3b, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(_weighted, 5, [s, m, 0.25], [out], device=device)
    tape.backward(grads={out: wp.ones_like(out)})

    ones, matrices = np.ones((5, 3)), m.numpy().astype(float)
    points = s.points.numpy().astype(float)
    v = points * 1.5 + [1, 2, 3] + [0, 0.25, 0]
    first = 2 * v[:, :1]
    w = np.concatenate([first, 1.5 * v[:, 1:] + 0.5 * first], axis=1)
    dw = np.einsum("nij,ni->nj", matrices, ones)
    dv = np.concatenate([2 * dw[:, :1] + dw[:, 1:2] + dw[:, 2:], 1.5 * dw[:, 1:]], axis=1)
    assert np.allclose(out.numpy().astype(float), np.einsum("nij,nj->ni", matrices, w), rtol=0.03, atol=0.15)
    assert np.allclose(s.points.grad.numpy().astype(float), 1.5 * dv, rtol=0.03, atol=0.1)
    assert np.allclose(m.grad.numpy().astype(float), np.einsum("ni,nj->nij", ones, w), rtol=0.03, atol=0.1)


@wp.kernel
def _updates(x: wp.array(dtype=bf16), out: wp.array(dtype=bf16), old: wp.array(dtype=bf16)):
    i = wp.tid()
    wp.atomic_add(out, i % 4, x[i])
    wp.atomic_max(out, 4, x[i])
    wp.atomic_min(out, 5, x[i])
    wp.atomic_sub(out, 6, bf16(1))
    old[i] = wp.atomic_exch(out, 7 + i, x[i])
    wp.atomic_cas(out, 7 + i, x[i], bf16(9))


@pytest.mark.parametrize("device", DEVICES)
def test_atomics_update_sixteen_bits_beside_each_other(device):
    x = rounded(np.random.default_rng(4).integers(-8, 8, 40))
    out = wp.zeros(47, dtype=bf16, device=device)
    old = wp.full(40, 3, dtype=bf16, device=device)
    wp.launch(_updates, 40, [wp.array(x, device=device)], [out, old], device=device)
    found, plain = out.numpy().astype(float), x.astype(float)
    assert np.array_equal(found[:4], [plain[k::4].sum() for k in range(4)])
    assert list(found[4:7]) == [max(plain.max(), 0), min(plain.min(), 0), -40]
    assert np.array_equal(found[7:], np.full(40, 9)) and not old.numpy().any()


@wp.kernel
def _library(m: wp.array(dtype=mat33b), out: wp.array(dtype=bf16)):
    _, s, _ = wp.svd3(m[0])
    out[0] = s[0]
    out[1] = wp.erfinv(bf16(0.25))


@pytest.mark.parametrize("device", DEVICES)
def test_library_functions_compute_in_single_precision(device):
    matrix = numbers(5, 1, 3, 3)
    out = wp.zeros(2, dtype=bf16, device=device)
    wp.launch(_library, 1, [wp.array(matrix, dtype=mat33b, device=device)], [out], device=device)
    assert np.allclose(out.numpy().astype(float)[0], np.linalg.norm(matrix[0].astype(float), 2), rtol=2.0**-7)
    assert np.allclose(out.numpy().astype(float)[1], 0.2253120550, rtol=2.0**-8)


def test_bits_in_integers_of_numpy_are_taken_as_such():
    assert np.array_equal(wp.array(np.array([0x3F80, 0x4000], np.uint16), dtype=bf16).numpy(), [1, 2])
    assert np.array_equal(wp.array([0x3F80, 2], dtype=bf16).numpy().astype(float), [16256, 2])  # a list has numbers


def test_arrays_of_the_host_come_and_go_with_the_type():
    x = numbers(6, 4)
    assert wp.array(x).dtype is bf16 and wp.dtype_from_numpy(x.dtype) is bf16 and wp.dtype_to_numpy(bf16) is bf16
    assert np.array_equal(wp.array(x).numpy(), x) and wp.full(3, 1.5, dtype=bf16)[1] == 1.5
    assert pickle.loads(pickle.dumps(vec3b(1, 2, 3))) == vec3b(1, 2, 3)
    sums = wp.zeros(4, dtype=bf16)
    wp.utils.array_cast(wp.array([1.0, 2.0, 3.0, 4.0]), sums)
    assert wp.utils.array_sum(sums) == 10
    assert vec3b.__name__ == "vec3bf" and (vec3b(1, 2, 3) * 2.0)[2] == 6


@pytest.mark.parametrize("device", DEVICES)
def test_losses_may_be_bfloat16(device):
    x = wp.array(numbers(7, 8), device=device, requires_grad=True)
    loss = wp.zeros(1, dtype=bf16, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(_square_sum, 8, [x], [loss], device=device)
    tape.backward(loss)
    assert np.allclose(x.grad.numpy().astype(float), 2 * x.numpy().astype(float), rtol=2.0**-7)
    tape.backward(loss)  # adds
    assert np.allclose(x.grad.numpy().astype(float), 4 * x.numpy().astype(float), rtol=2.0**-6)


@wp.kernel
def _square_sum(x: wp.array(dtype=bf16), loss: wp.array(dtype=bf16)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])


@pytest.mark.cpu
def test_the_type_is_imported_when_it_is_asked_for():
    shown = "print('ml_dtypes' in sys.modules)"
    program = f"import sys, warpsim; {shown}; warpsim.bfloat16; {shown}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
