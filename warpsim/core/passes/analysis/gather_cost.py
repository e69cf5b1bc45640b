"""Cost of gathering the sums of an adjoint by element, against scattering them by thread."""

from __future__ import annotations

from ...ir.nodes import For, Function, While, walk
from .cost import estimate
from .divergence import varying
from .lane_cost import gains_from_lanes

_LANES = 16
# Nanoseconds of an operation in vectors, and of scalars from neighbouring elements, of one number or of several; one
# that is scattered takes 1. Measured with 16 lanes on 90,000 elements: gathering takes 0.2 of the time of a linear
# stencil of 5 points, 0.4 of one with a root of gradients, 0.3 of one with sines, 0.1 to 0.2 of upwind differences and
# of products on a line, but 1 to 1.8 of the springs of a cloth, and 2.6 of a linear stencil of vectors.
_VECTORIZED, _NEIGHBOURING, _INTERLEAVED = 0.06, 0.15, 2.0
_ALONE = 0.3


def gains_from_gathering(adjoint: Function, gathering: Function) -> bool:
    """Whether an adjoint whose elements gather their sums is faster than the one whose threads scatter them.

    It does the arithmetic once for every element that a thread reaches, but LLVM vectorises it across threads, as it
    can where there are no loops.
    """
    scattered, gathered = estimate(adjoint), estimate(gathering)
    if not gathered.gains_from_vectors or any(isinstance(node, For | While) for node in walk(gathering.body)):
        return False
    lanes = gains_from_lanes(adjoint, _LANES, varying(adjoint))
    alone = scattered.moved + (_VECTORIZED if lanes else _ALONE) * scattered.operations
    moved = _NEIGHBOURING * (gathered.moved - gathered.compound) + _INTERLEAVED * gathered.compound
    return _VECTORIZED * gathered.operations + moved < alone
