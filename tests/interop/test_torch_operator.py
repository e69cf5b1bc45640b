"""Kernels as operators of PyTorch, against the same functions in tensors: values and derivatives of every kind."""

import copy

import numpy as np
import pytest
from operator_kernels import F, advance, energy, product, twice_in_memory, waves

import warpsim as wp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.cpu(reason="tensors of the CPU build of PyTorch")


@wp.kernel
def linear(a: F, k: F, y: F):
    i = wp.tid()
    y[i] = 2.0 * a[i] + k[0] * 3.0


@wp.kernel
def doubled(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = 2.0 * x[i, j]


def chain(x: F, k: F, y: F):
    between = wp.zeros(len(x), dtype=wp.float64, requires_grad=True)
    wp.launch(twice_in_memory, len(x), [x], [between])
    wp.launch(linear, len(x), [between, k], [y])


def rand(*shape, grad=True):
    return torch.tensor(np.random.default_rng(len(shape)).uniform(0.3, 1.2, shape), requires_grad=grad)


CASES = {
    "numbers": (wp.torch_op(waves, num_outputs=2), lambda a, b: torch.sin(a) * b * b * 0.7,
                (rand(5), rand(5)), lambda f: lambda a, b: f(a, b, 0.7)[0]),
    "a number as a tensor": (wp.torch_op(waves, num_outputs=2), lambda a, b, s: torch.sin(a) * b * b * s,
                             (rand(4), rand(4), rand()), lambda f: lambda a, b, s: f(a, b, s)[0]),
    "linear": (wp.torch_op(linear), lambda a, k: 2.0 * a + 3.0 * k[0], (rand(4), rand(1)), lambda f: f),
    "sums": (wp.torch_op(energy, output_dims=1), lambda x, p: ((x * x).sum(1) * (x @ p)).sum()[None],
             (rand(4, 3), rand(3)), lambda f: f),
    "overwrites": (wp.torch_op(twice_in_memory), lambda x: x**4 + x, (rand(5),), lambda f: f),
    "in and out": (wp.torch_op(advance, num_outputs=2, in_out_argnames=["x", "v"]),
                   lambda x, v: (x * (v - x * x * v * 0.1) + x * x * 0.1, v - x * x * v * 0.1),
                   (rand(3), rand(3, 1)[:, 0].detach().requires_grad_()), lambda f: lambda x, v: f(x, v, 0.1)),
    "matrices": (wp.torch_op(product, launch_dims=lambda a, b: (a.shape[0], b.shape[1])), torch.matmul,
                 (rand(2, 3), rand(3, 4)), lambda f: f),
    "a function": (wp.torch_op(chain), lambda x, k: 2.0 * (x**4 + x) + 3.0 * k[0], (rand(4), rand(1)), lambda f: f),
}  # fmt: skip
EACH = pytest.mark.parametrize("name", CASES)


def case(name):
    operator, reference, args, bind = CASES[name]
    return bind(operator), reference, args


def as_tuple(found):
    return found if isinstance(found, tuple) else (found,)


def assert_same(found, expected):
    found, expected = as_tuple(found), as_tuple(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a.detach(), b.detach(), rtol=1e-12, atol=1e-12)


@EACH
def test_values(name):
    f, reference, args = case(name)
    before = [a.clone() for a in args]
    assert_same(f(*args), reference(*args))
    assert_same(tuple(args), tuple(before))


@EACH
@pytest.mark.parametrize("number", [0.7, None])
def test_calls_and_gradients_like_earlier_ones(name, number):
    """Plain numbers and tensors of float64, which repeated calls describe without arrays of their own."""
    f, reference, args = case(name)
    if name == "sums" and number is not None:  # a vector that is a number, as numbers are
        f, reference = (
            (lambda x, g=f: g(x, wp.vec3d(1.0, 2.0, number))),
            (lambda x, g=reference: g(x, torch.tensor([1.0, 2.0, number], dtype=torch.float64))),
        )
        args = args[:1]
    for _ in range(3):
        assert_same(f(*(a.detach() for a in args)), reference(*(a.detach() for a in args)))
        totals = [sum(y.square().sum() for y in as_tuple(g(*args))) for g in (f, reference)]
        assert_same(*(torch.autograd.grad(total, args) for total in totals))


@EACH
def test_first_derivatives(name):
    f, _, args = case(name)
    assert torch.autograd.gradcheck(f, args, check_forward_ad=name != "in and out")


@EACH
def test_second_derivatives(name):
    f, _, args = case(name)
    assert torch.autograd.gradgradcheck(f, args, check_fwd_over_rev=True)


@pytest.mark.parametrize("name", ["numbers", "sums", "overwrites", "a function"])
def test_torch_func(name):
    f, reference, args = case(name)
    args = tuple(a.detach() for a in args)

    def loss(function):
        return lambda x: (function(x, *args[1:]) ** 2).sum()

    x, many = args[0], torch.stack([args[0] * s for s in (0.5, 1.0, 1.5)])
    for transformed in (
        lambda g: torch.func.grad(loss(g))(x),
        lambda g: torch.func.vmap(lambda a: g(a, *args[1:]))(many),
        lambda g: torch.func.vmap(torch.func.grad(loss(g)))(many),
        lambda g: torch.func.jvp(lambda a: g(a, *args[1:]), (x,), (torch.ones_like(x),)),
        lambda g: torch.func.hessian(loss(g))(x),
        lambda g: torch.func.jacrev(lambda a: g(a, *args[1:]))(x),
        lambda g: torch.func.grad(lambda a: torch.func.vmap(lambda b: g(b, *args[1:]))(a).sum())(many),
    ):
        assert_same(transformed(f), transformed(reference))


@pytest.mark.parametrize("name", ["numbers", "linear", "sums", "in and out", "matrices", "a function"])
def test_whole_graphs_compile(name):
    f, reference, args = case(name)

    def program(function):
        def run(*xs):
            return sum(((part + 1.0) ** 2).sum() for part in as_tuple(function(*(2.0 * x for x in xs))))

        return run

    torch._dynamo.reset()
    compiled = torch.compile(program(f), fullgraph=True, backend="aot_eager")
    found, expected = compiled(*args), program(reference)(*args)
    assert_same(found, expected)
    assert_same(torch.autograd.grad(found, args), torch.autograd.grad(expected, args))


@pytest.mark.slow
def test_the_default_backend_compiles_it():
    f, reference, args = case("linear")
    torch._dynamo.reset()
    found = torch.compile(lambda a, k: f(a, k), fullgraph=True)(*args)  # no code of its own: needs no C++ compiler
    assert_same(torch.autograd.grad(found.sum(), args), torch.autograd.grad(reference(*args).sum(), args))


def test_compiled_graphs_follow_shapes():
    f = CASES["linear"][0]
    torch._dynamo.reset()
    compiled = torch.compile(lambda a, k: f(a, k) * 2.0, fullgraph=True, backend="aot_eager", dynamic=True)
    for n in (3, 7, 12):
        a, k = rand(n), rand(1)
        assert_same(compiled(a, k), 4.0 * a + 6.0 * k[0])


@pytest.mark.parametrize("name, extra", [("numbers", (0.7, [5], [5], [5])), ("linear", ([4], [4]))])
def test_opcheck(name, extra):
    torch.library.opcheck(CASES[name][0].overload, (*CASES[name][2], *extra))


def test_repeated_calls_and_gradients_describe_tensors_alone(monkeypatch):
    """From the second call on nothing but descriptors is made, whatever the shape; what differs goes the longer way."""
    f, reference, _ = case("numbers")
    f(*(a := (rand(5), rand(5)))).sum().backward()
    monkeypatch.setattr(type(CASES["numbers"][0].operator), "run", None)
    for n in (5, 9, 1):
        args = [torch.rand(n, dtype=torch.float64, requires_grad=True) for _ in a]
        weights = torch.rand(n, dtype=torch.float64)
        found, expected = (torch.autograd.grad((g(*args) * weights).sum(), args) for g in (f, reference))
        assert_same(found, expected)
    monkeypatch.undo()
    args = [torch.rand(5, 2, dtype=torch.float64)[:, 0].requires_grad_() for _ in a]
    assert_same(*(torch.autograd.grad(g(*args).sum(), args) for g in (f, reference)))


@pytest.mark.parametrize("name", ["numbers", "overwrites", "in and out"])
def test_second_derivatives_in_other_inputs_than_the_first(name):
    """The first derivative is taken in one input alone, so the second has to add the other."""
    f, reference, args = case(name)
    x, y = (a.detach() for a in (args if len(args) == 2 else (*args, *args)))

    def total(g):
        return lambda a, b: sum((part**2).sum() for part in as_tuple(g(a, b) if len(args) == 2 else g(a + b)))

    for transformed in (
        lambda g: torch.func.jacrev(torch.func.grad(total(g), 0), 1)(x, y),
        lambda g: torch.func.jacfwd(torch.func.grad(total(g), 1), 0)(x, y),
        lambda g: torch.func.jacrev(torch.func.jacfwd(total(g), 0), 1)(x, y),
    ):
        assert_same(transformed(f), transformed(reference))


def chained(a: F, b: F, y: F, n: wp.array(dtype=int)):
    between = wp.zeros(len(a), dtype=wp.float64, requires_grad=True)
    wp.launch(waves, len(a), [a, b, wp.float64(0.7)], [between, n])
    wp.launch(waves, len(a), [between, b, wp.float64(0.7)], [y, n])


@pytest.mark.parametrize("name", ["a kernel", "a function"])
def test_inputs_that_share_memory_are_variables_of_their_own(name):
    """A tensor and what it is without a gradient, views that overlap, and a direction that is an input."""
    f, reference, _ = case("numbers")
    if name == "a function":
        of, once = wp.torch_op(chained, num_outputs=2), reference
        f, reference = (lambda a, b: of(a, b)[0]), (lambda a, b: once(once(a, b), b))
    b, w = (torch.rand(n, dtype=torch.float64) for n in (4, 6))

    def total(g, first):
        return (lambda a: g(a, b).square().sum()) if first else (lambda a: g(b, a).square().sum())

    for transformed in (
        lambda g: torch.func.jvp(lambda a: g(a, b), (b,), (b,)),
        lambda g: torch.func.jvp(g, (b, b), (b, b.cos())),
        lambda g: (torch.func.hessian(total(g, True))(b), torch.func.hessian(total(g, False))(b)),
        lambda g: torch.func.hessian(lambda x: g(x[:4], x[2:]).sum())(w),
    ):
        assert_same(transformed(f), transformed(reference))


def test_batches_without_members():
    f, _, args = case("numbers")
    a, b = (torch.zeros(0, 5, dtype=torch.float64) for _ in args)
    assert torch.func.vmap(f)(a, b).shape == (0, 5)
    assert torch.func.vmap(torch.func.grad(lambda a, b: f(a, b).sum()), in_dims=(0, None))(a, args[1]).shape == (0, 5)


def test_modules_that_have_operators_are_copied():
    module = torch.nn.Linear(1, 1)
    module.operator = CASES["linear"][0]
    assert copy.deepcopy(module).operator is module.operator


def test_batches_made_without_torch_func_are_refused():
    f, _, args = case("numbers")
    with pytest.raises(wp.errors.NotDifferentiableError, match="is_grads_batched"):
        torch.autograd.grad(f(*args), args, torch.eye(5, dtype=torch.float64), is_grads_batched=True)


def test_what_reads_and_what_gives_may_lie_anyhow():
    """Views, expanded and negated tensors, and one tensor for two inputs."""
    f, reference, _ = case("numbers")
    wide = torch.rand(10, 2, dtype=torch.float64)
    negated = torch.rand(5, dtype=torch.complex128).conj().imag
    for a in (wide[::2, 0], wide[0, :1].expand(5), wide.T[1, 5:], negated):
        x = a.detach().requires_grad_()
        for seed in (wide[::2, 1], torch.ones((), dtype=torch.float64).expand(5), negated):
            assert_same(*(torch.autograd.grad(g(x, x), x, seed) for g in (f, reference)))


def test_forward_mode_of_forward_mode():
    f, reference, args = case("numbers")
    x, rest = args[0].detach(), [a.detach() for a in args[1:]]

    def twice(g):
        def slope(y):
            return torch.func.jvp(lambda z: g(z, *rest), (y,), (torch.ones_like(y),))[1]

        return torch.func.jvp(slope, (x,), (torch.full_like(x, 2.0),))[1]

    assert_same(twice(f), twice(reference))


def test_only_what_the_adjoint_reads_is_saved():
    a, k = torch.rand(1000, dtype=torch.float64, requires_grad=True), rand(1)
    kept = CASES["linear"][0](a, k).grad_fn.saved_tensors
    assert sum(t.untyped_storage().nbytes() for t in kept) < 100
    b = torch.rand(1000, dtype=torch.float64, requires_grad=True)
    kept = CASES["numbers"][0](a, b, 2.0)[0].grad_fn.saved_tensors
    assert {t.data_ptr() for t in kept} == {a.data_ptr(), b.data_ptr()}


def test_float32_vectors_and_tuples():
    @wp.kernel
    def shift(x: wp.array(dtype=wp.vec3), by: wp.vec3, k: int, y: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        y[i] = x[i] * float(k) + by

    f, x = wp.torch_op(shift), torch.rand(4, 3, requires_grad=True)
    for by in (wp.vec3(1.0, 2.0, 3.0), (1.0, 2.0, 3.0), torch.tensor([1.0, 2.0, 3.0])):
        y = f(x, by, 2)
        torch.testing.assert_close(y, 2.0 * x + torch.tensor([1.0, 2.0, 3.0]))
    y.sum().backward()
    assert (x.grad == 2.0).all()


def test_noncontiguous_tensors_are_taken():
    f, (a, b) = CASES["matrices"][0], (rand(3, 2), rand(4, 3))
    assert_same(f(a.T, b.T), a.T @ b.T)


def test_empty_tensors():
    f = CASES["linear"][0]
    a, k = torch.zeros(0, dtype=torch.float64, requires_grad=True), rand(1)
    f(a, k).sum().backward()
    assert a.grad.shape == (0,) and k.grad.tolist() == [0.0]


@pytest.mark.parametrize(
    "change, layout",
    [
        (lambda t: t.to_sparse(), "of layout torch.sparse_coo"),
        (lambda t: t.to_sparse_csr(), "of layout torch.sparse_csr"),
        (lambda t: t.to_mkldnn(), "of layout torch._mkldnn"),
        (lambda t: torch.nested.nested_tensor([t[0], t[1]]), "nested"),
        (lambda t: torch.nested.nested_tensor([t[0], t[1]], layout=torch.jagged), "nested"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tensors_without_strides_are_refused(change, layout):
    """In the first call, in one that would repeat another, where a gradient is wanted and in a compiled graph."""
    f = wp.torch_op(doubled)
    for _ in range(2):
        for t in (change(torch.eye(3)), change(torch.eye(3)).requires_grad_()):
            with pytest.raises(wp.errors.ArrayError, match=rf"'x' of kernel 'doubled' is a[\s\S]*{layout}[\s\S]*help"):
                f(t)
        f(torch.eye(3))
    if layout == "of layout torch.sparse_coo":
        with pytest.raises(wp.errors.ArrayError, match=layout):
            torch.compile(f, backend="aot_eager")(change(torch.eye(3)))  # whole graphs are refused by PyTorch


def test_sparse_cotangents_are_taken():
    f, x = wp.torch_op(doubled), torch.rand(4, 3, requires_grad=True)
    rows = torch.nn.functional.embedding(torch.tensor([2, 2, 0]), f(x), sparse=True)
    (gradient,) = torch.autograd.grad(rows.sum(), x, create_graph=True)
    assert gradient.tolist() == [[2.0] * 3, [0.0] * 3, [4.0] * 3, [0.0] * 3]


def test_a_function_that_builds_a_grid():
    @wp.kernel
    def density(grid: wp.uint64, x: wp.array(dtype=wp.vec3), r: float, out: wp.array(dtype=float)):
        i = wp.tid()
        for j in wp.hash_grid_neighbors(grid, x[i], r):
            out[i] += wp.exp(-wp.length_sq(x[i] - x[j]))

    def densities(x: wp.array(dtype=wp.vec3), r: float, out: wp.array(dtype=float)):
        grid = wp.HashGrid(8, 8, 8)
        grid.build(x, r)
        wp.launch(density, len(x), [grid.id, x, r], [out])

    f, x = wp.torch_op(densities, output_dims=lambda x, r: len(x)), torch.rand(50, 3, requires_grad=True)
    d = (x[:, None] - x[None]).square().sum(-1)
    expected = torch.where(d <= 0.25, torch.exp(-d), 0.0).sum(1)
    found = f(x, 0.5)
    torch.testing.assert_close(found, expected)
    gradients = (torch.autograd.grad(y.square().sum(), x)[0] for y in (found, expected))
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


def test_an_array_without_gradient_in_between_is_refused():
    def lost(x: F, y: F):
        between = wp.zeros(len(x), dtype=wp.float64)
        wp.launch(twice_in_memory, len(x), [x], [between])
        wp.launch(twice_in_memory, len(x), [between], [y])

    with pytest.raises(wp.errors.GradientError, match="has no gradient, and depends on inputs"):
        wp.torch_op(lost)(rand(3)).sum().backward()


def test_third_derivatives_are_refused():
    f, _, (a, b) = case("numbers")
    (g,) = torch.autograd.grad(f(a, b).sum(), a, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), a, create_graph=True)
    with pytest.raises(wp.errors.GradientError, match="third derivative"):
        torch.autograd.grad(h.sum(), a)


def test_tapes_leave_operators_to_autograd():
    f, x = CASES["overwrites"][0], rand(3)
    with wp.Tape() as tape:
        f(x).sum().backward()
    assert tape.records == [] and x.grad is not None


@wp.kernel
def generic(x: wp.array(dtype=wp.Float), y: wp.array(dtype=wp.Float)):
    y[wp.tid()] = x[wp.tid()]


def unannotated(x, y):
    pass


@pytest.mark.parametrize(
    "act, message",
    [
        (lambda: wp.torch_op(generic), "is generic"),
        (lambda: wp.torch_op(unannotated), "no types for x, y"),
        (lambda: wp.torch_op(3), "3 is no operator"),
        (lambda: wp.torch_op(linear, num_outputs=4), "num_outputs=4"),
        (lambda: wp.torch_op(linear, in_out_argnames=["z"]), "has no input 'z'"),
        (lambda: CASES["linear"][0](rand(3)), "got 1 argument"),
        (lambda: CASES["linear"][0](rand(3), 2.0), "argument 'k' of kernel 'linear' is float"),
        (lambda: CASES["linear"][0](None, rand(1)), r"'a' of kernel 'linear' is NoneType[\s\S]*expected: a tensor"),
        (lambda: CASES["linear"][0](np.zeros(3), rand(1)), "argument 'a' of kernel 'linear' is ndarray"),
        (lambda: CASES["linear"][0](torch.rand(3), rand(1)), r"tensor of torch.float32[\s\S]*torch.float64"),
        (lambda: CASES["linear"][0](rand(3, 2), rand(1)), r"shape \(3, 2\)"),
        (lambda: CASES["sums"][0](rand(3, 2), rand(3)), r"expected: \(n, 3\)"),
        (lambda: CASES["linear"][0](rand(3), rand(1), output_dims={"z": 3}), r"names \['z'\]"),
        (lambda: CASES["linear"][0](rand(3), rand(1), launch_dims="three"), "integer"),
        (lambda: CASES["linear"][0](rand(3), torch.zeros(1, dtype=torch.float64, device="meta")), "one device|meta"),
    ],
)
def test_refusals(act, message):
    with pytest.raises((wp.errors.WarpsimError, RuntimeError), match=message):
        act()
