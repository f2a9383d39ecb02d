"""Gaussian noise beside Laplace noise: one person in 1 to 200 groups, 1 to 1,000 questions together.

Each question counts the people in every group, a person once in each. All questions of a line are planned as one, with
an epsilon of 1 and a delta of 10^-9; as many columns of one statement have the same noise. The errors are standard
deviations of a count: that of the plan, and those of both kinds of noise by their formulas, where Gaussian noise is the
least for which epsilon and delta hold. The planner's choice is at most 1.01 times the better one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import pyarrow as pa

import discreet as dp
from benchmarks.line import Line
from discreet.accounting import GDP, Loss
from discreet.session.question import SessionQuestion
from discreet.sql.plan.limits import Limits

GROUPS = (1, 10, 50, 200)
QUESTIONS = (1, 10, 100, 1000)
EPSILON, DELTA = Fraction(1), Fraction(1, 10**9)
WITHIN = 1.01


def lines() -> Iterator[Line]:
    """One line for each number of groups and of questions: our error beside that of Laplace noise."""
    table = pa.table({"id": [1], "w": [1], "x": [1]})
    budget = dp.Budget(epsilon=10, delta="1e-6", accountant="zcdp")
    bounds = {"w": (1, 200), "x": (0, 2000)}
    session = dp.protect({"v": table}, privacy_unit="id", max_rows=1000, bounds=bounds, budget=budget)
    square = float(GDP.bought(Loss(EPSILON, DELTA)).square)
    for groups, questions in itertools.product(GROUPS, QUESTIONS):
        texts = [
            f"SELECT w, COUNT(DISTINCT id) AS n FROM v WHERE x < {at} GROUP BY w"
            for at in range(1, questions + 1)
        ]
        asked = SessionQuestion("", EPSILON, DELTA, limits=Limits(max_groups=groups))
        plan, _ = session._queries.plan_together(texts, asked)
        release = plan.releases[0]
        parameter = release.gaussian(0)
        ours = math.sqrt(parameter) if parameter else math.sqrt(2) * float(release.scale(0))
        laplace = math.sqrt(2) * groups * questions / float(EPSILON)
        gaussian = math.sqrt(groups * questions / square)
        chosen = "Gaussian" if parameter else "Laplace"
        label = f"{groups} groups, {questions:,} questions: Laplace {laplace:.4g}, Gaussian {gaussian:.4g}: {chosen}"
        ratio = ours / min(laplace, gaussian)
        yield Line(
            label,
            ours,
            "Laplace",
            laplace,
            ratio,
            f"{ratio:.3f}, at most {WITHIN}",
            ratio <= WITHIN,
            "people",
        )
