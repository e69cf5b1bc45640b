"""The benchmark of profiles has a row for each launch, and leaves no profile on."""

import gc

import pytest

from benchmarks import profiles
from warpsim.profiling.probes import is_installed

pytestmark = pytest.mark.cpu(reason="its launches are of the CPU")


def test_every_launch_has_a_row(capsys, monkeypatch):
    small = {name: (run, 1) for name, (run, _) in profiles.cases().items()}
    monkeypatch.setattr(profiles, "cases", lambda: small)
    try:
        profiles.main(rounds=1)
    finally:
        gc.enable()
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split(" | ")[0].strip("| ") for row in rows] == list(small)
    assert all(row.endswith("% |") for row in rows) and not is_installed()
