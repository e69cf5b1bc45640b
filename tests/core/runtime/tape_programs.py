"""Kernels and arrays that tests of tapes share."""

import warpsim as wp


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * 2.0


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def total(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()])


@wp.kernel
def square_in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]


def leaf(*values):
    return wp.array(list(values), dtype=float, requires_grad=True)


def scalar():
    return wp.zeros(1, dtype=float, requires_grad=True)


def ones(n):
    return wp.ones(n, dtype=float)


def grad(a):
    return a.grad.numpy().tolist()
