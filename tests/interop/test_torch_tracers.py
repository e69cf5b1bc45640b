"""Operators under everything that traces programs of PyTorch, against the same programs in plain tensors.

WARPSIM_TRACED_PROGRAMS=2000 makes that many nests of transformations, instead of a few.
"""

import os
import random

import pytest
from operator_kernels import F, advance, energy, pair, twice_in_memory, waves

import warpsim as wp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from functorch.compile import aot_function, aot_module, nop  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402
from torch.func import functionalize, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

pytestmark = [
    pytest.mark.cpu(reason="tensors of the CPU build of PyTorch"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning"),
]
MORE = int(os.environ.get("WARPSIM_TRACED_PROGRAMS", "0"))


@wp.kernel
def stretched(x: wp.array(dtype=wp.vec3), by: wp.vec3, k: int, y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = wp.cw_mul(x[i], x[i]) * float(k) + by


def chain(a: F, b: F, y: F):
    between = wp.zeros(len(a), dtype=wp.float64, requires_grad=True)
    wp.launch(twice_in_memory, len(a), [a], [between])
    wp.launch(waves, len(a), [between, b, wp.float64(0.7)], [y, wp.zeros(len(a), dtype=int)])


def rand(*shape, dtype=torch.float64):
    return torch.rand(shape, dtype=dtype) + 0.3


def strided(*shape, dtype=torch.float64):
    return rand(*shape, 2, dtype=dtype).movedim(-1, 0)[1]


def float32(x, y):
    """float64 outside, so that one tolerance is right for all."""
    return stretch(x.float(), (1.0, 2.0, 3.0), 2).double() * y.sum()


one_kernel, stretch = wp.torch_op(pair, num_outputs=2), wp.torch_op(stretched)
in_place = wp.torch_op(advance, num_outputs=2, in_out_argnames=["x", "v"])
sums, function, integers = wp.torch_op(energy, output_dims=1), wp.torch_op(chain), wp.torch_op(waves, num_outputs=2)
overwritten = wp.torch_op(twice_in_memory)


def several(x, v, dt=0.1):
    moved = v - x * x * v * dt
    return x * moved + x * x * dt, moved


# name: the operator, the same in tensors, shapes of two tensors of n elements
OPERATORS = {
    "kernel": (lambda a, b: one_kernel(a, b, 0.7), lambda a, b: (a.sin() * b * 0.7, a * b * b), ("n", "n")),
    "number in a tensor": (lambda a, s: one_kernel(a, a, s), lambda a, s: (a.sin() * a * s, a**3), ("n", "")),
    "overwrites": (lambda a, b: overwritten(a) * b, lambda a, b: (a**4 + a) * b, ("n", "n")),
    "function": (function, lambda a, b: (a**4 + a).sin() * b * b * 0.7, ("n", "n")),
    "in and out": (lambda x, v: in_place(x, v, 0.1), several, ("n", "n")),
    "sums of vectors": (sums, lambda x, p: ((x * x).sum(1) * (x @ p)).sum()[None], ("n3", "3")),
    "integers too": (lambda a, b: integers(a, b, 0.5)[0], lambda a, b: a.sin() * b * b * 0.5, ("n", "n")),
    "float32": (float32, lambda x, y: (2.0 * x * x + torch.tensor([1.0, 2.0, 3.0])) * y.sum(), ("n3", "n")),
}


def tensors_for(name, n, make=rand):
    shape = {"n": (n,), "": (), "3": (3,), "n3": (n, 3)}
    return [make(*shape[s]) for s in OPERATORS[name][2]]


def flat(found):
    return [x for part in found for x in flat(part)] if isinstance(found, (tuple, list)) else [found]


def loss(g):
    return lambda *args: sum((part * part).sum() for part in flat(g(*args)))


def leaves(*args):
    return [a.detach().requires_grad_() for a in args]


def twice_differentiated(g):
    def run(a, b):
        x = leaves(a, b)
        first = torch.autograd.grad(loss(g)(*x), x, create_graph=True)
        return torch.autograd.grad(sum((part * part).sum() for part in first), x)

    return run


def by_autograd(g):
    def run(a, b):
        x = leaves(a, b)
        return torch.autograd.grad(loss(g)(*x), x)

    return run


def in_a_batch(g):
    return lambda a, b: vmap(grad(loss(g)), (0, None))(torch.stack([a, 2.0 * a]), b)


PROGRAMS = {
    "value": lambda g: lambda a, b: flat(g(a, b)),
    "grad": lambda g: grad(loss(g), (0, 1)),
    "vjp": lambda g: lambda a, b: vjp(loss(g), a, b)[1](torch.ones((), dtype=a.dtype)),
    "jvp": lambda g: lambda a, b: jvp(g, (a, b), (a.cos(), b.cos()))[1],
    "jacrev": lambda g: jacrev(lambda a, b: flat(g(a, b))[0]),
    "jacfwd": lambda g: jacfwd(loss(g)),
    "hessian": lambda g: hessian(loss(g)),
    "vmap of grad": in_a_batch,
    "autograd": by_autograd,
    "double backward": twice_differentiated,
}


# ----- tracers: a program and arguments to a function of other arguments ------------------------------------


class Module(torch.nn.Module):
    def __init__(self, run):
        super().__init__()
        self.run = run

    def forward(self, a, b):
        return tuple(flat(self.run(a, b)))


def exported(program, args, **options):
    return torch.export.export(Module(program), tuple(args), **options).module()


def exported_of_any_size(program, args):
    n = torch.export.Dim("n", min=2, max=64)
    return exported(program, args, strict=False, dynamic_shapes={"a": {0: n}, "b": {0: n}})


def compiled(backend):
    def trace(program, args):
        torch._dynamo.reset()
        return torch.compile(program, backend=backend)

    return trace


def by_compiled_autograd(program, args):
    torch._dynamo.reset()

    def run(*args):
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="aot_eager")):
            return program(*args)

    return run


def symbols(program, args):
    return make_fx(program, tracing_mode="symbolic")(*args)


def of_a_whole_module(program, args):
    return aot_module(Module(program), fw_compiler=nop, bw_compiler=nop)


EVERY, BY_FUNC = set(PROGRAMS), {"grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "vmap of grad"}
WITHOUT_LEAVES = EVERY - {"autograd", "double backward"}
# what follows a program, and the programs among those above that it can follow in plain tensors
TRACERS = {
    "nothing": (lambda program, args: program, EVERY),
    "make_fx": (lambda program, args: make_fx(program)(*args), EVERY),
    "make_fx of fake tensors": (lambda program, args: make_fx(program, tracing_mode="fake")(*args), EVERY),
    "make_fx of symbols": (symbols, EVERY),
    "make_fx before autograd": (lambda program, args: make_fx(program, pre_dispatch=True)(*args), EVERY - BY_FUNC),
    "functionalize": (lambda program, args: functionalize(program), {"value"}),
    "make_fx of functionalize": (lambda program, args: make_fx(functionalize(program))(*args), {"value"}),
    "fx": (lambda program, args: torch.fx.symbolic_trace(program), {"fx"}),
    "aot_function": (lambda program, args: aot_function(program, nop, nop), EVERY - {"double backward"}),
    "aot_module": (of_a_whole_module, {"value", "grad", "jvp"}),
    "export": (lambda program, args: exported(program, args, strict=False), {"value", "jvp", "autograd"}),
    "strict export": (lambda program, args: exported(program, args, strict=True), {"value", "jvp"}),
    "export of any size": (exported_of_any_size, {"value"}),
    "compile, eager": (compiled("eager"), EVERY),
    "compile, aot_eager": (compiled("aot_eager"), EVERY - {"double backward"}),
    "compiled autograd": (by_compiled_autograd, {"autograd"}),
}
SLOW = {"strict export", "export", "export of any size", "compile, eager", "compile, aot_eager", "compiled autograd"}
ONE_SHAPE = {
    "make_fx",
    "make_fx of fake tensors",
    "make_fx before autograd",
    "make_fx of functionalize",
    "export",
    "strict export",
}
OF_SHAPE = {"jacrev", "jacfwd", "hessian"}  # PyTorch's own loops over elements


def assert_traced(tracer, program, name, sizes=(5, 5), make=rand):
    """Trace for some tensors, run for others."""
    operator, reference, _ = OPERATORS[name]
    first, second = (tensors_for(name, n, make) for n in sizes)
    found = TRACERS[tracer][0](PROGRAMS[program](operator), first)(*second)
    assert_same(found, PROGRAMS[program](reference)(*second), 1e-5 if name == "float32" else 1e-11)


def assert_same(found, expected, tolerance=1e-11):
    found, expected = flat(found), flat(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a.detach(), b.detach(), rtol=tolerance, atol=tolerance)


def pairs(slow):
    names = [n for n in TRACERS if (n in SLOW) == slow and n != "fx"]
    return [(tracer, program) for tracer in names for program in PROGRAMS if program in TRACERS[tracer][1]]


@pytest.mark.parametrize("tracer, program", pairs(slow=False))
def test_traced_programs_compute_the_same(tracer, program):
    for name in OPERATORS:
        assert_traced(tracer, program, name)


TRACED = [("export", "value"), ("export", "autograd"), ("strict export", "value"), ("export of any size", "value")]
TRACED += [("compile, eager", "grad"), ("compile, aot_eager", "grad"), ("compile, aot_eager", "jvp")]


@pytest.mark.parametrize("tracer, program", TRACED)
def test_exported_and_compiled_programs_compute_the_same(tracer, program):
    assert_traced(tracer, program, "kernel")


@pytest.mark.nightly
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("tracer, program", pairs(slow=True))
def test_every_operator_is_exported_and_compiled(tracer, program, name):
    if tracer != "export of any size" or OPERATORS[name][2] == ("n", "n"):
        assert_traced(tracer, program, name)


@pytest.mark.parametrize("name", ["kernel", "function", "in and out", "sums of vectors"])
@pytest.mark.parametrize("program", ["value", "grad", "jvp", "double backward"])
def test_tensors_of_any_layout_and_none_elements_are_traced(program, name):
    for tracer in ("nothing", "make_fx", "make_fx of symbols", "aot_function"):
        if program in TRACERS[tracer][1]:
            if (tracer, program) != ("make_fx of symbols", "jvp"):  # PyTorch cannot, of its own functions either
                assert_traced(tracer, program, name, make=strided)
            if tracer != "make_fx of symbols":  # PyTorch takes an extent of 0 for a constant
                assert_traced(tracer, program, name, sizes=(0, 0))


@pytest.mark.parametrize("program", sorted(EVERY - OF_SHAPE))
def test_graphs_with_symbols_are_right_for_other_sizes(program):
    for tracer in ("make_fx of symbols", "export of any size"):
        if program in TRACERS[tracer][1]:
            assert_traced(tracer, program, "kernel", sizes=(5, 9))
            assert_traced(tracer, program, "function", sizes=(5, 9))


@pytest.mark.parametrize("name", OPERATORS)
def test_linearize(name):
    operator, reference, _ = OPERATORS[name]
    x, along = tensors_for(name, 5), tensors_for(name, 5)
    tolerance = 1e-5 if name == "float32" else 1e-11
    for program in ("value", "grad"):
        f, g = (PROGRAMS[program](h) for h in (operator, reference))
        value, tangent = torch.func.linearize(f, *x)
        assert_same((value, tangent(*along)), jvp(lambda *a, g=g: flat(g(*a)), tuple(x), tuple(along)), tolerance)


def test_symbolic_traces_have_operators_as_leaves():
    def program(f):
        return lambda a, b: f(2.0 * a, b) * b + 1.0

    graph = torch.fx.symbolic_trace(program(function))
    assert function in [node.target for node in graph.graph.nodes]
    for n in (4, 7):
        a, b = leaves(rand(n), rand(n))
        expected = program(OPERATORS["function"][1])(a, b)
        assert_same(graph(a, b), expected)
        assert_same(*(torch.autograd.grad(y.sum(), (a, b)) for y in (graph(a, b), expected)))


@pytest.mark.parametrize("program", ["value", "grad", "jvp"])
def test_graphs_are_differentiated_in_their_turn(program):
    """Traced first and differentiated then, to second order in all."""
    x = tensors_for("kernel", 4)
    operator, reference, _ = OPERATORS["kernel"]
    graph, g = make_fx(PROGRAMS[program](operator))(*x), PROGRAMS[program](reference)
    outside = [grad(loss(graph), (0, 1)), jacfwd(loss(graph)), vmap(lambda a, b: flat(graph(a, b)), (0, None))]
    expected = [grad(loss(g), (0, 1)), jacfwd(loss(g)), vmap(lambda a, b: flat(g(a, b)), (0, None))]
    for f, h in zip(outside[:2], expected[:2], strict=True):
        assert_same(f(*x), h(*x))
    many = torch.stack([x[0], x[1]])
    assert_same(outside[2](many, x[1]), expected[2](many, x[1]))
    if program == "value":
        assert_same(hessian(loss(graph))(*x), hessian(loss(g))(*x))
        assert_same(twice_differentiated(graph)(*x), twice_differentiated(g)(*x))
    else:
        with pytest.raises(wp.errors.GradientError, match="third derivative"):
            hessian(loss(graph))(*x)


def test_fake_and_meta_tensors_tell_shapes():
    for f in (PROGRAMS["value"](OPERATORS["kernel"][0]), PROGRAMS["grad"](OPERATORS["function"][0])):
        with FakeTensorMode() as mode:
            fake = f(*(mode.from_tensor(t) for t in tensors_for("kernel", 5)))
        meta = f(*(t.to("meta") for t in tensors_for("kernel", 5)))
        for found in (fake, meta):
            assert [(y.shape, y.dtype) for y in found] == [((5,), torch.float64)] * 2
        assert all(y.is_meta for y in meta) and all(y.device.type == "cpu" for y in fake)


def test_modes_see_one_operator():
    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    seen, (a, b) = [], leaves(rand(4), rand(4))
    with Log():
        y = function(a, b)
        y.backward(torch.ones_like(y.detach()))
    ours = [name for name in seen if "warpsim" in name]
    assert ours == [f"warpsim.{function.name}.{form}" for form in ("default", "vjp")]
    assert_same((a.grad, b.grad), torch.autograd.grad(OPERATORS["function"][1](a, b).sum(), (a, b)))


def test_default_devices_are_not_those_of_results():
    a, b = leaves(rand(4), rand(4))
    with torch.device("meta"):
        for y in OPERATORS["kernel"][0](a, b):
            y.backward(y.detach(), retain_graph=True)
    assert a.grad.device == b.grad.device == y.device == a.device


def test_classes_of_tensors_are_kept():
    class Own(torch.Tensor):
        pass

    a, b = rand(4), rand(4)
    found = function(a.as_subclass(Own), b)
    assert type(found) is Own
    assert_same(found.as_subclass(torch.Tensor), function(a, b))


@pytest.mark.parametrize(
    "trace, message",
    [
        (lambda a, b: torch.jit.trace(function, (a, b)), "in torch.jit.trace, whose graphs keep the extents"),
        (lambda a, b: functionalize(grad(loss(function)))(a, b), "leave functionalize out"),
        (lambda a, b: functionalize(vmap(function))(a[None], b[None]), "leave functionalize out"),
        (lambda a, b: exported(grad(loss(function)), (a, b), strict=False), "torch.func that torch.export"),
        (lambda a, b: make_fx(grad(loss(function)), pre_dispatch=True)(a, b), r"make_fx\(pre_dispatch=True\) traces"),
    ],
)
def test_refusals(trace, message):
    with pytest.raises(wp.errors.WarpsimError, match=message):
        trace(rand(4), rand(4))
    assert_same(function(rand(4), rand(4)) * 0.0, torch.zeros(4, dtype=torch.float64))


# ----- nests of transformations -------------------------------------------------------------------------


def differentiated(g, rng):
    return rng.choice(
        [
            grad(loss(g), rng.choice([0, 1, (0, 1)])),
            jacrev(loss(g)),
            jacfwd(loss(g), 1),
            lambda a, b: jvp(g, (a, b), (a.cos(), b.sin()))[1],
            lambda a, b: vjp(loss(g), a, b)[1](torch.full((), 2.0, dtype=a.dtype)),
        ]
    )


def in_batches(g, rng):
    first, second = rng.choice([(True, False), (False, True), (True, True)])
    axes = (0 if first else None, 0 if second else None)

    def run(a, b):
        rows = [torch.stack([x, x.sin()]) if axis == 0 else x for x, axis in zip((a, b), axes, strict=True)]
        return vmap(lambda a, b: flat(g(a, b)), axes)(*rows)

    return run


def composed(g, rng):
    return rng.choice(
        [
            lambda a, b: flat(g(a.sin(), b)),
            lambda a, b: flat(g(b, a)),
            lambda a, b: [y.exp() for y in flat(g(a, a * b))],
        ]
    )


def nest(g, seed):
    """A function of two tensors by up to two derivatives of g, batches and compositions, the same for every g."""
    rng, orders = random.Random(seed), 0
    for _ in range(rng.randint(1, 4)):
        layer = rng.choice([differentiated, in_batches, composed])
        if layer is differentiated:
            orders += 1
            layer = differentiated if orders <= 2 else composed
        g = layer(g, rng)
    return g


@pytest.mark.parametrize("seed", range(40, 40 + (MORE or 24)))
def test_nests_of_transformations_are_traced(seed):
    rng = random.Random(seed)
    name = rng.choice(["kernel", "overwrites", "function", "in and out"])
    operator, reference, _ = OPERATORS[name]
    torch.manual_seed(seed)
    x, y = tensors_for(name, 4), tensors_for(name, 4)
    f, g = nest(operator, seed), nest(reference, seed)
    expected = g(*y)
    assert_same(f(*y), expected, 1e-9)
    tracer = rng.choice(["make_fx", "make_fx of fake tensors", "make_fx of symbols"])
    assert_same(TRACERS[tracer][0](f, x)(*y), expected, 1e-9)
