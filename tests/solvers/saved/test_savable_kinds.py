"""Kinds of savable things: each says every argument of its constructor, and is what the table says."""

import inspect
from dataclasses import fields, is_dataclass

import pytest
from scenes_to_save import SCENES

from warpsim.solvers.saved.kinds import _ADAPTERS, _CLASSES, kind_named, kind_of
from warpsim.solvers.scene.memory import Savable

ELSEWHERE = {
    "device",  # where a scene is loaded
    "seed",  # of noise, which is saved itself
    "requires_grad",  # of arrays, which say so themselves
}


@pytest.mark.parametrize("name", _CLASSES)
def test_a_class_says_every_argument_of_its_constructor(name):
    """So that an argument which is added to a solver cannot be left out of its files."""
    owner = kind_named(name).owner
    if is_dataclass(owner):
        assert [field.name for field in fields(owner)] == list(inspect.signature(owner).parameters)
        return
    parameters = set(inspect.signature(owner).parameters) - ELSEWHERE
    things = [thing for make in SCENES.values() for thing in _parts(make()) if type(thing) is owner]
    assert things, f"no scene has a {name}"
    assert isinstance(things[0], Savable)
    said = set(things[0].arguments())
    assert parameters <= said


def _parts(scene):
    """Things of a scene, and what oceans consist of."""
    seas = scene["ocean"].seas if "ocean" in scene else ()
    return [*scene.values(), *seas]


@pytest.mark.parametrize("name", [*_CLASSES, *_ADAPTERS])
def test_a_kind_is_found_by_its_name_and_by_its_objects(name):
    assert kind_named(name).name == name


def test_a_subclass_of_a_user_is_no_kind():
    class Mine(kind_named("Material").owner):
        pass

    assert kind_of(Mine()) is None
