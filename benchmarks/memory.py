"""The epsilon of 200 questions that an analyst asks of one data set, one after the other: with and without memory.

Two analysts. One looks at the data first, in tables by three, two and one of its columns, and asks then about parts of
it: people of an age from … to …, of one sex, of some regions, in all or by one column. The other asks scattered
questions, each of which has little to do with those before. Each question has an error that is small enough. Without
memory it costs the least epsilon that reaches this error, but for the same question again, which is free. Beside it,
how many of all intervals that were shown cover the number that the data has.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

import duckdb
import numpy as np
import pyarrow as pa

import discreet as dp
from benchmarks.line import Line

QUESTIONS = 200
ROWS = 50_000
SAVED = 3.0
REGIONS = tuple("abcdefgh")
COLUMNS = (
    "sex BOOLEAN, age BIGINT, education BIGINT, region VARCHAR, hours BIGINT, income BIGINT".replace(
        ",", " NOT NULL,"
    )
    + " NOT NULL"
)
KEYS = ("sex", "age", "education", "region", "hours")
PARTS = (
    "sex",
    "age >= 18",
    "age >= 65",
    "region IN ('a', 'b')",
    "region = 'c'",
    "education >= 13",
    "hours >= 35",
)
TABLES = ("sex", "age", "education", "region")
COUNTS = (50, 100, 200, 400)
MEANS = (500, 1000, 2000)

Asked: TypeAlias = tuple[str, dict[str, int]]


def people(seed: int = 1) -> pa.Table:
    """Invented people."""
    draw = np.random.default_rng(seed)
    columns = {
        "sex": draw.random(ROWS) < 0.5,
        "age": draw.integers(0, 90, ROWS),
        "education": draw.integers(1, 17, ROWS),
        "region": draw.choice(REGIONS, ROWS),
        "hours": draw.integers(0, 80, ROWS),
        "income": np.minimum(draw.lognormal(10, 0.7, ROWS), 99_999).astype(np.int64),
    }
    return pa.table(columns)


def looking(seed: int = 1) -> Iterator[Asked]:
    """Tables first, with small errors in their cells; then parts of them, which are larger."""
    draw = np.random.default_rng(seed)
    tables = [keys for size in (3, 2, 1) for keys in itertools.combinations(TABLES, size)]
    for keys in tables:
        yield counted(keys, "", 30)
    for _ in range(QUESTIONS - len(tables)):
        parts = []
        column = draw.choice(["age", "education"])
        low, high = sorted(draw.choice(90 if column == "age" else np.arange(1, 17), 2, replace=False))
        parts.append(f"{column} BETWEEN {low} AND {high}")
        other = draw.choice(["", "sex", "NOT sex", "region IN ('a', 'b', 'c')", "region = 'd'"])
        if other:
            parts.append(str(other))
        key = draw.choice(["", *TABLES])
        yield counted((key,) if key else (), " AND ".join(parts), int(draw.choice([100, 200, 400])))


def scattered(seed: int = 1) -> Iterator[Asked]:
    """Counts and averages in all or by one or two of five columns, of everybody or of a part."""
    draw = np.random.default_rng(seed)
    for _ in range(QUESTIONS):
        keys = [KEYS[at] for at in draw.permutation(len(KEYS))[: draw.choice([0, 1, 1, 2])]]
        part = str(draw.choice(PARTS)) if draw.random() < 0.5 else ""
        mean = draw.random() < 0.25 and len(keys) < 2
        number = "AVG(income)" if mean else "COUNT(*)"
        yield counted(keys, part, int(draw.choice(MEANS if mean else COUNTS)), number)


def counted(keys: Sequence[str], part: str, error: int, number: str = "COUNT(*)") -> Asked:
    """A question, and the error that is small enough."""
    where = f" WHERE {part}" if part else ""
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join([*keys, f'{number} AS x'])} FROM data{where}{by}", {"x": error}


def priced(asked: Iterable[Asked], memory: bool) -> tuple[Fraction, int, int, int]:
    """The epsilon of all questions, how many were free, how many intervals were shown, and how many cover."""
    data = people()
    bounds = {"age": (0, 89), "education": (1, 16), "hours": (0, 79), "income": (0, 100_000)}
    free = shown = covered = 0
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/people.duckdb"
        with duckdb.connect(file) as connection:
            connection.execute(f"CREATE TABLE data ({COLUMNS})")
            connection.register("people", data)
            connection.execute("INSERT INTO data SELECT * FROM people")
        session = dp.protect(file, privacy_unit="row", bounds=bounds, keys={"region": REGIONS}, budget=10_000)
        exact = duckdb.connect()
        exact.register("data", data)
        for question, within in asked:
            before = session.budget.spent
            answer = session.sql(question, within=within, reuse=memory)
            free += session.budget.spent == before
            truth = {tuple(row[:-1]): row[-1] for row in exact.execute(question).fetchall()}
            keys = answer.columns[:-1]
            for row in answer:
                number = truth.get(tuple(row[key] for key in keys), 0)
                if number is not None and np.isfinite(row["x_low"]):
                    shown += 1
                    covered += row["x_low"] <= number <= row["x_high"]
        spent = session.budget.spent
        session.close()
        return spent, free, shown, covered


def lines() -> Iterator[Line]:
    """Epsilon with memory beside epsilon without, and the share of the intervals that cover."""
    for name, asked, least in (("tables, then parts", looking, SAVED), ("scattered", scattered, 0.0)):
        ours, free, shown, covered = priced(asked(), memory=True)
        theirs, again, _, _ = priced(asked(), memory=False)
        ratio = float(theirs / ours)
        label = f"{QUESTIONS} questions, {name}: {free} of them free, {again} without memory"
        yield Line(label, float(ours), "without memory", float(theirs), ratio, f"at least {least:g} x" if least else "",
                   ratio >= least, unit="epsilon")  # fmt: skip
        share = covered / shown
        yield Line(f"{shown:,} intervals at 95 % that cover", 100 * share, "", 0.0, share, "at least 94 %",
                   share >= 0.94, unit="%")  # fmt: skip
