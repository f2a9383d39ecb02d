"""No value can make a question fail, change its shape or its cost: every function on the worst values there are.

There is no chance of a false alarm. Power: each planted fault at the end is found by the same check.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import shared
from tests.depth import DEEP, examples, few
from tests.sql import harness
from tests.sql.extremes import BOUNDS, WORST, array, broken, broken_each, evaluate, scanned

import discreet as dp
from discreet.engines.schema import Type
from discreet.errors import DiscreetError
from discreet.sql import functions as fn
from discreet.sql.expressions.expression import Call, Expression, Literal

B, I, F, T, D, S = Type.BOOLEAN, Type.INTEGER, Type.FLOAT, Type.TEXT, Type.DATE, Type.TIMESTAMP
PATTERNS = ["%", "_x%", "", "\\", "%\\", "x"]
SINGLE = [kind for kind in BOUNDS if kind.single]
LINES = [(name, at) for name, lines in fn.TABLE.items() for at in range(len(lines))]


def arguments(name: str, line: fn.Function) -> Iterator[list[Expression]]:
    """Arguments of a line, with every combination of bounds; literals where the binder lets only these through."""
    choices: list[list[Expression]] = [
        [scanned(f"p{at}", kind, bounds) for bounds in BOUNDS[kind]] for at, kind in enumerate(line.takes)
    ]
    if name in ("like", "ilike"):
        choices[1] = [Literal(pattern, T) for pattern in PATTERNS]
    else:
        for at, rule in line.literals.items():
            choices[at] = [Literal(value, line.takes[at]) for value in rule.examples]
    if name == "power":
        choices[1] += [Literal(exponent, F) for exponent in (-1.0, 0.0, 0.5, 2.0, 3.0, 16.0)]
    for combination in itertools.product(*choices):
        yield list(combination)


def line_of(name: str, result: Call) -> int | None:
    """Which line of the table a call came from."""
    if result.name == "no_nan" and name != "no_nan":
        inner = result.args[0]
        assert isinstance(inner, Call)
        result = inner
    kinds = tuple(arg.type for arg in result.args)
    for at, line in enumerate(fn.TABLE[name]):
        if line.takes == kinds and line.gives is result.type and line.spelling[""] == result.spelling[""]:
            return at
    return None


@pytest.mark.parametrize("name", sorted(fn.TABLE))
def test_every_function_is_total_and_stays_in_its_span(name: str) -> None:
    reached = set()
    for line in fn.TABLE[name]:
        asked = few(arguments(name, line), 4)  # a deep run: every combination of bounds
        results = [result for args in asked if (result := fn.call(name, *args)) is not None]
        assert len(results) == len(asked), (line.usage, line.takes)
        reached |= {line_of(name, result) for result in results}
        for args, problems in zip(asked, broken_each(results), strict=True):
            spans = [(a.span.lo, a.span.hi) for a in args]
            assert problems == [], (line.usage, line.takes, spans)
    assert reached == set(range(len(fn.TABLE[name]))), "a line of the table that nothing reaches"


@pytest.mark.parametrize("kind", SINGLE)
def test_variadic_functions(kind: Type) -> None:
    values = [scanned(f"p{at % 2}", kind, b) for at, b in enumerate(BOUNDS[kind])]
    literals = {I: Literal(3, I), F: Literal(1.5, F), T: Literal("x", T), B: Literal(True, B)}
    pool = [*values, *([literals[kind]] if kind in literals else []), Literal(None, kind)]
    for name in fn.VARIADIC:
        for count in (1, 2, 3):
            for at, args in enumerate(itertools.product(pool, repeat=count)):
                if at % (1, 1, 2, 51)[count] and not DEEP:
                    continue  # two arguments meet in half of all ways; a deep run: two and three in all
                if any(not isinstance(a, Literal) or a.value is not None for a in args):
                    assert broken(fn.variadic(name, list(args))) == [], (name, args)


@pytest.mark.parametrize("kind", SINGLE)
def test_case(kind: Type) -> None:
    flag = scanned("flag", B, None)
    for a, b in itertools.product(BOUNDS[kind], repeat=2):
        one, two = scanned("p0", kind, a), scanned("p1", kind, b)
        assert broken(fn.case([(flag, one)], two)) == []
        assert broken(fn.case([(flag, one)], Literal(None, kind))) == []
    assert broken(fn.case([(flag, Literal("a", T))], Literal("b", T))) == []


@pytest.mark.parametrize("kind", [I, F])
def test_clamp(kind: Type) -> None:
    ends: list[tuple[int | Fraction, int | Fraction]] = [
        (-3, 4), (0, 1), (-(10**18), 10**18), (Fraction(1, 3), Fraction(10, 3)),
    ]  # fmt: skip
    for bounds, (lo, hi) in itertools.product(BOUNDS[kind], ends):
        clamped = fn.clamp(scanned("p0", kind, bounds), Fraction(lo), Fraction(hi))
        assert clamped.span.bounded
        assert broken(clamped) == [], (bounds, lo, hi)


@pytest.mark.parametrize(
    ("kind", "values"),
    [(I, [1, -40]), (F, [0.5, -0.0]), (T, ["x", ""]), (B, [True]), (T, [None, "x"]), (I, [None])],
)
def test_in(kind: Type, values: list[int | float | str | bool | None]) -> None:
    for bounds in BOUNDS[kind]:
        listed: list[Expression] = [Literal(v, kind) for v in values]
        assert broken(fn.among(scanned("p0", kind, bounds), listed)) == []
        known = fn.variadic("coalesce", [scanned("p0", kind, bounds), listed[-1]])
        assert broken(fn.among(known, listed)) == []


@pytest.mark.parametrize("kind", SINGLE)
def test_scans(kind: Type) -> None:
    for bounds in BOUNDS[kind]:
        scan = scanned("p0", kind, bounds)
        assert broken(scan) == []
        if bounds is not None:
            assert scan.span.bounded


# Without those that ask for literals, and those that make longer and longer texts.
COMPOSED = sorted(
    name
    for name, lines in fn.TABLE.items()
    if len(lines[0].takes) <= 2 and not any(line.literals or line.shortens for line in lines)
)
NULLARY = {
    kind: [scanned(f"{kind.name}{at}", kind, b) for at, b in enumerate(BOUNDS[kind])] for kind in BOUNDS
}


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> Expression:
    """A random expression, some functions deep, over at most two columns."""
    if depth == 0:
        # One or two columns only, so that the product of their worst values stays small.
        kind = draw(st.sampled_from([I, F, F, I, T, D, S, B]))
        return draw(st.sampled_from(NULLARY[kind][:2]))
    first: Expression = draw(expressions(depth=depth - 1))
    name = draw(st.sampled_from(COMPOSED))
    lines = fn.TABLE[name]
    if len(lines[0].takes) == 1:
        return fn.call(name, first) or first
    second = first if draw(st.booleans()) else draw(expressions(depth=0))
    if draw(st.booleans()) and first.type is F:
        second = fn.clamp(second, Fraction(-2), Fraction(3)) if second.type is F else second
    return fn.call(name, first, second) or first


@settings(
    deadline=None, max_examples=examples(25, 1000), database=None, suppress_health_check=list(HealthCheck)
)
@given(expression=expressions())
def test_compositions_are_total(expression: Expression) -> None:
    # Roundings add up over several functions, so that a value may lie a little outside its span: the measures clamp.
    assert [p for p in broken(expression) if "below" not in p and "above" not in p] == []


# Sessions --------------------------------------------------------------------------------------------------
UNITS = 40
POLICY: dict[str, Any] = {
    "privacy_unit": "u",
    "max_rows": 2,
    "bounds": {
        "a": (-5, 20), "b": (-2.5, 4), "f": (dt.date(2020, 1, 1), dt.date(2020, 12, 31)), "h": (-(2**62), 2**62),
    },
    "keys": {"c": ["x", "y", "z"]},
    "budget": 10**6,
}  # fmt: skip
EXTRA = [
    "SELECT SUM(h) AS v FROM t", "SELECT SUM(h) & 1 AS v FROM t", "SELECT c, SUM(h) // COUNT(*) AS v FROM t GROUP BY c",
    "SELECT COUNT(*) / SUM(a) AS v, AVG(b) / 0 AS w FROM t",
    "SELECT COUNT(*) AS v FROM t WHERE f2 < '2020-01-01 10:00:00'",
    "SELECT COUNT(*) AS v FROM t WHERE s > f2", "SELECT COUNT(*) AS v FROM t WHERE CAST(s AS DATE) = f2",
    "SELECT extract(week FROM f2) AS k, COUNT(*) AS v FROM t GROUP BY k",
    "SELECT AVG(f2 - f) AS v FROM t WHERE f2 - f < 9",
    "SELECT AVG(clamp(f2 - f, -9, 9)) AS v FROM t", "SELECT month(s) AS k, AVG(b) AS v FROM t GROUP BY k",
    "SELECT c, COUNT(*) AS v FROM t GROUP BY c HAVING COUNT(*) > 10 ORDER BY v LIMIT 2",
    "SELECT COUNT(*) AS v FROM t WHERE g % a > 0", "SELECT AVG(clamp(g % a, -3, 3)) AS v FROM t",
    "SELECT AVG(clamp(abs(g) * g - g, -3, 3)) AS v FROM t", "SELECT c, COUNT(g + 1) AS v FROM t GROUP BY c",
    "SELECT SUM(1 / e) AS v FROM t", "SELECT SUM(g) AS v FROM t", "SELECT max(a) AS v FROM t WHERE nothing",
    "SELECT COUNT(*) AS v FROM t WHERE e = 'x'", "SELECT c, g, COUNT(*) AS v FROM t GROUP BY c, g",
]  # fmt: skip
QUESTIONS = [
    *(f"SELECT {harness.AGGREGATES[at % 6]}({x}) AS v FROM t" for at, x in enumerate(harness.NUMBERS)),
    *(f"SELECT COUNT(*) AS v, COUNT(e) FILTER (WHERE {x}) AS w FROM t WHERE {x}" for x in harness.TESTS),
    *(f"SELECT {x} AS k, COUNT(*) AS v, STDDEV(b) AS w FROM t GROUP BY k" for x in harness.KEYS),
    *EXTRA,
]  # fmt: skip


def tables() -> dict[str, pa.Table]:
    """A table of plain values, and the same with one unit more, whose rows hold the worst values in all columns."""
    plain: dict[str, tuple[Type, list[Any]]] = {
        "u": (I, [n % UNITS for n in range(120)]), "a": (I, [n % 17 for n in range(120)]),
        "b": (F, [n % 7 / 2 for n in range(120)]), "c": (T, ["xyz"[n % 3] for n in range(120)]),
        "d": (B, [n % 2 == 0 for n in range(120)]), "e": (F, [n / 10 for n in range(120)]),
        "f": (D, [18_262 + n for n in range(120)]), "g": (I, list(range(120))), "h": (I, list(range(120))),
        "f2": (D, list(range(120))), "s": (S, list(range(120))),
    }  # fmt: skip
    rng = random.Random(1)
    rows = {
        name: values + [1000 if name == "u" else rng.choice(WORST[kind]) for _ in range(600)]
        for name, (kind, values) in plain.items()
    }
    return {
        "plain": pa.table({name: array(kind, values) for name, (kind, values) in plain.items()}),
        "worst": pa.table({name: array(kind, rows[name]) for name, (kind, _) in plain.items()}),
    }


def outcome(session: dp.Session, sql: str) -> dict[str, Any]:
    """All of an answer that may not depend on the data: columns, types, keys, cost, notes, messages."""
    before = session.budget.spent
    try:
        release = session.sql(sql, epsilon=1)
    except DiscreetError as error:
        return {"error": type(error).__name__, "message": str(error), "cost": session.budget.spent - before}
    filtered = "HAVING" in sql or "LIMIT" in sql  # then the rows that are shown depend on the noise
    return {
        "schema": release.values.schema,
        "keys": None if filtered or "k" not in release.columns else release.values.column("k").to_pylist(),
        "rows": None if filtered else len(release),
        "intervals": sorted(release.low),
        "cost": (release.epsilon, session.budget.spent - before),
        "notes": release.notes,
    }


def differences(questions: Sequence[str]) -> list[str]:
    """The questions that one unit with the worst values makes answer otherwise."""
    versions = tables()
    with (
        shared.protect({"t": versions["plain"]}, **POLICY) as plain,
        shared.protect({"t": versions["worst"]}, **POLICY) as worst,
    ):
        return [
            f"{sql}: {one} / {two}"
            for sql in questions
            if (one := outcome(plain, sql)) != (two := outcome(worst, sql))
        ]


def test_the_worst_values_change_neither_shape_nor_cost_nor_message() -> None:
    # A deep run asks all; each run what is asked of no other table of tests, and of the harness's questions a spread.
    assert differences(QUESTIONS if DEEP else QUESTIONS[::24] + EXTRA) == []


def test_the_questions_are_answered_at_their_price() -> None:
    with shared.protect({"t": tables()["worst"]}, **POLICY) as session:
        outcomes = [outcome(session, sql) for sql in few(QUESTIONS, 9)]  # a deep run: all
        costs = [one["cost"][0] for one in outcomes if "error" not in one]
        assert len(costs) > len(outcomes) * 3 / 4
        assert set(costs) == {1}
        assert session.budget.spent == len(costs)


def test_a_failure_that_depends_on_the_data_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [replace(fn.TABLE["remainder"][0], spelling={"": "({0} % {1})"}), *fn.TABLE["remainder"][1:]]
    monkeypatch.setitem(fn.TABLE, "remainder", lines)
    assert "EngineError" in "".join(differences(["SELECT COUNT(*) AS v FROM t WHERE g % least(a, -1) > 0"]))


def test_an_unguarded_function_is_found() -> None:
    """The faults that these checks are there for: an error, a NaN, a span too narrow, a NULL that is denied."""
    integer, number, date = (scanned("p0", kind, None) for kind in (I, F, D))
    overflow = Call("add", {"": "({0} + {1})"}, (integer, integer), I, integer.span)
    with pytest.raises(duckdb.Error, match=r"[Oo]verflow"):
        evaluate(overflow)
    far = Call("to_timestamp", {"": "CAST({0} AS TIMESTAMP)"}, (date,), S, date.span)
    with pytest.raises(duckdb.Error):
        evaluate(far)
    assert broken(Call("subtract", {"": "({0} - {1})"}, (number, number), F, number.span)) == ["NaN"]
    bounded = scanned("p0", I, (Fraction(-5), Fraction(20)))
    assert broken(Call("negate", {"": "(- {0})"}, (bounded,), I, bounded.span)) != []
    assert broken(Call("abs", {"": "abs({0})"}, (bounded,), I, bounded.span.null(False))) != []
    assert broken(Call("abs", {"": "CAST({0} AS DOUBLE)"}, (bounded,), I, bounded.span)) == ["type double"]
