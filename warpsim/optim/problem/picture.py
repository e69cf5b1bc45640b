"""The picture of a solution: its loss and terms, the unknowns at the best point, and the gradient there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .search import Solution

_MOST = 6  # curves in a panel


def draw(solution: Solution, path: Path) -> None:
    """Draw it."""
    figure = Figure((12.0, 3.8), dpi=100, facecolor="white", layout="constrained")
    loss, values, gradient = figure.subplots(1, 3)
    _draw_losses(loss, solution)
    for name, numbers in solution.values.items():
        _draw_numbers(values, name, numbers)
    for name, numbers in solution.gradient.items():
        gradient.plot(np.abs(numbers.ravel()), ".-", lw=1.0, label=name)
    values.set(title="unknowns at the best point", xlabel="index")
    gradient.set(title="|gradient| there, as the search sees it", xlabel="free number")
    gradient.set_yscale("symlog", linthresh=1e-12)
    for axes in (loss, values, gradient):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="small")
    figure.savefig(path, metadata={"Software": None} if path.suffix == ".png" else None)


def _draw_losses(axes: Any, solution: Solution) -> None:
    losses = np.array(solution.losses)
    draw_line = axes.semilogy if (losses > 0.0).all() else axes.plot
    draw_line(losses, color="0.25", lw=2.0, label="loss")
    if len(solution.terms) > 1:
        for name, term in solution.terms.items():
            axes.plot(term, lw=1.0, label=name)
    axes.set(title=f"{solution.method}: {solution.loss:.4g}", xlabel="iteration")


def _draw_numbers(axes: Any, name: str, numbers: np.ndarray) -> None:
    """One curve a component; of more than a few, those that change most."""
    columns = numbers.reshape(len(numbers), -1) if numbers.ndim else numbers.reshape(1, 1)
    order = np.argsort(-np.ptp(columns, axis=0), kind="stable")[:_MOST]
    for k in sorted(order):
        label = name if columns.shape[1] == 1 else f"{name} {k}"
        axes.plot(columns[:, k], ".-" if len(columns) < 40 else "-", lw=1.2, label=label)
