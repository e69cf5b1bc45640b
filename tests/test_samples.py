"""A sample of the tests is the same in every run, and parts of it are even."""

import subprocess
import sys

import samples


def test_samples_have_about_their_share_and_no_name_changes_side():
    names = [f"tests/test_{k}.py::test_it[{k}]" for k in range(3000)]
    chosen = [name for name in names if samples.belongs(name, 3)]
    assert 900 < len(chosen) < 1100
    assert chosen == [name for name in names if samples.belongs(name, 3)]
    assert all(samples.belongs(name, 1) for name in names)


def test_one_test_in_n_runs_and_the_others_are_told_as_deselected(request):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--assembly=off", "--co", "--one-in"]
    tests = request.config.rootpath / "tests/core/lib/test_special.py"

    def collected(one_in):
        said = subprocess.check_output([*command, one_in, tests], text=True, cwd=request.config.rootpath)
        return {line for line in said.splitlines() if "::" in line}, said

    everything, _ = collected("1")
    sample, said = collected("3")
    assert sample == {name for name in everything if samples.belongs(name, 3)}
    assert 0 < len(sample) < len(everything)
    assert f"{len(everything) - len(sample)} deselected" in said
