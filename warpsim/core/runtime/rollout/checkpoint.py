"""`checkpoint`: gradients of long loops in little memory, by keeping few states and running steps again.

Guarantees: gradients equal those of a tape that recorded the same operations, bit for bit; a step that does others in a
loop, as a fluid's does, differs by rounding. After `backward` all arrays hold what they held before it. What would make
a replay differ from the first run is an error, never a wrong gradient: writes that were not declared (`footprint`),
contents that changed since (the tape's reads), and steps that depend on anything else (checksums of the states that
were kept).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ....errors import ArgumentTypeError, CheckpointError, GradientError
from ...types.cotangents import has_cotangent
from ..arrays import saved_contents
from ..arrays.allocation import Allocation
from ..arrays.array import array, root
from ..arrays.call_site import CallSite
from ..arrays.indexed import indexedarray
from ..devices.capture import current_graph
from .footprint import OUTPUTS, PARAMETERS, SCRATCH, STATE, array_in_words
from .rollout import CheckpointReport, Loop, Rollout
from .schedules import SCHEDULES


def checkpoint(
    step: Callable[..., Any], state: Any, steps: int, *, parameters: Iterable[array] = (),
    outputs: Iterable[array] = (), scratch: Iterable[array] = (), schedule: str = "sqrt", slots: int | None = None,
) -> CheckpointReport:  # fmt: skip
    """Run `step` for k = 0 ... steps - 1; under a tape, as one operation whose reverse needs few states.

        def step(k):
            wp.launch(move, n, inputs=[x, v, stiffness, dt])   # overwrites x and v
            wp.launch(measure, n, inputs=[x, target, loss])    # adds to loss

        with wp.Tape() as tape:
            wp.checkpoint(step, [x, v], 10_000, parameters=[stiffness], outputs=[loss])
        tape.backward(loss)

    step: `step(k)` or `step(state, k)`. It may launch, copy, assign, and nest other loops. What it does must
    follow from k and from the contents of arrays alone: random numbers come from seeds made of k, time is k * dt.
    state: a list, tuple or dict of arrays that go from step to step; they are overwritten in place. Arrays of
    floats need gradients. parameters: arrays with gradients that steps only read. Naming them checks that;
    gradients reach every array with a gradient that steps read. outputs: arrays that steps only store to or
    add to, such as a loss or a trajectory; no copies are kept of them. scratch: arrays that every step fills
    before it reads them, and structures (a HashGrid, a Mesh) that every step builds or refits. Any other array
    that a step writes must be its own: made in it, and dropped.

    With n steps, states of m bytes, s slots, and r states copied by the tape while it records one step (about one
    for each time that a step overwrites what its gradient needs):

    | schedule     | s, when not given | memory in backward  | steps run again                                        |
    |--------------|-------------------|---------------------|--------------------------------------------------------|
    | (full tape)  |                   | r n m               | 0                                                      |
    | `"sqrt"`     | sqrt(n)           | (s + r n / s + 1) m | n, while recording                                     |
    | `"binomial"` | log2(n)           | (s + r + 1) m       | n, while recording, and (t - 1) n - beta(s + 1, t - 1) |

    where beta(s, t) = (s + t)! / (s! t!), and t is the least with n <= beta(s, t): no step is run more than t times
    before it is recorded (Griewank and Walther 2000, who prove that optimal). 10,000 steps take 101 + 100 r states
    with "sqrt"; 15 + r with "binomial", and 3.6 n steps more; 141 + r with `slots=140`, and n steps more.

    Returns a report; `backward` fills in the rest of it. Without a tape the steps are just run.

    Raises `ArgumentTypeError` and `CheckpointError` for arguments that do not fit; `GradientError` for floats of the
    state without gradient; `CheckpointError` for steps that write what is not declared, read what is not
    kept, replace arrays of the state, or never write it, and in `backward` for steps that do not repeat exactly.
    Scattered float atomics (`wp.atomic_add` at computed indices) may need `deterministic=True` for that.
    """
    check_count("steps", steps, 0)
    loop = Loop(step, state)
    if not loop.arrays:
        raise CheckpointError("state is empty\nexpected: the arrays that go from step to step")
    declared = declarations(loop.arrays, parameters, outputs, scratch)
    make, default = choose_schedule(schedule, slots)
    tapes, steps = saved_contents.active(), int(steps)
    if not tapes or not steps:
        for k in range(steps):
            loop.run(k)
        return CheckpointReport(steps)
    if current_graph() is not None:
        raise CheckpointError("checkpoint while a graph is captured\nhelp: capture the steps, or run without capture")
    check_gradients(declared, step)
    rollout = Rollout(loop, steps, declared, make, min(int(slots or default(steps)), steps), CallSite.outside())
    rollout.forward(tapes)
    return rollout.report


# ----- arguments --------------------------------------------------------------------------------


def check_count(name: str, value: object, least: int) -> None:
    """Raise unless `value` is an integer of at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise ArgumentTypeError(f"{name} is {type(value).__name__}\nexpected: an integer of at least {least}")
    if value < least:
        raise CheckpointError(f"{name} is {value}\nexpected: at least {least}")


def choose_schedule(schedule: str, slots: int | None) -> Any:
    """The schedule by its name."""
    if schedule not in SCHEDULES:
        raise CheckpointError(f"schedule is {schedule!r}\nexpected: one of {', '.join(map(repr, SCHEDULES))}")
    if slots is not None:
        check_count("slots", slots, 1)
    return SCHEDULES[schedule]


def declarations(
    state: object, parameters: object, outputs: object, scratch: object
) -> dict[Allocation, tuple[str, array]]:
    """By memory: what an array was declared as, and the array. Raises for what cannot be declared so."""
    declared: dict[Allocation, tuple[str, array]] = {}
    for kind, arrays in ((STATE, state), (OUTPUTS, outputs), (SCRATCH, scratch), (PARAMETERS, parameters)):
        if isinstance(arrays, array | indexedarray) or not isinstance(arrays, Iterable):
            raise ArgumentTypeError(f"{kind} is {type(arrays).__name__}\nexpected: a list of arrays")
        for a in arrays_of(arrays):
            if not isinstance(a, array):
                raise ArgumentTypeError(f"{kind} holds {type(a).__name__}\nexpected: arrays")
            if a._held is not None and kind != PARAMETERS:
                raise CheckpointError(
                    f"{kind} holds {a!r}, whose elements refer to other arrays\nexpected: arrays of plain elements"
                )
            other = declared.setdefault(a._memory, (kind, root(a)))[0]
            if other != kind:
                raise CheckpointError(
                    f"{array_in_words(a)} is in {other}= and in {kind}=\nexpected: every array in one of them"
                )
    return declared


def arrays_of(items: Iterable[Any]) -> Iterator[Any]:
    """What a list holds, with the arrays of its own in the place of a structure such as a hash grid."""
    for item in items:
        yield from item.own_arrays() if hasattr(item, "own_arrays") else (item,)


def check_gradients(declared: dict[Allocation, tuple[str, array]], step: Callable[..., Any]) -> None:
    """Raise for floats of the state, and for parameters, without gradient."""
    for kind, a in declared.values():
        if kind == STATE and has_cotangent(a.dtype) and a._gradient is None:
            raise GradientError(
                f"array {array_in_words(a, step)} of the state has no gradient\nexpected: requires_grad=True, "
                "as gradients go from step to step through the state\nhelp: set requires_grad before the loop"
            )
        if kind == PARAMETERS and a._gradient is None:
            raise GradientError(
                f"array {array_in_words(a, step)} of parameters has no gradient\nexpected: requires_grad=True\n"
                "help: leave constants out of parameters=; they are found by themselves"
            )
