"""`for i in query`: the loop over what a query finds is the loop over its next function."""

import warnings

import numpy as np
import pytest

import warpsim as wp


@wp.struct
class Steps:
    at: int
    stop: int
    by: int


@wp.func
def steps(first: int, stop: int, by: int) -> Steps:
    found = Steps()
    found.at = first
    found.stop = stop
    found.by = by
    return found


@wp.func(inout=("query", "index"))
def steps_next(query: Steps, index: int):
    more = query.at < query.stop
    if more:
        index = query.at
        query.at += query.by
    return query, index, more


Steps.next_in_kernel = steps_next


@wp.kernel
def by_for(out: wp.array(dtype=int)):
    i = wp.tid()
    total = int(0)
    for j in steps(0, i, 2):
        for k in steps(j, i, 3):
            total += 10 * j + k
    out[i] = total


@wp.kernel
def by_while(out: wp.array(dtype=int)):
    i = wp.tid()
    total = int(0)
    j = int(0)
    query = steps(0, i, 2)
    while steps_next(query, j):
        k = int(0)
        inner = steps(j, i, 3)
        while steps_next(inner, k):
            total += 10 * j + k
    out[i] = total


@wp.func
def first_over(limit: int, stop: int) -> int:
    for j in steps(0, stop, 3):
        if j > limit:
            return j
    return -1


@wp.kernel
def leaving(out: wp.array(dtype=int)):
    i = wp.tid()
    total = int(0)
    for j in steps(0, 100, 1):
        if j % 2 == 0:
            continue
        if j > i:
            break
        total += j
    out[i] = total * 1000 + first_over(i, 30)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("kernel", [by_for, by_while])
def test_nested_queries(kernel, device):
    out = wp.zeros(12, dtype=int)
    wp.launch(kernel, 12, inputs=[out], device=device)
    expected = [sum(10 * j + k for j in range(0, i, 2) for k in range(j, i, 3)) for i in range(12)]
    np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_break_continue_and_return(device):
    out = wp.zeros(40, dtype=int)
    wp.launch(leaving, 40, inputs=[out], device=device)
    odd = [sum(j for j in range(1, 100, 2) if j <= i) for i in range(40)]
    over = [next((j for j in range(0, 30, 3) if j > i), -1) for i in range(40)]
    np.testing.assert_array_equal(out.numpy(), [a * 1000 + b for a, b in zip(odd, over, strict=True)])


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_the_index_keeps_its_last_value(device):
    @wp.kernel
    def late(out: wp.array(dtype=int), stop: int):
        for j in steps(0, stop, 1):
            out[0] = j
        out[1] = j

    @wp.kernel
    def known(out: wp.array(dtype=int), stop: int):
        j = int(9)
        for j in steps(0, stop, 1):
            out[0] = j
        out[1] = j

    for stop, last in ((4, 3), (0, 0)):
        out = wp.zeros(2, dtype=int, device=device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wp.errors.UnassignedLocalWarning)
            wp.launch(late, 1, inputs=[out, stop], device=device)
        assert out.list() == [last, last]
        wp.launch(known, 1, inputs=[out, stop], device=device)
        assert out.list()[1] == (last if stop else 9)


def test_other_structs_are_no_queries():
    @wp.struct
    class Pair:
        a: int

    @wp.kernel
    def broken(out: wp.array(dtype=int)):
        for j in Pair():
            out[0] = j

    with pytest.raises(wp.errors.KernelTypeError, match="a query"):
        wp.launch(broken, 1, inputs=[wp.zeros(1, dtype=int)])
