"""A statement while it is split into scopes: the scopes that were found, and what may be asked of the splitter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.release.noisy_schema import aggregate_name
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.keys import Key
from discreet.sql.algebra.relation import Rows
from discreet.sql.analyze.aggregates import Request

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Public:
    """A scope without private rows: what is left in the statement."""

    node: exp.Expr
    definition: exp.Expr | None = None


Scope: TypeAlias = Rows | Public
Env: TypeAlias = Mapping[str, Scope]


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


class Posted(Protocol):
    """A release scope that was read."""

    def post(self) -> exp.Select:
        """The SELECT over the noisy table that takes its place."""


class Statement(Protocol):
    """The splitter of a statement, as its scopes use it."""

    @property
    def text(self) -> str:
        """As the analyst wrote it."""

    @property
    def catalog(self) -> Catalog:
        """The tables that it may refer to."""

    @property
    def unknown_keys(self) -> bool:
        """Whether groups may be found whose keys are not public."""

    @property
    def drafts(self) -> list[Draft]:
        """The releases that were cut out, in the order in which they were found."""

    def refuse(self, node: exp.Expr | None, cause: str, fix: str) -> QueryRefused:
        """The refusal that points at a part of the statement."""

    def query(self, node: exp.Expr, outer: Env) -> Scope:
        """Split a query."""

    def source(self, node: exp.Expr, env: Env) -> Scope:
        """Split what stands in FROM."""

    def released(self, scope: Posted) -> Public:
        """Leave the noisy table in the place of a release."""

    def evaluate(self, node: exp.Expr, env: Env) -> pa.Table:
        """The rows of a public sub-query."""

    def split_inner(self, node: exp.Expr, env: Env) -> None:
        """Split the sub-queries inside the expressions of a public scope."""
