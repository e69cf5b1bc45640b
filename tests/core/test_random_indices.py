"""Random indices mean the same everywhere: values and gradients, compiled and interpreted, against plain Python.

Programs read, update and overwrite arrays of one to three dimensions at indices of all integer types, negative and
not. Those in range compute what the twin computes, with verify and without; their gradients are what central
differences of the twin give, or are refused. Of the others exactly those that leave an array are refused by verify,
with the array, the axis and the index that the twin names.

WARPSIM_INDEX_PROGRAMS=5000 runs that many programs instead of those of every day.
"""

import os
import re

import numpy as np
import pytest
from index_programs import program as random_program

import warpsim as wp
from warpsim.config import config
from warpsim.errors import KernelAssertionError, NotDifferentiableError, OutOfBoundsError

COUNT = int(os.environ.get("WARPSIM_INDEX_PROGRAMS", "24"))
MESSAGE = r"index (-?\d+) (?:is outside|of \w+ is outside) axis (\d+)(?: of (\w+))? of length (\d+)"
pytestmark = [pytest.mark.cpu(reason="compares the two devices of the host"), pytest.mark.assembled_one_in(11)]


def arguments(program, contents, device, gradients=False):
    arrays = {
        name: wp.array(value, dtype=wp.float64, device=device, requires_grad=gradients)
        for name, value in contents.items()
    }
    tables = [wp.array(value, device=device) for value in program.tables.values()]
    return arrays, [*arrays.values(), *tables, program.shift]


def run(program, kernel, device):
    arrays, args = arguments(program, program.arrays(), device)
    wp.launch(kernel, program.dim, args, device=device)
    return {name: a.numpy() for name, a in arrays.items()}


@pytest.mark.parametrize("part", range(4))
def test_indices_in_range(part):
    for seed in range(part, COUNT, 4):
        program = random_program(seed, astray=False)
        kernel, want = program.kernel(), program.arrays()
        program.twin(want)
        for device in ("cpu", "interp"):
            for verify in (False, True):
                config.verify = verify
                found = run(program, kernel, device)
                for name, value in want.items():
                    where = f"{name}, seed {seed}\n{program.text}"
                    np.testing.assert_allclose(found[name], value, rtol=1e-12, err_msg=where)


@pytest.mark.parametrize("part", range(4))
def test_indices_anywhere(part):
    outside = 0
    for seed in range(10**6 + part, 10**6 + COUNT, 4):
        program = random_program(seed, astray=True)
        kernel, failures = program.kernel(), program.failures()
        outside += bool(failures)
        config.verify = True
        for device in ("cpu", "interp"):
            if not failures:
                run(program, kernel, device)
                continue
            with pytest.raises(OutOfBoundsError) as caught:
                run(program, kernel, device)
            message = str(caught.value)
            found = re.search(MESSAGE, message)
            assert found, message
            index, axis, array, extent = found.groups()
            array = array or re.search(r"of (\w+) is outside", message)[1]
            assert (array, int(axis), int(index), int(extent)) in failures, f"{message}\n{failures}\n{program.text}"
    print(f"{outside} programs leave an array")
    assert outside


def slopes_by_differences(program, weights, step=1e-6):
    """Derivatives of the weighted sum of all results by the inputs."""
    def loss(contents):
        program.twin(contents)
        return sum(float(np.sum(weights[name] * value)) for name, value in contents.items())

    found = {}
    for name, value in program.inputs.items():
        found[name] = np.zeros_like(value)
        for at in np.ndindex(value.shape):
            ends = []
            for sign in (1, -1):
                contents = program.arrays()
                contents[name][at] += sign * step
                ends.append(loss(contents))
            found[name][at] = (ends[0] - ends[1]) / (2 * step)
    return found


@pytest.mark.parametrize("part", range(4))
def test_gradients(part):
    right, refused = 0, 0
    for seed in range(part, COUNT, 4):
        program = random_program(seed, astray=False)
        kernel, numbers = program.kernel(), np.random.default_rng(seed)
        weights = {name: numbers.uniform(0.5, 1.5, shape) for name, shape in program.shapes.items()}
        want = slopes_by_differences(program, weights)
        for device in ("cpu", "interp") if seed % 3 == 0 else ("cpu",):
            arrays, args = arguments(program, program.arrays(), device, gradients=True)
            tape = wp.Tape()
            try:
                with tape:
                    wp.launch(kernel, program.dim, args, device=device)
                tape.backward(grads={a: wp.array(weights[name], device=device) for name, a in arrays.items()})
            except (NotDifferentiableError, KernelAssertionError):
                refused += 1
                continue
            right += 1
            for name, a in arrays.items():
                where = f"{name}, seed {seed}, {device}\n{program.text}"
                np.testing.assert_allclose(a.grad.numpy(), want[name], rtol=2e-5, atol=2e-6, err_msg=where)
    print(f"{right} gradients right, {refused} refused")
    assert right
