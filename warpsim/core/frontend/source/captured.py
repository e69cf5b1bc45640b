"""Free variables: what the names mean that a function captures from outside.

A name keeps what it means when `@kernel` or `@func` runs, and `wp.static` is evaluated then, unless it needs what only
the compiler knows. Three kinds of names look further:

- A constant has the value that it has when the function is first compiled, so that a script can read its settings
  after its kernels are defined. It is copied then, and the same in every form of the program. Where one `def` makes
  several functions, a constant that differs between these belongs to each definition: kernels made in a loop keep
  their own. A number in a variable of each call of a factory is each one's own anyway.
- A name without a value is looked up when a compiler first meets it, in the scope that Python says: a closure variable
  in its cell, never among the globals.
- A name bound to a function that is defined again is followed to the new definition.
"""

from __future__ import annotations

import ast
import builtins
import copy
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from ....errors import KernelNameError
from ....forks import fork_safe
from ...types import compounds, structs
from . import names

MISSING = object()
_IMMUTABLE = (bool, int, float, complex, str, bytes, np.generic, type(None))
_VALUES = (bool, int, float, complex, str, bytes, np.generic, compounds.Compound, structs.Struct, tuple, list, dict)


class Redefinable:
    """An object that a later definition of its name replaces for those who call it by that name."""

    def replaced_by(self, other: object) -> bool:
        raise NotImplementedError


class Meaning:
    """What a name meant, when the first was made, to the functions of one `def` that share where it is bound."""

    def __init__(self, constant: object):
        self.constant = constant


class Definitions:
    """All functions that one `def` has made, and which constants differ between them."""

    def __init__(self) -> None:
        self.functions: weakref.WeakSet[Captured] = weakref.WeakSet()
        self.meanings: weakref.WeakValueDictionary[tuple[str, int], Meaning] = weakref.WeakValueDictionary()
        self.paths: set[str] = set()
        self.differing: set[str] = set()

    def add(self, captured: Captured) -> None:
        """Note one more, and close the constants that differ from those of the ones before."""
        self.paths |= captured.paths
        fresh = {path for path in self.paths - self.differing if not self._agree(path, captured)}
        self.differing |= fresh
        self.functions.add(captured)
        for each in self.functions if fresh else (captured,):
            each.open -= self.differing

    def _agree(self, path: str, captured: Captured) -> bool:
        """Whether a path led to equal constants before, wherever this function shares it with others."""
        constant = captured.constants.get(path, MISSING)
        meanings = [self.meanings.setdefault(place, Meaning(constant)) for place in captured.places(path)]
        captured.meanings += meanings  # as long as there is one of the functions
        return all(_same(constant, meaning.constant) for meaning in meanings)


_DEFINITIONS: dict[int, Definitions] = {}  # by the code object, as long as there is one
_settling = fork_safe(threading.RLock())  # threads define and compile at once


def definitions_of(code: CodeType) -> Definitions:
    """What one `def` has made so far."""
    if id(code) not in _DEFINITIONS:
        weakref.finalize(code, _DEFINITIONS.pop, id(code), None).atexit = False
    return _DEFINITIONS.setdefault(id(code), Definitions())


class Captured:
    """The names that a function takes from outside, with what they mean to it.

    settled: by name, and by path (`"module.part.x"`) for what is reached through modules and objects. constants: what
    those meant at the definition that are values. open: those of them that the first compilation looks up again.
    outside: all names and paths; whole: those whose meaning is used as it is, not for an attribute.
    has_late_statics: whether a `wp.static` waits for the compiler.
    """

    def __init__(self, function: Callable[..., Any], tree: ast.FunctionDef | ast.Lambda):
        self.globals = function.__globals__
        self.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        self.settled: dict[str, Any] = {}
        self.statics: dict[ast.AST, Any] = {}  # by call, also of calls inside those that wait for the compiler
        self.has_late_statics = False
        paths = list(names.outside(tree))
        self.late = {names.steps(path)[0] for path in paths} | {ast.unparse(path) for path in paths}
        self._settle_statics(tree, {id(_root(path)) for path in paths})
        inside = {id(node) for call in self.statics for node in ast.walk(call)}
        self.paths = {self._settle(path) for path in paths if id(path) not in inside}
        meanings = {path: self.settled.get(path, MISSING) for path in self.paths}
        self.constants = {path: meaning for path, meaning in meanings.items() if _is_constant(meaning)}
        self.open = set(self.constants)
        self.outside = sorted({*self.settled, *self.late})
        self.whole = self.paths | {ast.unparse(path) for path in paths if id(path) not in inside}
        self.meanings: list[Meaning] = []
        with _settling:
            definitions_of(function.__code__).add(self)

    # ----- when the function is defined -------------------------------------------------------

    def _settle(self, path: ast.Name | ast.Attribute) -> str:
        """Keep what a name means, and what its attributes mean up to the first value, whose path is returned."""
        name, attributes = names.steps(path)
        meaning = self.settled.get(name, MISSING)
        if meaning is MISSING:
            meaning = self.present(name)
            if meaning is MISSING:
                return name
            self.settled[name] = meaning = own(meaning)
        for step in attributes:
            if isinstance(meaning, _VALUES) or _is_ours(meaning):
                return name
            name = f"{name}.{step.attr}"  # type: ignore[union-attr]
            meaning = _attribute(meaning, step.attr)  # type: ignore[union-attr]
            if meaning is MISSING:
                return name
            self.settled.setdefault(name, own(meaning))
        self.late.discard(name)
        return name

    def _settle_statics(self, tree: ast.AST, roots: set[int]) -> None:
        """Evaluate `wp.static(...)` where every name has a value, once each; the rest waits for the compiler."""
        inside: set[int] = set()
        for node in ast.walk(tree):  # a call comes before those inside it
            if not isinstance(node, ast.Call) or not names.is_path(node.func) or len(node.args) != 1 or node.keywords:
                continue
            if id(node) in inside:
                continue
            if id(_root(node.func)) not in roots or not is_static(self.resolve(node.func)):
                continue
            if self._settle_static(node, roots):
                inside.update(id(inner) for inner in ast.walk(node))
            else:
                self.has_late_statics = True

    def _settle_static(self, call: ast.Call, roots: set[int]) -> bool:
        """Whether a call of `wp.static` could be evaluated now."""
        used = names.free_names(call.args[0])
        if not all(id(n) in roots for n in ast.walk(call.args[0]) if isinstance(n, ast.Name) and n.id in used):
            return False
        try:
            self.statics[call] = own(self._static(call, self.namespace()))
        except Exception:  # what is wrong is said when the kernel is compiled
            return False
        return True

    def _static(self, call: ast.AST, scope: dict[str, Any]) -> Any:
        assert isinstance(call, ast.Call)
        return eval(ast.unparse(call.args[0]), scope)

    # ----- when a compiler asks ---------------------------------------------------------------

    def settle_constants(self) -> None:
        """Give constants the values that they have now, for good. A name that is gone keeps what it meant."""
        with _settling:
            opened, self.open = self.open, set()
            for path in opened:
                now = self.now(path)
                if now is not MISSING:
                    self.settled[path] = own(now)

    def meaning(self, path: str) -> Any:
        """What a name or a path means to a program that is compiled now, or `MISSING`."""
        now = self.now(path) if path in self.open or path not in self.settled else MISSING
        return self._follow(path) if now is MISSING and path in self.settled else now

    def settle_as(self, paths: Iterable[str]) -> None:
        """Settle what a compilation would, that of a program which is on disk: constants, and these names or paths."""
        self.settle_constants()
        for path in paths:
            if path not in self.settled:
                root = ast.parse(path, mode="eval").body
                assert isinstance(root, ast.Name | ast.Attribute)
                self._settle(root)

    def places(self, path: str) -> list[tuple[str, int]]:
        """Where functions of one `def` share what a name means: a variable, and all that may hold the same object."""
        cell, constant = self.cells.get(path), self.constants.get(path, MISSING)
        variable = [] if cell is None else [(path, id(cell))]
        return variable if cell is not None and isinstance(constant, _IMMUTABLE) else [*variable, (path, 0)]

    def is_current(self) -> bool:
        """Whether names and statics still mean what was kept of them."""
        if not all(_is_kept(meaning, self.now(path)) for path, meaning in self.settled.items()):
            return False
        scope = self.namespace() if self.statics else {}
        return all(_is_kept(meaning, self._static_now(call, scope)) for call, meaning in self.statics.items())

    def _static_now(self, call: ast.AST, scope: dict[str, Any]) -> Any:
        """What a static is now, or `MISSING`: names in it may be gone, as others may."""
        try:
            return self._static(call, scope)
        except Exception:
            return MISSING

    def present(self, name: str) -> Any:
        """What a name is bound to now, or `MISSING`."""
        if name in self.cells:
            try:
                return self.cells[name].cell_contents
            except ValueError:  # not assigned yet
                return MISSING
        return self.globals.get(name, getattr(builtins, name, MISSING))

    def lookup(self, name: str) -> Any:
        """The Python object that a name means. Raises `KernelNameError`."""
        if name in self.settled:
            return self._follow(name)
        meaning = self.present(name)
        if meaning is MISSING:
            meaning = in_language(name)
        if meaning is MISSING:
            cure = "assign it in the enclosing function before the kernel is launched" if name in self.cells else ""
            raise KernelNameError(f"name {name!r} is not defined", help=cure)
        if name in self.late:
            self.settled[name] = meaning = own(meaning)
        return meaning

    def resolve(self, node: ast.expr) -> Any:
        """The Python object that `name` or `module.name` means, or None."""
        if isinstance(node, ast.Attribute):
            meaning = self.of_path(node)
            return _attribute(self.resolve(node.value), node.attr, None) if meaning is MISSING else meaning
        try:
            return self.lookup(node.id) if isinstance(node, ast.Name) else None
        except KernelNameError:
            return None

    def of_path(self, node: ast.Attribute) -> Any:
        """What was kept for `module.name`, or `MISSING`."""
        path = ast.unparse(node) if names.is_path(node) else ""
        if path in self.late:
            self._settle(node)
        return self._follow(path) if path in self.settled else MISSING

    def _follow(self, path: str) -> Any:
        meaning = self.settled[path]
        if isinstance(meaning, Redefinable):
            now = self.now(path)
            return now if meaning.replaced_by(now) else meaning
        return meaning

    def now(self, path: str) -> Any:
        """What a name or a path means now, or `MISSING`."""
        name, *attributes = path.split(".")
        meaning = self.present(name)
        for attribute in attributes:
            meaning = _attribute(meaning, attribute)
        return meaning

    def functions(self) -> list[Any]:
        """The functions made by `@func` among all this, as they are now."""
        return [self._follow(path) for path, meaning in self.settled.items() if isinstance(meaning, Redefinable)]

    def namespace(self) -> dict[str, Any]:
        """Globals, closure and what is settled, for evaluating Python expressions."""
        cells = {name: self.present(name) for name in self.cells}
        settled = {path: self._follow(path) for path in self.settled if "." not in path}
        return {name: value for name, value in {**self.globals, **cells, **settled}.items() if value is not MISSING}


def in_language(name: str) -> Any:
    """What a public name of the package means: kernels may call `sin` or `expect_eq` without naming the module."""
    package = sys.modules[__name__.partition(".")[0]]
    is_public = name in vars(package) or name in package.__all__  # asking for another looks for what was meant: slow
    return _attribute(package, name) if is_public and not name.startswith("_") else MISSING


def is_static(callee: object) -> bool:
    """Whether a call of this is evaluated by Python when the kernel is compiled."""
    return getattr(callee, "kernel_form", "") == "static" if not isinstance(callee, type) else False


def own(value: Any) -> Any:
    """What a name keeps of an object: a copy where the object could change and is a value to kernels."""
    if isinstance(value, (compounds.Compound, structs.Struct)) or type(value) is np.ndarray:
        return copy.copy(value)
    if type(value) in (list, tuple, set):
        return type(value)(map(own, value))
    if type(value) is dict:
        return {key: own(part) for key, part in value.items()}
    return value


def _is_constant(meaning: object) -> bool:
    """Whether this is a value to kernels, of which a script may set another before they are compiled."""
    return meaning is None or isinstance(meaning, _VALUES)


def _is_kept(meaning: object, now: object) -> bool:
    """Whether what a name meant is what it means now; a name that is gone keeps its meaning."""
    is_copied = isinstance(meaning, (*_VALUES, set, np.ndarray))
    return now is MISSING or now is meaning or (is_copied and _same(meaning, now))


def _same(a: Any, b: Any) -> bool:
    """Whether two constants are one to a program: numbers by their bits, as 0.0 is not -0.0 and NaN is NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, structs.Struct):
        return all(_same(getattr(a, name), getattr(b, name)) for name in type(a).fields)
    if isinstance(a, float | complex | np.generic | np.ndarray | compounds.Compound):
        x, y = np.asarray(a), np.asarray(b)
        return (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())
    return a is b or bool(a == b)


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _attribute(thing: object, name: str, default: object = MISSING) -> Any:
    try:
        return getattr(thing, name, default)
    except Exception:  # a property that fails does so again when it is needed
        return default


def _is_ours(thing: object) -> bool:
    """Whether this is a module of warpsim, whose names never change."""
    return isinstance(thing, ModuleType) and thing.__name__.partition(".")[0] == "warpsim"
