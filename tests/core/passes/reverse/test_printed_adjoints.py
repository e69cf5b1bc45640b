"""`print(x)` in a kernel shows the cotangent of `x` when the adjoint runs.

The oracle: what is printed is the gradient of a number that is added right behind the `print`, `e[i]` here.
"""

import re

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import NotDifferentiableError

Floats, Vectors, Ints = wp.array(dtype=float), wp.array(dtype=wp.vec2), wp.array(dtype=int)
devices = pytest.mark.parametrize("device", ["cpu", "interp"])


def backward(kernel, e, capfd, device, dim=3, options=None, **inputs):
    """The lines that a backward prints, and the gradient of `e`."""
    values = {"x": [0.5, -1.0, 2.0], **inputs}
    with wp.ScopedDevice(device):
        arrays = [
            wp.array(v, dtype=int if np.asarray(v).dtype.kind == "i" else float, requires_grad=True)
            for v in values.values()
        ]
        e = wp.zeros(dim, dtype=e, requires_grad=True)
        y = wp.zeros(dim, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(kernel, dim, [*arrays, e], [y], **(options or {}))
        wp.synchronize()
        capfd.readouterr()
        tape.backward(grads={y: wp.array([1.0, 2.0, 3.0], dtype=float)})
        wp.synchronize()
    return capfd.readouterr().out.splitlines(), e.grad.numpy()


def numbers(lines):
    """The numbers of each line; the threads of a launch print in any order."""
    assert all(line.startswith("adj: ") for line in lines), lines
    return sorted([float(n) for n in re.findall(r"-?\d+\.?\d*(?:e[-+]\d+)?", line)] for line in lines)


def agree(lines, gradients):
    expected = sorted(np.reshape(gradients, (len(gradients), -1)).tolist())
    np.testing.assert_allclose(numbers(lines), expected, rtol=1e-4, atol=1e-6)


@wp.kernel
def scalar(x: Floats, e: Floats, y: Floats):
    i = wp.tid()
    v = wp.sin(x[i])
    print(v)
    v = v + e[i]
    y[i] = v * v * x[i]


@wp.kernel
def vector(x: Floats, e: Vectors, y: Floats):
    i = wp.tid()
    v = wp.vec2(x[i], x[i] * x[i])
    print(v)
    v = v + e[i]
    y[i] = v[0] * wp.length(v)


@wp.kernel
def in_a_branch(x: Floats, e: Floats, y: Floats):
    """The value comes from outside of the branch, and is used inside, before it and behind it."""
    i = wp.tid()
    v = x[i] * 2.0
    if i < 5:
        print(v)
        w = v + e[i]
        if w > -10.0:
            print(w)
            y[i] = w * w
    else:
        y[i] = v


@wp.func
def cubed(v: float, e: float):
    print("cube of", v)
    v = v + e
    return v * v * v


@wp.kernel
def in_a_function(x: Floats, e: Floats, y: Floats):
    i = wp.tid()
    y[i] = cubed(2.0 * x[i], e[i])


@pytest.mark.parametrize(
    ("kernel", "e"), [(scalar, float), (vector, wp.vec2), (in_a_function, float)], ids=["scalar", "vector", "function"]
)
@devices
def test_what_is_printed_is_the_cotangent_at_that_place(kernel, e, device, capfd):
    lines, gradient = backward(kernel, e, capfd, device)
    assert len(lines) == 3
    agree([line.replace("cube of ", "") for line in lines], gradient)


@devices
def test_a_branch_adds_what_came_behind_it(device, capfd):
    lines, gradient = backward(in_a_branch, float, capfd, device)
    assert len(lines) == 6  # of w, and of v, which only goes to w
    agree(lines, np.repeat(gradient, 2))


@wp.kernel
def used_behind(x: Floats, e: Floats, y: Floats):
    i = wp.tid()
    v = x[i] * 2.0
    if i == 1:
        print(v)
    y[i] = v * v


@devices
def test_the_value_of_one_thread(device, capfd):
    lines, _ = backward(used_behind, float, capfd, device)
    assert numbers(lines) == [[-8.0]]  # 2 * v * 2.0, where v is -2.0 and the gradient of y[1] is 2


@wp.kernel
def in_a_loop(x: Floats, n: Ints, e: Floats, y: Floats):
    i = wp.tid()
    a, s = x[i], float(0.0)
    for _ in range(n[0]):
        a = a * 0.5
        print(a)
        print(x[i])
        s = s + a
    y[i] = s


@devices
def test_iterations_print_last_one_first(device, capfd):
    lines, _ = backward(in_a_loop, float, capfd, device, dim=3, n=[3])
    assert len(lines) == 9
    agree(lines, [g * (2.0 - 0.5**k) for g in (1.0, 2.0, 3.0) for k in range(3)])


@wp.kernel
def from_outside(x: Floats, n: Ints, e: Floats, y: Floats):
    i = wp.tid()
    v, s = wp.sin(x[i]), float(0.0)
    for k in range(n[0]):
        if k >= 0:
            print(v)
        s = s + v * float(k)
    y[i] = s * v


@devices
def test_in_a_loop_a_value_from_outside_prints_nothing(device, capfd):
    """Other iterations contribute to its cotangent: what would be printed is only a part."""
    assert backward(from_outside, float, capfd, device, n=[4])[0] == []


@wp.kernel
def labelled(x: Floats, e: Floats, y: Floats):
    i = wp.tid()
    v = 3.0 * x[i]
    print("100%g of", i, v, wp.vec2i(i, i), "m", end="")
    y[i] = v


@devices
def test_texts_are_shown_and_values_without_a_gradient_are_dashes(device, capfd):
    lines, _ = backward(labelled, float, capfd, device)
    assert sorted(lines) == ["adj: 100%g of - 1 - m", "adj: 100%g of - 2 - m", "adj: 100%g of - 3 - m"]


@wp.kernel
def nothing_to_show(x: Floats, e: Floats, y: Floats):
    i = wp.tid()
    print("here")
    print(i)
    print(x[i] * 5.0)
    wp.printf("%f\n", x[i])
    y[i] = x[i]


@devices
def test_texts_integers_and_what_no_result_needs_print_nothing(device, capfd):
    assert backward(nothing_to_show, float, capfd, device)[0] == []


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64, wp.mat22, wp.quat, wp.vec3d])
@devices
def test_every_type_of_floats(dtype, device, capfd):
    @wp.kernel
    def doubled(x: wp.array(dtype=dtype), y: wp.array(dtype=dtype)):
        v = x[0]
        print(v)
        y[0] = v + v

    x, y = (wp.zeros(1, dtype=dtype, device=device, requires_grad=True) for _ in "xy")
    wp.launch(
        doubled, 1, [x], [y], adj_inputs=[None], adj_outputs=[wp.ones(1, dtype=dtype, device=device)], adjoint=True
    )
    wp.synchronize()
    line = capfd.readouterr().out
    shape = np.shape(x.numpy()[0])
    row = "[" + " ".join(["2"] * shape[-1]) + "]" if shape else "2"
    assert line == f"adj: {row if len(shape) < 2 else f'[{row} {row}]'}\n"


@wp.kernel
def first_ones(count: Ints, x: Floats, y: Floats):
    i = wp.tid()
    v = 2.0 * x[i]
    if wp.atomic_add(count, 0, 1) < 2:
        print(v)
    y[i] = v


@wp.kernel
def marked(count: Ints, x: Floats, y: Floats):
    i = wp.tid()
    v = 2.0 * x[i]
    count[count[i]] = 5
    if count[i] < 9:
        print(v)
    count[count[i]] = 9
    y[i] = v


@pytest.mark.parametrize(("kernel", "printed"), [(first_ones, [[1.0], [1.0]]), (marked, [])], ids=["kept", "lost"])
@devices
def test_a_print_makes_no_kernel_undifferentiable(kernel, printed, device, capfd):
    """What an atomic returned is kept; where a condition is lost, the gradient is there and nothing is printed."""
    with wp.ScopedDevice(device):
        count, x = wp.zeros(9, dtype=int), wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
        y = wp.zeros(3, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(kernel, 3, [count, x], [y])
        wp.synchronize()
        capfd.readouterr()
        tape.backward(grads={y: wp.ones(3, dtype=float)})
        np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0, 2.0])
    assert numbers(capfd.readouterr().out.splitlines()) == printed


def test_what_has_no_gradient_is_refused_with_a_print_as_without():
    @wp.kernel
    def order(x: Floats, y: Floats):
        i = wp.tid()
        print(x[i])
        y[i] = x[i] * wp.atomic_add(y, 0, x[i])

    x, y = (wp.ones(2, dtype=float, requires_grad=True) for _ in "xy")
    with wp.Tape() as tape, pytest.raises(NotDifferentiableError):
        wp.launch(order, 2, [x], [y])
        tape.backward(grads={y: wp.ones(2, dtype=float)})


@devices
def test_gradients_inside_of_kernels_print_nothing_more(device, capfd):
    @wp.kernel
    def slope(x: Floats, y: Floats):
        dv, de = wp.grad(cubed)(x[0], 0.0)
        y[0] = dv + de

    y = wp.zeros(1, dtype=float, device=device)
    wp.launch(slope, 1, [wp.array([2.0], dtype=float, device=device)], [y], device=device)
    assert y.numpy()[0] == 24.0
    assert "adj" not in capfd.readouterr().out


# ----- loops: the oracle has a number for every iteration ------------------------------------------------


@wp.kernel
def reduced(x: Floats, n: Ints, e: Floats, y: Floats):
    s = float(0.0)
    for k in range(n[0]):
        v = x[0] * float(k + 1)
        print(v)
        v = v + e[k]
        s = s + wp.sin(v)
    y[0] = s


@wp.kernel
def recurrent(x: Floats, n: Ints, e: Floats, y: Floats):
    v = x[0]
    for k in range(n[0]):
        print(v)
        v = v + e[k]
        v = 0.9 * wp.sin(v) + 0.1
    y[0] = v


@wp.kernel
def awhile(x: Floats, n: Ints, e: Floats, y: Floats):
    v, k = x[0], int(0)
    while k < n[0]:
        if k == 2:
            k = k + 1
            continue
        print(v)
        v = v + e[k]
        v = v * wp.cos(v)
        k = k + 1
    y[0] = v


@wp.kernel
def nested(x: Floats, n: Ints, e: Floats, y: Floats):
    s = float(0.0)
    for a in range(n[0]):
        v = x[0] + float(a)
        for b in range(n[0]):
            if b > a:
                break
            w = v * float(b + 1)
            print(w)
            w = w + e[a * n[0] + b]
            s = s + w * w
    y[0] = s


@wp.kernel
def left_early(x: Floats, n: Ints, e: Floats, y: Floats):
    s = float(0.0)
    for k in range(10):
        v = x[0] * float(k)
        if k == n[0]:
            y[0] = s
            return
        print(v)
        v = v + e[k]
        s = s + v * v * v


@pytest.mark.parametrize(
    ("kernel", "printed"),
    [
        (reduced, [0, 1, 2, 3]),
        (recurrent, [0, 1, 2, 3]),
        (awhile, [0, 1, 3]),
        (left_early, [0, 1, 2, 3]),
        (nested, [0, 4, 5, 8, 9, 10, 12, 13, 14, 15]),
    ],
    ids=["reduction", "recurrence", "while", "return", "nested"],
)
@devices
def test_every_iteration_prints_its_own(kernel, printed, device, capfd):
    with wp.ScopedDevice(device):
        x = wp.array([0.7], dtype=float, requires_grad=True)
        e, y = wp.zeros(16, dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(kernel, 1, [x, wp.array([4], dtype=int), e], [y])
        wp.synchronize()
        capfd.readouterr()
        tape.backward(y)
        wp.synchronize()
    agree(capfd.readouterr().out.splitlines(), e.grad.numpy()[printed])
