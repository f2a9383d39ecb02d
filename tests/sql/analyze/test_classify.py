"""The tree of the scopes of a statement: the class of each, its sources, its columns and its unit."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from benchmarks.corpus.data import HERE, load
from benchmarks.corpus.question import read
from sqlglot import exp
from tests.depth import DEEP, few
from tests.inside import catalog_of

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import QueryRefused
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.analyze.scope_tree import PrivateScope, ReleaseScope, Scope, ScopeKind
from discreet.sql.analyze.splitting import Splitter

TABLES = {
    "visits": pa.table({"patient": [1, 1, 2], "county": ["a", "b", "a"], "cost": [1.0, 2.0, 3.0]}),
    "counties": pa.table({"county": ["a", "b"], "people": [10, 20]}),
}
DECLARED: dict[str, Any] = {
    "budget": {"epsilon": 1},
    "tables": {
        "visits": {
            "privacy_unit": "patient",
            "max_rows": 2,
            "columns": {"county": {"keys": "counties.county"}, "cost": {"bounds": (0, 9)}},
        },
        "counties": {"public": True},
    },
}
PUBLIC, ABOVE, ROWS, PER_UNIT, RELEASE = (
    ScopeKind.PUBLIC,
    ScopeKind.ABOVE,
    ScopeKind.ROWS,
    ScopeKind.PER_UNIT,
    ScopeKind.RELEASE,
)
CLASSES = {
    "SELECT 1": [PUBLIC],
    "SELECT people FROM counties": [PUBLIC],
    "SELECT cost FROM visits": [ROWS],
    "SELECT * FROM visits JOIN counties USING (county)": [ROWS],
    "SELECT DISTINCT patient FROM visits": [ROWS],
    "SELECT patient FROM visits UNION SELECT patient FROM visits": [ROWS, ROWS, ROWS],
    "SELECT patient, SUM(cost) AS s FROM visits GROUP BY patient": [PER_UNIT],
    "SELECT COUNT(*) FROM visits": [RELEASE],
    "SELECT county, COUNT(*) FROM visits GROUP BY 1": [RELEASE],
    "SELECT DISTINCT county FROM visits": [RELEASE],
    "SELECT 1 FROM visits HAVING COUNT(*) > 1": [RELEASE],
    "SELECT AVG(s) FROM (SELECT patient, SUM(clamp(cost, 0, 9)) AS s FROM visits GROUP BY patient)": [
        PER_UNIT,
        RELEASE,
    ],
    "SELECT n + 1 FROM (SELECT COUNT(*) AS n FROM visits)": [RELEASE, ABOVE],
    "WITH r AS (SELECT COUNT(*) AS n FROM visits) SELECT n FROM r, counties": [RELEASE, ABOVE],
    "WITH p AS (SELECT people FROM counties) SELECT COUNT(*) FROM visits, p": [PUBLIC, RELEASE],
    "SELECT people FROM counties WHERE people > (SELECT COUNT(*) FROM visits)": [RELEASE, ABOVE],
    "SELECT COUNT(*) FROM visits UNION ALL SELECT people FROM counties": [RELEASE, PUBLIC, ABOVE],
    "SELECT county, COUNT(*), (SELECT COUNT(*) FROM visits) FROM visits GROUP BY county": [RELEASE, RELEASE],
    "SELECT county, COUNT(*) FROM visits GROUP BY ROLLUP (county)": [RELEASE, RELEASE, ABOVE, ABOVE],
    "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)": [RELEASE],
}


def catalog_() -> Catalog:
    engine = DuckDBEngine.open(TABLES)
    return Catalog.build(dp.Policy(**DECLARED), engine.schema(), {"counties": TABLES["counties"]})


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return catalog_()


def parsed(text: str) -> exp.Query:
    statement = sqlglot.parse_one(text, read="duckdb")
    assert isinstance(statement, exp.Query)
    return statement


def tree(text: str, catalog: Catalog) -> tuple[Scope, Splitter]:
    splitter = Splitter(text, catalog)
    return splitter.tree(parsed(text)), splitter


def queries(scope: Scope) -> list[Scope]:
    """The scopes of SELECT and of set operations, from the inside out."""
    return [one for one in scope.walk() if _is_query(one) and getattr(one, "definition", None) is None]


def _is_query(scope: Scope) -> bool:
    wrapped = isinstance(scope, PrivateScope) and isinstance(scope.node, exp.Subquery)
    return wrapped or isinstance(scope.node, exp.Select | exp.SetOperation)


@pytest.mark.parametrize("text", CLASSES)
def test_the_class_of_every_scope(text: str, catalog: Catalog) -> None:
    found = [one.kind for one in queries(tree(text, catalog)[0])]
    assert sorted(kind.value for kind in found) == sorted(kind.value for kind in CLASSES[text])
    assert found[-1] is CLASSES[text][-1], "the whole statement comes last"


def test_nothing_is_cut_out_and_the_statement_stays_while_the_tree_is_built(catalog: Catalog) -> None:
    for text in CLASSES:
        statement = parsed(text)
        splitter = Splitter(text, catalog)
        scope = splitter.tree(statement)
        assert statement == parsed(text)
        if "AVG(cost)" not in text:  # a number that rows are compared with is one of their columns
            assert splitter.releases == []
            assert not any("__release" in table.name for table in scope.node.find_all(exp.Table))


def test_a_number_that_rows_are_compared_with_is_cut_out_before_they_are_read(catalog: Catalog) -> None:
    text = "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)"
    scope, splitter = tree(text, catalog)
    assert isinstance(scope, ReleaseScope)
    assert [release.name for release in splitter.releases] == ["__release_1"]


def test_sources_columns_and_unit(catalog: Catalog) -> None:
    scope, _ = tree("SELECT patient AS p, cost FROM visits AS v JOIN counties AS c USING (county)", catalog)
    assert isinstance(scope, PrivateScope)
    assert {name: one.kind for name, one in scope.sources.items()} == {"v": ROWS, "c": PUBLIC}
    assert scope.rows.names == ("p", "cost")
    assert scope.rows.units == {"p"}
    inner, _ = tree("SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient", catalog)
    assert isinstance(inner, PrivateScope)
    assert inner.rows.names == ("patient", "n")
    assert inner.rows.units == {"patient"}
    assert inner.rows.max_rows == 1
    release, _ = tree("SELECT county, COUNT(*) FROM visits GROUP BY 1", catalog)
    assert isinstance(release, ReleaseScope)
    assert [node.sql() for node in release.groups] == ["county"]


def test_a_table_of_with_is_one_scope_however_often_it_is_named(catalog: Catalog) -> None:
    text = "WITH r AS (SELECT COUNT(*) AS n FROM visits) SELECT a.n FROM r AS a, r AS b WHERE a.n > (SELECT n FROM r)"
    scope, splitter = tree(text, catalog)
    assert sum(one.kind is RELEASE for one in scope.walk()) == 1
    splitter.split(parsed(text))
    assert len(splitter.releases) == 1


def test_the_classes_of_analysts_questions_agree_with_their_shape() -> None:
    """Beside the tree an independent reading of the text: which tables it names, and whether it aggregates."""
    folder = HERE / "library"
    catalog = catalog_of(load(folder).session)
    seen = 0
    for question in few(read(folder), 24):  # a deep run: all, which are of the same kinds
        splitter = Splitter(question.sql, catalog, unknown_keys=True)
        statement = parsed(question.sql)
        try:
            scope = splitter.tree(statement)
        except QueryRefused:
            continue
        seen += 1
        for one in scope.walk():
            names = {table.name.lower() for table in one.node.find_all(exp.Table)}
            if one.kind is PUBLIC:
                assert not names & catalog.private.keys(), question.sql
            if one.kind in (ROWS, PER_UNIT):
                assert isinstance(one, PrivateScope)
            if isinstance(one, ReleaseScope):
                assert any(source.kind in (ROWS, PER_UNIT) for source in one.sources.values()), question.sql
    assert seen > (20 if DEEP else 12)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM LATERAL (SELECT * FROM visits) AS l",
        "SELECT * FROM counties, LATERAL (SELECT cost FROM visits WHERE county = counties.county) AS l",
        "WITH v AS (SELECT * FROM visits) SELECT * FROM counties AS c, "
        "LATERAL (SELECT cost FROM v WHERE v.county = c.county) AS l",
    ],
)
def test_lateral_over_private_rows_is_refused_by_name_wherever_it_stands(text: str, catalog: Catalog) -> None:
    with pytest.raises(QueryRefused, match="LATERAL over private rows"):
        tree(text, catalog)


def test_lateral_over_a_public_table_of_with_may_have_the_name_of_a_private_one(catalog: Catalog) -> None:
    text = "WITH visits AS (SELECT people AS p FROM counties) SELECT p FROM counties, LATERAL (SELECT p FROM visits)"
    assert tree(text, catalog)[0].kind is PUBLIC


def test_planted_a_scope_that_is_cut_out_while_it_is_classified_is_found(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.sql.analyze import classify

    real = classify.Classifier._select

    def eager(self: classify.Classifier, node: exp.Select, env: object) -> Scope:
        scope = real(self, node, env)  # type: ignore[arg-type]
        if isinstance(scope, ReleaseScope):
            self.releases.rest(scope)
        return scope

    monkeypatch.setattr(classify.Classifier, "_select", eager)
    with pytest.raises(AssertionError):
        test_nothing_is_cut_out_and_the_statement_stays_while_the_tree_is_built(catalog)
