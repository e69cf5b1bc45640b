"""Functions of kernels that are called outside of them: what has a value there gives it, the rest says why not."""

from collections.abc import Mapping

import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, KernelTypeError, instance


@pytest.mark.parametrize(
    "call",
    [
        lambda: wp.tid(), lambda: wp.block_dim(), lambda: wp.atomic_add(),
        lambda: wp.atomic_add(wp.zeros(3), 0, 1.0), lambda: wp.load(wp.zeros(3), 0),
        lambda: wp.store(wp.zeros(3), 0, 1.0), lambda: wp.atomic_cas(1),
    ],
)  # fmt: skip
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
        ((3,), "is a constant format string"), (("%s", 1), "printf does not know '%s'"),
        (("%d",), "1 conversions for 0 values"), (("%d", 1.5), "shows float32 with %d"),
        (("%f", wp.vec3()), "shows vec3f with %f"),
    ],
)  # fmt: skip
def test_printf_refuses_what_kernels_refuse(values, words):
    with pytest.raises(KernelTypeError, match=words):
        wp.printf(*values)


def test_an_atomic_without_arguments_in_a_kernel():
    @wp.kernel
    def bare():
        wp.atomic_add()

    with pytest.raises(KernelTypeError, match=r"atomic_add: no overload for \(\)"):
        wp.launch(bare, 1)


def test_an_abstract_class_is_named_by_what_it_is():
    with pytest.raises(ArgumentTypeError, match=r"labels is 3 \(int\)\nexpected: a mapping$"):
        instance(3, Mapping, "labels")
