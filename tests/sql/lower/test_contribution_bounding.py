"""Which rows of a unit are kept is a fair choice: every set of max_rows rows of a unit is kept equally often.

Each unit has the same rows, so the sets that units keep are draws from one law, which is enumerated. The statistic is
Pearson's, over all sets and not over single values: a hash under which two values are always kept together is found
as well. Power: 3,000 units show a choice whose chances are off by 30 % (root mean square) but with a chance of 1e-6,
which is asserted. False alarms: 1e-12 for each of fewer than 100 comparisons, so 1e-10 in all; the salt is written
here, so that a test that passes once passes always.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests import inside, servers, shared
from tests.depth import DEEP, few

import discreet as dp
from discreet.engines.clickhouse import ClickHouseEngine
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.schema import Type
from discreet.sql.algebra.relation import UNIT
from discreet.sql.dialects import clickhouse as of_clickhouse
from discreet.sql.dialects import duckdb as of_duckdb
from discreet.sql.dialects import named, sampled_rows
from discreet.sql.expressions.dialect import NUMBER
from discreet.sql.lower.compile import compile_discovery, compile_part
from discreet.sql.lower.contribution_bounding import EVERY_UNIT, Units, kept_in_groups, kept_sql
from discreet.sql.lower.run import exact_integers

Pair = tuple[int | None, int | None]
Sets = Counter[tuple[Pair, ...]]

SALT = 0x9E3779B97F4A7C15
UNITS = 5_000
UNITS_OF_SPARK = 3_000
"""Fewer, as Spark is slow with small tables; enough for the patterns of at most fifteen sets, on each engine."""
ALARM = 1e-12
MISSED = 1e-6
FAULT = 0.3
NAMES = ["who", "a", "b"]
SPANS: dict[str, tuple[int, int]] = {"who": (0, UNITS), "a": (0, 31), "b": (0, 31)}
TYPES = dict.fromkeys([UNIT, *NAMES], Type.INTEGER)
PATTERNS: dict[str, tuple[Sequence[Pair], int]] = {
    "twelve months": ([(0, at) for at in range(1, 13)], 2),
    "two columns": ([(at // 6, at % 6) for at in range(12)], 2),
    "six in a row": ([(0, at) for at in range(6)], 2),
    "rows that are alike": ([(1, 1), (1, 1), (1, 1), (2, 1), (2, 1), (3, 1)], 2),
    "one row of which most are alike": ([(1, 1)] * 9 + [(2, 1)], 1),
    "more are alike than are kept": ([(1, 1)] * 5 + [(2, 1), (2, 2), (3, 0)], 3),
    "five of seven": ([(0, at) for at in range(7)], 5),
    "nothing and something": ([(None, 1), (1, None), (None, None), (1, 1), (0, None), (None, 0)], 2),
}


def rows_of(pattern: Sequence[Pair], units: int = UNITS) -> pa.Table:
    """Every unit with the rows of a pattern, in a random physical order."""
    who = np.repeat(np.arange(units), len(pattern))
    columns = [pa.array([one[at] for one in pattern] * units, pa.int64()) for at in range(2)]
    table = pa.table({UNIT: who, "who": who, "a": columns[0], "b": columns[1]})
    return table.take(np.random.default_rng(3).permutation(len(who)))


def law(pattern: Sequence[Pair], kept: int) -> dict[tuple[Pair, ...], Fraction]:
    """The chance of each set of rows, where each choice of `kept` of them is as likely."""
    sets = Counter(in_order(chosen) for chosen in itertools.combinations(pattern, kept))
    return {one: Fraction(times, sets.total()) for one, times in sets.items()}


def in_order(rows: Sequence[Pair]) -> tuple[Pair, ...]:
    return tuple(sorted(rows, key=str))


def sets_of(rows: Sequence[Any]) -> Sets:
    """How many units keep each set of rows."""
    kept: dict[int, list[Pair]] = defaultdict(list)
    for who, a, b in rows:
        kept[who].append((a, b))
    assert len(kept) in (UNITS, UNITS_OF_SPARK)
    return Counter(map(in_order, kept.values()))


def alarm(sets: Sets, pattern: Sequence[Pair], kept: int) -> float:
    """The chance that a fair choice is as far from its law as this."""
    chances = law(pattern, kept)
    assert set(sets) <= set(chances)
    expected = np.array([float(chance) for chance in chances.values()]) * sets.total()
    assert expected.min() > 20
    freedom, found = len(chances) - 1, np.array([sets[one] for one in chances])
    limit = stats.chi2.isf(ALARM, freedom)
    assert stats.ncx2.cdf(limit, freedom, sets.total() * FAULT**2) < MISSED  # the power that is stated above
    return float(stats.chi2.sf(((found - expected) ** 2 / expected).sum(), freedom))


Ask = Callable[[str], Sequence[Any]]


@contextmanager
def asking(dialect: str, pattern: Sequence[Pair]) -> Iterator[Ask]:
    """An engine that holds units with the rows of a pattern."""
    table = rows_of(pattern, UNITS_OF_SPARK if dialect == "spark" or len(pattern) <= 6 else UNITS)
    if dialect == "duckdb":
        with duckdb.connect() as embedded:
            embedded.register("fair", table)
            yield lambda sql: embedded.execute(sql).fetchall()
    elif dialect == "postgres":
        servers.load(servers.postgres(), "fair_choice", {"fair": table})
        with servers.connect(servers.postgres()) as connection:
            connection.execute("SET search_path TO fair_choice")
            yield lambda sql: connection.execute(sql).fetchall()
    elif dialect == "clickhouse":
        servers.load_clickhouse("fair_choice", {"fair": table})
        engine = ClickHouseEngine.open_all([("fair_choice.fair", servers.clickhouse())])
        yield lambda sql: list(
            zip(*engine._run(sql.replace("FROM fair", "FROM `fair`"), {}).to_pydict().values(), strict=True)
        )
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            servers.spark().createDataFrame(table).repartition(2).createOrReplaceTempView("fair")
            yield lambda sql: [tuple(row.values()) for row in servers.spark().sql(sql).toArrow().to_pylist()]


ENGINES = ("duckdb", "postgres", "spark", "clickhouse")
PATHS = [("duckdb", "packed"), ("duckdb", "struct"), ("duckdb", "window"), ("duckdb", "sliced"),
         ("duckdb", "portable"), ("postgres", "sampled"), ("postgres", "sampled of texts"),
         ("postgres", "sampled of any type"), ("postgres", "window"), ("postgres", "portable"), ("spark", "window"),
         ("spark", "portable"), ("clickhouse", "array"), ("clickhouse", "portable")]  # fmt: skip

SAMPLED = {
    "sampled": (UNIT, "INTEGER"),
    "sampled of texts": (f'CAST({UNIT} AS text) COLLATE "C"', "TEXT"),
    "sampled of any type": (f"CAST({UNIT} AS numeric)", "numeric"),
}
"""The units by whose hash rows are drawn, and their kind."""


def choose(
    ask: Ask,
    dialect: str,
    path: str,
    kept: int,
    monkeypatch: pytest.MonkeyPatch,
    alike: bool = True,
    **planted: Any,
) -> Sets:
    """What a code path keeps of each unit."""
    slices = [Units(at, 3) for at in range(3)] if path == "sliced" else [EVERY_UNIT]
    found: list[Any] = []
    written = replace(named(dialect), **planted)
    unit, kind = SAMPLED.get(path, (UNIT, ""))
    with monkeypatch.context() as patched:
        if path == "window":
            patched.setattr(of_duckdb, "MANY", 0)
            patched.setattr(sampled_rows, "FEW", 0)
        for units in slices:
            sql = kept_sql(
                f"SELECT {unit} AS {UNIT}, who, a, b FROM fair", "TRUE", NAMES, kept, SALT, written,
                TYPES if path == "portable" else None, SPANS if path in ("packed", "sliced") else None, units,
                alike, kind, True,
            )  # fmt: skip
            assert ("row_number" in sql) == (path in ("window", "portable") or path in SAMPLED)
            assert (sampled_rows.SEED in sql) == (path in SAMPLED)
            assert ("struct_pack" in sql) == (path == "struct")
            found += ask(sql)
    return sets_of([tuple(row) for row in found])


def patterns_of(dialect: str) -> list[str]:
    """A spread, which is larger on DuckDB; a deep run: all, but for the largest on Spark."""
    if dialect != "spark":
        return few(PATTERNS, 4 if dialect == "duckdb" else 2)
    return few(
        [name for name in PATTERNS if name not in ("twelve months", "two columns", "five of seven")], 2
    )


@pytest.mark.parametrize(("dialect", "name"), [(e, name) for e in ENGINES for name in patterns_of(e)])
def test_every_set_of_rows_is_kept_as_often(dialect: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, kept = PATTERNS[name]
    paths = [path for engine, path in PATHS if engine == dialect]
    if dialect == "duckdb" and not DEEP:  # each second path, and with the next pattern those between them
        paths = paths[patterns_of(dialect).index(name) % 2 :: 2]
    with asking(dialect, pattern) as ask:
        for path in paths:
            sets = choose(ask, dialect, path, kept, monkeypatch)
            assert alarm(sets, pattern, kept) > ALARM, (path, sets)


def test_slices_keep_the_rows_that_are_kept_of_all_units(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, kept = PATTERNS["rows that are alike"]
    with asking("duckdb", pattern) as ask:
        sliced, packed = (choose(ask, "duckdb", path, kept, monkeypatch) for path in ("sliced", "packed"))
    assert sliced == packed


def combined(salt: int, columns: Sequence[str], dialect: str) -> str:
    """The planted fault: the combined hash as the engine gives it, of the unit and of what the row carries."""
    listed, signed = (
        ", ".join(one for one in columns if one not in (NUMBER, "__n")),
        f"CAST({salt - 2**64} AS BIGINT)",
    )
    if dialect == "clickhouse":  # NULL, where one of them is
        return f"cityHash64({salt}, {listed})"
    if dialect == "postgres":
        return f"hash_record_extended(ROW({listed}), {signed})"
    return f"xxhash64({signed}, {listed})" if dialect == "spark" else f"hash({salt}::UBIGINT, {listed})"


@pytest.mark.parametrize(
    ("dialect", "path", "name"),
    # A deep run: with two patterns.
    [("duckdb", path, name) for path in ("struct", "window") for name in list(PATTERNS)[: 1 + DEEP]]
    + [("postgres", "window", name) for name in list(PATTERNS)[: 1 + DEEP]]
    + [("spark", "window", "nothing and something"), ("clickhouse", "array", "nothing and something")],
)
def test_a_combined_hash_is_caught(
    dialect: str, path: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern, kept = PATTERNS[name]

    planted = partial(combined, dialect=dialect)
    for module in (of_duckdb, of_clickhouse):
        monkeypatch.setattr(module, "_hash", planted)
    with asking(dialect, pattern) as ask:
        sets = choose(ask, dialect, path, kept, monkeypatch, hash=planted)
    assert alarm(sets, pattern, kept) < ALARM


ALIKE = ["rows that are alike", "one row of which most are alike"]


@pytest.mark.parametrize(  # each path with one of the patterns; a deep run: with both
    ("dialect", "path", "name"),
    [
        (*path, name)
        for number, path in enumerate(path for path in PATHS if path[1] not in SAMPLED)
        for at, name in enumerate(ALIKE)
        if DEEP or number % 2 == at
    ],
)
def test_a_block_of_rows_that_are_alike_is_caught(
    dialect: str, path: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern, kept = PATTERNS[name]
    with asking(dialect, pattern) as ask:
        sets = choose(ask, dialect, path, kept, monkeypatch, alike=False)
    assert alarm(sets, pattern, kept) < ALARM


def test_draws_that_are_the_same_for_every_unit_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, kept = PATTERNS["two columns"]
    monkeypatch.setattr(sampled_rows, "unit_hash", lambda selection: "0")
    with asking("postgres", pattern) as ask:
        sets = choose(ask, "postgres", "sampled", kept, monkeypatch)
    assert alarm(sets, pattern, kept) < ALARM


# whole questions ------------------------------------------------------------------------------------------------

MONTHS = list(range(1, 13))
WEIGHTS = {month: 1 + month % 3 for month in MONTHS}
"""How many rows, all alike, each unit has in a month."""
QUESTIONS = {
    "SELECT m, COUNT(*) AS n FROM t GROUP BY m": 3,
    "SELECT m, COUNT(*) AS n, AVG(x) AS x FROM t GROUP BY m": 3,
    "SELECT m, MEDIAN(x) AS n FROM t GROUP BY m": 3,
}


def people(weights: dict[int, int]) -> pa.Table:
    months = [month for month, times in weights.items() for _ in range(times)]
    who = np.repeat(np.arange(UNITS), len(months))
    return pa.table({"u": who, "m": months * UNITS, "x": np.ones(len(who))})


def too_far(counts: dict[int, int], weights: dict[int, int], kept: int) -> bool:
    """Whether a month is kept more or less often than its rows have it, by 8 deviations of the hypergeometric law.

    That is 1.3e-15 for each of twelve months. A month that is kept a third too often is 20 deviations off.
    """
    total = sum(weights.values())
    for month, times in weights.items():
        chance = times / total
        deviation = np.sqrt(UNITS * kept * chance * (1 - chance) * (total - kept) / (total - 1))
        if abs(counts.get(month, 0) - UNITS * kept * chance) > 8 * max(deviation, 1e-9):
            return True
    return False


def asked(
    max_rows: int,
    question: str,
    slices: int,
    portable: bool = False,
    weights: dict[int, int] = WEIGHTS,
    texts: bool = False,
) -> dict[int, int]:
    """How many rows of each month, a number or a text, are counted, without noise."""
    table, months = people(weights), [*MONTHS]
    if texts:
        table = table.set_column(1, "m", table["m"].cast(pa.string()))
        months = [str(month) for month in MONTHS]  # type: ignore[misc]
    options: dict[str, Any] = {
        "privacy_unit": "u",
        "max_rows": max_rows,
        "budget": 1,
        "bounds": {"x": (0, 2)},
    }
    with shared.protect({"t": table}, keys={"m": months}, **options) as session:
        (release,) = inside.plan_of(session, question, Fraction(1)).releases
        engine = DuckDBEngine.open({"t": table})
        engine.__dict__["slices"] = slices
        totals = exact_integers(release, engine, SALT, portable=portable).sum(axis=1)
    # The integers of a row add up to the same for each row here: a count, a base of moments, a tree's levels.
    each = int(totals.sum()) // (UNITS * max_rows)
    return {int(str(m)): int(n) // each for m, n in zip(release.keys[0].values, totals, strict=True)}


# Each question, with and without; a deep run: each both ways.
@pytest.mark.parametrize(("question", "slices"), few(itertools.product(QUESTIONS, [1, 3]), 3))
def test_months_are_kept_as_their_rows_have_them(question: str, slices: int) -> None:
    counts = asked(QUESTIONS[question], question, slices)
    assert not too_far(counts, WEIGHTS, QUESTIONS[question]), counts


@pytest.mark.parametrize(("question", "portable"), few(itertools.product(QUESTIONS, [False, True]), 3))
def test_so_they_are_where_months_are_texts(question: str, portable: bool) -> None:
    counts = asked(QUESTIONS[question], question, 1, portable, texts=True)
    assert not too_far(counts, WEIGHTS, QUESTIONS[question]), counts


def test_so_they_are_by_the_portable_hash() -> None:
    question = next(iter(QUESTIONS))
    counts = asked(3, question, 1, portable=True)
    assert not too_far(counts, WEIGHTS, 3), counts


def test_a_combined_hash_is_caught_where_rows_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    once, question = dict.fromkeys(MONTHS, 1), next(iter(QUESTIONS))
    assert not too_far(asked(3, question, 1, weights=once), once, 3)
    monkeypatch.setattr(of_duckdb, "_hash", partial(combined, dialect="duckdb"))
    assert too_far(asked(3, question, 1, weights=once), once, 3)


def found_groups() -> dict[int, int]:
    """How many units are counted in each month, where each counts in four of its twelve."""
    options: dict[str, Any] = {
        "privacy_unit": "u",
        "max_rows": 4,
        "budget": dp.Budget(epsilon=1, delta=Fraction(1, 100)),
    }
    table = people(WEIGHTS)
    with shared.protect({"t": table}, **options) as session:
        question = "SELECT m, COUNT(*) AS n FROM t GROUP BY m"
        (release,) = inside.plan_of(session, question, Fraction(1), delta=Fraction(1, 1000)).releases
        compiled = compile_discovery(release, "duckdb", SALT)
        assert "unnest(range" not in compiled.sql  # rows per unit and group are never alike
        assert "unnest(range" in compile_part(release, 0, "duckdb", SALT).sql
        with shared.plain() as connection:
            connection.register("t", table)
            return {int(month): int(n) for month, n in connection.execute(compiled.sql).fetchall()}


def test_groups_of_a_unit_are_found_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    alike = dict.fromkeys(MONTHS, 1)
    assert not too_far(found_groups(), alike, 4)
    monkeypatch.setattr(of_duckdb, "_hash", partial(combined, dialect="duckdb"))
    assert too_far(found_groups(), alike, 4)


SEVERAL: Sequence[Pair] = [(group, row) for group in range(3) for row in range(4)]


@pytest.mark.parametrize("dialect", ENGINES)
def test_rows_are_kept_in_each_group_as_often(dialect: str) -> None:
    with asking(dialect, SEVERAL) as ask:
        for types in (None, TYPES):
            sql = kept_in_groups(
                f"SELECT {UNIT}, who, a, b FROM fair", "TRUE", NAMES, ["a"], 2, SALT, named(dialect), types
            )
            found = [tuple(row)[:3] for row in ask(sql)]
            for group in range(3):
                own = [row for row in found if row[1] == group]
                assert alarm(sets_of(own), [one for one in SEVERAL if one[0] == group], 2) > ALARM


def test_a_row_too_many_in_a_group_is_found() -> None:
    with asking("duckdb", SEVERAL) as ask:
        rows = f"SELECT {UNIT}, who, a, b FROM fair"
        sql = kept_in_groups(rows, "TRUE", NAMES, ["a"], 3, SALT, named("duckdb"))  # the planted fault
        with pytest.raises(AssertionError):
            alarm(sets_of([row[:3] for row in ask(sql) if row[1] == 0]), SEVERAL[:4], 2)
