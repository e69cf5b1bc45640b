"""The benchmark of piles: our row is measured, peers that are absent are left out by name."""

import sys

import numpy as np

from benchmarks import bodies


def test_boxes_start_apart():
    points = bodies.places(64)
    apart = np.abs(points[:, None] - points[None]).max(axis=2) + 10.0 * np.eye(64)
    assert apart.min() > 2.0 * bodies.HALF and points[:, 1].min() > bodies.HALF


def test_a_small_pile_is_measured():
    row = bodies.measure("warpsim", 8, 0.5)
    assert row["ms"] > 0.0 and 0.0 <= row["overlap"] < 0.05 and 0.1 < row["highest"] < 1.0


def test_peers_that_are_absent_are_told(capsys, monkeypatch):
    monkeypatch.setattr(bodies, "ENGINES", {"warpsim": bodies.warpsim_pile, "mujoco": bodies.mujoco_pile})
    rows = bodies.run_in_turns(1, 0.1, sys.executable, 1)
    assert len(rows["warpsim"]) == 1
    assert rows["mujoco"] or "mujoco is left out" in capsys.readouterr().out
