"""Pictures of Jacobians: one panel for every pair of an input (column) and an output (row).

Matplotlib is loaded by the first picture, not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.language import Kernel
from ..core.runtime.tape.kernel_arrays import arrays_in
from ..errors import JacobianError
from .components import Components
from .subjects import FunctionMetadata


def plot_kernel_jacobians(
    jacobians: Mapping[tuple[Any, Any], Any],
    kernel: Kernel | FunctionMetadata | None = None,
    inputs: Sequence[Any] | None = None,
    show_plot: bool = True,
    show_colorbar: bool = True,
    scale_colors_per_submatrix: bool = False,
    title: str | None = None,
    colormap: str = "coolwarm",
    log_scale: bool = False,
    outputs: Sequence[Any] | None = None,
) -> Any:
    """Draw what `jacobian` or `jacobian_fd` returned; returns the matplotlib figure, pyplot's current one.

    kernel, inputs, outputs: a kernel with its arguments, or a `FunctionMetadata`, for matrices that come
    from elsewhere; what `jacobian` returns knows its names and layouts.
    show_plot: open a window, where matplotlib has a backend with windows (it waits until they are closed), or
    show the picture in a notebook; without a display nothing waits. `figure.savefig(path)` keeps the picture.
    title: by default the name of the kernel or function, where that is known.
    scale_colors_per_submatrix: every panel has its own range of colors (and colorbar).
    log_scale: colors by the logarithm of magnitudes. Raises `JacobianError` for an empty dict.
    """
    from . import pictures  # noqa: PLC0415

    layout = _layout(jacobians, kernel, inputs, outputs)
    names = getattr(jacobians, "names", {})
    panels = {_names_of(names.get(pair, pair), layout): _matrix(m) for pair, m in jacobians.items()}
    if not panels:
        raise JacobianError("no Jacobians to draw\nexpected: a dict from (input, output) to a matrix")
    sources = _in_order((source for source, _ in panels), layout.input_labels)
    targets = _in_order((target for _, target in panels), layout.output_labels)
    if title is None and layout.key:
        title = f"{layout.key} kernel Jacobian"
    style = pictures.Style(
        layout.input_strides,
        layout.output_strides,
        show_colorbar,
        scale_colors_per_submatrix,
        title,
        colormap,
        log_scale,
    )
    figure = pictures.draw(panels, sources, targets, style)
    if show_plot:
        pictures.show()
    return figure


def _matrix(jacobian: Any) -> np.ndarray:
    """What `jacobian` returns, or anything NumPy takes, as numbers (output numbers, input numbers)."""
    matrix = np.asarray(jacobian.numpy() if hasattr(jacobian, "numpy") else jacobian)
    if matrix.ndim != 2 or not matrix.size:
        raise JacobianError(f"a Jacobian of shape {matrix.shape}\nexpected: (output numbers, input numbers)")
    return np.asarray(matrix, np.float64)


def _names_of(pair: tuple[Any, Any], layout: FunctionMetadata) -> tuple[Any, Any]:
    """Positions in a key as the names that the layout has for them."""
    source, target = (
        labels[k] if isinstance(k, int) and labels and k < len(labels) else k
        for k, labels in zip(pair, (layout.input_labels, layout.output_labels), strict=True)
    )
    return source, target


def _in_order(names: Iterable[Any], labels: list[str] | None) -> list[Any]:
    """Each name once, as they stand among the arguments; names that nobody knows keep their order."""
    ranks = {label: k for k, label in enumerate(labels or [])}
    return sorted(dict.fromkeys(names), key=lambda name: ranks.get(str(name).partition(".")[0], len(ranks)))


def _layout(jacobians: Any, kernel: Any, inputs: Any, outputs: Any) -> FunctionMetadata:
    """Names of inputs and outputs, and numbers per element of each, as far as they are known."""
    if isinstance(kernel, FunctionMetadata):
        return kernel
    known = getattr(jacobians, "metadata", None)
    if isinstance(known, FunctionMetadata):
        return known
    metadata = FunctionMetadata()
    if isinstance(kernel, Kernel):
        metadata.key = kernel.key
        names, first = list(kernel.patterns), list(inputs or [])
        if inputs is not None:
            metadata.input_labels, metadata.output_labels = names[: len(first)], names[len(first) :]
        _note_strides(metadata.input_strides, names, first)
        _note_strides(metadata.output_strides, names[len(first) :], list(outputs or []))
    return metadata


def _note_strides(strides: dict[Any, int], labels: list[str], values: list[Any]) -> None:
    for label, value in zip(labels, values, strict=False):
        strides.update((name, Components(a).per_element) for name, a in arrays_in(value, label))
