"""Frozen data classes, made in a third of the time that those of Python 3.11 and 3.12 take.

There the standard decorator compiles six functions for each frozen class, one by one, and a first answer makes some
hundred and forty of these classes: a tenth of its time. Here one function is compiled for a class, and the others are
closures over its fields. Fields, `fields`, `replace` and `asdict` are those of the standard library, and so is the
whole decorator from Python 3.13 on, which compiles once for a class itself.
"""

from __future__ import annotations

import dataclasses
import reprlib
import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, dataclass_transform

KNOWN: Final = {"frozen", "init", "eq", "repr", "slots", "kw_only"}
"""The options that are answered here. A class with others, or not frozen, goes to the standard decorator."""


class _Factory:
    """Stands in a signature for a default that is made anew for each instance."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY: Final = _Factory()


@dataclass_transform(field_specifiers=(dataclasses.field,))
def frozen_here(cls: type | None = None, /, **options: bool) -> Any:
    """Do as `dataclasses.dataclass` does.

    Raises:
        TypeError: the class has fields for its constructor only, or stands below a frozen class of the standard
            decorator; such a class asks the standard decorator itself.

    Example:
        >>> @frozen_here(frozen=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(3), Point(3) == Point(3, 0), dataclasses.replace(Point(3), y=4)
        (Point(x=3, y=0), True, Point(x=3, y=4))
    """
    if cls is None:
        return lambda given: frozen_here(given, **options)
    if not options.get("frozen") or not options.keys() <= KNOWN:
        return dataclasses.dataclass(cls, **options)
    own = {name for name, part in vars(cls).items() if (name, part) != ("__hash__", None)}
    shape = {name: options.get(name, False) for name in ("slots", "kw_only")}
    made: Any = dataclasses.dataclass(cls, init=False, repr=False, eq=False, **shape)
    listed = dataclasses.fields(made)
    if any("InitVar" in str(attribute.type) for attribute in made.__dataclass_fields__.values()):
        raise TypeError(f"{cls.__qualname__} has fields that the standard decorator alone knows")
    for name, part in _parts(made, listed, options).items():
        if name not in own:
            part.__module__, part.__name__ = cls.__module__, name
            part.__qualname__ = f"{cls.__qualname__}.{name}"
            setattr(made, name, part)
    return made


def _parts(
    cls: Any, listed: tuple[Field[Any], ...], options: dict[str, bool]
) -> dict[str, Callable[..., Any]]:
    """The methods that the options ask for, by name."""
    parts = _guards(cls, frozenset(attribute.name for attribute in listed))
    if options.get("init", True):
        parts["__init__"] = _constructor(cls, listed)
    if options.get("repr", True):
        parts["__repr__"] = _representation([attribute.name for attribute in listed if attribute.repr])
    if options.get("eq", True):
        parts["__eq__"] = _equality(_values([attribute.name for attribute in listed if attribute.compare]))
        hashed = [
            attribute.name
            for attribute in listed
            if (attribute.compare if attribute.hash is None else attribute.hash)
        ]
        parts["__hash__"] = _hashed(_values(hashed))
    if options.get("slots", False):
        parts |= _copied([attribute.name for attribute in listed])
    return parts


def _constructor(cls: type, listed: tuple[Field[Any], ...]) -> Callable[..., None]:
    """The one function that is compiled: instances are made too often for one that looks at its fields."""
    known: dict[str, Any] = {"_put": object.__setattr__, "_FACTORY": _FACTORY}
    arguments, named, lines = ["self"], ["*"], []
    for index, attribute in enumerate(listed):
        argument, value = attribute.name, attribute.name
        if attribute.default_factory is not MISSING:
            known[f"_made{index}"] = attribute.default_factory
            argument = f"{attribute.name}=_FACTORY"
            value = (
                f"_made{index}() if {attribute.name} is _FACTORY else {attribute.name}"
                if attribute.init
                else f"_made{index}()"
            )
        elif attribute.default is not MISSING:
            known[f"_default{index}"] = attribute.default
            argument = f"{attribute.name}=_default{index}"
        if attribute.init:
            (named if attribute.kw_only else arguments).append(argument)
        elif f"_default{index}" in known:
            value = f"_default{index}"
        if (
            attribute.init
            or f"_made{index}" in known
            or (f"_default{index}" in known and hasattr(cls, "__slots__"))
        ):
            lines.append(f"_put(self, {attribute.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    signature, body = ", ".join(arguments + named * (len(named) > 1)), "\n ".join(lines) or "pass"
    exec(f"def __init__({signature}):\n {body}", known)  # noqa: S102
    made: Callable[..., None] = known["__init__"]
    made.__annotations__ = {
        **{attribute.name: attribute.type for attribute in listed if attribute.init},
        "return": None,
    }
    return made


def _guards(cls: Any, names: frozenset[str]) -> dict[str, Callable[..., Any]]:
    def put(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def remove(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": put, "__delattr__": remove}


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _equality(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, object], bool]:
    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hashed(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def hashed(self: Any) -> int:
        return hash(values(self))

    return hashed


def _representation(names: list[str]) -> Callable[[Any], str]:
    @reprlib.recursive_repr()
    def shown(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return shown


def _copied(names: list[str]) -> dict[str, Callable[..., Any]]:
    def state(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def restore(self: Any, kept: list[Any]) -> None:
        for name, value in zip(names, kept, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": state, "__setstate__": restore}


if TYPE_CHECKING or sys.version_info >= (3, 13):
    from dataclasses import dataclass
else:
    dataclass = frozen_here

__all__ = ["dataclass", "field", "frozen_here"]
