"""A frozen class made here behaves as one that the standard decorator makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import sys
from dataclasses import KW_ONLY, FrozenInstanceError, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from discreet import records
from discreet.records import frozen_here


class Plain:
    x: int
    y: str = "a"
    z: list[int] = field(default_factory=list, compare=False)


class Hidden:
    x: int
    secret: str = field(default="b", repr=False)
    made: int = field(init=False, default=7)
    built: dict[str, int] = field(init=False, default_factory=dict, hash=False)


class Checked:
    x: int

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("below zero")
        object.__setattr__(self, "x", self.x + 1)


class Own:
    x: int
    y: int = 0

    def __repr__(self) -> str:
        return "mine"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    def __hash__(self) -> int:
        return 1


class ByName:
    x: int
    least: ClassVar[int] = 0
    _: KW_ONLY
    y: int = 1
    z: int = 4


class Empty:
    pass


OPTIONS: list[dict[str, bool]] = [
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "eq": False},
    {"frozen": True, "repr": False},
    {"frozen": True, "kw_only": True},
]


def made_by(decorator: Any, shape: type, options: dict[str, bool]) -> Any:
    namespace = {
        name: value for name, value in vars(shape).items() if name not in {"__dict__", "__weakref__"}
    }
    return decorator(**options)(type(shape.__name__, (), namespace))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shape", [Plain, Hidden, Checked, Own, ByName, Empty])
def test_it_behaves_as_the_standard_one(shape: type, options: dict[str, bool]) -> None:
    ours, theirs = (made_by(each, shape, options) for each in (frozen_here, dataclasses.dataclass))
    given: dict[str, Any] = {} if shape is Empty else {"x": 3}
    if options.get("repr", True) or shape is Own:
        assert repr(ours(**given)) == repr(theirs(**given))
    assert (ours(**given) == ours(**given)) is (theirs(**given) == theirs(**given))
    assert ours(**given) != theirs(**given) or shape is Own
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert [(one.name, one.type) for one in fields(ours)] == [(one.name, one.type) for one in fields(theirs)]
    assert ours.__match_args__ == theirs.__match_args__
    assert hasattr(ours, "__slots__") is hasattr(theirs, "__slots__")
    if options.get("eq", True):
        assert hash(ours(**given)) == hash(theirs(**given))
    for made in (ours(**given), theirs(**given)):
        for name in ("x", "other"):  # the standard one with slots knows no other name
            with pytest.raises(
                (FrozenInstanceError, TypeError) if made.__class__ is theirs else FrozenInstanceError
            ):
                setattr(made, name, 4)
        with pytest.raises(
            (FrozenInstanceError, TypeError) if made.__class__ is theirs else FrozenInstanceError
        ):
            del made.x
    if given:
        assert repr(replace(ours(**given), x=5)) == repr(replace(theirs(**given), x=5)) or not options.get(
            "repr", True
        )
        assert dataclasses.asdict(ours(**given)) == dataclasses.asdict(theirs(**given))
        assert dataclasses.asdict(copy.copy(ours(**given))) == dataclasses.asdict(theirs(**given))


@frozen_here(frozen=True)
class Base:
    x: int
    y: int = 2


@frozen_here(frozen=True)
class Below(Base):
    z: tuple[int, ...] = ()


@frozen_here(frozen=True, slots=True)
class Slotted:
    x: int
    y: tuple[int, ...] = ()


def test_a_class_below_another_has_its_fields_and_is_not_equal_to_it() -> None:
    assert repr(Below(1)) == "Below(x=1, y=2, z=())"
    assert Below(1) != Base(1)
    with pytest.raises(FrozenInstanceError):
        Below(1).y = 3  # type: ignore[misc]


@pytest.mark.parametrize("value", [Base(1), Below(1, 2, (3,)), Slotted(4, (5,))], ids=repr)
def test_they_can_be_copied_and_pickled(value: object) -> None:
    for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert again == value
        assert again is not value


def test_an_instance_that_holds_itself_is_shown() -> None:
    value = Slotted(1)
    object.__setattr__(value, "y", (value,))
    assert repr(value) == "Slotted(x=1, y=(...,))"


def test_a_class_that_is_not_frozen_is_the_standard_one() -> None:
    @frozen_here
    class Open:
        x: int

    made = Open(1)
    made.x = 2
    assert made == Open(2)


def test_fields_that_the_standard_decorator_alone_knows_are_refused() -> None:
    with pytest.raises(TypeError, match="standard decorator alone"):

        @frozen_here(frozen=True)
        class Early:
            x: dataclasses.InitVar[int]


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the standard decorator compiles once there")
def test_older_pythons_take_this_one() -> None:
    assert records.dataclass is frozen_here


def test_names_of_fields_do_not_meet_those_of_the_constructor() -> None:
    @frozen_here(frozen=True)
    class Named:
        put: int
        made: list[int] = field(default_factory=list)
        default0: int = 3

    assert repr(Named(1)).endswith("Named(put=1, made=[], default0=3)")


def test_the_project_takes_its_classes_from_here() -> None:
    taken = re.compile(r"^from dataclasses import .*\bdataclass\b", re.MULTILINE)
    source = Path(records.__file__).parent
    found = {path.name for path in source.rglob("*.py") if taken.search(path.read_text(encoding="utf-8"))}
    assert found == set()
