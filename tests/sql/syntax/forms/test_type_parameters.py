"""Odd parameters of types are refused in words. There is no chance of a false alarm."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from tests import shared

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.syntax.forms import type_parameters
from discreet.sql.syntax.parse import parse

ODD = """DECIMAL(9.5, 1)|DECIMAL(1, 2, 3)|DECIMAL('a')|DECIMAL(x)|DECIMAL(39, 1)|DECIMAL(0, 0)|DECIMAL(1e2)
DECIMAL(4, 5)|DECIMAL(²)|DECIMAL(NULL)|DECIMAL(MAX)|DECIMAL(INT)|DECIMAL(0x5)|DECIMAL(99999999999999999999999, 1)
DECIMAL(-1, 0)|NUMERIC(9.5)|VARCHAR('a')|VARCHAR(MAX)|VARCHAR(3, 4)|VARCHAR(1.5)|INT(5)|BIGINT('a')|DOUBLE(3)|FLOAT(60)
BOOLEAN(1)|DATE(3)|DATE('x')|TIMESTAMP('a')|TIMESTAMP(10)|TINYINT(1)|HUGEINT(1)|NULLABLE(INT)""".replace(
    "\n", "|"
)


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    rows = pa.table({"id": [1, 2], "x": [3, 4], "s": ["3", "b"]})
    with shared.protect({"t": rows}, privacy_unit="id", max_rows=1, bounds={"x": (0, 9)}, budget=5) as made:
        yield made


@pytest.mark.parametrize("odd", ODD.split("|"))
def test_odd_parameters_are_refused(session: dp.Session, odd: str) -> None:
    for sql in (
        f"SELECT CAST(1 AS {odd}) AS k, COUNT(*) FROM t",
        f"SELECT SUM(CAST(x AS {odd})) FROM t",
        f"SELECT COUNT(*) FROM t WHERE TRY_CAST(s AS {odd}) IS NULL",
        f"SELECT SUM(x)::{odd} FROM t",
    ):
        with pytest.raises(QueryRefused) as refused:
            session.preview(sql, epsilon=1)
        assert refused.value.fix


def test_a_collation_is_not_passed_over(session: dp.Session) -> None:
    with pytest.raises(QueryRefused, match="collations"):
        session.preview("SELECT COUNT(*) FROM t WHERE CAST(s AS VARCHAR COLLATE NOCASE) = 'B'", epsilon=1)


@pytest.mark.parametrize("kind", [
    "DECIMAL", "DECIMAL(5)", "DECIMAL(5, 1)", "NUMERIC(38, 3)", "DECIMAL(1_0, 1)", "FLOAT(24)", "DOUBLE", "INT",
])  # fmt: skip
def test_plain_ones_stay(session: dp.Session, kind: str) -> None:
    session.preview(f"SELECT SUM(CAST(x AS {kind})) FROM t", epsilon=1)


@pytest.mark.parametrize("kind", [
    "VARCHAR(3)", "CHAR(3)", "TIMESTAMP(3)", "INT[]", "INT[3]", "STRUCT(a INT)", "MAP(INT, INT)", "ENUM('a', 'b')",
])  # fmt: skip
def test_others_are_left_to_those_who_read_them(kind: str) -> None:
    parse(f"SELECT CAST(x AS {kind}) AS x, 'AS VARCHAR(''a'')' AS s FROM t")


def test_a_precision_of_time_stamps_is_not_passed_over(session: dp.Session) -> None:
    with pytest.raises(QueryRefused, match="microseconds"):
        session.preview("SELECT COUNT(*) FROM t WHERE TRY_CAST(s AS TIMESTAMP(0)) IS NULL", epsilon=1)
    session.preview("SELECT COUNT(*) FROM t WHERE TRY_CAST(s AS TIMESTAMP(6)) IS NULL", epsilon=1)


def test_without_the_check_an_error_of_python_comes_out(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault."""
    monkeypatch.setattr(type_parameters, "see", lambda *_: None)
    with pytest.raises(ValueError, match=r"9\.5"):
        session.preview("SELECT SUM(CAST(x AS DECIMAL(9.5, 1))) FROM t", epsilon=1)
