"""`MatrixStep`: a product of sparse matrices as a step of tapes and graphs, bilinear in its two operands."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.language import array
from ..core.runtime.algorithms.cuda.work import Now, make_step
from ..core.runtime.devices.device import Device
from ..core.runtime.steps.operation import ArrayOperation, Contents, Operation

if TYPE_CHECKING:
    from .matrix import BsrMatrix, TransposedIndex


class MatrixStep(ArrayOperation):
    """A product whose work is launches, on whatever device. Of patterns it holds arrays that nobody writes to."""

    home = "wp.sparse"
    looks = bilinear = True

    def __init__(self, results: Sequence[array], operands: Sequence[array], device: Device):
        super().__init__(results, operands, None if device.shares_host_memory else device)
        self.place = device

    @property
    def work(self) -> Now:
        """What runs launches at once, without a word to tapes."""
        return Now(self.place)

    @abstractmethod
    def build(self, work: Now) -> None:
        """Do it, or prepare it for the graph that is captured."""

    def run(self) -> None:
        self.build(self.work)

    def ready(self) -> Operation:
        if self.device is None:
            return Operation(self)
        return Operation(self, make_step(self.device, self.build))

    def index_of(self, matrix: BsrMatrix) -> Callable[[], TransposedIndex]:
        """What gives the entries of a matrix by column, as it is now: made at once where a gradient may need them."""
        if any(a.requires_grad for a in self.operands):
            index = matrix.transposed_index
            return lambda: index
        copied = matrix.snapshot()
        return lambda: copied.transposed_index

    def wrap(self, contents: Contents) -> list[array]:
        """What operands held, as arrays."""
        return [self.wrap_like(a, memory) for a, memory in zip(self.operands, contents, strict=True)]

    def wrap_like(self, a: array, memory: np.ndarray) -> array:
        """Memory that is laid out like an array, as one."""
        return array._wrap(memory, a.dtype, a.device)
