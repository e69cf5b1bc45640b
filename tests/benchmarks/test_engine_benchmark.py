"""The benchmark of an engine: colours, what agreement means, what a failed run says, and a run with warpsim below."""

import sys

import numpy as np
import pytest

from benchmarks import engine


def test_colours_share_no_element():
    quads = np.array([[0, 1, 3], [1, 4, 3], [1, 2, 4], [2, 5, 4]])
    hinges = np.array([[0, 4, 1, 3], [-1, -1, 0, 1]])
    groups = engine.colors(6, quads, hinges)
    assert sorted(np.concatenate(groups).tolist()) == list(range(6))
    for group in groups:
        for element in (*quads, *hinges):
            assert len(set(element[element >= 0]) & set(group.tolist())) <= 1


@pytest.mark.parametrize(("ours", "agrees"), [(1e-6, "yes"), (3e-6, "no")])
def test_a_row_compares_with_the_nudged_run(monkeypatch, ours, agrees):
    def run(side, scene, solver, cells, steps, nudge=0.0):
        off = ours if side == "warpsim" else 2e-6 * (nudge != 0.0)
        return {"first": np.zeros((2, 3)), "last": np.full((2, 3), off), "seconds": 2e-3 if side == "warp" else 1e-3}

    monkeypatch.setattr(engine, "run", run)
    cells = engine.row("cloth", "vbd", 4, 3)
    assert cells == ["cloth vbd", "0.0e+00 / 0.0e+00", f"{ours:.1e} / 2.0e-06", agrees, "1.00", "2.00"]


@pytest.mark.parametrize(("ours", "agrees"), [(1e-3, "no"), (0.0, "yes")])
def test_a_scene_that_a_nudge_throws_off_says_nothing_but_of_the_very_same_values(monkeypatch, ours, agrees):
    def run(side, scene, solver, cells, steps, nudge=0.0):
        off = 1.0 if nudge else ours if side == "warpsim" else 0.0
        return {"first": np.zeros((1, 3)), "last": np.full((1, 3), off), "seconds": 1e-3}

    monkeypatch.setattr(engine, "run", run)
    assert engine.row("cloth", "vbd", 4, 3)[3] == agrees


def test_a_row_whose_values_are_not_finite_does_not_agree(monkeypatch):
    def run(side, *_):
        value = np.full((1, 3), np.nan if side == "warpsim" else 0.0)
        return {"first": value, "last": value, "seconds": 1e-3}

    monkeypatch.setattr(engine, "run", run)
    assert engine.row("cloth", "vbd", 4, 3)[3] == "no"


def test_free_particles_are_not_run_with_vertex_blocks():
    assert ("particles", "vbd") not in engine.pairs(engine.SCENES, engine.SOLVERS)
    assert len(engine.pairs(engine.SCENES, engine.SOLVERS)) == 8


def test_scenes_without_a_name_are_refused():
    with pytest.raises(SystemExit, match="no scene is named water"):
        engine.main(["water"])


def test_what_a_failed_run_says_is_passed_on(monkeypatch):
    monkeypatch.setattr(engine, "start_command", lambda *_: [sys.executable, "-c", "raise OSError('no engine')"])
    with pytest.raises(SystemExit, match=r"(?s)cloth with vbd under warp failed.*no engine"):
        engine.run("warp", "cloth", "vbd", 4, 1)


@pytest.mark.slow
def test_a_soft_body_falls_with_warpsim_below():
    pytest.importorskip("newton")
    run = engine.run("warpsim", "soft", "vbd", 4, 3)
    dropped = run["first"][:, 1] - run["last"][:, 1]
    assert np.isfinite(run["last"]).all() and dropped.max() > 1e-5 and run["seconds"] > 0.0
