"""The SQL of a release, written once for all arguments of its template.

The query of a generic release is written with the numbers of its parameters. An argument may be put there that equals
no other literal of the query: one that does is in the text between the numbers, or in the place of another number, in
the same letters. For such a one the query is written by itself, as equal parts of a query are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Final, Generic, TypeVar

from discreet.records import dataclass
from discreet.sql.expressions.dialect import Dialect
from discreet.sql.expressions.expression import Literal
from discreet.sql.expressions.numbered_parameter import EDGE
from discreet.sql.expressions.parameter import Parameter
from discreet.sql.plan.generic.generic_plan import ReleaseOrigin, origin_of
from discreet.sql.plan.generic.generic_reading import Arguments
from discreet.sql.plan.plan import PlannedRelease
from discreet.sql.syntax.parameters.parameter_node import ValueNeededError

Tables = TypeVar("Tables")
MOST: Final = 64
"""How many queries of a generic release are kept."""


@dataclass(frozen=True, eq=False)
class QueryTemplate(Generic[Tables]):
    """A query with parameters.

    Attributes:
        pieces: the text between them.
        order: the numbers of the parameters, in the order of the text.
        parameters: by their numbers.
        tables: everything beside the text; no argument matters to it.
    """

    pieces: tuple[str, ...]
    order: tuple[int, ...]
    parameters: tuple[Parameter, ...]
    tables: Tables

    @cached_property
    def between(self) -> str:
        """All pieces."""
        return EDGE.join(self.pieces)

    def with_arguments(self, arguments: Arguments, dialect: Dialect) -> str | None:
        """The query with some arguments; None where one of them equals another literal of the query."""
        literals = [arguments.literal(parameter) for parameter in self.parameters]
        texts = [literal.spelled(dialect) for literal in literals]
        if len(set(texts)) < len(texts) or any(map(_spelled_twice, literals)):
            return None
        if any(text in self.between for text in texts):
            return None
        out = [self.pieces[0]]
        for number, piece in zip(self.order, self.pieces[1:], strict=True):
            out += [texts[number], piece]
        return "".join(out)


def _spelled_twice(literal: Literal) -> bool:
    """Whether an equal literal of its type is written in other letters: 0.0 equals -0.0."""
    return isinstance(literal.value, float) and literal.value == 0


def from_template(
    release: PlannedRelease,
    key: Hashable,
    dialect: Dialect,
    write: Callable[[PlannedRelease], tuple[str, Tables]],
) -> tuple[str, Tables] | None:
    """The query of a release, from its template; None where it is to be written by itself.

    Args:
        release: the plan.
        key: everything beside the release and the dialect that the query depends on.
        dialect: of the engine.
        write: writes the query.
    """
    origin = origin_of(release)
    if origin is None or dialect.named_arguments:  # which looks at the lengths of literals
        return None
    known: dict[Hashable, QueryTemplate[Tables] | tuple[()]] = origin.generic.memo.setdefault("templates", {})
    own = (dialect.name, key)
    template = known.get(own)  # another thread may clear it at any time
    if template is None:
        if len(known) >= MOST:
            known.clear()
        template = known[own] = _template_of(origin, write)
    if not template:
        return None
    try:
        sql = template.with_arguments(origin.arguments, dialect)
    except ValueNeededError:
        return None
    return None if sql is None else (sql, template.tables)


def _template_of(
    origin: ReleaseOrigin, write: Callable[[PlannedRelease], tuple[str, Tables]]
) -> QueryTemplate[Tables] | tuple[()]:
    """The query of a generic release; nothing where an argument matters to it."""
    try:
        numbered, written = origin.numbered()
        text, tables = write(numbered)
        pieces = text.split(EDGE)
        return QueryTemplate(tuple(pieces[::2]), tuple(map(int, pieces[1::2])), tuple(written), tables)
    except (ValueNeededError, Exception):  # where a value was expected, a parameter may raise anything
        return ()
