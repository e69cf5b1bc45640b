"""The text of programs: stable, complete, and free of the names that their author chose."""

import re

import numpy as np

import warpsim as wp
from warpsim.core.ir.builder import constant
from warpsim.core.ir.printer import Printer, literal, print_function
from warpsim.core.types.scalars import float64


@wp.func
def spring(x: wp.vec3, y: wp.vec3, rest: float):
    offset = y - x
    return offset * (wp.length(offset) - rest)


@wp.kernel
def everything(x: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), n: int):
    i = wp.tid()
    total = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        if j == i:
            continue
        total += spring(x[i], x[j], 1.0)
    while wp.length(total) > 10.0:
        total *= 0.5
    wp.atomic_add(f, i, total)


@wp.kernel
def renamed(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), count: int):
    me = wp.tid()
    sum = wp.vec3(0.0, 0.0, 0.0)
    for other in range(count):
        if other == me:
            continue
        sum += spring(a[me], a[other], 1.0)
    while wp.length(sum) > 10.0:
        sum *= 0.5
    wp.atomic_add(b, me, sum)


def final(kernel):
    return kernel.program(tuple(kernel.patterns.values())).fn


def test_every_node_kind_prints(golden):
    golden(print_function(final(everything)))


def test_lines_of_the_source_on_request():
    plain, lined = (print_function(final(everything), lines=lines).splitlines() for lines in (False, True))
    assert [line.partition("  # line ")[0] for line in lined] == plain
    assert sum("  # line " in line for line in lined) > len(plain) / 2


def test_names_of_the_author_on_request():
    text = print_function(final(everything), hints=True)
    assert re.search(r"%\d+\.total: vec3", text) and re.search(r"%\d+\.n: int32", text)
    assert re.sub(r"(%\d+)\.[\w.]+", r"\1", text) == print_function(final(everything))


def test_equal_programs_print_equally_whatever_their_names():
    def body(kernel):
        return print_function(final(kernel)).partition("(")[2]

    assert body(everything) == body(renamed)


def test_printing_changes_nothing():
    fn = final(everything)
    assert print_function(fn) == print_function(fn)


def test_floats_print_exactly():
    for value in (0.1, np.float32(0.1), 1e300, np.float32(1e-45), -0.0):
        assert type(value)(float.fromhex(literal(float64(value)))) == value
    assert literal(wp.float32(float("inf"))) == "inf"
    assert literal(wp.float32(float("nan"))) == "nan"
    assert literal(wp.float32(-0.0)) != literal(wp.float32(0.0))


def test_constants_of_different_types_print_differently():
    x = [constant(t, 1) for t in (wp.int32, wp.int64, wp.float32)]
    assert len({Printer().name(c) for c in x}) == 3


def test_compound_constants_print_their_components():
    assert literal(wp.vec3(1.0, 0.5, -2.0)) == f"[{(1.0).hex()} {(0.5).hex()} {(-2.0).hex()}]"
