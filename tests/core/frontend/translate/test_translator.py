"""The table of rules covers the language, and the modules of rules do not import each other in circles."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import warpsim.core.frontend.function  # noqa: F401 - it gathers the rules
from warpsim.core.frontend.translate import fence
from warpsim.core.frontend.translate.translator import RULES

FOLDER = Path(fence.__file__).parents[1]
ELSEWHERE = {ast.If, ast.Slice, ast.FormattedValue, ast.Starred}  # lists of statements, subscripts, f-strings, calls
NEWER = {"Interpolation"}  # parts of refused template strings, in later versions of Python


def test_every_kind_of_syntax_has_a_rule_or_is_refused():
    kinds = {kind for base in (ast.stmt, ast.expr) for kind in base.__subclasses__()}
    kinds = {kind for kind in kinds if kind.__module__ == "ast" and kind.__name__ not in NEWER}
    assert kinds - set(RULES) - set(fence._REFUSED) == ELSEWHERE
    assert not set(RULES) & set(fence._REFUSED)


def test_modules_of_the_front_end_form_no_cycle():
    modules = {".".join(path.relative_to(FOLDER).with_suffix("").parts): path for path in FOLDER.rglob("*.py")}
    graph = {name: imported(name, path, modules) for name, path in modules.items()}
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError
    assert order.index("translate.translator") < order.index("rules.loops") < order.index("function")


def imported(name, path, modules):
    """The modules of the front end that one of them imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and 0 < node.level <= name.count(".") + 1:
            base = name.split(".")[: -node.level] + ([node.module] if node.module else [])
            found |= {".".join([*base, alias.name]) for alias in node.names} | {".".join(base)}
    return found & set(modules) - {name}
