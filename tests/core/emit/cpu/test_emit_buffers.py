"""Large compounds in buffers: every case computes what the interpreter computes, whoever shares a buffer with whom."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit.cpu.buffers import BufferedLowering

Floats, Ints = wp.array(dtype=float), wp.array(dtype=int)
vec20 = wp.types.vector(length=20, dtype=float)
mat45 = wp.types.matrix(shape=(4, 5), dtype=wp.float64)
THREADS = 6


@wp.kernel
def two_names(x: Floats, at: Ints, out: wp.array2d(dtype=float)):
    """A value that is changed under one name and read under the other."""
    i = wp.tid()
    a = vec20(x[i])
    for k in range(20):
        a[k] = x[i] * float(k)
    b = a
    b[at[i]] = -1.0
    c = b
    c[at[i] + 1] = a[at[i]] + b[at[i]]
    for k in range(20):
        out[i, k] = a[k] + 10.0 * b[k] + 100.0 * c[k]


@wp.kernel
def exchanged(x: Floats, at: Ints, out: wp.array2d(dtype=float)):
    """Two carried values change places in every iteration, a third is handed on twice."""
    i = wp.tid()
    a, b, c = vec20(x[i]), vec20(2.0), vec20(3.0)
    for k in range(at[i] + 3):
        a, b = b, a
        a[(at[i] + k) % 20] += x[i]
        if k % 2 == 0:
            c = b
    for k in range(20):
        out[i, k] = a[k] + 10.0 * b[k] + 100.0 * c[k]


@wp.kernel
def branches(x: Floats, at: Ints, out: wp.array2d(dtype=float)):
    """Arms that change, exchange, or leave alone what both hand on; both results may be one value."""
    i = wp.tid()
    a, b = vec20(x[i]), vec20(1.0)
    for k in range(7):
        if (k + i) % 3 == 0:
            a[at[i]] = float(k)
        elif (k + i) % 3 == 1:
            b = a
        else:
            a, b = b, a
        b[(at[i] + k) % 20] *= 1.5
    c = a
    if x[i] > 0.0:
        c = b
    c[at[i]] = 7.0
    for k in range(20):
        out[i, k] = a[k] + 10.0 * b[k] + 100.0 * c[k]


@wp.kernel
def until_full(x: Floats, at: Ints, out: wp.array2d(dtype=float)):
    """A loop whose test looks at the value, and which is left in its midst."""
    i = wp.tid()
    a, before = vec20(0.0), vec20(0.0)
    k = int(0)
    while a[(at[i] + 3) % 20] < 2.0:
        before = a
        a[(at[i] + k) % 20] += x[i] * x[i] + 0.5
        k += 1
        if k == 50:
            break
    for j in range(20):
        out[i, j] = a[j] + 10.0 * before[j] + 100.0 * float(k)


@wp.kernel
def rows(x: Floats, at: Ints, out: wp.array2d(dtype=float)):
    """Rows and components of matrices, and sums of wholes."""
    i = wp.tid()
    m = mat45(wp.float64(x[i]))
    for k in range(4):
        m[k, (at[i] + k) % 5] = wp.float64(k)
        m[(at[i] + 1) % 4] = m[k] + m[(k + 1) % 4]
    n = m + m
    n[at[i] % 4, (at[i] + 3) % 5] = wp.float64(9.0)
    m = m + n
    for k in range(20):
        out[i, k] = float(m[k / 5, k % 5] + 100.0 * n[k / 5, k % 5])


@pytest.mark.parametrize("kernel", [two_names, exchanged, branches, until_full, rows], ids=lambda k: k.key)
def test_buffers_hold_what_registers_would(kernel, monkeypatch):
    made = []
    make = BufferedLowering.allocate
    monkeypatch.setattr(BufferedLowering, "allocate", lambda self, t: made.append(t) or make(self, t))
    monkeypatch.setattr(wp.config, "cache_kernels", False)
    x = np.linspace(-1.5, 2.0, THREADS).astype(np.float32)
    at = np.array([0, 3, 7, 11, 15, 18], np.int32)
    found = {}
    for device in ("cpu", "interp"):
        out = wp.zeros((THREADS, 20), dtype=float, device=device)
        args = [wp.array(x, dtype=float, device=device), wp.array(at, dtype=int, device=device), out]
        wp.launch(kernel, THREADS, args, device=device)
        found[device] = out.numpy()
    assert made
    np.testing.assert_array_equal(found["cpu"], found["interp"])


@wp.kernel
def shifted(x: Floats, n: int, out: Floats):
    i = wp.tid()
    a = wp.zeros(shape=64, dtype=float)
    a[0] = x[i]
    for k in range(n):
        a[(k + 1) % 64] = a[k % 64] * 0.5 + a[(k + 1) % 64] + x[i]
    out[i] = a[n % 64]


def test_the_reverse_changes_local_arrays_in_place(monkeypatch):
    """Nothing in a loop copies the whole array: what is copied is copied once for a block."""
    copied = []
    copy = BufferedLowering.fresh_copy
    monkeypatch.setattr(BufferedLowering, "fresh_copy", lambda self, v: copied.append(v) or copy(self, v))
    monkeypatch.setattr(wp.config, "cache_kernels", False)
    x, out = wp.ones(3, dtype=float, requires_grad=True), wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(shifted, 3, [x, 300, out])
    tape.backward(grads={out: wp.ones(3, dtype=float)})
    assert len(copied) <= 4
