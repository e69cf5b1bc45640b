"""The marbles: the friction of their floor is found from a noisy film, within 2 %; refusals."""

import numpy as np
import pytest
from pxr import Usd

EXAMPLE = "grain_friction"


def test_the_friction_is_found(example, run, tmp_path):
    result = run("--marbles", 4, "--seconds", 0.2, "--substeps", 70)
    example.check(result)
    assert result.friction[0] == example.GUESS and result.misfit[0] > 3.0 * result.misfit[-1]
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    assert all(stage.GetPrimAtPath(f"/World/{name}") for name in ("measured", "found", "guess"))
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_sliding_marbles_are_braked_by_friction_until_they_roll(example):
    """Of a solid ball that stops to slide 5/7 of the speed is left, whatever the friction."""
    args = type("Args", (), {"marbles": 2, "substeps": 80, "fps": 50, "seconds": 0.4, "device": "cpu"})
    path = example.Marbles(args).path(0.3)
    speeds = (path[-1] - path[-2])[:, 0] * args.fps
    np.testing.assert_allclose(speeds, 5.0 / 7.0 * example.SPEED * np.array([0.4, 1.0]), rtol=0.02)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"friction": np.array([0.5, 0.23])}, "found friction 0.2300, right: 0.22"),
        ({"misfit": np.array([6.0, 1.2])}, "off by 1.20 times the noise"),
    ],
)
def test_the_check_catches_what_is_wrong(example, change, text):
    right = {"friction": np.array([0.5, 0.22]), "misfit": np.array([6.0, 1.0])}
    example.check(example.Result(**right))
    with pytest.raises(AssertionError, match=text):
        example.check(example.Result(**{**right, **change}))


def test_wrong_options_are_refused(run, capsys):
    with pytest.raises(SystemExit):
        run("--marbles", 0)
    assert "is not above 0" in capsys.readouterr().err
