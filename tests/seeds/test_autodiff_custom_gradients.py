"""The documents on gradients, "Custom Gradient Functions": `func_grad` and `func_replay`.

Programs are those of the documents with only the import line changed. Where the document shows a wrong
gradient as a warning (an index that an atomic returned), the right one is expected here.
"""

import numpy as np
import pytest

import warpsim as wp


def gradients_of_square_roots(run_safe_sqrt):
    xs = wp.array([1.0, 2.0, 0.0], dtype=wp.float32, requires_grad=True)
    ys = wp.zeros_like(xs)
    tape = wp.Tape()
    with tape:
        wp.launch(run_safe_sqrt, dim=len(xs), inputs=[xs], outputs=[ys])
    tape.backward(grads={ys: wp.array(np.ones(len(xs)), dtype=wp.float32)})
    return ys, xs


def test_derived_gradient_of_a_function():
    @wp.func
    def safe_sqrt(x: float):
        return wp.sqrt(x)

    @wp.kernel
    def run_safe_sqrt(xs: wp.array(dtype=float), output: wp.array(dtype=float)):
        i = wp.tid()
        output[i] = safe_sqrt(xs[i])

    ys, xs = gradients_of_square_roots(run_safe_sqrt)
    assert str(ys) == "[1.        1.4142135 0.       ]"
    np.testing.assert_array_equal(xs.grad.numpy(), np.float32([0.5, 0.35355338, np.inf]))


def test_custom_gradient_function():
    @wp.func
    def safe_sqrt(x: float):
        return wp.sqrt(x)

    @wp.func_grad(safe_sqrt)
    def adj_safe_sqrt(x: float, adj_ret: float):
        if x > 0.0:
            wp.adjoint[x] += 1.0 / (2.0 * wp.sqrt(x)) * adj_ret

    @wp.kernel
    def run_safe_sqrt(xs: wp.array(dtype=float), output: wp.array(dtype=float)):
        i = wp.tid()
        output[i] = safe_sqrt(xs[i])

    ys, xs = gradients_of_square_roots(run_safe_sqrt)
    assert str(ys) == "[1.        1.4142135 0.       ]"
    np.testing.assert_allclose(xs.grad.numpy(), [0.5, 0.35355338, 0.0], rtol=1e-7)


@wp.func
def reversible_increment(
    buf: wp.array(dtype=int), buf_index: int, value: int, thread_values: wp.array(dtype=int), tid: int
):
    next_index = wp.atomic_add(buf, buf_index, value)
    # store which thread ID corresponds to which index for the backward pass
    thread_values[tid] = next_index
    return next_index


@wp.func_replay(reversible_increment)
def replay_reversible_increment(
    buf: wp.array(dtype=int), buf_index: int, value: int, thread_values: wp.array(dtype=int), tid: int
):
    return thread_values[tid]


@pytest.mark.parametrize("dim", [8, 16, 20_000])
@pytest.mark.parametrize("use_reversible_increment", [False, True])
def test_index_from_an_atomic(dim, use_reversible_increment):
    """The document's `main`: with replay, and without it, where its own output is wrong."""

    @wp.kernel
    def test_add(counter: wp.array(dtype=int), input: wp.array(dtype=float), output: wp.array(dtype=float)):
        idx = wp.atomic_add(counter, 0, 1)
        output[idx] = wp.sqrt(input[idx])

    @wp.kernel
    def test_add_diff(
        counter: wp.array(dtype=int),
        thread_ids: wp.array(dtype=int),
        input: wp.array(dtype=float),
        output: wp.array(dtype=float),
    ):
        tid = wp.tid()
        idx = reversible_increment(counter, 0, 1, thread_ids, tid)
        output[idx] = wp.sqrt(input[idx])

    input = wp.array(np.arange(1, dim + 1), dtype=wp.float32, requires_grad=True)
    counter = wp.zeros(1, dtype=wp.int32)
    thread_ids = wp.zeros(dim, dtype=wp.int32)
    output = wp.zeros(dim, dtype=wp.float32, requires_grad=True)

    tape = wp.Tape()
    with tape:
        if use_reversible_increment:
            wp.launch(test_add_diff, dim, inputs=[counter, thread_ids, input], outputs=[output])
        else:
            wp.launch(test_add, dim, inputs=[counter, input], outputs=[output])

    assert str(counter) == f"[{dim}]"
    if use_reversible_increment:
        assert sorted(thread_ids.list()) == list(range(dim))
    else:
        assert not thread_ids.numpy().any()
    roots = np.sqrt(np.arange(1, dim + 1, dtype=np.float32))
    np.testing.assert_allclose(output.numpy(), roots, rtol=1e-6)

    tape.backward(grads={output: wp.array(np.ones(dim), dtype=wp.float32)})

    np.testing.assert_allclose(input.grad.numpy(), 0.5 / roots, rtol=1e-6)
    assert str(counter) == f"[{dim}]", "backward counts nothing again"
