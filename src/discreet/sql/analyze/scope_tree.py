"""The tree of the scopes of a statement, which `classify` builds once and every later pass reads.

public    reads public tables only
above     reads releases, and perhaps public tables: it is left in the statement as post-processing
rows      filters and projects private rows, each of which still belongs to one unit
per unit  GROUP BY the unit: one row for each unit and group
release   aggregates private rows: `splitting` makes an unplanned release of it, and puts a noisy table in its place
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.records import dataclass, field
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.algebra.released import ReleasedTable
from discreet.sql.analyze.from_clause import FromClause
from discreet.sql.expressions.expression import Column

if TYPE_CHECKING:
    import pyarrow as pa

OVER_GROUPS = "over_groups"
"""The note at a node that stands for a sub-query: the same over noisy tables, where it needs no private row."""
NUMBER = "scope"
"""The mark of a sub-query of a release, which its copies bear, too: the number of its scope among those inside."""
WHOLE = "whole"
"""The mark of the whole statement: where its rows are private, that alone is said, and not that some are left out."""
Refuse: TypeAlias = Callable[[exp.Expr | None, str, str], QueryRefused]


class ScopeKind(Enum):
    """The class of a scope."""

    PUBLIC = "public"
    ABOVE = "above"
    ROWS = "rows"
    PER_UNIT = "per unit"
    RELEASE = "release"


@dataclass(frozen=True, eq=False, kw_only=True)
class Scope:
    """A query of the statement, or a source of FROM.

    Attributes:
        kind: its class.
        node: its place in the statement.
        sources: the scopes that it reads, by the names that they have in FROM.
        tables: the scopes of the tables of WITH, in their order.
        inside: the other scopes that stay in the statement as parts of this one, in the order in which they are read.
    """

    kind: ScopeKind
    node: exp.Expr
    sources: Mapping[str, Scope] = field(default_factory=dict)
    tables: Sequence[Scope] = ()
    inside: Sequence[Scope] = ()

    @property
    def released(self) -> bool:
        """Whether it has to wait for a release."""
        return self.kind in (ScopeKind.ABOVE, ScopeKind.RELEASE)

    def walk(self) -> Iterator[Scope]:
        """This scope and all that it is made of, each once, itself last."""
        seen: set[int] = set()

        def below(scope: Scope) -> Iterator[Scope]:
            if id(scope) not in seen:
                seen.add(id(scope))
                for inner in (*scope.tables, *scope.sources.values(), *scope.inside):
                    yield from below(inner)
                yield scope

        return below(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class PublicScope(Scope):
    """A scope that stays in the statement: public, or above releases.

    Attributes:
        definition: of a table of WITH, its definition.
    """

    definition: exp.Expr | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class PrivateScope(Scope):
    """A scope whose rows belong to units.

    Attributes:
        rows: the rows, with their columns and their unit.
    """

    rows: PrivateRows


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleaseScope(Scope):
    """A scope that aggregates private rows.

    Attributes:
        select: the SELECT.
        from_clause: the rows of FROM that WHERE leaves.
        groups: the expressions of GROUP BY that divide the rows.
        conditions: those of WHERE that keys and released numbers decide alone.
    """

    select: exp.Select
    from_clause: FromClause
    groups: Sequence[exp.Expr]
    conditions: Sequence[exp.Expr]

    def subquery(self, node: exp.Expr) -> Scope:
        """The scope of a sub-query of it, or of a copy of one."""
        number: int = node.meta[NUMBER]
        return self.inside[number]


@dataclass(frozen=True)
class Given:
    """A table of released numbers as the rows around it see it.

    Attributes:
        table: the table.
        columns: its columns by the names that the question has for them.
        query: the same numbers as a part of the post-processing.
    """

    table: ReleasedTable
    columns: Mapping[str, Column]
    query: exp.Expr


Env: TypeAlias = Mapping[str, Scope]
"""The tables of WITH that can be named here."""


def left_in_place(
    node: exp.Expr, inside: Sequence[Scope], sources: Mapping[str, Scope] | None = None
) -> PublicScope:
    """The scope of a query without private rows: public, or above the releases inside it."""
    sources = sources or {}
    waits = any(scope.released for scope in (*inside, *sources.values()))
    return PublicScope(
        kind=ScopeKind.ABOVE if waits else ScopeKind.PUBLIC, node=node, sources=sources, inside=inside
    )


class Scopes(Protocol):
    """The needs of one scope from the statement around it: the scopes inside it are classified by the same rules.

    Attributes:
        text: of the statement.
        catalog: the tables.
        public_numbers: of the joins with public tables.
        inner_numbers: of the sub-queries that are joined with rows of the same unit.
    """

    text: str
    catalog: Catalog
    public_numbers: Iterator[int]
    inner_numbers: Iterator[int]

    def refuse(self, node: exp.Expr | None, cause: str, fix: str) -> QueryRefused:
        """The refusal that points at a part of this statement."""

    def query(self, node: exp.Expr, outer: Env) -> Scope:
        """The scope of a query."""

    def once(self, query: exp.Expr, env: Env) -> Scope:
        """The scope of a copy of a query; the same one twice, such as in each of several groupings, is one."""

    def alone(self, query: exp.Expr, env: Env) -> Scope | None:
        """The same of a query that may read columns of the rows around it; None where it does."""

    def source(self, node: exp.Expr, env: Env) -> Scope:
        """The scope of a source of FROM."""

    def subquery(self, node: exp.Expr, env: Env) -> Scope:
        """The scope of a sub-query in an expression over groups or public rows."""

    def inside(self, node: exp.Expr, env: Env, skip: Set[str] = frozenset()) -> list[Scope]:
        """The scopes of the sub-queries in the expressions of a public scope, or of a release."""

    def evaluate(self, scope: Scope, env: Env) -> pa.Table:
        """The rows of a public scope, which must not wait for a release."""

    def given(self, scope: Scope, env: Env, asked: exp.Expr) -> Given | None:
        """The table of released numbers that a public scope will be; None where it waits for no release."""

    def rest(self, scope: Scope) -> exp.Expr:
        """The rest of a public scope, when the releases in it are cut out."""

    def columns_of(self, source: exp.Expr, env: Env) -> Collection[str] | None:
        """The columns of a table in FROM, in lower case; None of anything else, or where it is not known."""
