"""`pytest -m device`: the whole suite on a GPU, with the expectations of the CPU.

Without a GPU it fails at once and says why; `--simulated-cuda` runs the same tests on a simulated driver. "cuda:0"
is the current device, and tests that name "cpu" as a parameter get it instead. What has nothing to do with a device
stays out: the places below, and tests with the mark `cpu`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warpsim.core.runtime.devices.cuda import driver

TESTS = Path(__file__).resolve().parent

ELSEWHERE = {
    "benchmarks": "about how the harness measures and reports",
    "core/emit": "text for LLVM, and machine code of the CPU",
    "core/ir": "programs as data",
    "core/runtime/devices/cuda/test_simulator.py": "about the simulated driver, which cannot be beside a real one",
    "core/test_cache_behaviour.py": "the disk cache, of whatever code",
    "core/test_errors_gallery.py": "texts of the front end",
    "mutations": "runs of other tests, in processes of their own",
    "plot": "pictures, made on the host",
    "test_assets.py": "files",
    "test_cli.py": "the command line",
    "test_style.py": "text of the package",
    "test_first_statement.py": "processes of their own",
    "test_ir_coverage.py": "text of the package",
    "test_layering.py": "text of the package",
    "test_map.py": "text of the package",
    "test_public_api.py": "names",
    "test_readme.py": "text and programs in processes of their own",
    "test_replaced_attributes.py": "attributes of objects on the CPU",
    "test_site.py": "pages",
    "test_typing.py": "programs that are read, not run",
    "test_wheel.py": "processes of their own",
    "usd": "files",
    "viewer": "files, and pages for a browser",
}
"""Places of tests that no device has a part in, with what they are about."""


def wanted(config: pytest.Config) -> bool:
    """Whether the run is one of tests on a device."""
    chosen = config.getoption("markexpr", "") or ""
    return re.search(r"(?<!not )\bdevice\b", chosen) is not None


def configure(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` where a run on a GPU was asked for and there is none."""
    if wanted(config) and (why := driver.reason()):
        raise pytest.UsageError(f"-m device needs a GPU: {why}\n--simulated-cuda runs these tests on a simulated one")


def on_gpu(config: pytest.Config) -> bool:
    """Whether tests run on "cuda:0", of the machine or simulated."""
    return bool(config.getoption("--simulated-cuda")) or wanted(config)


def mark(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give every test that says something about a GPU the mark `device`, before pytest chooses by marks."""
    if not wanted(config):
        return
    for item in items:
        place = item.path.relative_to(TESTS).as_posix()
        elsewhere = any(place == at or place.startswith(f"{at}/") for at in ELSEWHERE)
        if not elsewhere and item.get_closest_marker("cpu") is None:
            item.add_marker(pytest.mark.device)


def moved_to_gpu(items: list[pytest.Item]) -> list[pytest.Item]:
    """Give tests that name the device "cpu" as a parameter the GPU; returns those of the interpreter, which rests."""
    resting = []
    for item in items:
        given = getattr(item, "callspec", None)
        if given is None or item.get_closest_marker("cpu") is not None:
            continue
        if given.params.get("device") == "cpu":
            given.params["device"] = "cuda:0"
        elif given.params.get("device") == "interp":
            resting.append(item)
    return resting
