"""Callees of kernels with a rule of their own, besides ops and types."""

from __future__ import annotations

from typing import Any

from .translator import Translator


class Callee:
    """A thing with a meaning of its own when a kernel calls it: functions, lambdas, derivatives."""

    by_reference = False
    """Whether what it rebinds must be places."""

    takes_addresses = False
    """Whether it takes `wp.address_of(x)` of locals."""

    def call(self, caller: Translator, args: list[Any], keywords: dict[str, Any]) -> Any:
        """Append the call at given operands; returns the operand of the result."""
        raise NotImplementedError

    def takes(self, args: list[Any]) -> bool:
        """Whether some form of it takes these operands."""
        return False

    def inout(self, count: int, keywords: list[str]) -> dict[int, str]:
        """The parameters, by position, that a call with so many arguments rebinds in its caller."""
        return {}
