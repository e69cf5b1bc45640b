"""One type names arrays, one says how they are used, and one place tells whether memories meet."""

import ast
from pathlib import Path

CORE = Path(__file__).resolve().parents[1] / "warpsim" / "core"

FORMER = {"Demand", "Part", "Reach", "Traffic", "Descriptors", "Slot", "NESTED", "ModRef", "AccessSummary", "Path"}
"""Names of types and marks that `ArrayRef` and `ArrayUse` took the place of; the fields of a path are `Fields`."""

NUMPYS = {
    "runtime/devices/memory_range.py": "the place itself",
    "runtime/devices/device_memory.py": "what memory on devices lets NumPy ask",
    "runtime/devices/cuda/memory.py": "memory of NumPy's own, with any strides",
    "runtime/arrays/creation.py": "whether a conversion by NumPy made a copy",
    "runtime/tape/host_gradients.py": "whether a reshape by NumPy made a copy",
    "runtime/tape/tape.py": "seeds are memory of NumPy's own, with any strides",
}
"""Who else asks NumPy whether memories meet, and of what."""


TREES = {path.relative_to(CORE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in CORE.rglob("*.py")}


def nodes(tree, *kinds):
    return (node for node in ast.walk(tree) if isinstance(node, kinds))


def defined(tree):
    """The names of classes and of what is assigned at any place of a file."""
    yield from (node.name for node in nodes(tree, ast.ClassDef))
    yield from (node.id for node in nodes(tree, ast.Name) if isinstance(node.ctx, ast.Store))


def is_former(node):
    """Whether a comparison is of a kind with a string, or asks in which of two forms a launch was recorded."""
    left, texts = ast.unparse(node.left), [s for s in node.comparators if isinstance(s, ast.Constant)]
    of_kind = left.endswith(("form.kind", "extra.kind")) and any(isinstance(s.value, str) for s in texts)
    return of_kind or left.endswith("snapshot")


def test_former_names_are_gone():
    assert [(file, name) for file, tree in TREES.items() for name in FORMER.intersection(defined(tree))] == []


def test_kinds_of_forms_and_of_further_parameters_are_no_strings():
    former = [node for tree in TREES.values() for node in nodes(tree, ast.Compare) if is_former(node)]
    assert [*map(ast.unparse, former)] == []


def test_whether_memories_meet_is_asked_in_one_place():
    asked = ("shares_memory", "may_share_memory")
    asks = {file for file, tree in TREES.items() if any(n.attr in asked for n in nodes(tree, ast.Attribute))}
    assert asks == set(NUMPYS)
