"""The table of rules covers the language, and the modules of rules do not import each other in circles."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import warpsim.core.frontend.function  # noqa: F401 - it gathers the rules
from warpsim.core.frontend.translate import fence
from warpsim.core.frontend.translate.translator import RULES

FOLDER = Path(fence.__file__).parent
ELSEWHERE = {ast.If, ast.Slice, ast.FormattedValue, ast.Starred}  # lists of statements, subscripts, f-strings, calls
NEWER = {"Interpolation"}  # parts of refused template strings, in later versions of Python


def test_every_kind_of_syntax_has_a_rule_or_is_refused():
    kinds = {kind for base in (ast.stmt, ast.expr) for kind in base.__subclasses__()}
    kinds = {kind for kind in kinds if kind.__module__ == "ast" and kind.__name__ not in NEWER}
    assert kinds - set(RULES) - set(fence._REFUSED) == ELSEWHERE
    assert not set(RULES) & set(fence._REFUSED)


def test_modules_of_the_front_end_form_no_cycle():
    modules = {path.stem for path in FOLDER.glob("*.py")}
    graph = {}
    for name in modules:
        tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
        near = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1]
        imported = [[node.module] if node.module else [a.name for a in node.names] for node in near]
        graph[name] = {part for parts in imported for part in parts}
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError
    assert order.index("translator") < order.index("loops") < order.index("function")
