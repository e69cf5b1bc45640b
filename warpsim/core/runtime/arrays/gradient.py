"""Gradients of arrays: memory of the same layout, one for an array and all its views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from ....errors import ArrayError, DeviceError, ReadOnlyError, instance
from ...types.arrays import type_name
from ..devices.capture import current_graph
from .allocation import Allocation, about_to_write
from .assignment import Writable
from .foreign import ArrayLayout, memory_at
from .host_memory import allocate_like
from .saved_contents import active
from .seeds import show

if TYPE_CHECKING:
    from ..devices.device import Device
    from .array import array


_WITH_GRADIENT: WeakSet[Differentiable] = WeakSet()


class Differentiable(Writable):
    """The half of `array` that has to do with gradients."""

    strides: tuple[int, ...]
    _owner: Any
    _grad: array | None
    _memory: Allocation
    _cut = False  # whether a view was told to have no gradient, whatever its owner has
    _inherited = False  # whether the gradient is a part of the owner's
    _retained = False
    _views: WeakSet[Differentiable] | None = None

    def _pack(self) -> None:
        raise NotImplementedError

    def _copy_to(self, device: Device, requires_grad: bool) -> array:
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        raise NotImplementedError

    @property
    def requires_grad(self) -> bool:
        """Whether the array has a gradient array. A view shares that of the array it is a view of."""
        return self._gradient is not None

    @requires_grad.setter
    def requires_grad(self, required: bool | None) -> None:
        if required is not None and not isinstance(required, (int, np.bool_)):
            raise ArrayError(f"requires_grad is {type(required).__name__}\nexpected: True or False")
        self._cut = not required
        if not required:
            self._grad, self._inherited, self._retained = None, False, False
        elif self._gradient is None and isinstance(self._owner, Differentiable):
            self._owner.requires_grad = True  # one gradient for all views of the memory
            self._inherit()
        elif self._grad is None:
            # Kernels reach the gradient with the strides of the array.
            self._grad = self._wrap(allocate_like(self._data), self.dtype, self.device)
            self._memory.has_gradient = True
            _WITH_GRADIENT.add(self)
        self._pack()
        self._tell_views()

    @property
    def retain_grad(self) -> bool:
        """Whether a tape leaves the gradient of what was written last here, instead of that of what was before."""
        return self._retained

    @retain_grad.setter
    def retain_grad(self, retained: bool) -> None:
        if retained and self._gradient is None:
            raise ArrayError("retain_grad=True for an array without a gradient\nexpected: requires_grad=True as well")
        self._retained = bool(retained)

    @property
    def grad(self) -> Any:
        """The array of gradients: same shape and dtype, or None."""
        gradient = self._gradient
        if gradient is not None and ((left := gradient._memory.left) is None or not left.shown):
            show(gradient)
        return gradient

    @grad.setter
    def grad(self, value: array | None) -> None:
        if value is not None:
            instance(value, type(self), "the gradient")
        if value is not None and (value.shape != self.shape or value.dtype is not self.dtype):
            raise ArrayError(
                f"gradient of shape {value.shape} and dtype {type_name(value.dtype)}\n"
                f"expected: shape {self.shape} and dtype {type_name(self.dtype)}"
            )
        if value is not None and value.strides != self.strides:
            raise ArrayError(f"gradient with strides {value.strides}\nexpected: {self.strides}, those of the array")
        if value is not None and not value._tag.writable:
            raise ReadOnlyError("the gradient is read-only memory\nexpected: a writable array\nhelp: wp.array(x)")
        if value is not None and not self.device.can_access(value.device):
            raise DeviceError(f"a gradient on {value.device}\nexpected: {self.device}, where the array is")
        self._grad, self._cut, self._inherited = value, value is None, False
        self._memory.has_gradient |= value is not None
        if value is not None:
            show(value)
            _WITH_GRADIENT.add(self)
        self._pack()
        self._tell_views()

    @property
    def _gradient(self) -> array | None:
        """`grad` for the machinery, which writes no seeds to it."""
        if self._grad is None and self._memory.has_gradient and not self._cut:
            if isinstance(self._owner, Differentiable):
                self._inherit()
        return self._grad

    def __copy__(self) -> Any:
        """Contents and gradient in fresh contiguous memory; for a tape that records, or a graph, what `clone` makes."""
        if self._held is None and (active() or current_graph() is not None):
            return self._copy_to(self.device, self.requires_grad)
        rebuild, parts = self.__reduce__()
        return rebuild(*parts)

    def __deepcopy__(self, memo: object) -> Any:
        return self.__copy__()

    def _share(self, whole: Differentiable) -> None:
        """Become a view of an array over whose memory this one has been made."""
        self._owner, self._memory = whole, whole._memory
        whole._known_view(self)

    def _known_view(self, view: Differentiable) -> None:
        """Remember a view, to which another gradient of this array will be one, too."""
        if self._views is None:
            self._views = WeakSet()
        self._views.add(view)

    def _tell_views(self) -> None:
        """Views that share this array's gradient get their part of the present one."""
        for view in list(self._views or ()):
            if view._inherited:
                view._grad, view._inherited = None, False
                view._pack()
                view._inherit()
                view._tell_views()

    def _inherit(self) -> None:
        """Take the part of the owner's gradient that lies as this view lies in the owner."""
        whole = self._owner._gradient
        if whole is None:
            return
        place = whole._address + (self._address - self._owner._address)
        layout = ArrayLayout(self.dtype, self.shape, self.strides)
        part = memory_at(place, layout, self.device, whole._data) if self.size else allocate_like(self._data)
        self._grad, self._inherited = self._wrap(part, self.dtype, self.device, owner=whole), True
        self._pack()

    def mark_read(self) -> None:
        """Tell the active tape that the contents as they are now are needed in `backward`.

        For operations of your own, beside `Tape.record_func`, whose callback then sees these contents.
        """
        for tape in active():
            tape.mark_read(self)

    def mark_write(self) -> None:
        """Tell tapes that something they do not see is about to write to the array; call it before."""
        about_to_write(self, self._data, "mark_write")
        for tape in active():
            tape.mark_write(self)


def with_gradient(device: Device) -> list[Any]:
    """The arrays on a device that have memory, and gradients, of their own: views of them share both."""
    return [a for a in list(_WITH_GRADIENT) if a.device is device and a._owner is None and a._gradient is not None]
