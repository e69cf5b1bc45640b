"""Texts become trees although another thread of CPython disturbs that."""

import ast

import pytest

from warpsim.core.frontend.source.syntax_trees import parse_syntax


def test_a_disturbed_tree_is_made_again(monkeypatch):
    parse, failures = ast.parse, [SystemError("AST constructor recursion depth mismatch")] * 3

    def disturbed(text, mode):
        if failures:
            raise failures.pop()
        return parse(text, mode=mode)

    with monkeypatch.context() as patch:
        patch.setattr(ast, "parse", disturbed)
        trees = parse_syntax("x = 1"), parse_syntax("x + 1", "eval")
        with pytest.raises(SyntaxError):
            parse_syntax("x =")
    assert [ast.unparse(tree) for tree in trees] == ["x = 1", "x + 1"]


def test_what_always_fails_is_told(monkeypatch):
    def broken(text, mode):
        raise SystemError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(ast, "parse", broken)
        with pytest.raises(SystemError, match="broken"):
            parse_syntax("x = 1")
