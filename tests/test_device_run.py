"""`pytest -m device` runs the suite on a GPU, or says why it cannot."""

from types import SimpleNamespace

import device_run
import pytest
from cuda_simulator import simulator
from pytest_run import run_pytest

from warpsim.core.runtime.devices.cuda import driver


@pytest.mark.parametrize("place", device_run.ELSEWHERE)
def test_places_that_stay_out_exist(place):
    assert (device_run.TESTS / place).exists()


@pytest.mark.parametrize(
    ("expression", "answer"),
    [("device", True), ("device and not slow", True), ("not device", False), ("not slow", False), ("", False)],
)
def test_expressions_that_ask_for_a_device(expression, answer):
    config = SimpleNamespace(getoption=lambda name, default=None: expression)
    assert device_run.wanted(config) is answer


def test_without_a_gpu_it_fails_and_says_why():
    if not driver.reason():
        pytest.skip("there is a GPU, or a simulated one")
    done = run_pytest("-m", "device", "tests/test_assets.py")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"-m device needs a GPU: {driver.reason()}" in done.stderr


def test_it_chooses_what_a_device_has_a_part_in():
    if why := simulator.missing():
        pytest.skip(why)
    chosen = ("tests/test_assets.py", "tests/core/lib/test_special.py")
    done = run_pytest("-m", "device", "--simulated-cuda", "--co", *chosen)
    assert "test_special.py::" in done.stdout and "test_assets.py::" not in done.stdout, done.stdout + done.stderr
