"""The reference page of `Tape`: its example, its attributes, and every method with all its parameters."""

import numpy as np
import pytest

import warpsim as wp


@wp.kernel
def compute1(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i] * a[i]


@wp.kernel
def compute2(c: wp.array(dtype=float), d: wp.array(dtype=float)):
    i = wp.tid()
    d[i] = wp.sin(c[i])


@wp.kernel
def loss(d: wp.array(dtype=float), l: wp.array(dtype=float)):  # noqa: E741
    wp.atomic_add(l, 0, d[wp.tid()])


def example():
    a = wp.array([0.5, 1.0, 1.5], dtype=float, requires_grad=True)
    b, d = wp.zeros_like(a), wp.zeros_like(a)
    c = b
    l = wp.zeros(1, dtype=float, requires_grad=True)  # noqa: E741
    return a, b, c, d, l


def record(a, b, c, d, l):  # noqa: E741
    tape = wp.Tape()

    # forward pass
    with tape:
        wp.launch(kernel=compute1, inputs=[a, b], dim=3)
        wp.launch(kernel=compute2, inputs=[c, d], dim=3)
        wp.launch(kernel=loss, inputs=[d, l], dim=3)
    return tape


def expected(a):
    x = a.numpy()
    return np.cos(x * x) * 2.0 * x


def test_example_and_gradients():
    a, b, c, d, l = example()  # noqa: E741
    tape = record(a, b, c, d, l)

    # reverse pass
    tape.backward(l)

    # Gradients can be accessed via the tape.gradients dictionary
    np.testing.assert_allclose(tape.gradients[a].numpy(), expected(a), rtol=1e-6)
    assert tape.gradients[a] is a.grad


def test_backward_from_given_gradients():
    a, b, c, d, l = example()  # noqa: E741
    tape = record(a, b, c, d, l)
    seed = np.array([1.0, 0.0, -2.0], dtype=np.float32)
    tape.backward(grads={d: wp.array(seed, dtype=float)})
    np.testing.assert_allclose(a.grad.numpy(), expected(a) * seed, rtol=1e-6)


def test_get_adjoint():
    a, b, c, d, l = example()  # noqa: E741
    tape = record(a, b, c, d, l)
    tape.backward(l)
    assert tape.get_adjoint(a) is a.grad


def test_record_func():
    a, b, _, d, l = example()  # noqa: E741
    order = []
    tape = wp.Tape()
    with tape:
        wp.launch(kernel=compute1, inputs=[a, b], dim=3)
        wp.copy(d, b)

        def backward():
            order.append("custom")
            b.grad.assign(b.grad.numpy() + 10.0)

        tape.record_func(backward, arrays=[b])
        wp.launch(kernel=loss, inputs=[d, l], dim=3)
    assert order == [], "it runs in the backward pass only"
    tape.backward(l)
    assert order == ["custom"]
    np.testing.assert_allclose(a.grad.numpy(), 11.0 * 2.0 * a.numpy(), rtol=1e-6)
    tape.zero()
    assert not b.grad.numpy().any()


def test_record_launch():
    """A launch that ran outside the tape can be put on it."""
    a, b, *_ = example()
    wp.launch(kernel=compute1, inputs=[a], outputs=[b], dim=3)
    tape = wp.Tape()
    tape.record_launch(compute1, 3, 0, [a], [b], wp.get_device(), 0, None)
    tape.backward(grads={b: wp.ones_like(b)})
    np.testing.assert_allclose(a.grad.numpy(), 2.0 * a.numpy(), rtol=1e-6)


def test_scopes_change_no_gradient():
    a, b, c, d, l = example()  # noqa: E741
    tape = wp.Tape()
    with tape:
        tape.record_scope_begin("first", metadata={"note": 1})
        wp.launch(kernel=compute1, inputs=[a, b], dim=3)
        tape.record_scope_end()
        tape.record_scope_begin("empty")
        tape.record_scope_end(remove_scope_if_empty=True)
        wp.launch(kernel=compute2, inputs=[c, d], dim=3)
        wp.launch(kernel=loss, inputs=[d, l], dim=3)
    tape.backward(l)
    np.testing.assert_allclose(a.grad.numpy(), expected(a), rtol=1e-6)
    dot = tape.visualize()
    assert "first" in dot and "empty" not in dot


def test_reset_forgets_operations_and_gradients():
    a, b, c, d, l = example()  # noqa: E741
    tape = record(a, b, c, d, l)
    tape.backward(l)
    tape.reset()
    assert not a.grad.numpy().any() and len(tape.launches) == 0
    l.zero_()
    with tape:
        wp.launch(kernel=compute1, inputs=[a, b], dim=3)
        wp.launch(kernel=loss, inputs=[b, l], dim=3)
    tape.backward(l)
    np.testing.assert_allclose(a.grad.numpy(), 2.0 * a.numpy(), rtol=1e-6)


def test_zero_allows_another_backward():
    a, b, c, d, l = example()  # noqa: E741
    tape = record(a, b, c, d, l)
    for _ in range(3):
        tape.backward(l)
        np.testing.assert_allclose(a.grad.numpy(), expected(a), rtol=1e-6)
        tape.zero()
        assert not a.grad.numpy().any() and not l.grad.numpy().any()


@pytest.mark.parametrize("direction", ["LR", "TB"])
def test_visualize_with_all_options(tmp_path, direction):
    a, b, c, d, l = example()  # noqa: E741
    tape = record(a, b, c, d, l)
    dot = tape.visualize(
        filename=str(tmp_path / "tape.dot"),
        simplify_graph=True,
        hide_readonly_arrays=True,
        array_labels={b: "middle"},
        choose_longest_node_name=True,
        ignore_graph_scopes=False,
        track_inputs=[a],
        track_outputs=[l],
        track_input_names=["the input"],
        track_output_names=["the output"],
        graph_direction=direction,
    )
    assert (tmp_path / "tape.dot").read_text() == dot
    for text in ("the input", "the output", "middle", "compute1", "compute2", direction):
        assert text in dot
