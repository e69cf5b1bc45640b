"""docs/compatibility.md says what pyproject.toml asks for, what `.ci/run` tries, and which modules are public."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"(?m)^\| `?([\w-]+)`? \| `(.+?)` \|", TEXT))
PUBLIC = {"warpsim", *re.findall(r"`(warpsim(?:\.[a-z]\w*)+)`", TEXT.partition("Anything else may change")[0])}


def imported(program):
    """Modules of warpsim that a program imports, or takes names from."""
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.ImportFrom):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_versions_asked_for_are_those_of_the_project():
    tomllib = pytest.importorskip("tomllib", reason="of Python 3.11 and later")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    words = [*project["dependencies"], *(word for extra in project["optional-dependencies"].values() for word in extra)]
    asked = dict(re.fullmatch(r"([\w-]+)(?:\[.*\])?([^;]*).*", word).groups() for word in words)
    asked["Python"] = project["requires-python"]
    assert len(ROWS) >= 8
    assert {name: asked[name] for name in ROWS} == ROWS


def test_frameworks_that_are_tried_are_those_of_the_ci():
    pinned = re.findall(r'"(torch|jax)==([\d.]+)"', (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert len(pinned) == 2
    for name, version in pinned:
        assert re.search(rf"(?m)^\| `{name}` \| `.+` \| {re.escape(version)} \|$", TEXT), name


def test_pages_import_public_modules_alone():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for program in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            if "import" in program:
                modules = {name for name in imported(program) if name and name.partition(".")[0] == "warpsim"}
                assert modules <= PUBLIC, page.name


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_modules_that_are_called_public_are_there(name):
    module = importlib.import_module(name)
    listed = TEXT.partition("Every name in `__all__`")[2].partition("- Every name without")[0]
    assert (f"`{name}`" not in listed) or module.__all__
