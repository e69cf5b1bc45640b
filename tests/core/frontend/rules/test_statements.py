"""Statements: assignment in all its forms, assertions, early returns and what they leave behind."""

import numpy as np
import pytest
from kernel_runs import filled, like_python, ran, refused

import warpsim as wp
from warpsim.errors import KernelAssertionError, KernelTypeError, UnassignedLocalError, UnsupportedSyntaxError

Ints = wp.array(dtype=int)
Floats = wp.array(dtype=float)


# ----- assignment ---------------------------------------------------------------------------


@wp.kernel
def assignments(out: Floats):
    a = b = 2.0
    a += 1.0
    c, d = a, b
    c, d = d, c
    (e, f), g = (c, d), 7
    h: float = 3
    k: int = g
    out[0], out[1] = c, d
    out[2] = out[3] = e + f
    out[4] = h + float(k)
    out[5] = a


def test_assignments():
    like_python(assignments, 1, np.zeros(6, np.float32))


@wp.kernel
def unpacking(out: Floats, v: wp.vec3, m: wp.mat22):
    x, y, z = v
    row, other = m
    (a, b), c = row, other[1]
    out[0] = x + 10.0 * y + 100.0 * z
    out[1] = a + 10.0 * b + 100.0 * c
    v.x, v.y = v.y, v.x
    out[2] = v.x + 10.0 * v.y


def test_vectors_and_matrices_unpack():
    assert filled(unpacking, 3, wp.vec3(1, 2, 3), wp.mat22(4, 5, 6, 7), threads=1) == [321, 754, 12]


@wp.kernel
def augmented(out: Ints, x: Ints):
    i = wp.tid()
    a = x[i]
    a += 3
    a -= 1
    a *= 5
    a //= 2
    a &= 0xFF
    a |= 0x100
    a ^= 3
    a <<= 2
    a >>= 1
    a **= 2
    out[i] = a
    out[i] += 7
    out[i] -= 2
    out[i] *= 3
    out[i] //= 2
    out[i] ^= 1


def test_augmented_assignments():
    like_python(augmented, 4, np.zeros(4, np.int32), np.array([1, -5, 100, 7], np.int32))


@wp.kernel
def shared_sum(total: Ints, floats: Floats, x: Ints):
    i = wp.tid()
    total[0] += x[i]
    total[1] -= 1
    floats[i % 2] += float(x[i])


def test_adding_to_an_element_is_atomic():
    """Launched over many threads on all cores, nothing is lost."""
    n = 200_000
    total, floats = wp.zeros(2, dtype=int), wp.zeros(2, dtype=float)
    x = wp.array(np.arange(n) % 7, dtype=int)
    wp.launch(shared_sum, dim=n, inputs=[total, floats, x])
    values = np.arange(n) % 7
    assert total.numpy().tolist() == [values.sum(), -n]
    assert floats.numpy().tolist() == [values[::2].sum(), values[1::2].sum()]


@wp.kernel
def order_of_evaluation(out: Floats, states: wp.array(dtype=wp.uint32)):
    s = wp.rand_init(3)
    first = wp.randi(s, 0, 4)
    second = wp.randf(s)
    s = wp.rand_init(3)
    out[wp.randi(s, 0, 4)] += wp.randf(s)
    out[first] -= second
    out[4] = wp.randf(states[0])
    out[5] = wp.randf(states[0])
    states[1] = s


def test_targets_are_evaluated_once_and_before_the_value():
    out, states = ran(order_of_evaluation, 1, np.zeros(6, np.float32), np.array([9, 0], np.uint32))
    assert out[:4].tolist() == [0, 0, 0, 0]
    assert out[4] != out[5]
    assert states[0] != 9


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("a, b = wp.vec3()", KernelTypeError, "2 names for 3 values"),
        ("a, b = 1.0", KernelTypeError, "1.0 (float32) cannot be unpacked"),
        ("a, b = out", KernelTypeError, "array(float32, ndim=1) cannot be unpacked"),
        ("x: int = 2.5", KernelTypeError, "the value is float32, not int32"),
        ("x: float", UnsupportedSyntaxError, "a declaration without a value"),
        ("x = None", KernelTypeError, "None is not a value of the kernel language"),
        ("x = wp.printf('a')", KernelTypeError, "wp.printf returns nothing that could be assigned"),
        ("out[0] = 'text'", KernelTypeError, "text 'text' has no value at run time"),
        ("out[0] = wp.vec3()", KernelTypeError, "the value stored is vec3f, not float32"),
        ("out[0] += 1 + wp.tid()", KernelTypeError, "the value added is int32, not float32"),
    ],
)
def test_wrong_assignments(body, kind, message):
    error = refused(body)
    assert (type(error), error.message) == (kind, message)


# ----- assertions ---------------------------------------------------------------------------


@wp.kernel
def asserting(x: Ints, limit: int):
    i = wp.tid()
    assert limit > 0
    if i < limit:
        assert x[i] >= 0, "negative"
    x[i] += 1
    if i > 100:
        assert False, "never"  # noqa: B011 - kernels keep assertions


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize(
    ("x", "limit", "message"), [([1, 2, 3], 3, ""), ([1, -2, 3], 3, "negative"), ([1, -2, 3], 0, "limit > 0")]
)
def test_assertions(x, limit, message, device):
    array = wp.array(x, dtype=int, device=device)
    if not message:
        wp.launch(asserting, dim=3, inputs=[array, limit], device=device)
        assert array.numpy().tolist() == [2, 3, 4]
        return
    with pytest.raises(KernelAssertionError, match=message) as caught:
        wp.launch(asserting, dim=3, inputs=[array, limit], device=device)
        wp.synchronize_device(device)
    assert "test_statements.py" in str(caught.value)
    assert "in asserting" in str(caught.value)


def test_the_message_of_an_assertion_is_constant_text():
    error = refused("assert wp.tid() > 0, out[0]")
    assert (type(error), error.message) == (KernelTypeError, "the message of an assertion is not text")


# ----- early return -------------------------------------------------------------------------


@wp.kernel
def early_returns(out: Ints, n: int):
    i = wp.tid()
    if i >= n:
        return
    out[i] += 1
    if i == 2:
        out[i] += 10
        return
    elif i == 3:
        if n > 4:
            return
        out[i] += 100
    else:
        out[i] += 1000
        if i == 0:
            return
        out[i] += 10000
    out[i] += 100000


@pytest.mark.parametrize("n", [0, 3, 4, 6])
def test_early_returns_of_a_kernel(n):
    like_python(early_returns, 6, np.zeros(6, np.int32), n)


@wp.func
def classified(x: int, a: bool, b: bool):
    if x < 0:
        return -1
    if a:
        if b:
            if x == 3:
                return 33
            y = x * 2
        else:
            return 5
        y += 1
    else:
        y = -x
        if b:
            return y
        z = y * 10
        y = z
    return y + 1000


@wp.kernel
def classify(out: Ints):
    i = wp.tid()
    out[i] = classified(i // 4 - 1, i % 2 == 1, (i // 2) % 2 == 1)


def test_early_returns_of_a_function():
    """Names that are assigned where the function was not left yet are assigned, however deep the returns stand."""
    like_python(classify, 24, np.zeros(24, np.int32))


@wp.func
def both_ways(x: float):
    if x > 1.0:
        return x, 1
    else:
        return -x, 2


@wp.func
def mixed_literals(x: float):
    if x > 2.0:
        return 0
    if x > 1.0:
        return 1
    return x


@wp.kernel
def returns_of_functions(out: Floats):
    i = wp.tid()
    a, n = both_ways(float(i))
    out[i] = a * 10.0 + float(n) + mixed_literals(float(i) * 0.75)


def test_returns_on_both_sides_and_of_literals():
    like_python(returns_of_functions, 4, np.zeros(4, np.float32))


@wp.kernel
def dead_code(out: Ints):
    i = wp.tid()
    out[i] = 1
    for _ in range(3):
        if i == 0:
            break
            out[i] = 100
        continue
        out[i] = 200
    if i < 100:
        return
    else:
        return
    out[i] = 300


def test_code_after_leaving_is_not_run():
    assert filled(dead_code, 2, dtype=np.int32) == [1, 1]


def test_many_early_returns_are_one_statement_list():
    returns = "\n".join(f"if wp.tid() == {k}:\n    return" for k in range(1, 60))
    from_text = f"{returns}\nout[0] = 1.0"
    with pytest.raises(pytest.fail.Exception):  # no error
        refused(from_text)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = x\nx = 1.0", "'x' is a local of this function and has no value yet"),
        ("N += 1\nout[0] = float(N)", "'N' is a local of this function and has no value yet"),
    ],
)
def test_locals_without_a_value(body, message):
    """N is a constant of the module: inside it would be a local, as Python has it."""
    error = refused(body, N=3)
    assert (type(error), error.message) == (UnassignedLocalError, message)


def test_a_local_with_two_types():
    error = refused("x = 1.0\nif wp.tid() > 0:\n    x = wp.vec3()\nout[0] = x")
    assert (type(error), error.message) == (
        KernelTypeError,
        "'x' has no single type here: it is vec3f on one path and float32 on the other",
    )
    assert error.help == "use another name for one of them, or convert"


def test_a_kernel_returns_nothing():
    error = refused("return 5")
    assert (type(error), error.message) == (KernelTypeError, "a kernel returns nothing")
    assert error.help == "write the result to an array argument"


# ----- nested functions as statements -------------------------------------------------------


@wp.kernel
def defines_functions(out: Floats):
    i = wp.tid()
    scale = float(i)

    def scaled(x, by=2.0, *, plus=0.5):
        """Nested functions have defaults, keywords and text."""
        if x > 2.0:
            return scale * by
        return x * by + plus

    scale += 1.0
    out[i] = scaled(1.0) + scaled(3.0, 10.0) + scaled(x=0.0, plus=100.0)
    scale = 1000.0
    out[i] += scaled(5.0, by=1.0)


def test_nested_functions_see_variables_as_they_are_when_called():
    like_python(defines_functions, 3, np.zeros(3, np.float32))


def test_a_decorated_function_inside_is_refused():
    error = refused("@wp.func\ndef f(x: float):\n    return x")
    assert (type(error), error.message) == (UnsupportedSyntaxError, "a decorated function inside a kernel")
