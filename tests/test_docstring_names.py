"""Names in back-quotes in the docstrings of warpsim resolve; they are looked up in the syntax trees of its files.

Text in back-quotes is a name if it is identifiers with dots between them, with or without a call behind it. It resolves
if it is the name of a file, if it begins with another package (PACKAGES), or if each identifier is one of these:
- what the package defines: a file, a folder, a class, a function, an attribute, a variable of a module or a class, a
  symbol of native code (`*.ll`), a public name;
- a word of the code that the docstring belongs to, or of a class around it: a parameter, a local, a text of one word;
- a word of Python, or of another system (ELSEWHERE).
So a parameter counts in the docstrings of its own function and of the classes and modules around it, in no other.
"""

import ast
import builtins
import keyword
import re
import sys
from functools import cache

import pytest
from source_trees import PACKAGE, trees

from warpsim.names import OPTIONAL, PUBLIC

NAME = re.compile(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (ast.Module, ast.ClassDef, *FUNCTIONS)
PACKAGES = {*sys.stdlib_module_names, "jax", "llvmlite", "np", "numba", "rmm", "torch"}
ELSEWHERE = {
    "C++ and CUDA": "LTOIR PTX ProgramLog WP_TILE_SYNC __nv_sinf atomicAdd const double int64_t throw uint_fast32_t",
    "vector mathematics": "_ZGVdN8v_sinf f32 v8f32",
    "other packages and programs": "OpenEXR blosc2 clear_grad jit matplotlib nsys shard_map",
    "USD and Fabric": "__fabric_arrays_interface__ metersPerUnit",
    "values of switches": "always off",
    "examples of a user's names": "NAME NAME_modules S adj_ret adj_x c dx f field figure law s savefig wp wrp x",
}


def children(node):
    """The statements in a statement."""
    for block in ("body", "orelse", "handlers", "finalbody", "cases"):
        inner = getattr(node, block, ())
        yield from inner if isinstance(inner, list) else ()


def targets(node, local):
    """Names that an assignment defines for others: attributes, and variables outside of functions."""
    if isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            yield from targets(element, local)
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Name) and not local:
        yield node.id


def defined(node, local=False):
    """Names that the statements in a statement define for others."""
    for child in children(node):
        if isinstance(child, SCOPES):
            yield child.name
        elif isinstance(child, ast.Assign | ast.AnnAssign):
            for target in getattr(child, "targets", None) or [child.target]:
                yield from targets(target, local)
        yield from defined(child, local or isinstance(child, FUNCTIONS))


def texts(node, around):
    """Each docstring below a node, those of variables too, with the code whose words it may use."""
    around = node if not isinstance(around, ast.ClassDef) and isinstance(node, SCOPES) else around
    for child in children(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant) and isinstance(child.value.value, str):
            yield child, around
        yield from texts(child, around)


def words(node):
    """The identifiers of a piece of code, and its texts of one word."""
    for part in ast.walk(node):
        yield from (getattr(part, field, None) for field in ("id", "arg", "attr", "name", "value"))


@cache
def known():
    """Every identifier, and every name of a file, that may stand in any docstring."""
    files = {p.name for folder in ("warpsim", "examples") for p in (PACKAGE.parent / folder).rglob("*.*")}
    symbols = [re.findall(r'@"?(\w+)', p.read_text(encoding="utf-8")) for p in PACKAGE.rglob("*.ll")]
    paths = [p.relative_to(PACKAGE.parent).with_suffix("").parts for p in trees()]
    elsewhere = [text.split() for text in ELSEWHERE.values()]
    everywhere = {*PUBLIC, *OPTIONAL, *dir(builtins), *keyword.kwlist, *files}
    return everywhere.union(*symbols, *paths, *elsewhere, *(defined(tree) for tree in trees().values()))


def dead(tree):
    """The names in the docstrings of a module that do not resolve, with their lines."""
    for text, code in texts(tree, None):
        for name in NAME.findall(text.value.value):
            parts = set() if name in known() or name.split(".")[0] in PACKAGES else set(name.split(".")) - known()
            if parts and not parts <= {word for word in words(code) if isinstance(word, str)}:
                yield f"{text.lineno}: `{name}`"


@pytest.mark.parametrize("name", ["no_such_name", "wp.no_such_name", "no_such_file.py", "other"])
def test_a_dead_name_is_noticed(name):
    code = f'def f(radius_x):\n    """Takes `radius_x` for `{name}`."""\n\n\ndef g(other):\n    return other\n'
    assert list(dead(ast.parse(code))) == [f"2: `{name}`"]


def test_names_in_docstrings_resolve():
    assert [f"{path.relative_to(PACKAGE)}:{line}" for path, tree in trees().items() for line in dead(tree)] == []
