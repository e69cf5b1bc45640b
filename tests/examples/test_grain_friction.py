"""The marbles: the friction of their floor is found from a noisy film, within 2 %; refusals."""

import numpy as np
import pytest
from pxr import Usd

EXAMPLE = "grain_friction"


def test_the_friction_is_found(example, run, tmp_path):
    solution = run("--marbles", 4, "--seconds", 0.2, "--substeps", 70)
    assert solution.values["friction"][0] == pytest.approx(example.TRUE, rel=0.02)
    assert solution.loss < 1.05**2, "more than noise is left"
    assert solution.losses[0] > 9.0 * solution.loss
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    assert all(stage.GetPrimAtPath(f"/World/{name}") for name in ("measured", "found", "guess"))
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_sliding_marbles_are_braked_by_friction_until_they_roll(example, problem_of):
    """Of a solid ball that stops to slide 5/7 of the speed is left, whatever the friction."""
    problem, record = problem_of("--marbles", 2, "--substeps", 80, "--fps", 50, "--seconds", 0.4, GUESS=0.3)
    problem.run()
    *_, before, last = record["path"]
    speeds = 50 * (last.numpy() - before.numpy())[:, 0]
    np.testing.assert_allclose(speeds, 5.0 / 7.0 * example.SPEED * np.array([0.4, 1.0]), rtol=0.02)


def test_wrong_options_are_refused(run, capsys):
    with pytest.raises(SystemExit):
        run("--marbles", 0)
    assert "is not above 0" in capsys.readouterr().err
