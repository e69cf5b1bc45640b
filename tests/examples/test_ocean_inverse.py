"""The inverse ocean example: what it finds, its picture, what the check catches, and refusals."""

import numpy as np
import pytest
from matplotlib.image import imread

EXAMPLE = "ocean_inverse"


def test_wind_and_waves_are_found(example, tmp_path):
    result = example.main(["--iterations", "40", "--picture", str(tmp_path / "out.png")])
    example.check(result)
    assert result.wind_losses[-1] < 1e-12 * result.wind_losses[0] and len(result.amplitudes) == 16
    assert imread(tmp_path / "out.png").shape[:2] == (440, 1100)


def test_the_check_catches(example):
    one = np.ones((16, 2))
    good = {"wind": 12.0, "found_wind": 12.0, "amplitudes": one, "found_amplitudes": one}
    good |= {"wind_losses": np.ones(2), "amplitude_losses": np.ones(2)}
    example.check(example.Result(**good))
    for change, message in (({"found_wind": 12.1}, "the wind is 12.1"), ({"found_amplitudes": 1.1 * one}, "10.0% off")):
        with pytest.raises(AssertionError, match=message):
            example.check(example.Result(**(good | change)))


@pytest.mark.parametrize("options", [("--wind", "0"), ("--probes", "3")])
def test_refusals(example, capsys, options):
    with pytest.raises(SystemExit):
        example.main(list(options))
    assert f"argument {options[0]}: {options[1]} is not" in capsys.readouterr().err
