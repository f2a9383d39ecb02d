"""Relations over bands: their columns, and the state while one SELECT of them is rewritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from sqlglot import exp

from discreet.records import dataclass
from discreet.release.noisy_schema import ENDS
from discreet.sql.expressions.dialect import quote
from discreet.sql.intervals.bands import curvature
from discreet.sql.intervals.bands.expressions import Arithmetic, Ends, Number, Role

Made = TypeVar("Made")
SURE, FAN, ROW = "__sure", "__fan", "__number"


class NoBandsError(Exception):
    """This statement has a form whose bands are not known."""


@dataclass(frozen=True)
class BandColumn:
    """A column of a relation.

    Attributes:
        name: its name.
        noisy: whether the noise can change it.
        bent: whether noise selects or folds on the way to it.
        single: whether each of its values is made of one noisy number.
        curve: how it bends in the noisy numbers, see `curvature`.
        of: the aggregates that it is made of, each with its noisy table.
        plain: whether it is one of them, unchanged.
        role: as of `Ends`.
    """

    name: str
    noisy: bool = False
    bent: bool = False
    single: bool = False
    curve: str = curvature.UNKNOWN
    of: frozenset[Number] = frozenset()
    plain: bool = False
    role: Role | None = None


@dataclass(frozen=True)
class Relation:
    """A query over bands.

    Attributes:
        name: of its CTE.
        columns: those that it shows.
        certain: whether no noise decides which rows are there.
        local: whether each row is made of groups that no other row is made of.
        from_noisy: whether anything in it comes from a noisy table.
        first_by: where its rows are the first of rows that no noise decides, the column that orders them, and whether
            the greatest come first.
    """

    name: str
    columns: tuple[BandColumn, ...]
    certain: bool = True
    local: bool = True
    from_noisy: bool = False
    first_by: tuple[str, bool] | None = None


class Statement(Protocol):
    """The statement that a SELECT stands in."""

    def query(self, node: exp.Expr, known: Mapping[str, Relation]) -> Relation:
        """One query."""

    def source(self, node: exp.Expr, known: Mapping[str, Relation]) -> tuple[str, Relation]:
        """A table, CTE or sub-query of a FROM clause, and the name that it goes by."""

    def add(self, sql: str) -> str:
        """A CTE of the statement; its name."""


class BandScope:
    """One SELECT over bands while it is rewritten.

    Attributes:
        bands: the statement.
        node: the SELECT.
        known: the relations that can be named.
        sources: those of FROM, by the name that they go by.
        arithmetic: the ends of its expressions.
        local: whether each of its rows is made of groups that no other row is made of.
        grouped: whether expressions are of groups.
        sure: SQL that says whether a row is there surely.
        certain: whether no noise decides which rows are there.
    """

    bands: Statement
    node: exp.Select
    known: Mapping[str, Relation]
    sources: dict[str, Relation]
    arithmetic: Arithmetic
    local: bool
    grouped: bool
    sure: str
    certain: bool

    def plain(self, node: exp.Column) -> bool:
        """Whether a column is an unchanged noisy number."""
        found = [
            shown.plain for source, relation in self.sources.items() if node.table.lower() in ("", source)
            for shown in relation.columns if shown.name.lower() == node.name.lower()
        ]  # fmt: skip
        return found == [True]

    def plainly(self, make: Callable[[], Made]) -> Made:
        """Read the inside of an aggregate: it is of the rows, where aggregates mean nothing."""
        before, self.grouped = self.grouped, False
        try:
            return make()
        finally:
            self.grouped = before


def column_ends(source: str, shown: BandColumn) -> Ends:
    """The ends of a column of a source."""
    place = f"{quote(source)}."
    if not shown.noisy:
        own = place + quote(shown.name)
        return Ends(own, own)
    low, high = [place + quote(shown.name + end) for end in ENDS]
    only = low if shown.single else ""
    return Ends(low, high, True, shown.bent, only, shown.curve, shown.of, shown.role)
