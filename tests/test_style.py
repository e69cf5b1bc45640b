"""Rules of this house that no linter knows: files and functions to be read in one go, names that say something."""

import ast
from collections import Counter

import pytest
from source_trees import PACKAGE, ROOT, below, relative, text_of, trees

FILE_LIMIT, FUNCTION_LIMIT = 450, 60
FOLDERS = ("warpsim", "examples", "benchmarks", "assets", "tests")
SAY_NOTHING = {"found", "given", "kept", "made", "wanted"}
SAY_THE_WORD_OF_AN_ERROR = {"found"}  # what exceptions are made with: `found=`, `expected=`, `help=`


def files():
    return [item for folder in FOLDERS for item in trees(ROOT / folder).items()]


def long_functions(tree):
    """Functions above the limit, which count from their first decorator."""
    for node in below(tree, ast.FunctionDef, ast.AsyncFunctionDef):
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        if node.end_lineno - first >= FUNCTION_LIMIT:
            yield f"{node.name}:{first}"


def test_files_and_functions_are_short():
    """Split by idea, not by size alone."""
    assert [relative(path) for path, _ in files() if text_of(path).count("\n") > FILE_LIMIT] == []
    assert [f"{relative(path)}: {name}" for path, tree in files() for name in long_functions(tree)] == []


def test_files_open_with_what_they_guarantee():
    without = [path for path, tree in files() if tree.body and not ast.get_docstring(tree)]
    assert [relative(path) for path in without if path.name != "conftest.py"] == []


def test_files_of_tests_have_names_of_their_own():
    """pytest imports them by these alone."""
    names = Counter(path.name for path in trees(ROOT / "tests") if path.name != "conftest.py")
    assert [name for name, count in names.items() if count > 1] == []


def empty_names(tree):
    """(name, line) of what a module binds as a local or parameter by a name that only says that it is there."""
    bound = [(node.arg, node.lineno) for node in below(tree, ast.arg)]
    bound += [(node.id, node.lineno) for node in below(tree, ast.Name) if isinstance(node.ctx, ast.Store)]
    return [pair for pair in bound if pair[0] in SAY_NOTHING]


@pytest.mark.parametrize("text", ["found = 1", "def f(given): pass", "[made for made in ()]", "for kept in (): pass"])
def test_empty_names_are_noticed(text):
    assert len(empty_names(ast.parse(text))) == 1


def test_names_say_what_a_thing_is():
    spared = {PACKAGE / "errors.py": SAY_THE_WORD_OF_AN_ERROR}
    pairs = [(path, pair) for path, tree in trees().items() for pair in empty_names(tree)]
    assert [(relative(path), *pair) for path, pair in pairs if pair[0] not in spared.get(path, ())] == []
