"""README.md is true: its programs run, its error is real, its commands are the ones that CI runs; so are the pages on
the language and on switches."""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp
from warpsim.config import Config
from warpsim.warp.switches import Switches

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SWITCHES = (ROOT / "docs" / "switches.md").read_text(encoding="utf-8")


def command(name):
    return re.search(rf"<!-- command:{name} -->\n```sh\n(.*)\n```", TEXT).group(1)


def run(program, folder):
    """What a program prints, as a list of lines."""
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    out = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True, cwd=folder, env=here)
    return out.stdout.splitlines()


def test_the_first_programs_run(tmp_path):
    kernel, gradient, solver = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[:3]
    lowest = [float(x) for x in run(kernel, tmp_path)[0].strip("[]").split()]
    assert lowest[1] == 0.0 and 0.0 <= lowest[0] < 0.01
    for program in (gradient, solver):
        told = re.search(r"^print\(.*\)  # (.*)$", program, re.MULTILINE).group(1)
        assert run(program, tmp_path) == [told]
    assert (tmp_path / "cloth.usdc").stat().st_size > 100_000


def test_the_two_commands_are_there():
    assert command("run") == "pip install . && warpsim run cloth_drop"
    assert command("test") == 'pip install ".[dev]" && pytest -n 2'


def test_the_error_is_the_real_one(tmp_path):
    shown = re.search(r"```text\n(.*?)```", TEXT, re.DOTALL).group(1)
    path = tmp_path / "demo.py"
    path.write_text(
        "import warpsim as wp\n@wp.kernel\ndef mix(x: wp.array(dtype=float)):\n"
        "    i = wp.tid()\n    # two widths\n    x[i] = x[i] + wp.float64(1.0)\nwp.launch(mix, 1, [wp.zeros(1)])\n",
        encoding="utf-8",
    )
    out = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=ROOT)
    real = out.stderr.replace(f"{tmp_path}/", "")
    for line in shown.splitlines():
        if line != "…":
            assert line in real, f"not printed any more: {line!r}\n{real}"


@pytest.mark.parametrize("switch", [f.name for f in dataclasses.fields(Config)])
def test_every_switch_is_in_the_table(switch):
    [row] = re.findall(rf"^\| `{switch}` \| (.*?) \|", SWITCHES, re.MULTILINE)
    default = dataclasses.asdict(Config())[switch]
    told = "512 MiB" if switch == "max_cache_bytes" else row.strip("`").strip('"')
    assert told == ("512 MiB" if default == 512 << 20 else str(getattr(default, "name", default)))


def test_every_switch_without_effect_is_in_the_guide_for_users_of_warp():
    guide = (ROOT / "docs" / "warp.md").read_text(encoding="utf-8")
    assert [name for name in Switches.__annotations__ if f"`{name}`" not in guide] == []


def test_every_environment_variable_is_in_the_table():
    sources = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "warpsim").rglob("*.py"))
    named = set(re.findall(r"WARPSIM_[A-Z_]+", sources))
    assert named == set(re.findall(r"^\| `(WARPSIM_[A-Z_]+)`", SWITCHES, re.MULTILINE))


def test_links_lead_somewhere():
    targets = [t for t in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in t]
    assert targets and all((ROOT / t).exists() for t in targets)


def test_the_semantics_that_the_page_about_the_language_states():
    """One line of docs/language.md each, interpreted and compiled."""
    nan, huge = float("nan"), 1.0e20
    expected = [0, 0, 7, 2**31, 0, 1, 1, 2, -3, -4, -1, 1, -68]
    for device in (None, "interp"):
        wp.config.check_numbers = False
        out = wp.zeros(len(expected), device=device)
        wp.launch(semantics, 1, [7, 0, huge, nan, out], device=device)
        np.testing.assert_array_equal(out.numpy(), np.float32(expected), str(out.device))


@wp.kernel
def semantics(a: int, b: int, huge: float, nan: float, out: wp.array(dtype=float)):
    out[0] = float(a / b)
    out[1] = float(a // b)
    out[2] = float(a % b)
    # float32 rounds the largest int32 up, so it is compared as an integer
    out[3] = float(2147483647)
    if int(huge) != 2147483647:
        out[3] = 0.0
    out[4] = float(int(nan))
    out[5] = wp.min(nan, 1.0)
    out[6] = wp.max(1.0, nan)
    out[7] = wp.clamp(nan, 2.0, 3.0)
    out[8] = float(-a / 2)
    out[9] = float(-a // 2)
    out[10] = float(-a % 2)
    out[11] = float(1 << (a + 25))
    out[12] = float(wp.int8(a * 100))
