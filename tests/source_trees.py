"""The Python files of the repository as syntax trees, each parsed once in a process."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "warpsim"


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def trees(folder: Path = PACKAGE) -> dict[Path, ast.Module]:
    """The files below a folder, in the order of their names."""
    collecting = gc.isenabled()
    gc.disable()  # looking for garbage among the nodes takes three times as long as parsing
    try:
        return {path: ast.parse(text_of(path)) for path in sorted(folder.rglob("*.py"))}
    finally:
        gc.freeze()  # nor is it looked for again and again later
        if collecting:
            gc.enable()


def below(tree: ast.AST, *kinds: type[ast.AST]) -> list[ast.AST]:
    """The nodes of some kinds in a tree."""
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
