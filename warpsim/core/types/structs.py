"""`@struct`: records with typed fields, one C layout shared by the host, arrays and kernels.

Fields are aligned as a C compiler aligns them. An array field is stored as the array's descriptor
(see `arrays`), so a struct can carry arrays into a kernel by value or through an array of structs.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from ...errors import FieldKeywordError, FieldNameError, FieldTypeError, KernelNameError, counted, shown
from . import arrays, compounds, scalars
from .answers import per_type
from .arrays import ArrayType, ValueType, descriptor_words, type_name, without_none
from .enclosing import CURE, names_around
from .scalars import canonical


class Layout(NamedTuple):
    """What a struct is made of."""

    fields: dict[str, Any]
    defaults: dict[str, Any]


class StructType(type):
    """The class of struct classes. What is known of a struct stands here, where no field can hide it: instances
    have their fields and nothing else but names like `__init__`, which no field may have."""

    __struct__: Layout
    __known__: dict[Any, Any]
    """What is known of this class and of arrays of it, see `answers`."""

    def __init__(cls, *about: object):
        super().__init__(*about)
        cls.__known__ = {}

    @property
    def fields(cls) -> dict[str, Any]:
        """Types by name, in declaration order."""
        return cls.__struct__.fields

    @property
    def key(cls) -> str:
        """Module and name, as messages tell them."""
        return f"{cls.__module__}.{cls.__qualname__}"

    def numpy_dtype(cls) -> np.dtype:
        """The layout of an element in an array of this struct."""
        return numpy_dtype(cls)


class Struct(metaclass=StructType):
    """Base of all struct classes."""

    __struct__ = Layout({}, {})

    def __init__(self, /, *positional: object, **values: object):
        t = type(self)
        if len(positional) > len(t.fields) or set(list(t.fields)[: len(positional)]) & set(values):
            fields = ", ".join(t.fields)
            raise FieldTypeError(
                f"{counted(len(positional), 'value')} for struct {t.__name__}\nexpected: each of {fields} once"
            )
        values = dict(zip(t.fields, positional, strict=False)) | values
        for name, field in t.fields.items():
            object.__setattr__(self, name, _default(field, t.__struct__.defaults.get(name)))
        for name, value in values.items():
            if name not in t.fields:
                raise FieldKeywordError(_no_field(t, name))
            setattr(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        t = type(self)
        if name not in t.fields:
            raise FieldNameError(_no_field(t, name))
        object.__setattr__(self, name, _field_value(t.fields[name], value, f"{t.__name__}.{name}"))

    def __delattr__(self, name: str) -> None:
        raise FieldNameError(f"{type(self).__name__}.{name} cannot be deleted\nhelp: set it to another value")

    def numpy_value(self) -> tuple[Any, ...]:
        """The fields as NumPy's structured arrays take them: tuples of structs, arrays of components, numbers.

        Of an array its descriptor, as kernels read it (zeros for None), which keeps nothing alive.
        """
        return tuple(_numpy_value(getattr(self, name), t) for name, t in type(self).fields.items())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_equal(getattr(self, f), getattr(other, f)) for f in type(self).fields)

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={_plain(getattr(self, name))!r}" for name in type(self).fields)
        return f"{type(self).__name__}({inner})"


def _plain(value: Any) -> Any:
    """Numbers as Python shows its own."""
    return value.item() if scalars.is_scalar(type(value)) else value


def _numpy_value(value: Any, t: object) -> Any:
    if isinstance(value, Struct):
        return value.numpy_value()
    if isinstance(value, compounds.Compound):
        return value.numpy()
    if isinstance(t, ArrayType):
        return np.zeros(descriptor_words(t), np.uint64) if value is None else np.frombuffer(value._words, np.uint64)
    return value


def struct(c: Any = None, *, module: Any = None) -> Any:
    """Make a struct type of an annotated class; class attributes become defaults. `@struct` and `@struct()` are one.

    A field may have any name that Python does not keep for itself (`__init__`). module: without
    effect; structs belong to no module.

    Methods of the class are for the host. Functions made by `@func` and ops in it (`law = wp.sin`) are for kernels
    too, as `s.law(x)`; they do not get the struct. Annotations that are texts see the scopes around the class while
    these run. Raises `TypeError` for a field without a usable type or name, `KernelNameError` for an annotation that
    names nothing.
    """
    return struct if c is None else _struct_of(c)


def _struct_of(cls: object) -> type[Struct]:
    if not isinstance(cls, type):
        raise FieldTypeError(f"@wp.struct is given {shown(cls)}\nexpected: a class with annotated fields")
    # typing.get_type_hints refuses what is no type: before Python 3.11 that is what array types are to it.
    written = [annotations_of(base) for base in reversed(cls.__mro__)]
    hints = {name: canonical(without_none(t)) for part in written for name, t in part.items()}
    reserved = [name for name in hints if name.startswith("__") and name.endswith("__") and len(name) > 4]
    if reserved:
        name = f"{cls.__name__}.{reserved[0]}"
        raise FieldTypeError(f"field {name} of a struct has a name of Python's own\nhelp: rename it")
    defaults = {name: cls.__dict__[name] for name in hints if name in cls.__dict__}
    for name, t in hints.items():
        if not is_field_type(t):
            raise FieldTypeError(
                f"field {cls.__name__}.{name} has type {t!r}\nexpected: a scalar, vector, matrix, struct or array type"
            )
        if isinstance(t, ArrayType) and t.local_shape is not None:
            raise FieldTypeError(
                f"field {cls.__name__}.{name} is a tile: {t!r}\nexpected: an array, whose memory outlives a thread\n"
                "help: pass tiles to functions beside the struct"
            )
    methods = {name: member for name, member in vars(cls).items() if _is_method(name, member) and name not in hints}
    body = methods | {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    record = StructType(cls.__name__, (Struct,), {**body, "__struct__": Layout(hints, defaults)})
    assert issubclass(record, Struct)
    return record


def annotations_of(cls: type) -> dict[str, Any]:
    """The annotations of one class as objects; texts are evaluated where the class stands."""
    known = inspect.get_annotations(cls)
    if not any(isinstance(t, str) for t in known.values()):
        return known
    module = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
    scope = module | names_around(cls) | dict(vars(cls))
    return {name: _evaluate(cls, name, t, scope) if isinstance(t, str) else t for name, t in known.items()}


def _evaluate(cls: type, name: str, annotation: str, scope: dict[str, Any]) -> Any:
    try:
        return eval(annotation, scope)
    except Exception as error:
        raise KernelNameError(
            f"annotation {annotation!r} of field {cls.__name__}.{name} cannot be evaluated: {error}",
            help=CURE if isinstance(error, NameError) else f"annotate with types: {name}: float",
        ) from error


def _is_method(name: str, member: object) -> bool:
    special = name.startswith("__") and name.endswith("__")
    return (callable(member) or isinstance(member, (property, staticmethod, classmethod))) and not special


def freeze(value: object) -> Any:
    """A value that later changes by the user do not reach: a copy of a struct or vector, with the same arrays."""
    if not isinstance(value, Struct):
        return value._copy() if isinstance(value, compounds.Compound) else value
    copied = object.__new__(type(value))
    fields, present = vars(copied), vars(value)
    for name, t in type(value).fields.items():
        field = present[name]
        fields[name] = freeze(field) if isinstance(t, type) else field  # an array is the same one
    return copied


def set_field(value: Struct, name: str, field: object) -> None:
    """Set a field, also of a struct that lets nobody else do so."""
    Struct.__setattr__(value, name, field)


def of_fields(t: type[Struct], fields: dict[str, Any]) -> Any:
    """A struct of these fields, whatever its own constructor takes; others have their defaults."""
    value = t()
    for name, field in fields.items():
        set_field(value, name, field)
    return value


def members(value: object, name: str = "") -> Iterator[tuple[str, Any]]:
    """A value with its name; of a struct the values of its fields, and of those of structs in it (`s.x`)."""
    if isinstance(value, Struct):
        for field in type(value).fields:
            yield from members(getattr(value, field), f"{name}.{field}")
    else:
        yield name, value


def is_struct(t: object) -> TypeGuard[type[Struct]]:
    return isinstance(t, type) and issubclass(t, Struct)


def is_in_pieces(t: object) -> bool:
    """Whether a struct is an array in pieces, whose elements kernels index: `runtime.arrays.in_pieces`."""
    return is_struct(t) and hasattr(t, "located")


def none_is_empty(t: object) -> bool:
    """Whether None stands for the empty value of a struct type, in fields and in launches: textures."""
    return is_struct(t) and getattr(t, "none_is_empty", False) is True


@per_type
def holds_arrays(t: object) -> bool:
    """Whether values of the type are, or contain, arrays."""
    if is_struct(t):
        return any(holds_arrays(f) for f in t.fields.values())
    return isinstance(t, ArrayType)


def is_field_type(t: object) -> bool:
    return scalars.is_scalar(t) or compounds.is_compound(t) or is_struct(t) or arrays.is_array(t)


@per_type
def numpy_dtype(t: object) -> np.dtype:
    """The memory layout of a type as a NumPy dtype (a sub-array for compounds, a record for structs)."""
    if scalars.is_scalar(t):
        return np.dtype(t)
    if compounds.is_compound(t):
        return np.dtype((t.dtype, t.shape))
    if isinstance(t, ArrayType):
        return np.dtype((np.uint64, (descriptor_words(t),)))
    if is_struct(t):
        return np.dtype([(name, numpy_dtype(f)) for name, f in t.fields.items()], align=True)
    raise FieldTypeError(f"{type_name(t)} has no memory layout")


@per_type
def full_name(t: ValueType) -> str:
    """The name of a type with the fields of structs in it."""
    if isinstance(t, ArrayType):
        return f"{t!r} of {full_name(t.dtype)}"
    if is_struct(t):
        return f"{t.__name__}{{{', '.join(f'{name} {full_name(f)}' for name, f in t.fields.items())}}}"
    return type_name(t)


def offsets(t: type[Struct]) -> dict[str, int]:
    """Byte offset of every field."""
    layout = numpy_dtype(t).fields
    assert layout is not None
    return {name: layout[name][1] for name in t.fields}


def leaves(t: ValueType, offset: int = 0) -> Iterator[tuple[type, int]]:
    """Every scalar of a value in memory order: (scalar type, byte offset)."""
    if scalars.is_scalar(t):
        yield t, offset
    elif compounds.is_compound(t):
        step = np.dtype(t.dtype).itemsize
        yield from ((t.dtype, offset + i * step) for i in range(t.size))
    elif isinstance(t, ArrayType):
        yield from ((np.uint64, offset + arrays.WORD * i) for i in range(descriptor_words(t)))
    else:
        for name, at in offsets(t).items():
            yield from leaves(t.fields[name], offset + at)


def _no_field(t: StructType, name: str) -> str:
    return f"struct {t.__name__} has no field {name!r}\nexpected: one of {', '.join(t.fields)}"


def _default(t: ValueType, default: object) -> Any:
    if default is not None:
        return copy(_field_value(t, default, "default"))
    if isinstance(t, ArrayType):
        return None
    return t(0) if scalars.is_scalar(t) else t()


def _field_value(t: ValueType, value: Any, where: str) -> Any:
    """A value for a field of type `t`, which later changes of `value` do not reach; arrays are shared."""
    if isinstance(t, ArrayType):
        own = getattr(value, "type", None)
        if value is not None and own is not t:
            raise FieldTypeError(f"{where} got {own or type(value).__name__}\nexpected: {t}")
        return value
    if isinstance(value, t):
        return freeze(value)
    if is_struct(t):
        if value is None and none_is_empty(t):
            return t()
        raise FieldTypeError(f"{where} got {type(value).__name__}\nexpected: {t.__name__}")
    if value is None:
        return t(0) if scalars.is_scalar(t) else t.wrap(np.zeros(t.shape))
    if compounds.is_compound(t):
        return t(*value) if np.ndim(value) else t(value)
    return _number(t, value, where)


def _number(t: type[Any], value: Any, where: str) -> Any:
    """A number for a field of a scalar type: integers take no floats, whose fraction would be lost."""
    if type(value) is float and t in scalars.FLOATS:
        return t(value)
    if type(value) is int and t is not scalars.bool_:
        return t(value)
    is_number = np.ndim(value) == 0 and scalars.holds_numbers(np.asarray(value).dtype)
    if not is_number or (t in scalars.INTEGERS and np.asarray(value).dtype.kind == "f"):
        raise FieldTypeError(f"{where} got {shown(value)}\nexpected: {t.__name__}")
    return t(value)


def _equal(a: object, b: object) -> bool:
    return a is b or bool(np.all(a == b))
