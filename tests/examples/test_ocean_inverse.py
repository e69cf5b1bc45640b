"""The inverse ocean example: what it finds, its picture, and refusals."""

import pytest
from matplotlib.image import imread

EXAMPLE = "ocean_inverse"


def test_wind_and_waves_are_found(example, tmp_path):
    wind, waves, error = example.main(["--iterations", "40", "--picture", str(tmp_path / "out.png")])
    assert wind.values["wind"][0] == pytest.approx(12.0, rel=1e-3)
    assert wind.losses[-1] < 1e-12 * wind.losses[0]
    assert error < 1e-3 and waves.values["waves"].shape == (16, 2)
    assert imread(tmp_path / "out.png").shape[:2] == (440, 1100)


@pytest.mark.parametrize("options", [("--wind", "0"), ("--probes", "3")])
def test_refusals(example, capsys, options):
    with pytest.raises(SystemExit):
        example.main(list(options))
    assert f"argument {options[0]}: {options[1]} is not" in capsys.readouterr().err
