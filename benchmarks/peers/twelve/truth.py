"""The squared errors of answers, run by run."""

# mypy: disable-error-code="arg-type,type-var,call-overload"
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.peers.twelve.asked import TOP, Case

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Told = Mapping[str, Sequence[float]]
PLAIN = {
    "count": "count(*)",
    "sum": "sum(amount)",
    "mean": "avg(amount)",
    "variance": "var_samp(amount)",
    "distinct": "count(DISTINCT person)",
}
QUANTILES = {"median": 0.5, "ninetieth": 0.9}


class Truth:
    """What is exact about one case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        with duckdb.connect() as connection:
            connection.execute("SET threads TO 2")
            self._read(connection)

    def _read(self, connection: duckdb.DuckDBPyConnection) -> None:
        def table(keys: str, value: str, path: str = self.case.path) -> dict[object, float]:
            rows = connection.execute(
                f"SELECT {keys}, {value} FROM read_parquet(?) GROUP BY {keys}", [path]
            ).fetchall()
            return {row[0] if len(row) == 2 else row[:-1]: float(row[-1]) for row in rows}

        case = self.case
        self.plain = {
            name: np.array([found[place] for place in case.places])
            for name, value in PLAIN.items()
            for found in [table("place", value)]
        }
        values = table_lists(connection, case.path)
        self.amounts = [np.sort(values[place]) for place in case.places]
        cells = table("place, sex", "count(*)")
        grid = np.array([[cells.get((place, sex), 0.0) for sex in case.sexes] for place in case.places])
        self.tables = (grid.ravel(), grid.sum(1), grid.sum(0), grid.sum(keepdims=True).ravel())
        self.codes = table("code", "count(*)")
        days = table("day", "count(*)")
        self.days = {day: days.get(day, 0.0) for day in case.days}
        self.many = table("place", "count(*)", case.many) if case.many else {}

    def errors(self, question: str, told: Told) -> dict[str, list[list[float]]]:
        """For each line of the table that a question fills: mean squared errors, by what is independent and by part.

        The errors of places are independent, each by itself; those of a table or a running total are taken together.
        """
        values = np.asarray(told["values"], np.float64)
        if question in self.plain:
            # What the bounds imply is free for everybody: a mean lies within, a variance below that of both ends.
            if question in ("mean", "variance"):
                half = (self.case.high - self.case.low) / 2
                low, high = (self.case.low, self.case.high) if question == "mean" else (0.0, half * half)
                values = np.nan_to_num(values, nan=low).clip(low, high)
            return {question: _each(values - self.plain[question])}
        if question in QUANTILES:
            return {question: _each(self._ranks(values, QUANTILES[question]))}
        if question == "many":
            return {"many": _each(values - np.array([self.many[at] for at in sorted(self.many)]))}
        if question == "two_way":
            ends = np.cumsum([part.size for part in self.tables])[:-1]
            found = zip(np.split(values, ends), self.tables, strict=True)
            parts = [_mean_square(one - exact) for one, exact in found]
            return {"two_way": [parts], "two_way_all": [[_mean_square(values - np.concatenate(self.tables))]]}
        if question == "unknown":
            shown = dict(zip(told["keys"], values, strict=True))
            off = np.array([shown.get(code, 0.0) - n for code, n in self.codes.items()])
            return {"unknown": [[_mean_square(off)]]}
        if question == "running":
            exact = np.cumsum([self.days[day] for day in self.case.days])
            return {"running": [[_mean_square(values - exact)]]}
        return self._top(told)

    def _ranks(self, values: Floats, q: float) -> Floats:
        """By how many rows each value lies beside the rank that was asked for; equal rows share their ranks."""
        found = []
        for value, ordered in zip(values, self.amounts, strict=True):
            below, until = np.searchsorted(ordered, value), np.searchsorted(ordered, value, "right")
            rank = q * ordered.size
            found.append(max(0.0, below - rank, rank - until))
        return np.array(found)

    def _top(self, told: Told) -> dict[str, list[list[float]]]:
        chosen = np.array([self.days[int(day)] for day in told["keys"]])
        best = np.sort(np.array(list(self.days.values())))[-TOP:]
        lost = (best.sum() - chosen.sum()) / TOP
        return {
            "top": [[float(lost) ** 2]],
            "top_counts": [[_mean_square(np.asarray(told["values"]) - chosen)]],
        }


def table_lists(connection: duckdb.DuckDBPyConnection, path: str) -> dict[int, Floats]:
    """The amounts by place."""
    rows = connection.execute(
        "SELECT place, list(amount) FROM read_parquet(?) GROUP BY place", [path]
    ).fetchall()
    return {place: np.array(values, np.float64) for place, values in rows}


def _each(errors: Floats) -> list[list[float]]:
    return [[float(one)] for one in np.square(errors)]


def _mean_square(errors: Floats) -> float:
    return float(np.mean(np.square(errors)))


def of(path: Path) -> Truth:
    """The truth of a case that was written."""
    return Truth(Case(**json.loads(path.read_text("utf-8"))))
