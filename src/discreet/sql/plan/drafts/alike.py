"""Statements that are alike but for literals are analysed once, where nobody read a literal.

A statement is analysed with blanks in the places of its literals (`syntax.alike.blanks`). Where that goes to the end,
no step depended on a literal, so the outcome is that of every statement of its shape: the literals are put into their
places. Only the groups that the conditions leave are worked out by literals. They are worked out again for each
statement, and the outcome is used where they are the same. In all other cases the statement is analysed by itself.
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
from discreet.sql.expressions.unread import UnreadLiteral
from discreet.sql.plan.drafts.untouched_groups import untouched_groups
from discreet.sql.syntax.alike.blanks import Blank, ValueNeededError, blank
from discreet.sql.syntax.alike.templates import Template, literal_node


class Remembering(Protocol):
    """A value that never changes, beside which others keep things that they worked out of it."""

    @property
    def memo(self) -> dict[str, Any]:
        """These things, by their names."""


Reading = TypeVar("Reading", bound=Remembering)
MOST_VARIANTS: Final = 4
"""How many analyses of a shape are kept, each for other groups."""
MOST_GROUPS: Final = 10_000
"""The most groups of an analysis that is kept; those of many more would fill memory."""
MOST_FAILURES: Final = 3
"""After so many, a shape is not tried again: one may be the refusal of a literal, which the next one does not meet."""
_ATOMS: Final = (str, int, float, Fraction, dt.date, Enum)
_TABLES: Final = frozenset({PrivateTable, PublicTable})
"""Tables were there before the question."""


@dataclass(eq=False)
class Filling:
    """The literals of one statement, and the things that were filled with them so far.

    Attributes:
        literals: in the order of the statement.
        done: the things, by the ways to make them.
        read: the literals that were read.
        mark: makes something else of a blank than a literal.
    """

    literals: Sequence[exp.Literal]
    done: dict[object, Any] = field(default_factory=dict)
    read: dict[int, Literal] = field(default_factory=dict)
    mark: Callable[[UnreadLiteral], Literal] | None = None

    def literal(self, unread: UnreadLiteral) -> Literal:
        """The literal in the place of a blank, converted as that was.

        Raises:
            ValueNeededError: it has another type than the blank.
        """
        if self.mark is not None:
            return self.mark(unread)
        place = unread.place
        if place not in self.read:
            self.read[place] = literal_of(self.literals[place])
        return unread.of(self.read[place])

    def forget(self, make: Filled) -> None:
        """Keep a thing no longer that keeps this filling: each would keep the other, as garbage."""
        self.done.pop(make, None)


Filled: TypeAlias = Callable[[Filling], Any]


class _Mould:
    """Makes a thing anew with literals in the places of its blanks.

    A thing without blanks is shared; a thing that occurs twice is made once.
    """

    def __init__(self) -> None:
        self._known: dict[int, Filled | None] = {}
        self._kept: list[object] = []

    def of(self, thing: object) -> Filled | None:
        """The way to make a thing; None where it has no blank.

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

    def _made(self, thing: object) -> Filled | None:
        if isinstance(thing, UnreadLiteral):
            unread = thing
            return lambda filling: filling.literal(unread)
        if isinstance(thing, Blank):
            raise ValueNeededError
        if isinstance(thing, exp.Expr):
            if thing.find(Blank) is not None:
                raise ValueNeededError
            return None
        if isinstance(thing, tuple | list | frozenset):
            return self._several(type(thing), list(thing))
        if isinstance(thing, Mapping):
            if self._several(list, list(thing)) is not None:
                raise ValueNeededError
            names, values = list(thing), self._several(list, list(thing.values()))
            return None if values is None else lambda filling: dict(zip(names, values(filling), strict=True))
        if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
            kind = type(thing)
            return self._several(lambda parts: kind(*parts), [getattr(thing, name) for name in _fields(kind)])
        raise ValueNeededError

    def _several(self, kind: Callable[[list[Any]], Any], things: list[object]) -> Filled | None:
        changing = [(index, make) for index, make in enumerate(map(self.of, things)) if make is not None]
        if not changing:
            return None

        def filled(filling: Filling) -> Any:
            out = things.copy()
            for index, make in changing:
                out[index] = make(filling)
            return kind(out)

        return filled


@functools.cache
def _fields(kind: type) -> tuple[str, ...]:
    """The names of the fields of a data class."""
    return tuple(field.name for field in dataclasses.fields(kind))


def mould_of(things: Iterable[object]) -> list[Filled | None]:
    """The ways to make some things anew with other literals; None for one without blanks.

    Raises:
        ValueNeededError: one is of a kind that may hide a blank.
    """
    mould = _Mould()
    return [mould.of(thing) for thing in things]


def _once(make: Filled) -> Filled:
    """The same, made once for each statement."""

    def known(filling: Filling) -> Any:
        found = filling.done.get(known)
        if found is None:  # which nothing is that has a blank
            found = filling.done[known] = make(filling)
        return found

    return known


@dataclass(frozen=True)
class _Variant(Generic[Reading]):
    """One analysis.

    Attributes:
        groups: for each time that groups were worked out, the way to the rows and the keys, the outcome, and whether
            it is the same for other literals without working it out, as far as can be told.
        make: the way to the reading.
        reading: it, with its blanks.
        drafts: plans that were made of it with its blanks.
    """

    groups: tuple[tuple[Filled, list[PublicKeys], Callable[[Filling], bool]], ...]
    make: Filled | None
    reading: Reading
    drafts: dict[Hashable, Any] = field(default_factory=dict)

    def of(self, filling: Filling) -> Reading | None:
        """The reading of another statement; None where its groups, or the types of its literals, are other ones."""
        try:
            if all(
                untouched(filling) or _same(public_groups(*make(filling)), before)
                for make, before, untouched in self.groups
            ):
                return self.made(filling)
        except ValueNeededError:
            pass
        return None

    def made(self, filling: Filling) -> Reading:
        """The reading with other literals."""
        if self.make is None:
            return self.reading
        reading: Reading = self.make(filling)
        filling.forget(self.make)
        reading.memo["origin"] = Origin(self.reading, filling, self.drafts)
        return reading


@dataclass(frozen=True, eq=False)
class Origin(Generic[Reading]):
    """The way in which a reading was filled.

    Attributes:
        blank: it, with its blanks.
        filling: the literals.
        drafts: plans that were made of that with blanks, for everybody who plans it.
    """

    blank: Reading
    filling: Filling
    drafts: dict[Hashable, Any]


class Analyses(Generic[Reading]):
    """The analyses of the statements of one template over one catalog.

    Args:
        template: of the statements.
    """

    def __init__(self, template: Template) -> None:
        self._template = template
        self._variants: tuple[_Variant[Reading], ...] = ()
        self._failed = 0

    def reading(
        self, literals: Sequence[str], analyse: Callable[[exp.Query, Groups], Reading]
    ) -> Reading | None:
        """The reading of a statement; None where it has to be analysed by itself.

        Args:
            literals: of the statement.
            analyse: reads a statement, with a function that works groups out.

        Raises:
            QueryRefused: by `analyse`.
        """
        if self._failed >= MOST_FAILURES:
            return None
        filling = Filling([literal_node(literal) for literal in literals])
        try:
            return self._known(filling) or self._new(filling, analyse)
        except QueryRefused:
            raise
        except (ValueNeededError, Exception):  # where a text was expected, a blank may raise anything
            self._failed += not self._variants
            return None

    def _known(self, filling: Filling) -> Reading | None:
        for variant in self._variants:
            found = variant.of(filling)
            if found is not None:
                return found
        return None

    def _new(self, filling: Filling, analyse: Callable[[exp.Query, Groups], Reading]) -> Reading:
        mould = _Mould()
        noted: list[tuple[Filled, list[PublicKeys], Callable[[Filling], bool]]] = []

        def groups(relation: Relation, keys: Sequence[Expression]) -> list[PublicKeys]:
            make = mould.of((relation, tuple(keys)))
            if make is None:
                return public_groups(relation, keys)
            found = public_groups(*make(filling))
            noted.append((make, found, _untouched(relation, keys, filling)))
            return found

        blanks = [blank(place, literal) for place, literal in enumerate(filling.literals)]
        reading = analyse(self._template.with_nodes(blanks), groups)
        variant = _Variant(tuple(noted), mould.of(reading), reading)
        if sum(len(block.groups) for _, found, _ in noted for block in found) <= MOST_GROUPS:
            self._variants = (variant, *self._variants[: MOST_VARIANTS - 1])
        return variant.made(filling)


def _untouched(relation: Relation, keys: Sequence[Expression], filling: Filling) -> Callable[[Filling], bool]:
    """A check whether other literals certainly give the same groups; it says no where that cannot be told."""
    # Where a literal was expected, a blank may raise anything; ValueNeededError is no Exception.
    with contextlib.suppress(ValueNeededError, Exception):
        found = untouched_groups(relation, keys)
        fill = None if found is None else _Mould().of(found.conditions)
        if found is not None and fill is not None and found.hold(fill(filling)):
            return lambda other: found.hold(fill(other))
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
