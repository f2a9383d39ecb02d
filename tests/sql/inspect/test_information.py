"""Looking around is free, reads no data, and says the same whatever the data are."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import few

import discreet as dp
from discreet.errors import InvalidParameter, QueryRefused
from discreet.session import Session
from discreet.sql.inspect import information
from discreet.sql.syntax.parse import looks_around

TABLES: dict[str, Any] = {
    "visits": {
        "privacy_unit": "who",
        "max_rows": 2,
        "columns": {"age": {"bounds": (0, 99)}, "county": {"keys": "counties.county"}},
    },
    "counties": {"public": True},
}
COUNTIES = pa.table({"county": ["A", "B"], "region": ["n", "s"]})
LOOKS = [
    "DESCRIBE visits", "DESC VISITS;", "SHOW visits", "SHOW TABLES", "show all tables", "SUMMARIZE visits",
    "PRAGMA table_info('visits')", "PRAGMA show_tables", "SHOW COLUMNS FROM visits", "DESCRIBE counties",
    "SELECT * FROM information_schema.tables", "FROM information_schema.columns",
    "SELECT c.column_name FROM Information_Schema.COLUMNS AS c WHERE c.table_name = 'visits'",
    "SELECT table_name, COUNT(*) AS n FROM information_schema.columns GROUP BY ALL ORDER BY ALL",
    "SELECT columns.table_name FROM information_schema.columns JOIN information_schema.tables USING (table_name) "
    "ORDER BY ALL",
]  # fmt: skip


VISITS = {
    rows: pa.table({"who": list(range(rows)), "age": [rows] * rows, "county": ["A"] * rows,
                    "note": [f"secret {rows}"] * rows}) for rows in (3, 50)
}  # fmt: skip


def opened(rows: int) -> Session:
    declared: dict[str, Any] = {"budget": 1, "tables": TABLES}
    return shared.protect({"visits": VISITS[rows], "counties": COUNTIES}, policy=dp.Policy(**declared))


@pytest.fixture
def session() -> Iterator[Session]:
    with opened(3) as one:
        yield one


def differing() -> list[str]:
    with opened(3) as one, opened(50) as other:
        return [q for q in LOOKS if one.sql(q).to_dict() != other.sql(q).to_dict()]


# A deep run: all.
@pytest.mark.parametrize("question", few(LOOKS, 5))
def test_it_is_answered_for_nothing_and_touches_no_data(
    session: Session, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touched(*_: object) -> None:
        raise AssertionError

    engine = inside.engine_of(session)
    for name in [n for n in dir(engine) if not n.startswith("_") and callable(getattr(engine, n))]:
        if name not in ("version", "close"):
            monkeypatch.setattr(type(engine), name, touched)
    release = session.sql(question)
    assert len(release) > 0
    assert release.epsilon == 0
    assert session.budget.spent == 0
    assert list(session.ledger.entries()) == []
    assert "secret" not in json.dumps(release.to_dict())
    assert looks_around(question)


def test_it_is_the_same_on_other_data() -> None:
    assert differing() == []


def test_a_column_that_told_of_the_data_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the upper bound is that of the data."""
    own = Session.__init__

    def init(self: Session, engine: Any, policy: Any, ledger: Any) -> None:
        rows = engine._connection.execute("SELECT COUNT(*) FROM visits").fetchall()[0][0]
        monkeypatch.setattr(information, "rule", lambda *_: f"{rows} rows")
        own(self, engine, policy, ledger)

    monkeypatch.setattr(Session, "__init__", init)
    assert "DESCRIBE visits" in differing()


def test_it_says_what_the_policy_says(session: Session) -> None:
    rows = session.sql("DESCRIBE visits").to_arrow().to_pylist()
    assert [row["column_name"] for row in rows] == ["who", "age", "county", "note"]
    assert [row["column_type"] for row in rows] == ["BIGINT", "BIGINT", "VARCHAR", "VARCHAR"]
    assert [row["declared"].split(" from")[0] for row in rows] == [
        "privacy unit", "clamped to 0 … 99", "2 keys", "no bounds, no keys",
    ]  # fmt: skip
    assert "GROUP BY" in rows[2]["answers"]
    assert "GROUP BY" not in rows[3]["answers"]
    (age,) = (
        session.sql("SELECT * FROM (FROM information_schema.columns) WHERE column_name = 'age'")
        .to_arrow()
        .to_pylist()
    )
    assert (age["lower_bound"], age["upper_bound"], age["keys"]) == ("0", "99", None)


def test_what_can_be_said_of_each_column_can_be_asked(session: Session) -> None:
    for row in session.sql("DESCRIBE visits").to_arrow().to_pylist():
        name = row["column_name"]
        if "GROUP BY," in row["answers"] + "," and "sub-query" not in row["answers"]:
            assert (
                session.preview(f"SELECT {name}, COUNT(*) AS n FROM visits GROUP BY {name}", 1).epsilon == 1
            )
        if "SUM, AVG, MEDIAN" in row["answers"]:
            assert (
                session.preview(f"SELECT SUM({name}) AS n, MEDIAN({name}) AS m FROM visits", 1).epsilon == 1
            )


def test_the_questions_of_a_column_are_written_so_that_they_can_be_asked() -> None:
    rows = pa.table({"Who am I": [1], "when": [dt.datetime(2025, 1, 1)], "Money (€)": [3.0], "case": [1.0]})
    bounds = {"when": (dt.datetime(2025, 1, 1), dt.datetime(2025, 12, 31))}
    with dp.protect(rows, privacy_unit="Who am I", max_rows=1, bounds=bounds, budget=1) as session:
        found = session.sql("DESCRIBE data").to_dict()
        answers = dict(zip(found["column_name"], found["answers"], strict=True))
        assert 'COUNT(DISTINCT "Who am I")' in answers["Who am I"]
        assert answers["when"].endswith('such as year("when")')
        assert answers["Money (€)"].endswith('of clamp("Money (€)", lo, hi)')
        for name, written in (("when", 'year("when")'), ("Money (€)", 'clamp("Money (€)", 0, 9)'),
                              ("case", 'clamp("case", 0, 9)')):  # fmt: skip
            assert written.split(",")[0] in answers[name]
            assert session.preview(f"SELECT SUM({written}) AS n FROM data", 1).epsilon == 1


@pytest.mark.parametrize(
    ("question", "fix"),
    [
        ("DESCRIBE vists", "Did you mean visits?"),
        ("SUMMARIZE nothing", "The tables are visits, counties."),
        ("DESCRIBE SELECT * FROM visits", "Aggregate"),
        ("SELECT * FROM information_schema.schemata", "Write information_schema.tables"),
        ("SELECT * FROM sales.visits", "Write visits."),
    ],
)
def test_refusals(session: Session, question: str, fix: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        session.sql(question)
    assert fix in caught.value.fix


def test_only_what_is_free_does_without_epsilon(session: Session) -> None:
    with pytest.raises(InvalidParameter, match="epsilon is missing"):
        session.sql("SELECT COUNT(*) AS n FROM visits")
    assert session.budget.spent == 0
    assert session.sql("SELECT region FROM counties").epsilon == 0
    assert not looks_around("SELECT COUNT(*) FROM visits, information_schema.tables")
    assert not looks_around("SELECT 1")
    assert session.preview("DESCRIBE visits", 1).epsilon == 0


def test_private_rows_may_be_joined_with_it(session: Session) -> None:
    question = (
        "SELECT COUNT(*) AS n FROM visits JOIN information_schema.tables AS t ON visits.note = t.table_name"
    )
    assert session.sql(question, 1).epsilon == 1


def test_a_table_of_that_name_comes_first() -> None:
    with shared.protect({"information_schema.tables": pa.table({"x": [1]})}, table="information_schema.tables",
                    privacy_unit="row", budget=1, bounds={"x": (0, 1)}) as own:  # fmt: skip
        assert own.preview('SELECT COUNT(*) AS n FROM "information_schema.tables"', 1).epsilon == 1
