"""The SQL of a release, written once for all literals of its shape.

The query of a draft is written with marks in the places of its blanks. A literal may be put there that equals no other
literal of the query: one that does is in the text between the marks, or behind another mark, in the same letters. For
such a one the query is written by itself, as equal parts of a query are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Final, Generic, TypeVar

from discreet.records import dataclass
from discreet.sql.expressions.dialect import Dialect
from discreet.sql.expressions.expression import Literal
from discreet.sql.expressions.marked import EDGE
from discreet.sql.expressions.unread import UnreadLiteral
from discreet.sql.plan.drafts.alike import Filling
from discreet.sql.plan.drafts.draft import ReleaseTemplate, draft_of
from discreet.sql.plan.plan import PlannedRelease
from discreet.sql.syntax.alike.blanks import ValueNeededError

Tables = TypeVar("Tables")
MOST: Final = 64
"""How many queries of a draft are kept."""


@dataclass(frozen=True, eq=False)
class Template(Generic[Tables]):
    """A query with marks.

    Attributes:
        pieces: the text between them.
        order: the numbers of the marks, in the order of the text.
        blanks: by the number of the mark.
        tables: everything beside the text; no literal matters to it.
    """

    pieces: tuple[str, ...]
    order: tuple[int, ...]
    blanks: tuple[UnreadLiteral, ...]
    tables: Tables

    @cached_property
    def between(self) -> str:
        """All pieces."""
        return EDGE.join(self.pieces)

    def filled(self, filling: Filling, dialect: Dialect) -> str | None:
        """The query with some literals; None where one of them equals another one of the query."""
        literals = [filling.literal(blank) for blank in self.blanks]
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


def filled_in(
    release: PlannedRelease,
    key: Hashable,
    dialect: Dialect,
    write: Callable[[PlannedRelease], tuple[str, Tables]],
) -> tuple[str, Tables] | None:
    """The query of a release, from that of its draft; None where it is to be written by itself.

    Args:
        release: the plan.
        key: everything beside the release and the dialect that the query depends on.
        dialect: of the engine.
        write: writes the query.
    """
    draft = draft_of(release)
    if draft is None or dialect.named_arguments:  # which looks at the lengths of literals
        return None
    known: dict[Hashable, Template[Tables] | tuple[()]] = draft.blank.memo.setdefault("templates", {})
    own = (dialect.name, key)
    template = known.get(own)  # another thread may clear it at any time
    if template is None:
        if len(known) >= MOST:
            known.clear()
        template = known[own] = _template_of(draft, write)
    if not template:
        return None
    try:
        filled = template.filled(draft.filling, dialect)
    except ValueNeededError:
        return None
    return None if filled is None else (filled, template.tables)


def _template_of(
    draft: ReleaseTemplate, write: Callable[[PlannedRelease], tuple[str, Tables]]
) -> Template[Tables] | tuple[()]:
    """The query of a draft with marks; nothing where a literal matters to it."""
    try:
        marked, marks = draft.marked()
        text, tables = write(marked)
        pieces = text.split(EDGE)
        return Template(tuple(pieces[::2]), tuple(map(int, pieces[1::2])), tuple(marks), tables)
    except (ValueNeededError, Exception):  # where a literal was expected, a mark may raise anything
        return ()
