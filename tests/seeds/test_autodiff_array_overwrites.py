"""The documents on gradients, "Array Overwrite Tracking": the document's mistakes, which are none here.

Programs are those of the documents with only the import line changed. Where the document shows a wrong
gradient as a warning, the right one is expected.
"""

import numpy as np

import warpsim as wp


@wp.kernel
def compute_forces(pos: wp.array(dtype=wp.vec3d), vel: wp.array(dtype=wp.vec3d), force: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    force[i] = -pos[i] * wp.length_sq(pos[i]) - 0.5 * wp.cw_mul(vel[i], vel[i])


@wp.kernel
def simulate(
    pos: wp.array(dtype=wp.vec3d),
    vel: wp.array(dtype=wp.vec3d),
    force: wp.array(dtype=wp.vec3d),
    next_pos: wp.array(dtype=wp.vec3d),
    next_vel: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    next_vel[i] = vel[i] + 0.1 * wp.cw_mul(force[i], force[i])
    next_pos[i] = pos[i] + 0.1 * next_vel[i]


@wp.kernel
def loss(pos: wp.array(dtype=wp.vec3d), l: wp.array(dtype=wp.float64)):  # noqa: E741
    wp.atomic_add(l, 0, wp.length_sq(pos[wp.tid()]))


def two_steps(one_force):
    """The document's two steps (their kernels are left open there), with one force array or with two."""
    n = 3
    rng = np.random.default_rng(2)
    pos0 = wp.array(rng.normal(size=(n, 3)), dtype=wp.vec3d, requires_grad=True)
    vel0 = wp.array(rng.normal(size=(n, 3)), dtype=wp.vec3d, requires_grad=True)
    pos1, vel1, pos2, vel2, force = (wp.zeros_like(pos0) for _ in range(5))
    force1 = force if one_force else wp.zeros_like(pos0)
    total = wp.zeros(1, dtype=wp.float64, requires_grad=True)

    with wp.Tape() as tape:
        # step 1
        wp.launch(compute_forces, dim=n, inputs=[pos0, vel0], outputs=[force])
        wp.launch(simulate, dim=n, inputs=[pos0, vel0, force], outputs=[pos1, vel1])

        # step 2 (in the document an error: we are overwriting previous forces)
        wp.launch(compute_forces, dim=n, inputs=[pos1, vel1], outputs=[force1])
        wp.launch(simulate, dim=n, inputs=[pos1, vel1, force1], outputs=[pos2, vel2])

        # compute loss
        wp.launch(loss, dim=n, inputs=[pos2, total])

    tape.backward(total)
    return pos0.grad.numpy(), vel0.grad.numpy()


def test_forces_that_are_computed_again():
    for overwritten, apart in zip(two_steps(True), two_steps(False), strict=True):
        assert np.abs(apart).max() > 0.1
        np.testing.assert_array_equal(overwritten, apart)


def test_overwrite_between_kernels():
    @wp.kernel
    def square_kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        tid = wp.tid()
        y[tid] = x[tid] * x[tid]

    @wp.kernel
    def overwrite_kernel(z: wp.array(dtype=float), x: wp.array(dtype=float)):
        tid = wp.tid()
        x[tid] = z[tid]

    @wp.kernel
    def loss_kernel(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
        tid = wp.tid()
        wp.atomic_add(loss, 0, x[tid])

    a = wp.array(np.array([1.0, 2.0, 3.0]), dtype=float, requires_grad=True)
    b = wp.zeros_like(a)
    c = wp.array(np.array([-1.0, -2.0, -3.0]), dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)

    tape = wp.Tape()
    with tape:
        wp.launch(square_kernel, a.shape, inputs=[a], outputs=[b])
        wp.launch(overwrite_kernel, c.shape, inputs=[c], outputs=[a])
        wp.launch(loss_kernel, a.shape, inputs=[a, loss])

    tape.backward(loss)

    # the loss is the sum of what was in `c`: what `a` held before has no part in it
    assert str(a.grad) == "[0. 0. 0.]"
    assert str(c.grad) == "[1. 1. 1.]"


def test_overwrite_between_kernels_with_the_loss_of_the_squares():
    """The same with the loss that the document's text speaks of: [2 4 6], where it prints [-2 -4 -6]."""

    @wp.kernel
    def square_kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        tid = wp.tid()
        y[tid] = x[tid] * x[tid]

    @wp.kernel
    def overwrite_kernel(z: wp.array(dtype=float), x: wp.array(dtype=float)):
        tid = wp.tid()
        x[tid] = z[tid]

    @wp.kernel
    def loss_kernel(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
        tid = wp.tid()
        wp.atomic_add(loss, 0, x[tid])

    a = wp.array(np.array([1.0, 2.0, 3.0]), dtype=float, requires_grad=True)
    b = wp.zeros_like(a)
    c = wp.array(np.array([-1.0, -2.0, -3.0]), dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)

    tape = wp.Tape()
    with tape:
        wp.launch(square_kernel, a.shape, inputs=[a], outputs=[b])
        wp.launch(overwrite_kernel, c.shape, inputs=[c], outputs=[a])
        wp.launch(loss_kernel, a.shape, inputs=[b, loss])

    tape.backward(loss)

    assert str(a.grad) == "[2. 4. 6.]"
    assert str(a) == "[-1. -2. -3.]", "backward leaves the arrays as the forward pass did"


def test_overwrite_within_a_kernel():
    @wp.kernel
    def readwrite_kernel(a: wp.array(dtype=float), b: wp.array(dtype=float)):
        tid = wp.tid()
        b[tid] = a[tid] * a[tid]
        a[tid] = 1.0

    @wp.kernel
    def loss_kernel(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
        tid = wp.tid()
        wp.atomic_add(loss, 0, x[tid])

    a = wp.array(np.array([1.0, 2.0, 3.0]), dtype=float, requires_grad=True)
    b = wp.zeros_like(a)
    loss = wp.zeros(1, dtype=float, requires_grad=True)

    tape = wp.Tape()
    with tape:
        wp.launch(readwrite_kernel, dim=a.shape, inputs=[a, b])
        wp.launch(loss_kernel, a.shape, inputs=[b, loss])

    tape.backward(loss)

    assert str(a.grad) == "[2. 4. 6.]"


@wp.kernel
def square_into(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    tid = wp.tid()
    y[tid] = x[tid] * x[tid]


def test_marks_beside_a_recorded_function():
    """`record_func` with `mark_read` and `mark_write`, as the section's last note asks for."""
    a = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    b, c = wp.zeros_like(a), wp.zeros_like(a)
    tape = wp.Tape()
    with tape:
        wp.launch(square_into, 3, inputs=[a, b])
        b.mark_read()
        c.mark_write()
        with_numpy = b.numpy() ** 3
        c.assign(with_numpy)

        def backward():
            b.grad.assign(b.grad.numpy() + 3.0 * b.numpy() ** 2 * c.grad.numpy())

        tape.record_func(backward, [b, c])
    tape.backward(grads={c: wp.ones_like(c)})
    # c = a^6
    np.testing.assert_allclose(a.grad.numpy(), [6.0, 192.0, 1458.0], rtol=1e-6)
