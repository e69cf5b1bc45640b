"""Random programs over tiles: they give what NumPy's references give, or are refused; so do their gradients."""

import numpy as np
import pytest
from tile_programs import D, Program
from tile_runs import differences

import warpsim as wp
from warpsim.errors import KernelError, NotDifferentiableError

REFUSED = ("another name may reach", "has no single type", "changes its type in a loop", "may be unassigned")
PROGRAMS = 24


def run(seed, device, gradient):
    """Compare one program; says whether it ran, and whether its gradient was known."""
    program, rng = Program(seed), np.random.default_rng(seed)
    values = rng.normal(size=(2, 3, 3))
    with np.errstate(all="raise"):
        expected = program.numpy(values, 2)
    with wp.ScopedDevice(device):
        a = wp.array(values, dtype=D, requires_grad=True)
        out = wp.zeros(expected.shape, dtype=D, requires_grad=True)
        try:
            with wp.Tape() as tape:
                wp.launch(program.kernel(), 1, inputs=[a, 2, out], block_dim=1)
        except KernelError as error:
            assert any(words in str(error) for words in REFUSED), error
            return False, False
        text = "\n".join(program.lines)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-9, atol=1e-9, err_msg=text)
        if not gradient:
            return True, False
        weights = rng.normal(size=expected.shape)
        try:
            tape.backward(grads={out: wp.array(weights, dtype=D)})
        except NotDifferentiableError:
            return True, False
    [slopes] = differences(lambda a: program.numpy(a, 2), [values], [weights])
    np.testing.assert_allclose(a.grad.numpy(), slopes, rtol=1e-5, atol=1e-5, err_msg=text)
    return True, True


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_random_programs(device):
    outcomes = [run(seed, device, gradient=seed % 4 == 0) for seed in range(PROGRAMS)]
    assert sum(ran for ran, _ in outcomes) > PROGRAMS // 4
    assert any(known for _, known in outcomes)
