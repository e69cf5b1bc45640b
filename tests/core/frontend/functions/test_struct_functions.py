"""Functions in the class of a struct: kernels call them through its values, and they do not get the struct."""

import numpy as np
import pytest
from notebooks import Notebook

import warpsim as wp
from warpsim.errors import KernelAttributeError, KernelErrors


@wp.func
def square(x: float):
    return x * x


@wp.func
def swap(a: wp.ref[float], b: wp.ref[float]):
    a, b = b, a


@wp.struct
class Inner:
    scale: float
    law = square
    exchange = swap
    curve = wp.sin

    @wp.func
    def shifted(x: float, by: float = 1.0):
        return x + by


@wp.struct
class Outer:
    inner: Inner
    x: wp.array(dtype=float)
    law = wp.func(lambda x: 3.0 * x)


@wp.kernel
def use(s: Outer, many: wp.array(dtype=Inner), out: wp.array(dtype=float)):
    i = wp.tid()
    a, b = s.x[i], 10.0
    for _ in range(i % 2):  # the loop must know that both are written
        s.inner.exchange(a, b)
    local = Inner(2.0)
    out[i] = s.inner.law(a) * s.inner.scale + s.law(b) + s.inner.curve(a)
    out[i] += many[i].shifted(a) + local.shifted(b, by=0.5)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_functions_of_structs_and_their_gradients(device):
    x = np.array([0.5, 1.5, -2.0, 3.0], np.float32)
    s = Outer(inner=Inner(0.25), x=wp.array(x, requires_grad=True, device=device))
    out = wp.zeros(4, requires_grad=True, device=device)
    many = wp.zeros(4, dtype=Inner, device=device)
    with wp.Tape() as tape:
        wp.launch(use, 4, [s, many, out], device=device)
    tape.backward(grads={out: wp.ones(4, device=device)})
    swapped = np.arange(4) % 2 == 1
    a, b = np.where(swapped, 10.0, x), np.where(swapped, x, 10.0)
    np.testing.assert_allclose(out.numpy(), 0.25 * a * a + 3 * b + a + 1 + b + 0.5 + np.sin(a), rtol=1e-6)
    np.testing.assert_allclose(s.x.grad.numpy(), np.where(swapped, 4.0, 0.5 * x + 1 + np.cos(x)), rtol=1e-6)


def test_the_host_calls_them_too():
    assert Inner(1.0).law(3.0) == 9.0 and Outer().inner.shifted(1.0) == 2.0


def test_python_functions_of_a_struct_are_of_the_host():
    @wp.struct
    class Plain:
        x: float

        def law(self):
            return self.x

    @wp.kernel
    def k(s: Plain, out: wp.array(dtype=float)):
        out[0] = s.law()

    with pytest.raises((KernelAttributeError, KernelErrors), match="struct Plain has no field 'law'") as caught:
        wp.launch(k, 1, [Plain(1.0), wp.zeros(1)])
    assert "help: methods are for the host; kernels call functions made by @wp.func" in str(caught.value)


@pytest.mark.parametrize("value", [11.0, 22.0])
def test_code_of_another_function_under_the_same_names(value):
    """Twice the same text but for a constant in a function that only a struct leads to."""
    names = Notebook().run(f"""
        @wp.func
        def value():
            return {value}

        @wp.struct
        class A:
            x: float
            fn = value

        @wp.kernel
        def k(a: A, out: wp.array(dtype=float)):
            out[0] = a.fn()
    """)
    out = wp.zeros(1)
    wp.launch(names.k, 1, [names.A(), out])
    assert out.numpy()[0] == value
