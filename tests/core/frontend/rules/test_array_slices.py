"""Slices of arrays in kernels select what NumPy selects, for reading, writing, functions and gradients."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import KernelAssertionError, KernelError

DEVICES = pytest.mark.parametrize("device", ["cpu", "interp"])


@wp.func
def total(a: wp.array[float]):
    s = float(0.0)
    for i in range(len(a)):
        s += a[i] * float(i + 1)
    return s


@wp.func
def put(a: wp.array[float], i: int, x: float):
    a[i] = x
    wp.atomic_add(a, -1, 1.0)


@wp.kernel
def dynamic(a: wp.array[float], bounds: wp.array2d[int], out: wp.array2d[float]):
    i = wp.tid()
    part = a[bounds[i, 0] : bounds[i, 1] : bounds[i, 2]]
    out[i, 0] = total(part)
    out[i, 1] = float(part.shape[0])
    out[i, 2] = float(part.size + part.ndim)


def weighted(part):
    return float((part * np.arange(1, len(part) + 1)).sum())


@DEVICES
def test_bounds_known_at_run_time_are_python_s(device):
    rng = np.random.default_rng(3)
    bounds = rng.integers(-9, 10, size=(40, 3))
    bounds[:, 2] += bounds[:, 2] == 0
    values = rng.normal(size=7).astype(np.float32)
    a = wp.array(values, device=device, requires_grad=True)
    out = wp.zeros((40, 3), device=device, requires_grad=True)
    with wp.Tape() as tape:
        args = [a, wp.array(bounds.astype(np.int32), device=device), out]
        wp.launch(dynamic, 40, inputs=args, device=device)
    parts = [values[slice(*b)] for b in bounds]
    np.testing.assert_allclose(out.numpy()[:, 0], [weighted(p) for p in parts], rtol=1e-4, atol=1e-5)
    assert out.numpy()[:, 1:].tolist() == [[len(p), len(p) + 1] for p in parts]
    seeds = np.zeros((40, 3), np.float32)
    seeds[:, 0] = 1.0
    tape.backward(grads={out: wp.array(seeds, device=device)})
    slopes = np.zeros(7)
    for b in bounds:
        at = np.arange(7)[slice(*b)]
        slopes[at] += np.arange(1, len(at) + 1)
    np.testing.assert_allclose(a.grad.numpy(), slopes, rtol=1e-5)


CONSTANT = ["a[1:4]", "a[:3]", "a[-3:]", "a[::2]", "a[::-1]", "a[5:1:-2]", "a[9:]", "a[:-9]", "a[2:][1:]"]
CONSTANT += ["a[::-1][1:3]", "m[1, 1:]", "m[:, 2]", "m[::-1, 1]", "m[1:, ::2][0]", "m[:, 1:][:, 0]"]


@DEVICES
def test_constant_bounds_select_what_numpy_selects(device):
    rng = np.random.default_rng(5)
    a, m = rng.normal(size=6).astype(np.float32), rng.normal(size=(3, 4)).astype(np.float32)
    for text in CONSTANT:
        out = wp.zeros(1, device=device)
        scope = {"wp": wp, "total": total}
        kernel = made(f"    out[0] = total({text})", scope)
        wp.launch(kernel, 1, inputs=[wp.array(a, device=device), wp.array(m, device=device), out], device=device)
        np.testing.assert_allclose(out.numpy(), [weighted(eval(text))], rtol=1e-5, err_msg=text)


def made(body, scope):
    """A kernel of a body, whose text the compiler can find."""
    import linecache  # noqa: PLC0415

    head = "@wp.kernel\ndef k(a: wp.array[float], m: wp.array2d[float], out: wp.array[float]):\n"
    file = f"<slice {len(linecache.cache)}>"
    linecache.cache[file] = (len(head), None, (head + body).splitlines(True), file)
    exec(compile(head + body, file, "exec"), scope)
    return scope["k"]


@wp.kernel
def writes(a: wp.array[float], m: wp.array2d[wp.vec2], f: wp.indexedarray[float]):
    tail = a[2:]
    tail[0] = 7.0
    tail[-1] += 2.0
    a[::-1][0] *= 3.0
    put(a[1:3], 0, 5.0)
    column = m[:, 1]
    column[0][1] = 4.0
    m[1:, ::2][0, 1] = wp.vec2(8.0, 9.0)
    column[-1] = column[0]
    f[1:][0] = 6.0


@DEVICES
def test_writing_through_a_slice_writes_the_array(device):
    a, m = np.arange(6, dtype=np.float32), np.zeros((3, 3, 2), np.float32)
    array, vectors = wp.array(a, device=device), wp.array(m, dtype=wp.vec2, device=device)
    table = wp.array([3, 0, 2], dtype=int, device=device)
    behind = wp.zeros(4, device=device)
    wp.launch(writes, 1, inputs=[array, vectors, wp.indexedarray(behind, [table])], device=device)
    a[2:][0] = 7.0
    a[2:][-1] += 2.0
    a[::-1][0] *= 3.0
    a[1:3][0] = 5.0
    a[1:3][-1] += 1.0
    m[:, 1][0, 1] = 4.0
    m[1:, ::2][0, 1] = (8.0, 9.0)
    m[2, 1] = m[0, 1]
    np.testing.assert_array_equal(array.numpy(), a)
    np.testing.assert_array_equal(vectors.numpy(), m)
    assert behind.list() == [6.0, 0.0, 0.0, 0.0]


@DEVICES
def test_dimensions_that_are_not_there_have_extent_zero(device):
    @wp.kernel
    def shapes(m: wp.array2d[float], out: wp.array[int]):
        part = m[1:]
        out[0] = m.shape[0] + 10 * m.shape[1] + 100 * m.shape[2] + 1000 * m.shape[3]
        out[1] = part.shape[0] + 10 * part.shape[1] + 100 * part.shape[3] + 1000 * len(part.shape)

    out = wp.zeros(2, dtype=int, device=device)
    wp.launch(shapes, 1, inputs=[wp.zeros((3, 4), device=device), out], device=device)
    assert out.list() == [43, 2042]


def test_what_slices_cannot_do_is_said():
    cases = {
        "    a[1:3] = 1.0": "a slice of an array cannot be assigned",
        "    out[0] = a[0:2:0][0]": "slice step cannot be zero",
        "    out[0] = m[1:][0, 0, 0]": "array takes|takes 2 indices|cannot be indexed",
        "    b = a[1:]\n    if out[0] > 0.0:\n        b = out[2:]\n    out[0] = b[0]": "no single type",
        "    b = a[1:]\n    while b[0] > 0.0:\n        b = a[2:]": "'b' has no single type here: a loop changes it",
    }
    for body, message in cases.items():
        with pytest.raises(KernelError, match=message):
            wp.launch(made(body, {"wp": wp}), 1, inputs=[wp.zeros(3), wp.zeros((3, 3)), wp.zeros(1)])


@DEVICES
def test_a_step_that_is_zero_at_run_time_ends_the_launch(device):
    a, out = wp.zeros(7, device=device), wp.zeros((2, 3), device=device)
    bounds = wp.array([[0, 4, 1], [0, 4, 0]], dtype=int, device=device)
    with pytest.raises(KernelAssertionError, match="slice step cannot be zero"):
        wp.launch(dynamic, 2, inputs=[a, bounds, out], device=device)
        wp.synchronize()


@wp.kernel
def chooses(a: wp.array[float], m: wp.array2d[float], out: wp.array2d[float]):
    i = wp.tid()
    part = a[1:]
    row = m[:, 0]
    if i == 1:
        part = a[i::2]
        row = m[:, i]
    elif i == 2:
        part = a[::-1]
    out[i, 0] = total(part)
    out[i, 1] = total(row)


@DEVICES
def test_branches_choose_among_slices_of_one_array(device):
    a, m = np.arange(1.0, 7.0, dtype=np.float32), np.arange(6.0, dtype=np.float32).reshape(3, 2)
    array = wp.array(a, device=device, requires_grad=True)
    out = wp.zeros((3, 2), dtype=float, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(chooses, 3, inputs=[array, wp.array(m, device=device), out], device=device)
    parts = [a[1:], a[1::2], a[::-1]]
    expected = [[weighted(part), weighted(m[:, i % 2])] for i, part in enumerate(parts)]
    np.testing.assert_array_equal(out.numpy(), expected)
    out.grad.fill_(1.0)
    tape.backward()
    slopes = np.zeros(6)
    for at in (slice(1, None), slice(1, None, 2), slice(None, None, -1)):
        slopes[at] += np.arange(1, len(slopes[at]) + 1)
    np.testing.assert_array_equal(array.grad.numpy(), slopes)
