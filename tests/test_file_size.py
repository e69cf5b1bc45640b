"""Files and functions stay small enough to be read in one go; the limits are held here, not by habit."""

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILE_LIMIT, FUNCTION_LIMIT = 450, 60
FOLDERS = ("warpsim", "examples", "benchmarks", "assets", "tests")
FILES = sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py"))

# Files above the limit, each with the reason why a cut would hide its idea: none now.
LONG_FILES: dict[str, str] = {}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lengths(text: str) -> dict[str, int]:
    """Lines of every function, from its first decorator to its last statement."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[f"{node.name}:{first}"] = node.end_lineno - first + 1
    return found


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_size(path):
    """Split by idea, not by size alone; functions count from their first decorator."""
    text = path.read_text(encoding="utf-8")
    if relative(path) not in LONG_FILES:
        assert len(text.splitlines()) <= FILE_LIMIT
    long = {name: n for name, n in lengths(text).items() if n > FUNCTION_LIMIT}
    assert long == {}


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_opens_with_a_docstring(path):
    text = path.read_text(encoding="utf-8")
    if text.strip() and path.name != "conftest.py":
        assert ast.get_docstring(ast.parse(text)), "say in one sentence what this file guarantees"


def test_files_of_tests_have_names_of_their_own():
    """pytest imports them by these alone."""
    names = Counter(p.name for p in FILES if p.is_relative_to(ROOT / "tests") and p.name != "conftest.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_the_list_of_long_files_is_true():
    for name in LONG_FILES:
        assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) > FILE_LIMIT, f"{name} is short now"
