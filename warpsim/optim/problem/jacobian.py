"""The Jacobian of residuals by the free numbers of a problem, by whichever mode takes fewer sweeps.

Guarantees: worlds that do not touch each other share a sweep: of n worlds with k unknowns each it takes k, not n k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...autograd import jvp
from ...core.language import array
from ...core.runtime.tape.tape import Tape
from .error import ProblemError
from .unknowns import host_copy

if TYPE_CHECKING:
    from .problem import Problem


def linearise(problem: Problem, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The Jacobian (residuals, free numbers) at a vector of scaled free numbers, and the residuals."""
    tape, _ = problem.record(z)
    values = [host_copy(r) for r in problem.residuals]
    residual = np.concatenate([v.ravel() for v in values])
    world, rank = split_by_world([u.size for u in problem.space.unknowns], problem.worlds, "unknowns")
    own, place = split_by_world([v.size for v in values], problem.worlds, "residuals")
    result = np.where(own[:, None] == world, 1.0, 0.0)
    if rank.max(initial=-1) <= place.max(initial=-1):
        for k in range(rank.max(initial=-1) + 1):
            result[:, rank == k] *= _column(problem, tape, z, rank == k)[:, None]
    else:
        for k in range(place.max(initial=-1) + 1):
            result[place == k] *= _row(problem, tape, z, place == k)
    return result, residual


def split_by_world(sizes: Sequence[int], worlds: int, what: str) -> tuple[np.ndarray, np.ndarray]:
    """The world of each number, and its place in that. Raises `ProblemError` unless all worlds have the same."""
    owners, places, before = [], [], 0
    for size in sizes:
        if size % worlds:
            raise ProblemError(
                f"{what} of {size} numbers for worlds={worlds}\nexpected: as many for each, one world after another"
            )
        owners.append(np.repeat(np.arange(worlds), size // worlds))
        places.append(before + np.tile(np.arange(size // worlds), worlds))
        before += size // worlds
    return np.concatenate(owners), np.concatenate(places)


def _column(problem: Problem, tape: Tape, z: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """How the residuals follow the chosen numbers, in forward mode."""
    tangents = problem.space.tangents(chosen.astype(np.float64), z)
    moved = jvp(tape, tangents={a: array(t, dtype=a.dtype, device=a.device) for a, t in tangents.items()})
    return np.concatenate([host_copy(moved[r]).ravel() for r in problem.residuals])


def _row(problem: Problem, tape: Tape, z: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """How the sum of the chosen residuals follows the numbers, in reverse mode."""
    seeds, begin = {}, 0
    for r in problem.residuals:
        shape = host_copy(r).shape
        end = begin + int(np.prod(shape))
        seeds[r] = array(chosen[begin:end].reshape(shape).astype(np.float64), dtype=r.dtype, device=r.device)
        begin = end
    tape.backward(grads=seeds)
    row = problem.space.pull(z)
    tape.zero()
    return row
