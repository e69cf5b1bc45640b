"""Calls of built-in functions by keyword: every overload, in kernels and on the host, as by position."""

import numpy as np
import pytest
from kernel_runs import module, refused

import warpsim as wp

M33 = "wp.mat33(2.0, 0.1, 0.0, 0.1, 2.0, 0.0, 0.0, 0.0, 3.0)"
M44 = "wp.mat44(1.0, 0.0, 0.0, 4.0, 0.0, 1.0, 0.0, 5.0, 0.0, 0.0, 1.0, 6.0, 0.0, 0.0, 0.0, 1.0)"
Q, V3, W3 = "wp.quat(0.0, 0.0, 0.6, 0.8)", "wp.vec3(0.1, 0.2, 0.3)", "wp.vec3(4.0, 5.0, 6.0)"
SEED = "wp.uint32(7)"

ON_HOST_TOO = [
    ("sin", {"x": "0.5"}), ("clamp", {"x": "2.0", "low": "0.0", "high": "1.0"}), ("erfinv", {"x": "0.5"}),
    ("min", {"a": "1.0", "b": "2.0"}), ("max", {"a": V3}), ("cross", {"a": V3, "b": W3}), ("svd3", {"A": M33}),
    ("qr3", {"A": M33}), ("eig3", {"A": M33}), ("inverse", {"a": M33}),
    ("transform_point", {"xform": "wp.transform(wp.vec3(1.0, 2.0, 3.0), " + Q + ")", "point": V3}),
    ("transform_point", {"mat": M44, "point": V3}), ("transform_point", {"xform": M44, "point": V3}),
    ("transform_vector", {"mat": M44, "vec": V3}), ("quat_from_matrix", {"mat": M33}),
    ("quat_from_matrix", {"mat": M44}), ("quat_rotate", {"quat": Q, "vec": V3}),
    ("noise", {"state": SEED, "x": "0.3"}), ("noise", {"state": SEED, "xy": "wp.vec2(0.1, 0.2)"}),
    ("noise", {"state": SEED, "xyz": V3}), ("noise", {"state": SEED, "xyzt": "wp.vec4(0.1, 0.2, 0.3, 0.4)"}),
    ("pnoise", {"state": SEED, "xy": "wp.vec2(0.1, 0.2)", "px": "3", "py": "4"}),
    ("curlnoise", {"state": SEED, "xyz": V3}),
    ("where", {"cond": "True", "value_if_true": "1.0", "value_if_false": "2.0"}),
    ("quaternion", {"x": "1.0", "y": "2.0", "z": "3.0", "w": "4.0"}), ("quaternion", {"ijk": V3, "real": "0.5"}),
    ("quaternion", {"quat": Q}), ("transformation", {"p": V3, "q": Q}), ("transformation", {"p": V3}),
]  # fmt: skip
IN_KERNELS = [
    ("quat", {"x": "1.0", "y": "2.0", "z": "3.0", "w": "4.0"}),
    ("spatial_vector", {"w": V3, "v": W3}),
    ("spatial_vector", {n: f"{k}.0" for k, n in enumerate(("wx", "wy", "wz", "vx", "vy", "vz"))}),
    ("float64", {"a": "1.5"}),
    ("where", {"arr": "a", "value_if_true": "1.0", "value_if_false": "2.0"}),
    ("lower_bound", {"arr": "a", "value": "1.5"}),
    ("lower_bound", {"arr": "a", "arr_begin": "1", "arr_end": "3", "value": "1.5"}),
]


def by_position(name, named):
    return f"wp.{name}({', '.join(named.values())})"


def by_keyword(name, named):
    """Keywords in another order than the parameters."""
    return f"wp.{name}({', '.join(f'{n}={x}' for n, x in reversed(named.items()))})"


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize(("name", "named"), ON_HOST_TOO + IN_KERNELS)
def test_keywords_in_kernels(name, named, device, capfd):
    printed = [f"print({call(name, named)})" for call in (by_position, by_keyword)]
    body = "\n    ".join(printed)
    if name in ("svd3", "qr3", "eig3"):
        body = "\n    ".join(f"x = {call(name, named)}\n    print(x[0])" for call in (by_position, by_keyword))
    kernel = wp.kernel(module(f"def k(a: wp.array(dtype=float)):\n    {body}")["k"])
    a = wp.array([0.0, 1.0, 2.0, 3.0], dtype=float, device=device)
    capfd.readouterr()
    wp.launch(kernel, dim=1, inputs=[a], device=device)
    wp.synchronize()
    lines = capfd.readouterr().out.splitlines()
    middle = len(lines) // 2
    assert lines[:middle] == lines[middle:] != []


@pytest.mark.parametrize(("name", "named"), ON_HOST_TOO)
def test_keywords_on_the_host(name, named):
    assert repr(eval(by_keyword(name, named))) == repr(eval(by_position(name, named)))


ATOMICS = [(float, 1.0, "add", {"value": "2.0"}, 3.0), (float, 1.0, "sub", {"value": "2.0"}, -1.0)]
ATOMICS += [(int, 5, "min", {"value": "2"}, 2), (int, 5, "max", {"value": "7"}, 7), (int, 5, "exch", {"value": "7"}, 7)]
ATOMICS += [(int, 5, "cas", {"compare": "5", "value": "8"}, 8), (int, 5, "and", {"value": "4"}, 4)]
ATOMICS += [(int, 5, "or", {"value": "2"}, 7), (int, 5, "xor", {"value": "1"}, 4)]


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize(("dtype", "before", "name", "values", "after"), ATOMICS)
def test_atomics_by_keyword(dtype, before, name, values, after, device):
    t = "int" if dtype is int else "float"
    rest = ", ".join(f"{n}={x}" for n, x in reversed(values.items()))
    text = f"""
        def k(a: wp.array(dtype={t}), b: wp.array2d(dtype={t}), old: wp.array(dtype={t})):
            old[0] = wp.atomic_{name}({rest}, i=1, arr=a)
            old[1] = wp.atomic_{name}(b, 0, {rest}, j=2)
            old[2] = wp.atomic_{name}(arr=b[1:], {rest}, j=0, i=0)
    """
    a, b = wp.full(2, before, dtype=dtype, device=device), wp.full((2, 3), before, dtype=dtype, device=device)
    old = wp.zeros(3, dtype=dtype, device=device)
    wp.launch(wp.kernel(module(text)["k"]), dim=1, inputs=[a, b, old], device=device)
    assert old.list() == [before] * 3 and a.list() == [before, after]
    np.testing.assert_array_equal(b.numpy(), [[before, before, after], [after, before, before]])


def test_gradients_of_calls_by_keyword():
    text = """
        def k(a: wp.array(dtype=float), out: wp.array(dtype=float)):
            i = wp.tid()
            x = wp.quaternion(real=a[i], ijk=wp.vec3(a[i], 0.0, 0.0))
            wp.atomic_add(value=wp.quat_rotate(vec=wp.vec3(0.0, 1.0, 0.0), quat=x)[2], i=0, arr=out)
    """
    a, out = wp.array([0.5, -2.0], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(wp.kernel(module(text)["k"]), dim=2, inputs=[a], outputs=[out])
    tape.backward(out)
    assert a.grad.list() == [2.0, -8.0]  # z = 2 w x, and both are a


@pytest.mark.parametrize(
    "text",
    [
        "wp.quaternion(x=1.0, w=2.0)",
        "wp.spatial_vector(w=wp.vec3())",
        "wp.atomic_add(a, 0, vale=1.0)",
        "wp.atomic_add(arr=1.0, i=0, value=1.0)",
        "wp.noise(wp.uint32(1), abc=0.5)",
        "wp.float64(b=1.0)",
    ],
)
def test_unknown_keywords_are_refused(text):
    refused(f"x = {text}", "a: wp.array(dtype=float)")
