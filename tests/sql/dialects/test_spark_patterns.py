"""Regular expressions on Spark: they are those of DuckDB, and no text takes longer than its length."""

from __future__ import annotations

import random

import duckdb
import pytest
from tests.depth import examples
from tests.servers import spark
from tests.sql.functions.regular import samples

from discreet.engines.schema import Type
from discreet.sql.dialects.spark import SPARK
from discreet.sql.dialects.spark_patterns import CHUNK, java
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.expressions.span import Span
from discreet.sql.functions.patterns import finds_nothing, groups, one_group
from discreet.sql.functions.regular.backtracking import possible
from discreet.sql.functions.regular.tree import parse

SQL = {
    "regexp_matches": "regexp_matches(c, {})", "regexp_extract": "regexp_extract(c, {}, 1)",
    "regexp_replace_all": "regexp_replace(c, {}, '<\\1>', 'g')",
}  # fmt: skip
ANSWERED = [
    "a*a*a*b", "^a*a*b", "(a|bc)*[a-c]*d$", "^(a+)+b", "a[^\n]*b[^\n]*a$", "^a[^\n]*b[^\n]*a$", "a{2,}b[^\n]*a",
    "(ab|b)+a$", "-?[ab]+", "a+?b", "(a*)b", "([ab]*)(c?)d", "[ab]+|c+", "(?:^|c)a+", "(a*)([ab]{2,}|[^a])",
    "^(?:[^\U0001f600]|a\u00e9)*[b\u00e9]$",
]  # fmt: skip


def sql(name: str, pattern: str) -> str:
    """The SQL of a function of a column `c`."""
    more: list[Literal] = [Literal("<\\1>", Type.TEXT)] if name == "regexp_replace_all" else []
    args: tuple[Expression, ...] = (Column("c", Type.TEXT, Span()), Literal(pattern, Type.TEXT), *more)
    return SPARK.writers[name](Call(name, {}, args, Type.TEXT, Span())).format("c")


def test_they_find_what_duckdb_finds() -> None:
    made = random.Random(2)
    texts = samples.texts(made, 80)
    asked = []
    for pattern in [*ANSWERED, *(samples.pattern(made) for _ in range(examples(30, 400)))]:
        names = ["regexp_matches"] if finds_nothing(pattern) else list(SQL)
        found = [
            (name, one_group(pattern, min(groups(pattern), 1)) if name[7] != "m" else pattern)
            for name in names
        ]
        asked += [(name, one) for name, one in found if possible(name, one)]
    assert {name for name, _ in asked} == set(SQL)
    frame = spark().createDataFrame([(text,) for text in texts], "c STRING").coalesce(1)
    duck = duckdb.connect()
    for part in (asked[at : at + 100] for at in range(0, len(asked), 100)):
        rows = frame.selectExpr(*(f"{sql(*one)} AS p{at}" for at, one in enumerate(part))).collect()
        own = ", ".join(SQL[name].format("?") for name, _ in part)
        expected = duck.execute(
            f"SELECT {own} FROM (SELECT unnest(?) AS c)", [*(one for _, one in part), texts]
        )
        for text, row, right in zip(texts, rows, expected.fetchall(), strict=True):
            assert [(one, value) for one, value in zip(part, row, strict=True)] == list(
                zip(part, right, strict=True)
            ), text


LONG = {
    "regexp_matches": ["a*a*a*[^a]", ".*b.*b", "^(a|\U0001f600)*[ab]*(a*)*[b]", "[a\U0001f600]{2,}b"],
    "regexp_extract": ["a*b", "^([a\U0001f600]{2,})b"], "regexp_replace_all": ["a+b", "[a\U0001f600]+(b)"],
}  # fmt: skip


def test_a_long_text_takes_no_longer_than_its_length() -> None:
    """Tried in all ways these take years, or more than a stack: the test would never end."""
    frame = spark().sql("SELECT repeat('a\U0001f600', 20000) || repeat('a', 200000) AS c")
    for name, patterns in LONG.items():
        for pattern in patterns:
            value = sql(name, pattern.replace(".", "[^\n]"))
            nothing = {"regexp_matches": f"NOT {value}", "regexp_extract": f"{value} = ''"}.get(
                name, f"{value} = c"
            )
            assert frame.where(nothing).count() == (pattern != "a*a*a*[^a]"), pattern


def test_an_automaton_goes_on_from_one_chunk_to_the_next() -> None:
    value = sql("regexp_matches", "^(aa|bbb)*$")
    assert value.startswith("aggregate(")
    frame = (
        spark()
        .sql(f"SELECT explode(array({CHUNK}, {CHUNK + 1}, {2 * CHUNK})) AS n")
        .selectExpr("repeat('a', n) AS c")
    )
    assert [row[0] for row in frame.selectExpr(value).collect()] == [True, False, True]
    assert spark().sql("SELECT CAST(NULL AS STRING) AS c").selectExpr(value).collect() == [(None,)]


@pytest.mark.parametrize(
    ("pattern", "written"),
    [("^a$|[$]", r"^a\z|[$]"), ("a+?b{2,}c?", r"a+?b{2}b*c?"), ("(?:a|b)*(c)", "(?:a|b)*(c)")],
)
def test_a_pattern_is_written_for_java(pattern: str, written: str) -> None:
    assert java(parse(pattern)) == written
