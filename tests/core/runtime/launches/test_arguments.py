"""What is said of arguments that do not fit: what is wrong decides the advice."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.launches.launcher import explain
from warpsim.errors import ArgumentTypeError, LaunchError


@wp.kernel
def scale(x: wp.array(dtype=float), factor: float):
    i = wp.tid()
    x[i] = factor * x[i]


def complaint(x):
    with pytest.raises(ArgumentTypeError) as caught:
        wp.launch(scale, 4, [x, 2.0])
    return str(caught.value)


def test_another_dtype_is_to_be_converted():
    assert complaint(wp.ones(4, dtype=int)) == (
        "argument 'x' of kernel 'scale' is array(int32, ndim=1)\nexpected: array(float32, ndim=1)\n"
        "help: wp.array(x, dtype=float32) converts"
    )


def test_another_rank_is_to_be_reshaped():
    assert complaint(wp.ones((2, 2), dtype=float)) == (
        "argument 'x' of kernel 'scale' is array(float32, ndim=2)\nexpected: array(float32, ndim=1)\n"
        "help: x.reshape(...)"
    )


@pytest.mark.cpu(reason="an array of NumPy is memory of the host")
def test_another_rank_of_an_array_of_numpy_is_to_be_reshaped():
    said = complaint(np.ones((2, 2), np.float32))
    assert "is an array of shape (2, 2)\n" in said
    assert said.endswith("help: x.reshape(...)")


@pytest.mark.cpu(reason="looks at the launcher of the CPU")
def test_arguments_that_changed_while_they_were_passed_are_an_error():
    """Another thread put them right again: nothing is left to explain."""
    args = [wp.ones(4, dtype=float), 2.0]
    wp.launch(scale, 4, args)
    with pytest.raises(LaunchError, match=r"arguments of kernel '.*scale' changed during the launch\nhelp:"):
        explain(scale.latest["cpu"], args)


@wp.kernel
def shifted(v: wp.vec3, m: wp.mat22h, n: wp.vec3i, out: wp.array(dtype=float)):
    out[0] = v[0] + float(m[0, 0]) + float(n[0])


GOOD = (wp.vec3(1.0), wp.mat22h(1.0), wp.vec3i(1))


@pytest.mark.parametrize(
    "position, value, cure",
    (
        (0, wp.vec3d(1.0), "vec3f"),
        (1, wp.mat22(1.0), "mat22h"),
        (2, wp.vec3(1.5), "vec3i"),
        (2, (1.5, 2, 3), "vec3i"),
        (2, np.ones(3), "vec3i"),
    ),
)
def test_compounds_are_not_rounded_to_another_type_in_silence(position, value, cure):
    """At launches, at recorded ones, on tapes; with the advice to convert."""
    out = wp.zeros(1, requires_grad=True)
    args = [value if k == position else good for k, good in enumerate(GOOD)]
    with pytest.raises(ArgumentTypeError, match=rf"expected: {cure}\nhelp: pass {cure}\("):
        wp.launch(shifted, 1, [*args, out])
    with wp.Tape(), pytest.raises(ArgumentTypeError):
        wp.launch(shifted, 1, [*args, out])
    with pytest.raises(ArgumentTypeError):
        wp.launch(shifted, 1, [*args, out], record_cmd=True)


def test_numbers_of_whoever_made_them_are_converted():
    """Sequences, arrays of NumPy and integers have no precision that is meant; wider types hold every number."""
    out = wp.zeros(1)
    for v in ((1.0, 1.0, 1.0), [1, 1, 1], np.ones(3), wp.vec3i(1), wp.vec3h(1.0)):
        wp.launch(shifted, 1, [v, np.ones((2, 2)), (1, 1, 1), out])
        assert out.numpy()[0] == 3.0
