"""Operators: a kernel, or a function of several launches, with its derivatives as calls over arrays.

`Operator.run` computes a form (see `forms`) of an operator for arrays that hold x and gives new arrays. A kernel whose
adjoint needs nothing but its inputs runs as that; others, and functions, run on a tape. Outputs hold zeros before the
launch: a kernel may sum into them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..autograd.forward import hvp, jvp
from ..config import config
from ..core.emit.program import Form, FormKind
from ..core.language import Kernel, array, clone, launch, zeros, zeros_like
from ..core.passes.reverse.extra_params import GradientSum
from ..core.runtime.arrays.saved_contents import Paused
from ..core.runtime.commands.adjoint_by_hand import WithAdjoints, launch_adjoint
from ..core.runtime.devices.device import CPU, Device
from ..core.runtime.devices.memory_range import overlap
from ..core.runtime.launches.dimensions import threads_of_block
from ..core.runtime.launches.launcher import Launcher
from ..core.runtime.tape.kernel_arrays import KernelArrays, arrays_of
from ..core.runtime.tape.tape import Tape
from ..core.types.answers import per_object
from ..core.types.arrays import ArrayType, type_name
from ..core.types.cotangents import has_cotangent
from ..errors import GradientError
from .forms import HVP, JJVP, JVP, VALUE, VJP
from .signature import Shape, Signature, Subject

Active = tuple[int, ...]
"""The inputs that derivatives are taken in, by position."""


class Call:
    """One evaluation of an operator: its inputs (arrays, and values of the types of other parameters), its extents."""

    def __init__(self, inputs: Sequence[Any], dims: Shape, shapes: Sequence[Shape], device: Device):
        self.inputs, self.dims, self.shapes, self.device = list(inputs), dims, list(shapes), device

    def separate(self, groups: Sequence[Sequence[array]]) -> None:
        """Copy inputs that share memory with other ones or with the groups: each is a variable of its own."""
        taken = [a for group in groups for a in group]
        for k, a in enumerate(self.inputs):
            if isinstance(a, array):
                if any(overlap(a, other) for other in taken):
                    self.inputs[k] = clone(a, requires_grad=False)
                else:
                    taken.append(a)


class Operator:
    """What kernels and functions have in common as operators; see `KernelOperator` and `FunctionOperator`."""

    def __init__(self, subject: Subject, signature: Signature):
        self.subject, self.signature = subject, signature

    def launch(self, call: Call, args: list[Any], record: bool) -> None:
        """Run with arguments for all parameters."""
        raise NotImplementedError

    def run(self, form: str, call: Call, active: Active = (), groups: Sequence[Sequence[array]] = ()) -> list[array]:
        """The results of a form: fresh arrays, in the order of the outputs or of the active inputs.

        groups: arrays for what the form takes beside x, see `forms.GROUPS`. Raises what `launch` raises, and
        `GradientError` or `NotDifferentiableError` where there is no derivative.
        """
        with Paused():
            if form == VALUE:
                outputs = self.outputs(call)
                self.launch(call, self.arguments(call, outputs), record=False)
                return outputs
            if form != VJP:  # tangents move memory, whatever names it has
                call.separate(groups)
            return {JVP: self.jvp, VJP: self.vjp, HVP: self.hvp, JJVP: self.jjvp}[form](call, active, *groups)

    def outputs(self, call: Call) -> list[array]:
        """Arrays for the results."""
        s = self.signature
        arrays_out = [clone(call.inputs[k], requires_grad=False) for k in s.in_out]
        return arrays_out + [self.output(k, call) for k in range(len(s.in_out), len(s.outputs))]

    def output(self, k: int, call: Call, requires_grad: bool = False) -> array:
        param = self.signature.outputs[k]
        shape = param.outer(call.shapes[k], self.signature.owner)
        return zeros(shape, param.element, device=call.device, requires_grad=requires_grad)

    def arguments(self, call: Call, outputs: list[array]) -> list[Any]:
        """The arguments of all parameters: arrays that are changed in the place of what they hold before."""
        s, args = self.signature, list(call.inputs)
        for k, a in zip(s.in_out, outputs, strict=False):
            args[k] = a
        return [*args, *outputs[len(s.in_out) :]]

    # ----- derivatives on a tape --------------------------------------------------------------------

    def record(self, call: Call, active: Active) -> tuple[Tape, list[Any], list[array]]:
        """The call on a tape, with gradients for the active inputs: the tape, these, and the outputs."""
        s, inputs = self.signature, list(call.inputs)
        for k in active:
            if not s.inputs[k].is_array:
                raise GradientError(
                    f"a gradient for {s.inputs[k].name!r} of {s.owner}, which is {type_name(s.inputs[k].type)}\n"
                    "expected: an array, as this derivative needs a tape\nhelp: pass an array of one element"
                )
            inputs[k] = array._wrap(call.inputs[k]._data, call.inputs[k].dtype, call.device, owner=call.inputs[k])
            inputs[k].requires_grad = True
        with Tape() as tape:
            outputs = [clone(inputs[k], requires_grad=True) for k in s.in_out]
            for k in range(len(s.in_out), len(s.outputs)):
                outputs.append(self.output(k, call, requires_grad=s.outputs[k].is_differentiable))
            self.launch(call, self.arguments(Call(inputs, call.dims, call.shapes, call.device), outputs), record=True)
        refuse_lost_gradients(tape, [inputs[k] for k in active], s.owner)
        return tape, inputs, outputs

    def jvp(self, call: Call, active: Active, t: Sequence[array]) -> list[array]:
        tape, inputs, outputs = self.record(call, active)
        floats = [outputs[k] for k in self.signature.float_outputs]
        if not tape.records:
            return [zeros_like(a, requires_grad=False) for a in floats]
        tangents = jvp(tape, tangents={inputs[k]: d for k, d in zip(active, t, strict=True)})
        return [tangents[a] if a in tangents else zeros_like(a, requires_grad=False) for a in floats]

    def vjp(self, call: Call, active: Active, w: Sequence[array]) -> list[array]:
        tape, inputs, outputs = self.record(call, active)
        if tape.records:
            tape.backward(grads={outputs[k]: c for k, c in zip(self.signature.float_outputs, w, strict=True)})
        return [inputs[k].grad for k in active]

    def hvp(self, call: Call, active: Active, w: Sequence[array], u: Sequence[array]) -> list[array]:
        tape, inputs, outputs = self.record(call, active)
        if not tape.records:
            return [zeros_like(inputs[k], requires_grad=False) for k in active]
        seeds = {outputs[k]: c for k, c in zip(self.signature.float_outputs, w, strict=True)}
        seeds = {a: c for a, c in seeds.items() if any(a is known for known in tape.arrays())}
        vector = {inputs[k]: d for k, d in zip(active, u, strict=True)}
        products = hvp(tape, cotangents=seeds, vector=vector)
        return [products[inputs[k]] if inputs[k] in products else zeros_like(inputs[k]) for k in active]

    def jjvp(self, call: Call, active: Active, t: Sequence[array], u: Sequence[array]) -> list[array]:
        """f''(x)[t, u], number by number: each is a product of t with an HVP for a cotangent of one there."""
        likes = [zeros_like(a, requires_grad=False) for a in self.like_float_outputs(call)]
        mixed = [zeros_like(a) for a in likes]
        for w, results in zip(likes, mixed, strict=True):
            seeds, values = w.numpy().copy(), results.numpy().copy()
            for at in np.ndindex(seeds.shape):
                seeds[at] = 1.0
                w.assign(seeds)
                seeds[at] = 0.0
                pairs = zip(self.hvp(call, active, likes, u), t, strict=True)
                values[at] = sum(np.vdot(d.numpy(), g.numpy()) for g, d in pairs)
            w.zero_()
            results.assign(values)
        return mixed

    def like_float_outputs(self, call: Call) -> list[array]:
        """Arrays like the outputs of floats."""
        outputs = self.outputs(call)
        return [outputs[k] for k in self.signature.float_outputs]


def refuse_lost_gradients(tape: Tape, inputs: list[array], owner: str) -> None:
    """Raise where a function writes what depends on its inputs to an array that has no gradient."""
    varied = {a._memory for a in inputs}
    for entry in tape.records:
        uses = list(entry.uses())
        if not any((use.reads or use.depends) and use.array._memory in varied for use in uses):
            continue
        for use in uses:
            if use.writes and has_cotangent(use.array.dtype):
                if use.array._gradient is None:
                    raise GradientError(
                        f"{use.array!r}, written by {entry.title} in {owner}, has no gradient, and depends on inputs "
                        "that have one\nexpected: gradients in all arrays between inputs and outputs\n"
                        "help: make it with requires_grad=True"
                    )
                varied.add(use.array._memory)


class FunctionOperator(Operator):
    """A Python function that launches kernels; its parameters are annotated like a kernel's."""

    subject: Callable[..., Any]

    def launch(self, call: Call, args: list[Any], record: bool) -> None:
        self.subject(*args)


class KernelOperator(Operator):
    """A kernel. Where its adjoint reads nothing but inputs, derivatives are launches of derived kernels."""

    subject: Kernel

    def __init__(self, subject: Subject, signature: Signature, block_dim: int | None):
        super().__init__(subject, signature)
        self.block_dim = block_dim
        self._state: Any = None
        self._saved: dict[Active, frozenset[int]] = {}
        self._adjoints: dict[Active, Launcher | None] = {}

    def launch(self, call: Call, args: list[Any], record: bool) -> None:
        launch(self.subject, call.dims, args, device=call.device, record_tape=record, block_dim=self.block_dim)

    @property
    def in_blocks(self) -> bool:
        """Whether threads of the CPU run in blocks: derivatives of such launches are taken on a tape."""
        return threads_of_block(self.block_dim, CPU) > 1

    @property
    def arrays(self) -> KernelArrays:
        """The arrays of the kernel as it is now."""
        kernel = self.subject.current
        return arrays_of(kernel, tuple(kernel.patterns.values()), kernel.settings())

    def direct(self, active: Active) -> bool:
        """Whether the adjoint needs nothing of a launch but its inputs."""
        return not self.in_blocks and adjoint_reads(self.arrays, self.names(active)) is not None

    def names(self, active: Active) -> frozenset[str]:
        """The parameters that have gradients."""
        params = [*(self.signature.inputs[k] for k in active), *self.signature.outputs]
        return frozenset(param.name for param in params if param.is_differentiable)

    def saved_inputs(self, active: Active) -> frozenset[int]:
        """The inputs whose contents gradients of the active ones depend on; found once while nothing is changed."""
        self.look()
        if active not in self._saved:
            reads = adjoint_reads(self.arrays, self.names(active))
            self._saved[active] = frozenset(range(len(self.signature.inputs))) if reads is None else reads
        return self._saved[active]

    def look(self) -> None:
        """Forget what was found of another edition of the kernel, or under other switches."""
        state = self.subject.current, config.generation
        if self._state != state:
            self._state, self._saved, self._adjoints = state, {}, {}

    def adjoint_launcher(self, active: Active) -> Launcher | None:
        """What ran the adjoint for these inputs on the CPU last time; None before that, and where it is not direct."""
        self.look()
        if self._adjoints.get(active) is None:
            form = self.arrays.form(FormKind.ADJOINT, self.names(active))
            known = self.subject.current.launchers.values() if self.direct(active) else ()
            fitting = (one for one in known if one.form == form and one.device is CPU)
            self._adjoints[active] = next((one for one in fitting if one.generation == config.generation), None)
        return self._adjoints[active]

    def by_name(self, active: Active, parts: Sequence[array]) -> dict[str, Any]:
        """Directions of inputs by parameter; those of numbers as numbers."""
        named = {}
        for k, part in zip(active, parts, strict=True):
            param = self.signature.inputs[k]
            named[param.name] = part if param.is_array else part.numpy().reshape(param.inner)
        return named

    def jvp(self, call: Call, active: Active, t: Sequence[array]) -> list[array]:
        if self.in_blocks:
            return super().jvp(call, active, t)
        outputs = self.outputs(call)
        args = self.arguments(call, outputs)
        tangents = jvp(self.subject, call.dims, args, tangents=self.by_name(active, t), device=call.device)
        floats = [(self.signature.outputs[k].name, outputs[k]) for k in self.signature.float_outputs]
        return [tangents[name] if name in tangents else zeros_like(a) for name, a in floats]

    def vjp(self, call: Call, active: Active, w: Sequence[array]) -> list[array]:
        if not self.direct(active):
            return super().vjp(call, active, w)
        s, position = self.signature, {k: n for n, k in enumerate(self.signature.float_outputs)}
        grads: list[Any] = [None] * len(s.inputs)
        for k in active:
            if k not in s.in_out:
                grads[k] = self.zero_gradient(k, call)
        seeds = [clone(w[position[k]], requires_grad=False) if k in position else None for k in range(len(s.outputs))]
        outputs = [self.output_stand_in(k, call, seeds[k]) for k in range(len(s.outputs))]
        for n, k in enumerate(s.in_out):
            grads[k] = seeds[n]
        args = self.arguments(call, outputs)
        both = WithAdjoints(args[: len(s.inputs)], args[len(s.inputs) :], grads, seeds[len(s.in_out) :])
        launch_adjoint(self.subject.current, call.dims, both, call.device)
        return [grads[k] for k in active]

    def zero_gradient(self, k: int, call: Call) -> array:
        """Where the gradient of an input is summed."""
        param = self.signature.inputs[k]
        shape = call.inputs[k].shape if param.is_array else 1
        return zeros(shape, param.element, device=call.device)

    def output_stand_in(self, k: int, call: Call, seed: array | None) -> array:
        """An array in the place of an output whose contents the adjoint does not read."""
        return self.output(k, call) if seed is None else array._wrap(seed._data, seed.dtype, seed.device, owner=seed)

    def hvp(self, call: Call, active: Active, w: Sequence[array], u: Sequence[array]) -> list[array]:
        if self.in_blocks:
            return super().hvp(call, active, w, u)
        s = self.signature
        args = self.arguments(call, self.outputs(call))
        seeds = {s.outputs[k].name: c for k, c in zip(s.float_outputs, w, strict=True)}
        vector = self.by_name(active, u)
        products = hvp(self.subject, call.dims, args, vector=vector, cotangents=seeds, device=call.device)
        names = [s.inputs[k].name for k in active]
        pairs = zip(active, names, strict=True)
        return [products[n] if n in products else self.zero_gradient(k, call) for k, n in pairs]


@per_object
def adjoint_reads(arrays: KernelArrays, names: frozenset[str]) -> frozenset[int] | None:
    """The parameters whose contents an adjoint reads; None where it needs more than a kernel's inputs."""
    program = arrays.program(Form(FormKind.ADJOINT, names))
    own = len(arrays.types)
    read = {ref.position for ref in program.uses.read if ref.position < own}
    written = {ref.position for ref in arrays.written}
    if any(not isinstance(extra, GradientSum) for extra in program.extras) or read & written:
        return None
    numbers = {k for k in range(own) if not isinstance(arrays.types[k], ArrayType)}
    return frozenset(read | numbers)


def operator_of(
    subject: Subject, num_outputs: int, in_out_argnames: Iterable[str] | None, block_dim: int | None = None
) -> Operator:
    """The operator of a kernel or of an annotated function. block_dim: of launches of the kernel."""
    signature = Signature(subject, num_outputs, in_out_argnames or ())
    if isinstance(subject, Kernel):
        return KernelOperator(subject, signature, block_dim)
    return FunctionOperator(subject, signature)
