"""The twelve questions, their parameters, and the loop that every script of a library runs.

It runs inside each library's environment, so it needs nothing but the standard library. A script gives back one
function for each question that its library can answer, and the reason for each other one. The lines on stdout are
JSON: first the versions, then for each question either why there is no answer, or one line for each answer.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

TOP = 5
NOT_ASKED = "it is not asked"

QUESTIONS: dict[str, str] = {
    "count": "rows in each place",
    "sum": "sum of the amounts in each place",
    "mean": "mean amount in each place",
    "variance": "variance of the amounts in each place",
    "median": "median amount in each place",
    "ninetieth": "90 % quantile of the amounts in each place",
    "two_way": "places by sexes, with all totals",
    "unknown": "rows by code, the codes unknown",
    "distinct": "distinct people in each place",
    "many": "a person in many groups, with a delta",
    "running": "running total over a year",
    "top": "the five busiest days",
}


@dataclass(frozen=True)
class Case:
    """One table and what is public about it.

    Attributes:
        path: a Parquet file with the columns person, place, sex, day, code (integers) and amount (a float).
        unit: `row`, each row a person; or `user`, a person with at most `kept` rows, at most one in each place, on
            each day, and with each code.
        kept: rows of a person.
        places: the public values of place.
        sexes: the public values of sex.
        days: the public values of day, in order.
        low: bound of the amounts.
        high: the other.
        epsilon: of each question.
        delta: of the two questions that bring one.
        longest: a public upper bound of the rows in one place, for libraries that insist on one.
        many: a Parquet file with the columns person and place for the question of that name; empty where it is not
            asked.
        groups: of a person in that file, one row in each.
        many_places: how many places there are in that file, from 1.
    """

    path: str
    unit: str
    kept: int
    places: list[int]
    sexes: list[int]
    days: list[int]
    low: float
    high: float
    epsilon: float
    delta: float
    longest: int
    many: str = ""
    groups: int = 0
    many_places: int = 0

    @property
    def user(self) -> bool:
        """Whether a person with all rows is protected."""
        return self.unit == "user"


Table = Mapping[int, float]
Answer = Mapping[str, Any]
Asks = dict[str, "Callable[[], Answer] | str"]
"""By question: a function that answers once, or why there is none."""


def by(values: Mapping[object, float], keys: Sequence[object]) -> Answer:
    """An answer of one number for each key, in order."""
    assert len(values) == len(keys), f"{len(values)} groups were answered, not {len(keys)}"
    return {"values": [float(values[key]) for key in keys]}


def running(values: Mapping[object, float], days: Sequence[int]) -> Answer:
    """Sums from the first day on of noisy counts of days."""
    total, sums = 0.0, []
    for day in days:
        total += float(values.get(day, 0.0))  # a library without public keys tells no day without rows
        sums.append(total)
    return {"values": sums}


def top(values: Mapping[object, float]) -> Answer:
    """The keys with the greatest noisy counts."""
    chosen = sorted(values, key=lambda key: -values[key])[:TOP]
    return {"keys": [int(str(key)) for key in chosen], "values": [float(values[key]) for key in chosen]}


def found(values: Mapping[object, float]) -> Answer:
    """Groups that were found, with their counts."""
    return {"keys": [int(str(key)) for key in values], "values": [float(value) for value in values.values()]}


def totals(cells: Mapping[tuple[int, int], float], case: Case) -> Answer:
    """Noisy cells with their sums by place, by sex, and over all: the order in which the truth is told, too."""
    grid = [[float(cells[place, sex]) for sex in case.sexes] for place in case.places]
    rows = [sum(line) for line in grid]
    columns = [sum(line[at] for line in grid) for at in range(len(case.sexes))]
    return {"values": [*(one for line in grid for one in line), *rows, *columns, sum(rows)]}


def main(prepare: Callable[[Case], Asks], *packages: str) -> None:
    """Read the arguments, load, and answer each question until its time is over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("case", help="a JSON file")
    parser.add_argument("--least", type=int, default=6, help="answers of a question, however long they take")
    parser.add_argument("--most", type=int, default=200, help="answers, however short they take")
    parser.add_argument("--seconds", type=float, default=6, help="no answer is begun later than this")
    parser.add_argument("--only", default="", help="questions, by commas; all where it is empty")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    asks = prepare(Case(**json.loads(Path(asked.case).read_text("utf-8"))))
    _print({"versions": {name: version(name) for name in packages}})
    for name in asked.only.split(",") if asked.only else QUESTIONS:
        ask = asks.get(name, NOT_ASKED)
        if isinstance(ask, str):
            _print({"question": name, "cannot": ask})
            continue
        try:
            _answers(name, ask, asked)
        except Exception as why:  # what a library says is told beside its name
            _print({"question": name, "cannot": f"{type(why).__name__}: {why}"[:300]})


def _answers(name: str, ask: Callable[[], Answer], asked: argparse.Namespace) -> None:
    """Print the answers to one question; the first is not timed and counts for its error alone."""
    first = time.perf_counter()
    for at in range(asked.most):
        start = time.perf_counter()
        if at >= asked.least and start - first > asked.seconds:
            break
        answer = ask()
        _print({"question": name, "seconds": time.perf_counter() - start if at else None, **answer})


def _print(line: Mapping[str, object]) -> None:
    sys.stdout.write("\n" + json.dumps(line) + "\n")
    sys.stdout.flush()
