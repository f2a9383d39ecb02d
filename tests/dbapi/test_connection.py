from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dp
from discreet import dbapi
from tests.people import protected
from tests.server.conftest import COUNT, Running, make_hospital, running  # noqa: F401

BY_COUNTY = "SELECT county, COUNT(*) AS n FROM visits GROUP BY county ORDER BY county"


@pytest.fixture
def session() -> Iterator[dp.Session]:
    with protected() as opened:
        yield opened


def test_the_globals_of_the_standard() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "qmark")


def test_rows_come_out_one_by_one_several_or_all(session: dp.Session) -> None:
    cursor = dbapi.connect(session, epsilon=1).cursor()
    assert cursor.execute(BY_COUNTY) is cursor
    assert cursor.rowcount == 4
    assert cursor.description is not None
    assert [line[:2] for line in cursor.description] == [("county", dbapi.STRING), ("n", dbapi.NUMBER)]
    first = cursor.fetchone()
    assert first is not None
    assert first[0] == "A"
    assert [row[0] for row in cursor.fetchmany()] == ["B"]
    assert [row[0] for row in cursor] == ["C", "D"]
    assert cursor.fetchall() == []
    assert cursor.fetchone() is None
    assert cursor.answer is not None
    assert cursor.answer.epsilon == 1


def test_the_price_comes_from_the_text_or_a_setting_or_the_connection(session: dp.Session) -> None:
    connection = dbapi.connect(session)
    with pytest.raises(dbapi.ProgrammingError, match="epsilon is missing"):
        connection.execute(BY_COUNTY)
    connection.execute("SET discreet.epsilon = 0.1")
    connection.execute(BY_COUNTY)
    assert session.budget.spent == Fraction(1, 10)
    priced = BY_COUNTY.replace(
        "SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.2, delta = 0)"
    )
    connection.execute(priced)
    assert session.budget.spent == Fraction(3, 10)
    for cleanup in ("DEALLOCATE ALL", "close every_cursor;", "UNLISTEN *", "DISCARD TEMP"):
        assert connection.execute(cleanup).description is None
    assert connection.execute("SHOW discreet.epsilon").fetchall() == [("0.1",)]
    assert connection.execute("SHOW discreet").fetchmany(2) == [
        ("discreet.epsilon", "0.1"),
        ("discreet.delta", ""),
    ]
    connection.execute("discard all;")
    assert connection.execute("SHOW discreet.epsilon").fetchall() == [("",)]
    connection.execute("SET discreet.epsilon = 0.1")
    connection.execute("RESET ALL")
    with pytest.raises(dbapi.ProgrammingError):
        connection.execute(BY_COUNTY)


def test_intervals_are_columns_on_request(session: dp.Session) -> None:
    connection = dbapi.connect(session, epsilon=1)
    connection.execute("SET discreet.intervals = on")
    cursor = connection.execute(BY_COUNTY)
    assert [line[0] for line in cursor.description or []] == ["county", "n", "n_low", "n_high"]
    assert all(low <= n <= high for _, n, low, high in cursor)


def test_parameters_are_values_and_never_sql(session: dp.Session) -> None:
    connection = dbapi.connect(session, epsilon=1)
    question = "SELECT COUNT(*) AS n FROM visits WHERE county = ? AND day >= ? AND age > ?"
    connection.execute(question, ["A' OR 1 = 1 --", dt.date(2024, 1, 1), -1])
    written = "county = 'A'' OR 1 = 1 --' AND day >= DATE '2024-01-01' AND age > (-1)"
    same = connection.execute(question.partition("county")[0] + written).answer
    assert same is not None
    assert same.replayed


def test_transactions_take_nothing_back(session: dp.Session) -> None:
    connection = dbapi.connect(session, epsilon=1)
    connection.execute("BEGIN")
    connection.execute(BY_COUNTY)
    connection.rollback()
    connection.execute("ROLLBACK")
    assert session.budget.spent == 1
    connection.commit()


def test_errors_keep_their_charge(session: dp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = dbapi.connect(session, epsilon=11)
    with pytest.raises(dbapi.OperationalError) as caught:
        connection.execute(BY_COUNTY)
    assert isinstance(caught.value.error, dp.errors.BudgetExceeded)
    assert caught.value.charged is None
    monkeypatch.setattr("discreet.sql.finish.postprocess.finish", _broken)
    connection.execute("SET discreet.epsilon = 1")
    with pytest.raises(dbapi.DataError) as failed:
        connection.execute(BY_COUNTY)
    assert failed.value.charged is not None
    assert str(failed.value.charged.epsilon) == "1"


def _broken(*_: object) -> None:
    raise dp.errors.PostProcessingError("It failed.", "Write another.")


def test_closed_and_wrong_uses_are_told(session: dp.Session) -> None:
    connection = dbapi.connect(session, epsilon=1)
    cursor = connection.cursor()
    assert cursor.description is None
    with pytest.raises(dbapi.InterfaceError, match="no answer"):
        cursor.fetchone()
    with pytest.raises(dbapi.NotSupportedError):
        cursor.executemany("SELECT ?", [[1], [2]])
    cursor.close()
    with pytest.raises(dbapi.InterfaceError):
        cursor.execute(BY_COUNTY)
    connection.close()
    with pytest.raises(dbapi.InterfaceError):
        connection.cursor().execute(BY_COUNTY)
    assert session.budget.spent == 0  # a session that was handed over stays open
    with pytest.raises(dbapi.InterfaceError):
        dbapi.connect(session, token="discreet_x")


def test_a_policy_file_is_opened_and_closed(tmp_path: Path) -> None:
    path = make_hospital(tmp_path)
    with dbapi.connect(path, epsilon="0.5", intervals=True) as connection:
        assert len(connection.execute(COUNT).fetchall()[0]) == 4
        assert connection.execute("SHOW TABLES").fetchall()[0][0] == "visits"
    with pytest.raises(dbapi.ProgrammingError):
        dbapi.connect(tmp_path / "none.toml")


def test_a_server_is_asked_the_same_way(running: Running) -> None:  # noqa: F811
    token = running.tokens["ana"]
    with dbapi.connect(running.url, token=token, epsilon=1) as connection:
        assert [row[0] for row in connection.execute(COUNT + " ORDER BY county")] == ["A", "B", "C"]
        with pytest.raises(dbapi.OperationalError) as caught:
            connection.execute(
                COUNT.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 49)")
            )
    assert isinstance(caught.value.error, dp.errors.BudgetExceeded)
