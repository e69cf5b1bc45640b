"""Kernels of solvers and of geometry take few parameters: what belongs together comes as a struct."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "warpsim"
MOST = 12


def kernels(folder):
    """The kernels of a folder: where each is, and how many parameters it has."""
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and any("kernel" in ast.unparse(d) for d in node.decorator_list):
                yield f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno} {node.name}", len(node.args.args)


@pytest.mark.parametrize("folder", ["geometry", "solvers"])
def test_no_kernel_has_many_parameters(folder):
    counts = dict(kernels(folder))
    assert len(counts) > 50
    assert {where: count for where, count in counts.items() if count > MOST} == {}
