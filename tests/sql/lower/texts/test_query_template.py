"""The SQL that is made of a template is the SQL that is written by itself, on every engine, and so is its identity."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from tests import inside
from tests.depth import examples
from tests.sql.fuzz import bench
from tests.sql.plan.generic.test_generic_reading import ordinary

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.expressions.expression import Literal
from discreet.sql.expressions.numbered_parameter import NumberedParameter
from discreet.sql.expressions.parameter import Parameter
from discreet.sql.lower.compile import compile_part
from discreet.sql.lower.identity import identity
from discreet.sql.lower.texts import query_template
from discreet.sql.plan import planner, reading
from discreet.sql.plan.generic.generic_plan import origin_of
from discreet.sql.plan.generic.generic_reading import Arguments
from discreet.sql.plan.plan import PlannedRelease
from discreet.sql.syntax.parameters.statement_template import literal_node

DIALECTS = ("duckdb", "spark", "clickhouse", "postgres")
AWKWARD = (
    "SELECT sex, AVG(CASE WHEN y < {} THEN x END) AS a, COUNT(*) AS n FROM t WHERE y >= {} GROUP BY sex",
    "SELECT COUNT(*) AS n, SUM(CASE WHEN x > {} THEN y ELSE 7 END) AS s FROM t WHERE x * 2 + 7 > {} AND y <> 7",
    "SELECT COUNT(*) AS n FROM t WHERE d >= '{}' AND ts < '{}'",
    "SELECT AVG(x) AS a FROM t WHERE note = '{}' OR x = {}",
    "SELECT educ, COUNT(DISTINCT id) AS n FROM t WHERE x < {} OR x = 0.0 GROUP BY educ",
)  # fmt: skip
"""Questions whose literals may equal others of the query, those of bounds and keys among them."""
VALUES: dict[str, tuple[str, ...]] = {
    "'": ("2024-02-29", "2020-01-01", "2024-02-29 18:30:00", "", "7", "apple", "é", "x''y", "it", "no date"),
    "": ("0", "7", "0.0", "7.0", "2", "49", "50", "007", "9223372036854775807", "9223372036854775808", "1" * 60,
         "25.25"),
}  # fmt: skip


def awkward(rng: random.Random) -> list[str]:
    """One of those with several literals."""
    template = rng.choice(AWKWARD)
    asked = []
    for _ in range(7):
        text = template
        while "{}" in text:
            text = text.replace(
                "{}", rng.choice(VALUES["'" if "'{}" in text[: text.index("{}") + 2] else ""]), 1
            )
        asked.append(text)
    return asked


def written(text: str, known: reading.Readings | None) -> Any:
    """The queries of a statement on all engines, with the tables beside them, and its identity."""
    try:
        plan = planner.plan(text, inside.catalog_of(bench.bench().session), Fraction(1), known=known)
    except QueryRefused as error:
        return str(error)
    out: list[object] = [identity(plan, name) for name in DIALECTS]
    for release in plan.counted:
        for number in range(len(release.parts)):
            for name in DIALECTS:
                compiled = compile_part(release, number, name, 99)
                out += [
                    compiled.sql,
                    {key: (str(t.schema), t.to_pydict()) for key, t in compiled.tables.items()},
                ]
    return out


def compared(asked: Sequence[str], patch: pytest.MonkeyPatch) -> int:
    """Compare the queries of statements asked one after the other with those of each alone; how many had a template."""
    used, made, known = 0, query_template.from_template, reading.Readings()

    def counted(*given: Any) -> Any:
        nonlocal used
        found = made(*given)
        used += found is not None
        return found

    with patch.context() as counting:
        counting.setattr("discreet.sql.lower.compile.from_template", counted)
        found = [written(text, known) for text in (*asked[:2], *asked)]
    for text, one in zip(asked, found[2:], strict=True):
        assert one == written(text, None), text
    return used


def of_questions(seeds: range, patch: pytest.MonkeyPatch) -> int:
    makers = (ordinary, awkward)
    return sum(compared(makers[seed % 2](random.Random(seed)), patch) for seed in seeds)


def test_a_question_has_its_own_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    many = examples(8, 4000)
    used = of_questions(range(many), monkeypatch)
    assert used > many, used  # else little is compared


def without_parameters(self: query_template.QueryTemplate[Any], arguments: Arguments, dialect: Any) -> str:
    texts = [arguments.literal(self.parameters[0]).spelled(dialect)] * len(self.order)
    return "".join(piece + text for piece, text in zip(self.pieces, [*texts, ""], strict=True))


FAULTS: dict[str, tuple[object, str, Any]] = {
    "one literal for all": (query_template.QueryTemplate, "with_arguments", without_parameters),
    "a literal is read as the first one": (
        NumberedParameter, "spelled", lambda self, dialect: self._now.spelled(dialect),
    ),
    "a conversion is not made again": (Parameter, "of", lambda self, literal: self._now if self.steps else literal),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_the_query_of_another_literal_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted faults."""
    monkeypatch.setattr(*FAULTS[fault])
    with pytest.raises(AssertionError):
        of_questions(range(60), monkeypatch)


@dataclass
class Asked:
    """Two literals, and the query that is made with them."""

    found: query_template.QueryTemplate[None]

    def __call__(self, *texts: str) -> str | None:
        return self.found.with_arguments(Arguments(list(map(literal_node, texts))), DUCKDB)


def asked(kind: Type, now: object) -> Asked:
    parameters = tuple(Parameter(at, kind, Literal(now, kind)) for at in range(2))  # type: ignore[arg-type]
    other = Literal(7 if kind is Type.INTEGER else 7.0, kind).spelled(DUCKDB)
    return Asked(
        query_template.QueryTemplate(("a < ", " AND b < ", f" AND c < {other}"), (0, 1), parameters, None)
    )


def test_a_literal_that_equals_another_one_has_its_query_written() -> None:
    whole, real = asked(Type.INTEGER, 1), asked(Type.FLOAT, 1.5)
    assert whole("3", "4") == "a < CAST(3 AS BIGINT) AND b < CAST(4 AS BIGINT) AND c < CAST(7 AS BIGINT)"
    assert whole("3", "3") is None  # each other
    assert whole("3", "7") is None  # one that is no parameter
    assert real("2.5", "3.5") is not None
    assert real("0.0", "3.5") is None  # equals -0.0, which is spelled otherwise
    assert real("2.5", "7.0") is None


def templated() -> PlannedRelease:
    """A release that was made of a generic one."""
    known = reading.Readings()
    for literal in (3, 4, 5, 6):
        text = f"SELECT sex, SUM(x) AS s FROM t WHERE y < {literal} GROUP BY sex"
        plan = planner.plan(text, inside.catalog_of(bench.bench().session), Fraction(1), known=known)
    return plan.releases[0]


class Cleared(dict[Hashable, Any]):
    """Templates that another thread clears whenever somebody has looked for one."""

    def __contains__(self, key: object) -> bool:
        found = super().__contains__(key)
        self.clear()
        return found


def test_another_thread_may_clear_the_queries_that_are_kept() -> None:
    release = templated()
    origin = origin_of(release)
    assert origin is not None
    kept = origin.generic.memo["templates"] = Cleared()
    for salt in (1, 1):
        release.memo.pop("compiled", None)
        assert compile_part(release, 0, "duckdb", salt).sql
    assert len(kept) == 1  # else no query was kept


def test_no_more_than_so_many_queries_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_template, "MOST", 3)
    release = templated()
    origin = origin_of(release)
    assert origin is not None
    sizes = []
    for salt in range(8):
        compile_part(release, 0, "duckdb", salt)
        sizes.append(len(origin.generic.memo["templates"]))
    assert max(sizes) == 3
