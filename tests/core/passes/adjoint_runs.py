"""Adjoint kernels run by the interpreter, and finite differences of the kernels themselves, in float64."""

import numpy as np

from warpsim.core.emit.program import Form, FormKind
from warpsim.core.ir.host_arrays import HostArray
from warpsim.core.ir.interpret import Interpreter
from warpsim.core.passes.reverse.extra_params import Before, GradientSum
from warpsim.core.types.arrays import array_type

STEP = 1e-6


def types_of(kernel):
    return tuple(kernel.patterns.values())


def adjoint_program(kernel, *gradients, **facts):
    return kernel.program(types_of(kernel), form=Form(FormKind.ADJOINT, frozenset(gradients), **facts))


def run(fn, dim, operands):
    machine = Interpreter()
    for thread in range(dim):
        machine.thread = (thread,)
        machine.run(fn.body, operands)


def forward(kernel, dim, args):
    """Copies of the arguments as the kernel leaves them."""
    left = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    pairs = zip(kernel.patterns.items(), left, strict=True)
    operands = [HostArray(a, t, n) if isinstance(a, np.ndarray) else a for (n, t), a in pairs]
    run(kernel.program(types_of(kernel)).fn, dim, operands)
    return left


def gradients(kernel, dim, args, wanted, out, seed):
    """The gradient arrays of the arguments named in `wanted`, for cotangents `seed` of argument `out`."""
    program, names = adjoint_program(kernel, *wanted), list(kernel.patterns)
    slopes = {n: np.zeros_like(args[names.index(n)]) for n in wanted if isinstance(args[names.index(n)], np.ndarray)}
    slopes[out][...] = seed
    operands = []
    for (n, t), a in zip(kernel.patterns.items(), forward(kernel, dim, args), strict=True):
        grad = HostArray(slopes[n], t, f"{n}.grad") if n in slopes else None
        operands.append(HostArray(a, t, n, grad) if isinstance(a, np.ndarray) else a)
    for extra in program.extras:
        t, given = types_of(kernel)[extra.position], args[extra.position]
        if isinstance(extra, Before):
            operands.append(HostArray(given.copy(), t, "before"))
        else:
            assert isinstance(extra, GradientSum)
            total = slopes[names[extra.position]] = np.zeros((1, *np.shape(given)))
            operands.append(HostArray(total, array_type(t, 1), "sum"))
    run(program.fn, dim, operands)
    return slopes


def differences(kernel, dim, args, name, out, seed):
    """Central differences of the weighted sum of argument `out` along every number of argument `name`."""
    names = list(kernel.patterns)
    at = names.index(name)
    found = np.zeros_like(args[at])

    def total(moved):
        left = forward(kernel, dim, [*args[:at], moved, *args[at + 1 :]])
        return float(np.sum(seed * left[names.index(out)]))

    for index in np.ndindex(*np.shape(args[at])):
        step = np.zeros_like(args[at])
        step[index] = STEP
        found[index] = (total(args[at] + step) - total(args[at] - step)) / (2 * STEP)
    return found


def check(kernel, dim, args, wanted, out):
    """Compare the two for random weights."""
    rng = np.random.default_rng(3)
    seed = rng.uniform(0.5, 1.5, np.shape(args[list(kernel.patterns).index(out)]))
    found = gradients(kernel, dim, args, wanted, out, seed)
    for name in wanted:
        want = differences(kernel, dim, args, name, out, seed)
        np.testing.assert_allclose(np.reshape(found[name], np.shape(want)), want, rtol=1e-5, atol=1e-6, err_msg=name)


def some(*shape, seed=0):
    """Numbers between 0.5 and 1.5."""
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape)
