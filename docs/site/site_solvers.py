"""The reference of packages: solvers, the builder of models, files and the rest, from signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from site_reference import block, described, parameters, text

import warpsim as wp
from warpsim import names
from warpsim.solvers import ModelBuilder

GROUPS = {
    "Models, states and controls": ("scene", "particles"),
    "Cloth, soft bodies, particles: SolverXPBD": ("xpbd", "contact"),
    "Rigid bodies: SolverBodies": ("bodies",),
    "Bodies among matter: Coupling": ("coupling",),
    "Grains: SolverDEM": ("dem",),
    "Fluids: SolverSPH and SolverDFSPH": ("sph",),
    "Oceans: SolverOcean": ("ocean",),
    "Saved runs: Scene": ("saved",),
}
"""Sections of the page of solvers, and the folders of `warpsim.solvers` whose names each has."""

METHODS = {
    "Particles and springs": "add_particle add_particles add_spring add_springs add_tethers add_attachment",
    "Cloth": "add_cloth_grid add_cloth_mesh add_triangle add_triangles add_edge add_edges add_pressure",
    "Soft bodies": "add_soft_grid add_soft_mesh add_tetrahedron add_tetrahedra",
    "Shapes: obstacles, colliders and vessels": (
        "add_shape add_ground_plane add_shape_plane add_shape_sphere add_shape_box add_shape_capsule "
        "add_shape_cylinder add_shape_cone add_shape_mesh add_shape_heightfield add_shape_sdf ignore_contact "
        "begin_shapes"
    ),
    "Rigid bodies and joints": (
        "add_body add_bodies add_joint_fixed add_joint_revolute add_joint_prismatic add_joint_universal add_joint_ball "
        "add_joint_distance add_joint_d6 begin_bodies begin_joints"
    ),
    "Worlds and scenes from USD": "add_world add_usd place",
    "The model": "finalize particle_count up",
}
"""Sections of the page of `ModelBuilder`, and the methods that each has."""

OPTIONS_OF = re.compile(r"`(cloth|soft)\.(\w+)`")
"""Where a docstring says that another function explains the options."""

FILES = {"usd": "USD in and out", "record": "Recordings", "viewer": "The viewer", "render": "Films and command lines"}
"""Packages of the page of files, and what each is headed by."""


def pages() -> dict[str, str]:
    """The pages in Markdown, by place."""
    return {
        "reference/solvers.md": solvers(),
        "reference/model_builder.md": builder(),
        "reference/usd.md": files(),
        "reference/packages.md": packages(),
    }


def solvers() -> str:
    """Every public name of `warpsim.solvers` but the builder, by what it belongs to."""
    package = wp.solvers
    homes = {name: _folder(package, name) for name in package.__all__ if name != "ModelBuilder"}
    sections = {title: [n for n, home in homes.items() if home in folders] for title, folders in GROUPS.items()}
    assert sum(map(len, sections.values())) == len(homes), set(homes) - {n for s in sections.values() for n in s}
    parts = ["# Solvers", text(package).split("\n\n")[0], "`from warpsim.solvers import NAME` brings each of them."]
    parts += ["[ModelBuilder](model_builder.md) has a page of its own."]
    for title, members in sections.items():
        parts += [f"## {title}", *entries(package, members)]
    ocean = [name for name in package.ocean.__all__ if name not in homes]
    parts += ["## Names of `warpsim.solvers.ocean`", *entries(package.ocean, ocean)]
    return "\n\n".join(parts) + "\n"


def _folder(package: ModuleType, name: str) -> str:
    """The folder of a public name in its package; numbers, which know none, count to the scene."""
    home = getattr(getattr(package, name), "__module__", f"{package.__name__}.scene")
    return home.removeprefix(f"{package.__name__}.").partition(".")[0]


def builder() -> str:
    """`ModelBuilder`: each method with its signature and all of its docstring."""
    listed = {name for words in METHODS.values() for name in words.split()}
    public = {name for name in dir(ModelBuilder) if not name.startswith("_")}
    assert listed == public, listed ^ public
    parts = ["# ModelBuilder", block(f"ModelBuilder{parameters(ModelBuilder)}"), text(ModelBuilder)]
    for title, words in METHODS.items():
        parts += [f"## {title}", *(_method(name) for name in words.split())]
    return "\n\n".join(parts) + "\n"


def _method(name: str) -> str:
    """One method or property of the builder."""
    value = inspect.getattr_static(ModelBuilder, name)
    if isinstance(value, property):
        return f"### {name}\n\nA property. {text(value)}"
    call = parameters(value).replace("(self, ", "(", 1).replace("(self)", "()", 1)
    whole = f"### {name}\n\n{block(name + call)}\n\n{text(value)}"
    elsewhere = OPTIONS_OF.search(text(value))
    if not elsewhere:
        return whole
    function = getattr(getattr(wp.solvers, elsewhere[1]), elsewhere[2])
    options = parameters(function).replace("(builder: ModelBuilder, ", "(", 1)
    return f"{whole}\n\nAll that it takes:\n\n{block(name + options)}\n\n{text(function)}"


def files() -> str:
    """What reads and writes files: USD, recordings, films."""
    parts = ["# USD, recordings, films", "Names of packages that read and write files, as in `wp.usd.read_scene`."]
    for name, title in FILES.items():
        package: ModuleType = getattr(wp, name)
        parts += [f"## {title}: `warpsim.{name}`", text(package).split("\n\n")[0]]
        parts += entries(package, sorted(package.__all__))
    return "\n\n".join(parts) + "\n"


def entries(package: ModuleType, members: Iterable[str]) -> Iterator[str]:
    """The entries of some names of a package."""
    return (described(name, getattr(package, name)) for name in members)


def packages() -> str:
    """Public names of the packages that have no page of their own."""
    parts = ["# Packages", "Each is loaded when its name is first asked for: `wp.optim.Adam`."]
    for name in names.FURTHER:
        if name in FILES or name == "solvers":
            continue
        package: ModuleType = getattr(wp, name)
        parts += [f"## {name}", text(package).split("\n\n")[0]]
        parts += [_line(word, getattr(package, word)) for word in sorted(getattr(package, "__all__", ()))]
    return "\n\n".join(parts) + "\n"


def _line(word: str, value: Any) -> str:
    first = text(value).split("\n\n")[0].replace("\n", " ") if callable(value) else ""
    return f"**`{word}`** {first}"
