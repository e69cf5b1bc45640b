"""Copies of operators are the operators; other processes load them from `pickle` and compute the same."""

import base64
import copy
import pickle
import subprocess
import sys
from pathlib import Path

import operator_kernels
import pytest

import warpsim as wp

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("jax", reason="JAX is not installed")
pickled_operators = pytest.importorskip("pickled_operators")
pytestmark = pytest.mark.cpu(reason="operators of frameworks on the CPU")

ADVANCE = {"num_outputs": 2, "in_out_argnames": ["x", "v"]}


@pytest.mark.parametrize("make", [wp.torch_op, wp.jax_kernel])
def test_copies_are_the_operator(make):
    operator = make(operator_kernels.waves, num_outputs=2)
    assert copy.copy(operator) is operator and copy.deepcopy([operator])[0] is operator


def test_operators_of_one_process_are_found_again():
    changed = wp.torch_op(operator_kernels.advance, **ADVANCE)
    for operator in (pickled_operators.waves, pickled_operators.decorated, pickled_operators.decorated_of_jax, changed):
        assert pickle.loads(pickle.dumps(operator)) is operator


def test_other_processes_compute_with_operators_that_have_been_used():
    operators = [
        pickled_operators.waves,
        wp.torch_op(operator_kernels.advance, launch_dims=pickled_operators.two, **ADVANCE),
        pickled_operators.decorated,
        pickled_operators.waves_of_jax,
        pickled_operators.decorated_of_jax,
    ]
    assert operators[0].overload is not None
    here = Path(__file__).resolve().parent
    text = base64.b64encode(pickle.dumps(operators)).decode()
    program = f"import pickled_operators, sys; sys.argv[1:] = [{text!r}]; pickled_operators.main()"
    done = subprocess.run([sys.executable, "-c", program], cwd=here, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 and done.stdout.split() == ["loaded"], done.stderr


@pytest.mark.parametrize("make", [wp.torch_op, wp.jax_kernel])
def test_what_other_processes_do_not_find_is_refused(make):
    @wp.kernel
    def local(x: operator_kernels.F, y: operator_kernels.F):
        y[wp.tid()] = x[wp.tid()]

    for operator in (make(local), make(operator_kernels.twice_in_memory, launch_dims=lambda x: len(x))):
        with pytest.raises(pickle.PicklingError, match=r"that is this one[\s\S]*at the top level of a module"):
            pickle.dumps(operator)
