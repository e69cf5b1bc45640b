"""Kernels that update elements in place, and the program that launches one again and again."""

from gradient_runs import new_loss

import warpsim as wp

Numbers = wp.array(dtype=wp.float64)


@wp.kernel
def weigh(a: Numbers, loss: Numbers):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.sin(a[i]) * (1.0 + 0.5 * wp.float64(i)))


def in_place(kernel, dim, times=1, read=0):
    """The program that launches `kernel` on its inputs `times` times, then sums over input number `read`."""

    def program(*arrays):
        loss = new_loss()
        for _ in range(times):
            wp.launch(kernel, dim=dim, inputs=list(arrays))
        wp.launch(weigh, dim=arrays[read].shape[0], inputs=[arrays[read], loss])
        return loss

    return program


# ----- element updates ---------------------------------------------------------------------------


@wp.kernel
def add_to(a: Numbers, b: Numbers):
    i = wp.tid()
    a[i] += b[i] * a[i]


@wp.kernel
def subtract_from(a: Numbers, b: Numbers):
    i = wp.tid()
    a[i] -= b[i] * b[i]


@wp.kernel
def multiply(a: Numbers, b: Numbers):
    i = wp.tid()
    a[i] *= b[i]


@wp.kernel
def divide(a: Numbers, b: Numbers):
    i = wp.tid()
    a[i] /= b[i]


@wp.kernel
def multiply_by_itself(a: Numbers, b: Numbers):
    i = wp.tid()
    a[i] *= a[i] * b[i]


@wp.kernel
def several_updates(a: Numbers, b: Numbers):
    i = wp.tid()
    a[i] *= b[i]
    x = a[i]
    a[i] += x * x
    b[i] = wp.sin(a[i])
    a[i] /= 2.0 + b[i]
    b[i] -= a[i] * x


UPDATES = [add_to, subtract_from, multiply, divide, multiply_by_itself, several_updates]
