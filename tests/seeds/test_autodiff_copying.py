"""The documents on gradients, first part: arrays with gradients, the tape, and "Copying is Differentiable".

Programs are those of the documents with only the import line changed (and no `device="cuda"`).
"""

import numpy as np

import warpsim as wp


@wp.kernel
def compute1(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    b[i] = a[i] * wp.length_sq(a[i])


@wp.kernel
def compute2(c: wp.array(dtype=wp.vec3), d: wp.array(dtype=float)):
    i = wp.tid()
    d[i] = wp.dot(c[i], wp.vec3(1.0, 2.0, 3.0))


@wp.kernel
def loss(d: wp.array(dtype=float), l: wp.array(dtype=float)):  # noqa: E741
    wp.atomic_add(l, 0, d[wp.tid()])


def test_forward_and_reverse_pass():
    """The opening example; the document does not give its kernels, these are such."""
    a = wp.zeros(1024, dtype=wp.vec3, requires_grad=True)
    a.fill_(wp.vec3(1.0, 0.0, 0.0))
    b = wp.zeros_like(a)
    c = b
    d = wp.zeros(1024, dtype=float, requires_grad=True)
    l = wp.zeros(1, dtype=float, requires_grad=True)  # noqa: E741

    tape = wp.Tape()

    # forward pass
    with tape:
        wp.launch(kernel=compute1, dim=1024, inputs=[a, b])
        wp.launch(kernel=compute2, dim=1024, inputs=[c, d])
        wp.launch(kernel=loss, dim=1024, inputs=[d, l])

    # reverse pass
    tape.backward(l)

    # a |a|^2 . w: w |a|^2 + 2 a (a . w)
    np.testing.assert_array_equal(a.grad.numpy(), np.tile(np.float32([3.0, 2.0, 3.0]), (1024, 1)))

    # gradients accumulate on the participating buffers
    tape.zero()
    assert not a.grad.numpy().any() and not b.grad.numpy().any() and not l.grad.numpy().any()


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    tid = wp.tid()
    y[tid] = x[tid] * 2.0


def test_copy():
    x = wp.array(np.arange(3), dtype=float, requires_grad=True)
    y = wp.zeros_like(x)
    z = wp.zeros_like(x)

    tape = wp.Tape()
    with tape:
        wp.launch(double, dim=3, inputs=[x, y])
        wp.copy(z, y)

    tape.backward(grads={z: wp.ones_like(x)})

    assert str(x.grad) == "[2. 2. 2.]"


def test_clone():
    x = wp.array(np.arange(3), dtype=float, requires_grad=True)
    y = wp.zeros_like(x)

    tape = wp.Tape()
    with tape:
        wp.launch(double, dim=3, inputs=[x, y])
        z = wp.clone(y, requires_grad=True)

    tape.backward(grads={z: wp.ones_like(x)})

    assert str(x.grad) == "[2. 2. 2.]"


def test_clone_without_gradient_is_a_detached_copy():
    x = wp.array(np.arange(3), dtype=float, requires_grad=True)
    total = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        detached = wp.clone(x, requires_grad=False)
        wp.launch(loss, dim=3, inputs=[detached, total])
    assert not detached.requires_grad
    tape.backward(total)
    assert str(x.grad) == "[0. 0. 0.]"


def test_assign():
    x = wp.array(np.arange(3), dtype=float, requires_grad=True)
    y = wp.zeros_like(x)
    z = wp.zeros_like(y)

    tape = wp.Tape()
    with tape:
        wp.launch(double, dim=3, inputs=[x], outputs=[y])
        z.assign(y)

    tape.backward(grads={z: wp.ones_like(x)})

    assert str(x.grad) == "[2. 2. 2.]"


def test_assign_wraps_what_is_not_an_array():
    z = wp.zeros(3, dtype=float)
    z.assign(np.arange(3))
    assert str(z) == "[0. 1. 2.]"
