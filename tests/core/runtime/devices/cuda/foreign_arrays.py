"""Arrays of frameworks that are not here: small classes that lend memory of an array of ours by their protocols."""

import pytest

import warpsim as wp

GPU = [pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"), pytest.mark.device]


class ByInterface:
    """What CuPy and Numba offer; `changes` replaces entries."""

    def __init__(self, a, **changes):
        self.a, self.changes = a, changes

    @property
    def __cuda_array_interface__(self):
        return {**self.a.__cuda_array_interface__, **self.changes}


class ByCapsule:
    """What JAX offers; it notes what it is asked for."""

    def __init__(self, a, kind=None):
        self.a, self.kind, self.asked = a, kind, []

    def __dlpack__(self, **options):
        self.asked.append(options)
        return self.a.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.kind or self.a.__dlpack_device__()


class OldCapsule(ByCapsule):
    """A producer from before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return super().__dlpack__(stream=stream)


class Torch(ByCapsule):
    """Both protocols, the older without a stream: what a torch tensor has."""

    @property
    def __cuda_array_interface__(self):
        found = self.a.__cuda_array_interface__
        return {name: found[name] for name in ("shape", "typestr", "data", "strides")} | {"version": 2}


FRAMEWORKS = [ByInterface, ByCapsule, OldCapsule, Torch]


def on_gpu(values, dtype=float):
    return wp.array(values, dtype=dtype, device="cuda:0")


def second_device():
    if wp.get_cuda_device_count() < 2:
        pytest.skip("needs two devices")
    return "cuda:1"


class OnStream:
    """An array whose framework works on a stream of its own."""

    def __init__(self, a, stream):
        self.a, self.stream = a, stream

    def __dlpack__(self, **options):
        with wp.ScopedStream(self.stream, sync_enter=False):
            return self.a.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()
