"""The op table refuses rows that could make a gradient silently zero, or that no target can run."""

import numpy as np
import pytest

from warpsim.core.ops import registry
from warpsim.core.ops.registry import expansion, op, rows, seal
from warpsim.core.ops.values import instr
from warpsim.core.types.signatures import Float
from warpsim.errors import WarpsimError


@pytest.fixture
def empty_table(monkeypatch):
    monkeypatch.setattr(registry, "TABLE", {})


def declare(value, **facts):
    @op(value, numpy=np.negative, **facts)
    def flip(x: Float) -> Float:
        """Minus x."""

    return flip


def test_the_table_in_use_is_sealed():
    seal()
    assert len(list(rows())) > 100, "an empty table would pass"


def test_a_row_without_adjoint_or_reason_is_refused(empty_table):
    declare(instr("fneg"))
    with pytest.raises(WarpsimError, match=r"flip\(x: Float\) has no adjoint; declare one or say why in nondiff="):
        seal()


def test_a_reason_is_enough(empty_table):
    declare(instr("fneg"), nondiff="counts things")
    seal()


def test_an_adjoint_is_enough(empty_table):
    flip = declare(instr("fneg"))

    @flip.adjoint
    def _(x, out, dout):
        return (-dout,)

    seal()


def test_an_adjoint_belongs_to_the_overload_declared_last(empty_table):
    first = declare(instr("fneg"))
    declare(instr("fneg"))

    @first.adjoint
    def _(x, out, dout):
        return (-dout,)

    assert [row.adjoint_rule is None for row in first.rows] == [True, False]
    with pytest.raises(WarpsimError, match="has no adjoint"):
        seal()


def test_an_expansion_needs_no_adjoint_of_its_own(empty_table):
    @expansion()
    def thrice(x: Float) -> Float:
        """Three times x."""
        return x + x + x

    seal()


def test_a_row_that_nothing_can_compute_is_refused(empty_table):
    declare(None, nondiff="counts things")
    with pytest.raises(WarpsimError, match=r"op row flip\(x: Float\) has neither value nor expansion"):
        seal()


def test_every_row_of_the_table_gives_its_reason_in_words():
    reasons = {row.nondiff for row in rows() if row.nondiff}
    assert all(len(reason.split()) >= 2 for reason in reasons), "a reason is a phrase that a reader understands"
    assert not [row.signature() for row in rows() if row.nondiff and row.adjoint_rule]
