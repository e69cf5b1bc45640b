"""Functions of Numba in kernels, and functions of kernels in Numba: values, derivatives, conversions, refusals."""

import math

import numpy as np
import pytest

import warpsim as wp

numba = pytest.importorskip("numba", reason="Numba is not installed")
from_numba = pytest.importorskip("warpsim.interop.numba.from_numba")
pytestmark = [
    pytest.mark.cpu(reason="machine code of Numba on the CPU"),
    pytest.mark.not_for_cuda("is machine code of the CPU"),
]

F = wp.array(dtype=wp.float64)
HOSTS = pytest.mark.parametrize("device", ["cpu", "interp"])


@numba.njit
def bond(r, depth):
    return depth * (r**-12.0 - 2.0 * r**-6.0)


@numba.njit
def bond_slopes(r, depth):
    return depth * 12.0 * (r**-7.0 - r**-13.0), r**-12.0 - 2.0 * r**-6.0


@numba.njit
def half_square(x):
    return 0.5 * x * x


@numba.njit
def identity(x):
    return x


@numba.njit
def picky(x):
    if x > 0.5:
        raise ValueError("too large")
    return 1.0 / x


@numba.cfunc("boolean(float32, boolean, uint8)", fastmath=True)
def rule(a, flag, n):
    return (a > 0.5) == flag and n < 200


bonded = wp.from_numba(bond, derivative=bond_slopes)
halved = wp.from_numba(half_square, derivative=identity)
picking, ruled = wp.from_numba(picky), wp.from_numba(rule)


@wp.kernel
def energies(r: F, depth: wp.float64, e: F):
    i = wp.tid()
    e[i] = bonded(r[i], depth) + halved(r[i])


@wp.kernel
def pick(x: F, y: F):
    y[wp.tid()] = picking(x[wp.tid()])


@wp.kernel
def decide(x: wp.array(dtype=float), y: wp.array(dtype=wp.bool)):
    y[wp.tid()] = ruled(x[wp.tid()], wp.tid() > 1, 7)


@wp.kernel
def decide_wide(x: F, y: wp.array(dtype=wp.bool)):
    y[wp.tid()] = ruled(x[wp.tid()], True, 7)


@HOSTS
def test_kernels_call_numba(device):
    r = wp.array(np.linspace(0.9, 2.0, 50), dtype=wp.float64, device=device)
    e = wp.zeros(50, dtype=wp.float64, device=device)
    wp.launch(energies, 50, [r, 1.5], [e], device=device)
    expected = bond.py_func(r.numpy(), 1.5) + half_square.py_func(r.numpy())
    np.testing.assert_allclose(e.numpy(), expected, rtol=1e-12)


def test_large_launches_call_numba_on_all_threads():
    r = wp.array(np.linspace(0.9, 2.0, 300_000), dtype=wp.float64)
    e = wp.zeros(len(r), dtype=wp.float64)
    wp.launch(energies, len(r), [r, 1.5], [e])
    np.testing.assert_allclose(e.numpy(), bond.py_func(r.numpy(), 1.5) + 0.5 * r.numpy() ** 2, rtol=1e-12, atol=1e-14)


@HOSTS
def test_declared_derivatives(device):
    r = wp.array(np.linspace(0.9, 2.0, 9), dtype=wp.float64, requires_grad=True, device=device)
    e = wp.zeros(9, dtype=wp.float64, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(energies, 9, [r, 1.5], [e], device=device)
    tape.backward(grads={e: wp.ones(9, dtype=wp.float64, device=device)})
    slope = bond_slopes.py_func(r.numpy(), 1.5)[0] + r.numpy()
    np.testing.assert_allclose(r.grad.numpy(), slope, rtol=1e-12)
    moved = wp.autograd.jvp(
        energies, 9, [r, 1.5, e], tangents={"r": wp.ones(9, dtype=wp.float64, device=device)}, device=device
    )
    np.testing.assert_allclose(moved["e"].numpy(), slope, rtol=1e-12)


def test_a_function_without_derivative_is_refused():
    x = wp.full(3, 0.25, dtype=wp.float64, requires_grad=True)
    y = wp.zeros(3, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(pick, 3, [x], [y])
    with pytest.raises(wp.errors.NotDifferentiableError, match=r"'picky' has no derivative[\s\S]*derivative=g"):
        tape.backward(grads={y: wp.ones(3, dtype=wp.float64)})


@HOSTS
def test_what_numba_raises_ends_the_launch(device):
    y = wp.zeros(4, dtype=wp.float64, device=device)
    for bad in (0.75, 0.0):  # an exception of the user's, and one of division
        x = wp.array([0.25, 0.25, bad, 0.25], dtype=wp.float64, device=device)
        with pytest.raises(wp.errors.NativeCodeError, match="Numba function 'picky' raised an exception"):
            wp.launch(pick, 4, [x], [y], device=device)
    wp.launch(pick, 4, [wp.full(4, 0.25, dtype=wp.float64, device=device)], [y], device=device)
    assert y.list() == [4.0] * 4


@HOSTS
def test_callbacks_with_declared_types(device):
    x = wp.array([0.0, 1.0, 0.0, 1.0], dtype=float, device=device)
    y = wp.zeros(4, dtype=wp.bool, device=device)
    wp.launch(decide, 4, [x], [y], device=device)
    assert y.list() == [True, False, False, True]
    with pytest.raises(wp.errors.KernelTypeError, match=r"compiled for other types[\s\S]*\(float32, bool, uint8\)"):
        wp.launch(decide_wide, 4, [wp.zeros(4, dtype=wp.float64, device=device)], [y], device=device)


def test_kernels_for_gpus_are_refused():
    class Other:
        builder = None

    program = pick.program((F, F), pick.settings(), False)
    call = next(n for n in program.fn.body.nodes if getattr(n, "op", None) and n.op.name.startswith("warpsim_numba"))
    with pytest.raises(wp.errors.KernelTypeError, match="'picky' is machine code of the CPU"):
        from_numba.emit_call(Other(), call, [])


@wp.func
def wobble(x: float, n: int):
    total = float(0.0)
    for k in range(n):
        total += wp.sin(x * float(k))
    return total


@wp.func
def parts(x: wp.float64, flag: bool):
    return x * x, not flag, wp.int64(3)


@wp.func
def root(x: wp.float64):
    assert x >= wp.float64(0.0), "negative"
    return wp.sqrt(x)


@wp.func
def any_type(x: wp.Scalar):
    return x + x


def test_numba_calls_functions_of_kernels():
    wobbling = wp.to_numba(wobble)

    @numba.njit
    def total(count):
        found = 0.0
        for k in range(count):
            found += wobbling(0.1 * k, 3)  # a double becomes the float that is declared
        return found

    expected = sum(math.sin(0.1 * k) + math.sin(0.2 * k) for k in range(100))
    assert total(100) == pytest.approx(expected, rel=1e-5)
    assert wobbling(0.5, 4) == wobble(0.5, 4)


def test_several_results_types_and_built_ins():
    assert wp.to_numba(parts)(2.5, True) == (6.25, False, 3)
    assert wp.to_numba(wp.sin)(1.0) == pytest.approx(math.sin(1.0), rel=1e-15)
    doubled = wp.to_numba(any_type)
    assert doubled(3) == 6 and doubled(0.25) == 0.5 and doubled(np.float32(1.5)) == 3.0
    assert wp.to_numba(lambda x: 2.0 * x)(1.5) == 3.0


def test_failed_assertions_are_exceptions_of_numba():
    rooted = wp.to_numba(root)
    assert rooted(4.0) == 2.0
    with pytest.raises(RuntimeError, match="a check in root failed"):
        rooted(-1.0)
    assert rooted(9.0) == 3.0


def test_numba_and_kernels_call_each_other():
    rooted = wp.to_numba(root)

    @numba.njit
    def norm(x, y):
        return rooted(x * x + y * y)

    norms = wp.from_numba(norm)

    @wp.kernel
    def lengths(x: F, y: F):
        y[wp.tid()] = norms(x[wp.tid()], wp.float64(4.0))

    y = wp.zeros(2, dtype=wp.float64)
    wp.launch(lengths, 2, [wp.array([3.0, 0.0], dtype=wp.float64)], [y])
    assert y.list() == [5.0, 4.0]


@wp.func
def of_vectors(x: wp.vec3):
    return wp.length(x)


@wp.kernel
def calls_dispatcher(x: F):
    x[wp.tid()] = half_square(x[wp.tid()])


@pytest.mark.parametrize(
    "act, message",
    [
        (lambda: wp.from_numba(math.sin), "no Numba function"),
        (lambda: wp.from_numba(bond, derivative=3.0), "3.0 is no Numba function"),
        (lambda: wp.to_numba(3.0), "3.0 is no function"),
        (lambda: wp.to_numba(of_vectors)(1.0), r"no overload[\s\S]*vec3f"),
        (lambda: wp.to_numba(root)((1.0, 2.0)), "expected: numbers"),
        (lambda: wp.to_numba(root)(), "no parameters|overload"),
        (lambda: wp.launch(calls_dispatcher, 1, [wp.zeros(1, dtype=wp.float64)]), r"wp.from_numba\(half_square\)"),
    ],
)
def test_refusals(act, message):
    with pytest.raises((wp.errors.WarpsimError, numba.core.errors.TypingError), match=message):
        act()


def test_derivatives_must_fit_the_arguments():
    wrong = wp.from_numba(bond, derivative=half_square)  # of one argument

    @wp.kernel
    def bad(x: F, y: F):
        y[wp.tid()] = wrong(x[wp.tid()], wp.float64(1.0))

    x = wp.ones(1, dtype=wp.float64, requires_grad=True)
    y = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(bad, 1, [x], [y])
    with pytest.raises(wp.errors.KernelTypeError, match=r"does not compile for \(float64, float64\)"):
        tape.backward(grads={y: wp.ones(1, dtype=wp.float64)})
