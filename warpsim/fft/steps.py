"""Transforms as steps that tapes record: linear, so that the tangent is the transform and the adjoint its transpose.

With the pairs of a complex number as two real ones, the transpose of a transform is the unscaled transform of the
other direction, with the factor on the other side: `norm` turns round. Real transforms leave out half of the spectrum.
The inverse adds every element k but 0 and n/2 twice, as itself and as its conjugate: its transpose is `rfft` with
these doubled, and the transpose of `rfft` is the inverse of a spectrum with these halved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.runtime.arrays.array import array
from ..core.runtime.devices.device import Device
from ..core.runtime.steps.operation import ArrayOperation, Contents, Operation
from . import cufft, host

NORMS = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
"""Where the factor is, and where it is in the transpose."""


class Transform(ArrayOperation):
    """A transform along axes. Work is done by `host` or `cufft`, whose functions have one meaning."""

    home = "wp.fft"
    settings = ("axes", "norm")

    def __init__(
        self,
        results: Sequence[array],
        operands: Sequence[Any],
        axes: tuple[int, ...],
        norm: str,
        device: Device | None = None,
    ):
        super().__init__(results, operands, device)
        self.axes, self.norm = axes, norm

    @property
    def engine(self) -> Any:
        return host if self.device is None else cufft

    def ready(self) -> Operation:
        if self.device is not None:
            cufft.bindings()  # says what is missing when the transform is asked for, not when a graph comes to it
        return super().ready()

    def run(self) -> None:
        (operand,), (result,) = self.operands, self.results
        self.engine.into(result, self.forward(self.engine, self.engine.contents(operand)))

    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        grad = self.engine.take_gradient(results[0])
        if operands[0] is not None:
            self.engine.add(operands[0], self.transpose(self.engine, grad))

    def forward(self, engine: Any, x: Any) -> Any:
        raise NotImplementedError

    def transpose(self, engine: Any, grad: Any) -> Any:
        raise NotImplementedError


class ComplexTransform(Transform):
    """Complex to complex."""

    name = "fft"
    settings = ("axes", "norm", "inverse")

    def __init__(self, *arguments: Any, inverse: bool):
        super().__init__(*arguments)
        self.inverse = inverse

    def forward(self, engine: Any, x: Any) -> Any:
        return engine.c2c(x, self.axes, self.inverse, self.norm, overwrite=self.operands[0] is self.results[0])

    def transpose(self, engine: Any, grad: Any) -> Any:
        return engine.c2c(grad, self.axes, not self.inverse, NORMS[self.norm], overwrite=True)


class RealTransform(Transform):
    """Real to the half of its spectrum."""

    name = "rfft"

    def forward(self, engine: Any, x: Any) -> Any:
        return engine.r2c(x, self.axes, self.norm)

    def transpose(self, engine: Any, grad: Any) -> Any:
        length = self.operands[0].shape[self.axes[-1]]
        engine.scale_pairs(grad, self.axes[-1], length, 0.5)
        return engine.c2r(grad, self.axes, length, NORMS[self.norm])


class InverseRealTransform(Transform):
    """Half of a spectrum to what is real."""

    name = "irfft"

    def forward(self, engine: Any, x: Any) -> Any:
        return engine.c2r(x, self.axes, self.results[0].shape[self.axes[-1]], self.norm)

    def transpose(self, engine: Any, grad: Any) -> Any:
        length = self.results[0].shape[self.axes[-1]]
        spectrum = engine.r2c(grad, self.axes, NORMS[self.norm])
        engine.scale_pairs(spectrum, self.axes[-1], length, 2.0)
        return spectrum
