"""Names say what a thing is: locals and parameters that only say that there is one are refused."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "warpsim"
SAY_NOTHING = {"found", "given", "kept", "made", "wanted"}
SAY_THE_WORD_OF_AN_ERROR = {"found"}  # what exceptions are made with: `found=`, `expected=`, `help=`


def names_in(tree):
    """(name, line) of everything that a module binds as a local or parameter."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno


def refused(path):
    spared = SAY_THE_WORD_OF_AN_ERROR if path == PACKAGE / "errors.py" else set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [f"{path.name}:{line}: {name}" for name, line in names_in(tree) if name in SAY_NOTHING - spared]


@pytest.mark.parametrize("text", ["found = 1", "def f(given): pass", "[made for made in ()]", "for kept in (): pass"])
def test_such_names_are_noticed(text, tmp_path):
    (tmp_path / "module.py").write_text(text, encoding="utf-8")
    assert len(refused(tmp_path / "module.py")) == 1


def test_names_say_what_a_thing_is():
    assert [line for path in sorted(PACKAGE.rglob("*.py")) for line in refused(path)] == []
