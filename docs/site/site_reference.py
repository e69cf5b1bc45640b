"""The reference: an entry for every public name, from op rows, signatures and docstrings."""

from __future__ import annotations

import ast
import enum
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from site_examples import example

import warpsim as wp
from warpsim import names
from warpsim.core.frontend.functions.functions import Func
from warpsim.core.ops.documentation import gradient, legend, signature
from warpsim.core.ops.registry import Op
from warpsim.core.types.structs import StructType

PACKAGE = Path(wp.__file__).parent

SECTIONS = {
    "core.ops": "Numbers, vectors, matrices, memory, threads",
    "core.frontend.forms": "Forms of the language",
    "core.lib.decompose": "Decompositions",
    "core.lib.dense": "Dense systems in arrays",
    "core.lib.closest": "Closest points",
    "core.lib.intersect": "Intersections",
    "core.lib.noise": "Noise",
    "core.lib.quaternions": "Quaternions",
    "core.lib.random": "Random numbers",
    "core.lib.sampling": "Sampling",
    "core.lib.spatial": "Spatial vectors",
    "core.lib.special": "Special functions",
    "core.frontend.tiles.memory": "Tiles: memory",
    "core.frontend.tiles.arithmetic": "Tiles: arithmetic",
    "core.frontend.tiles.shapes": "Tiles: shapes",
    "core.lib.tile_algebra": "Tiles: linear algebra",
    "core.frontend.tiles.scatter": "Tiles: values of lanes",
    "core.frontend.tiles.stack": "Tiles: stacks",
    "core.lib.tile_order": "Tiles: order",
    "core.lib.tile_random": "Tiles: random numbers",
    "core.lib.tiles": "Tiles: scans",
    "core.lib.transforms": "Transforms",
}
PAGES = {
    "builtins": ("Built-in functions", tuple(SECTIONS)),
    "types": ("Types and arrays", ("core.types", "core.runtime.arrays", "warp.fabric", "warp.fabric_rows")),
    "kernels": ("Kernels and tapes", (
        "core.frontend", "core.runtime.launch", "core.runtime.launches", "core.runtime.map", "core.runtime.tape",
        "core.runtime.rollout", "core.runtime.commands", "core.graph_files", "profiling", "warp.captures",
        "warp.logger", "diagnostics", "errors", "config",
    )),
    "devices": ("Devices", ("core.runtime.devices", "warp.profiling")),
    "geometry": ("Geometry", ("geometry", "warp.older_volumes")),
}  # fmt: skip
"""Pages by name: their title, and which modules they gather."""


def pages() -> dict[str, str]:
    """All pages of the reference in Markdown, by place."""
    homes = {**names.NAMES, "config": "config DeterministicMode"}
    made, placed = {}, set()
    for name, (title, modules) in PAGES.items():
        inside = {k: [m for m in homes if m == k or m.startswith(f"{k}.")] for k in modules}
        mine = [m for m in dict.fromkeys(m for k in modules for m in inside[k]) if m not in placed]
        placed |= set(mine)
        parts = [f"# {title}"]
        for module in mine:
            parts += [f"## {SECTIONS.get(module, heading(module))}"]
            parts += [entry(word.partition("=")[0]) for word in homes[module].split()]
        made[f"reference/{name}.md"] = "\n\n".join([*parts, *further(name)]) + "\n"
    assert placed == set(homes), set(homes) - placed
    return {**made, "reference/frameworks.md": frameworks()}


def heading(module: str) -> str:
    """The first sentence of a module's docstring, up to its colon, as the title of a section."""
    path = PACKAGE / f"{module.replace('.', '/')}.py"
    path = path if path.exists() else path.with_suffix("") / "__init__.py"
    first = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or module).split("\n")[0]
    return first.partition(":")[0].rstrip(".").replace("`", "")


def further(page: str) -> Iterator[str]:
    """Names that no module of the list defines: constants, and the vectors and matrices."""
    if page == "types":
        yield "## Vectors, matrices, quaternions, transforms"
        yield (
            "Suffixes: none and `f` float32, `d` float64, `h` float16, `i` int32, `ui` uint32, `l` int64, `ul` uint64, "
            "`s` int16, `us` uint16, `b` int8, `ub` uint8."
        )
        yield from (f"### {name}\n\n{compound(name)}" for name in names.COMPOUNDS)
        yield "## Constants"
        yield from (f"### {n}\n\n`{getattr(wp, n)!r}`" for n in wp.__all__ if isinstance(getattr(wp, n), float))
    if page == "kernels":
        yield "## Modules"
        yield from (f"### {n}\n\n{text(getattr(wp, n))}" for n in names.MODULES)


def compound(name: str) -> str:
    """What a vector or matrix type is made of."""
    t = getattr(wp, name)
    extents = " x ".join(map(str, t.shape))
    return f"A {t.kind} of {extents} `{t.dtype.__name__}`. `wp.{name}()` is {shown_zero(t)}."


def shown_zero(t: Any) -> str:
    return "the identity" if t.kind == "transform" else "zero"


def entry(name: str) -> str:
    """One public name of warpsim."""
    return described(name, getattr(wp, name))


def described(name: str, value: Any) -> str:
    """What a name stands for: its signature, its docstring, and of a class its methods."""
    if isinstance(value, Op):
        body = of_op(name, value)
    elif isinstance(value, Func):
        body = of_function(name, value)
    elif isinstance(value, StructType):
        fields = "\n".join(f"    {field}: {getattr(t, '__name__', t)}" for field, t in value.fields.items())
        body = f"```text\nstruct {name}\n{fields}\n```\n\n{text(value)}"
    elif inspect.isclass(value):
        body = of_class(name, value)
    elif callable(value) and not isinstance(value, type):
        body = f"{block(name + parameters(value))}\n\n{text(value)}"
    else:
        body = f"`{value!r}`" if isinstance(value, float) else text(value)
    return f"### {name}\n\n{body}"


def of_op(name: str, op: Op) -> str:
    """A built-in function of the op table."""
    signatures = "\n".join(dict.fromkeys(signature(row).replace(f"{row.name}(", f"{name}(", 1) for row in op.rows))
    texts = list(dict.fromkeys(row.doc for row in op.rows if row.doc))
    lines = [f"- {line}" for block in legend(op) for line in block.split("\n")]
    flows = f"**Gradient:** {gradient(op)}."
    return "\n\n".join([f"```text\n{signatures}\n```", *texts, flows, "\n".join(lines), example(name, op)])


def of_function(name: str, function: Func) -> str:
    """A library function: one signature for each overload."""
    shown = "\n".join(f"{name}{parameters(o.function)}" for o in function.overloads)
    texts = list(dict.fromkeys(filter(None, (inspect.getdoc(o.function) for o in function.overloads))))
    reasons = list(dict.fromkeys(o.nondiff for o in function.overloads if o.nondiff))
    flows = f"none, {' and '.join(reasons)}" if reasons else "yes, where its results are floats"
    return "\n\n".join([f"```text\n{shown}\n```", *texts, f"**Gradient:** {flows}.", example(name, function)])


def of_class(name: str, cls: type) -> str:
    """A class: how it is made, and its methods."""
    parts = [block(name + parameters(cls)), text(cls)]
    ours = (base for base in reversed(cls.__mro__) if base.__module__.partition(".")[0] == wp.__name__)
    for member, value in sorted({m: v for base in ours for m, v in vars(base).items()}.items()):
        of_a_protocol = (inspect.getdoc(value) or "").startswith("See `")
        public = not member.startswith("_") and not of_a_protocol
        if public and (inspect.isfunction(value) or isinstance(value, property)):
            call = "" if isinstance(value, property) else re.sub(r"\(self(, )?", "(", parameters(value))
            first = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
            parts.append(f"- **`.{member}`**{f'`{call}`' if call else ''} {first}")
    if issubclass(cls, enum.Enum):
        parts = [f"One of `{'`, `'.join(cls.__members__)}`.", *parts[1:]]
    return "\n\n".join(parts[:2]) + "\n\n" + "\n".join(parts[2:])


def parameters(value: Any) -> str:
    """The signature without quotation marks around annotations; nothing where Python knows none."""
    try:
        made = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = re.sub(r"""(: |-> )(["'])(.*?)\2""", r"\1\3", str(made))
    return re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", plain)


def block(call: str) -> str:
    """A signature as text, on several lines if it is long."""
    lines = textwrap.wrap(call, 110, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(["```text", *lines, "```"])


def text(value: Any) -> str:
    """A docstring; paragraphs of lines that each explain a name become lists."""
    return re.sub(r"(?:^\w+: .+(?:\n|$)){3,}", listed, inspect.getdoc(value) or "", flags=re.MULTILINE)


def listed(paragraph: re.Match[str]) -> str:
    return "\n" + re.sub(r"(?m)^(\w+): ", r"- `\1`: ", paragraph[0])


# ----- what needs other packages ---------------------------------------------------------------------


def frameworks() -> str:
    """Functions for other frameworks, read from their source: the frameworks need not be installed."""
    parts = ["# Other frameworks", "Each of them is loaded when it is first used."]
    for module, words in names.FRAMEWORKS.items():
        tree = ast.parse((PACKAGE / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
        found = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        parts.append(f"## {module.rpartition('.')[2].replace('_', ' ')}")
        for name in words.split():
            node = found.get(name)
            call = f"{block(f'{name}({ast.unparse(node.args)})')}\n\n" if isinstance(node, ast.FunctionDef) else ""
            doc = (ast.get_docstring(node) if node else None) or text(getattr(wp, name, None))
            parts.append(f"### {name}\n\n{call}{doc}")
    return "\n\n".join(parts) + "\n"
