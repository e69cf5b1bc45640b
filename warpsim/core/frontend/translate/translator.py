"""The state of the translation of one function, and the dispatch of syntax to the rules that translate it.

A rule is a plain function of the translator and a syntax node, entered in `RULES` by `@translates(ast.For)`. It asks
for the translation of what is inside through `translate`, so that the rule for one construct knows nothing of others.
The modules of rules are `flow`, `statements`, `loops`, `operators`, `parts`, `calls`, `bodies` and `local_functions`.
"""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from ....errors import (
    CompilerError,
    KernelError,
    KernelNameError,
    KernelTypeError,
    Location,
    UnassignedLocalError,
    UnsupportedSyntaxError,
    WarpsimError,
)
from ...ir.builder import Builder, constant
from ...ir.nodes import Value
from ...ops import registry
from ...ops.registry import Op
from ...types import compounds
from ..source import names
from ..source.source import Source
from .scope import Erroneous, Scope, Unassigned, describe, fitting, is_number

MAX_ERRORS = 20

Rule = Callable[[Any, Any], Any]
R = TypeVar("R", bound=Rule)

RULES: dict[type[ast.AST], Rule] = {}
"""What translates each kind of syntax node."""


def translates(kind: type[ast.AST]) -> Callable[[R], R]:
    """Decorator: enters a function of a translator and a node into `RULES`."""

    def enter(rule: R) -> R:
        RULES[kind] = rule
        return rule

    return enter


def too_deep(location: Location | None) -> UnsupportedSyntaxError:
    """What is said where Python's stack ends, in the front end or after it."""
    cure = "split the expression or the branches: assign parts to locals, move parts to functions"
    return UnsupportedSyntaxError("this is nested too deeply", location, help=cure)


@contextmanager
def shallow_enough(location: Location | None) -> Iterator[None]:
    """Work on a program whose nests may be deeper than Python's stack, which is then said of the program."""
    try:
        yield
    except KernelError:
        raise
    except RecursionError as error:
        raise too_deep(location) from error


class Suppressed(Exception):
    """A use of something whose error was reported already."""


class Translator:
    """Translates one function: its builder, scope, source, errors, and the chain of calls that led to it.

    key: what is being translated at which types, for finding recursion; session: what one compilation has translated
    so far; kernel: whether this is a kernel, which returns nothing; node: the syntax of the function, where that is not
    all of the source.
    """

    rules: Mapping[type[ast.AST], Rule] = RULES

    def __init__(
        self,
        source: Source,
        builder: Builder,
        scope: Scope,
        caller: Translator | None = None,
        key: Any = None,
        node: Any = None,
    ):
        source.captured.settle_constants()
        self.source, self.builder, self.scope, self.caller = source, builder, scope, caller
        self.key = key
        self.kernel = False  # whether it is a kernel, and no function
        self.session: dict[Any, Any] = {} if caller is None else caller.session
        self.errors: list[KernelError] = []
        self.node: ast.AST = source.tree
        self.entry = builder.region  # where its code begins
        self.takes_one_lane = False  # whether that is asserted there
        self.unused: ast.AST | None = None  # the expression of the statement whose value nobody takes
        self.body_node = node if node is not None else source.tree
        self.expected: Any = None  # the type that the function is declared to return
        self.zeros: dict[str, Any] | None = None  # locals that start as zero; None where that cannot be asked for
        self.bound: dict[str, Any] = {}  # what each local was bound to last, on whatever path
        self.lacking: dict[str, Location] = {}  # locals that were used where some path gives them no value
        body = [] if isinstance(self.body_node, ast.Lambda) else self.body_node.body
        self.locals = frozenset(
            names.assigned_names(body, lambda call: ())[0]
        )  # names that the function assigns somewhere
        self.returns_value = any(names.has_value(r) for r in names.returns(body))

    def translate(self, node: ast.AST) -> Any:
        """Translate a statement, or an expression to the operand that it stands for."""
        rule = self.rules.get(type(node))
        with self.at(node):
            if rule is None:
                raise UnsupportedSyntaxError(f"{type(node).__name__} is not part of the kernel language")
            return rule(self, node)

    # ----- positions and errors -------------------------------------------------------------

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[Location]:
        """Give nodes and errors made inside the place of a syntax node."""
        location = self.source.locate(node)
        before, self.node = self.node, node
        try:
            with self.builder.at(location):
                yield location
        except KernelError as error:
            if error.location is None:
                error.location = location
            raise
        except (WarpsimError, Suppressed):
            raise
        except RecursionError as error:
            raise too_deep(location) from error
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            place = f"  --> {location}\n{location.excerpt()}"
            raise CompilerError(f"warpsim cannot translate this ({what})\n{place}") from error
        finally:
            self.node = before

    def attempt(self, work: Callable[[], None], assigned: Callable[[], set[str]]) -> None:
        """Run `work`; on an error, note it, mark the names it would have assigned, go on."""
        try:
            work()
        except Suppressed:
            pass
        except KernelError as error:
            self.errors.append(error)
            if len(self.errors) >= MAX_ERRORS:
                raise
        else:
            return
        for name in assigned():
            self.scope[name] = Erroneous()

    # ----- the chain of calls -----------------------------------------------------------------

    def callers(self) -> Iterator[Translator]:
        """This translator, and those of the functions whose calls led here, from the inside out."""
        at: Translator | None = self
        while at is not None:
            yield at
            at = at.caller

    def call_sites(self) -> list[Location]:
        """Call sites from here outwards."""
        return [at.source.locate(at.node) for at in self.callers() if at is not self]

    # ----- names ----------------------------------------------------------------------------

    def lookup(self, name: str) -> Any:
        """The operand a name stands for: local, else closure, global, builtin."""
        if name in self.scope:
            return self.local(name)
        if name in self.locals:
            raise UnassignedLocalError(
                f"{name!r} is a local of this function and has no value yet",
                help=f"assign {name!r} before, or use another name for the local if the one outside is meant",
            )
        try:
            return self.source.lookup(name)
        except KernelNameError as error:
            known = [*self.scope, *self.source.captured.namespace(), *vars(builtins)]
            error.help = error.help or suggestion(name, known)
            raise

    def local(self, name: str) -> Any:
        operand = self.scope[name]
        if isinstance(operand, Unassigned) and operand.conflict:
            cure = "use another name for one of them, or convert"
            raise KernelTypeError(f"{name!r} has no single type here: {operand.reason}", help=cure)
        if isinstance(operand, Unassigned):
            self.lacking.setdefault(name, self.source.locate(self.node))
            raise UnassignedLocalError(
                f"{name!r} may be unassigned here: {operand.reason}",
                help=f"assign {name!r} a value before, on every path",
            )
        if isinstance(operand, Erroneous):
            raise Suppressed
        return operand

    def bind(self, name: str, operand: object) -> None:
        """Give a local a new operand."""
        if operand is None:
            cure = "assign a number, vector or struct"
            raise KernelTypeError("None is not a value of the kernel language", help=cure)
        if isinstance(operand, Value) and not operand.hint:
            operand.hint = name
        self.scope[name] = self.bound[name] = operand

    # ----- memory -----------------------------------------------------------------------------

    def gradient_array(self, node: ast.expr) -> Value | None:
        """The array whose gradients an expression means; bodies of gradients know such expressions."""
        return None

    def writing(self, target: ast.expr, write: Callable[[], None]) -> None:
        """Run what writes to a part of a target; bodies of gradients do so only where there is memory."""
        write()

    # ----- emitting -------------------------------------------------------------------------

    def emit(self, op: Op, *args: object, **attributes: object) -> Any:
        """Append a call of `op`; literals adapt to the typed operands."""
        for a in args:
            if not isinstance(a, Value) and not is_number(a) and not isinstance(a, compounds.Compound):
                raise KernelTypeError(f"{op.name}: {describe(a)} is not a value", expected="numbers, vectors, arrays")
        match = op.find([registry.operand_type(a) for a in args], attributes)
        values = tuple(_as_value(a, t) for a, t in zip(args, match.arg_types, strict=True))
        return self.builder.call(match.row, values, match.result_types, attributes)


def _as_value(operand: object, t: Any) -> Value:
    if isinstance(operand, Value):
        return operand
    return constant(t, fitting(operand, t) if is_number(operand) else operand)


def suggestion(name: str, known: Iterable[str]) -> str:
    """A name that was perhaps meant, else what to do. Names of one or two letters are near to everything."""
    near = difflib.get_close_matches(name, [n for n in known if n[:1].isalpha()], 1) if len(name) > 2 else []
    return f"did you mean {near[0]!r}?" if near else "define it before the kernel, or pass it as an argument"
