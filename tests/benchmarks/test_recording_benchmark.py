"""The benchmarks of recordings and of many worlds: every way to keep a frame has its row, beside that of the step."""

import pytest

from benchmarks import recording, worlds


@pytest.mark.parametrize("name", recording.TABLES)
def test_every_format_has_its_part_of_the_step(name, monkeypatch):
    for key, value in {"GRAINS": 27, "CELLS": 4}.items():
        monkeypatch.setattr(recording, key, value)
    monkeypatch.setitem(recording.FORMATS, "FilmFile", lambda: recording.FilmFile(60.0, size=(32, 24)))
    rows = recording.table(recording.TABLES[name], 2, 1)
    assert sorted(row[1] for row in rows) == sorted(["the step", *recording.FORMATS, "Scene.save", recording.BEHIND])
    assert rows[0][1] == "the step" and rows[0][3] == rows[0][6] == "100.0%"
    assert all(row[2].endswith(" ms") and float(row[2][:-3]) > 0.0 for row in rows)


def test_recorded_tables_without_a_name_are_refused():
    with pytest.raises(SystemExit, match="no table is named speed"):
        recording.main(["speed"])


@pytest.mark.parametrize("name", worlds.KINDS)
def test_worlds_stand_beside_models_in_turn_and_one_large_scene(name):
    rows = worlds.table(name, 3, 4, 2)
    assert [row[1] for row in rows[:3]] == ["worlds of one model", "models in turn", "one large scene"]
    assert rows[0][4] == rows[0][7] == "1.00" and float(rows[1][4]) > 0.0
    assert rows[-1][5].endswith(" s")
