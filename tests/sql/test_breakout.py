"""An analyst tries to get out: to files, settings, the environment, other tables, and above all to the rows.

Whatever is tried is refused, or answered from noisy and public tables at its full price. Watched are the three doors:
what the sandbox is given, when the engine is asked, and what is said. There is no chance of a false alarm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import inside

import discreet as dp
from discreet.engines.engine import Engine
from discreet.engines.sandbox import Sandbox
from discreet.engines.sources import open_source
from discreet.errors import DiscreetError, QueryRefused
from discreet.ledger import open_ledger
from discreet.policy import Policy
from discreet.release.draw import Draw
from discreet.session.session import Session
from discreet.sql.finish import postprocess
from discreet.sql.intervals.simulation import repeated
from discreet.sql.lower.uses import uses_of
from discreet.sql.syntax import nodes
from discreet.sql.syntax.looking import INFORMATION
from discreet.sql.syntax.parse import looks_around

SECRET, NUMBER = "the-secret", 987_654_321
ROWS = pa.table({
    "u": [1, 1, 2, NUMBER], "age": [31, 32, NUMBER, 47], "note": ["a", SECRET, "b", SECRET], "c": ["x", "y",
    "x", SECRET],
})  # fmt: skip
PUBLIC = pa.table({"c": ["x", "y"], "w": [1, 2]})
DECLARED: dict[str, Any] = {
    "budget": 10_000,
    "tables": {
        "visits": {
            "privacy_unit": "u", "max_rows": 2, "columns": {"age": {"bounds": (0, 120)}, "c": {"keys": "pub.c"}},
        },
        "pub": {"public": True},
    },
}  # fmt: skip
secret_frame = ROWS


class Watch:
    """A session whose doors are watched.

    Attributes:
        seen: what went wrong.
    """

    def __init__(self, patch: pytest.MonkeyPatch, file: Path, engine: Engine) -> None:
        self.seen: list[str] = []
        self.file = file
        self.session = Session(engine, Policy(**DECLARED), open_ledger(None))
        ledger = self.session.ledger
        integers, opened = engine.integers, Sandbox.__init__
        self.charges = 0

        def asked(sql: str, tables: Mapping[str, pa.Table] = {}) -> pa.Table:
            if len([e for e in ledger.entries() if e.kind == "charge"]) == self.charges:
                self.seen.append("the engine was asked before the charge")
            return integers(sql, tables)

        def given(box: Sandbox, tables: Mapping[str, pa.Table]) -> None:
            for name, table in tables.items():
                known = name in ("pub", "p", "__draws", "__answer", *INFORMATION) or name.startswith(
                    "__release_"
                )
                if not known or holds_a_secret(table.to_pydict()):
                    self.seen.append(f"the sandbox was given {name}")
            opened(box, tables)

        patch.setattr(engine, "integers", asked)
        patch.setattr(Sandbox, "__init__", given)

    def ask(self, sql: str) -> tuple[Any, list[str]]:
        """Ask, and return the answer or the error, and what went wrong."""
        self.seen.clear()
        before = self.session.budget.spent
        self.charges = len([e for e in self.session.ledger.entries() if e.kind == "charge"])
        answer: Any
        try:
            release = self.session.sql(sql, epsilon=1)
            answer = release
            if holds_a_secret([release.to_dict(), repr(release), release._repr_html_(), release.card()]):
                self.seen.append("the answer holds a secret")
            cost = self.session.budget.spent - before
            if cost != release.epsilon:
                self.seen.append("the price is not the one that is shown")
        except DiscreetError as error:
            answer = error
            chain = [error, error.__cause__, error.__context__]
            if holds_a_secret([str(e) for e in chain if e is not None]) and SECRET not in sql:
                self.seen.append("the error holds a secret")
            if isinstance(error, QueryRefused) and self.session.budget.spent != before:
                self.seen.append("a refusal was charged")
        return answer, list(self.seen)


def holds_a_secret(value: object) -> bool:
    text = str(value)
    return SECRET in text or str(NUMBER) in text.replace(",", "")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with closing(open_source({"visits": ROWS, "pub": PUBLIC}, public=["pub"])) as opened:
        yield opened


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, engine: Engine) -> Watch:
    file = tmp_path / "secret.parquet"
    pq.write_table(ROWS, file)
    monkeypatch.setenv("DISCREET_SECRET", SECRET)
    return Watch(monkeypatch, file, engine)


OUTSIDE = [
    "SELECT * FROM '{file}'", "SELECT * FROM \"{file}\"", "FROM '{file}'", "SELECT * FROM read_parquet('{file}')",
    "SELECT COUNT(*) FROM parquet_scan('{file}')", "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM read_blob('{file}')", "SELECT * FROM glob('{folder}/*')", "SELECT * FROM READ_PARQUET('{file}')",
    "SELECT * FROM \"read_parquet\"('{file}')", "SELECT * FROM parquet_metadata('{file}')",
    "SELECT * FROM sniff_csv('{file}')",
    "SELECT w, (SELECT COUNT(*) FROM '{file}') AS n FROM pub", "SELECT * FROM pub JOIN '{file}' AS f ON true",
    "WITH f AS (FROM '{file}') SELECT * FROM f", "SELECT * FROM pub WHERE c IN (SELECT note FROM '{file}')",
    "SELECT COUNT(*) FROM visits HAVING COUNT(*) > (SELECT MAX(age) FROM '{file}')",
    "SELECT * FROM 'https://example.com/x.csv'",
    "SELECT * FROM 's3://bucket/x.parquet'", "SELECT * FROM query('FROM ''{file}''')",
    "SELECT * FROM query_table('{file}')",
    "SELECT * FROM query_table('visits')", "SELECT * FROM query_table(['visits'])", "SELECT * FROM secret_frame",
    "SELECT COUNT(*) FROM secret_frame", "SELECT * FROM ROWS", "SELECT getenv('DISCREET_SECRET') AS x",
    "SELECT \"getenv\"('DISCREET_SECRET') AS x", "SELECT main.getenv('DISCREET_SECRET') AS x",
    "SELECT current_setting('threads')",
    "SELECT COUNT(*) + getenv('DISCREET_SECRET') AS n FROM visits", "SELECT getvariable('x')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()", "SELECT * FROM pragma_database_list",
    "SELECT * FROM pragma_table_info('visits')",
    "SELECT * FROM information_schema.tables", "SELECT * FROM information_schema.columns",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM duckdb_columns()", "SELECT * FROM duckdb_views()", "SELECT * FROM sqlite_master",
    "SELECT * FROM pg_tables",
    "SELECT * FROM pg_catalog.pg_class", "SELECT * FROM system.information_schema.tables",
    "SELECT * FROM temp.main.visits",
    "SELECT * FROM memory.main.visits", "SELECT * FROM main.visits", "SELECT * FROM \"memory\".\"visits\"",
    "SHOW ALL TABLES",
    "SELECT * FROM (SHOW TABLES)", "SELECT * FROM (DESCRIBE visits)", "SELECT * FROM (SUMMARIZE visits)",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "SELECT json_execute_serialized_sql(json_serialize_sql('SELECT 1'))", "SELECT * FROM seq_scan('visits')",
    "SELECT * FROM (PIVOT visits ON c USING COUNT(*))", "COPY visits TO '{folder}/out.csv'",
    "EXPORT DATABASE '{folder}/x'",
]  # fmt: skip
ROWS_OF_PEOPLE = [
    "SELECT (SELECT age FROM visits)", "SELECT (SELECT age FROM visits LIMIT 1) AS x",
    "SELECT (FROM visits SELECT age)",
    "SELECT ARRAY(SELECT age FROM visits) AS x", "SELECT [x FOR x IN (SELECT list(age) FROM visits)] AS x",
    "SELECT list_transform([1], x -> (SELECT age FROM visits)) AS x",
    "SELECT unnest((SELECT list(age) FROM visits)) AS x",
    "SELECT * FROM unnest((SELECT list(age) FROM visits)) AS t(x)",
    "SELECT * FROM range((SELECT age FROM visits)) AS t(x)",
    "SELECT * FROM (VALUES ((SELECT age FROM visits))) AS v(x)",
    "SELECT EXISTS (FROM visits WHERE age > 40) AS x",
    "SELECT EXISTS (SELECT 1 FROM visits WHERE age > 40) AS x",
    "SELECT w IN (SELECT age FROM visits) AS x FROM pub",
    "SELECT w = ANY (SELECT age FROM visits) AS x FROM pub",
    "SELECT w > ALL (SELECT age FROM visits) AS x FROM pub",
    "SELECT c, COUNT(*) AS n FROM visits GROUP BY c HAVING COUNT(*) > (SELECT age FROM visits)",
    "SELECT c, COUNT(*) AS n FROM visits GROUP BY c HAVING c IN (SELECT note FROM visits)",
    "SELECT c, COUNT(*) AS n FROM visits GROUP BY c ORDER BY (SELECT age FROM visits)",
    "SELECT c, COUNT(*) AS n FROM visits GROUP BY c LIMIT (SELECT age FROM visits)",
    "SELECT c, COUNT(*) AS n FROM visits GROUP BY c QUALIFY row_number() OVER (ORDER BY (SELECT age FROM visits)) = 1",
    "SELECT DISTINCT ON ((SELECT age FROM visits)) c, COUNT(*) AS n FROM visits GROUP BY c",
    "SELECT COUNT(*) OVER (PARTITION BY (SELECT age FROM visits)) AS n FROM pub",
    "SELECT c, first(note) AS x, COUNT(*) AS n FROM visits GROUP BY c",
    "SELECT any_value(note) AS x, COUNT(*) FROM visits",
    "SELECT c, list(note) AS x, COUNT(*) FROM visits GROUP BY c",
    "SELECT arg_max(note, age) AS x, COUNT(*) FROM visits",
    "SELECT string_agg(note, ',') AS x FROM visits", "SELECT histogram(note) AS x FROM visits",
    "SELECT mode(note) FROM visits",
    "SELECT COUNT(*) FROM visits AS \"__release_1\"", "SELECT * FROM __release_1", "SELECT k0, a0 FROM __release_1",
    "SELECT COUNT(*) AS n, (SELECT a0 FROM __release_1) AS m FROM visits", "SELECT __raw_age FROM visits",
    "SELECT COUNT(__unit) FROM visits", "SELECT COUNT(*) FROM __keys_0", "SELECT * FROM \"__RELEASE_1\"",
    "SELECT COLUMNS('.*'), COUNT(*) AS n FROM visits GROUP BY c", "SELECT COLUMNS(*) FROM visits",
    "SELECT visits FROM visits",
    "SELECT MAX(COLUMNS(*)) FROM visits", "SELECT COUNT(visits) FROM visits", "SELECT visits.* FROM visits",
    "SELECT \"VISITS\".age FROM visits",
    "SELECT * EXCLUDE (u) FROM visits", "SELECT * REPLACE (1 AS u) FROM visits", "FROM visits", "TABLE visits",
    "FROM \"ViSiTs\"",
    "SELECT * FROM pub POSITIONAL JOIN visits", "SELECT * FROM pub ASOF JOIN visits USING (c)",
    "SELECT * FROM pub, visits",
    "SELECT pub.* FROM pub SEMI JOIN visits USING (c)", "SELECT pub.* FROM pub ANTI JOIN visits USING (c)",
    "SELECT * FROM pub NATURAL JOIN visits", "SELECT * FROM pub LEFT JOIN visits USING (c)",
    "SELECT * FROM pub FULL JOIN visits USING (c)",
    "SELECT * FROM pub, LATERAL (SELECT age FROM visits)",
    "SELECT * FROM pub, LATERAL (SELECT age FROM visits WHERE c = pub.c)",
    "SELECT * FROM pub JOIN pub AS q ON (SELECT COUNT(*) > 1 FROM visits)",
    "SELECT * FROM pub WHERE (SELECT age FROM visits) > 3",
    "SELECT * FROM pub UNION ALL SELECT note, age FROM visits", "SELECT w FROM pub EXCEPT SELECT age FROM visits",
    "SELECT w FROM pub INTERSECT SELECT age FROM visits", "WITH v AS (SELECT * FROM visits) SELECT * FROM v",
    "WITH v AS MATERIALIZED (FROM visits) SELECT age FROM v", "WITH pub AS (FROM visits) SELECT * FROM pub",
    "WITH RECURSIVE visits AS (SELECT * FROM visits) SELECT * FROM visits",
    "WITH RECURSIVE r AS (SELECT age FROM visits UNION ALL SELECT age FROM r) SELECT * FROM r",
    "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT age FROM visits, r) SELECT * FROM r",
    "SELECT COUNT(*) FROM visits WHERE error(note) IS NULL",
    "SELECT COUNT(*) FROM visits WHERE CAST(note AS ENUM('a')) = 'a'",
    "SELECT error((SELECT note FROM visits))",
    "SELECT CAST((SELECT note FROM visits) AS INTEGER) AS x", "SELECT note, COUNT(*) FROM visits GROUP BY note",
    "SELECT u, COUNT(*) FROM visits GROUP BY u", "SELECT u, AVG(age) FROM visits GROUP BY u",
    "SELECT MAX(u) OVER () FROM visits",
    "SELECT row_number() OVER (ORDER BY age) AS x, age FROM visits",
    "SELECT COUNT(*) FROM visits GROUP BY note ORDER BY note",
    "SELECT 'x' IN visits AS x", "SELECT * FROM visits TABLESAMPLE 100%", "SELECT * FROM visits USING SAMPLE 2",
]  # fmt: skip
HARMLESS = [
    "SELECT COUNT(*) AS n FROM \"ViSiTs\"", "FROM visits SELECT COUNT(*) AS n",
    "SELECT COUNT(*) AS n FROM (FROM visits)",
    "WITH visits AS (SELECT * FROM visits) SELECT COUNT(*) AS n FROM visits",
    "SELECT COUNT(*) AS n FROM visits AS pub",
    "WITH pub AS (SELECT COUNT(*) AS n FROM visits) SELECT * FROM pub",
    "SELECT (SELECT COUNT(*) FROM visits) AS n FROM pub",
    "SELECT c, COUNT(*) AS n FROM visits GROUP BY c LIMIT (SELECT COUNT(*) FROM visits)",
    "SELECT [x FOR x IN [1, 2]] AS l, n FROM (SELECT COUNT(*) AS n FROM visits) AS q",
    "SELECT * FROM unnest([1, 2]) AS t(x), (SELECT COUNT(*) FROM visits)",
    "SELECT list_transform(list(n), x -> x + 1) AS l FROM (SELECT c, COUNT(*) AS n FROM visits GROUP BY c) AS q",
    "SELECT * FROM (SELECT c, COUNT(*) AS n FROM visits GROUP BY c) AS q POSITIONAL JOIN pub AS p2(d, w)",
    "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE "
    "x < (SELECT least(COUNT(*), 5) FROM visits)) FROM r",
    "SELECT COLUMNS('n') FROM (SELECT COUNT(*) AS n FROM visits) AS q", "SELECT * FROM pub",
    "SELECT * FROM (SELECT c, COUNT(*) AS n FROM visits GROUP BY c) AS q PIVOT (SUM(n) FOR c IN ('x', 'y'))",
]  # fmt: skip


@pytest.mark.parametrize("group", ["outside", "rows"])
def test_it_is_refused(watch: Watch, group: str) -> None:
    folder, file = watch.file.parent, watch.file
    before = sorted(folder.iterdir())
    answered, wrong = [], []
    for template in OUTSIDE if group == "outside" else ROWS_OF_PEOPLE:
        sql = template.replace("{file}", str(file)).replace("{folder}", str(folder))
        answer, seen = watch.ask(sql)
        wrong += [f"{sql}: {one}" for one in seen]
        if not isinstance(answer, QueryRefused) and not looks_around(sql):  # which is the policy alone
            answered.append(sql)
    assert wrong == []
    assert not answered, answered
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("sql", HARMLESS)
def test_it_is_harmless(watch: Watch, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Odd, but noisy or public: answered, and where people are counted, paid for."""
    monkeypatch.setattr(repeated, "DRAWS", repeated.FEWEST)  # nothing is said of the ends of intervals
    answer, seen = watch.ask(sql)
    assert seen == []
    assert isinstance(answer, dp.Release)
    assert answer.epsilon == ("visits" in sql.lower())


@pytest.mark.parametrize("part", ["LIMIT", "ORDER BY n LIMIT 2 OFFSET"])
def test_a_limit_that_noise_makes_negative_is_none(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is counted, and the noise is -2, so that the limit is below zero."""
    monkeypatch.setattr("discreet.mechanisms.numeric.laplace_vector.add_laplace", lambda exact, *_: exact - 2)
    table = pa.table({"c": ["x"], "age": [3]})
    with dp.protect(
        table, privacy_unit="row", keys={"c": ["x", "y"]}, bounds={"age": (0, 9)}, budget=99
    ) as session:
        nobody = "(SELECT COUNT(*) FROM data WHERE age > 9)"
        assert session.sql(f"{nobody} AS n".join(("SELECT ", "")), epsilon=1).to_dict()["n"] == [-2]
        sql = f"SELECT c, COUNT(*) AS n FROM data GROUP BY c {part} {nobody}"
        assert len(session.sql(sql, epsilon=1)) <= 2


def test_every_release_of_a_statement_is_paid_for(watch: Watch) -> None:
    """However many times people are counted, wherever that stands: each has its share of the price."""
    # Ranges of rows would be measured together.
    q = "SELECT COUNT(DISTINCT u) AS n FROM visits WHERE age > "
    statement = (
        f"WITH a AS ({q}1) SELECT c, COUNT(*) AS n, ({q}2) AS m, (SELECT n FROM ({q}3)) AS k FROM visits GROUP BY c "
        f"HAVING COUNT(*) > ({q}4) - 1000 UNION ALL SELECT 'z', n, n, n FROM a"
    )
    plan = inside.plan_of(watch.session, statement, epsilon=1)  # type: ignore[arg-type]
    assert len(plan.releases) == 5
    assert plan.epsilon == 1
    assert {release.epsilon for release in plan.releases} == {plan.epsilon / 5}


def test_a_private_table_in_the_sandbox_is_found(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    used = nodes.used
    monkeypatch.setattr(postprocess, "used", lambda *args: used(*args) | {"visits": ROWS})
    assert "the sandbox was given visits" in watch.ask("SELECT COUNT(*) * 2 AS n FROM visits")[1]


def test_a_private_row_in_a_public_table_is_found(watch: Watch) -> None:
    inside.catalog_of(watch.session).public["pub"] = pa.table({"c": ["x", SECRET], "w": [1, 2]})  # type: ignore[index]
    assert "the answer holds a secret" in watch.ask("SELECT * FROM pub")[1]


def test_asking_before_the_charge_is_found(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    charge, session = watch.session.ledger.charge, watch.session

    def late(*args: Any, **more: Any) -> Any:
        plan = inside.plan_of(session, "SELECT COUNT(*) AS n FROM visits", Fraction(1))
        inside.noisy_of(session, plan, Draw(uses_of(plan.releases)))
        return charge(*args, **more)

    monkeypatch.setattr(watch.session.ledger, "charge", late)
    assert "the engine was asked before the charge" in watch.ask("SELECT COUNT(*) AS n FROM visits")[1]
