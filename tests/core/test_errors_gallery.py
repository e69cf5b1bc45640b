"""One wrong kernel or launch a case: each must give the right class, place, caret and advice."""

import linecache  # noqa: I001 - a packed list of names below

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentCountError, ArgumentTypeError, DeviceError, DimensionError, KernelAttributeError
from warpsim.errors import KernelErrors, KernelLookupError, KernelNameError, KernelTypeError, LaunchError, ReadOnlyError
from warpsim.errors import RecursionNotSupportedError, UnassignedLocalError, UnsupportedSyntaxError, WarpsimError

Floats = wp.array(dtype=float)
COUNTER = 0
CASES = []


def wrong(cls, caret, *texts):
    """Register a kernel that cannot be compiled: its error, the source under the caret, words of the message."""
    return lambda f: CASES.append(pytest.param(wp.kernel(f), cls, caret, texts, id=f.__name__)) or f


def outside(caret, what, advice):
    """Register a kernel with Python from outside of the kernel language."""
    return wrong(UnsupportedSyntaxError, caret, f"{what} is not part of the kernel language\n", f"help: {advice}")


def floats(*shape):
    return wp.ones(shape or 4, dtype=float)


def undecorated(a):
    return a


@wp.struct
class Particle:
    mass: float


@wp.func
def countdown(a: float):
    return countdown(a - 1.0)


@wp.func
def ping(a: float):
    return pong(a)


@wp.func
def pong(a: float):
    return ping(a)


@wp.func
def inner_func(a: float):
    return a + wp.float64(1.0)


@wp.func
def outer_func(a: float):
    return inner_func(a)


@outside("[1.0, 2.0]", "a list", "use a vector wp.vec3(...) or a local array")
def use_list(x: Floats):
    values = [1.0, 2.0]
    x[wp.tid()] = values[0]


@outside('{"a": 1.0}', "a dict", "use a @wp.struct")
def use_dict(x: Floats):
    values = {"a": 1.0}
    x[wp.tid()] = values["a"]


@outside("[x[i] for i in range(4)]", "a list comprehension", "write a loop over a local array")
def use_list_comprehension(x: Floats):
    values = [x[i] for i in range(4)]
    x[0] = values[0]


@outside("t", "try/except", "kernels have no exceptions: test the condition first")
def use_try(x: Floats):
    try:
        x[0] = 1.0
    except ValueError:
        x[0] = 2.0


@outside("w", "with", "set resources up outside the kernel")
def use_with(x: Floats):
    with open("f"):
        x[0] = 1.0


@outside("c", "a class", "define a @wp.struct outside the kernel")
def use_class(x: Floats):
    class Local:
        pass

    x[0] = 1.0


@outside("import math", "import", "import at the top of the file")
def use_import(x: Floats):
    import math  # noqa: PLC0415

    x[0] = math.pi


@outside("global COUNTER", "global", "write to an array argument")
def use_global(x: Floats):
    global COUNTER
    COUNTER = 1
    x[0] = 1.0


@outside('f"{x[0]}"', "an f-string", "use print(a, b) or wp.printf")
def use_f_string(x: Floats):
    wp.print(f"{x[0]}")


@outside("(*pair, 3.0)", "unpacking with * outside the arguments of a call", "name the values one by one")
def use_star(x: Floats):
    pair = (1.0, 2.0)
    x[0] = (*pair, 3.0)[2]


@outside("x[0] is x[1]", "`is`", "compare with ==")
def use_is(x: Floats):
    if x[0] is x[1]:
        x[0] = 2.0


@outside("x[0] in x", "`in`", "write a loop")
def use_in(x: Floats):
    if x[0] in x:
        x[0] = 2.0


@outside("w", "else on a loop", "set a flag before `break` and test it after the loop")
def use_while_else(x: Floats):
    while x[0] < 1.0:
        x[0] += 1.0
    else:
        x[0] = 2.0


@outside("m", "match", "use if/elif")
def use_match(x: Floats):
    match int(x[0]):
        case 0:
            x[0] = 2.0


@wrong(KernelNameError, "velocty", "name 'velocty' is not defined", "help: did you mean 'velocity'?")
def misspelt_local(x: Floats):
    velocity = x[0]  # noqa: F841
    x[0] = velocty * 2.0  # noqa: F821


@wrong(KernelAttributeError, "wp.sqr", "module 'warpsim' has no attribute 'sqr'", "help: did you mean 'sqrt'?")
def misspelt_builtin(x: Floats):
    x[0] = wp.sqr(x[0])


@wrong(
    KernelNameError, "zzzqqq", "name 'zzzqqq' is not defined",
    "help: define it before the kernel, or pass it as an argument",
)  # fmt: skip
def unknown_name(x: Floats):
    x[0] = zzzqqq  # noqa: F821


@wrong(
    KernelTypeError, "w", "'total' changes its type in a loop", "found: float32", "expected: int32",
    "help: start it as float(...)",
)  # fmt: skip
def changed_type_dynamic(x: Floats):
    total = 0
    while total < 3:
        total = 1.5
    x[0] = float(total)


@wrong(
    UnassignedLocalError, "y", "'y' is a local of this function and has no value yet",
    "help: assign 'y' before, or use another name",
)  # fmt: skip
def unassigned_at_all(x: Floats):
    x[0] = y  # noqa: F821
    y = 1.0  # noqa: F841


@wrong(KernelTypeError, "return x[0]", "a kernel returns nothing", "help: write the result to an array argument")
def returns_value(x: Floats):
    return x[0]


@wrong(
    KernelTypeError, "x[0] + wp.float64(1.0)", "add: no overload for (float32, float64)\n",
    "help: scalar types do not mix silently: convert one side, for example wp.float64(x)",
)  # fmt: skip
def mixed_scalars(x: Floats):
    x[0] = x[0] + wp.float64(1.0)


@wrong(
    KernelTypeError, "i * x[0]", "mul: no overload for (int32, float32)",
    "help: scalar types do not mix silently: convert one side, for example float(n)",
)  # fmt: skip
def int_plus_float(x: Floats):
    i = wp.tid()
    x[0] = i * x[0]


@wrong(KernelTypeError, "x[0]", "the value stored is vec3f, not float32", "found: vec3f", "expected: float32")
def store_wrong_type(x: Floats):
    x[0] = wp.vec3(1.0, 2.0, 3.0)


@wrong(
    KernelTypeError, "wp.tid() + 5000000000", "5000000000 does not fit int32",
    "expected: a number from -2147483648 to 2147483647", "help: convert it: wp.int64(...)",
)  # fmt: skip
def too_large_literal(x: Floats):
    i = wp.tid() + 5000000000
    x[i] = 1.0


@wrong(KernelTypeError, "wp.uint8(300.0)", "300.0 does not fit uint8", "expected: a number from 0 to 255")
def too_large_cast(x: Floats):
    i = wp.uint8(300.0)
    x[int(i)] = 1.0


@wrong(KernelTypeError, "x[1.5]", "array index is 1.5 (float32)", "expected: an integer")
def float_index(x: Floats):
    x[1.5] = 1.0


@wrong(KernelTypeError, "x[x[0]]", "array index is float32", "expected: an integer", "help: int(...)")
def float_index_var(x: Floats):
    x[x[0]] = 1.0


@wrong(KernelAttributeError, "p.mas", "struct Particle has no field 'mas'", "expected: mass")
def unknown_field(x: Floats):
    p = Particle()
    x[0] = p.mas


@wrong(KernelLookupError, "v[3]", "component 3 of vec3f", "expected: 0 to 2")
def wrong_component(x: Floats):
    v = wp.vec3(1.0, 2.0, 3.0)
    x[0] = v[3]


@wrong(KernelTypeError, "x[0, 1]", "array(float32, ndim=1) takes 1 index, got 2")
def too_many_subscripts(x: Floats):
    x[0, 1] = 1.0


@wrong(
    KernelTypeError, "undecorated(x[0])", "'undecorated' is a Python function",
    "expected: a function made by @wp.func", "help: decorate 'undecorated' with @wp.func",
)  # fmt: skip
def plain_function(x: Floats):
    x[0] = undecorated(x[0])


@wrong(KernelTypeError, "np.sin(x[0])", "NumPy's 'sin' does not run in kernels", "help: use wp.sin")
def numpy_function(x: Floats):
    x[0] = np.sin(x[0])


@wrong(
    KernelTypeError,
    "wp.sin(x[0], 2.0)",
    "sin: no overload for (float32, float literal)",
    "expected: one of sin(x: Float)",
)
def wrong_count(x: Floats):
    x[0] = wp.sin(x[0], 2.0)


@wrong(
    RecursionNotSupportedError, "countdown(a - 1.0)", "'countdown' calls itself", "in countdown",
    "help: write a loop, or an explicit stack in a local array", "called from ", "in direct_recursion",
)  # fmt: skip
def direct_recursion(x: Floats):
    x[0] = countdown(x[0])


@wrong(RecursionNotSupportedError, "ping(a)", "'ping' calls itself", "in pong", "in ping", "in mutual_recursion")
def mutual_recursion(x: Floats):
    x[0] = ping(x[0])


@wrong(
    KernelTypeError, "a + wp.float64(1.0)", "in inner_func", "in outer_func", "    return inner_func(a)",
    "in fault_in_func", "    x[0] = outer_func(x[0])",
)  # fmt: skip
def fault_in_func(x: Floats):
    x[0] = outer_func(x[0])


@wp.kernel
def two_faults(x: Floats):
    x[0] = wp.sqr(x[0])
    x[1] = np.sin(x[1])


@pytest.mark.parametrize(("kernel", "cls", "caret", "texts"), CASES)
def test_wrong_kernel(kernel, cls, caret, texts):
    with pytest.raises(cls) as caught:
        wp.launch(kernel, dim=4, inputs=[floats()])
    error, message = caught.value, str(caught.value)
    assert type(error) is cls
    place = error.location
    line = linecache.getline(__file__, place.line).rstrip()
    column = line.index(caret, place.column)
    assert column == place.column
    assert f"--> {__file__}:{place.line}:{column + 1} in " in message
    gutter = " " * len(str(place.line))
    assert f"{place.line} | {line}\n{gutter} | {' ' * column}{'^' * len(caret)}" in message
    at = -1
    for text in texts:  # in this order
        at = message.find(text, at + 1)
        assert at >= 0, f"{text!r} is missing in:\n{message}"


def test_errors_of_one_kernel_are_reported_at_once():
    with pytest.raises(KernelErrors) as caught:
        wp.launch(two_faults, dim=4, inputs=[floats()])
    assert [type(e) for e in caught.value.errors] == [KernelAttributeError, KernelTypeError]
    message = str(caught.value)
    assert "did you mean 'sqrt'?" in message and "help: use wp.sin" in message
    assert message.count(f"--> {__file__}:") == 2


@wp.kernel
def scale(x: Floats, a: float):
    x[wp.tid()] = x[wp.tid()] * a


@wp.kernel
def fill(x: Floats, n: int):
    x[wp.tid()] = float(n)


@wp.kernel
def two_d(x: Floats):
    i, j = wp.tid()
    x[i] = float(j)


@wp.kernel
def too_far(x: Floats):
    x[wp.tid() + 2] = 1.0


@wp.kernel
def asserts(x: Floats):
    assert wp.tid() < 2, "too big"


def test_a_broken_kernel_does_not_block_another():
    with pytest.raises(KernelErrors):
        wp.launch(two_faults, dim=4, inputs=[floats()])
    x = floats()
    wp.launch(scale, dim=4, inputs=[x, 3.0])
    np.testing.assert_array_equal(x.numpy(), 3.0)


def read_only():
    data = np.ones(4, dtype=np.float32)
    data.flags.writeable = False
    return data


ONE_D = "expected: array(float32, ndim=1)"
LAUNCHES = {
    "dtype": (scale, 4, [wp.ones(4, dtype=int), 1.0], ArgumentTypeError, "'x' of kernel 'scale' is array(int32", ONE_D),
    "rank": (scale, 4, [floats(2, 2), 1.0], ArgumentTypeError, "kernel 'scale' is array(float32, ndim=2)", ONE_D),
    "numpy dtype": (scale, 4, [np.ones(4), 1.0], ArgumentTypeError, "'x' of kernel 'scale' is ndarray of", ONE_D),
    "text": (scale, 4, ["text", 1.0], ArgumentTypeError, "'x' of kernel 'scale' is str", ONE_D),
    "list": (scale, 4, [[1.0], 1.0], ArgumentTypeError, "'x' of kernel 'scale' is list", ONE_D),
    "number": (scale, 4, [3.0, 1.0], ArgumentTypeError, "'x' of kernel 'scale' is float", ONE_D),
    "text scalar": (scale, 4, [floats(), "t"], ArgumentTypeError, "'a' of kernel 'scale' is 't' (str)", "float32"),
    "None": (scale, 4, [floats(), None], ArgumentTypeError, "'a' of kernel 'scale' is None", "expected: float32"),
    "array scalar": (scale, 4, [floats(), floats()], ArgumentTypeError, "'a' of kernel 'scale' is array(", "float32"),
    "float as int": (fill, 4, [floats(), 1.5], ArgumentTypeError, "'n' of kernel 'fill' is 1.5", "expected: int32"),
    "large int": (fill, 4, [floats(), 2**40], ArgumentTypeError, "'n' of kernel 'fill' is 1099511627776", "int32"),
    "read-only": (scale, 4, [read_only(), 1.0], ReadOnlyError, "'x' of kernel 'scale' is read-only", "pass a copy"),
    "too few": (scale, 4, [floats()], ArgumentCountError, "kernel 'scale' got 1 argument", "expected: 2: x, a"),
    "too many": (scale, 4, [floats(), 1.0, 2.0], ArgumentCountError, "kernel 'scale' got 3", "expected: 2: x, a"),
    "negative": (scale, (2, -3), [floats(), 1.0], DimensionError, "dimension -3 of kernel 'scale'", "0 to 2**31"),
    "huge": (two_d, (2**31 - 1,) * 3, [floats()], DimensionError, f"{(2**31 - 1) ** 3} threads", "fewer than 2**63"),
    "long": (scale, (0, 2**40), [floats(), 1.0], DimensionError, "launch dimension 1099511627776", "0 to 2**31 - 1"),
    "no dims": (scale, (), [floats(), 1.0], DimensionError, "over 0 dimensions", "help: dim=1 runs one thread"),
    "fraction": (scale, 2.5, [floats(), 1.0], DimensionError, "launch dimensions 2.5", "expected: an integer"),
    "five dims": (scale, (1,) * 5, [floats(), 1.0], DimensionError, "over 5 dimensions", "expected: 1 to 4"),
    "not a kernel": (undecorated, 4, [floats()], LaunchError, "is not a kernel", "help: decorate", "@wp.kernel"),
}
OF_THE_HOST = {"numpy dtype", "list", "read-only"}  # what a launch on the CPU alone takes, or nearly


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.cpu] * (n in OF_THE_HOST)) for n in LAUNCHES])
def test_wrong_launch(name):
    kernel, dim, inputs, cls, *texts = LAUNCHES[name]
    with pytest.raises(cls) as caught:
        wp.launch(kernel, dim=dim, inputs=[a.to(wp.get_device()) if isinstance(a, wp.array) else a for a in inputs])
    assert [text for text in texts if text not in str(caught.value)] == []


@pytest.mark.parametrize(("device", "text"), [("cuda", "device 'cuda' is not available"), ("x", "unknown device 'x'")])
@pytest.mark.skipif(wp.is_cuda_available(), reason="has a GPU")
def test_wrong_device(device, text):
    with pytest.raises(DeviceError, match=text) as caught:
        wp.launch(scale, dim=4, inputs=[floats(), 1.0], device=device)
    assert "expected: cpu, interp" in str(caught.value)


def test_misspelt_switches():
    with pytest.raises(WarpsimError, match=r"config has no switch 'verfy'\nexpected: one of .*verify"):
        wp.config.verfy = True
    with pytest.raises(ValueError, match=r"unknown option 'enable_backwards'\nexpected: .*enable_backward"):
        wp.set_module_options({"enable_backwards": False})


def test_assertion_names_its_place_and_thread():
    with pytest.raises(AssertionError) as caught:
        wp.launch(asserts, dim=3, inputs=[floats()])
        wp.synchronize()
    message = str(caught.value)
    assert message.startswith("too big\n") and f"--> {__file__}:" in message
    assert '|     assert wp.tid() < 2, "too big"' in message and "in kernel 'asserts', thread 2" in message


def test_out_of_bounds_names_array_index_and_thread(monkeypatch):
    monkeypatch.setattr(wp.config, "verify", True)
    with pytest.raises(IndexError) as caught:
        wp.launch(too_far, dim=3, inputs=[floats()])
    message = str(caught.value)
    assert "index 4 is outside axis 0 of x of length 4" in message and f"--> {__file__}:" in message
    assert "|     x[wp.tid() + 2] = 1.0\n" in message
    assert "in kernel 'too_far', thread 2" in message
