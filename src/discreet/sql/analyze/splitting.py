"""The needs of one scope from the statement around it: the scopes inside it are split by the same rules."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.release.noisy_schema import aggregate_name
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.keys import Key
from discreet.sql.algebra.relation import Rows
from discreet.sql.analyze.aggregates.aggregate import Request

if TYPE_CHECKING:
    import pyarrow as pa


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
    """

    text: str
    catalog: Catalog
    unknown_keys: bool
    drafts: list[Draft]

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
