"""One launch of a kernel together with the programs derived from it.

A `DualLaunch` knows the launch's arguments by name, which of them can have tangents and which the kernel
writes, and runs any derived program with the further arguments that it takes. Programs whose tangents
depend on the order of threads run on one thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.emit.program import Form, FormKind, Program
from ..core.language import Kernel, array, get_device
from ..core.ops.tangents import slots
from ..core.passes.forward.tangent import float_params
from ..core.runtime.launches.arguments import adapt, is_missing
from ..core.runtime.launches.dimensions import normalize_dim, rank
from ..core.runtime.tape.adjoint_needs import needs_of_arrays
from ..core.runtime.tape.kernel_arrays import arrays_of
from ..core.runtime.tape.tangent_launch import run_form
from ..core.types import scalars, structs
from ..core.types.array_ref import ArrayRef
from ..core.types.arrays import ArrayType, type_name
from ..errors import GradientError, LaunchError

Along = Mapping[Any, Any]
"""Tangents by parameter name (`"x"`, `"s.x"`) or by array."""


class DualLaunch:
    """A launch that can be differentiated. Raises what `launch` raises for arguments that do not fit."""

    def __init__(self, kernel: Kernel, dim: int | Sequence[int], args: Sequence[Any], device: Any = None):
        if not isinstance(kernel, Kernel):
            raise LaunchError(f"{kernel!r} is not a kernel\nhelp: decorate the function with @wp.kernel")
        kernel = kernel.current
        self.dim: Any = normalize_dim(dim)
        self.types = kernel.types_for(list(args))
        kernel = kernel.over(rank(self.dim), self.types)
        self.kernel, self.device = kernel, get_device(device)
        names = list(kernel.patterns)
        own = [adapt(a, t, n, kernel.key, self.device) for a, t, n in zip(args, self.types, names, strict=True)]
        self.known = arrays_of(kernel, self.types, kernel.settings())
        self.args = self.known.whole(own)
        for name, t in zip(names, self.types, strict=True):
            self._refuse_arrays_in_elements(name, t)
        floats = {ref: t for ref, t in float_params(self.known.fn.params).items() if not self._is_none(ref, t)}
        self.refs = {ref.name(self.known.names): ref for ref in floats}
        self.types_of = dict(zip(self.refs, floats.values(), strict=True))
        needs = needs_of_arrays(self.known)
        self.written = [name for name, ref in self.refs.items() if ref in self.known.uses.changed]
        self.read = [name for name, ref in self.refs.items() if ref in needs.read]

    def _is_none(self, ref: ArrayRef, t: Any) -> bool:
        return isinstance(t, ArrayType) and is_missing(ref.of(self.args))

    def _refuse_arrays_in_elements(self, name: str, t: Any) -> None:
        element = t.dtype if isinstance(t, ArrayType) else None
        if structs.is_struct(element) and any(isinstance(leaf, ArrayType) for _, leaf in slots(element)):
            raise GradientError(
                f"elements of {name!r} of kernel {self.kernel.key!r} refer to arrays: {type_name(element)}\n"
                "expected: arrays as parameters, or in struct parameters\n"
                "help: tangents of arrays that lie in arrays are not known"
            )

    # ----- parameters -------------------------------------------------------------------------

    def arrays(self) -> list[str]:
        """The names of all arrays of floats."""
        return [name for name, t in self.types_of.items() if isinstance(t, ArrayType)]

    def value(self, name: str) -> Any:
        """The argument, or the part of a struct argument, that a name means."""
        return self.refs[name].of(self.args)

    def by_name(self, along: Along) -> dict[str, Any]:
        """Tangents by the name of a float or array; those of structs by their fields. Raises `GradientError`."""
        arrays: dict[str, Any] = {}
        for key, value in along.items():
            names = self._names_of(key)
            if not names:
                known = ", ".join(self.refs) or "none"
                raise GradientError(
                    f"a tangent is given for {key!r}\n"
                    f"expected: a float or an array of floats among the arguments of {self.kernel.key!r}: {known}"
                )
            for name in names:
                inner = value if name == key or not isinstance(key, str) else part_at(value, name, key)
                arrays[name] = self._fit(name, inner)
        return arrays

    def _names_of(self, key: Any) -> list[str]:
        if not isinstance(key, str):
            return [name for name in self.arrays() if self.value(name) is key]
        if key in self.refs:
            return [key]
        return [n for n, t in self.types_of.items() if n.startswith(f"{key}.") and not isinstance(t, ArrayType)]

    def _fit(self, name: str, value: Any) -> Any:
        """The numbers of a tangent, in the shape of what it belongs to."""
        t = self.types_of[name]
        if isinstance(t, ArrayType):
            return fitting(f"argument {name!r}", t.dtype, self.value(name).shape, value)
        return fitting(f"argument {name!r}", t, (), value)

    # ----- programs ---------------------------------------------------------------------------

    def program(self, kind: FormKind, names: Iterable[str]) -> Program:
        return self.kernel.program(self.types, None, False, Form(kind, frozenset(names)))

    def run(self, kind: FormKind, names: Iterable[str], further: list[Any]) -> None:
        """Run a derived program. further: its arguments after the kernel's own."""
        run_form(self.kernel, self.dim, [*self.args, *further], self.device, Form(kind, frozenset(names)))


def fitting(what: str, t: Any, shape: tuple[int, ...], value: Any) -> np.ndarray:
    """The numbers of a tangent of elements of type `t`. Raises `GradientError` unless they have that shape."""
    layout = structs.numpy_dtype(t)
    numbers = np.asarray(value._contents() if isinstance(value, array) else getattr(value, "numpy", lambda: value)())
    any_number = scalars.holds_numbers(numbers.dtype) and numbers.dtype.kind != "b"
    fits = numbers.dtype == layout.base if layout.names else any_number
    if numbers.shape != (*shape, *layout.shape) or not fits:
        raise GradientError(
            f"the tangent of {what} has shape {numbers.shape} and dtype {numbers.dtype}\n"
            f"expected: shape {(*shape, *layout.shape)} and dtype {layout.base}"
        )
    return numbers.astype(layout.base)


def part_at(value: Any, name: str, key: str) -> Any:
    """The field of a struct that stands for its tangent. `name` is `key` and the fields that lead there."""
    for field in name[len(key) + 1 :].split("."):
        value = getattr(value, field)
    return value


