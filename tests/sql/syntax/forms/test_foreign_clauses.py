"""Clauses of other databases are refused, never passed over. There is no chance of a false alarm."""

from __future__ import annotations

import json
from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp
from tests import shared

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.syntax.forms import foreign_clauses
from discreet.sql.syntax.forms.foreign_clauses import READ
from discreet.sql.syntax.parse import parse

GROUPED = "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex"
# «…» holds the words that are pointed at.
FOREIGN = [
    (f"{GROUPED} «WITH ROLLUP»", "GROUP BY ROLLUP (sex)"),
    (f"{GROUPED}, 'with cube'\n «with  cube»", "GROUP BY CUBE (sex, 'with cube')"),
    (f"{GROUPED} «WITH ROLLUP» WITH CUBE", "GROUP BY ROLLUP (sex)"),
    (f"{GROUPED} «WITH TOTALS»", "GROUP BY ROLLUP (sex)"),
    ("SELECT sex, COUNT(*) FROM t «GROUP BY ALL» sex", "GROUP BY sex"),
    ("SELECT sex, COUNT(*) FROM t «GROUP BY DISTINCT» sex", "GROUP BY sex"),
    (f"{GROUPED} «CLUSTER BY» sex", "ORDER BY"),
    (f"{GROUPED} «DISTRIBUTE BY» sex", "ORDER BY"),
    (f"{GROUPED} ORDER BY n FETCH FIRST 1 ROWS «WITH TIES»", "Leave it out"),
    (f"{GROUPED} FETCH FIRST 1 «PERCENT» ROWS ONLY", "Leave it out"),
    ("«SELECT AS STRUCT» COUNT(*) AS n FROM t", "Leave AS"),
    ("SELECT SUM(CAST(x AS INT «FORMAT» 'x')) FROM t", "CAST(x AS type)"),
    ("SELECT SUM(CAST(x AS INT «DEFAULT» 0 ON CONVERSION ERROR)) FROM t", "CAST(x AS type)"),
    ("SELECT COUNT(*) FROM t «LEFT SEMI JOIN» u USING (x)", "Write SEMI JOIN"),
    ("SELECT COUNT(*) AS n FROM t «FULL UNION» BY NAME SELECT COUNT(*) AS n FROM u", "Leave it out"),
    ("SELECT COUNT(*) FROM t NOT «INDEXED»", "Leave it out"),
    ("SELECT COUNT(*) FROM t JOIN «u»", "or write CROSS JOIN"),
    ("SELECT COUNT(*) FROM t INNER JOIN «u AS v»", "or write CROSS JOIN"),
    ("SELECT COUNT(*) FROM t, u JOIN v USING (x) ANTI JOIN «w»", "or write CROSS JOIN"),
    ("SELECT n FROM (SELECT COUNT(*) AS n FROM t JOIN «u»), v", "or write CROSS JOIN"),
    ("SELECT COUNT(*) FROM t JOIN «u», v WHERE t.x = u.x", "or write CROSS JOIN"),
]


@pytest.mark.parametrize(("marked", "fix"), FOREIGN)
def test_a_clause_that_duckdb_does_not_have_is_pointed_at(marked: str, fix: str) -> None:
    sql = marked.replace("«", "").replace("»", "")
    with pytest.raises(QueryRefused, match="is not SQL of DuckDB") as refused:
        parse(sql)
    assert refused.value.place == marked[marked.index("«") + 1 : marked.index("»")]
    assert fix in refused.value.fix
    with duckdb.connect() as connection:
        read = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
    assert json.loads(read[0][0])["error"]


@pytest.mark.parametrize(("sql", "words"), [
    ("SELECT COUNT(*) FROM t LEFT JOIN u", "LEFT JOIN without ON"),
    ("SELECT COUNT(*) FROM t WITH (NOLOCK)", "A hint how"),
    ("SELECT COUNT(*) FROM t p USE INDEX (a)", "A hint how"),
    ("SELECT COUNT(* EXCLUDE (a)) FROM t", "counts rows"),
    ("SELECT COUNT(*) FROM u WHERE x IN (SELECT x FROM v GROUP BY x WITH ROLLUP)", "WITH ROLLUP"),
])  # fmt: skip
def test_another_form_is_refused(sql: str, words: str) -> None:
    with pytest.raises(QueryRefused, match=words):
        parse(sql)


@pytest.mark.parametrize("kind", READ, ids=lambda kind: kind.__name__)
def test_a_part_that_is_not_listed_is_refused(kind: type[exp.Expr]) -> None:
    """Whichever parts the parser knows: those of a later version are refused until somebody reads them."""
    assert READ[kind] <= set(kind.arg_types)
    for name in set(kind.arg_types) - READ[kind]:
        assert name in foreign_clauses.strange(kind(**{name: exp.true()}), READ[kind])


@pytest.mark.parametrize("sql", [
    f"{GROUPED} ORDER BY n DESC NULLS LAST LIMIT 50%", f"{GROUPED} FETCH FIRST 1 ROWS ONLY",
    "SELECT sex, COUNT(*) FROM t GROUP BY ALL", "SELECT sex, COUNT(*) FROM t GROUP BY ROLLUP (sex), CUBE (a)",
    "FROM t SELECT COUNT(*)", "SELECT /*+ HINT(a) */ COUNT(*) FROM t NATURAL LEFT JOIN u",
    "WITH x AS MATERIALIZED (SELECT 1 AS a) SELECT a FROM x UNION ALL BY NAME SELECT a FROM x ORDER BY a LIMIT 1",
    "SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES) FROM x "
    "ANTI JOIN y USING (a)",
    "SELECT COUNT(*) AS join FROM t, u AS v JOIN w USING (a), LATERAL (SELECT 1) AS z WHERE t.join = ' JOIN ' -- JOIN",
    "SELECT COUNT(*) FROM t JOIN u JOIN v ON u.a = v.a ON t.a = u.a, w CROSS JOIN x ASOF JOIN y USING (a)",
    "SELECT TRY_CAST(a AS INT) FROM x ASOF LEFT JOIN y ON x.a >= y.a",
])  # fmt: skip
def test_what_duckdb_has_stays(sql: str) -> None:
    parse(sql)
    with duckdb.connect() as connection:
        read = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
    assert not json.loads(read[0][0])["error"]


@pytest.fixture
def small() -> Iterator[dp.Session]:
    rows = pa.table({"id": [1, 2, 3], "sex": ["f", "m", "f"]})
    with shared.protect(
        {"t": rows}, privacy_unit="id", max_rows=1, keys={"sex": ["f", "m"]}, budget=5
    ) as made:
        yield made


def test_nothing_is_charged(small: dp.Session) -> None:
    with pytest.raises(QueryRefused):
        small.sql("SELECT sex, COUNT(*) AS n FROM t GROUP BY sex WITH ROLLUP", epsilon=1)
    assert small.ledger.entries() == []


def test_without_the_check_the_plain_question_is_answered(
    small: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: no row of all people, and nobody is told."""
    monkeypatch.setattr(foreign_clauses, "see", lambda *_: None)
    assert len(small.sql("SELECT sex, COUNT(*) AS n FROM t GROUP BY sex WITH ROLLUP", epsilon=1)) == 2
