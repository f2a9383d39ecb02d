"""The needs of one scope from the statement around it: the scopes inside it are split by the same rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.release.noisy_schema import aggregate_name
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.keys import Key
from discreet.sql.algebra.relation import Rows
from discreet.sql.algebra.released import ReleasedTable
from discreet.sql.analyze.aggregates.aggregate import Request
from discreet.sql.expressions.expression import Column

if TYPE_CHECKING:
    import pyarrow as pa


OVER_GROUPS = "over_groups"
"""The note at a node that stands for a sub-query: the same over noisy tables, where it needs no private row."""


@dataclass(frozen=True)
class Given:
    """A table of released numbers as the rows around it see it.

    Attributes:
        table: the table.
        columns: its columns by the names that the question has for them.
    """

    table: ReleasedTable
    columns: Mapping[str, Column]


@dataclass(frozen=True)
class Public:
    """A scope without private rows: the node that is left in the statement."""

    node: exp.Expr
    definition: exp.Expr | None = None


Scope: TypeAlias = Rows | Public
Env: TypeAlias = Mapping[str, Scope]
"""The tables of WITH that can be named here."""


@dataclass
class Draft:
    """A release before its measures are chosen and its epsilon is shared out."""

    name: str
    rows: Rows
    keys: tuple[Key, ...]
    place: exp.Expr
    requests: list[Request] = field(default_factory=list)

    @property
    def unknown(self) -> bool:
        """Whether its groups must be found."""
        return not all(key.public for key in self.keys)

    def column(self, request: Request) -> exp.Column:
        """The column of the noisy table that answers a request."""
        if request not in self.requests:
            self.requests.append(request)
        return exp.column(aggregate_name(self.requests.index(request)), table=self.name)


class Splitting(Protocol):
    """The statement that is split.

    Attributes:
        text: of the statement.
        catalog: the tables.
        unknown_keys: whether groups may be found whose keys are not public, which takes a delta.
        drafts: the releases that were cut out, in the order in which they were found.
        inner_queries: how many sub-queries of the rows of a unit were joined so far.
    """

    text: str
    catalog: Catalog
    unknown_keys: bool
    drafts: list[Draft]
    inner_queries: int

    def refuse(self, node: exp.Expr | None, cause: str, fix: str) -> QueryRefused:
        """The refusal that points at a part of this statement."""

    def query(self, node: exp.Expr, outer: Env) -> Scope:
        """Split a query; its public parts are rewritten in place."""

    def source(self, node: exp.Expr, env: Env) -> Scope:
        """Split a source of FROM."""

    def split_inner(self, node: exp.Expr, env: Env, skip: Set[str] = frozenset()) -> None:
        """Split the sub-queries inside the expressions of a public scope."""

    def evaluate(self, node: exp.Expr, env: Env) -> pa.Table:
        """The rows of a public sub-query, which must not wait for a release."""

    def once(self, query: exp.Query, env: Env) -> Scope:
        """Split a sub-query of an expression; the same one twice, such as in each of several groupings, is one."""

    def place(self) -> tuple[int, int]:
        """How far the statement was split, for `back_to`."""

    def back_to(self, place: tuple[int, int]) -> None:
        """Forget all that was split since then."""

    def given(self, node: exp.Expr, env: Env, asked: exp.Expr) -> Given | None:
        """The table of released numbers that a public sub-query will be; None where it waits for no release."""

    def columns_of(self, source: exp.Expr, env: Env) -> Collection[str] | None:
        """The columns of a table in FROM, in lower case; None of anything else, or where it is not known."""
