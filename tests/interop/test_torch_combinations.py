"""Operators of PyTorch in combinations: subsets of inputs, of batches and of outputs, modes, checkpoints, dtypes."""

import numpy as np
import pytest
from operator_kernels import EACH, F, Pair, number_last, pair, pairs, repeated, squares

import warpsim as wp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
checkpoint = pytest.importorskip("torch.utils.checkpoint").checkpoint
pytestmark = pytest.mark.cpu(reason="tensors of the CPU build of PyTorch")


@wp.kernel
def fresh(y: F):
    y[wp.tid()] = wp.float64(1.0)


@wp.kernel
def picky(x: F, y: F):
    i = wp.tid()
    assert x[i] < wp.float64(0.5), "too large"
    y[i] = x[i]


def chain(x: F, s: wp.float64, y: F, z: F):
    wp.launch(pair, len(x), [x, x, s], [y, z])


operator = wp.torch_op(pair, num_outputs=2)


def reference(a, b, s):
    return torch.sin(a) * b * s, a * b * b


def rand(*shape):
    return torch.rand(shape, dtype=torch.float64)


def assert_same(transformed):
    torch.testing.assert_close(transformed(operator), transformed(reference))


@EACH
@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)])
def test_gradients_of_some_inputs_of_some_outputs(chosen, used):
    args = [rand(4), rand(4), rand()]
    active = [x.requires_grad_() for x, c in zip(args, chosen, strict=True) if c]
    assert all(y.requires_grad for y in operator(*args))

    def gradients(g):
        total = sum(g(*args)[k].square().sum() for k in used) + 0.0 * sum(x.sum() for x in active)
        return torch.autograd.grad(total, active)

    assert_same(gradients)


@EACH
def test_batches_of_some_inputs(chosen):
    args = [
        m if c else a
        for m, a, c in zip((rand(3, 4), rand(4, 3), rand(3)), (rand(4), rand(4), rand()), chosen, strict=True)
    ]
    axes = tuple(axis if c else None for axis, c in zip((0, 1, 0), chosen, strict=True))

    def total(g):
        return lambda *x: sum(y.sum() for y in g(*x))

    assert_same(lambda g: torch.func.vmap(g, axes)(*args))
    assert_same(lambda g: torch.func.vmap(torch.func.grad(total(g), (0, 1, 2)), axes)(*args))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_modes_without_gradients(mode):
    a, b = rand(4).requires_grad_(), rand(4)
    compiled = torch.compile(lambda a, b: operator(a, b, 0.5)[0] * 2.0, fullgraph=True, backend="aot_eager")
    with mode():
        assert_same(lambda g: g(a, b, 0.5))
        assert not operator(a, b, 0.5)[0].requires_grad
        torch.testing.assert_close(compiled(a, b), 2.0 * reference(a, b, 0.5)[0])
        inside = rand(4)
    assert_same(lambda g: g(inside, b, 0.5))


@pytest.mark.parametrize("compiled", [False, True])
def test_operators_of_their_own_results(compiled):
    a, b = rand(4).requires_grad_(), rand(4).requires_grad_()

    def twice(g):
        def run(a, b):
            return sum(x.sum() for x in g(g(a, b, 0.5)[0], g(b, a, 0.3)[1], 0.7))

        return torch.compile(run, fullgraph=True, backend="aot_eager") if compiled else run

    assert_same(lambda g: torch.autograd.grad(twice(g)(a, b), (a, b)))


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints(reentrant):
    def gradients(g):
        x = [t.detach().requires_grad_() for t in args]
        checkpoint(lambda *x: g(*x, 0.5)[0].square().sum(), *x, use_reentrant=reentrant).backward()
        return [t.grad for t in x]

    args = rand(4), rand(4)
    assert_same(gradients)


def test_integers_and_short_floats():
    n, x = torch.arange(4, dtype=torch.int32), rand(4).requires_grad_()
    y, m = wp.torch_op(repeated, num_outputs=2)(n, x)
    y.sum().backward()
    assert m.tolist() == [0, 2, 4, 6] and not m.requires_grad and x.grad.tolist() == [0.0, 1.0, 2.0, 3.0]
    f, x = wp.torch_op(squares), torch.rand(4, dtype=torch.bfloat16, requires_grad=True)
    for g in (f, torch.compile(lambda x: f(x), fullgraph=True, backend="aot_eager")):
        (gradient,) = torch.autograd.grad(g(x).sum(), x)
        torch.testing.assert_close((g(x), gradient), (x * x, 2.0 * x.detach()))


def test_a_failure_in_a_compiled_graph_leaves_the_process_alive():
    f = wp.torch_op(picky)
    compiled = torch.compile(lambda x: f(x) * 2.0, fullgraph=True, backend="aot_eager")
    for _ in range(2):
        with pytest.raises(wp.errors.KernelAssertionError, match=r"too large[\s\S]*in kernel 'picky', thread 0"):
            compiled(torch.ones(3, dtype=torch.float64))
        assert compiled(torch.full((3,), 0.25, dtype=torch.float64)).tolist() == [0.5] * 3


def test_operators_compile_after_one_was_refused():
    """PyTorch gives up a function that raised while it was traced, and would compile what that calls instead."""
    f, x = wp.torch_op(squares), torch.rand(4, dtype=torch.bfloat16, requires_grad=True)
    with pytest.raises(wp.errors.ArrayError, match=r"layout torch.sparse_coo"):
        torch.compile(f, backend="aot_eager")(x.detach().to_sparse())
    torch.testing.assert_close(torch.compile(f, backend="aot_eager")(x), x * x)
    torch.testing.assert_close(torch.compile(lambda x: f(x), fullgraph=True, backend="aot_eager")(x), x * x)


def test_a_gradient_of_a_number_on_a_tape_is_refused():
    f = wp.torch_op(chain, num_outputs=2)
    s = rand().requires_grad_()
    with pytest.raises(wp.errors.GradientError, match=r"'s' of function 'chain'[\s\S]*an array of one element"):
        f(rand(3), s)[0].sum().backward()


def test_threads_may_be_all_that_a_kernel_gets():
    assert wp.torch_op(fresh, launch_dims=3)().tolist() == [1.0] * 3


@pytest.mark.parametrize("act, error, message", [
    (lambda: wp.torch_op(fresh)(), wp.errors.ArrayError, r"no array among its inputs\nhelp: name the threads"),
    (lambda: wp.torch_op(number_last), wp.errors.ArgumentTypeError, "output 'y' of kernel 'number_last' is float32"),
    (lambda: wp.torch_op(pairs), wp.errors.ArgumentTypeError, r"'x' of kernel 'pairs' is array\(Pair[\s\S]*vectors"),
    (lambda: wp.torch_op(picky)(torch.tensor(0.1, dtype=torch.float64)), wp.errors.ArrayError, r"has shape \(\)"),
    (lambda: operator(rand(3), rand(3), None), wp.errors.ArgumentTypeError, r"NoneType[\s\S]*or a number: float64"),
    (lambda: operator(rand(3), rand(3), 1j), wp.errors.ArgumentTypeError, r"\(complex\)\nexpected: float64"),
    (lambda: wp.dtype_to_torch(Pair), TypeError, "has no PyTorch dtype\nexpected: a type of numbers"),
    (lambda: wp.launch(fresh, 5, outputs=[np.zeros(41, np.uint8)[1:].view(np.float64)]), wp.errors.ArrayError,
     r"does not fit the alignment of float64[\s\S]*x.copy\(\)"),
    (lambda: wp.from_dlpack(np.zeros(41, np.uint8)[1:].view(np.float64)), wp.errors.ArrayError,
     r"cannot be shared as float64: memory at 0x\w+ does not fit the alignment of float64[\s\S]*x.copy\(\)"),
])  # fmt: skip
def test_refusals(act, error, message):
    with pytest.raises(error, match=message):
        act()
