"""The benchmark of grains: beds settle, the same bed is written for LAMMPS, and every program has a row."""

import numpy as np
import pytest

from benchmarks import grains


@pytest.fixture(scope="module")
def bed():
    bed = grains.Bed(216)
    bed.run(20 * grains.SUBSTEPS)
    return bed


def test_a_bed_falls_together_inside_of_its_period(bed):
    q, start = bed.state.particle_q.numpy(), grains.Bed(216).state.particle_q.numpy()
    assert len(q) == 216 and np.isfinite(q).all()
    assert q[:, 1].mean() < start[:, 1].mean() and q[:, 1].min() > 0.5 * grains.RADIUS
    assert bed.seconds() > 0.0 and bed.gradient_seconds() > 0.0


def test_lammps_is_given_every_grain_inside_of_the_box(bed, tmp_path):
    grains.Lammps("lmp", bed, tmp_path)
    lines = (tmp_path / "bed.data").read_text().split("\n")
    first = lines.index("Atoms # sphere") + 2
    atoms = np.loadtxt(lines[first : first + 216])
    np.testing.assert_allclose(atoms[:, 2], 2.0 * bed.radius, rtol=1e-6)
    assert (atoms[:, 4:6] >= 0.0).all() and (atoms[:, 4:6] <= bed.length).all()
    np.testing.assert_allclose(atoms[:, 6], bed.state.particle_q.numpy()[:, 1], rtol=1e-6)
    assert "pair_style granular" in (tmp_path / "in.bed").read_text()


def test_sizes_have_rows_and_the_growth_of_cost_is_told(capsys, monkeypatch):
    monkeypatch.setattr(grains, "ROUNDS", 1)
    grains.main(["27", "64", "--settle", "40"])
    lines = capsys.readouterr().out.split("\n")
    assert [line.split(" | ")[1] for line in lines if line.startswith("| warpsim")] == ["27", "64"]
    assert any(line.startswith("time of a step grows as n^") for line in lines)
