"""DISTINCT ON over released numbers is the first row of each, with the intervals of that."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.corpus.judge import difference
from tests.sql.fuzz import bench

from discreet.errors import QueryRefused
from discreet.sql.analyze import splitting

INNER = "SELECT city, sex, COUNT(*) AS n FROM t WHERE sex > '' AND city > '' GROUP BY city, sex"
QUALIFY = "QUALIFY row_number() OVER (PARTITION BY city ORDER BY {0}) = 1 ORDER BY city"
CASES = [
    (f"{INNER} ORDER BY city, n DESC", "COUNT(*) DESC"),
    (f"{INNER} ORDER BY 1, 3, 2", "COUNT(*), sex"),
    (f"{INNER} ORDER BY city, COUNT(*) DESC NULLS LAST, sex", "COUNT(*) DESC, sex"),
    (f"WITH r AS ({INNER}) SELECT city, sex, n FROM r ORDER BY city, n DESC, sex", "COUNT(*) DESC, sex"),
    (f"SELECT * FROM ({INNER}) ORDER BY city, sex DESC", "sex DESC"),
]


def asked(sql: str) -> str:
    """The statement with DISTINCT ON (city) in its outermost SELECT."""
    head, word, tail = sql.rpartition("SELECT *" if "SELECT *" in sql else "SELECT city, sex")
    return f"{head}{word.replace('SELECT', 'SELECT DISTINCT ON (city)')}{tail}"


@pytest.mark.parametrize(("sql", "by"), CASES)
def test_it_is_qualify_with_the_number_of_the_row(sql: str, by: str) -> None:
    found, plain = bench.answered(asked(sql)), bench.answered(f"{INNER} {QUALIFY.format(by)}")
    assert found.values.to_pylist() == plain.values.to_pylist()
    assert not found.without
    for end, other in zip(found.intervals["n"], plain.intervals["n"], strict=True):
        assert np.allclose(end, other)


def test_its_keys_are_expressions_and_its_limit_stands_behind() -> None:
    found = bench.answered(
        "SELECT DISTINCT ON (educ // 2) educ // 2 AS e, sex, COUNT(*) AS n FROM t WHERE sex > '' AND educ > 0 "
        "GROUP BY educ // 2, sex ORDER BY educ // 2, COUNT(*) DESC LIMIT 2"
    ).values.to_pydict()
    assert len(found["e"]) == len(set(found["e"])) == 2


def test_an_unknown_key_is_pointed_at() -> None:
    with pytest.raises(QueryRefused, match="x is neither grouped by") as refused:
        bench.answered(f"SELECT DISTINCT ON (x){INNER.removeprefix('SELECT')}")
    assert refused.value.place == "x"


def test_without_that_form_there_is_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: DISTINCT ON as it was written; no other test asks this statement, whose facts are kept."""
    monkeypatch.setattr(splitting, "REWRITES", {})
    sql = f"{INNER} ORDER BY city, n DESC, sex DESC"
    assert bench.answered(asked(sql)).without


def test_over_private_rows_it_keeps_the_first_row_of_each_unit() -> None:
    rows = "SELECT DISTINCT ON (id) id, educ FROM t ORDER BY id, y NULLS LAST, educ NULLS LAST"
    sql = f"SELECT educ, COUNT(*) AS n FROM ({rows}) AS q WHERE educ > 0 GROUP BY educ ORDER BY educ"
    assert difference(bench.answered(sql).values, bench.plain(sql), ("educ",)) == ""
    with pytest.raises(QueryRefused, match="DISTINCT ON over private rows"):
        bench.answered(
            "SELECT COUNT(*) AS n FROM (SELECT DISTINCT ON (sex) sex, educ FROM t ORDER BY sex, educ) AS q"
        )
