"""Scripts written for Warp run with another name in their imports, and print what they print under Warp; see README."""

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((Path(__file__).resolve().parent / "scripts").glob("*.py"))
GUIDE = ROOT / "docs" / "warp.md"
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")
NEEDS = {"array_views": "torch", "recording_and_devices": "pxr", "lbfgs_inverse_heat": "scipy", "torch_layer": "torch"}

# Lines that differ on purpose, by what Warp prints there: the words of the guide that tell why.
DIFFERENT = {
    "array_views": {"shared [1.   1.25": "have the names of Warp's own types"},
    "atomics_and_graphs": {"sorted True": "keeps what was read when `a` is overwritten"},
    "bvh_and_marching": {"volume 14": "along other diagonals", "inside ": "along other diagonals"},
    "decompositions": {" [0.0, 0.75, 1.5]] True (9,)": "has the shape of the matrix"},
    "loops_and_enums": {"gradients ": "sums up counts as zero there"},
    "optimisers": {f"{n} loss": "sums up counts as zero there" for n in (30, 60, 90, 120)},
    "special_values": {
        "acos ": "NaN stays NaN",
        "asin ": "NaN stays NaN",
        "neg ": "of 0.0 is -0.0",
        "erfinv ": "accurate to a few units of rounding",
    },
    "recording_and_devices": {"through clone": "before the first `backward`"},
}

# Scripts that end with an error on purpose: its class, and the words of the guide.
REFUSED = {"replayed_tape": ("TapeOverwriteError", "Played again after arrays that their gradients need were changed")}


def for_warpsim(text):
    """A script with other imports; names like `warp.optim` follow them."""
    return re.sub(r"\b(import|from) warp\b", r"\1 warpsim", re.sub(r"\bwarp\.(?=\w)", "warpsim.", text))


def printed(script, folder):
    """What a script prints when it is run by a Python of its own, line by line."""
    copy = folder / script.name
    copy.write_text(for_warpsim(script.read_text(encoding="utf-8")), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, copy], capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    if script.stem in REFUSED:
        assert done.returncode == 1 and f"errors.{REFUSED[script.stem][0]}: " in done.stderr, done.stdout + done.stderr
    else:
        assert done.returncode == 0, done.stdout + done.stderr
    return [line.rstrip() for line in done.stdout.splitlines() if line.strip()]


def close(a, b):
    """Integers agree exactly, other numbers to 1e-4 of their size, or to 1e-6 and the last digit printed."""
    if re.fullmatch(r"[-+]?\d+", a):
        return a == b
    x, y = float(a), float(b)
    last = 10.0 ** -len(re.sub(r"[eE].*", "", a).partition(".")[2])
    return x == y or (math.isnan(x) and math.isnan(y)) or abs(x - y) <= 1e-4 * abs(x) + max(1e-6, min(last, 0.01))


def same(warp, ours):
    """Whether two lines say the same, whatever the spaces."""
    a, b = (re.sub(r"\s+", "", NUMBER.sub("#", line)) for line in (warp, ours))
    return a == b and all(map(close, NUMBER.findall(warp), NUMBER.findall(ours)))


@pytest.mark.cpu(reason="runs scripts that choose their devices")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_prints_what_it_prints_under_warp(script, tmp_path):
    if script.stem in NEEDS:
        pytest.importorskip(NEEDS[script.stem])
    warp = script.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    ours, differs = printed(script, tmp_path), DIFFERENT.get(script.stem, {})
    if script.stem in REFUSED:
        assert len(ours) < len(warp), "it went on"
    else:
        assert len(ours) == len(warp), ours
    pairs = list(zip(warp, ours, strict=False))
    unlike = [f"Warp: {a}\nhere: {b}" for a, b in pairs if not same(a, b) and not a.startswith(tuple(differs))]
    assert not unlike, "\n".join(unlike)
    alike = [start for start in differs if any(same(a, b) for a, b in pairs if a.startswith(start))]
    assert alike == [], "these lines agree with Warp's"


def test_the_guide_names_every_difference():
    guide = " ".join(GUIDE.read_text(encoding="utf-8").split())
    reasons = {words for lines in DIFFERENT.values() for words in lines.values()}
    reasons |= {words for _, words in REFUSED.values()}
    assert {words for words in reasons if words not in guide} == set()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_are_of_a_size_that_users_write(path):
    assert 50 <= len(path.read_text(encoding="utf-8").splitlines()) <= 200


@pytest.mark.parametrize(
    ("a", "b", "agree"),
    [
        ("n 12 1.50000", "n  12 1.50001", True),
        ("n 12", "n 13", False),
        ("1.5e-9", "0.0", True),
        ("nan", "nan", True),
        ("[1. 2.]", "[1.0, 2.0]", False),
        ("0.25", "0.26", True),
        ("0.250", "0.260", False),
        ("x 1", "y 1", False),
    ],
)
def test_what_counts_as_the_same(a, b, agree):
    assert same(a, b) == agree
