"""An example as a Jupyter notebook: its text as a heading, its parts as cells, and a run that shows the animation."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_RUN = """result = main([])  # options are those of the command line, such as ["--seconds", "1"]"""
_WATCH = """from warpsim.viewer import Animation

Animation("{name}.usdc")"""


def write_notebook(example: Path, path: Path) -> Path:
    """Write an example, a Python file, as a notebook. Raises `FileExistsError` rather than overwrite."""
    cells = [_cell(k, *cell) for k, cell in enumerate(cells_of(example))]
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    with path.open("x", encoding="utf-8") as file:
        json.dump(notebook, file, indent=1, ensure_ascii=False)
    return path


def cells_of(example: Path) -> Iterator[tuple[str, str]]:
    """Kinds ("markdown" or "code") and texts of the cells: what the file says of itself, what it imports and sets, each
    function or class with what follows it up to the next, the run, and the animation if it writes one."""
    text = example.read_text(encoding="utf-8")
    tree = ast.parse(text)
    first, _, rest = (ast.get_docstring(tree) or example.stem).partition("\n")
    yield "markdown", f"# {first}\n{rest}".strip()
    nodes = [node for node in tree.body if not _is_docstring(node) and not _is_entry(node)]
    starts = [1 + (tree.body[0].end_lineno or 0)] + [_first(node) for node in nodes if _opens(node)]
    ends = [*starts[1:], 1 + (nodes[-1].end_lineno or 0)]
    lines = text.splitlines()
    yield from (("code", "\n".join(lines[a - 1 : b - 1]).strip("\n")) for a, b in zip(starts, ends, strict=True))
    yield "code", _RUN
    if any(word in text for word in ("--output", "film_options(", "film_parser(")):
        yield "code", _WATCH.format(name=example.stem)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_entry(node: ast.stmt) -> bool:
    """Whether it is `if __name__ == "__main__"`."""
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _opens(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.ClassDef)


def _first(node: Any) -> int:
    """The first line of a definition: that of its decorators."""
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def _cell(number: int, kind: str, text: str) -> dict[str, Any]:
    cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
    return {**cell, "execution_count": None, "outputs": []} if kind == "code" else cell
