"""Cuts the releases out of a statement: each becomes an unplanned release, and a noisy table in its place.

The tree of scopes says which they are. The rest of the statement is ordinary SQL over noisy and public tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import PostProcessingError, QueryRefused
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.public_groups import Groups, public_groups
from discreet.sql.algebra.released import released_tables
from discreet.sql.analyze.classify import Classifier
from discreet.sql.analyze.distinct_on import number_rows
from discreet.sql.analyze.own_functions import write_out
from discreet.sql.analyze.public_values import evaluated, standing_alone
from discreet.sql.analyze.release_scope import ReleaseReader, UnplannedRelease
from discreet.sql.analyze.scope_tree import (
    Env,
    Given,
    PrivateScope,
    PublicScope,
    ReleaseScope,
    Scope,
    left_in_place,
)
from discreet.sql.functions.names import varying
from discreet.sql.syntax import rewrites
from discreet.sql.syntax.nodes import copied, every, holds
from discreet.sql.syntax.once import once, shared
from discreet.sql.syntax.parse import parse
from discreet.sql.syntax.post_processing.weeks import count_mondays
from discreet.sql.syntax.refusal import refuse

if TYPE_CHECKING:
    import pyarrow as pa

REWRITES: Mapping[type[exp.Expr], Callable[[exp.Query], None]] = {
    exp.DateDiff: count_mondays,
    exp.Anonymous: write_out,
    exp.Distinct: number_rows,
}
"""The rewrites of forms that DuckDB reads otherwise, by the kind of node in which each shows."""


class Splitter:
    """Splits one statement.

    Args:
        text: of the statement.
        catalog: the tables.
        unknown_keys: whether groups may be found whose keys are not public, which takes a delta.
        groups: the groups that private rows can have.
        before: how many releases other statements have that are answered together with this one.

    Attributes:
        releases: the releases that were cut out, in the order in which they were found.
    """

    def __init__(
        self,
        text: str,
        catalog: Catalog,
        unknown_keys: bool = False,
        before: int = 0,
        groups: Groups = public_groups,
    ) -> None:
        self.text = text
        self.catalog = catalog
        self.groups = groups
        self.unknown_keys = unknown_keys
        self.before = before
        self.releases: list[UnplannedRelease] = []
        self._rests: dict[int, tuple[Scope, exp.Expr]] = {}  # with the scope, so that its id stays its own
        self._given: dict[str, Given] = {}

    def tree(self, statement: exp.Query) -> Scope:
        """The tree of the scopes of a statement."""
        return Classifier(self.text, self.catalog, self).tree(statement)

    def split(self, statement: exp.Query) -> exp.Query:
        """Cut the releases out of a statement and return the post-processing that is left.

        Raises:
            QueryRefused: some part of it cannot be answered with a guarantee.
        """
        scope = self.tree(statement)
        if isinstance(scope, PrivateScope):
            whole = parse(self.text)
            better = rewrites.without_units(whole, _unit_names(self.catalog))
            raise self.refuse(whole, "This query returns rows of a private table.",
                              f"Leave the unit out of the groups: {better}" if better else
                              "Aggregate them, for instance SELECT COUNT(*) FROM …")  # fmt: skip
        post = self.rest(scope)
        assert isinstance(post, exp.Query)
        self.releases = _read_by(post, self.releases)
        return _post_processing(shared(post))

    def refuse(self, node: exp.Expr | None, cause: str, fix: str) -> QueryRefused:
        """The refusal that points at a part of this statement."""
        return refuse(node, self.text, cause, fix)

    def rest(self, scope: Scope) -> exp.Expr:
        """The rest of a scope, in its place in the statement, when the releases in it are cut out, each once."""
        if id(scope) not in self._rests:
            self._tables(scope)
            found = self._cut(scope)
            self._rests[id(scope)] = scope, found
            if found is not scope.node:
                scope.node.replace(found)
        return self._rests[id(scope)][1]

    def given(self, scope: Scope, env: Env, asked: exp.Expr) -> Given | None:
        """The table of released numbers that a public scope will be; None where it waits for no release.

        Args:
            scope: of the sub-query.
            env: the tables of WITH that it may name.
            asked: the same as the analyst wrote it.

        Raises:
            QueryRefused: it may have several rows that one private row would find, or DuckDB refuses it.
        """
        from discreet.sql.analyze.subqueries.released_tables import given

        if not scope.released:
            return None
        for inner in env.values():
            if isinstance(inner, PublicScope):
                self.rest(inner)
        rest = self.rest(scope)
        alone = standing_alone(rest, env)
        text = alone.sql("duckdb", comments=False)
        if text in self._given:
            return self._given[text]
        moving = next(varying(alone), None)
        if moving is not None:
            raise self.refuse(asked, f"{moving} has another value each time, and private rows are compared with one "
                              "number, which is released first.", "Remove it.")  # fmt: skip
        try:
            found = given(
                alone, self.releases, self.catalog.public, len(self._given) + 1, asked.sql("duckdb")
            )
        except PostProcessingError as error:
            raise self.refuse(asked, error.cause, error.fix) from None
        if found is None:
            raise self.refuse(asked, "This sub-query may have more than one row.",
                              "Take one of them, with LIMIT 1 or an aggregate such as MAX; or look it up by all the "
                              "columns that it is grouped by.")  # fmt: skip
        self._given[text] = Given(*found, rest)
        return self._given[text]

    def _cut(self, scope: Scope) -> exp.Expr:
        if isinstance(scope, ReleaseScope):
            number = self.before + len(self.releases) + 1
            reader = ReleaseReader(
                scope, number, self.unknown_keys, self.refuse, self._constants, self.groups
            )
            self.releases.append(reader.unplanned)
            return reader.post(self.rest)
        for inner in scope.inside:
            self.rest(inner)
        return scope.node

    def _constants(self, query: exp.Query) -> pa.Table:
        return evaluated(left_in_place(query, []), {}, self.catalog, self.refuse)

    def _tables(self, scope: Scope) -> None:
        """Cut the tables of WITH; of those with private rows nothing is left."""
        for table in scope.tables:
            if isinstance(table, PrivateScope):
                definition = table.node.parent
                assert definition is not None
                definition.pop()
            else:
                self.rest(table)
        clause = scope.node.args.get("with_")
        if clause is not None and not clause.expressions:
            scope.node.set("with_", None)


def _read_by(post: exp.Expr, releases: list[UnplannedRelease]) -> list[UnplannedRelease]:
    """The releases that the post-processing reads, or that others of these are compared with.

    The rest are those of look-ups that turned out to be of another kind.
    """
    by_name = {release.name: release for release in releases}
    read: set[str] = set()
    open_ = [post]
    while open_:
        names = {
            node.name for node in every(open_.pop()) if isinstance(node, exp.Table)
        } & by_name.keys() - read
        read |= names
        for name in names:
            open_ += [table.query for table in released_tables([by_name[name].rows.relation]).values()]
    return [release for release in releases if release.name in read]


def _unit_names(catalog: Catalog) -> list[str]:
    """The columns that name units, or keys on the way to them, in lower case."""
    tables = catalog.private.values()
    keys = [column for table in tables for link in table.links for column in link.columns]
    return [table.own_unit for table in tables if table.own_unit] + keys


@once
def _post_processing(rest: exp.Query) -> exp.Query:
    """The rest of a statement, as DuckDB is to run it; the same tree for the same rest."""
    post = copied(rest)
    _make_limits_total(post)
    for kind, rewrite in REWRITES.items():
        if holds(post, kind):
            rewrite(post)
    return post


def _make_limits_total(post: exp.Query) -> None:
    """Let a LIMIT that is computed be no less than zero: noise may make it so, and DuckDB would then fail."""
    for part in list(post.find_all(exp.Limit, exp.Offset)):
        given = part.expression
        if isinstance(given, exp.Expr) and any(isinstance(n, exp.Query) for n in given.walk()):
            whole = exp.TryCast(this=given.copy(), to=exp.DataType.build("BIGINT"))
            zero = exp.Literal.number(0)
            known = exp.Coalesce(this=whole, expressions=[zero.copy()])
            part.set("expression", exp.Greatest(this=known, expressions=[zero], ignore_nulls=True))
