"""Derivatives of launches in which arrays, also in structs, are None: as if the kernel did not have them."""

import itertools

import numpy as np
import pytest

import warpsim as wp
from warpsim.autograd import gradcheck, gradcheck_tape, hvp, jacobian, jacobian_fd, jvp

Numbers = wp.array(dtype=wp.float64)
X = np.array([1.0, 2.0, 3.0])


@wp.struct
class Part:
    a: wp.array(dtype=wp.float64)
    scale: wp.float64


@wp.kernel
def optional(x: Numbers, bias: Numbers, p: Part, y: Numbers):
    i = wp.tid()
    s = x[i] * x[i]
    if bias is not None:
        s += bias[i] * x[i]
    if p.a:
        s += p.a[i] * p.a[i] * x[i] * p.scale
    y[i] = s


def arrays(bias, part):
    """The arguments before the result, all of them 1, 2, 3 where they are there."""
    x, b, a = (wp.array(X, dtype=wp.float64, requires_grad=True) if there else None for there in (True, bias, part))
    p = Part()
    p.a, p.scale = a, 2.0
    return [x, b, p]


def result():
    return [wp.zeros(3, dtype=wp.float64, requires_grad=True)]


def slopes(bias, part):
    """Derivatives of the sum of y by the arrays that are there."""
    found = {"x": 2 * X + (X if bias else 0.0) + (2 * X * X if part else 0.0)}
    return {**found, **({"bias": X} if bias else {}), **({"p.a": 4 * X * X} if part else {})}


SUBSETS = list(itertools.product([False, True], repeat=2))
ONES = np.ones(3)


@pytest.fixture(params=["cpu", "interp"], autouse=True)
def device(request):
    with wp.ScopedDevice(request.param):
        yield request.param


def of(named, args):
    """By name what was found by array."""
    names = {"x": args[0], "bias": args[1], "p.a": args[2].a}
    return {n: found.numpy() for n, a in names.items() for known, found in named.items() if a is known}


def taped(args):
    out = result()
    with wp.Tape() as tape:
        wp.launch(optional, 3, args, out)
    return tape, out[0]


@pytest.mark.parametrize(("bias", "part"), SUBSETS)
def test_backward_jvp_and_hvp_of_launches(bias, part):
    want = slopes(bias, part)
    args = arrays(bias, part)
    tape, y = taped(args)
    tape.backward(grads={y: wp.ones_like(y)})
    for name, a in (("x", args[0]), ("bias", args[1]), ("p.a", args[2].a)):
        if a is not None:
            assert a.grad.numpy() == pytest.approx(want[name])
    for name in want:
        found = jvp(optional, 3, args, result(), tangents={name: ONES})
        assert found["y"].numpy() == pytest.approx(want[name])
    found = hvp(optional, 3, args, result(), vector={"x": ONES}, cotangents={"y": ONES})
    second = {"x": np.full(3, 2.0), "bias": ONES, "p.a": 4 * X}
    assert found.keys() == want.keys() and all(v.numpy() == pytest.approx(second[n]) for n, v in found.items())


@pytest.mark.parametrize(("bias", "part"), SUBSETS)
def test_jvp_and_hvp_of_tapes(bias, part):
    args = arrays(bias, part)
    tape, y = taped(args)
    assert jvp(tape, tangents={args[0]: ONES})[y].numpy() == pytest.approx(slopes(bias, part)["x"])
    found = of(hvp(tape, vector={args[0]: ONES}, cotangents={y: ONES}), args)
    second = {"x": np.full(3, 2.0), "bias": ONES, "p.a": 4 * X}
    assert found.keys() == slopes(bias, part).keys()
    assert all(v == pytest.approx(second[n]) for n, v in found.items())


@pytest.mark.parametrize(("bias", "part"), SUBSETS)
def test_gradient_checks_and_jacobians(bias, part):
    want = slopes(bias, part)
    assert gradcheck(optional, 3, arrays(bias, part), result(), show_summary=False)
    assert gradcheck_tape(taped(arrays(bias, part))[0], show_summary=False)
    for make in (jacobian, jacobian_fd):
        found = make(optional, 3, arrays(bias, part), result())
        assert {name for name, _ in found.names.values()} == want.keys()
        for key, (name, _) in found.names.items():
            assert found[key].numpy().sum(axis=0) == pytest.approx(want[name], rel=1e-5)


@pytest.mark.parametrize(("bias", "part"), SUBSETS)
def test_checkpoints_and_pictures_of_tapes(bias, part, tmp_path):
    kept = arrays(bias, part)
    found = []
    for run in (wp.checkpoint, None):
        x = wp.array(0.3 * X, dtype=wp.float64, requires_grad=True)
        step = lambda k, x=x: wp.launch(optional, 3, [x, *kept[1:]], [x])  # noqa: E731
        with wp.Tape() as tape:
            if run is None:
                for k in range(4):
                    step(k)
            else:
                run(step, [x], 4)
        tape.backward(grads={x: wp.ones_like(x)})
        found.append(x.grad.numpy())
        tape.visualize(str(tmp_path / "tape.dot"))
        assert str(tape.report())
    assert found[0] == pytest.approx(found[1])
