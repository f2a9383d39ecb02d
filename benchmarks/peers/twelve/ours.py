"""discreet: a Parquet file, read for every answer, and a ledger on disk that is charged for every answer.

A quantile is asked without an interval, which the other libraries do not give either; `INTERVALS=1` asks with one.
The totals of the two-way table are asked beside its cells; `CELLS=1` asks for the cells, and adds them up by hand as
everybody else has to.
"""

# mypy: ignore-errors
from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import count
from pathlib import Path

import discreet as dp
from benchmarks.peers.twelve.asked import Answer, Asks, Case, by, found, main, totals

PLACES = {
    "count": "COUNT(*)",
    "sum": "SUM(amount)",
    "mean": "AVG(amount)",
    "variance": "VAR_SAMP(amount)",
    "median": "MEDIAN(amount)",
    "ninetieth": "QUANTILE_CONT(amount, 0.9)",
    "distinct": "COUNT(DISTINCT person)",
}
OTHERS = {
    "two_way": "SELECT place, sex, COUNT(*) AS v FROM visits GROUP BY CUBE (place, sex)",
    "unknown": "SELECT code, COUNT(*) AS v FROM visits GROUP BY code",
    "running": "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) AS v FROM visits GROUP BY day",
    "top": "SELECT day, COUNT(*) AS v FROM visits GROUP BY day ORDER BY v DESC LIMIT 5",
}
QUANTILES = ("median", "ninetieth")
Columns = Mapping[str, Sequence[float]]


class Answers:
    """A session and the questions asked of it."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.session = dp.protect(
            case.path,
            table="visits",
            privacy_unit="person" if case.user else "row",
            bounds={"amount": (case.low, case.high)},
            keys={"place": case.places, "sex": case.sexes, "day": case.days},
            budget=dp.Budget(epsilon=10**6, delta="0.9"),
            ledger=Path(tempfile.mkdtemp()) / "ledger.db",
            max_rows=case.kept,
        )
        self.bounds = {"max_groups": case.kept, "max_rows_per_group": 1} if case.user else {}
        self.fresh = count(10**6)

    def ask(self, question: str, **options: object) -> Columns:
        """The columns of one answer, at another epsilon each time: else it would come from the ledger."""
        epsilon = Fraction(self.case.epsilon) * (1 - Fraction(1, next(self.fresh)))
        return self.session.sql(question, epsilon=epsilon, **self.bounds, **options).to_dict()

    def place(self, name: str) -> Answer:
        """One number for each place."""
        options = {"intervals": False} if name in QUANTILES and not os.environ.get("INTERVALS") else {}
        told = self.ask(f"SELECT place, {PLACES[name]} AS v FROM visits GROUP BY place", **options)
        return by(dict(zip(told["place"], told["v"], strict=True)), self.case.places)

    def other(self, name: str) -> Answer:
        """The rest."""
        question = OTHERS[name].replace(
            "CUBE (place, sex)", "place, sex" if os.environ.get("CELLS") else "CUBE (place, sex)"
        )
        told = self.ask(question, **({"delta": self.case.delta} if name == "unknown" else {}))
        if name == "two_way" and os.environ.get("CELLS"):
            return totals(
                dict(zip(zip(told["place"], told["sex"], strict=True), told["v"], strict=True)), self.case
            )
        if name == "two_way":
            keys = [(place, sex) for place in self.case.places for sex in self.case.sexes]
            keys += [(place, None) for place in self.case.places]
            keys += [(None, sex) for sex in self.case.sexes] + [(None, None)]
            return by(dict(zip(zip(told["place"], told["sex"], strict=True), told["v"], strict=True)), keys)
        if name == "running":
            return by(dict(zip(told["day"], told["v"], strict=True)), self.case.days)
        key = "code" if name == "unknown" else "day"
        return found(dict(zip(told[key], told["v"], strict=True)))


def prepare(case: Case) -> Asks:
    """Open the sessions."""
    answers = Answers(case)
    asks: Asks = {name: (lambda name=name: answers.place(name)) for name in PLACES}
    asks |= {name: (lambda name=name: answers.other(name)) for name in OTHERS}
    if os.environ.get("INTERVALS"):
        asks = {name: asks[name] for name in QUANTILES}
    elif os.environ.get("CELLS"):
        asks = {"two_way": asks["two_way"]}
    elif case.many:
        asks["many"] = _many(case)
    return asks


def _many(case: Case) -> object:
    places = list(range(1, case.many_places + 1))
    session = dp.protect(
        case.many,
        table="visits",
        privacy_unit="person",
        max_rows=case.groups,
        keys={"place": places},
        budget=dp.Budget(epsilon=10**6, delta="0.9", accountant="zcdp"),
        ledger=Path(tempfile.mkdtemp()) / "ledger.db",
    )
    fresh = count(10**6)

    def answer() -> Answer:
        told = session.sql(
            "SELECT place, COUNT(*) AS v FROM visits GROUP BY place",
            epsilon=Fraction(case.epsilon) * (1 - Fraction(1, next(fresh))),
            delta=case.delta,
            max_groups=case.groups,
            max_rows_per_group=1,
        ).to_dict()
        return by(dict(zip(told["place"], told["v"], strict=True)), places)

    return answer


if __name__ == "__main__":
    main(prepare, "discreet", "duckdb")
