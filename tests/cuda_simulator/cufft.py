"""A stand-in for cuFFT that computes on the memory of a simulated device.

It follows cuFFT's manual: packed batches, unscaled, spectra of real numbers halved along the last axis, and nonsense
where a spectrum belongs to no real numbers. Whether cuFFT itself agrees, a GPU must say.
"""

import itertools
import sys
from types import ModuleType, SimpleNamespace

import numpy as np

from warpsim.core.runtime.devices.cuda.driver import call


class StandIn(ModuleType):
    """The functions of `nvmath.bindings.cufft` that are called."""

    Type = SimpleNamespace(C2C=0x29, R2C=0x2A, C2R=0x2C, Z2Z=0x69, D2Z=0x6A, Z2D=0x6C)

    def __init__(self):
        super().__init__("nvmath.bindings.cufft")
        self.numbers, self.plans, self.streams = itertools.count(1), {}, {}

    def create(self):
        return next(self.numbers)

    def destroy(self, plan):
        del self.plans[plan]

    def set_stream(self, plan, stream):
        self.streams[plan] = stream

    def make_plan_many(self, plan, rank, n, inembed, istride, idist, onembed, ostride, odist, kind, batch):
        assert rank == len(n) and (inembed, onembed) == (0, 0) and all(type(extent) is int for extent in n)
        self.plans[plan] = list(n), kind, batch
        return 0

    def exec_c2c(self, plan, source, target, direction, width=4):
        n, _, batch = self.plans[plan]
        x = read(source, (batch, *n), f"c{2 * width}")
        axes = tuple(range(1, 1 + len(n)))
        values = np.fft.fftn(x, axes=axes) if direction == -1 else np.fft.ifftn(x, axes=axes, norm="forward")
        write(target, values, f"c{2 * width}")

    def exec_z2z(self, plan, source, target, direction):
        self.exec_c2c(plan, source, target, direction, 8)

    def exec_r2c(self, plan, source, target, width=4):
        n, _, batch = self.plans[plan]
        axes = tuple(range(1, 1 + len(n)))
        values = np.fft.rfftn(read(source, (batch, *n), f"f{width}"), axes=axes)
        write(target, values, f"c{2 * width}")

    def exec_d2z(self, plan, source, target):
        self.exec_r2c(plan, source, target, 8)

    def exec_c2r(self, plan, source, target, width=4):
        (n,), _, batch = self.plans[plan]
        x = read(source, (batch, n // 2 + 1), f"c{2 * width}")
        alone = x[:, [0, -1] if n % 2 == 0 else [0]]
        values = np.fft.irfft(x, n, norm="forward")
        write(target, values if not alone.imag.any() else np.full_like(values, np.nan), f"f{width}")

    def exec_z2d(self, plan, source, target):
        self.exec_c2r(plan, source, target, 8)


def read(address, shape, dtype):
    """Contents of the device."""
    values = np.empty(shape, dtype)
    call("cuMemcpyDtoH", values.ctypes.data, address, values.nbytes)
    return values


def write(address, values, dtype):
    packed = np.ascontiguousarray(values.astype(dtype))
    call("cuMemcpyHtoD", address, packed.ctypes.data, packed.nbytes)


def start():
    """Let imports find the stand-in, from now on."""
    made = StandIn()
    for name in ("nvmath", "nvmath.bindings"):
        sys.modules.setdefault(name, ModuleType(name))
    sys.modules[made.__name__] = made
