"""How often a 95 % interval holds the value that the same question would have without noise.

Each kind of question is asked of 100 groups, 100 times: 10,000 intervals, each with noise of its own. The standard
error of a coverage near 95 % is 0.22 points. Questions in which noise selects (`chosen`) are asked 400 times; where
they show one number, the standard error of a coverage of 97.5 % is 0.8 points, and each line says its own, from how
the runs differ. DISCREET_COVERAGE_RUNS asks more often. `--workers` measures several questions at a time, and `--only`
those with a text in their names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import partial
from multiprocessing import get_context
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import pyarrow as pa

import discreet as dp
from benchmarks.chosen import QUESTIONS, Question
from benchmarks.line import Line
from discreet.engines.engine import Engine
from discreet.mechanisms.ranks.quantiles_with_ends import EACH
from discreet.noise import add_laplace
from discreet.release.draw import Draw
from discreet.sql.finish.postprocess import finish
from discreet.sql.lower.run import NoisyIntegers, exact_counts, exact_integers, run_release
from discreet.sql.lower.uses import uses_of
from discreet.sql.measures.measure import columns
from discreet.sql.measures.ranks import Ranks
from discreet.sql.plan.plan import PlannedRelease, QueryPlan
from discreet.sql.plan.planner import plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

GROUPS, RUNS, GROUP_ROWS, CLAIMED = 100, 100, 2000, 0.95
CHOSEN_RUNS = int(os.environ.get("DISCREET_COVERAGE_RUNS", "400"))
EPSILON = Fraction(1, 2)
SELECTED = "coverage, selected: "
KINDS = {
    "count": "COUNT(*)",
    "sum": "SUM(x)",
    "mean": "AVG(x)",
    "variance": "VAR_SAMP(x)",
    "standard deviation": "STDDEV_SAMP(x)",
    "count of units": "COUNT(DISTINCT who)",
    "median": "MEDIAN(x)",
    "upper quantile": "QUANTILE_CONT(x, 0.9)",
    "correlation": "CORR(y, x)",
    "slope": "REGR_SLOPE(y, x)",
    "covariance": "COVAR_POP(y, x)",
    "share of rows": "COUNT(*) FILTER (WHERE x > 60) / COUNT(*)",
    "difference of means": "AVG(x) - AVG(y)",
    "share of the whole": "COUNT(*) / SUM(COUNT(*)) OVER ()",
}


class Coverage(NamedTuple):
    """The share of intervals that hold the value without noise, and its standard error."""

    share: float
    error: float

    @classmethod
    def of_runs(cls, held: Sequence[Sequence[bool]]) -> Coverage:
        """From which intervals of each run hold; those of one run may share their noise."""
        shown = sum(map(len, held))
        share = sum(map(sum, held)) / shown
        apart = sum((sum(one) - share * len(one)) ** 2 for one in held)
        return cls(share, float(apart**0.5) / shown)


def lines(only: Sequence[str] = ("",), workers: int = 1) -> Iterator[Line]:
    """Measure, one kind of question at a time, or as many as there are workers."""
    tasks = {name: task for name, task in _tasks().items() if any(text in name for text in only)}
    if workers == 1:
        yield from (_line(name, measure()) for name, measure in tasks.items())
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        running = {name: pool.submit(measure) for name, measure in tasks.items()}
        yield from (_line(name, found.result()) for name, found in running.items())


def _tasks() -> dict[str, Callable[[], Coverage]]:
    """What is measured, by the name of its line."""
    plain = {
        f"coverage: {name}": partial(coverage, f"SELECT g, {sql} AS v FROM data GROUP BY g ORDER BY g")
        for name, sql in KINDS.items()
    }
    chosen = {f"{SELECTED}{name}": partial(coverage_of_chosen, asked) for name, asked in QUESTIONS.items()}
    return {**plain, **chosen}


def _line(name: str, covered: Coverage) -> Line:
    most, said = (0.995, "94 % to 99.5 %") if name.startswith(SELECTED) else (0.97, "94 % to 97 %")
    share, error = covered
    said = f"{said}; standard error {error:.1%}"
    return Line(name, share, "claimed", CLAIMED, share / CLAIMED, said, 0.94 <= share <= most, "")


def coverage_of_chosen(question: Question, runs: int = CHOSEN_RUNS) -> Coverage:
    """The share of the intervals shown that hold the value without noise of the row that is shown."""
    session = dp.protect(days(question.leaders, question.days), privacy_unit="row", budget=1, bounds={
        "x": (0, 100), "y": (0, 100), "day": (0, question.days - 1), "h": (0, GROUPS // 5 - 1), "a": (0, 4),
    })  # fmt: skip
    planned = plan(question.sql, session._catalog, EPSILON)
    whole = plan(question.all or question.sql, session._catalog, EPSILON)
    exact = [exact_integers(one, session._engine, 1) for one in planned.releases]
    answer = finish(
        whole,
        [NoisyIntegers(one, exact_integers(one, session._engine, 1)) for one in whole.releases],
        {},
        CLAIMED,
    )
    truth = dict(zip(_rows(answer.values, question.by), answer.values.column("v").to_pylist(), strict=True))
    held = []
    for _ in range(runs):
        noisy = [
            NoisyIntegers(one, _with_noise(one, entries))
            for one, entries in zip(planned.releases, exact, strict=True)
        ]
        found = finish(planned, noisy, {}, CLAIMED)
        low, high = found.intervals["v"]
        rows = _rows(found.values, question.by)
        held += [
            [bool(bottom <= truth[row] <= top) for row, bottom, top in zip(rows, low, high, strict=True)]
        ]
    return Coverage.of_runs(held)


def _with_noise(release: PlannedRelease, exact: Integers) -> Integers:
    noisy = exact.copy()
    for at, part in enumerate(columns(release.measures)):
        noisy[:, part] = add_laplace(np.ascontiguousarray(exact[:, part]), release.scale(at))
    return noisy


def _rows(values: pa.Table, by: Sequence[str]) -> list[tuple[object, ...]]:
    if not by:
        return [()] * len(values)
    return list(zip(*(values.column(name).to_pylist() for name in by), strict=True))


def days(leaders: Sequence[int] = (), many: int = GROUPS) -> pa.Table:
    """Days of 200 rows with the same numbers; leading ones have 800."""
    each = np.linspace(0, 100, 200)
    times = np.where(np.isin(np.arange(many), leaders), 4, 1)
    day = np.repeat(np.arange(many), 200 * times)
    x, y = (np.tile(one, times.sum()) for one in (each, each[::-1]))
    return pa.table({"day": day, "h": day // 5, "a": day % 5, "x": x, "y": y})


def coverage(sql: str) -> Coverage:
    """Of a question in which nothing is selected."""
    session = dp.protect(table(), privacy_unit="who", max_rows=2, budget=1,
                         bounds={"x": (0, 100), "y": (0, 100), "g": (0, GROUPS - 1)})  # fmt: skip
    planned = plan(sql, session._catalog, EPSILON)
    truth = _values(
        planned, [NoisyIntegers(one, without_noise(one, session._engine)) for one in planned.releases]
    )
    engine, held = _remembering(session._engine), []
    for _ in range(RUNS):
        noisy = [run_release(one, engine, 1, Draw(uses_of([one]))) for one in planned.releases]
        low, high = finish(planned, noisy, {}, CLAIMED).intervals["v"]
        held += [((low <= truth) & (truth <= high)).tolist()]
    return Coverage.of_runs(held)


def _remembering(engine: Engine) -> Engine:
    """An engine that is asked each question once: the noise is drawn again for each run, the integers stay."""
    known: dict[str, pa.Table] = {}

    def integers(sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        if sql not in known:
            known[sql] = engine.integers(sql, tables)
        return known[sql]

    return cast("Engine", SimpleNamespace(dialect=engine.dialect, integers=integers))


def without_noise(release: PlannedRelease, engine: Engine) -> Integers:
    """The integers of a release before any noise; of ranks, the leaf of the exact quantile."""
    exact = exact_integers(release, engine, 1)
    for measure, part in zip(release.measures, columns(release.measures), strict=True):
        if isinstance(measure, Ranks):
            counts = exact_counts(release, measure, engine, 1)
            for cell in range(counts.groups):
                one = counts[cell : cell + 1]
                below = np.cumsum(one.count)
                at = [
                    np.searchsorted(below, float(q) * below[-1])
                    for q in measure.quantiles
                    for _ in range(EACH)
                ]
                exact[cell, part] = one.leaf[np.minimum(at, len(below) - 1)]
    return exact


def _values(
    planned: QueryPlan, noisy: Sequence[NoisyIntegers]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    column = finish(planned, noisy, {}, CLAIMED).values.column("v")
    return np.asarray(column.to_numpy(), np.float64)


def table() -> pa.Table:
    """Groups of 2,000 rows, two of each person, with two correlated numbers."""
    rng = np.random.default_rng(7)
    rows = GROUPS * GROUP_ROWS
    x = rng.gamma(4, 12, rows)
    return pa.table(
        {
            "who": np.arange(rows) // 2,
            "g": np.arange(rows) // GROUP_ROWS,
            "x": x,
            "y": 0.6 * x + rng.normal(20, 15, rows),
        }
    )
