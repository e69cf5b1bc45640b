"""The beam: its material is found from a noisy film; conversions of materials; refusals."""

import pytest
from pxr import Usd

from warpsim.solvers import soft

EXAMPLE = "soft_identify"


def test_the_material_is_found(example, run, tmp_path):
    result = run("--seconds", 0.5, "--substeps", 6)
    example.check(result)
    assert result.misfit[0] > 10.0 * result.misfit[-1]
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    assert all(stage.GetPrimAtPath(f"/World/{name}") for name in ("measured", "found", "guess"))
    assert (tmp_path / "out.png").stat().st_size > 10_000


@pytest.mark.parametrize("material", [(1.0e5, 0.3), (2.0e4, 0.45), (5.0, 0.0)])
def test_elastic_constants_are_those_of_lame_parameters(example, material):
    assert example.elastic(*soft.lame(*material)) == pytest.approx(material, abs=1e-9)


def test_wrong_options_are_refused(run, capsys):
    with pytest.raises(SystemExit):
        run("--substeps", 0)
    assert "is not above 0" in capsys.readouterr().err
