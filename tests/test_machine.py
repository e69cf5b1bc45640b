"""What `warpsim info` tells of a machine, and that its report for issues names nobody."""

import platform
import re
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp
from warpsim import cli, machine
from warpsim.config import config

ROOT = Path(__file__).resolve().parents[1]


class Found:
    """What a look at the machine may find."""

    def __init__(self, reason="", count=0, version=0):
        self.reason, self.count, self.version = reason, count, version


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Found("no NVIDIA driver is installed"), "no NVIDIA driver is installed; kernels run on the CPU"),
        (Found("", 1, 13000), "for CUDA 13.0, 1 device"),
        (Found("", 2, 13050), "for CUDA 13.5, 2 devices"),
        # the driver is fine, and cuda-bindings, which talks to it, is missing
        (Found("pip install 'warpsim[cuda]'", 1, 13000), "for CUDA 13.0, 1 device"),
    ],
)
def test_info_says_which_driver_there_is(monkeypatch, found, text):
    monkeypatch.setattr(machine.driver, "find_driver", lambda: found)
    assert machine.cuda_driver() == text


def test_info_lists_devices(monkeypatch):
    device = type(
        "GPU", (), {"handle": 7, "name": "Some GPU", "arch": (9, 0), "sm_count": 132, "__str__": lambda self: "cuda:3"}
    )()
    monkeypatch.setattr(machine.warpsim, "get_cuda_devices", lambda: [device])
    monkeypatch.setattr(machine.driver, "call", lambda name, handle: {("cuDeviceTotalMem", 7): 85 << 30}[name, handle])
    told = "Some GPU, compute capability 9.0, 85.0 GiB, 132 multiprocessors"
    assert list(machine.cuda_devices()) == [("cuda:3", told)]


def test_info_tells_what_kernels_cannot_be_compiled_for(monkeypatch):
    monkeypatch.setattr(machine.cuda_tools, "missing", lambda: ["nvidia-nvjitlink", "nvidia-nvvm"])
    assert machine.cuda_compiles() == (
        False,
        "no, not without nvidia-nvjitlink, nvidia-nvvm: pip install 'warpsim[cuda]'",
    )


def test_info_tries_to_compile(monkeypatch):
    if missing := machine.cuda_tools.missing():
        pytest.skip(f"{', '.join(missing)} missing")
    able, text = machine.cuda_compiles()
    assert able and re.fullmatch(r"yes, for compute capabilities from \d+\.\d to \d+\.\d", text)
    monkeypatch.setattr(machine.warpsim, "get_cuda_devices", lambda: [type("Old", (), {"arch": (3, 5)})()])
    able, text = machine.cuda_compiles()
    assert not able and text.startswith("no: no code for compute capability 3.5; expected: one of ")


@pytest.mark.parametrize(
    ("reason", "compiles", "text"),
    [
        ("", True, "yes"),
        ("", False, "only what the kernel cache holds"),
        ("the NVIDIA driver finds no GPU", True, "no: the NVIDIA driver finds no GPU"),
    ],
)
def test_info_says_whether_kernels_run(monkeypatch, reason, compiles, text):
    monkeypatch.setattr(machine.driver, "reason", lambda: reason)
    assert machine.cuda_runs(compiles) == text


# ----- the report for issues ------------------------------------------------------------------------


def rows_of(report):
    """The rows of a report by name; lines that go on are joined."""
    joined = re.sub(r"\n +", " ", report)
    return dict(re.split(r"  +", line, maxsplit=1) for line in joined.splitlines())


def test_a_report_tells_versions_system_processor_threads_and_cache(capsys):
    assert cli.main(["info", "--report"]) == 0
    text = capsys.readouterr().out
    rows = rows_of(text)
    assert rows["warpsim"].startswith(wp.__version__)
    assert rows["Python"].startswith(platform.python_version())
    assert platform.machine() in rows["system"] and int(rows["threads"]) >= 1
    assert "MB of at most" in rows["kernel cache"]
    assert f"numpy {np.__version__}" in rows["packages"]
    assert {"CPU", "CPU features", "libmvec", "environment", "CUDA driver", "CUDA compiles", "CUDA runs"} <= rows.keys()
    assert max(map(len, text.splitlines())) <= 120


def test_a_report_names_every_package_that_warpsim_may_use():
    tomllib = pytest.importorskip("tomllib", reason="of Python 3.11 and later")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [
        *project["dependencies"],
        *(word for name in extras if name not in ("dev", "bench", "champions") for word in extras[name]),
    ]
    names = {re.match(r"[\w-]+", word)[0] for word in asked}
    rows = rows_of(machine.report())
    told = {word.split()[0] for word in f"{rows['packages']}, {rows['not installed']}".split(", ")}
    assert names - told == set()


def test_a_report_names_no_user_and_no_home(monkeypatch, tmp_path):
    home = tmp_path / "ada"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setattr(machine.getpass, "getuser", lambda: "ada")
    monkeypatch.setenv("WARPSIM_CACHE_PATH", f"{home}/secret project")
    monkeypatch.setattr(config, "kernel_cache_dir", f"/scratch/ada/kernels in {home}")
    text = machine.report()
    assert "ada" not in text and str(tmp_path) not in text
    assert "/scratch/USER/kernels in ~" in rows_of(text)["kernel cache"]
    assert "WARPSIM_CACHE_PATH=~/secret project" in rows_of(text)["environment"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/home/ada", "~"),
        ("/home/ada/x and /home/ada", "~/x and ~"),
        ("/home/adam/x", "/home/adam/x"),
        ("/data/ada/x", "/data/USER/x"),
        ("ada 3.1, /data/adam", "ada 3.1, /data/adam"),
    ],
)
def test_names_are_cut_out_of_paths_alone(monkeypatch, text, told):
    monkeypatch.setattr(machine.Path, "home", lambda: Path("/home/ada"))
    monkeypatch.setattr(machine.getpass, "getuser", lambda: "ada")
    assert machine.without_names(text) == told


def test_a_user_without_a_name_has_a_report(monkeypatch):
    def nobody():
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr(machine.getpass, "getuser", nobody)
    assert "packages" in rows_of(machine.report())
