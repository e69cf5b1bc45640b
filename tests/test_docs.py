"""The pages in docs/ are true: their programs run from top to bottom and print what their comments say."""

import re
from pathlib import Path

import pytest

import warpsim as wp

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
WITH_PROGRAMS = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]
FRAMEWORKS = ("torch", "jax", "paddle", "numba")
PRINT = re.compile(r"^\s*print\(.*\)  # (.*)$", re.MULTILINE)


def marked(page):
    """A page as a parameter: kernels that call functions of Numba are not for GPUs, times are those of a CPU."""
    marks = {
        "numba": [pytest.mark.not_for_cuda("is machine code of the CPU")],
        "profiling": [pytest.mark.cpu(reason="its times are those of a CPU")],
    }
    return pytest.param(page, id=page.stem, marks=marks.get(page.stem, []))


@pytest.mark.parametrize("page", [marked(page) for page in WITH_PROGRAMS])
def test_programs_print_what_they_say(page, tmp_path, capsys, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    program = "\n".join(blocks)
    for name in FRAMEWORKS:
        if f"import {name}\n" in program:
            pytest.importorskip(name, reason=f"{name} is not installed")
    path = tmp_path / f"{page.stem}.py"
    path.write_text(program, encoding="utf-8")
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    monkeypatch.chdir(tmp_path)  # where programs may leave their files
    exec(compile(program, path, "exec"), {"__name__": page.stem, "wp": wp})
    shown = [re.sub(r"\s+", " ", line).strip() for line in capsys.readouterr().out.splitlines()]
    told = [re.sub(r"\s+", " ", line).strip() for line in PRINT.findall(program)]
    assert told and shown == told


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_links_lead_somewhere(page):
    targets = [t for t in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")) if "://" not in t]
    assert all((page.parent / t).exists() for t in targets)
