"""How often one unit can be counted is followed through every operator that multiplies its rows, into found groups.

The integers of neighbouring tables come from the engine, and the law of what is shown is enumerated exactly, as in
tests/mechanisms/numeric/test_threshold.py.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import DEEP, few, in_turn
from tests.mechanisms.numeric.test_threshold import excess, law
from tests.noise.tape import exp

import discreet as dp
from discreet.errors import QueryRefused
from discreet.mechanisms import ThresholdedCounts
from discreet.sql.lower.compile import compile_discovery
from discreet.sql.plan.plan import Discovery, PlannedRelease

BASE = [("a", 1), ("a", 2)]
ALONE = ("c", 3)
PUBLIC = pa.table({"name": ["a", "c"], "region": ["n", "s"]})
TWICE = "(SELECT * FROM t UNION ALL SELECT * FROM t) AS t"
SOURCES = {
    "t": 1,
    TWICE: 2,
    "(SELECT * FROM t UNION ALL SELECT * FROM t WHERE v > 0 UNION ALL SELECT * FROM t) AS t": 3,
    "(SELECT * FROM t UNION ALL SELECT 'moved' AS k, v FROM t) AS t": 2,
    f"(SELECT * FROM {TWICE} UNION ALL SELECT * FROM {TWICE}) AS t": 4,
    f"{TWICE} JOIN pub ON t.k = pub.name": 2,
    f"{TWICE} LEFT JOIN pub ON t.k = pub.name": 2,
    "t JOIN pub ON t.k = pub.name": 1,
    "t CROSS JOIN pub": 2,
    "t, UNNEST([1, 2]) AS u(x)": 2,
    "t JOIN (VALUES ('a', 1), ('a', 2), ('c', 1)) AS p(name, x) ON t.k = p.name": 2,
    "t LEFT JOIN (SELECT 'c' AS name UNION ALL SELECT 'c') AS p ON t.k = p.name": 2,
    "t JOIN pub ON t.k >= pub.name": 2,
    f"{TWICE} CROSS JOIN pub": 4,
}
"""Where private rows come from, and how often one of them counts in all."""
TWO_NAMES = (
    "WITH w AS (SELECT * FROM t) SELECT k, COUNT(*) AS n FROM (FROM w UNION ALL FROM w) AS t GROUP BY k"
)
SETS = f"SELECT k, v, COUNT(*) AS n FROM {TWICE} GROUP BY GROUPING SETS ((k), (k, v))"


def releases(rows: list[tuple[str, int]], question: str, epsilon: int, delta: Fraction, **policy: Any) -> Any:
    """The releases of a question with the counts by which their groups are found."""
    table = pa.table({"k": [k for k, _ in rows], "v": pa.array([v for _, v in rows], pa.int64())})
    declared = {"t": {"privacy_unit": "row"}, "pub": {"public": True}}
    session = shared.protect(
        {"t": table, "pub": PUBLIC},
        policy=dp.Policy(budget=dp.Budget(epsilon=100, delta=Fraction(1, 2)), tables=declared, **policy),  # type: ignore[arg-type]
    )
    out: list[tuple[PlannedRelease, dict[str, int]]] = []
    with session:
        for release in inside.plan_of(session, question, Fraction(epsilon), delta=delta).releases:
            compiled = compile_discovery(release, "duckdb", 7)
            counts: list[Any] = []

            def everything(found: Any, counts: list[Any] = counts) -> Any:
                counts.append(found)
                return range(len(found))

            keys = inside.engine_of(session).keys(compiled.sql, compiled.tables, everything)
            names = [repr(tuple(row.values())) for row in keys.to_pylist()]
            out.append((release, dict(zip(names, counts[0].tolist(), strict=True))))
    return out


def excesses(
    question: str, epsilon: int, delta: Fraction, monkeypatch: pytest.MonkeyPatch, **policy: Any
) -> Any:
    """By release: its mechanism, and delta as it really is, both ways."""
    rows = [*BASE, ("d", 3)] if policy else BASE
    one = releases(rows, question, epsilon, delta, **policy)
    other = releases([*BASE, ALONE], question, epsilon, delta, **policy)
    for (release, before), (_, after) in zip(one, other, strict=True):
        assert release.discovery is not None
        mechanism = release.discovery.mechanism(release)
        reach = {1: 18, 2: 18, 3: 12}[len({*before, *after})]
        a, missed_a = law(mechanism, before, monkeypatch, reach)
        b, missed_b = law(mechanism, after, monkeypatch, reach)
        bound = exp(mechanism.epsilon)
        slack = missed_a + missed_b
        assert bound * slack < mechanism.delta / 10
        yield mechanism, max(excess(a, b, bound) - bound * slack, excess(b, a, bound) - bound * slack)


# A deep run: all.
@pytest.mark.parametrize(
    ("source", "epsilon"),
    few(
        [
            (source, epsilon)
            for at, source in enumerate(SOURCES)
            for epsilon in ((5, 20) if DEEP else (5, 20)[at % 2 :][:1])
        ],
        5,
    ),
)
def test_delta_holds_where_rows_are_units(source: str, epsilon: int, monkeypatch: pytest.MonkeyPatch) -> None:
    question, delta = f"SELECT k, COUNT(*) AS n FROM {source} GROUP BY k", Fraction(1, 10**6)
    for mechanism, real in excesses(question, epsilon, delta, monkeypatch):
        assert (mechanism.max_groups, mechanism.max_count) == (SOURCES[source], SOURCES[source])
        assert real <= mechanism.delta


@pytest.mark.parametrize(
    ("epsilon", "question"), in_turn([5, 20], [TWO_NAMES, SETS])
)  # a deep run: each with each
def test_names_used_twice_and_grouping_sets(
    question: str, epsilon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = Fraction(0)
    for mechanism, real in excesses(question, epsilon, Fraction(1, 1000), monkeypatch):
        assert mechanism.max_count == 2
        assert real <= mechanism.delta
        total += mechanism.delta
    assert total <= Fraction(1, 1000)


@pytest.mark.parametrize("epsilon", [5, 20])
def test_neighbours_that_replace_one(epsilon: int, monkeypatch: pytest.MonkeyPatch) -> None:
    question = f"SELECT k, COUNT(*) AS n FROM {TWICE} GROUP BY k"
    policy = {"neighbours": "replace_one"}
    for mechanism, real in excesses(question, epsilon, Fraction(1, 1000), monkeypatch, **policy):
        assert (mechanism.max_count, mechanism.neighbours) == (2, "replace_one")
        assert real <= mechanism.delta


@pytest.mark.parametrize("epsilon", [5, 20])
def test_a_doubled_row_that_is_thought_to_count_once_is_caught(
    epsilon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def once(discovery: Discovery, release: PlannedRelease) -> ThresholdedCounts:  # the planted fault
        return ThresholdedCounts(discovery.share, discovery.delta, discovery.part.cap)

    monkeypatch.setattr(Discovery, "mechanism", once)
    question, delta = f"SELECT k, COUNT(*) AS n FROM {TWICE} GROUP BY k", Fraction(1, 10**6)
    with monkeypatch.context() as patched:
        real = [(m.delta, found) for m, found in excesses(question, epsilon, delta, patched)]
    assert all(found > stated for stated, found in real)


@pytest.mark.parametrize(
    "source", ["t JOIN t AS u ON t.k = u.k", "t, t AS u", "t LEFT JOIN t AS u ON t.k > u.k"]
)
def test_what_could_multiply_a_row_without_end_is_refused(source: str) -> None:
    with pytest.raises(QueryRefused):
        releases(BASE, f"SELECT t.k, COUNT(*) AS n FROM {source} GROUP BY t.k", 1, Fraction(1, 10))


def test_a_unit_that_a_column_names_is_counted_once_in_a_group_whatever_multiplies_its_rows() -> None:
    table = pa.table({"who": [1, 1, 2], "k": ["a", "a", "a"]})
    session = shared.protect(
        {"t": table}, privacy_unit="who", max_rows=3, budget=dp.Budget(epsilon=9, delta=Fraction(1, 2))
    )
    for source in (TWICE, "t, UNNEST([1, 2]) AS u(x)", "t JOIN t AS s ON t.who = s.who"):
        question = f"SELECT t.k, COUNT(*) AS n FROM {source} GROUP BY t.k"
        (release,) = inside.plan_of(session, question, Fraction(1), delta=Fraction(1, 10)).releases
        assert release.discovery is not None
        assert release.discovery.mechanism(release).max_count == 1
        compiled = compile_discovery(release, "duckdb", 7)
        seen: list[int] = []

        def note(found: Any, seen: list[int] = seen) -> Any:
            seen.extend(found.tolist())
            return range(0)

        inside.engine_of(session).keys(compiled.sql, compiled.tables, note)
        assert seen == [2]
    session.close()
