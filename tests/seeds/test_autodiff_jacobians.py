"""The documents on gradients, "Jacobians": row by row through a tape, for one system and for many at once.

Programs are those of the documents with only the import line changed; they leave the kernels open.
"""

import numpy as np

import warpsim as wp

input_dim, output_dim = 3, 2


@wp.kernel
def system(q: wp.array(dtype=float), out: wp.array(dtype=float)):
    env = wp.tid()
    x, y, z = q[env * 3], q[env * 3 + 1], q[env * 3 + 2]
    out[env * 2] = x * y + wp.sin(z)
    out[env * 2 + 1] = x * wp.exp(y) - z * z


def by_hand(q):
    x, y, z = q
    return np.array([[y, x, np.cos(z)], [np.exp(y), x * np.exp(y), -2.0 * z]])


def launch_kernels_to_be_differentiated(input_buffer):
    envs = len(input_buffer) // input_dim
    output_buffer = wp.zeros(envs * output_dim, dtype=float, requires_grad=True)
    wp.launch(system, dim=envs, inputs=[input_buffer], outputs=[output_buffer])
    return output_buffer


def test_jacobian_of_one_system():
    q = np.array([0.5, -1.0, 2.0])
    input_buffer = wp.array(q, dtype=float, requires_grad=True)

    # compute the Jacobian for a function of single output
    jacobian = np.empty((output_dim, input_dim), dtype=np.float32)

    # record computation
    tape = wp.Tape()
    with tape:
        output_buffer = launch_kernels_to_be_differentiated(input_buffer)

    # compute each row of the Jacobian
    for output_index in range(output_dim):
        # select which row of the Jacobian we want to compute
        select_index = np.zeros(output_dim)
        select_index[output_index] = 1.0
        e = wp.array(select_index, dtype=wp.float32)

        # pass input gradients to the output buffer to apply selection
        tape.backward(grads={output_buffer: e})
        q_grad_i = tape.gradients[input_buffer]
        jacobian[output_index, :] = q_grad_i.numpy()

        # zero gradient arrays for next row
        tape.zero()

    np.testing.assert_allclose(jacobian, by_hand(q), rtol=1e-6)


def test_jacobians_of_many_environments():
    num_envs = 5
    q = np.random.default_rng(1).normal(size=(num_envs, input_dim))
    input_buffer = wp.array(q.ravel(), dtype=float, requires_grad=True)

    # compute the Jacobian for a function over multiple environments in parallel
    jacobians = np.empty((num_envs, output_dim, input_dim), dtype=np.float32)

    # record computation
    tape = wp.Tape()
    with tape:
        output_buffer = launch_kernels_to_be_differentiated(input_buffer)

    # compute each row of the Jacobian
    for output_index in range(output_dim):
        # select which row of the Jacobian we want to compute
        select_index = np.zeros(output_dim)
        select_index[output_index] = 1.0

        # assemble selection vector for all environments (can be precomputed)
        e = wp.array(np.tile(select_index, num_envs), dtype=wp.float32)
        tape.backward(grads={output_buffer: e})
        q_grad_i = tape.gradients[input_buffer]
        jacobians[:, output_index, :] = q_grad_i.numpy().reshape(num_envs, input_dim)

        tape.zero()

    np.testing.assert_allclose(jacobians, [by_hand(one) for one in q], rtol=1e-5, atol=1e-6)
