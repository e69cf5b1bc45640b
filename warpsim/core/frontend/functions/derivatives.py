"""`wp.grad(f)`: the derivative of a function as something that kernels call.

    slope = wp.grad(f)(x, y)         # one value per parameter of f
    slope = wp.grad(f)(x, y, s)      # seeded: the derivative of the output, weighted by s

It is made by the same transform as the adjoint of a kernel, uses gradients that users wrote, and is itself a
function: it can be differentiated again, by another `wp.grad` or by a backward pass. Arrays are constants to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....errors import CustomGradientError, KernelError, KernelTypeError
from ...ir.builder import Builder, constant
from ...ir.interpret import Interpreter
from ...ir.nodes import Call, Constant, Function, Node, Region, Value
from ...ir.rewrite import Rewriter
from ...ops import construct, memory
from ...ops.registry import Op, operand_type, to_host
from ...passes.reverse.adjoint import vjp
from ...passes.simplify.cse import cse
from ...passes.simplify.dce import dce
from ...passes.simplify.fold import fold
from ...passes.simplify.inline import inline
from ...types import compounds, structs
from ...types.arrays import ArrayType, ValueType, type_name
from ...types.cotangents import has_cotangent
from ...types.scalars import bool_
from ..rules.calls import call_op
from ..rules.local_functions import LocalFunction
from ..source.source import Source
from ..translate.callee import Callee
from ..translate.scope import Scope, describe, typed_value
from ..translate.translator import Translator
from .functions import Func, operand_key, parameters, runtime_values

_DIFFERENTIABLE = "a float, or something made of floats"


def grad(f: Any) -> Gradient:
    """The gradient of a function made by `@wp.func`, or of a built-in: call it with the arguments of `f`.

    It gives one value per parameter, in order: the derivative by that parameter; zero for an integer.
    For a function of one parameter it is that value itself, otherwise a tuple. Array parameters have none: what
    arrays hold is constant. After the arguments of `f` may follow a seed for each of its float outputs, which weighs
    the derivatives of that output; without seeds all are one, so that a single number has its plain derivative.
    """
    if isinstance(f, LocalFunction):
        message, cure = "wp.grad of a function defined inside a kernel", "define it outside, with @wp.func"
        raise CustomGradientError(message, help=cure)
    if not isinstance(f, (Func, Op)):
        raise CustomGradientError(
            f"wp.grad is given {describe(f)}",
            expected="a function made by @wp.func, or a built-in",
            help="decorate the function with @wp.func",
        )
    return Gradient(f)


grad.kernel_form = "grad"  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Gradient(Callee):
    """The derivative of a function; made by `grad`."""

    function: Func | Op

    @property
    def __name__(self) -> str:
        return f"grad({self.function.name})"

    # ----- in kernels -----------------------------------------------------------------------

    def call(self, caller: Translator, args: list[Any], keywords: dict[str, Any]) -> Any:
        """Append a call of the derivative at the operands' types."""
        operands, seeds = self.split(args, keywords)
        fn, derivative = self.derive(caller, operands)
        outputs = [v for v in fn.body.yields if has_cotangent(v.type)]
        values = tuple(v for o in operands for v in runtime_values(o))
        answer = caller.builder.call(derivative, (*values, *self.seeds(outputs, seeds)), derivative.result_types)
        cotangents = iter(answer if isinstance(answer, tuple) else () if answer is None else (answer,))
        grads = [_partial(o, cotangents) for o in operands if not _is_constant(o)]
        return tuple(grads) if len(grads) != 1 else grads[0]

    def split(self, args: list[Any], keywords: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """Operands of the function, and the seeds after them: as few as there can be."""
        refusal = None
        for count in range(len(args) + 1):
            inputs = args[: len(args) - count]
            try:
                return self.operands(inputs, keywords), args[len(inputs) :]
            except KernelTypeError as error:
                refusal = refusal or error
        assert refusal is not None
        raise refusal

    def operands(self, args: list[Any], keywords: dict[str, Any]) -> list[Any]:
        """The arguments as the function takes them."""
        if isinstance(self.function, Func):
            overload, operands = self.function.find(args, keywords)
            if overload.inout and not self.function.overloads[0].inout:
                raise KernelTypeError(f"{self.function.name}: this form writes to its arguments and returns nothing")
            return operands
        row = self.function.find([operand_type(a) for a in args])
        return [typed_value(a, t) for a, t in zip(args, row.arg_types, strict=True)]

    def derive(self, caller: Translator, operands: list[Any]) -> tuple[Function, Function]:
        """A call of the function as a function of its own, and its derivative; made once per types."""
        key = (self, operand_key(operands))
        if key not in caller.session:
            scope, params = parameters(operands, [f"x{k}" for k in range(len(operands))])
            region = Region(params)
            with caller.builder.inside(region):
                result = self.call_on_operands(caller, list(scope.values()))
            region.yields = tuple(runtime_values(result if isinstance(result, tuple) else (result,)))
            self.check(region)
            fn = Function(self.__name__, region)
            caller.session[key] = fn, with_constant_arrays(vjp(fn, with_gradient=frozenset()))
        pair: tuple[Function, Function] = caller.session[key]
        return pair

    def call_on_operands(self, caller: Translator, operands: list[Any]) -> Any:
        if isinstance(self.function, Func):
            return self.function.call(caller, operands, {})
        return call_op(caller, self.function, operands, {})

    def check(self, region: Region) -> None:
        name = self.function.name
        if not any(has_cotangent(v.type) for v in region.yields):
            shown = ", ".join(type_name(v.type) for v in region.yields) or "nothing"
            raise CustomGradientError(f"wp.grad: {name} returns {shown}", expected=_DIFFERENTIABLE)
        if not any(has_cotangent(p.type) for p in region.params):
            shown = ", ".join(type_name(p.type) for p in region.params) or "nothing"
            raise CustomGradientError(f"wp.grad: {name} takes {shown}", expected=_DIFFERENTIABLE)

    def seeds(self, outputs: list[Value], seeds_in: list[Any]) -> list[Value]:
        """The weights of the outputs: those given, else ones."""
        if not seeds_in:
            return [_one(v.type) for v in outputs]
        types = ", ".join(type_name(v.type) for v in outputs)
        if len(seeds_in) != len(outputs):
            raise CustomGradientError(
                f"wp.grad({self.function.name}) gets {len(seeds_in)} seeds",
                expected=f"{len(outputs)}, one per output: {types}",
                help="write them after the arguments, or leave all out",
            )
        seeds = [typed_value(seed, output.type) for seed, output in zip(seeds_in, outputs, strict=True)]
        if any(seed.type is not output.type for seed, output in zip(seeds, outputs, strict=True)):
            shown = ", ".join(type_name(s.type) for s in seeds)
            raise CustomGradientError(f"wp.grad({self.function.name}) gets seeds {shown}", expected=types)
        return seeds

    # ----- on the host ----------------------------------------------------------------------

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The derivative at host values; literals have the types that the function's annotations give them."""
        region = Region()
        translator = Translator(Source(grad), Builder(region), Scope())
        try:
            result = self.call(translator, list(args), keywords)
        except KernelError as error:
            error.chain = error.chain[:-1]  # the last call is this one
            raise
        flat = runtime_values(result if isinstance(result, tuple) else (result,))
        region.yields = tuple(flat)
        values = Interpreter(check_numbers=False).run(inline(Function(self.__name__, region)).body, [])
        results = [_host(value, v.type) for value, v in zip(values, flat, strict=True)]
        return tuple(results) if isinstance(result, tuple) else results[0]


def with_constant_arrays(derivative: Function) -> Function:
    """The derivative without what it would add to gradients of arrays, where these exist."""
    whole = cse(inline(derivative, keep_gradients=True))
    return dce(fold(replace(whole, body=_NoGradients().region(whole.body))), total=True)


class _NoGradients(Rewriter):
    """Answers every `has_gradient` with no."""

    def nodes(self, nodes: list[Node]) -> list[Node]:
        asked = [n for n in nodes if isinstance(n, Call) and n.op is memory.has_gradient.rows[0]]
        for node in asked:
            self.rename(node.results, (constant(bool_, False),))
        return super().nodes([n for n in nodes if n not in asked])


def _is_constant(operand: object) -> bool:
    """Whether an operand has no place among the derivatives: arrays, and what only the compiler sees."""
    if isinstance(operand, Value):
        return isinstance(operand.type, ArrayType)
    return not isinstance(operand, tuple)


def _partial(operand: Any, cotangents: Any) -> Any:
    """The derivative by an operand, in its shape."""
    if isinstance(operand, tuple):
        return tuple(_partial(part, cotangents) for part in operand if not _is_constant(part))
    return next(cotangents) if has_cotangent(operand.type) else construct.zero(operand)


def _one(t: type) -> Value:
    """One in every component."""
    if structs.is_struct(t):
        ones = {name: _one(f).value for name, f in t.fields.items() if has_cotangent(f)}  # type: ignore[attr-defined]
        return Constant(t, t(**ones))
    if compounds.is_compound(t):
        return Constant(t, t.wrap(np.ones(t.shape, t.dtype)))
    return Constant(t, t(1))


def _host(value: Any, t: ValueType) -> Any:
    if structs.is_struct(t):
        return t(**{name: _host(value[name], f) for name, f in t.fields.items() if not isinstance(f, ArrayType)})
    return to_host(value, t)
