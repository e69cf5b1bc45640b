"""The documents on gradients, "Dynamic Loops": every variant has the right gradient, with or without workaround.

Programs are those of the documents with only the import line changed; where the document prints a wrong
gradient ("incorrect"), the right one is expected.
"""

import warpsim as wp


def test_sum():
    @wp.kernel
    def dynamic_loop_sum(x: wp.array(dtype=float), loss: wp.array(dtype=float), iters: int):
        sum = float(0.0)

        for i in range(iters):
            sum += x[i]

        wp.atomic_add(loss, 0, sum)

    iters = 3
    x = wp.full(shape=iters, value=1.0, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)

    with wp.Tape() as tape:
        wp.launch(dynamic_loop_sum, dim=1, inputs=[x, loss, iters])

    tape.backward(loss)

    assert str(x.grad) == "[1. 1. 1.]"


def test_product():
    @wp.kernel
    def dynamic_loop_mult(x: wp.array(dtype=float), loss: wp.array(dtype=float), iters: int):
        prod = float(1.0)

        for i in range(iters):
            prod *= x[i]

        wp.atomic_add(loss, 0, prod)

    iters = 3
    x = wp.full(shape=iters, value=2.0, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)

    with wp.Tape() as tape:
        wp.launch(dynamic_loop_mult, dim=1, inputs=[x, loss, iters])

    tape.backward(loss)

    assert str(x.grad) == "[4. 4. 4.]"  # the document: [32. 8. 2.] (incorrect)


def test_product_in_a_static_loop():
    @wp.kernel
    def static_loop_mult(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
        prod = float(1.0)

        for i in range(3):
            prod *= x[i]

        wp.atomic_add(loss, 0, prod)

    for max_unroll in (16, 2):
        wp.set_module_options({"max_unroll": max_unroll})
        x = wp.full(shape=3, value=2.0, dtype=float, requires_grad=True)
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(static_loop_mult, dim=1, inputs=[x, loss])
        tape.backward(loss)
        assert str(x.grad) == "[4. 4. 4.]"
    wp.set_module_options({"max_unroll": 16})


def test_product_with_stored_intermediate_values():
    @wp.kernel
    def dynamic_loop_mult(
        x: wp.array(dtype=float), prods: wp.array(dtype=float), loss: wp.array(dtype=float), iters: int
    ):
        for i in range(iters):
            prods[i + 1] = x[i] * prods[i]

        wp.atomic_add(loss, 0, prods[iters])

    iters = 3
    x = wp.full(shape=iters, value=2.0, dtype=float, requires_grad=True)
    prods = wp.full(shape=(iters + 1), value=1.0, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)

    with wp.Tape() as tape:
        wp.launch(dynamic_loop_mult, dim=1, inputs=[x, prods, loss, iters])

    tape.backward(loss)

    assert str(x.grad) == "[4. 4. 4.]"


def test_final_value_after_the_loop():
    @wp.kernel
    def dynamic_loop_sum(
        x: wp.array(dtype=float), weights: wp.array(dtype=float), loss: wp.array(dtype=float), iters: int
    ):
        sum = float(0.0)
        norm = float(0.0)

        for i in range(iters):
            w = weights[i]
            norm += w
            sum += x[i] * w

        l = sum / norm  # noqa: E741
        wp.atomic_add(loss, 0, l)

    iters = 3
    x = wp.full(shape=iters, value=1.0, dtype=float, requires_grad=True)
    weights = wp.full(shape=iters, value=1.0, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)

    with wp.Tape() as tape:
        wp.launch(dynamic_loop_sum, dim=1, inputs=[x, weights, loss, iters])

    tape.backward(loss)

    assert str(x.grad) == "[0.33333334 0.33333334 0.33333334]"  # the document: [inf inf inf] (incorrect)
    assert abs(weights.grad.numpy()).max() < 1e-6


def test_loop_in_a_function():
    @wp.func
    def loop(x: wp.array(dtype=float), weights: wp.array(dtype=float), iters: int):
        sum = float(0.0)
        norm = float(0.0)

        for i in range(iters):
            w = weights[i]
            norm += w
            sum += x[i] * w

        return sum, norm

    @wp.kernel
    def dynamic_loop_sum(
        x: wp.array(dtype=float), weights: wp.array(dtype=float), loss: wp.array(dtype=float), iters: int
    ):
        sum, norm = loop(x, weights, iters)

        l = sum / norm  # noqa: E741
        wp.atomic_add(loss, 0, l)

    iters = 3
    x = wp.full(shape=iters, value=1.0, dtype=float, requires_grad=True)
    weights = wp.full(shape=iters, value=0.5, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)

    with wp.Tape() as tape:
        wp.launch(dynamic_loop_sum, dim=1, inputs=[x, weights, loss, iters])

    tape.backward(loss)

    assert str(x.grad) == "[0.33333334 0.33333334 0.33333334]"
