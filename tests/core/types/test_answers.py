"""Structs, kernels and functions that are made anew and dropped leave nothing behind, nor do caches about them."""

import gc
import os
import weakref
from typing import Any

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.launches import kernel as kernel_module
from warpsim.core.types.answers import kept_with, per_object, per_type
from warpsim.core.types.arrays import array_type
from warpsim.core.types.structs import numpy_dtype

ROUNDS = int(os.environ.get("WARPSIM_DROPPED_ROUNDS", "20"))


def new_struct():
    @wp.struct
    class Pair:
        a: float
        x: wp.array(dtype=float)

    return Pair


def line(**options):
    return wp.zeros(4, dtype=float, **options)


def pair_of(kind, **options):
    return kind(a=2.0, x=line(**options))


def reading(kind):
    @wp.kernel
    def read(s: kind, y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = wp.sin(s.x[i]) * s.a

    return read


@wp.kernel
def read_any(s: wp.array(dtype=Any), y: wp.array(dtype=float)):
    y[wp.tid()] = s[wp.tid()].a


@wp.func
def twice(s: Any):
    return s.a * 2.0


# ----- what is made and dropped -------------------------------------------------------------------


def a_struct():
    kind = new_struct()
    wp.launch(reading(kind), 4, [pair_of(kind), line()])


def an_array_of_structs():
    kind = new_struct()
    a = wp.zeros(4, dtype=kind)
    a[1:].fill_(kind(a=1.0))
    assert a.list()[1].a == 1.0 and wp.clone(a).numpy().dtype == numpy_dtype(kind)


def a_struct_in_a_struct():
    inner = new_struct()

    @wp.struct
    class Outer:
        first: inner
        v: wp.vec3

    @wp.kernel
    def read(s: wp.array(dtype=Outer), t: Outer, y: wp.array(dtype=float)):
        y[wp.tid()] = s[wp.tid()].first.a + t.first.x[0] + t.v[1]

    wp.launch(read, 4, [wp.zeros(4, dtype=Outer), Outer(first=pair_of(inner)), line()])


def a_gradient():
    kind = new_struct()
    s, y = pair_of(kind, requires_grad=True), line(requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(reading(kind), 4, [s, y])
    tape.backward(grads={y: wp.ones_like(y)})
    assert s.x.grad.numpy().tolist() == [2.0] * 4


def writes_without_gradient():
    @wp.kernel
    def grow(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[wp.tid()] = wp.exp(x[wp.tid()])

    @wp.kernel
    def reset(y: wp.array(dtype=float)):
        y[wp.tid()] = 1.0

    x, y = line(requires_grad=True), line(requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(grow, 4, [x, y])
        wp.launch(reset, 4, [y], record_tape=False)
        wp.launch(grow, 4, [x, y])
    tape.backward(grads={y: wp.ones_like(y)})


def a_graph():
    kind = new_struct()
    read, s, y = reading(kind), pair_of(kind), line()
    with wp.ScopedCapture() as capture:
        wp.launch(read, 4, [s, y])
        wp.launch(read, 4, [s, y])
    wp.capture_launch(capture.graph)


def a_command():
    kind = new_struct()
    wp.launch(reading(kind), 4, [pair_of(kind), line()], record_cmd=True).launch()


def the_interpreter():
    kind = new_struct()
    wp.launch(reading(kind), 4, [pair_of(kind, device="interp"), line(device="interp")], device="interp")


def a_generic_function():
    kind = new_struct()

    @wp.kernel
    def double(s: kind, y: wp.array(dtype=float)):
        y[wp.tid()] = twice(s)

    wp.launch(double, 4, [pair_of(kind), line()])
    assert twice(pair_of(kind)) == 4.0


def a_function_with_a_gradient():
    @wp.func
    def square(x: float):
        return x * x

    @wp.func_grad(square)
    def adj_square(x: float, d: float):
        wp.adjoint[x] += d * 3.0

    @wp.kernel
    def squares(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[wp.tid()] = square(x[wp.tid()])

    x, y = line(requires_grad=True), line(requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squares, 4, [x, y])
    tape.backward(grads={y: wp.ones_like(y)})
    assert x.grad.numpy().tolist() == [3.0] * 4


def a_refused_kernel():
    kind = new_struct()

    @wp.kernel
    def misspelled(s: kind, y: wp.array(dtype=float)):
        y[wp.tid()] = s.b

    with pytest.raises(wp.errors.KernelError):
        wp.launch(misspelled, 4, [pair_of(kind), line()])


def fabric_types():
    assert wp.fabricarray[new_struct()] and wp.indexedfabricarray[new_struct()]


MADE = [a_struct, an_array_of_structs, a_struct_in_a_struct, a_gradient, writes_without_gradient, a_graph, a_command]
MADE += [the_interpreter, a_generic_function, a_function_with_a_gradient, a_refused_kernel, fabric_types]


def objects_after(make, rounds):
    for _ in range(rounds):
        make()
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.assembled_one_in(1009)  # programs that wait to be assembled are kept
@pytest.mark.cpu(reason="counts Python objects")
@pytest.mark.parametrize("make", MADE)
def test_what_is_made_anew_and_dropped_leaves_no_object(make):
    before = objects_after(make, 10)
    assert objects_after(make, ROUNDS) - before < ROUNDS


@pytest.mark.assembled_one_in(1009)  # programs that wait to be assembled are kept
@pytest.mark.cpu(reason="counts Python objects")
def test_a_generic_kernel_forgets_types_of_long_ago(monkeypatch):
    monkeypatch.setattr(kernel_module, "_MOST_TYPES", 4)

    def launch():
        wp.launch(read_any, 4, [wp.zeros(4, dtype=new_struct()), line()])

    before = objects_after(launch, 12)
    assert objects_after(launch, 4 * ROUNDS) - before < ROUNDS
    y = line()
    kind = new_struct()
    for value in (1.0, 2.0):  # compiled again
        wp.launch(read_any, 4, [wp.array([kind(a=value)] * 4, dtype=kind), y])
        assert y.numpy().tolist() == [value] * 4


# ----- the caches -----------------------------------------------------------------------------------


def test_answers_about_a_type_are_asked_for_once_and_go_with_it():
    asked = []

    @per_type
    def about(t, more=0):
        asked.append(t)
        return [t, more]

    kind = new_struct()
    for t in (kind, array_type(kind), array_type(kind, 2), np.float32, array_type(wp.vec3)):
        assert about(t) is about(t) and about(t, 1) is not about(t)
    assert len(asked) == 10
    trace = weakref.ref(kind)
    asked.clear()
    del kind, t
    gc.collect()
    assert trace() is None


def test_array_types_of_a_struct_are_one_object_while_it_lives():
    kind, other = new_struct(), new_struct()
    assert array_type(kind, 2) is array_type(kind, 2) is wp.array[kind, 2]
    assert array_type(kind) is not array_type(other)
    a, b = (wp.zeros(2, dtype=kind) for _ in range(2))
    assert a._tag is b._tag is not wp.zeros(2, dtype=other)._tag


def test_structs_derived_from_others_have_answers_of_their_own():
    kind = new_struct()
    assert wp.fabricarray[kind].__known__ is not kind.__known__


def test_answers_about_an_object_go_with_it():
    asked = []

    @per_object
    def length(f, more):
        asked.append(more)
        return len(f.__name__) + more

    def function():
        pass

    assert length(function, 1) == length(function, 1) == 9 and length(function, 2) == 10
    assert asked == [1, 2]
    trace = weakref.ref(function)
    del function
    assert trace() is None


def test_what_depends_on_several_structs_is_not_kept():
    lasting, kind, other = {}, new_struct(), new_struct()
    assert kept_with((np.float32, 3, "x"), lasting) is lasting
    assert kept_with((np.float32, kind, array_type(kind)), lasting) is kind.__known__
    nowhere = kept_with((kind, other), lasting)
    assert nowhere == {} and nowhere is not kept_with((kind, other), lasting)
