"""REGEXP_EXTRACT and REGEXP_REPLACE are those of DuckDB; a pattern that engines would place differently is refused."""

from __future__ import annotations

import pytest
from benchmarks.corpus.judge import difference
from tests.depth import few
from tests.sql.fuzz import bench

from discreet.errors import QueryRefused
from discreet.sql.functions import patterns


# A deep run: all of them. `tests/sql/fuzz` asks DuckDB the same of random questions.
@pytest.mark.parametrize(
    "text",
    few([
        "regexp_extract(note, '[a-z]+')", "regexp_extract(note, '^([a-z])(.*)$', 2)", "regexp_extract(note, '(p)l', 0)",
        "regexp_extract(note, 'zzz')", "regexp_replace(note, 'p', '-')", "regexp_replace(note, 'p', '-', 'g')",
        r"regexp_replace(note, '^([a-z])', '<\1>')", r"regexp_replace(note, '([a-z])([a-z])', '\1', 'g')",
        "regexp_replace(note, '[^a-z]', '')", "regexp_replace(note, 'a|pp', '$1', 'g')",
        "regexp_extract(city || '-' || sex, '^([A-Z])-', 1)",
    ], 6),
)  # fmt: skip
def test_it_is_the_text_of_duckdb(text: str) -> None:
    sql = f"SELECT {', '.join(f'COUNT(*) FILTER (WHERE {text} = {w}) AS n{at}' for at, w in enumerate(WORDS))} FROM t"
    assert not difference(bench.answered(sql).values, bench.plain(sql), [])


WORDS = (
    "''",
    "'apple'",
    "'ple'",
    "'a-ple'",
    "'a--le'",
    "'<a>pple'",
    "'12'",
    "'x'",
    "'$1$1le'",
    "'ape'",
    "'A'",
    "'pl'",
)


def test_of_a_key_its_values_are_groups() -> None:
    sql = "SELECT regexp_replace(city, '[AB]', 'x') AS k, COUNT(*) AS n FROM t WHERE city > '' GROUP BY k ORDER BY k"
    assert not difference(bench.answered(sql).values, bench.plain(sql), ["k"])


@pytest.mark.parametrize(
    "text",
    [
        "regexp_replace(note, 'x*', '')", "regexp_extract(note, '(a', 1)", "regexp_extract(note, '(a)', 2)",
        "regexp_replace(note, 'a', 'b', 'i')", r"regexp_replace(note, 'a', '\1')", "regexp_replace(note, note, 'b')",
        "regexp_replace(note, 'a', 'a text that is far too long')", "regexp_extract(note, '(a)', ['x'])",
        r"regexp_replace(note, '(a)(b)', '\2')",
    ],
)  # fmt: skip
def test_others_are_refused_and_the_fix_is_answered(text: str) -> None:
    session = bench.bench().session
    with pytest.raises(QueryRefused) as refused:
        session.preview(f"SELECT COUNT(*) AS n FROM t WHERE {text} = 'a'", 1)
    fix = refused.value.fix.removeprefix("Write ").removesuffix(".").replace("(x,", "(note,")
    session.preview(f"SELECT COUNT(*) AS n FROM t WHERE {fix} = 'a'", 1)


@pytest.mark.parametrize(
    ("pattern", "many"),
    [("a", 0), ("(a)", 1), (r"\((a)", 1), ("[(](a)[^(]", 1), ("(?:a)(b(c))", 2), ("[]()](x)", 1)],
)
def test_groups_are_counted_without_those_that_are_none(pattern: str, many: int) -> None:
    assert patterns.groups(pattern) == many
    for group in range(1, many + 1):
        assert patterns.groups(patterns.one_group(pattern, group)) == 1
    assert patterns.groups(patterns.one_group(pattern, 0)) == 1
