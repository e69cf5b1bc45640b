"""The Jacobian of residuals: worlds side by side share sweeps, in both modes; what does not split is refused."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.optim import Problem, ProblemError
from warpsim.optim.problem import jacobian
from warpsim.optim.problem.jacobian import linearise


@wp.kernel
def mix(x: wp.array[wp.vec2d], r: wp.array[wp.vec3d]):
    """Three residuals of each world's own two numbers."""
    i = wp.tid()
    a, b = x[i][0], x[i][1]
    r[i] = wp.vec3d(a * a - wp.float64(2.0 + float(i)), a * b - wp.float64(1.0), wp.float64(0.1) * (b - a))


def side_by_side(count, **options):
    x = wp.array(np.random.default_rng(0).uniform(0.8, 1.5, (count, 2)), dtype=wp.vec2d, requires_grad=True)
    r = wp.zeros(count, dtype=wp.vec3d, requires_grad=True)
    return Problem(lambda: wp.launch(mix, count, [x, r]), {"x": x}, residuals=r, **options)


@pytest.mark.parametrize("reverse", [False, True])
def test_worlds_share_sweeps(reverse, monkeypatch):
    apart, together = side_by_side(4), side_by_side(4, worlds=4)
    z = apart.start()
    expected, residual = linearise(apart, z)
    sweeps = []
    for name in ("_column", "_row"):
        run = getattr(jacobian, name)
        monkeypatch.setattr(jacobian, name, lambda *args, run=run, name=name: sweeps.append(name) or run(*args))
    if reverse:  # as if each world had more unknowns than residuals
        split = jacobian.split_by_world
        wide = lambda sizes, worlds, what: (split(sizes, worlds, what)[0], split(sizes, worlds, what)[1] + 9)  # noqa: E731
        monkeypatch.setattr(jacobian, "split_by_world", lambda *a: wide(*a) if a[2] == "unknowns" else split(*a))
    found, again = linearise(together, z)
    assert sweeps == (["_row"] * 3 if reverse else ["_column"] * 2)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(again, residual)


def test_all_worlds_are_solved_at_once():
    apart, together = side_by_side(3), side_by_side(3, worlds=3)
    one, other = (problem.minimize("gauss-newton", 30) for problem in (apart, together))
    assert other.loss == pytest.approx(one.loss, rel=1e-9)
    np.testing.assert_allclose(one.values["x"], other.values["x"], atol=1e-6)


def test_what_does_not_split_is_refused():
    with pytest.raises(ProblemError, match="unknowns of 6 numbers for worlds=4"):
        side_by_side(3, worlds=4)
