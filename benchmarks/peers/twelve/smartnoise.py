"""SmartNoise SQL over a Pandas frame, which it copies into a SQLite in memory: once, before the clock runs.

Each column costs the epsilon of `Privacy`, so that is set to the share with which its own count of the cost is what
everybody pays. Public groups need no threshold (`censor_dims` is off) and use no delta; the codes, which are unknown,
are censored by it. A person in many groups has Gaussian noise there, which is set by kind of statistic.
"""

# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from snsql import Mechanism, Privacy, Stat, from_df

from benchmarks.peers.twelve.asked import Answer, Asks, Case, by, found, main, running, top, totals

NO_QUANTILES = "it has no quantiles"
NO_USE = 1e-12
"""The delta that has to be named where nothing uses it."""


class Reader:
    """One question's reader."""

    def __init__(
        self, case: Case, rows: pd.DataFrame, question: str, *, kept: int, delta: float = 0.0
    ) -> None:
        self.case, self.rows, self.question, self.kept, self.delta = case, rows, question, kept, delta
        self.reader: object = None

    def made(self, epsilon: float, delta: float, mechanism: Mechanism | None) -> object:
        """A reader with this price of a column."""
        case = self.case
        table = {
            "row_privacy": not case.user,
            "max_ids": self.kept,
            "sample_max_ids": case.user,
            "censor_dims": bool(self.delta) and mechanism is None,
            "clamp_counts": False,
            "clamp_columns": True,
            "rows": len(self.rows),
            "person": {"type": "int", "private_id": case.user},
            **{name: {"type": "int"} for name in ("place", "sex", "visited", "code") if name in self.rows},
            "amount": {"type": "float", "lower": case.low, "upper": case.high},
        }
        table = {name: value for name, value in table.items() if name != "amount" or name in self.rows}
        privacy = Privacy(epsilon=epsilon, delta=delta)
        if mechanism is not None:
            privacy.mechanisms.map[Stat.count] = mechanism
        return from_df(self.rows, privacy=privacy, metadata={"": {"data": {"visits": table}}})

    def ask(self, mechanism: Mechanism | None = None) -> dict:
        """The first columns as keys, the last as the value."""
        if self.reader is None:
            wanted, delta = self.case.epsilon, self.delta or NO_USE
            epsilon, share = wanted, delta
            for _ in range(6):  # its cost grows almost in proportion
                self.reader = self.made(epsilon, share, mechanism)
                spent, used = self.reader.get_privacy_cost(self.question)
                epsilon, share = (
                    epsilon * wanted / spent,
                    share * (delta / used if self.delta and used else 1),
                )
            assert abs(spent - wanted) < 1e-6, f"one answer costs {spent}"
            assert not self.delta or used <= delta * 1.0001, f"one answer costs a delta of {used}"
        told = self.reader.execute(self.question)[1:]
        return {(row[0] if len(row) == 2 else tuple(row[:-1])): row[-1] for row in told}


def prepare(case: Case) -> Asks:
    """Load the frames."""
    rows = pd.read_parquet(case.path).rename(columns={"day": "visited"})  # a word of its grammar
    kept = case.kept if case.user else 1

    def reader(keys: str, value: str, delta: float = 0.0) -> Reader:
        question = f"SELECT {keys}, {value} AS v FROM data.visits GROUP BY {keys}"
        return Reader(case, rows, question, kept=kept, delta=delta)

    def places(value: str) -> Callable[[], Answer]:
        asked = reader("place", value)
        return lambda: by(asked.ask(), case.places)

    cells, days = reader("place, sex", "COUNT(*)"), reader("visited", "COUNT(*)")
    unknown = reader("code", "COUNT(DISTINCT person)" if case.user else "COUNT(*)", case.delta)
    asks: Asks = {
        "count": places("COUNT(*)"),
        "sum": places("SUM(amount)"),
        "mean": places("AVG(amount)"),
        "variance": places("VARIANCE(amount)"),
        "median": NO_QUANTILES,
        "ninetieth": NO_QUANTILES,
        "two_way": lambda: totals(cells.ask(), case),
        "unknown": lambda: found(unknown.ask()),
        "distinct": places("COUNT(DISTINCT person)"),
        "running": lambda: running(days.ask(), case.days),
        "top": lambda: top(days.ask()),
    }
    if case.many:
        groups = list(range(1, case.many_places + 1))
        question = "SELECT place, COUNT(*) AS v FROM data.visits GROUP BY place"
        many = Reader(case, pd.read_parquet(case.many), question, kept=case.groups, delta=case.delta)
        asks["many"] = lambda: by(many.ask(Mechanism.gaussian), groups)
    return asks


if __name__ == "__main__":
    main(prepare, "smartnoise-sql", "opendp", "pandas")
