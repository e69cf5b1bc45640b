"""The plans of this process for calls of operators from XLA: native where they can be, else followed in Python.

Plans stay as long as the process: XLA does not say when it drops a compiled program, nor when the last call of one has
run. A native plan therefore holds its steps and machine code alone, and kernels of equal code share it. Programs name
plans by a number and a digest that no other process gives, so that a program of another process, from JAX's cache, is
refused.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...core.emit.native.linker import NativeObject
from ...core.emit.native.native import assemble
from ...core.runtime.launches import pool
from ...errors import LaunchError
from ...forks import fork_safe
from ..signature import Shape
from . import frames
from .evaluation import Evaluation, run
from .steps import native

_MOST = 1 << 20  # as in ffi.ll
_SETUP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_NATIVE, _PYTHON = "warpsim_native", "warpsim_python"
_lock = fork_safe(threading.Lock())


class Plans:
    """All plans of this process, and the two handlers that follow them."""

    def __init__(self) -> None:
        self.table = np.zeros(_MOST, np.uint64)
        self.kept: list[Any] = []
        self.known: dict[bytes, tuple[int, int]] = {}
        self.evaluations: dict[Evaluation, int] = {}
        self.by_number: list[Evaluation] = []
        self.nonce = os.urandom(8)
        source = Path(__file__).with_name("ffi.ll").read_text(encoding="utf-8")
        self.code = NativeObject(assemble(source))
        threads = pool.get_pool()
        setup = self.code.function("ws_ffi_setup", _SETUP)
        setup(self.table.ctypes.data, threads.lend(), threads.run_address)
        frames.register(_NATIVE, self.code.function("ws_ffi", _HANDLER))
        frames.register(_PYTHON, frames.handler_of(self.call))

    def plan(self, evaluation: Evaluation, shapes: Sequence[Shape]) -> tuple[str, np.ndarray]:
        """The target of a call, and the attribute by which it finds its plan."""
        with _lock:
            program = native(evaluation, shapes)
            if program is None:
                return _PYTHON, self.python(evaluation)
            words, code = program
            digest = hashlib.sha256(self.nonce + words.tobytes()).digest()
            if digest not in self.known:
                words[0] = int.from_bytes(digest[:8], "little", signed=True)
                self.known[digest] = (self.number((words, code)), int(words[0]))
                self.table[self.known[digest][0]] = words.ctypes.data
            return _NATIVE, np.array(self.known[digest], np.int64)

    def number(self, thing: Any) -> int:
        """A number for something that stays."""
        if len(self.kept) == _MOST:
            raise LaunchError(f"{_MOST} calls of kernels are compiled into programs of JAX\nexpected: fewer")
        self.kept.append(thing)
        return len(self.kept) - 1

    def python(self, evaluation: Evaluation) -> np.ndarray:
        """The attribute of a plan that Python follows."""
        evaluation = evaluation._replace(callee=evaluation.callee.itself)
        number = self.evaluations.setdefault(evaluation, len(self.by_number))
        if number == len(self.by_number):
            self.by_number.append(evaluation)
        return np.array([number, int.from_bytes(self.nonce, "little", signed=True)], np.int64)

    def call(self, frame: frames.Frame) -> None:
        """Follow a plan in Python."""
        number, nonce = frame.attributes["plan"]
        if int(nonce) != int.from_bytes(self.nonce, "little", signed=True):
            raise LaunchError("this program was compiled by another process\nhelp: compile it anew")
        run(self.by_number[number], frame.arguments, frame.results)


@cache
def plans() -> Plans:
    """The plans of this process."""
    return Plans()
