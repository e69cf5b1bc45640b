"""Thread indices and block sizes in a launch."""

from __future__ import annotations

from typing import Any

from ..ir.nodes import Call
from ..types.scalars import int32
from .registry import op
from .target import Target


def _tid_rule(types: list[Any], attributes: dict) -> Any:
    return [], [int32] * attributes["ndim"]


def _tid_value(target: Target, call: Call, args: list[list[Any]]) -> Any:
    index = target.thread_index(call.attributes["ndim"])
    return [[i] for i in index] if len(index) > 1 else [index[0]]


@op(_tid_value, rule=_tid_rule, nondiff="an integer")
def tid() -> int32:
    """The index of the thread; unpack as many indices as the launch has dimensions (1 to 4)."""


def _block_dim_rule(types: list[Any], attributes: dict) -> Any:
    return [], [int32]


def _block_dim_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    return [target.block_dim()]


@op(_block_dim_value, rule=_block_dim_rule, nondiff="an integer")
def block_dim() -> int32:
    """Threads of a block: those of the launch; on CPUs 1 unless `config.enable_cpu_blocks` is on."""
