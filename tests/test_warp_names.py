"""The table of Warp's public names in docs/warp.md says of each whether warpsim has it; the script there writes it."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def script():
    spec = importlib.util.spec_from_file_location("warp_names", ROOT / "docs" / "warp_names.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_table_says_what_is_here(request):
    names = script()
    if request.config.getoption("--update-golden"):
        names.update()
    page = names.PAGE.read_text(encoding="utf-8")
    listed = names.listed(page)
    assert len(listed) > 400
    wrong = {name: state for name, state in listed.items() if names.state_of(name) != state}
    assert not wrong, "run python docs/warp_names.py"
    assert names.between(page) == names.table(list(listed))


def test_the_table_has_every_name_of_warp():
    pytest.importorskip("warp", reason="warp-lang is not installed")
    names = script()
    assert sorted(names.listed(names.PAGE.read_text(encoding="utf-8"))) == sorted(names.names_of_warp())
