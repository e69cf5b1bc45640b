"""Native plans: calls of XLA in which a launch over its buffers is all there is to do, as steps for `ffi.ll`.

Steps zero or copy results, point an argument block at buffers, and run a command of the pool. Shapes are constants of a
compiled program, so the block, the command and the chunks of the launch are made when the program is lowered. A batch
repeats the steps at other places of the buffers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.emit.layout import WORD, argument_offsets
from ...core.emit.program import Form, FormKind
from ...core.language import array
from ...core.passes.forward.tangent import float_params, needs_one_thread
from ...core.runtime.commands.adjoint_by_hand import WithAdjoints, launch_adjoint
from ...core.runtime.devices.device import CPU
from ...core.runtime.launches.for_device import LaunchOptions, prepare
from ...core.runtime.launches.launcher import LaunchCall
from ..forms import JVP, VALUE, VJP
from ..operator import Call, KernelOperator
from ..signature import Parameter, Shape
from .evaluation import Evaluation, value_of

_ARG, _RESULT, _LOCAL = 0, 1, 2
_POINT, _COPY, _ZERO, _RUN = 0, 1, 2, 3


class Steps:
    """The steps of a plan, and the memory that it has of its own."""

    def __init__(self, evaluation: Evaluation, shapes: Sequence[Shape]):
        self.evaluation, self.shapes = evaluation, shapes
        self.words: list[int] = []
        self.template = b""
        self.scratch = 0
        self.strides = {}
        params = evaluation.params()
        flags = evaluation.batched or (False,) * len(params)
        for k, (param, shape, flag) in enumerate(zip(params, shapes, flags, strict=True)):
            self.strides[_ARG, k] = size_of(param, shape) if flag else 0
        self.sizes = []
        for k, (param, shape) in enumerate(evaluation.results(shapes[: len(evaluation.operands)])):
            self.sizes.append(size_of(param, shape))
            self.strides[_RESULT, k] = self.sizes[-1] if evaluation.batch is not None else 0

    def add(self, op: int, target: tuple[int, int], source: tuple[int, int] = (_LOCAL, 0), size: int = 0) -> None:
        """Append a step; target and source: kind and index."""
        self.words += [op, *target, self.strides.get(target, 0), *source, self.strides.get(source, 0), size]

    def reserve(self, size: int) -> tuple[int, int]:
        """Memory of the plan, behind the block and the command; placed by `packed`."""
        at = self.scratch
        self.scratch += -(-size // 64) * 64
        return (_LOCAL, -1 - at)

    def launch(self, call: LaunchCall, command: bytes) -> None:
        """Run a launch whose block has been pointed at the buffers."""
        self.template = call.block + bytes(-len(call.block) % WORD) + command
        at = len(self.template) - len(command)
        self.add(_POINT, (_LOCAL, at + WORD), (_LOCAL, 0))
        self.add(_RUN, (_LOCAL, at))

    def pack(self) -> np.ndarray:
        """The plan in words; its first one is the digest of the others."""
        words = np.array(self.words, np.int64).reshape(-1, 8)
        start = -(-len(self.template) // 64) * 64
        for kind, index in ((1, 2), (4, 5)):
            own = (words[:, kind] == _LOCAL) & (words[:, index] < 0)
            words[own, index] = start - 1 - words[own, index]
        head = [
            0,
            self.evaluation.batch if self.evaluation.batch is not None else 1,
            len(words),
            len(self.template),
            start + self.scratch + 64,
        ]
        body = np.frombuffer(self.template + bytes(-len(self.template) % WORD), np.int64).copy()
        pointed = (words[:, 0] == _POINT) & (words[:, 1] == _LOCAL)
        body[words[pointed, 2] // WORD] = 0  # set in each call; so plans of equal launches are equal
        return np.concatenate([np.array(head, np.int64), words.ravel(), body])


def size_of(param: Parameter, shape: Shape) -> int:
    """Bytes of a tensor."""
    return math.prod(shape) * param.dtype.itemsize


def native(evaluation: Evaluation, shapes: Sequence[Shape]) -> tuple[np.ndarray, Any] | None:
    """The plan of a call and the machine code that it runs, or None where Python has a part in it."""
    operator = evaluation.operator
    if not isinstance(operator, KernelOperator) or operator.arrays.reaches:
        return None
    if evaluation.form not in (VALUE, JVP, VJP) or (operator.in_blocks and evaluation.form != VALUE):
        return None
    if evaluation.form == VJP and not operator.direct(evaluation.active):
        return None
    steps = Steps(evaluation, shapes)
    inputs = stand_ins(evaluation, shapes)
    call = Call(inputs, evaluation.dims, evaluation.shapes, CPU)
    launch, command = {VALUE: value_steps, JVP: jvp_steps, VJP: vjp_steps}[evaluation.form](steps, operator, call)
    if command is None:
        return None
    steps.launch(launch, command)
    return steps.pack(), launch.launcher.code


def stand_ins(evaluation: Evaluation, shapes: Sequence[Shape]) -> list[Any]:
    """Inputs of the right types without contents: no page of their memory is touched."""
    s, shape_of = evaluation.operator.signature, dict(zip(evaluation.operands, shapes, strict=False))
    values = []
    for k, (param, number) in enumerate(zip(s.inputs, evaluation.numbers, strict=True)):
        if k not in shape_of:
            values.append(value_of(param, number))
        else:
            values.append(stand_in(param, shape_of[k]) if param.is_array else zero(param))
    return values


def stand_in(param: Parameter, shape: Shape) -> array:
    """An array without contents."""
    return array._wrap(np.empty(shape, param.dtype), param.element, CPU)


def zero(param: Parameter) -> Any:
    """A value in the place of one that an operand brings."""
    return param.type(0) if not param.inner else param.type()


def point_inputs(steps: Steps, offsets: list[int]) -> None:
    """Arrays at their operands, and numbers from theirs."""
    evaluation = steps.evaluation
    for n, k in enumerate(evaluation.operands):
        param = evaluation.operator.signature.inputs[k]
        if param.is_array:
            steps.add(_POINT, (_LOCAL, offsets[k]), (_ARG, n))
        else:
            steps.add(_COPY, (_LOCAL, offsets[k]), (_ARG, n), size_of(param, param.inner))


def outputs_at(steps: Steps, operator: KernelOperator, offsets: list[int], places: Sequence[tuple[int, int]]) -> None:
    """Outputs at places that hold zeros, or what the inputs hold that are changed."""
    s, evaluation = operator.signature, steps.evaluation
    for k, (param, shape, place) in enumerate(zip(s.outputs, evaluation.shapes, places, strict=True)):
        size = size_of(param, shape)
        if k < len(s.in_out):
            position = s.in_out[k]
            steps.add(_COPY, place, (_ARG, evaluation.operands.index(position)), size)
        else:
            position = len(s.inputs) + k - len(s.in_out)
            steps.add(_ZERO, place, size=size)
        steps.add(_POINT, (_LOCAL, offsets[position]), place)


def output_stand_ins(operator: KernelOperator, call: Call) -> list[array]:
    """Arrays without contents for the outputs."""
    return [stand_in(param, shape) for param, shape in zip(operator.signature.outputs, call.shapes, strict=True)]


def value_steps(steps: Steps, operator: KernelOperator, call: Call) -> tuple[LaunchCall, bytes | None]:
    """The kernel itself."""
    args = operator.arguments(call, output_stand_ins(operator, call))
    options = LaunchOptions(block_dim=operator.block_dim)
    launch = prepare(operator.subject.current, call.dims, args, CPU, options=options)
    offsets = argument_offsets(list(launch.launcher.types))[0]
    point_inputs(steps, offsets)
    outputs_at(steps, operator, offsets, [(_RESULT, k) for k in range(len(call.shapes))])
    return launch, launch.launcher.command(launch)


def jvp_steps(steps: Steps, operator: KernelOperator, call: Call) -> tuple[LaunchCall, bytes | None]:
    """The kernel with tangents: those of active inputs are operands, those of outputs results."""
    s, evaluation, kernel = operator.signature, steps.evaluation, operator.subject.current
    outputs = output_stand_ins(operator, call)
    args = operator.arguments(call, outputs)
    moving = {s.inputs[k].name: k for k in evaluation.active}
    results = {s.outputs[k].name: (n, k) for n, k in enumerate(s.float_outputs)}
    arrays = operator.arrays
    floats = (ref.name(arrays.names) for ref in float_params(arrays.fn.params))
    names = [name for name in floats if name in moving or name in results]
    own = {param.name: a for param, a in zip(s.params, args, strict=True)}
    further = [stand_in_like(own[name]) for name in names]
    form = Form(FormKind.TANGENT, frozenset(names))
    launch = prepare(kernel, call.dims, [*args, *further], CPU, form)
    offsets = argument_offsets(list(launch.launcher.types))[0]
    point_inputs(steps, offsets)
    sizes = [size_of(param, shape) for param, shape in zip(s.outputs, call.shapes, strict=True)]
    outputs_at(steps, operator, offsets, [steps.reserve(size) for size in sizes])
    count = len(evaluation.operands)
    for name, at in zip(names, offsets[len(arrays.arguments) :], strict=True):
        direction = count + evaluation.active.index(moving[name]) if name in moving else None
        if name in results:
            n, k = results[name]
            if direction is None:
                steps.add(_ZERO, (_RESULT, n), size=sizes[k])
            else:
                steps.add(_COPY, (_RESULT, n), (_ARG, direction), sizes[k])
            steps.add(_POINT, (_LOCAL, at), (_RESULT, n))
        elif direction is not None:
            param = s.inputs[moving[name]]
            step = (
                (_POINT, (_LOCAL, at), (_ARG, direction))
                if param.is_array
                else (_COPY, (_LOCAL, at), (_ARG, direction), size_of(param, param.inner))
            )
            steps.add(*step)
    if needs_one_thread(launch.launcher.program.fn):
        return launch, None
    return launch, launch.launcher.command(launch)


def stand_in_like(a: Any) -> Any:
    """An array without contents for each array."""
    return array._wrap(np.empty_like(a._data), a.dtype, CPU) if isinstance(a, array) else a


def vjp_steps(steps: Steps, operator: KernelOperator, call: Call) -> tuple[LaunchCall, bytes | None]:
    """The adjoint: gradients of active inputs are results that begin at zero, those of outputs copies of operands."""
    s, evaluation = operator.signature, steps.evaluation
    outputs, kernel = output_stand_ins(operator, call), operator.subject.current
    args = operator.arguments(call, outputs)
    seeds: list[Any] = [stand_in_like(a) if s.outputs[k].is_differentiable else None for k, a in enumerate(outputs)]
    grads: list[Any] = [None] * len(s.inputs)
    for k in evaluation.active:
        grads[k] = stand_in_like(args[k]) if s.inputs[k].is_array else array(dtype=s.inputs[k].type, shape=1)
    for n, k in enumerate(s.in_out):
        grads[k] = seeds[n]
    pure = seeds[len(s.in_out) :]
    split = len(s.inputs)
    both = WithAdjoints(args[:split], args[split:], grads, pure)
    recorded = launch_adjoint(kernel, call.dims, both, CPU, record_cmd=True)
    launch = recorded.ready.call
    offsets = argument_offsets(list(launch.launcher.types))[0]
    point_inputs(steps, offsets)
    count = len(evaluation.operands)
    for n, k in enumerate(s.float_outputs):
        size = size_of(s.outputs[k], call.shapes[k])
        position = s.in_out[k] if k < len(s.in_out) else split + k - len(s.in_out)
        active = position in evaluation.active
        place = (_RESULT, evaluation.active.index(position)) if active else steps.reserve(size)
        steps.add(_COPY, place, (_ARG, count + n), size)
        if position >= split:
            steps.add(_POINT, (_LOCAL, offsets[position]), place)  # the adjoint does not read what is there
        steps.add(_POINT, (_LOCAL, offsets[position] + WORD), place)
    for k in range(len(s.outputs)):
        if k not in s.float_outputs and k >= len(s.in_out):  # nor this
            spare = steps.reserve(size_of(s.outputs[k], call.shapes[k]))
            steps.add(_POINT, (_LOCAL, offsets[split + k - len(s.in_out)]), spare)
    extras = {e.position: len(operator.arrays.arguments) + n for n, e in enumerate(launch.launcher.program.extras)}
    for n, k in enumerate(evaluation.active):
        if k in s.in_out:
            continue
        steps.add(_ZERO, (_RESULT, n), size=steps.sizes[n])
        if s.inputs[k].is_array:
            steps.add(_POINT, (_LOCAL, offsets[k] + WORD), (_RESULT, n))
        elif k in extras:
            steps.add(_POINT, (_LOCAL, offsets[extras[k]]), (_RESULT, n))
    return launch, launch.launcher.command(launch)
