"""The generic reading of a template: analysed once of its parameters, where nobody reads an argument.

A statement is analysed with parameters in the places of its literals (`syntax.parameters`). Where that goes to the end,
no step depended on an argument, so the outcome is that of every statement of the template: the arguments are put into
their places. Only the groups that the conditions leave are worked out by arguments. They are worked out again for each
statement, and the outcome is used where they are the same. In all other cases the statement has a custom reading.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.records import dataclass, field
from discreet.sql.algebra.catalog import PrivateTable
from discreet.sql.algebra.public_groups import Groups, PublicKeys, public_groups
from discreet.sql.algebra.relation import PublicTable, Relation
from discreet.sql.analyze.binding.literals import literal_of
from discreet.sql.expressions.expression import Expression, Literal
from discreet.sql.expressions.parameter import Parameter
from discreet.sql.plan.generic.untouched_groups import untouched_groups
from discreet.sql.syntax.parameters.parameter_node import ParameterNode, ValueNeededError, parameter_node
from discreet.sql.syntax.parameters.statement_template import StatementTemplate, literal_node


class Remembering(Protocol):
    """A value that never changes, beside which others keep things that they worked out of it."""

    @property
    def memo(self) -> dict[str, Any]:
        """These things, by their names."""


Reading = TypeVar("Reading", bound=Remembering)
MOST_READINGS: Final = 4
"""How many generic readings of a template are kept, each for other groups."""
MOST_GROUPS: Final = 10_000
"""The most groups of a reading that is kept; those of many more would fill memory."""
MOST_FAILURES: Final = 3
"""After so many, a template is not tried again: one may be the refusal of an argument, which no other one meets."""
_ATOMS: Final = (str, int, float, Fraction, dt.date, Enum)
_TABLES: Final = frozenset({PrivateTable, PublicTable})
"""Tables were there before the question."""


@dataclass(eq=False)
class Arguments:
    """The literals of one statement, and the things that were built with them so far.

    Attributes:
        literals: in the order of the statement.
        built: the things, by their builders.
        read: the literals that were read.
        numbered: gives a parameter a number, where there are no literals.
    """

    literals: Sequence[exp.Literal]
    built: dict[object, Any] = field(default_factory=dict)
    read: dict[int, Literal] = field(default_factory=dict)
    numbered: Callable[[Parameter], Literal] | None = None

    def literal(self, parameter: Parameter) -> Literal:
        """The literal in the place of a parameter, converted as that was.

        Raises:
            ValueNeededError: it has another type than the parameter.
        """
        if self.numbered is not None:
            return self.numbered(parameter)
        place = parameter.place
        if place not in self.read:
            self.read[place] = literal_of(self.literals[place])
        return parameter.of(self.read[place])

    def forget(self, build: Builder) -> None:
        """Keep a thing no longer that keeps these arguments: each would keep the other, as garbage."""
        self.built.pop(build, None)


Builder: TypeAlias = Callable[[Arguments], Any]
"""Makes a thing anew with arguments in the places of its parameters."""


class _Builders:
    """The builders of things.

    A thing without parameters is shared and has none; a thing that occurs twice is built once.
    """

    def __init__(self) -> None:
        self._known: dict[int, Builder | None] = {}
        self._kept: list[object] = []

    def of(self, thing: object) -> Builder | None:
        """The builder of a thing; None where it has no parameter.

        Raises:
            ValueNeededError: it is of a kind that may hide one.
        """
        if thing is None or isinstance(thing, _ATOMS) or type(thing) in _TABLES:
            return None
        if id(thing) not in self._known:
            self._kept.append(thing)  # so that no other thing has its number
            made = self._made(thing)
            self._known[id(thing)] = None if made is None else _once(made)
        return self._known[id(thing)]

    def _made(self, thing: object) -> Builder | None:
        if isinstance(thing, Parameter):
            parameter = thing
            return lambda arguments: arguments.literal(parameter)
        if isinstance(thing, ParameterNode):
            raise ValueNeededError
        if isinstance(thing, exp.Expr):
            if thing.find(ParameterNode) is not None:
                raise ValueNeededError
            return None
        if isinstance(thing, tuple | list | frozenset):
            return self._several(type(thing), list(thing))
        if isinstance(thing, Mapping):
            if self._several(list, list(thing)) is not None:
                raise ValueNeededError
            names, values = list(thing), self._several(list, list(thing.values()))
            return (
                None if values is None else lambda arguments: dict(zip(names, values(arguments), strict=True))
            )
        if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
            kind = type(thing)
            return self._several(lambda parts: kind(*parts), [getattr(thing, name) for name in _fields(kind)])
        raise ValueNeededError

    def _several(self, kind: Callable[[list[Any]], Any], things: list[object]) -> Builder | None:
        changing = [(index, build) for index, build in enumerate(map(self.of, things)) if build is not None]
        if not changing:
            return None

        def built(arguments: Arguments) -> Any:
            out = things.copy()
            for index, build in changing:
                out[index] = build(arguments)
            return kind(out)

        return built


@functools.cache
def _fields(kind: type) -> tuple[str, ...]:
    """The names of the fields of a data class."""
    return tuple(field.name for field in dataclasses.fields(kind))


def builders_of(things: Iterable[object]) -> list[Builder | None]:
    """The builders of some things; None for one without parameters.

    Raises:
        ValueNeededError: one is of a kind that may hide a parameter.
    """
    builders = _Builders()
    return [builders.of(thing) for thing in things]


def _once(build: Builder) -> Builder:
    """The same, which builds once for each statement."""

    def known(arguments: Arguments) -> Any:
        found = arguments.built.get(known)
        if found is None:  # which nothing is that has a parameter
            found = arguments.built[known] = build(arguments)
        return found

    return known


@dataclass(frozen=True)
class _GenericReading(Generic[Reading]):
    """One generic reading.

    Attributes:
        groups: for each time that groups were worked out, the builder of the rows and the keys, the outcome, and
            whether it is the same for other arguments without working it out, as far as can be told.
        build: the builder of the reading.
        reading: it, with its parameters.
        plans: generic plans that were made of it.
    """

    groups: tuple[tuple[Builder, list[PublicKeys], Callable[[Arguments], bool]], ...]
    build: Builder | None
    reading: Reading
    plans: dict[Hashable, Any] = field(default_factory=dict)

    def of(self, arguments: Arguments) -> Reading | None:
        """The reading of another statement; None where its groups, or the types of its arguments, are other ones."""
        try:
            if all(
                untouched(arguments) or _same(public_groups(*build(arguments)), before)
                for build, before, untouched in self.groups
            ):
                return self.made(arguments)
        except ValueNeededError:
            pass
        return None

    def made(self, arguments: Arguments) -> Reading:
        """The reading with other arguments."""
        if self.build is None:
            return self.reading
        reading: Reading = self.build(arguments)
        arguments.forget(self.build)
        reading.memo["origin"] = ReadingOrigin(self.reading, arguments, self.plans)
        return reading


@dataclass(frozen=True, eq=False)
class ReadingOrigin(Generic[Reading]):
    """The generic reading that a reading was made of, and its arguments.

    Attributes:
        generic: the generic reading, with its parameters.
        arguments: in their places.
        plans: generic plans that were made of it, for everybody who plans it.
    """

    generic: Reading
    arguments: Arguments
    plans: dict[Hashable, Any]


class GenericReadings(Generic[Reading]):
    """The generic readings of one template over one catalog.

    Args:
        template: of the statements.
    """

    def __init__(self, template: StatementTemplate) -> None:
        self._template = template
        self._readings: tuple[_GenericReading[Reading], ...] = ()
        self._failed = 0

    def reading(
        self, literals: Sequence[str], analyse: Callable[[exp.Query, Groups], Reading]
    ) -> Reading | None:
        """The reading of a statement, made of a generic one; None where it needs a custom one.

        Args:
            literals: the arguments of the statement.
            analyse: reads a statement, with a function that works groups out.

        Raises:
            QueryRefused: by `analyse`.
        """
        if self._failed >= MOST_FAILURES:
            return None
        arguments = Arguments([literal_node(literal) for literal in literals])
        try:
            return self._known(arguments) or self._new(arguments, analyse)
        except QueryRefused:
            raise
        except (ValueNeededError, Exception):  # where a text was expected, a parameter may raise anything
            self._failed += not self._readings
            return None

    def _known(self, arguments: Arguments) -> Reading | None:
        for generic in self._readings:
            found = generic.of(arguments)
            if found is not None:
                return found
        return None

    def _new(self, arguments: Arguments, analyse: Callable[[exp.Query, Groups], Reading]) -> Reading:
        builders = _Builders()
        noted: list[tuple[Builder, list[PublicKeys], Callable[[Arguments], bool]]] = []

        def groups(relation: Relation, keys: Sequence[Expression]) -> list[PublicKeys]:
            build = builders.of((relation, tuple(keys)))
            if build is None:
                return public_groups(relation, keys)
            found = public_groups(*build(arguments))
            noted.append((build, found, _untouched(relation, keys, arguments)))
            return found

        parameters = [parameter_node(place, literal) for place, literal in enumerate(arguments.literals)]
        reading = analyse(self._template.with_nodes(parameters), groups)
        generic = _GenericReading(tuple(noted), builders.of(reading), reading)
        if sum(len(block.groups) for _, found, _ in noted for block in found) <= MOST_GROUPS:
            self._readings = (generic, *self._readings[: MOST_READINGS - 1])
        return generic.made(arguments)


def _untouched(
    relation: Relation, keys: Sequence[Expression], arguments: Arguments
) -> Callable[[Arguments], bool]:
    """A check whether other arguments certainly give the same groups; it says no where that cannot be told."""
    # Where a value was expected, a parameter may raise anything; ValueNeededError is no Exception.
    with contextlib.suppress(ValueNeededError, Exception):
        found = untouched_groups(relation, keys)
        build = None if found is None else _Builders().of(found.conditions)
        if found is not None and build is not None and found.hold(build(arguments)):
            return lambda other: found.hold(build(other))
    return lambda _: False


def _same(a: list[PublicKeys], b: list[PublicKeys]) -> bool:
    """Whether groups are the same, and spelled alike: 0.0 equals -0.0."""
    return a == b and all(
        _spelled(x) == _spelled(y)
        for keys, other in zip(a, b, strict=True)
        for group, beside in zip(keys.groups, other.groups, strict=True)
        for x, y in zip(group, beside, strict=True)
    )


def _spelled(value: object) -> object:
    return type(value), repr(value) if isinstance(value, float) else None
