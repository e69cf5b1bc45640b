"""Functions of kernels that are called outside of them: what has a value there gives it, the rest says why not."""

from collections.abc import Mapping

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.ops.registry import TABLE
from warpsim.errors import ArgumentTypeError, KernelTypeError, instance


@pytest.mark.parametrize(
    "call",
    [
        lambda: wp.tid(),
        lambda: wp.block_dim(),
        lambda: wp.atomic_add(),
        lambda: wp.atomic_add(wp.zeros(3), 0, 1.0),
        lambda: wp.load(wp.zeros(3), 0),
        lambda: wp.store(wp.zeros(3), 0, 1.0),
        lambda: wp.atomic_cas(1),
    ],
)
def test_what_needs_a_thread_or_memory(call):
    with pytest.raises(TypeError, match=r"wp\.\w+ works inside kernels only\nhelp: launch a kernel"):
        call()


@wp.func
def kind(x: float):
    return x + 0.5


@wp.func
def kind(x: int):  # noqa: F811 - an overload
    return x + 2


@wp.func
def kind(x: float, y: int):  # noqa: F811 - an overload
    return x + 0.25


@wp.func
def kind(x: int, y: float):  # noqa: F811 - an overload
    return x + 3


@wp.kernel
def kinds(out: wp.array[float]):
    out[0], out[1] = float(kind(1)), float(kind(1.0))
    out[2], out[3] = float(kind(1, 1)), float(kind(1, 1.0))


def test_overloads_are_chosen_as_in_kernels():
    out = wp.zeros(4, dtype=float)
    wp.launch(kinds, 1, inputs=[out])
    assert [kind(1), kind(1.0), kind(1, 1), kind(1, 1.0)] == out.list() == [3, 1.5, 1.25, 4]


@wp.kernel
def tell(n: int):
    wp.printf("%s has %d of %5s%%\n", "100% sure", n, "x")


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_printf_shows_constant_texts(device, capfd):
    wp.launch(tell, 1, inputs=[7], device=device)
    wp.synchronize()
    wp.printf("%s has %d of %5s%%\n", "100% sure", 7, "x")
    assert capfd.readouterr().out.splitlines() == 2 * ["100% sure has 7 of     x%"]


def test_printf_shows_what_kernels_show(capfd):
    wp.printf("%d of %5.2f, %u%%\n", 3, 2.5, wp.uint8(7))
    assert capfd.readouterr().out == "3 of  2.50, 7%\n"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((3,), "is a constant format string"),
        (("%s", 1), "printf does not know '%s'"),
        (("%d",), "1 conversion for 0 values"),
        (("%d", 1.5), "shows float32 with %d"),
        (("%f", wp.vec3()), "shows vec3f with %f"),
    ],
)
def test_printf_refuses_what_kernels_refuse(values, words):
    with pytest.raises(KernelTypeError, match=words):
        wp.printf(*values)


@pytest.mark.parametrize("values", [wp.zeros(3, dtype=float), np.zeros(3)])
def test_an_array_in_place_of_a_number_is_sent_to_map(values):
    with pytest.raises(KernelTypeError, match=r"help: .*wp\.map\(wp\.sin, a\) takes the elements of arrays"):
        wp.sin(values)


def test_an_atomic_without_arguments_in_a_kernel():
    @wp.kernel
    def bare():
        wp.atomic_add()

    with pytest.raises(KernelTypeError, match=r"atomic_add: no overload for \(\)"):
        wp.launch(bare, 1)


def test_an_abstract_class_is_named_by_what_it_is():
    with pytest.raises(ArgumentTypeError, match=r"labels is 3 \(int\)\nexpected: a mapping$"):
        instance(3, Mapping, "labels")


@wp.kernel
def by_keywords(x: wp.array(dtype=float), v: wp.vec3, q: wp.quat):
    x[0] = wp.min(b=2.0, a=3.0)
    x[1] = wp.dot(a=v, b=wp.normalize(a=v))
    x[2] = wp.length(a=wp.quat_rotate(vec=v, quat=q))
    x[3] = wp.where(cond=x[0] > 2.5, value_if_true=1.0, value_if_false=2.0)
    x[4] = wp.select(value_if_false=5.0, value_if_true=6.0, cond=False)
    x[5] = wp.trace(wp.diag(vec=v)) + float(wp.lshift(a=1, b=3))
    x[6] = wp.norm_huber(v=v, delta=0.5)


def test_keywords_are_those_of_warp():
    v, q = wp.vec3(2.0, 3.0, 6.0), wp.quat_from_axis_angle(wp.vec3(1.0, 0.0, 0.0), 0.3)
    x = wp.zeros(7, dtype=float)
    wp.launch(by_keywords, 1, inputs=[x, v, q])
    on_the_host = [
        wp.min(b=2.0, a=3.0),
        wp.dot(a=v, b=wp.normalize(a=v)),
        wp.length(a=wp.quat_rotate(vec=v, quat=q)),
        wp.where(cond=False, value_if_true=1.0, value_if_false=2.0),
        wp.select(value_if_false=5.0, value_if_true=6.0, cond=False),
        wp.trace(wp.diag(vec=v)) + wp.lshift(a=1, b=3),
        wp.norm_huber(v=v, delta=0.5),
    ]
    assert x.numpy().tolist() == pytest.approx([2, 7, 7, 2, 5, 19, 3.375], rel=1e-5)
    assert x.numpy().tolist() == pytest.approx(on_the_host, rel=1e-5)
    assert wp.div(a=wp.vec3(2.0, 4.0, 6.0), b=2.0) == wp.vec3(1.0, 2.0, 3.0)
    assert wp.max(a=v) == 6.0
    with pytest.raises(KernelTypeError, match="min"):
        wp.min(a=1.0, c=2.0)


MIXED = [
    ((wp.float32, wp.int32), "float(n)"),
    ((wp.int64, wp.float32), "float(n)"),
    ((wp.float32, wp.float64), "wp.float64(x)"),
    ((wp.int32, wp.int64), "wp.int64(n)"),
    ((wp.int32, wp.int8), "int(n)"),
    ((wp.int32, wp.uint32), "wp.uint32(n)"),
    ((wp.vec3, wp.int32), "float(n)"),
    ((wp.vec3, wp.float64), "float(x)"),
    ((wp.vec3d, wp.float32), "wp.float64(x)"),
    ((wp.vec3, wp.vec3d), "wp.vec3d(v)"),
    ((wp.vec3i, wp.float32), "wp.vec3f(v)"),
    ((wp.bfloat16, wp.int32), "wp.bfloat16(n)"),
]


@pytest.mark.parametrize("types, cure", MIXED, ids=repr)
def test_types_that_do_not_mix_are_told_which_conversion_lets_them(types, cure):
    for order in (types, types[::-1]):
        with pytest.raises(KernelTypeError) as caught:
            TABLE["mul"].find(list(order))
        assert caught.value.help.endswith(f"for example {cure}")


@pytest.mark.parametrize("op", TABLE.values(), ids=lambda op: op.name)
def test_no_overload_is_offered_twice(op):
    offered = [text.partition("(")[2] for text in op.signatures()]
    types = [tuple(part.partition(": ")[2] for part in text.split(", ")) for text in offered]
    assert len(set(types)) == len(types)
