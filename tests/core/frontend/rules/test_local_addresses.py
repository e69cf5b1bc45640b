"""Arrays at addresses of local arrays: they are slices of these, whatever the path, and stay inside."""

import numpy as np
import pytest
from kernel_runs import filled, refused

import warpsim as wp
from warpsim.errors import KernelLookupError, KernelTypeError


@wp.func
def numbered(a: wp.array[wp.vec2], x: float):
    for i in range(len(a)):
        a[i] = wp.vec2(x, float(i))
    return len(a)


@wp.kernel
def halves(out: wp.array[float], x: wp.array[float]):
    i = wp.tid()
    whole = wp.zeros(shape=(8,), dtype=wp.vec2)
    behind = wp.array(ptr=whole.ptr + wp.uint64(3 * 8), shape=(5,), dtype=wp.vec2f)
    n = numbered(behind, x[i])
    n += numbered(wp.array(ptr=behind_start(whole), shape=3, dtype=wp.vec2), 2.0 * x[i])
    chosen = behind
    if i % 2 == 1:
        chosen = wp.array(ptr=wp.uint64(24) + whole.ptr - 24, shape=(5,), dtype=wp.vec2)
    chosen[1] += wp.vec2(10.0, 10.0)
    out[i] = chosen[2][0] + 100.0 * whole[4][1] + 1000.0 * float(n)


@wp.func
def behind_start(a: wp.array[wp.vec2]):
    return a.ptr


def test_an_array_at_an_address_shares_the_elements():
    even, odd = 100.0 * 11.0 + 8000.0, 100.0 * 1.0 + 8000.0
    found = filled(halves, 4, np.float32([1.0, 2.0, 3.0, 4.0]))
    assert found == [1.0 + even, 4.0 + odd, 3.0 + even, 8.0 + odd]


@wp.kernel
def either(out: wp.array[float], x: wp.array[float]):
    i = wp.tid()
    whole = wp.zeros(shape=6, dtype=float)
    for k in range(6):
        whole[k] = x[i] + float(k)
    part = wp.array(ptr=whole.ptr + 8, shape=3, dtype=float)
    if i == 1:
        part = whole
    elif i == 2:
        part = whole[4:]
    out[i] = part[0] + 10.0 * part[-1] + 100.0 * float(len(part))


def test_branches_choose_between_an_array_and_its_parts():
    expected = [3.0 + 10.0 * 5.0 + 300.0, 2.0 + 10.0 * 7.0 + 600.0, 7.0 + 10.0 * 8.0 + 200.0]
    assert filled(either, 3, np.float32([1.0, 2.0, 3.0])) == expected


@wp.kernel
def squares(out: wp.array[float], x: wp.array[float]):
    i = wp.tid()
    a = wp.zeros(shape=4, dtype=float)
    tail = wp.array(ptr=a.ptr + wp.uint64(8), shape=(2,), dtype=float)
    tail[0] = x[i] * x[i]
    tail[1] = tail[0] * 2.0
    out[i] = a[2] + a[3]


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_gradients_pass_through_the_elements(device):
    x = wp.array([1.0, 3.0], dtype=float, device=device, requires_grad=True)
    out = wp.zeros(2, dtype=float, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squares, 2, inputs=[out, x], device=device)
    tape.backward(grads={out: wp.ones(2, dtype=float, device=device)})
    assert (out.list(), x.grad.list()) == ([3.0, 27.0], [6.0, 18.0])


WRONG = {
    "a.ptr + n": (KernelTypeError, "an address plus a constant number of bytes"),
    "8 - a.ptr": (KernelTypeError, "an address plus a constant number of bytes"),
    "a.ptr * 2": (KernelTypeError, "an address plus a constant number of bytes"),
    "a.ptr + 1.0": (KernelTypeError, "an address plus a constant number of bytes"),
    "wp.array(ptr=a.ptr, shape=(2,), dtype=int)": (KernelTypeError, "both arrays of one dimension and one type"),
    "wp.array(ptr=a.ptr, shape=(2, 2), dtype=float)": (KernelTypeError, "a positive integer constant"),
    "wp.array(ptr=a.ptr, shape=(n,), dtype=float)": (KernelTypeError, "a positive integer constant"),
    "wp.array(ptr=a.ptr, dtype=float)": (KernelTypeError, "a positive integer constant"),
    "wp.array(ptr=a.ptr + 4, shape=4, dtype=float)": (KernelLookupError, "whole elements inside of the array"),
    "wp.array(ptr=a.ptr - 4, shape=1, dtype=float)": (KernelLookupError, "whole elements inside of the array"),
    "wp.array(ptr=a.ptr + 2, shape=1, dtype=float)": (KernelLookupError, "whole elements inside of the array"),
}


@pytest.mark.parametrize("code", WRONG)
def test_what_is_no_part_of_the_array_is_refused(code):
    kind, expected = WRONG[code]
    error = refused(f"a = wp.zeros(shape=4, dtype=float)\nn = wp.tid()\nb = {code}")
    assert (type(error), expected in error.expected) == (kind, True)
