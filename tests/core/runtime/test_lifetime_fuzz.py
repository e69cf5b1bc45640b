"""A sample of programs that drop and replace what others refer to, in a process of its own, which may end by itself."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("lifetime_programs.py")
SAMPLE = 25


@pytest.mark.cpu(reason="poisons memory of the host")
def test_programs_that_drop_what_others_refer_to(capsys):
    done = subprocess.run([sys.executable, PROGRAMS, "0", str(SAMPLE)], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, f"the process ended with {done.returncode}: {done.stderr[-2000:]}"
    assert done.stdout == f"{SAMPLE} programs, wrong: []\n"
    with capsys.disabled():
        print(f" {SAMPLE} programs of lifetimes")
