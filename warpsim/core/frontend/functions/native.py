"""`@func_native`: functions whose bodies are C++ text.

    @wp.func_native("return x * x;", adj_snippet="adj_x += 2.0f * x * adj_ret;")
    def square(x: float) -> float: ...

Kernels call one as they call any function. At given types it is an IR function with one call of a
native row (see `ops.native`) in it; its `grad` calls the row of the adjoint text and its `replay` that
of the replay text. The text is compiled when code that needs it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ....errors import KernelNameError, KernelTypeError, Location, UnsupportedSyntaxError
from ...ir.builder import Builder
from ...ir.interpret import host_value
from ...ir.nodes import Constant, Function, Region, Value
from ...ops.native import GRADIENTS, NativeRow, Unit, compiler, has_gradient_array, holds_arrays, native_row
from ...ops.native_text import has_lambda, returns_value, seems_constant
from ...ops.registry import PURE, READ
from ...passes.reverse.recompute import UNRECOVERABLE
from ...types import compounds, scalars, structs
from ...types.arrays import ArrayType, ValueType, type_name
from ...types.cotangents import has_cotangent
from ...types.structs import Struct
from ..rules.addresses import Address, native_operands
from ..rules.targets import read, write
from ..source.source import Source
from ..translate.scope import describe, typed_value
from ..translate.translator import Translator
from .definitions import declare
from .functions import Func

_RESERVED = frozenset(
    "alignas alignof asm auto bool case catch char const constexpr decltype default delete do double enum explicit "
    "export extern float friend goto inline int long mutable namespace new noexcept nullptr operator private "
    "protected public register short signed sizeof static struct switch template this throw typedef typeid typename "
    "union unsigned using virtual void volatile adj_ret".split()
)


@dataclass(frozen=True)
class Texts:
    """The three pieces of C++ of a native function; None where nothing was given."""

    snippet: str
    adjoint: str | None
    replay: str | None


@dataclass(frozen=True)
class Parameters:
    """What the text is given: names, types, those by reference, and a line in front of it that makes addresses."""

    types: tuple[Any, ...]
    names: tuple[str, ...]
    refs: tuple[str, ...] = ()
    prologue: str = ""


class NativeFunc(Func):
    """A function whose body is C++ text, made by `func_native`."""

    takes_addresses = True

    def __init__(self, function: Callable[..., Any], texts: Texts):
        super().__init__(function)
        self.texts = texts
        self.location = _place(function)
        self._made: dict[Parameters, Function] = {}
        self._check()

    def __repr__(self) -> str:
        return f"<native func {self.name}>"

    # ----- the declaration --------------------------------------------------------------------

    def _check(self) -> None:
        """Refuse a declaration that no types can make right."""
        overload = self.overloads[0]
        for name, parameter in overload.signature.parameters.items():
            if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                raise self._error(
                    UnsupportedSyntaxError,
                    f"parameter {name!r} of native function {self.name!r} has no place in C++",
                    expected="plain parameters, given in order",
                    help="drop the *",
                )
            if parameter.annotation is parameter.empty:
                cure = f"annotate it: {name}: float, {name}: wp.vec3, {name}: wp.array(dtype=float)"
                raise self._error(
                    KernelTypeError, f"parameter {name!r} of native function {self.name!r} has no type", help=cure
                )
            if name in _RESERVED:
                reason = f"parameter {name!r} of native function {self.name!r} has a name that C++ keeps for itself"
                raise self._error(KernelNameError, reason, help=f"rename it, for example to {name}_")
        self._check_body()
        self._check_return(overload.signature.return_annotation)

    def _check_body(self) -> None:
        if self.location is None:
            return  # Python does not have the text of the function
        tree = Source(self.overloads[0].function).tree
        body = tree.body if isinstance(tree, ast.FunctionDef) else [tree]
        if not all(map(_says_nothing, body)):
            raise self._error(
                UnsupportedSyntaxError,
                f"native function {self.name!r} has a body in Python",
                expected="...",
                help="the text given to func_native is the body; write `...`, or use @wp.func for Python",
            )

    def _check_return(self, annotation: object) -> None:
        declared = annotation not in (self._signature.empty, None, "None")
        for part, text in (("snippet", self.texts.snippet), ("replay_snippet", self.texts.replay)):
            returns = returns_value(text or "")
            if returns and not declared and not has_lambda(text or ""):
                raise self._error(
                    KernelTypeError,
                    f"the {part} of {self.name!r} returns a value, and the function has no return type",
                    help=f"declare it: def {self.name}(...) -> float: ...",
                )
            if declared and text is not None and not returns:
                raise self._error(
                    KernelTypeError,
                    f"the {part} of {self.name!r} returns nothing, and the function has a return type",
                    help="end the text with `return value;`, or drop the return type",
                )

    @property
    def _signature(self) -> Any:
        return self.overloads[0].signature

    def _error(self, kind: type, message: str, **facts: str) -> Exception:
        error: Exception = kind(message, self.location, **facts)
        return error

    # ----- calls ------------------------------------------------------------------------------

    def call(self, caller: Translator, args: list[Any], keywords: dict[str, Any]) -> Any:
        """Append a call at the operands' types."""
        _, operands = self.find(args, keywords)
        if any(isinstance(operand, Address) for operand in operands):
            return self._call_at(caller, operands)
        for operand in operands:
            if not isinstance(operand, Value):
                raise KernelTypeError(
                    f"{self.name}: {describe(operand)} does not exist in C++",
                    expected="numbers, vectors, structs and arrays",
                )
        fn = self.at(self._usual(tuple(o.type for o in operands)))
        return caller.builder.call(fn, tuple(operands), fn.result_types)

    def _call_at(self, caller: Translator, operands: list[Any]) -> Any:
        """The same with addresses; the locals whose addresses are given become what the text left there."""
        params: list[tuple[str, Value]] = []
        copies: dict[str, Any] = {}
        lines = []
        for name, operand in zip(self._signature.parameters, operands, strict=True):
            if not isinstance(operand, Address):
                params.append((name, operand))
            elif operand.array is None:
                copies[f"{name}_value"] = operand.place
                params.append((f"{name}_value", typed_value(read(caller, operand.place))))
                lines.append(f"const uint64_t {name} = (uint64_t)&{name}_value;")
            else:
                parts, line = native_operands(caller, name, operand)
                params += parts
                lines.append(line)
        usual = self.overloads[0].references.values()
        refs = tuple(name for name, _ in params if name in copies or name in usual)
        names, values = zip(*params, strict=True)
        fn = self.at(Parameters(tuple(v.type for v in values), names, refs, " ".join(lines)))
        result = caller.builder.call(fn, values, fn.result_types)
        results = list(result) if isinstance(result, tuple) else [] if result is None else [result]
        states = dict(zip(refs, results, strict=False))
        for name, place in copies.items():
            write(caller, place, states[name])
        left = [*(states[name] for name in refs if name not in copies), *results[len(refs) :]]
        return tuple(left) if len(left) > 1 else left[0] if left else None

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run on host values: numbers, vectors and structs; arrays need a launch."""
        _, operands = self.find(list(args), keywords)
        if not all(isinstance(operand, Constant) for operand in operands):
            raise TypeError(f"{self.name} takes arrays\nhelp: call it in a kernel and launch that")
        unit = self.unit("snippet", self.texts.snippet, self._usual(tuple(o.type for o in operands)))
        row = native_row(unit)
        plain = [host_value(o.value, o.type) for o in operands]
        results = row.evaluate(plain, unit.result_types, {})
        return None if unit.result is None else _host(results[-1], unit.result)

    # ----- the function at given types ----------------------------------------------------------

    def _usual(self, types: tuple[Any, ...]) -> Parameters:
        """The declared parameters at given types."""
        return Parameters(types, tuple(self._signature.parameters), tuple(self.overloads[0].references.values()))

    def at(self, at: Parameters) -> Function:
        """The IR function at parameters, with the gradient and the replay that the texts give it."""
        if at not in self._made:
            row = native_row(self._forward("snippet", self.texts.snippet, at))
            fn = self._wrap(row, at)
            fn.replay = self._replay(row, at)
            fn.grad = None if at.prologue else self._gradient(at)
            self._made[at] = fn
        return self._made[at]

    def _forward(self, part: str, text: str, at: Parameters) -> Unit:
        """A text with those arrays constant that it seems not to change, if the compiler agrees."""
        unit = self.unit(part, text, at)
        constants = frozenset(name for name, t in unit.params if holds_arrays(t) and seems_constant(unit.text, name))
        trial = replace(unit, constants=constants)
        return trial if constants and compiler().compiles(trial) else unit

    def unit(self, part: str, text: str, at: Parameters) -> Unit:
        for t in at.types:
            self._check_fields(t)
        params = tuple(zip(at.names, at.types, strict=True))
        for name, t in params:
            if name in at.refs and holds_arrays(t):
                what = f"{type_name(t)} by reference, parameter {name!r} of native function {self.name!r}"
                raise self._error(
                    KernelTypeError,
                    what,
                    expected="a number, vector, matrix or struct without arrays",
                    help="arrays need no wp.ref",
                )
        apart = "\n" if text.lstrip().startswith("#") else " "  # the lines of the text keep their numbers
        whole = at.prologue + apart + text if at.prologue else text
        return Unit(self.name, part, whole, params, self.result_type(), refs=at.refs, location=self.location)

    def _check_fields(self, t: type[Struct]) -> None:
        """Refuse structs with fields that have no name in C++."""
        for name, field in t.fields.items() if structs.is_struct(t) else ():
            if name in _RESERVED:
                reason = f"field {name!r} of struct {t.__name__} has a name that C++ keeps for itself"
                cure = f"rename it, for example to {name}_, or use @wp.func"
                raise self._error(KernelNameError, reason, help=cure)
            self._check_fields(field.dtype if isinstance(field, ArrayType) else field)

    def result_type(self) -> Any:
        """The declared result, or None. Raises `KernelTypeError` for what C++ cannot return."""
        t = scalars.canonical(self.overloads[0].returns)
        if t is None or t is type(None):
            return None
        known = scalars.is_scalar(t) or compounds.is_compound(t) or structs.is_struct(t)
        if not known or holds_arrays(t):
            shown = type_name(t)
            raise self._error(
                KernelTypeError,
                f"native function {self.name!r} returns {shown}",
                expected="one number, vector, matrix or struct without arrays",
                help="write further results to arrays, or return a struct",
            )
        return t

    def _wrap(self, row: NativeRow, at: Parameters) -> Function:
        params = self._parameters(at)
        region, builder = self._region(params)
        results = builder.call(row, params, row.unit.result_types if row.unit else ())
        region.yields = results if isinstance(results, tuple) else () if results is None else (results,)
        return Function(self.name, region, self.location)

    def _replay(self, row: NativeRow, at: Parameters) -> Function | None:
        """What computes the result again in reverse, where that is not the snippet.

        Without a replay text: nothing where nothing is returned, because arrays hold what the launch left
        there; and a snippet that changes arrays cannot run again, so the result is lost.
        """
        assert row.unit is not None
        text, results = self.texts.replay, row.unit.result_types
        if text is not None and (text.strip() or results):
            return self._wrap(native_row(self._forward("replay_snippet", text, at)), at)
        if results and row.effect in (PURE, READ):
            return None
        region, builder = self._region(self._parameters(at))
        what = {"what": f"what native function {self.name!r} returned"}
        region.yields = tuple(builder.call(UNRECOVERABLE, (), (t,), what) for t in results)
        return Function(self.name, region, self.location)

    def _gradient(self, at: Parameters) -> Function | None:
        """From parameters and the cotangent of the result to those of the parameters."""
        if self.texts.adjoint is None:
            return None
        unit = self.unit("adj_snippet", self.texts.adjoint, at)
        row = native_row(replace(unit, reverse=True, constants=frozenset(at.names)))
        params = self._parameters(at)
        changed = [(f"new_{name}", t) for name, t in unit.params if name in unit.refs]
        arriving = [Value(t, name) for name, t in changed]
        arriving += [Value(unit.result, "adj_ret")] if has_cotangent(unit.result) else []
        region, builder = self._region((*params, *arriving))
        seeds = [value for value in arriving if has_cotangent(value.type)]
        grads = tuple(builder.call(GRADIENTS, (p,), (p.type,)) for p in params if has_gradient_array(p.type))
        assert row.unit is not None
        results = builder.call(row, (*params, *seeds, *grads), row.unit.result_types)
        region.yields = results if isinstance(results, tuple) else () if results is None else (results,)
        return Function(f"adj_{self.name}", region, self.location)

    def _parameters(self, at: Parameters) -> tuple[Value, ...]:
        return tuple(Value(t, name) for name, t in zip(at.names, at.types, strict=True))

    def _region(self, params: tuple[Value, ...]) -> tuple[Region, Builder]:
        region = Region(params)
        return region, Builder(region)  # the call inside gets the place of the call outside


def _place(function: Callable[..., Any]) -> Location | None:
    try:
        return Source(function).whole()
    except UnsupportedSyntaxError:
        return None


def _says_nothing(node: ast.AST) -> bool:
    """`...`, `pass` or a docstring."""
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Pass) or (constant and isinstance(node.value.value, (str, type(...))))  # type: ignore[attr-defined]


def func_native(
    snippet: str, adj_snippet: str | None = None, replay_snippet: str | None = None
) -> Callable[[Callable[..., Any]], NativeFunc]:
    """Make a function callable from kernels out of C++ text, its body; the Python body is `...`.

    The text sees the parameters by name. Numbers are C types (`float`, `double`, `int`, `int64_t`,
    `bool`), vectors, matrices, quaternions and transforms are small structs with arithmetic (`wp::vec3`,
    `v.x`, `v[0]`, `m(i, j)`, `wp::dot(a, b)`), structs are structs. A one-dimensional array is used as
    `x[i]`, others as `x(i, j)` or `x[i][j]`; `x.shape[0]` is an extent. `atomicAdd(&x[i], value)` and its
    kin work as in CUDA, on every processor, and `WP_TILE_SYNC()` waits for the threads of a block, of which there is
    one on other processors. A value is returned with `return` and declared by the annotation. Lines `#include <...>`
    are moved in front of the function.

    A parameter `x: wp.ref[T]` is a reference, and what the text leaves in it goes to the caller's variable or element.

    A parameter `p: wp.uint64` takes the address of what a kernel names, `wp.address_of(x)` or `a.ptr`, see there.

    `adj_snippet` is the derivative. It sees also `adj_<name>` for every parameter (of a number or
    vector a variable that begins at zero; of an array the array of its gradient) and `adj_ret`, the
    cotangent of the result, and adds to them. `adj_x` of a reference begins as the cotangent of the new value and
    ends as that of the old one, which `x` is here: `adj_x = 0` after an overwrite. Several threads may add to one
    element: use `atomicAdd` there. The gradient of an array that has none reads as zero, and what is added to it is
    dropped. A function that takes or returns floats and has no `adj_snippet` cannot be differentiated.

    `replay_snippet` computes the result again in the backward pass, where the snippet cannot run twice;
    an empty text does nothing. Without one, a snippet that returns nothing is not run again; one that
    returns a value runs again if it changes no array, and is refused where its value is needed if it does.

    A C++ exception that leaves the text ends the launch, which raises `NativeCodeError` with its words; CUDA has no
    exceptions, and text with `throw` does not compile there.

    Nothing checks indices in native text: an access outside an array corrupts memory or ends the
    process. Text that returns a value and takes no arrays counts as a function of its arguments.

    Raises `UnsupportedSyntaxError` for a Python body, `KernelTypeError` for a parameter without a type
    and for a return type that does not fit the text; launches raise `NativeCodeError` with the
    compiler's words for text that does not compile, and `NoCompilerError` where no compiler is found.
    """
    texts = {"snippet": snippet, "adj_snippet": adj_snippet, "replay_snippet": replay_snippet}
    for name, text in texts.items():
        if not isinstance(text, str) and (text is not None or name == "snippet"):
            raise TypeError(f"func_native: {name} is {describe(text)}\nexpected: C++ text\nhelp: @wp.func_native(text)")

    def wrap(function: Callable[..., Any]) -> NativeFunc:
        func = NativeFunc(function, Texts(snippet, adj_snippet, replay_snippet))
        declare(func)
        return func

    return wrap


def _host(value: Any, t: ValueType) -> Any:
    """A result as the host has it; structs field by field."""
    if structs.is_struct(t):
        return t(**{name: _host(value[name], field) for name, field in t.fields.items()})
    return t.wrap(value) if compounds.is_compound(t) else value
