"""LIKE on Spark: what it fits is what DuckDB says, and no text makes it take longer than its length."""

from __future__ import annotations

import random

import duckdb
from tests.servers import spark

from discreet.engines.schema import Type
from discreet.sql.dialects.spark import SPARK
from discreet.sql.expressions.expression import Call, Column, Literal
from discreet.sql.expressions.span import Span

MANY = "%a%a%a%b"
LETTERS = ["a", "b", "K", "\u0130", "\n", "\\", "\U0001f600", "."]


def fits(name: str, pattern: str) -> str:
    """The SQL of whether a column `c` is like a pattern."""
    args = (Column("c", Type.TEXT, Span()), Literal(pattern, Type.TEXT))
    return SPARK.writers[name](Call(name, {}, args, Type.BOOLEAN, Span())).format("c")


def test_it_fits_what_duckdb_says() -> None:
    made = random.Random(5)
    texts = ["", *("".join(made.choices(LETTERS, k=made.randint(1, 7))) for _ in range(200))]
    patterns = ["%%", "%%a", MANY, *("".join(made.choices([*LETTERS, *"%%%%%%_"], k=6)) for _ in range(40))]
    frame = spark().createDataFrame([(text,) for text in texts], "c STRING").coalesce(1)
    duck = duckdb.connect()
    for name in ("like", "ilike"):
        found = frame.selectExpr(*(f"{fits(name, one)} AS p{at}" for at, one in enumerate(patterns)))
        own = (
            f"{'lower(c)' if name == 'ilike' else 'c'} LIKE "
            f"{'lower(?)' if name == 'ilike' else '?'}" for _ in patterns
        )  # fmt: skip
        expected = duck.execute(f"SELECT {', '.join(own)} FROM (SELECT unnest(?) AS c)", [*patterns, texts])
        assert list(map(tuple, found.collect())) == expected.fetchall()


def test_a_long_text_that_almost_fits_takes_no_longer() -> None:
    """Without it the power of the length: at 400 letters half a minute, at these a year. It would never end."""
    frame = spark().sql("SELECT repeat('a', 50000) AS c")
    for name in ("like", "ilike"):
        assert frame.where(fits(name, MANY)).count() == 0
        assert frame.where(fits(name, "%a%a_%a%")).count() == 1


def test_a_pattern_with_one_place_to_try_stays_as_it_was() -> None:
    """Which Spark reads faster."""
    for pattern in ("", "a", "a%", "%a", "%a%", "a%b"):
        assert " LIKE " in fits("like", pattern)
