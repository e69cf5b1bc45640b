"""The beam: its material is found from a noisy film; refusals."""

import pytest
from pxr import Usd

from warpsim.solvers import soft

EXAMPLE = "soft_identify"


def test_the_material_is_found(example, run, tmp_path):
    solution = run("--seconds", 0.25, "--substeps", 4)
    young, poisson = soft.elastic_constants(*(values[0] for values in solution.values.values()))
    assert young == pytest.approx(example.TRUE[0], rel=0.02) and poisson == pytest.approx(example.TRUE[1], abs=0.03)
    assert solution.loss < 1.05**2, "more than noise is left"
    assert solution.losses[0] > 100.0 * solution.loss
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    assert all(stage.GetPrimAtPath(f"/World/{name}") for name in ("measured", "found", "guess"))
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_wrong_options_are_refused(run, capsys):
    with pytest.raises(SystemExit):
        run("--substeps", 0)
    assert "is not above 0" in capsys.readouterr().err
