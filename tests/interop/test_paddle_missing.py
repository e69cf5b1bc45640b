"""What users without Paddle, or with an old one, are told; Paddle itself need not be there."""

import importlib.util
import sys
import types

import pytest

import warpsim as wp
from warpsim import names


def test_a_missing_paddle_is_named_as_its_package_is_called(monkeypatch):
    monkeypatch.setitem(sys.modules, "paddle", None)
    monkeypatch.delitem(sys.modules, "warpsim.interop.paddle", raising=False)
    load = names.loader({"__name__": "warpsim"})
    with pytest.raises(wp.errors.MissingPackageError, match=r"warpsim.to_paddle needs[\s\S]*pip install paddlepaddle$"):
        load("to_paddle")


def test_an_older_paddle_is_refused(monkeypatch):
    paddle = types.ModuleType("paddle")
    paddle.__version__ = "2.6.2"
    monkeypatch.setitem(sys.modules, "paddle", paddle)
    source = importlib.util.find_spec("warpsim.interop.paddle")
    with pytest.raises(wp.errors.MissingPackageError, match=r"Paddle 2.6.2 is installed[\s\S]*3.0 or newer[\s\S]*pip"):
        source.loader.exec_module(importlib.util.module_from_spec(source))
